"""The pictures in the documentation, taken from the real thing.

`EXPLORER_SCREENSHOTS=1` writes them to docs/images; otherwise they go to a temporary folder, and
the test shows that they can be taken, and that the explorer is whole in each.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.acting import FOOD, FOR, STEP, TOY, at, press, rest
from tests.browser.conftest import REPOSITORY, Lab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

REAL = """import explorer
from widgets import Explorer
lm = explorer.load_model("tiny")
date = explorer.regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
real = Explorer(lm, date, prompt="The date is ")
real"""
COMPARE = """from widgets import Compare
Compare(None, explorer.regex("(foo)+d"), explorer.regex("foo(foo)?"))"""
GRAMMAR = """sums = explorer.grammar('''root ::= sum
sum ::= term ("+" term)*
term ::= "(" sum ")" | [0-9]+''')
grown = Explorer(lm, sums, prompt="What is 3 + 4? ")
for token in "(1+(2":
    grown.session.step(token)
grown"""


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = REPOSITORY / "docs" / "images"
    return folder if os.environ.get("EXPLORER_SCREENSHOTS") else tmp_path


def take(root: Locator, path: Path) -> None:
    """The whole explorer, when it has come to rest."""
    page = root.page
    page.mouse.move(3, 3)
    rest(root)
    before, box = None, root.bounding_box()
    while before != box:  # Nothing grows any more.
        page.wait_for_timeout(500)
        before, box = box, root.bounding_box()
    root.evaluate("(el) => el.scrollIntoView({block: 'start'})")
    page.wait_for_timeout(200)
    # Inside the window and inside of whatever scrolls, or it would be cut off.
    cut = root.evaluate(
        """(el) => {
            const box = el.getBoundingClientRect();
            const around = [['window', {top: 0, left: 0, bottom: innerHeight, right: innerWidth}]];
            for (let up = el.parentElement; up !== document.body; up = up.parentElement) {
                if (getComputedStyle(up).overflowY === 'visible') continue;
                around.push([up.className, up.getBoundingClientRect()]);
            }
            return around.map(([name, one]) => [name, ['top', 'left', 'bottom', 'right'].map(
                (side) => (side === 'top' || side === 'left' ? one[side] - box[side] : box[side] - one[side]))])
                .filter(([, over]) => Math.max(...over) > 1);
        }"""  # noqa: E501 - One thought a line.
    )
    assert cut == []
    root.screenshot(path=path, animations="disabled")
    assert 20_000 < path.stat().st_size < 400_000


@pytest.mark.long
def test_pictures(notebook: Notebook, lab: Lab, images: Path) -> None:
    page = notebook.page
    page.set_viewport_size({"width": 1200, "height": 2200})
    notebook.open(lab.code("pictures.ipynb", TOY, REAL, COMPARE, GRAMMAR))
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    assert notebook.run_all()
    toy = notebook.explorer(0)
    press(toy, STEP)
    at(toy, 1)
    toy.get_by_label("slow motion").check()
    toy.locator(f'.lmx-row[data-token="{FOOD}"] .take').click()
    at(toy, 1, "byte 1 of 4")
    press(toy, STEP)
    at(toy, 1, "byte 2 of 4")
    toy.locator(f'.lmx-row[data-token="{FOR}"]').click()
    toy.locator(".lmx-why .lmx-act").wait_for()
    take(toy, images / "explorer-light.png")
    real = notebook.explorer(1, along=True)
    for k in range(1, 4):
        press(real, STEP)
        at(real, k)
    take(real, images / "explorer-model.png")
    both = page.locator(".lmx-compare")
    for k in range(1, 4):
        press(both, STEP)
        at(both, k)
    take(both, images / "compare.png")
    notebook.theme("JupyterLab Dark")
    take(toy, images / "explorer-dark.png")
    take(real, images / "explorer-model-dark.png")
    notebook.theme("JupyterLab Light")
    grown = notebook.explorer(3, along=True)  # The third is the comparison.
    at(grown, 5)
    take(grown, images / "explorer-grammar.png")
    page.set_viewport_size({"width": 560, "height": 2600})
    take(toy, images / "explorer-narrow.png")
    # The reason stays with its rows, though they were out of sight when the window changed.
    reason, rows = (
        toy.locator(".lmx-why").bounding_box(),
        toy.locator(".lmx-rows").first.bounding_box(),
    )
    assert reason is not None
    assert rows is not None
    assert rows["y"] < reason["y"] < rows["y"] + rows["height"] + 100
    # A projector of 1920 × 1080: the explorer is whole on it, with the reason open.
    page.set_viewport_size({"width": 1920, "height": 1080})
    press(toy, "larger, for a projector")
    toy.locator("xpath=self::*[contains(@class, 'lmx-large')]").wait_for()
    take(toy, images / "explorer-projector.png")
