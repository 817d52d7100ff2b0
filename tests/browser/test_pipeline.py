"""The pipeline bar in a real JupyterLab: a stage is looked at, switched off, and added."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Locator

import explorer
from explorer.tokens.machine import TokenMachine
from tests.browser.acting import BACK, STEP, at, press, quiet, rest
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
    said = f"{size} of {len(machine.vocabulary):,} allowed"
    root.locator(".lmx-facts .allowed", has_text=said).wait_for()
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


PAIRS = """
import explorer
from widgets import Explorer
name = explorer.choice(["Rom", "Rome", "Ra"]).canonical()
view = Explorer("tiny", name, "The name is ")
view.cursor.step(view.session.vocabulary.ids_of(b"R")[0])
view
"""


def test_the_pairs_that_the_canonical_stage_refuses(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("pairs.ipynb", PAIRS))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 1)
    bar = root.get_by_role("list", name="pipeline")
    bar.get_by_role("button", name="canonical").click()
    pairs = root.get_by_role("group", name="pairs at the present place of the stage canonical")
    refused = pairs.locator("tr.no")
    refused.first.wait_for()
    cells = refused.first.locator("td").all_inner_texts()
    assert cells[0] == "R" and "refused: the tokenizer writes" in cells[4]
    assert pairs.locator("tr.ok").count() > 0
    said = pairs.locator("p").inner_text()
    folder = os.environ.get("EXPLORER_STILLS")
    for name, size in (("light", 1100), ("dark", 1100), ("narrow", 560)) if folder else ():
        notebook.page.set_viewport_size({"width": size, "height": 1000})
        notebook.theme("JupyterLab Dark" if name == "dark" else "JupyterLab Light")
        rest(root)
        root.screenshot(path=f"{folder}/pairs-{name}.png")
    # A step leads to another place, with other pairs; going back, to the same ones.
    press(root, STEP)
    at(root, 2)
    pairs.locator("p").filter(has_not_text=said).wait_for()
    press(root, BACK)
    at(root, 1)
    pairs.locator("p").filter(has_text=said).wait_for()
    bar.get_by_role("checkbox", name="stage canonical").uncheck()
    bar.locator(".off").wait_for()
    at(root, 1)
    quiet(notebook)


@pytest.mark.long
def test_another_model_is_chosen(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("models.ipynb", CELL))
    assert notebook.run_all()
    root = notebook.explorer()
    at(root, 0)
    root.locator(".lmx-top > .lmx-menu > summary").first.click()
    choice = root.get_by_label("model", exact=True)
    assert choice.input_value() == "tiny"
    choice.select_option("tiny-sp")
    root.locator(".lmx-top").filter(has_text="model tiny-sp").wait_for()
    cities = explorer.choice([" Berlin", " London", " Paris"]).canonical()
    shows(root, explorer.compile(cities, explorer.load_model("tiny-sp").vocabulary))
    assert choice.input_value() == "tiny-sp"
    quiet(notebook)
