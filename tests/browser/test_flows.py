"""Motions of the explorer: paths of tokens, steps, pairs, texts that are typed or dragged along."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.browser.acting import END, STEP, at, press, quiet, rest
from tests.browser.test_first_glance import REAL

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import Lab, Notebook
    from tests.browser.replays import Opened

CROSSES = """(svgs) => svgs.flatMap((svg) => [...svg.querySelectorAll('.cross')]
    .filter((one) => one.closest('.looked') || !one.closest('.lmx-along'))
    .map((one) => Math.round(one.getBoundingClientRect().x)))"""


def hovered(root: Locator, token: str) -> None:
    """Move the pointer to a token of the list."""
    row = root.locator(".lmx-rows .lmx-row").filter(has=root.page.get_by_text(token, exact=True))
    row.first.hover()
    root.locator(".lmx-row.sel").filter(has_text=token).first.wait_for()
    rest(root)


def test_a_token_under_the_pointer_ghosts_its_path_along_the_text(opened: Opened) -> None:
    root = opened("date", 848, 640)
    drawn = root.locator(".lmx-along svg")
    paths = "(svg) => [...svg.querySelectorAll('.looked .line')].length"
    row = root.locator(".lmx-rows .lmx-row[data-token]:not(.masked)").first
    text = row.locator(".name").inner_text()
    row.hover()
    drawn.locator(".looked .char").first.wait_for()
    # A letter is an arc of the FSA and one of the FST; the token is an arc of the token DFA.
    assert drawn.evaluate(paths) == 2 * len(text) + 1
    assert drawn.locator(".looked .char").all_text_contents() == list(text)
    assert drawn.evaluate("(svg) => getComputedStyle(svg.querySelector('.coming')).opacity") < "0.5"
    assert drawn.locator(".looked .cross").count() == 0
    box = root.locator(".lmx-parts").bounding_box()
    press(root, STEP)
    at(root, 1)
    # Of a masked token ✗ stands at the letter where it fails, in all three.
    press(root, STEP)
    at(root, 2)
    masked = root.locator(".lmx-rows .lmx-row.masked").first
    masked.hover()
    drawn.locator(".looked .cross").first.wait_for()
    assert drawn.locator(".looked .cross").count() == 3
    assert len(set(drawn.evaluate_all(CROSSES))) == 1
    assert "expects" in (drawn.locator(".looked .said").text_content() or "")
    assert root.locator(".lmx-parts").bounding_box() == box
    root.page.mouse.move(2, 2)
    drawn.locator(".looked .cross").first.wait_for(state="detached")


def test_in_each_machine_by_itself_a_masked_token_has_its_cross(opened: Opened) -> None:
    root = opened("toy", 848, 640)
    press(root, STEP)
    at(root, 1)
    hovered(root, "for")
    crosses = root.locator(".lmx-machine svg .cross")
    assert crosses.count() == 3  # `fo` is read, `r` is not.
    hovered(root, "foo")
    assert crosses.count() == 0


def test_pair_by_pair_is_a_button_in_view_and_the_arrows_are_its_keys(
    toy: Locator, notebook: Notebook
) -> None:
    press(toy, STEP)
    at(toy, 1)
    press(toy, "pair by pair")
    tokens = toy.locator('[data-machine="token_dfa"]')
    tokens.get_by_text("pair 0 of 10").wait_for()
    toy.focus()
    for key, number in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowRight", 2)):
        notebook.page.keyboard.press(key)
        tokens.get_by_text(f"pair {number} of 10").wait_for()
        assert tokens.locator("svg .a:not(.later)").count() == number
    at(toy, 1)  # No step was taken.
    notebook.page.keyboard.press("Escape")
    tokens.get_by_text("pair 2 of 10").wait_for(state="hidden")
    notebook.page.keyboard.press("ArrowRight")
    at(toy, 2)
    quiet(notebook)


def test_a_text_that_one_writes_is_taken_up_to_its_first_masked_letter(
    notebook: Notebook, lab: Lab
) -> None:
    notebook.open(lab.code("writes.ipynb", REAL))
    assert notebook.run_all()
    root = notebook.explorer(along=True)
    at(root, 0)
    field = root.get_by_role("textbox", name="write what you want")
    field.fill('{"name": "Zo3')
    field.press("Enter")
    root.locator(".lmx-why .said", has_text="3").wait_for()
    rest(root)
    taken = "".join(root.locator(".lmx-strip [data-k]").all_text_contents())
    assert taken.replace("✓", "") == '{"name":␣"Zo'
    assert field.input_value() == ""
    # An allowed text is taken to its end.
    field.fill('ra", "age')
    field.press("Enter")
    root.locator(".lmx-strip [data-k]", has_text="age").wait_for()
    rest(root)
    assert root.locator(".lmx-why").is_hidden()
    quiet(notebook)


def test_a_step_is_a_motion_that_moves_nothing_and_ends_with_the_next_press(opened: Opened) -> None:
    for name in ("toy", "date"):
        root = opened(name, 848, 640)
        moving = "(el) => el.dataset.motion === 'runs' && el.querySelectorAll('.lmx-letter').length"
        box = root.locator(".lmx-parts").bounding_box()
        press(root, STEP)
        root.page.wait_for_function(moving, arg=root.element_handle())
        assert root.locator(".lmx-air .lmx-tok").count() == 2  # Into the text, and as a pair.
        assert root.locator(".lmx-parts").bounding_box() == box
        at(root, 1)  # The page has the new place, whatever moves over it.
        press(root, STEP)
        at(root, 2)
        root.locator("xpath=self::*[not(@data-motion)]").wait_for()
        assert root.locator(".lmx-air > *").count() == 0
    # After the first steps of a real model there is none.
    press(root, STEP)
    at(root, 3)
    press(root, STEP)
    at(root, 4)
    assert root.get_attribute("data-motion") is None


BARS = """(root) => [...root.querySelectorAll('.lmx-rows .lmx-row[data-token]')].map((row) => {
    const [model, after] = ['b', 'u'].map((bar) => row.querySelector('.pair ' + bar));
    const grows = after.getAnimations()[0]?.effect.getKeyframes()[0].transform;
    const width = (one) => parseFloat(one.style.width) / 100 * one.parentElement.clientWidth;
    return [row.classList.contains('masked'), width(model), width(after), grows || ''];
})"""


def test_after_a_step_the_mass_of_masked_tokens_flows_to_the_allowed_ones(opened: Opened) -> None:
    root = opened("toy", 1280, 720)
    press(root, STEP)
    pieces = root.locator(".lmx-mass")
    pieces.first.wait_for(state="attached")
    rows = root.evaluate(BARS)
    masked = [model for hidden, model, _, _ in rows if hidden]
    # Each masked bar is struck, and as much as it has flows away.
    assert root.locator(".lmx-strike").count() == len(masked) == 3
    flown = pieces.evaluate_all("(all) => all.reduce((sum, one) => sum + one.offsetWidth, 0)")
    assert abs(flown - sum(masked)) < 9  # Half a pixel of each of nine pieces, and their rounding.
    for hidden, model, after, grows in rows:
        share = re.fullmatch(r"scaleX\((.*)\)", grows)
        assert (share is None) == hidden
        if share:  # From the model's bar to the constrained one.
            assert abs(float(share[1]) - model / after) < 0.03
    press(root, STEP)
    at(root, 2)
    root.locator("xpath=self::*[not(@data-motion)]").wait_for()


def test_a_masked_token_that_is_clicked_runs_to_its_cross(opened: Opened) -> None:
    root = opened("toy", 848, 640)
    runs = "(el) => el.querySelectorAll('.lmx-letter.no').length"
    root.locator(".lmx-rows .lmx-row", has_text="for").first.click()
    root.page.wait_for_function(runs, arg=root.element_handle())
    root.page.keyboard.press("Escape")


def test_where_less_motion_is_asked_for_nothing_moves(opened: Opened) -> None:
    root = opened("toy", 848, 640)
    root.page.emulate_media(reduced_motion="reduce")
    press(root, STEP)
    at(root, 1)
    assert root.get_attribute("data-motion") is None
    root.locator(".lmx-rows .lmx-row", has_text="for").first.click()
    root.locator(".lmx-why .said").first.wait_for()
    rest(root)
    assert root.locator(".lmx-air > *").count() == 0


def test_a_pointer_that_is_dragged_along_the_text_takes_the_machines_with_it(
    opened: Opened,
) -> None:
    root = opened("date", 1280, 720)
    press(root, END)
    at(root, 7)
    mouse = root.page.mouse
    boxes = [box.bounding_box() for box in root.locator(".lmx-strip [data-k]").all()]
    ends = [(box["x"] + box["width"], box["y"] + box["height"] / 2) for box in boxes if box]
    mouse.move(*ends[-1])
    mouse.down()
    labels = "(all) => all.map((one) => one.dataset.label).sort().join()"
    states = root.locator(".lmx-along .n.now")
    seen = [states.evaluate_all(labels)]
    for k in (4, 2, 1):
        mouse.move(*ends[k - 1], steps=5)
        at(root, k)
        seen.append(states.evaluate_all(labels))
    mouse.move(ends[-1][0], ends[-1][1] + 40, steps=5)
    at(root, len(ends))
    mouse.up()
    at(root, len(ends))  # The end of a drag is not a click on a token.
    assert len(set(seen)) == len(seen)


NO_MODEL = """import explorer
from widgets import Explorer
words = explorer.Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food", b"2024"], eos_ids=[6])
Explorer(words, explorer.regex("(foo)+d"))"""


def test_without_a_model_the_reader_takes_the_steps(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("words.ipynb", NO_MODEL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    rows = root.locator(".lmx-rows .lmx-row[data-token]")
    rows.first.wait_for()
    rest(root)
    names = [row.locator(".name").inner_text() for row in rows.all()]
    # The allowed ones, then the masked ones: first the one that is read furthest.
    assert names[:4] == ["f", "foo", "food", "for"] and set(names[4:]) == {"oo", "2024"}
    assert "expects" in root.locator(".lmx-row.masked").first.inner_text()
    assert not root.locator(".lmx-rows .num:visible").count()
    rows.nth(1).get_by_role("button", name="take").click()
    at(root, 1)
    root.focus()
    notebook.page.keyboard.press("3")
    at(root, 2)
    # A number finds the tokens that write it, an id has its sign.
    press(root, "to the start (Home)")
    at(root, 0)
    search = root.get_by_role("searchbox", name="find a token")
    found = root.locator(".lmx-rows").nth(1).locator(".lmx-row[data-token]")
    for query, token in (("2024", "5"), ("#3", "3")):
        search.fill(query)
        found.and_(root.locator(f'[data-token="{token}"]')).wait_for()
        assert found.count() == 1
    search.fill("5")
    root.get_by_text("no such token").wait_for()
    quiet(notebook)


def test_in_a_lecture_one_machine_is_large_and_the_space_bar_goes_on(opened: Opened) -> None:
    root = opened("date", 1280, 720)
    ring = """(root) => Math.max(...[...root.querySelectorAll('.lmx-machine circle')]
        .map((one) => one.getBoundingClientRect().width))"""
    press(root, "as machines")
    root.locator(".lmx-machine svg .n").first.wait_for()
    rest(root)
    before = root.evaluate(ring)
    # A page without a kernel cannot compose: nothing stands in the place of that button.
    stray = "(el) => [...el.childNodes].filter((one) => one.nodeType === 3).length"
    assert root.locator(".lmx-foot").evaluate(stray) == 0
    press(root, "lecture")
    machines = root.locator(".lmx-machine")
    for number in (0, 1, 2):
        assert [one.is_visible() for one in machines.all()] == [i == number for i in range(3)]
        if not number:
            assert root.evaluate(ring) > 1.3 * before
        root.page.keyboard.press(" ")
        rest(root)
    at(root, 1)  # After the third machine, a step.
    assert [one.is_visible() for one in machines.all()] == [True, False, False]
    root.page.keyboard.press("Escape")
    rest(root)
    assert all(one.is_visible() for one in machines.all())
    assert root.locator(".lmx-numbers").is_visible()
