"""Why a token is masked, as a user asks it. What is expected comes by hand and from `re`."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import STEP, TOY, allowed, at, drawer, press, quiet, rest
from tests.browser.conftest import Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

F, OO, FOO, FOR, FOOD, EOS = range(6)
PATTERN = "(foo)+d"
NIGHT = """import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
night = Explorer(lm, explorer.choice([" New York", " Boston"]), "The night train stops at")
night"""


def words() -> list[str]:
    """All words of the toy's language of at most ten letters."""
    letters = ("".join(x) for n in range(1, 11) for x in itertools.product("fod", repeat=n))
    return [word for word in letters if re.fullmatch(PATTERN, word)]


WORDS = words()


def row(root: Locator, token: int) -> Locator:
    return root.locator(f'.lmx-rows .lmx-row[data-token="{token}"]').first


def panel(root: Locator) -> Locator:
    return root.locator(".lmx-why")


def ask(root: Locator, token: int) -> Locator:
    """Click a masked token's bar, and wait for the whole answer."""
    row(root, token).click()
    panel(root).locator(".nearest").wait_for()
    rest(root)
    return panel(root)


def in_view(found: Locator) -> bool:
    """Whether all of it lies inside the window and inside of everything that scrolls."""
    return bool(
        found.evaluate(
            """(el) => {
                const box = el.getBoundingClientRect();
                let [top, bottom] = [0, innerHeight];
                for (let one = el.parentElement; one; one = one.parentElement) {
                    if (one === document.body) continue;
                    if (getComputedStyle(one).overflowY === "visible") continue;
                    const around = one.getBoundingClientRect();
                    [top, bottom] = [Math.max(top, around.top), Math.min(bottom, around.bottom)];
                }
                return box.height > 20 && box.top >= top - 1 && box.bottom <= bottom + 1;
            }"""
        )
    )


@pytest.fixture
def toy(notebook: Notebook, lab: Lab) -> Locator:
    notebook.page.set_viewport_size({"width": 1100, "height": 800})
    notebook.open(lab.code("why.ipynb", TOY))
    notebook.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    assert notebook.run_all()
    root = notebook.explorer()
    press(root, STEP)
    at(root, 1)
    return root


@pytest.fixture
def night(notebook: Notebook, lab: Lab) -> Locator:
    notebook.page.set_viewport_size({"width": 1100, "height": 800})
    notebook.open(lab.code("night.ipynb", NIGHT))
    notebook.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    assert notebook.run_all()
    return notebook.explorer()


def underlined(where: Locator) -> list[str]:
    return where.locator(".expect").all_inner_texts()


def test_a_masked_bar_opens_the_panel_in_view(toy: Locator, notebook: Notebook) -> None:
    found = ask(toy, FOR)
    assert in_view(found)
    assert re.sub(r"\s+", " ", found.locator("h4").inner_text()).startswith("Why is for masked?")
    # By hand: after foo the token for is read up to fo; then only o leads on.
    fits = [n for n in range(4) if any(w.startswith("foo" + "for"[:n]) for w in WORDS)]
    boxes = found.locator(".boxes span")
    kinds = [box.get_attribute("class") for box in boxes.all()]
    assert kinds == ["ok"] * max(fits) + ["ko"] + ["rest"] * (2 - max(fits))
    assert boxes.all_inner_texts() == ["f", "o", "r"]
    wanted = {w[5] for w in WORDS if w.startswith("foofo")}
    assert set(underlined(found)) == wanted == {"o"}
    # The editor underlines the same spot: the second o of the pattern.
    behind = toy.locator(".lmx-field .behind")
    assert underlined(behind) == ["o"]
    before = behind.evaluate("el => el.querySelector('.expect').previousSibling.textContent")
    assert before == "(fo"
    # Closed, the editor shows what the position expects again: f or d.
    notebook.page.keyboard.press("Escape")
    found.wait_for(state="hidden")
    notebook.page.wait_for_function(
        "el => [...el.querySelectorAll('.expect')].map(x => x.textContent).join('') === 'fd'",
        arg=behind.element_handle(),
    )
    quiet(notebook)


