"""Other hosts, and the page after the kernel is gone: Notebook 7, voila, a saved file.

The one server of the tests serves all three front ends.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from tests.browser.acting import BACK, FOO, FOOD, STEP, TOY, allowed, at, press, rest
from tests.browser.conftest import PATIENCE, Lab, Notebook
from tests.browser.forked_kernel import FRESH
from widgets.figures.snapshot import WIDTH

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LONG = """import explorer
from widgets import Explorer
Explorer(constraint=explorer.regex("(foo){60}d"))"""
PLAIN = "import ipywidgets\nipywidgets.IntSlider()"
STILL = "details.lmx-still"
COMMAND = """async ([name, args]) => {
    await window.jupyterapp.commands.execute(name, args || {});
}"""


def command(notebook: Notebook, name: str) -> None:
    notebook.page.evaluate(COMMAND, [name, None])


def steps(root: Locator) -> None:
    """The toy's machines move: one step on, and back."""
    root.locator(".lmx-machine svg .n").first.wait_for(state="attached", timeout=PATIENCE)
    at(root, 0)
    press(root, STEP)
    at(root, 1)
    assert allowed(root) == [0, FOO, FOOD]
    press(root, BACK)
    at(root, 0)
    press(root, STEP)
    at(root, 1)


def run_the_first_cell(page: Page) -> None:
    """Press the keys until the cell says that it ran; without a kernel it does not run."""
    cell = page.locator(".jp-Notebook .jp-Cell").first
    ran = cell.locator(".jp-InputPrompt", has_text=re.compile(r"\[[\d*]+\]"))
    # The host may ask something first, such as which kernel.
    asked = page.locator(".jp-Dialog")
    page.add_locator_handler(asked, lambda: asked.locator(".jp-mod-accept").click(), times=3)
    for _ in range(20):
        cell.locator(".cm-content").click(timeout=PATIENCE)
        page.keyboard.press("Shift+Enter")
        for _ in range(15):
            if ran.count():
                return
            page.wait_for_timeout(200)
    raise AssertionError("the cell did not run")


def test_notebook_7_loads_and_steps(notebook: Notebook, lab: Lab) -> None:
    pytest.importorskip("notebook", reason="notebook is not installed")
    page = notebook.page
    for name, cell, drawn in (("plain", PLAIN, ".widget-slider"), ("ours", TOY, ".lmx-root")):
        page.goto(f"{lab.origin}/notebooks/{lab.code(f'{name}.ipynb', cell)}?token={lab.token}")
        run_the_first_cell(page)
        page.locator(drawn).wait_for(timeout=PATIENCE)
        if cell == PLAIN:
            notebook.host_alone()
    steps(page.locator(".lmx-root"))
    shown(notebook, 1)


@pytest.mark.long
def test_voila_loads_and_steps(notebook: Notebook, lab: Lab) -> None:
    pytest.importorskip("voila", reason="voila is not installed")
    page = notebook.page
    for name, cell, drawn in (("plain", PLAIN, ".widget-slider"), ("ours", TOY, ".lmx-root")):
        path = lab.code(f"{name}.ipynb", cell, kernel=FRESH)
        page.goto(f"{lab.origin}/voila/render/{path}?token={lab.token}")
        page.locator(drawn).wait_for(timeout=PATIENCE)
        if cell == PLAIN:
            # Voila's own page asks for its fonts and for MathJax elsewhere, and when one leaves it,
            # its goodbye to the kernel is refused.
            page.wait_for_load_state("networkidle")
            page.goto("about:blank")
            page.wait_for_timeout(500)
            notebook.host_alone()
    steps(page.locator(".lmx-root"))


def shown(notebook: Notebook, position: int) -> Locator:
    """Wait until the output for a page without a kernel is about a position."""
    still = notebook.page.locator(STILL)
    summary = still.locator("summary", has_text=re.compile(rf"Position {position}:"))
    summary.wait_for(state="attached")
    return still


