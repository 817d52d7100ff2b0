"""The drawings in a real JupyterLab: forms, the construction, added tokens, large machines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import BACK, STEP, TOY, at, opened, press, quiet, rest
from tests.browser.conftest import Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

REAL = """import explorer
from widgets import Explorer
real = Explorer(explorer.load_model("tiny"), explorer.regex(r"{pattern}"), prompt="The date is ")
real"""

OVERLAPS = """(root) => {
    const found = [];
    for (const svg of root.querySelectorAll(".lmx-graph svg")) {
        if (!svg.getBoundingClientRect().width) continue; // The other drawing is hidden.
        const words = [...svg.querySelectorAll(".words text")]
            .filter((t) => getComputedStyle(t).display !== "none" && t.textContent)
            .map((t) => [t.firstChild.textContent, t.getBBox()]);
        const rings = [...svg.querySelectorAll(".n:not(.done, .back) > circle:first-of-type")];
        for (const [i, [word, a]] of words.entries()) {
            for (const [other, b] of words.slice(i + 1)) {
                const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
                // A line box is higher than its letters.
                const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
                if (wide > 1 && high > 3) found.push([word, other]);
            }
            for (const ring of rings) {
                const [x, y, r] = ["cx", "cy", "r"].map((name) => Number(ring.getAttribute(name)));
                const dx = Math.max(a.x - x, x - a.x - a.width, 0);
                const dy = Math.max(a.y + 2 - y, y - a.y - a.height + 2, 0);
                if (dx * dx + dy * dy < r * r) found.push([word, ring.parentNode.dataset.node]);
            }
        }
    }
    return found;
}"""


def machine(root: Locator, name: str) -> Locator:
    return root.locator(f'[data-machine="{name}"]')


def real(notebook: Notebook, lab: Lab, name: str, pattern: str) -> Locator:
    notebook.open(lab.code(f"{name}.ipynb", REAL.replace("{pattern}", pattern)))
    assert notebook.run_all()
    return notebook.explorer()


@pytest.mark.long
def test_the_byte_form_and_back(notebook: Notebook, lab: Lab) -> None:
    root = real(notebook, lab, "bytes", "(é|日|本|x|😀)+q")
    characters = machine(root, "character_fsa")
    # The bytes of a character are folded into its arc; of the token DFA's many states in the middle
    # of a character one dot stands for all.
    drawn, one = (
        characters.locator(".n"),
        machine(root, "token_dfa").locator('.n[data-node="qmid"]'),
    )
    one.wait_for(state="attached")
    assert characters.locator(".n.dot").count() == 0
    before = drawn.count()
    press(opened(characters), "bytes")
    one.wait_for(state="detached")
    drawn.nth(before).wait_for(state="attached")
    dots = characters.locator(".n.dot").count()
    assert dots > 4
    assert (
        opened(characters).get_by_role("button", name="bytes").get_attribute("aria-pressed")
        == "true"
    )
    # Both machines have the form, and a step lights the arcs of its bytes.
    rest(root)
    assert machine(root, "token_dfa").locator(".n.dot").count() == dots
    press(root, STEP)
    at(root, 1)
    characters.locator(".a.past").first.wait_for(state="attached")
    assert machine(root, "token_dfa").locator(".n.now").count() == 1
    assert root.evaluate(OVERLAPS) == []
    press(opened(characters), "bytes")
    one.wait_for(state="attached")
    assert drawn.count() == before
    quiet(notebook)


@pytest.mark.long
def test_the_construction(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("construction.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    press(root, STEP)
    at(root, 1)
    tokens = machine(root, "token_dfa")
    sizes = {"composed": 8, "ε-free": 8, "determinized": 4, "trimmed": 4}
    for number, (name, states) in enumerate(sizes.items(), 1):
        opened(tokens).get_by_label("construction").select_option(str(number))
        caption = tokens.locator(f'header span[title*="{name}: {states} states"]')
        caption.wait_for(state="attached")
        assert tokens.locator("svg .n").count() == states + 1  # The end of the text.
        assert root.evaluate(OVERLAPS) == []
        # Where we are has the name that it has in the token DFA, so it is lit in each stage.
        tokens.locator('.n.now[data-node="q3"]', has_text="3").wait_for(state="attached")
        if number > 1:
            tokens.locator('.a.past[data-arc="q0-q3"]').wait_for(state="attached")
    # Pair by pair: the new arc, and the two that it is made of.
    press(root, "pair by pair")
    tokens.get_by_text("pair 0 of 10").wait_for()
    assert tokens.locator("svg .a:not(.later)").count() == 0
    for number in (1, 2, 3):
        tokens.get_by_role("button", name="the next pair").click()
        tokens.get_by_text(f"pair {number} of 10").wait_for()
        assert tokens.locator("svg .a:not(.later)").count() == number
        for name in ("character_fsa", "detokenizing_fst", "token_dfa"):
            assert machine(root, name).locator(".a.go").count() == 1
        assert pair_in_view(root)
    assert tokens.locator(".lmx-lesson", has_text="From a pair").count() == 1
    opened(tokens).get_by_label("construction").select_option("0")
    # Beside the name and the tools there may be no room for it.
    caption = tokens.locator("header span", has_text="tokens on the arcs")
    caption.wait_for(state="attached")
    quiet(notebook)


def test_of_an_arc_s_words_the_token_s_own_is_bold_and_tools_name_their_machine(
    notebook: Notebook, lab: Lab
) -> None:
    notebook.open(lab.code("words.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    inner = machine(root, "detokenizing_fst")
    root.locator(".lmx-row .lmx-tok", has_text=re.compile("^foo$")).first.click()
    word = inner.locator(".words text.lit tspan")
    word.get_by_text("foo : o", exact=True).wait_for()
    weights = {
        w.text_content(): w.evaluate("(w) => getComputedStyle(w).fontWeight") for w in word.all()
    }
    assert (weights["foo : o"], weights["for : r"]) == ("700", "400")
    names = [
        b.get_attribute("aria-label") for b in root.locator(".lmx-machine .tools button").all()
    ]
    assert len(set(names)) == len(names) >= 12
    assert "Character FSA: as a table" in names
    quiet(notebook)


def pair_in_view(root: Locator) -> str:
    """The place of the three machines in the composition: (FSA state, FST state), if they agree."""
    now: dict[str, list[str]] = {}
    for name in ("character_fsa", "detokenizing_fst", "token_dfa"):
        words = machine(root, name).locator(".n.now > text").all_text_contents()
        assert len(words) == 1, (name, words)  # Amber is in one place.
        now[name] = words
    (outer,), (inner,), (pair,) = now.values()
    assert pair == f"{outer},{inner}"
    return pair


@pytest.mark.long
def test_slow_motion_lights_a_state_of_each_machine_and_their_pair(
    notebook: Notebook, lab: Lab
) -> None:
    notebook.open(lab.code("pairs.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    press(root, STEP)
    at(root, 1)
    tokens = machine(root, "token_dfa")
    root.get_by_label("slow motion").check()
    for number, states in (("1", 8), ("2", 8), ("3", 4), ("4", 4), ("0", 5)):
        opened(tokens).get_by_label("construction").select_option(number)
        tokens.locator("svg .n").nth(states - 1).wait_for(state="attached")
        rest(root)
        if number == "1":
            root.locator('.lmx-row[data-token="4"] .take').click()
        else:  # The token is chosen already; its bytes are read again.
            press(root, STEP)
        seen: list[str] = []
        for byte in (1, 2, 3, 4):
            at(root, 1, f"byte {byte} of 4")
            rest(root)
            if number in "12":
                seen.append(pair_in_view(root))
            else:  # A token is one arc: open until its last byte, then its end is where we are.
                assert tokens.locator(".a.open").count() == (byte < 4)
                name = tokens.locator(".n.now").get_attribute("data-node")
                assert name == ("q3" if byte < 4 else "q4")
            if byte < 4:
                press(root, STEP)
        assert seen in ([], ["1,f", "2,fo", "3,foo", "4,r"])
        for byte in (3, 2, 1):
            press(root, BACK)
            at(root, 1, f"byte {byte} of 4")
        press(root, BACK)
        at(root, 1)
    quiet(notebook)


@pytest.mark.long
def test_an_added_token_stays_until_it_is_taken_out(notebook: Notebook, lab: Lab) -> None:
    root = real(notebook, lab, "added", "[0-9]{4}-(0[1-9]|1[0-2])")
    inner = machine(root, "detokenizing_fst")
    inner.locator("header span", has_text="10 of 3,995").wait_for()
    assert root.evaluate(OVERLAPS) == []
    root.locator(".lmx-find").fill("Athens")
    root.locator(".lmx-row .lmx-tok", has_text=re.compile("^Athens$")).first.click()
    # What is clicked is drawn, and kept if one says so.
    inner.locator("header span", has_text="11 of 3,995").wait_for()
    inner.get_by_role("button", name=re.compile("^keep .*Athens.* here$")).click()
    inner.locator("text[data-arc]", has_text="Athens : s").wait_for()
    press(root, STEP)
    at(root, 1)
    inner.locator("text[data-arc]", has_text="Athens : s").wait_for()
    inner.get_by_role("button", name="take Athens out").click()
    inner.locator("text[data-arc]", has_text="Athens : s").wait_for(state="detached")
    assert root.evaluate(OVERLAPS) == []
    quiet(notebook)


@pytest.mark.long
def test_a_large_machine_whole_and_a_larger_one_not(notebook: Notebook, lab: Lab) -> None:
    root = real(notebook, lab, "large", "[a-z]{320}")
    characters, tokens = machine(root, "character_fsa"), machine(root, "token_dfa")
    assert characters.locator(".n").count() < 40
    characters.get_by_role("button", name="draw the whole machine (321 states)").click()
    characters.locator('.n[data-node="c320"]').wait_for(state="attached")
    assert characters.locator(".n").count() == 321
    tokens.locator("header span", has_text=re.compile("^400 of [0-9,]+ arcs")).wait_for()
    for k in range(1, 4):
        press(root, STEP)
        at(root, k)
        tokens.locator(".a.past").nth(k - 1).wait_for(state="attached")
    here = tokens.locator(".n.now").get_attribute("data-node")
    # Every arc from here is there, also those beyond the 400 that are drawn at once.
    tokens.locator(f'.a[data-arc^="{here}-"]').nth(3).wait_for(state="attached")
    characters.get_by_role("button", name="only what is near").click()
    characters.locator('.n[data-node="c320"]').wait_for(state="detached")
    larger = root.locator(".lmx-edit textarea").nth(1)
    larger.fill("[a-z]{2100}")
    ask = characters.get_by_role("button", name="draw the whole machine (2,101 states)")
    ask.click()
    characters.locator(".lmx-offer", has_text="The machine has 2,101 states").wait_for()
    assert characters.locator(".n").count() < 40
    quiet(notebook)


def test_a_machine_as_a_table_by_keyboard(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("table.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    press(root, STEP)
    at(root, 1)
    tokens = machine(root, "token_dfa")
    toggle = opened(tokens).get_by_role("button", name="table")
    toggle.focus()
    notebook.page.keyboard.press("Enter")
    rows = tokens.locator("tr[data-row]")
    rows.first.wait_for()
    assert rows.count() == 8
    # After foo we are at state 3: its arcs are marked, not by colour alone.
    marked = tokens.locator('tr[aria-current="true"]')
    assert {row.get_attribute("data-row") for row in marked.all()} == {"q3-q1", "q3-q3", "q3-q4"}
    rows.first.focus()
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("Enter")
    tokens.locator(".lmx-arc", has_text="1 token").wait_for()
    at(root, 1)  # The keys were the table's.
    quiet(notebook)


def test_on_a_real_model_what_is_allowed_is_drawn_told_apart_and_added(
    notebook: Notebook, lab: Lab
) -> None:
    root = real(notebook, lab, "allowed", "caf(é|e)s?")
    inner, tokens = machine(root, "detokenizing_fst"), machine(root, "token_dfa")
    allowed = root.locator(".lmx-row:not(.masked) .lmx-tok").first
    inner.locator(".a.no").first.wait_for(state="attached")
    # Pointing at an allowed token lights all three machines.
    allowed.hover()
    for name in ("character_fsa", "detokenizing_fst", "token_dfa"):
        machine(root, name).locator(".a.go").first.wait_for(state="attached")
    assert inner.locator(".a.go.no").count() == 0
    # One can be chosen by typing.
    field = opened(inner).get_by_label("add a token")
    field.fill("Athens")
    field.press("Enter")
    inner.locator("text[data-arc]", has_text="Athens : s").wait_for()
    # The construction is not empty: it has the tokens of the drawing.
    opened(tokens).get_by_label("construction").select_option("4")
    tokens.locator("svg .n").nth(2).wait_for(state="attached")
    quiet(notebook)


@pytest.mark.long
def test_all_in_view_keeps_words_and_no_two_of_them_collide(notebook: Notebook, lab: Lab) -> None:
    root = real(notebook, lab, "fit", "(red|green|blue)-[0-9]{3}(x|y)?")
    characters = machine(root, "character_fsa")
    assert characters.locator(".n").count() >= 14
    opened(characters).get_by_label("fit, all of it in view").click()
    rest(root)
    shown = characters.locator(".words text").evaluate_all(
        "(all) => all.filter((one) => getComputedStyle(one).display !== 'none').length"
    )
    assert shown >= characters.locator(".words text").count() / 2
    assert root.evaluate(OVERLAPS) == []
    quiet(notebook)


@pytest.mark.long
def test_wide_digits_are_said_and_can_be_made_narrow(notebook: Notebook, lab: Lab) -> None:
    root = real(notebook, lab, "digits", r"\d{2}x")
    note = machine(root, "character_fsa").locator("[data-narrower]")
    note.wait_for()
    note.get_by_role("button", name="use [0-9]{2}x").click()
    note.wait_for(state="hidden")
    editor = root.locator(".lmx-edit textarea").nth(1)
    assert editor.input_value() == "[0-9]{2}x"
    quiet(notebook)


@pytest.mark.long
def test_a_lit_arc_names_the_token_that_was_taken(notebook: Notebook, lab: Lab) -> None:
    root = real(notebook, lab, "taken", "[0-9]{4}-(0[1-9]|1[0-2])")
    press(root, STEP)
    at(root, 1)
    taken = root.locator(".lmx-strip .lmx-tok[data-token]").last.text_content() or ""
    machine(root, "token_dfa").locator(".words text.lit tspan", has_text=taken).first.wait_for()
    quiet(notebook)
