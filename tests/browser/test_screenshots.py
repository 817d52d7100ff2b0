"""The pictures in the documentation, taken from the real thing.

`EXPLORER_SCREENSHOTS=1` writes them to docs/images; otherwise they go to a temporary folder, and
the test only shows that they can be taken: the explorer is whole in each, at its size.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import REPOSITORY, Lab, Notebook
from tests.browser.test_explorer import FOOD, FOR, STEP, TOY, at, press

if TYPE_CHECKING:
    from playwright.sync_api import Locator

REAL = """import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
date = explorer.regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
real = Explorer(lm, date, prompt="The date is ")
real"""


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = REPOSITORY / "docs" / "images"
    return folder if os.environ.get("EXPLORER_SCREENSHOTS") else tmp_path


def theme(notebook: Notebook, name: str) -> None:
    notebook.page.evaluate(
        "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
    )
    light = "true" if name.endswith("Light") else "false"
    notebook.page.locator(f'body[data-jp-theme-light="{light}"]').wait_for(state="attached")
    notebook.page.wait_for_timeout(800)  # The theme's style sheet arrives a little later.


def take(root: Locator, path: Path) -> None:
    root.page.mouse.move(3, 3)
    root.page.wait_for_timeout(400)
    box = root.bounding_box()
    assert box is not None
    root.screenshot(path=path, animations="disabled")
    assert path.stat().st_size > 20_000


def test_pictures(notebook: Notebook, lab: Lab, images: Path) -> None:
    page = notebook.page
    page.set_viewport_size({"width": 1200, "height": 1100})
    notebook.open(lab.code("pictures.ipynb", TOY, REAL))
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    assert notebook.run_all()
    toy = notebook.explorer(0)
    press(toy, STEP)
    at(toy, 1)
    toy.get_by_label("slow motion").check()
    toy.locator(f'.lmx-row[data-token="{FOOD}"]').click()
    at(toy, 1, "byte 1 of 4")
    press(toy, STEP)
    at(toy, 1, "byte 2 of 4")
    toy.locator(f'.lmx-row[data-token="{FOR}"]').click()
    toy.locator(".lmx-why .ko").wait_for()
    take(toy, images / "explorer-light.png")
    theme(notebook, "JupyterLab Dark")
    take(toy, images / "explorer-dark.png")
    real = notebook.explorer(1)
    for k in range(1, 4):
        press(real, STEP)
        at(real, k)
    take(real, images / "explorer-model-dark.png")
    theme(notebook, "JupyterLab Light")
    take(real, images / "explorer-model.png")
    page.set_viewport_size({"width": 560, "height": 1500})
    page.wait_for_timeout(600)
    take(toy, images / "explorer-narrow.png")
