"""Every notebook of the course in a real JupyterLab: it runs, and its explorer steps."""

from __future__ import annotations

import json
import os

import pytest

from tests.browser.acting import STEP, at, press, quiet
from tests.browser.conftest import REPOSITORY, Lab, Notebook
from tests.notebooks.running import course

LESSONS = [path.stem for path in course() if path.stem != "00_quickstart"]
"""The quickstart has a test of its own, beside those of the explorer."""
SHORT = "09e_isolated_spaces"
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
    # Each picture is there, with its description.
    pictures = notebook.page.locator(".jp-OutputArea-output svg[role=img], .jp-RenderedSVG img")
    assert pictures.count() >= 4
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)").screenshot(
            path=f"{folder}/{stem}.png"
        )
    quiet(notebook)
