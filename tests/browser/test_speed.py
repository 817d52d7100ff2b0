"""Long runs and busy kernels: the page stays small, and what was asked is neither lost nor doubled.

No time is asserted here; `benchmarks/ui.py` measures.
"""

from __future__ import annotations

import json
import random
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from explorer.languages.constraint import regex
from tests.browser.acting import BACK, STEP, at, press
from tests.browser.conftest import Lab, Notebook
from tests.evidence import few
from widgets.toy import ToyModel
from widgets.views import bundle
from widgets.views.explorer import Explorer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ElementHandle, Page

LONG = """import explorer
from widgets import Explorer
from widgets.toy import ToyModel
long = Explorer(ToyModel(), explorer.regex("(foo){600}"))
long"""
CLICK = """async ([root, times]) => {
    const where = root.querySelector('.where'), button = root.querySelector('.step');
    for (let i = 0; i < times; i++) {
        const before = where.textContent;
        button.click();
        while (where.textContent === before) await new Promise((r) => requestAnimationFrame(r));
        await new Promise((r) => setTimeout(r, 0));
    }
}"""


NODES_OF_A_PICTURE = 300
"""At most; `Explorer.snapshot` has 171 elements at each place of this run, and their texts."""


def memory(page: Page) -> dict[str, float]:
    """The page's nodes and bytes of heap, after the garbage was collected.

    The page is at rest: reasons and warnings come after the numbers.
    """
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    for _ in range(3):
        devtools.send("HeapProfiler.collectGarbage")
    listed = devtools.send("Performance.getMetrics")["metrics"]
    devtools.detach()
    return {entry["name"]: entry["value"] for entry in listed}


def clicks(page: Page, root: ElementHandle, times: int) -> None:
    for _ in range(times // 20):
        page.evaluate(CLICK, [root, 20])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("steps", [100, pytest.param(500, marks=pytest.mark.long)])
def test_many_steps_leave_the_page_small_and_awake(
    steps: int, notebook: Notebook, lab: Lab
) -> None:
    notebook.open(lab.code("long.ipynb", LONG), anew=True)  # Nothing else is in the page.
    assert notebook.run_all()
    root = notebook.explorer()
    handle = root.element_handle()
    assert handle is not None
    page = notebook.page
    part = steps // 5
    clicks(page, handle, part)
    at(root, part)
    early = memory(page)
    clicks(page, handle, 2 * part)
    at(root, 3 * part)
    middle = memory(page)
    clicks(page, handle, 2 * part)
    at(root, steps)
    late = memory(page)
    # A token's box is a few nodes and three listeners; nothing else is added by a step, whatever
    # stands before it. What comes once, such as another part of a drawing, is less than 150 nodes
    # and 150 listeners. The browser keeps the last pictures for a page without a kernel for a
    # while: each is a document of its own.
    pictures = late["Documents"] - middle["Documents"]
    assert late["Nodes"] - middle["Nodes"] <= 2 * part * 12 + 150 + NODES_OF_A_PICTURE * pictures
    assert late["JSEventListeners"] - middle["JSEventListeners"] <= 2 * part * 3 + 150
    # What is kept of a step is a few kilobytes: the position, so that it can be read again.
    assert late["JSHeapUsedSize"] - early["JSHeapUsedSize"] <= 4 * part * 30_000
    assert late["JSHeapUsedSize"] <= 1.5 * early["JSHeapUsedSize"]
    assert root.locator(".lmx-strip [data-k]").count() == steps
    last = root.locator(f'.lmx-strip [data-k="{steps}"]')
    assert last.evaluate(
        "(el) => { const a = el.getBoundingClientRect(), b = el.parentElement"
        ".getBoundingClientRect(); return a.top >= b.top - 1 && a.bottom <= b.bottom + 1; }"
    )
    press(root, BACK)
    at(root, steps - 1)
    root.locator('.lmx-strip [data-k="3"]').click()
    at(root, 2)  # Where the third token was chosen.
    press(root, STEP)
    at(root, 3)


BUSY = """import pathlib, threading, time
from widgets import Explorer
toy = Explorer()
toy"""
WAITING = """print("the cell has begun", flush=True)
while not pathlib.Path({flag!r}).exists():
    time.sleep(0.01)"""
HELD = "with toy.cursor.lock:\n" + textwrap.indent(WAITING, "    ")
NOTES = """(root) => {
    window.notes = [];
    const note = root.querySelector('.lmx-note');
    const look = () => note.hidden || window.notes.push(note.textContent);
    new MutationObserver(look).observe(note, {attributes: true, childList: true});
}"""


def begin(notebook: Notebook, cell: int) -> None:
    """Start a cell and do not wait for it."""
    notebook.page.evaluate(
        "(cell) => { const app = window.jupyterapp;"
        " app.shell.currentWidget.content.activeCellIndex = cell;"
        " app.commands.execute('notebook:run-cell'); }",
        cell,
    )
    notebook.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
        " === 'busy'"
    )


