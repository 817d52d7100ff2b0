"""Every notebook of the course in a real JupyterLab: it runs, waits for guesses, and steps."""

from __future__ import annotations

import json
import os

import pytest

from tests.browser.acting import STEP, at, press, quiet
from tests.browser.conftest import REPOSITORY, Lab, Notebook
from tests.notebooks.running import course

LESSONS = [path.stem for path in course() if path.stem != "00_quickstart"]
"""The quickstart has a test of its own, beside those of the explorer."""
SHORT = "09d_bytes_and_spaces"
"""The one that runs in every test run; the others are `long`."""


@pytest.mark.parametrize(
    "stem",
    [stem if stem == SHORT else pytest.param(stem, marks=pytest.mark.long) for stem in LESSONS],
)
def test_a_notebook_runs_and_its_explorer_steps(notebook: Notebook, lab: Lab, stem: str) -> None:
    written = json.loads((REPOSITORY / "notebooks" / f"{stem}.ipynb").read_text("utf-8"))
    notebook.open(lab.put(f"{stem}.ipynb", written))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    press(root, STEP)
    at(root, 1)
    # Predictions wait: nothing is said before a guess; then it is, with what the cell worked out.
    asked = notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .lmx-guess")
    assert asked.count() >= 2
    for number in range(asked.count()):
        one = asked.nth(number)
        assert one.locator(".lmx-guess-said").inner_text() == ""
        assert one.locator("img, pre, table").count() == 0
        field = one.locator("input")
        if field.count():
            field.fill("1")
            field.press("Enter")
        elif one.locator(".lmx-guess-state").count():
            one.locator(".lmx-guess-state").first.focus()
            notebook.page.keyboard.press("Enter")
        else:
            one.locator("button").first.click()
        one.locator(".lmx-guess-said:not(:empty)").wait_for()
        assert one.locator(".lmx-guess-said").inner_text()[0] in "✓✗"
    # Each picture is there, with its description.
    pictures = notebook.page.locator(
        ".jp-OutputArea-output svg[role=img], .jp-RenderedSVG img, .lmx-guess-picture img[alt]"
    )
    assert pictures.count() >= 2
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)").screenshot(
            path=f"{folder}/{stem}.png"
        )
    quiet(notebook)
