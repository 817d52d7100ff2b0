"""The explorer in a real JupyterLab, as a user meets it. What is expected is worked out here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from tests.browser.acting import (
    BACK,
    FOO,
    FOOD,
    FOR,
    MACHINES,
    STEP,
    TOY,
    F,
    allowed,
    at,
    classes,
    drawer,
    picture,
    press,
    quiet,
    rest,
    settle,
)
from tests.browser.conftest import REPOSITORY, Lab, Notebook
from tests.browser.forked_kernel import FRESH
from widgets.toy import ToyModel, toy_constraint

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator


def test_the_quickstart_reaches_a_reason_in_the_actions_that_it_counts(
    notebook: Notebook, lab: Lab
) -> None:
    written = json.loads((REPOSITORY / "notebooks" / "00_quickstart.ipynb").read_text())
    written["metadata"]["kernelspec"]["name"] = FRESH  # As a user's, from the first import on.
    # The first action: `make lab`.
    notebook.open(lab.put("00_quickstart.ipynb", written), anew=True)
    for item in ("Run", "Run All Cells"):
        notebook.page.get_by_role("menuitem", name=item, exact=True).click()
    toy, real = notebook.explorer(0), notebook.explorer(1, along=True)
    at(toy, 0)
    assert "model tiny" in real.locator(".lmx-top").inner_text()
    notebook.page.get_by_text("The text is complete here").first.wait_for()
    press(toy, STEP)
    at(toy, 1)
    toy.locator(f'.lmx-rows .lmx-row[data-token="{FOR}"]').first.click()
    toy.locator(".lmx-why .nearest").wait_for()
    assert "the constraint expects o; this token writes r" in toy.locator(".lmx-why").inner_text()
    quiet(notebook)


def test_steps_by_button_and_by_key(toy: Locator, notebook: Notebook) -> None:
    expected = Session(ToyModel(), toy_constraint())
    assert allowed(toy) == expected.allowed().nonzero()[0].tolist()
    before = picture(toy)
    press(toy, STEP)
    at(toy, 1)
    expected.step()
    assert allowed(toy) == expected.allowed().nonzero()[0].tolist()
    after = picture(toy)
    assert before != after
    press(toy, BACK)
    at(toy, 0)
    gone_back = picture(toy)
    # The token ahead is still shown, and the step that was taken is marked; all else is as before.
    assert (gone_back["allowed"], gone_back["lit"]) == (before["allowed"], before["lit"])
    toy.focus()
    notebook.page.keyboard.press("ArrowRight")
    at(toy, 1)
    settle(notebook.page)
    assert picture(toy) == after
    notebook.page.keyboard.press("2")  # The second allowed bar, after foo: food.
    at(toy, 2)
    assert toy.locator(".lmx-strip [data-k]").all_inner_texts()[1].startswith("food")
    notebook.page.keyboard.press("Home")
    at(toy, 0)
    # None of the keys reached the notebook: there is still one cell, and it is not in edit mode.
    assert notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell").count() == 1
    quiet(notebook)


def test_slow_motion_lights_the_same_place_in_all_three(toy: Locator, notebook: Notebook) -> None:
    press(toy, STEP)
    at(toy, 1)
    toy.get_by_label("slow motion").check()
    toy.locator(f'.lmx-row[data-token="{FOOD}"] .take').click()
    at(toy, 1, "byte 1 of 4")
    press(toy, STEP)
    at(toy, 1, "byte 2 of 4")
    settle(notebook.page)
    # food, two bytes in: after foo the FSA is in 3; f leads to 1, o to 2.
    assert classes(toy, "character_fsa", ".a.go", "data-arc") == {"c3-c1", "c1-c2"}
    assert classes(toy, "character_fsa", ".n.now", "data-node") == {"c2"}
    assert classes(toy, "detokenizing_fst", ".a.go", "data-arc") == {"t-t66", "t66-t666f"}
    assert classes(toy, "detokenizing_fst", ".n.now", "data-node") == {"t666f"}
    assert classes(toy, "token_dfa", ".a.open", "data-arc") == {"q3-q4"}
    assert classes(toy, "token_dfa", ".n.now", "data-node") == {"q3"}
    press(toy, BACK)
    at(toy, 1, "byte 1 of 4")
    for _ in range(3):
        press(toy, STEP)
    at(toy, 1, "byte 4 of 4")
    settle(notebook.page)
    assert classes(toy, "character_fsa", ".n.now", "data-node") == {"c4"}
    # With the last byte the token DFA's arc is complete, no longer open.
    assert classes(toy, "token_dfa", ".a.go", "data-arc") == {"q3-q4"}
    assert classes(toy, "token_dfa", ".a.open", "data-arc") == set()
    press(toy, STEP)
    at(toy, 2)
    assert "foofood" in "".join(toy.locator(".lmx-strip [data-k]").all_inner_texts())
    quiet(notebook)


def test_a_masked_token_says_why(toy: Locator, notebook: Notebook) -> None:
    press(toy, STEP)
    at(toy, 1)
    row = toy.locator(f'.lmx-row[data-token="{FOR}"]')
    assert "masked" in (row.get_attribute("class") or "")
    assert "r: expects o" in row.inner_text()
    row.click()
    toy.locator(".lmx-why .boxes .ko").wait_for()
    assert toy.locator(".lmx-why .boxes span").all_inner_texts() == ["f", "o", "r"]
    assert toy.locator(".lmx-why .boxes .ko").all_inner_texts() == ["r"]
    at(toy, 1)  # Asking takes nothing.
    quiet(notebook)


def test_what_is_searched_for_comes_first_and_is_found_again_after_a_step(
    toy: Locator, notebook: Notebook
) -> None:
    search = toy.get_by_role("searchbox", name="find a token")
    found = toy.locator(".lmx-find + .lmx-rows")

    def ids() -> list[int]:
        rest(toy)
        rows = found.locator(".lmx-row").all()
        return [int(row.get_attribute("data-token") or -1) for row in rows]

    search.fill("f")
    found.locator(".lmx-row").first.wait_for()
    assert ids() == [F, FOO, FOR, FOOD]  # F itself, and then what the model likes best.
    press(toy, STEP)
    at(toy, 1)
    assert ids() == [F, FOO, FOOD, FOR]
    assert "r: expects o" in found.locator(f'.lmx-row[data-token="{FOR}"]').inner_text()
    found.locator(f'.lmx-row[data-token="{FOR}"]').click()
    toy.locator(".lmx-why .boxes .ko").wait_for()
    search.fill("zebra")
    found.get_by_text("no such token").wait_for()
    search.fill("")
    found.get_by_text("no such token").wait_for(state="detached")
    assert ids() == []
    quiet(notebook)


@pytest.mark.long
def test_a_page_written_in_the_next_cell_leaves_the_drawings(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("written.ipynb", TOY, "toy.to_html('written.html')"))
    assert notebook.run_all()
    toy = notebook.explorer()
    toy.locator('[data-machine="detokenizing_fst"] svg .n').nth(4).wait_for(state="attached")
    quiet(notebook)


def test_an_error_has_its_caret_and_recovers(toy: Locator, notebook: Notebook) -> None:
    field = toy.get_by_role("textbox", name="constraint")
    field.fill("(foo+d")
    error = toy.locator(".lmx-editor .lmx-error, .lmx-part-editor .lmx-error")
    error.locator("pre").wait_for()
    assert error.locator("pre").inner_text().rstrip("\n") == "(foo+d\n^"
    assert toy.locator('[data-machine="character_fsa"] .n').count() == 5  # The last good one.
    field.fill("foo|d*for")
    error.wait_for(state="hidden")
    at(toy, 0)
    toy.locator('[data-machine="character_fsa"] .n').nth(5).wait_for(state="attached")
    vocabulary = ToyModel().vocabulary
    dfa = explorer.compile(explorer.regex("foo|d*for"), vocabulary)
    assert allowed(toy) == dfa.allowed(dfa.start).nonzero()[0].tolist()
    quiet(notebook)


@pytest.mark.long
def test_numbers_are_those_of_the_trace(notebook: Notebook, lab: Lab) -> None:
    pattern = "(yes|no), [a-z ]+"
    notebook.open(
        lab.code(
            "tiny.ipynb",
            "import explorer\nfrom widgets import Explorer\nlm = explorer.load_model('tiny')\n"
            f"e = Explorer(lm, explorer.regex({pattern!r}), 'Is it far? ')\ne",
        )
    )
    assert notebook.run_all()
    root = notebook.explorer()
    session = Session(
        explorer.load_model("tiny", device="cpu"), explorer.regex(pattern), "Is it far? ",
        sampler=Sampler(0.0),
    )  # fmt: skip
    for k in range(3):
        at(root, k)
        settle(notebook.page)
        position = session.position
        assert position.distribution is not None
        facts = root.locator(".lmx-facts .allowed b").inner_text()
        assert facts == f"{position.num_allowed:,}"
        shown = [
            int(row.get_attribute("data-token") or -1)
            for row in root.locator(".lmx-rows").first.locator(".lmx-row[data-token]").all()
        ]
        # In the model's order, but the allowed ones after at most three masked ones.
        order = [entry for entry in position.distribution.candidates][: len(shown)]
        before, after = order[:3], order[3:]
        if not any(entry.allowed for entry in before):
            after.sort(key=lambda entry: not entry.allowed)
        assert shown == [entry.token for entry in (*before, *after)]
        rest(drawer(root, "mask"))
        # The bitmap, in id order: dark cells are the allowed ids, and no others.
        lit = notebook.page.evaluate(
            """() => {
                const canvas = document.querySelector('.lmx-part-mask canvas');
                const {width, height} = canvas;
                const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
                const style = getComputedStyle(canvas).getPropertyValue('--lmx-ok').trim();
                const want = [1, 3, 5].map((i) => parseInt(style.slice(i, i + 2), 16));
                const out = [];
                for (let i = 0; i < data.length / 4; i++)
                    if (want.every((c, j) => data[4 * i + j] === c)) out.push(i);
                return out;
            }"""
        )
        assert lit == session.allowed().nonzero()[0].tolist()
        session.step()
        press(root, STEP)
    quiet(notebook)


@pytest.mark.long
def test_two_explorers_do_not_disturb_each_other(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("two.ipynb", TOY, "Explorer()", "Explorer(cursor=toy.cursor)"))
    assert notebook.run_all()
    first, second, third = (notebook.explorer(k) for k in range(3))
    press(second, STEP)
    at(second, 1)
    at(first, 0)
    press(third, STEP)  # It shares the first one's cursor.
    at(first, 1)
    press(third, STEP)
    at(first, 2)
    at(second, 1)
    quiet(notebook)


HOSTILE = """
import torch
from explorer import Vocabulary, regex
from explorer.decoding.models.model import Reading
from widgets import Explorer
TOKENS = [b'<img src=x onerror=window.hacked=1>', b'</script><script>window.hacked=2</script>',
          b'${window.hacked=3}', b'" onmouseover="window.hacked=4', b'\\xf0\\x9f', b'a', b' ',
          b'&lt;b&gt;', '\\u202eevil'.encode()]
