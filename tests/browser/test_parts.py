"""The parts in cells of their own, and two lines side by side, in a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.languages.constraint import regex
from tests.browser.acting import (
    BACK,
    END,
    FOO,
    FOOD,
    FOR,
    STEP,
    allowed,
    at,
    classes,
    press,
    quiet,
    rest,
    settle,
)
from tests.browser.conftest import PATIENCE, Lab, Notebook
from widgets.toy import ToyModel, toy_constraint

if TYPE_CHECKING:
    from playwright.sync_api import Locator

PARTS = (
    "from widgets import Machines, Mask, Stepper\nsteps = Stepper()\nsteps",
    "Machines(cursor=steps.cursor)",
    "Mask(cursor=steps.cursor)",
)
COMPARE = """import explorer
from widgets import Compare
both = Compare(None, explorer.regex("(foo)+d"), explorer.regex("foo(foo)?"))
both"""


def part(notebook: Notebook, cell: int, drawn: str) -> Locator:
    """The widget of a cell, when it shows something."""
    root = notebook.page.locator(".jp-CodeCell").nth(cell).locator(".lmx-root")
    root.locator(drawn).first.wait_for(state="attached", timeout=PATIENCE)
    return root


def restart(notebook: Notebook) -> None:
    notebook.page.evaluate(
        "async () => { await window.jupyterapp.shell.currentWidget"
        ".sessionContext.session.kernel.restart(); }"
    )


def now(machines: Locator) -> dict[str, set[str]]:
    return {
        name: classes(machines, name, ".n.now", "data-node")
        for name in ("character_fsa", "token_dfa")
    }


def test_parts_in_cells_of_their_own_follow_each_other(notebook: Notebook, lab: Lab) -> None:
    page = notebook.page
    notebook.open(lab.code("parts.ipynb", *PARTS))
    assert notebook.run_all()
    steps = part(notebook, 0, ".where")
    machines = part(notebook, 1, ".lmx-machine svg .n")
    mask = part(notebook, 2, ".lmx-cell")
    assert page.locator(".lmx-machine").count() == 3  # Nobody else drew them.

    def agree(session: Session) -> None:
        at(steps, session.index)
        for one in (machines, mask):
            rest(one, session.index)
        assert allowed(mask) == session.allowed().nonzero()[0].tolist()
        state = session.trace.positions[session.index].char_state
        assert now(machines) == {"character_fsa": {f"c{state}"}, "token_dfa": {f"q{state}"}}

    session = Session(ToyModel(), toy_constraint(), sampler=Sampler(temperature=0.0))
    at(steps, 0)
    agree(session)
    press(steps, STEP)
    session.step()
    agree(session)
    steps.focus()
    page.keyboard.press("ArrowRight")
    session.step()
    agree(session)
    page.keyboard.press("ArrowLeft")
    session.back()
    agree(session)

    # A token that is asked about in one cell is lit in the other.
    mask.locator(f'.lmx-cell[data-token="{FOR}"]').click()
    machines.locator('[data-machine="character_fsa"] .n.ko').wait_for(state="attached")
    mask.locator(f'.lmx-cell[data-token="{FOR}"]').click()
    machines.locator('[data-machine="character_fsa"] .n.ko').wait_for(state="detached")

    # Slow motion in one cell goes through the machines in the other, byte by byte.
    steps.get_by_label("slow motion").check()
    press(steps, STEP)
    steps.locator(".where", has_text="byte 1 of 3").wait_for()
    settle(page)
    dfa = toy_constraint().dfa
    inside = int(dfa.table[session.trace.positions[1].char_state, dfa.symbol_class[ord("f")]])
    assert now(machines)["character_fsa"] == {f"c{inside}"}
    steps.get_by_label("slow motion").uncheck()

    # Without the kernel each part says so, and what it was sent can still be read.
    quiet(notebook)
    restart(notebook)
    for one in (steps, machines, mask):
        one.locator(".lmx-note", has_text="kernel restarted: run the cell").wait_for()
    press(steps, BACK)
    session.jump(0)
    agree(session)


def test_compare_steps_both_sides_as_the_engine_does(notebook: Notebook, lab: Lab) -> None:
    page = notebook.page
    notebook.open(lab.code("compare.ipynb", COMPARE))
    assert notebook.run_all()
    root = part(notebook, 0, ".lmx-cell")
    sides = [root.locator(f'.lmx-column[data-side="{name}"]') for name in ("left", "right")]
    lines = [root.locator(f'.lmx-line[data-side="{name}"]') for name in ("left", "right")]
    sessions = [
        Session(ToyModel(), regex(pattern), sampler=Sampler(temperature=0.0))
        for pattern in ("(foo)+d", "foo(foo)?")
    ]

    def agree() -> None:
        at(root, max(session.index for session in sessions))
        for side, line, session in zip(sides, lines, sessions, strict=True):
            tokens = line.locator(".lmx-tok:not(.ahead)").all()
            shown = [int(token.get_attribute("data-token") or -1) for token in tokens]
            assert tuple(shown) == session.ids
            if session.finished:
                continue
            number = int(session.allowed().sum())
            assert side.locator(".lmx-facts .allowed b").inner_text() == str(number)
            assert allowed(side) == session.allowed().nonzero()[0].tolist()

    at(root, 0)
    agree()
    while not all(session.finished for session in sessions):
        press(root, STEP)
        for session in sessions:
            if not session.finished:
                session.step()
        agree()
    assert sessions[0].index != sessions[1].index
    parted = next(
        i
        for i, (one, two) in enumerate(zip(*[s.ids for s in sessions], strict=False))
        if one != two
    )
    for line in lines:
        mark = line.locator(".parted")
        assert mark.get_attribute("data-k") == str(parted + 1)
        # Its sign is explained in view.
        assert "first token in which the two lines differ" in line.inner_text()
    # The sides have the names of their constraints, and the tokens that they share are aligned.
    assert [line.locator("code").first.inner_text() for line in lines] == ["(foo)+d", "foo(foo)?"]
    assert [side.locator("h4").first.inner_text() for side in sides] == ["(foo)+d", "foo(foo)?"]
    for k in range(1, parted + 2):
        boxes = [line.locator(f'[data-k="{k}"]').bounding_box() for line in lines]
        assert boxes[0] and boxes[1]
        assert abs(boxes[0]["x"] - boxes[1]["x"]) < 1 and boxes[0]["y"] < boxes[1]["y"]

    # A token that is taken on one side is taken there; the other side goes its own way.
    root.focus()
    page.keyboard.press("Home")
    at(root, 0)
    sides[0].locator(f'.lmx-row[data-token="{FOOD}"] .take').first.click()
    for session in sessions:
        session.jump(0)
    sessions[0].step(FOOD)
    sessions[1].forward()
    agree()

    page.keyboard.press("Home")
    at(root, 0)
    root.get_by_label("take it on both sides").check()
    sides[0].locator(f'.lmx-row[data-token="{FOO}"] .take').first.click()
    at(root, 1)
    for line in lines:
        taken = line.locator(".lmx-strip .last")
        assert taken.get_attribute("data-token") == str(FOO)
    press(root, END)
    root.locator(".where", has_text="finished").wait_for()