def idle(notebook: Notebook) -> None:
    """Wait until the kernel has answered everything."""
    notebook.page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
        " === 'idle'"
    )


@pytest.mark.parametrize("cell", few([HELD, WAITING], 1))
def test_presses_while_a_cell_runs_are_not_lost(
    cell: str, notebook: Notebook, lab: Lab, tmp_path: Path
) -> None:
    flag = tmp_path / "end"
    notebook.open(lab.code("busy.ipynb", BUSY, cell.format(flag=str(flag))))
    begin(notebook, 0)
    root = notebook.explorer()
    at(root, 0)
    idle(notebook)
    root.evaluate(NOTES)
    begin(notebook, 1)
    notebook.page.locator(".jp-OutputArea-output", has_text="the cell has begun").wait_for()
    for _ in range(3):
        root.locator("button.step").evaluate("(button) => button.click()")
    if cell is HELD:
        root.locator(".lmx-note", has_text="kernel busy… 2 more presses wait.").wait_for()
        flag.touch()
    root.locator(".lmx-strip [data-k]").nth(2).wait_for()
    flag.touch()
    root.locator(".lmx-note[role=status]").wait_for(state="hidden")
    at(root, 3)
    press(root, BACK)
    at(root, 2)


def test_the_page_moves_a_line_as_python_does(chromium: Browser) -> None:
    """At every step, the page builds the same line and history from the moves as the kernel has."""
    made = Explorer(ToyModel(), regex("(foo)+d"))
    lines: list[list[dict[str, Any]]] = []
    moves: list[dict[str, Any]] = []
    first = json.loads(json.dumps([made.line, made.history]))
    draw = random.Random(0)
    for _ in range(200):
        session = made.session
        move = draw.choice(["step", "take", "peek", "jump"])
        if move == "jump" or session.finished:
            made.cursor.jump(draw.randrange(session.length + 1))
        elif move == "step":
            made.cursor.step()
        else:
            token = draw.choice(session.allowed().nonzero()[0].tolist())
            made.cursor.step(token) if move == "take" else made.cursor.peek(token)
        lines.append(json.loads(json.dumps([made.line, made.history])))
        moves.append(json.loads(json.dumps(made.moved)))
    made.close()
    page = chromium.new_page()
    built = page.evaluate(
        "([source, first, moves]) => new Function('first', 'moves', source +"
        " '; const [line, history] = first; return moves.map((moved) => {"
        " moveLine(line, history, moved); return structuredClone([line, history]); });"
        "')(first, moves)",
        [bundle.source("page_reading.js"), first, moves],
    )
    page.close()
    assert any(
        len(moved["tokens"]) < len(line["strip"]["tokens"])
        for moved, (line, _) in zip(moves, lines, strict=True)
    )
    assert built == lines