class Hostile:
    name = '<b onmouseover=window.hacked=5>model</b>'
    vocabulary = Vocabulary.from_bytes([*TOKENS, None], eos_ids=[len(TOKENS)])
    def encode_prompt(self, prompt):
        return (0, 1)
    def read(self, tokens):
        return Reading(torch.arange(10, 0, -1).float())
e = Explorer(Hostile(), regex('.*'), '<img src=x onerror=window.hacked=6>')
path = e.to_html('hostile.html')
e
"""


def test_token_text_never_becomes_markup(notebook: Notebook, lab: Lab, chromium: Browser) -> None:
    notebook.open(lab.code("hostile.ipynb", HOSTILE))
    assert notebook.run_all()
    root = notebook.explorer()
    for _ in range(3):
        press(root, STEP)
    at(root, 3)
    for row in root.locator(".lmx-row[data-token]").all():
        row.hover()
    assert root.locator("img, script, b[onmouseover]").count() == 0
    assert "<img src=x" in root.locator(".lmx-strip").inner_text().replace("␣", " ")
    assert notebook.page.evaluate("() => window.hacked === undefined")
    quiet(notebook)
    page = chromium.new_page()
    page.goto((lab.work / "hostile.html").as_uri())
    page.locator(".lmx-row[data-token]").first.wait_for()
    assert page.evaluate("() => window.hacked === undefined")
    assert page.locator("img").count() == 0
    page.close()


def test_the_exported_page_replays(lab: Lab, chromium: Browser, tmp_path: Path) -> None:
    from widgets import Explorer

    made = Explorer()
    made.cursor.step(FOO)
    made.cursor.step(FOOD)
    made.cursor.jump(0)
    path = made.to_html(tmp_path / "run.html")
    assert path.stat().st_size < 1_000_000
    made.close()
    page = chromium.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    root = page.locator(".lmx-root")
    root.locator(".lmx-machine svg .n").first.wait_for(state="attached")
    at(root, 0)
    press(root, STEP)
    at(root, 1)
    assert allowed(root) == [0, FOO, FOOD]
    root.get_by_label("slow motion").check()
    press(root, STEP)
    press(root, STEP)
    at(root, 1, "byte 2 of 4")
    settle(page)
    assert classes(root, "character_fsa", ".n.now", "data-node") == {"c2"}
    assert classes(root, "detokenizing_fst", ".n.now", "data-node") == {"t666f"}
    for _ in range(3):
        press(root, STEP)
    at(root, 2)
    assert (errors, requests) == ([], [path.as_uri()])
    page.close()


@pytest.mark.long
def test_without_a_kernel_what_was_sent_can_be_read(toy: Locator, notebook: Notebook) -> None:
    press(toy, STEP)
    at(toy, 1)
    press(toy, STEP)
    at(toy, 2)
    notebook.page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget"
        ".sessionContext.session.kernel.restart(); }"
    )
    toy.locator(".lmx-note", has_text="kernel restarted: run the cell").wait_for()
    press(toy, BACK)
    at(toy, 1)
    assert toy.get_by_role("textbox", name="constraint").is_disabled()
    assert toy.get_by_role("button", name="Fork", include_hidden=True).is_disabled()


def test_narrow_nothing_sticks_out(toy: Locator, notebook: Notebook) -> None:
    notebook.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    notebook.page.set_viewport_size({"width": 560, "height": 900})
    for machine in MACHINES:
        toy.locator(f'[data-machine="{machine}"] svg[role=img]').wait_for(state="visible")
    assert toy.evaluate("(el) => el.scrollWidth <= el.clientWidth + 1")
    # Labels of graphs are at least 11 px on the screen, however small the drawing.
    sizes = toy.evaluate(
        """(el) => [...el.querySelectorAll('.lmx-graph svg[role=img]')]
            .filter((svg) => svg.getBoundingClientRect().width > 0)
            .map((svg) => parseFloat(getComputedStyle(svg.querySelector('text')).fontSize)
                * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""
    )
    assert sizes
    assert min(sizes) >= 10.95
    quiet(notebook)