def test_the_still_follows_in_quiet_and_never_during_play(notebook: Notebook, lab: Lab) -> None:
    # A long line, so that play goes on for a while.
    notebook.open(lab.code("long.ipynb", LONG))
    assert notebook.run_all()
    toy = notebook.explorer()
    still = shown(notebook, 0)
    assert still.count() == 1
    assert not still.is_visible()  # Beside the live view it says nothing more.
    press(toy, STEP)
    at(toy, 1)
    shown(notebook, 1)
    toy.get_by_role("combobox", name="speed").select_option("4×")
    before = still.locator("summary").text_content() or ""
    toy.get_by_role("button", name="play or pause (space)").click()
    toy.locator(".where", has_text=re.compile(r"^position ([5-9]|\d\d)\b")).wait_for()
    during = still.locator("summary").text_content() or ""
    toy.get_by_role("button", name="play or pause (space)").click()
    assert "Position 1:" in before
    assert during == before
    rest(toy)  # A step may have been under way.
    where = toy.locator(".where").inner_text()
    found = re.match(r"position (\d+)", where)
    assert found is not None
    shown(notebook, int(found[1]))


def saved(notebook: Notebook, lab: Lab, name: str) -> str:
    command(notebook, "docmanager:save")
    notebook.page.wait_for_function(
        "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
    )
    return (lab.work / name).read_text()


@pytest.mark.parametrize("trusted", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_saved_notebook_shows_the_last_place(trusted: bool, notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("saved.ipynb", TOY))
    assert notebook.run_all()
    root = notebook.explorer()
    press(root, STEP)
    at(root, 1)
    root.locator(f'.lmx-row[data-token="{FOOD}"] .take').click()
    at(root, 2)
    shown(notebook, 2)
    text = saved(notebook, lab, "saved.ipynb")
    assert len(text) < 200_000
    lab.shut_down()
    name = "saved.ipynb"
    if not trusted:
        # From somewhere else: the same file with other words in it is not one this user ran.
        document = json.loads(text)
        document["cells"][0]["source"] += "  # from elsewhere"
        name = lab.put("elsewhere.ipynb", document)
    notebook.open(name, anew=True)  # Another day.
    page = notebook.page
    still = shown(notebook, 2)
    picture = still.locator("img")
    picture.wait_for(state="visible")
    page.wait_for_function("(image) => image.complete", arg=picture.element_handle())
    drawn, room = picture.evaluate(
        "(image) => [[image.naturalWidth, image.width], image.parentElement.clientWidth]"
    )
    # It is as wide as it was drawn: a notebook's column at this size of the window, neither more,
    # which would make its letters smaller, nor much less.
    assert drawn == [WIDTH, WIDTH]
    assert 0.8 * room <= WIDTH <= room
    assert "Position 2 after 7 bytes: foofood" in still.locator("pre").inner_text()
    source = picture.get_attribute("src") or ""
    assert "Position 2: " in unquote(source)
    # Nothing was run to show it.
    assert page.locator(".jp-InputPrompt", has_text="[1]").count() == 1
    assert page.locator(".lmx-root").count() == 0
    # The still is all that is there.
    assert not page.get_by_text("Error displaying widget").filter(visible=True).count()


def test_a_restarted_kernel(toy: Locator, notebook: Notebook) -> None:
    seen = [toy.locator(".lmx-facts").inner_text()]
    for k in (1, 2):
        press(toy, STEP)
        at(toy, k)
        seen.append(toy.locator(".lmx-facts").inner_text())
    page = notebook.page
    page.evaluate("() => { window.jupyterapp.commands.execute('kernelmenu:restart'); }")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    toy.locator(".lmx-note", has_text="kernel restarted: run the cell").wait_for()
    rest(toy)
    # What was not asked before cannot be: it is said, instead of waiting for ever.
    toy.locator('.lmx-row[data-token="3"]').click()
    toy.locator(".lmx-why .said", has_text="Run the cell again").wait_for()
    press(toy, "close")
    for name in ("Fork", "play or pause (space)", "to the end (End)"):
        assert toy.get_by_role("button", name=name, include_hidden=True).is_disabled()
    assert toy.get_by_role("textbox", name="constraint").is_disabled()
    for k in (1, 0):
        press(toy, BACK)
        at(toy, k)
        assert toy.locator(".lmx-facts").inner_text() == seen[k]
    press(toy, STEP)
    at(toy, 1)
    assert toy.locator(".lmx-facts").inner_text() == seen[1] != seen[0]
    # The cell, run again, is a new explorer at the start.
    assert notebook.run_all()
    at(notebook.explorer(), 0)