def test_the_panel_opens_from_wherever_a_token_is_shown(toy: Locator, notebook: Notebook) -> None:
    title = panel(toy).locator("h4")
    toy.locator(f'.lmx-cell[data-token="{OO}"]').click()
    title.get_by_text("oo").wait_for()
    toy.get_by_role("button", name="close", exact=True).click()
    panel(toy).wait_for(state="hidden")
    toy.get_by_role("searchbox", name="find a token").fill("#5")
    toy.locator(f'.lmx-rows .lmx-row[data-token="{EOS}"]').last.click()
    title.get_by_text("EOS").wait_for()
    toy.get_by_role("searchbox", name="find a token").fill("")
    # The name of an allowed token asks too; the rest of its row takes it.
    row(toy, FOO).locator(".lmx-tok").click()
    title.get_by_text("allowed?").wait_for()
    rest(toy)
    assert in_view(panel(toy))
    panel(toy).locator("code", has_text="foofoofood").wait_for()
    panel(toy).get_by_role("button", name="take it").click()
    at(toy, 2)
    quiet(notebook)


@pytest.mark.long
def test_earlier_jumps_to_where_it_was_allowed(toy: Locator, notebook: Notebook) -> None:
    row(toy, F).locator(".take").click()  # foo f
    at(toy, 2)
    row(toy, OO).locator(".take").click()  # foo f oo
    at(toy, 3)
    found = ask(toy, OO)
    earlier = found.locator(".earlier")
    assert re.sub(r"\s+", " ", earlier.inner_text()).startswith(
        "Allowed at position 2, where it was taken"
    )
    assert any(word.startswith("foof" + "oo") for word in WORDS)
    earlier.get_by_role("button").click()
    at(toy, 2)
    assert OO in allowed(toy)
    found.locator("h4", has_text="allowed?").wait_for()
    quiet(notebook)


@pytest.mark.long
def test_the_smallest_change_is_used(toy: Locator, notebook: Notebook) -> None:
    found = ask(toy, FOR)
    change = found.locator(".cause").get_by_role("button")
    change.wait_for()
    pattern = change.inner_text().removeprefix("use ")
    assert re.fullmatch(pattern, "foofor" + "d")
    change.click()
    found.locator("h4", has_text="allowed?").wait_for()
    assert toy.get_by_role("textbox", name="constraint", exact=True).input_value() == pattern
    at(toy, 1)
    assert FOR in allowed(toy)
    quiet(notebook)


@pytest.mark.long
def test_groups_filter_the_mask_and_the_bars(toy: Locator, notebook: Notebook) -> None:
    groups = drawer(toy, "reasons").locator(".lmx-groups:not(.old) .lmx-group")
    groups.first.wait_for()
    # By hand, after foo, heaviest first: for (20 %), EOS (10 %), oo (6 %).
    said = [re.sub(r"\s+", " ", group) for group in groups.all_inner_texts()]
    assert said == [
        "20 % 1 token expects o, offered a letter",
        "10 % 1 token would end a text that is not complete",
        "6 % 1 token expects d or f, offered a letter",
    ]
    total = toy.locator(".lmx-part-reasons .total").inner_text()
    assert total == "3 allowed (64 % of the model's probability), 3 masked, of 6 token ids"
    for number, token in enumerate((FOR, EOS, OO)):
        groups.nth(number).click()
        toy.locator(f'.lmx-cell.hit[data-token="{token}"]').wait_for()
        rest(toy)
        assert toy.locator(".lmx-cell.hit").count() == 1
        shown = toy.locator(".lmx-part-distribution .lmx-rows").first.locator(
            "[data-token].lmx-row"
        )
        shown.nth(1).wait_for(state="detached")  # The rows follow the mask.
        assert [one.get_attribute("data-token") for one in shown.all()] == [str(token)]
    toy.get_by_role("button", name="show all tokens again").click()
    toy.locator(".lmx-cell.hit").wait_for(state="detached")
    rest(toy)
    assert toy.locator(".lmx-part-distribution .lmx-row[data-token]").count() == 6
    quiet(notebook)


@pytest.mark.long
def test_a_greedy_trap_is_marked_at_its_position(night: Locator, notebook: Notebook) -> None:
    press(night, "to the end (End)")
    mark = night.locator('.lmx-trapmark[data-trap="0"]')
    mark.wait_for()
    rest(night)  # The marks are drawn anew with the strip.
    strip = night.locator(".lmx-strip")
    # Before the first output token: at position 0 the token was drawn that leads into the trap.
    following = mark.evaluate("el => el.nextElementSibling.getAttribute('data-k')")
    assert following == "1"
    assert strip.locator('[data-k="1"]').inner_text().startswith("␣New")
    assert "Greedy trap" in (mark.get_attribute("aria-label") or "")
    mark.click()
    shown = night.locator(".lmx-trap-panel")
    shown.wait_for()
    rest(night)
    assert in_view(shown)
    assert "Remedy" in shown.inner_text()
    assert "feasible mass after it" in shown.inner_text()
    notebook.page.keyboard.press("Escape")
    shown.wait_for(state="hidden")
    quiet(notebook)


