"""Actions by hand and their effects: nothing moves under the pointer, the host keeps its
keys, and the focus stays where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.acting import START, STEP, TOY, at, classes, drawer, press, quiet, rest
from tests.browser.conftest import PATIENCE, Lab, Notebook
from tests.browser.test_hosts import run_the_first_cell

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

REAL = """import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
Explorer(lm, explorer.regex("[0-9]{4}-(0[1-9]|1[0-2])"), prompt="The date is ")"""

SCROLLED = """(el) => {
    const out = [];
    for (let one = el; one; one = one.parentElement) out.push(one.scrollTop);
    return [el.getBoundingClientRect().top, ...out];
}"""
AT_THE_EDGE = "(el) => el.scrollIntoView({block: 'end'})"


def test_a_click_moves_nothing_and_what_was_clicked_stays_lit(notebook: Notebook, lab: Lab) -> None:
    page = notebook.page
    notebook.open(lab.code("still.ipynb", REAL, REAL))
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    assert notebook.run_all()
    for number in (0, 1):
        for k in (1, 2):  # Then only the hyphen is allowed.
            press(notebook.explorer(number), STEP)
            at(notebook.explorer(number), k)
    for width, number in ((1280, 1), (1280, 0), (620, 1)):
        page.set_viewport_size({"width": width, "height": 700})
        root = notebook.explorer(number)
        drawer(root, "reasons").locator(".lmx-group").first.wait_for(state="attached")
        rest(root)
        # The last row in view, so that a reason below it has no room.
        masked = root.locator(".lmx-rows .lmx-row.masked")
        row, other = masked.nth(4), masked.nth(3)
        row.evaluate(AT_THE_EDGE)
        page.wait_for_timeout(200)
        before = row.evaluate(SCROLLED)
        row.click()
        root.locator(".lmx-why .nearest").wait_for()
        rest(root)
        # Only the list scrolls, until the reason below the row is in view; nothing else moves.
        after = row.evaluate(SCROLLED)
        scrolled = [k for k in range(1, len(before)) if abs(after[k] - before[k]) > 1]
        assert len(scrolled) <= 1
        by = sum(after[k] - before[k] for k in scrolled)
        assert 0 <= by < 120
        assert after[0] + by == pytest.approx(before[0], abs=1)
        panel, box = root.locator(".lmx-why").bounding_box(), row.bounding_box()
        assert panel is not None
        assert box is not None
        # The reason stands below the row that it is about, and covers none.
        assert 0 <= panel["y"] - (box["y"] + box["height"]) < 8
        # Pointing at another token lights nothing while this one is being read about.
        lit = classes(root, "detokenizing_fst", ".a.go", "data-arc")
        assert lit
        box = other.bounding_box()
        assert box is not None
        if not panel["y"] <= box["y"] <= panel["y"] + panel["height"]:
            other.hover()
        page.wait_for_timeout(300)
        assert "sel" in (row.get_attribute("class") or "")
        assert "sel" not in (other.get_attribute("class") or "")
        assert classes(root, "detokenizing_fst", ".a.go", "data-arc") == lit
        page.keyboard.press("Escape")
        root.locator(".lmx-why").wait_for(state="hidden")
    quiet(notebook)


RECORD = """() => {
    const {commands} = window.jupyterapp;
    window.executed = [];
    commands.execute = async (id) => { window.executed.push(id); };
}"""
# What the host would do with a key from here, if nothing of ours were in the way: the commands of
# each keystroke whose binding fits an element around the one in focus.
BOUND = """(el) => {
    const {commands} = window.jupyterapp;
    const out = {};
    for (const {keys, selector, command, args} of commands.keyBindings) {
        if (keys.length !== 1 || !commands.isEnabled(command, args)) continue;
        if (!el.closest(selector)) continue;
        (out[keys[0]] ??= []).push(command);
    }
    return out;
}"""
OURS = {
    "Space", "Home", "End", "Enter", "Escape", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown",
    *"123456789?",
}  # fmt: skip
"""The keys of a row of next tokens; every other one is the host's."""
MOVES = ("Home", "End", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Backspace", "Delete")
OF_A_FIELD = {
    *(f"Ctrl {letter}" for letter in "ACVXZY"), "Ctrl Shift Z",
    *(f"Ctrl {more}{key}" for more in ("", "Shift ") for key in MOVES),
}  # fmt: skip
"""What a field does with Ctrl; without it every key is its own."""


def pressed(page: Page, keystroke: str) -> list[str]:
    """The commands of the host that a keystroke, written as the host writes it, has run."""
    names = {"Ctrl": "Control"}
    page.evaluate("() => { window.executed.length = 0; }")
    *held, key = keystroke.split(" ")
    key = key if "Shift" in held else key.lower() if len(key) == 1 else key
    page.keyboard.press("+".join([*(names.get(part, part) for part in held), key]))
    return page.evaluate("() => window.executed")


def keys_of_the_host(root: Locator) -> None:
    """Press every shortcut of the host, in a row of next tokens and in the field of the pattern."""
    page = root.page
    page.evaluate(RECORD)
    field = root.get_by_role("textbox", name="constraint", exact=True)
    row = root.locator(".lmx-rows .lmx-row[data-token]").first
    for where, own in ((row, OURS), (field, OF_A_FIELD)):
        where.click()  # As a person: the notebook is in command mode.
        rest(root)
        bound: dict[str, list[str]] = where.evaluate(BOUND)
        assert "docmanager:save" in bound["Ctrl S"]
        lost: dict[str, Any] = {}
        for keystroke, commands in bound.items():
            plain = keystroke.split(" ")[-1] == keystroke or keystroke.startswith("Shift ")
            ours = keystroke in own or (where is field and plain and keystroke[:1] != "F")
            where.evaluate("(el) => el.focus({preventScroll: true})")
            ran = pressed(page, keystroke)
            if bool(set(ran) & set(commands)) == ours:
                lost[keystroke] = (commands, ran)
        assert lost == {}
        assert len(bound) > 10
        assert where is field or own & bound.keys()
    page.keyboard.press("Escape")


def test_every_shortcut_of_jupyterlab_works_inside(toy: Locator, notebook: Notebook) -> None:
    keys_of_the_host(toy)
    notebook.page.reload()  # The commands were taken from it.


@pytest.mark.long
def test_every_shortcut_of_notebook_7_works_inside(notebook: Notebook, lab: Lab) -> None:
    pytest.importorskip("notebook", reason="notebook is not installed")
    page = notebook.page
    page.goto(f"{lab.origin}/notebooks/{lab.code('seven.ipynb', TOY)}?token={lab.token}")
    run_the_first_cell(page)
    root = page.locator(".lmx-root")
    root.locator(".lmx-machine svg .n").first.wait_for(state="attached", timeout=PATIENCE)
    rest(root)
    notebook.host_alone()
    keys_of_the_host(root)


def test_the_focus_stays_and_the_arrows_walk_the_next_tokens(toy: Locator) -> None:
    page = toy.page

    def focus() -> str:
        return page.evaluate(
            "() => { const at = document.activeElement;"
            " return at.dataset.token || at.getAttribute('aria-label') || at.tagName; }"
        )

    # By Enter on a button to where it can do nothing more.
    step = toy.get_by_role("button", name=STEP, exact=True)
    step.focus()
    for k in (1, 2, 3, 4):
        page.keyboard.press("Enter")
        at(toy, k)
    toy.locator(".where", has_text="finished").wait_for()
    assert focus() == STEP
    toy.get_by_role("button", name=START, exact=True).focus()
    page.keyboard.press("Enter")
    at(toy, 0)
    assert focus() == START
    page.keyboard.press("ArrowRight")  # The keys are still the explorer's.
    at(toy, 1)
    # One key from anywhere to the rows, then arrows; one stop of Tab for all of them.
    page.keyboard.press("ArrowDown")
    walked = [focus()]
    for _ in range(5):
        page.keyboard.press("ArrowDown")
        walked.append(focus())
    assert walked == ["2", "4", "3", "5", "0", "1"]  # As they stand: foo, food, for, EOS, f, oo.
    assert toy.locator('.lmx-row[data-token][tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    toy.locator(".lmx-why", has_text="masked?").wait_for()
    press(toy, "close")
    assert focus() == "1"