@pytest.mark.long
def test_the_projector_size_is_larger_and_pointers_hit(toy: Locator, notebook: Notebook) -> None:
    page = notebook.page
    for k in (1, 2):
        press(toy, STEP)
        at(toy, k)
    mark = toy.locator(".lmx-graph svg circle").first
    before = mark.bounding_box()
    large = toy.get_by_role("button", name="larger, for a projector")
    assert large.get_attribute("aria-pressed") == "false"
    large.click()
    page.wait_for_timeout(300)
    assert large.get_attribute("aria-pressed") == "true"
    after = mark.bounding_box()
    assert before is not None
    assert after is not None
    assert 1.1 < after["height"] / before["height"] < 1.6  # The height that it must fit is shared.
    quiet(notebook)


def test_what_is_not_for_now_is_closed_and_asks_for_nothing(toy: Locator) -> None:
    at(toy, 0)
    heads = toy.locator(".lmx-head")
    shown = [re.sub(r"\s+", " ", one).strip(" ▸▾") for one in heads.all_inner_texts()]
    assert shown == [
        "Mask",  # It is open, and says so itself.
        "Why the rest is masked 3 tokens",
        "Over time",
        "Traps 1",
        "Other engines",
    ]
    opened = [one.get_attribute("aria-expanded") for one in heads.all()]
    assert opened == ["true", *["false"] * 4]
    assert toy.locator(".lmx-bodies > section:not(.lmx-part-mask) *").count() == 0
    toy.locator('[data-drawer="reasons"]').focus()
    toy.page.keyboard.press("Enter")
    toy.locator(".lmx-group").first.wait_for()
    press(toy, STEP)
    at(toy, 1)
    assert toy.locator('[data-drawer="reasons"]').get_attribute("aria-expanded") == "true"
    toy.locator('[data-drawer="reasons"]').click()
    assert toy.locator(".lmx-bodies > section:not(.lmx-part-mask) *").count() == 0