@pytest.mark.long
def test_long_bars_give_way_to_the_panel(night: Locator, notebook: Notebook) -> None:
    press(night, STEP)
    at(night, 1)
    masked = night.locator(".lmx-row.masked").first
    token = int(masked.get_attribute("data-token") or -1)
    found = ask(night, token)
    assert in_view(found)
    assert in_view(row(night, token))  # What was asked about stays in view too.
    before = night.locator(".lmx-row:visible").count()
    notebook.page.keyboard.press("Escape")
    found.wait_for(state="hidden")
    assert night.locator(".lmx-row:visible").count() >= before
    quiet(notebook)


@pytest.mark.long
def test_pictures_of_the_panel(night: Locator, notebook: Notebook, tmp_path: Path) -> None:
    press(night, "to the end (End)")
    night.locator(".lmx-trapmark").first.wait_for()
    night.locator('.lmx-strip [data-k="2"]').click()
    at(night, 1)
    drawer(night, "reasons").locator(".lmx-group").first.wait_for()
    token = int(night.locator(".lmx-row.masked").first.get_attribute("data-token") or -1)
    ask(night, token)
    for name, size in (("light", 1100), ("dark", 1100), ("narrow", 560)):
        notebook.page.set_viewport_size({"width": size, "height": 1000})
        notebook.theme("JupyterLab Dark" if name == "dark" else "JupyterLab Light")
        path = tmp_path / f"why-{name}.png"
        night.screenshot(path=path, animations="disabled")
        assert path.stat().st_size > 20_000


REAL = r"""import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
Explorer(lm, explorer.regex("caf(é|e)s?"), prompt="I drank in two ")"""

SCHEMAS = """import explorer
from typing_extensions import TypedDict
from widgets import Explorer
lm = explorer.load_model("tiny")
Patient = TypedDict("Patient", {k: str for k in ("name", "street", "town", "country", "mail")})
schema = explorer.from_type(Patient).source.children[0].text
"""


def test_of_a_schema_one_line_is_shown_and_the_editor_scrolls_to_it(
    notebook: Notebook, lab: Lab
) -> None:
    cells = (
        SCHEMAS + "Explorer(lm, explorer.json_schema(schema), 'JSON: ')",
        "Explorer(lm, explorer.from_type(Patient), 'JSON: ')",
    )
    notebook.open(lab.code("schemas.ipynb", *cells))
    assert notebook.run_all()
    for number in (0, 1):
        root = notebook.explorer(number)
        if number:
            written = root.get_by_role("textbox", name="constraint", exact=True)
            assert written.input_value() == "from_type(Patient)"
        press(root, STEP)
        at(root, 1)
        masked = root.locator(".lmx-row.masked").first
        masked.click()
        found = panel(root)
        found.locator(".nearest").wait_for()
        rest(root)
        (line,) = found.locator(".source").all()
        assert re.search(r"by /[a-zA-Z]+.*, line \d+: ", line.inner_text())
        (part,) = underlined(line)
        assert part.startswith('"')
        assert "\n" not in line.inner_text().strip()
        assert len(found.locator(".said").first.inner_text()) < 100
        # It is in view in the line of the editor, in the middle of a long text.
        if not number:
            shown = root.locator(".lmx-field .behind").evaluate(
                """(el) => {
                    const [mark, box] = [el.querySelector(".expect"), el]
                        .map((one) => one.getBoundingClientRect());
                    return [el.scrollLeft, mark.left < box.right && mark.right > box.left];
                }"""
            )
            assert shown[0] > 50 and shown[1]
        # What one can do comes right after the reason.
        order = found.evaluate("(el) => [...el.children].map((one) => one.className)")
        assert order.index("dim nearest") <= 5
    quiet(notebook)


@pytest.mark.long
def test_words_and_signs_are_explained_on_demand_and_as_tooltips(toy: Locator) -> None:
    meanings = toy.locator(".lmx-meanings")
    meanings.locator("summary").click()
    words = meanings.locator("dt").all_text_contents()
    for word in ("=", "≠", "✓", "Δ", "KL", "feasible mass", "token class", "constr."):
        assert word in words
    assert "probability" in (toy.locator(".lmx-facts .z").get_attribute("title") or "")
    toy.locator(".lmx-figures summary").click()
    assert "bits" in toy.locator(".lmx-figures dd").last.inner_text()
