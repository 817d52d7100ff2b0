"""The pipeline bar in a real JupyterLab: a stage is looked at, switched off, and added."""

from __future__ import annotations

import os

from playwright.sync_api import Locator

import explorer
from explorer.tokens.machine import TokenMachine
from tests.browser.acting import at, quiet, rest
from tests.browser.conftest import Lab, Notebook

CELL = """
import explorer
from widgets import Explorer
cities = explorer.choice([" Berlin", " London", " Paris"])
Explorer("tiny", cities.canonical(), "The city is")
"""


def shows(root: Locator, machine: TokenMachine) -> None:
    """Wait until the mask is that of the start of a machine."""
    size = int(machine.allowed(machine.start).sum())
    root.get_by_text(f"{size} of {len(machine.vocabulary):,} allowed").wait_for()
    rest(root)


def test_a_stage_is_looked_at_and_switched_off_and_on(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("pipeline.ipynb", CELL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    bar = root.get_by_role("list", name="pipeline")
    assert bar.inner_text().split() == ["choices", "4,000", "tokens", "canonical", "mask"]
    vocabulary = explorer.load_model("tiny").vocabulary
    cities = explorer.choice([" Berlin", " London", " Paris"])
    plain = explorer.compile(cities, vocabulary)
    filtered = explorer.compile(cities.canonical(), vocabulary)
    shows(root, filtered)
    bar.get_by_role("button", name="canonical").click()
    panel = root.locator(".lmx-stage")
    panel.get_by_text("only the tokens that the tokenizer itself would write").wait_for()
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        notebook.page.screenshot(path=f"{folder}/pipeline.png")
    bar.get_by_role("checkbox", name="stage canonical").uncheck()
    bar.locator(".off").wait_for()
    at(root, 0)
    shows(root, plain)
    if folder:
        notebook.page.screenshot(path=f"{folder}/pipeline-off.png")
    bar.get_by_role("checkbox", name="stage canonical").check()
    bar.locator(".off").wait_for(state="detached")
    at(root, 0)
    shows(root, filtered)
    quiet(notebook)
