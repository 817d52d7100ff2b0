"""The mask in a real browser: its orders, its zoom, and the history of all positions.

What needs no kernel is looked at in an exported page; the rest in JupyterLab.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from tests.browser.acting import at, drawer, rest, settle
from tests.browser.conftest import Lab, Notebook
from tests.browser.test_mask_script import by_class
from widgets.views.explorer import Explorer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator

DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
LIT = """(root) => {
    const canvas = root.querySelector('.lmx-bitmap canvas');
    const {width, height} = canvas;
    const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
    const ink = new Uint32Array(data.buffer);
    const colour = getComputedStyle(canvas).getPropertyValue('--lmx-ok').trim().slice(1);
    const [r, g, b] = colour.match(/../g).map((two) => parseInt(two, 16));
    const on = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    const out = [];
    ink.forEach((c, i) => c === on && out.push(i));
    return out;
}"""
"""The places of the bitmap that are painted in the colour of what is allowed."""


def at_rest(root: Locator) -> None:
    """Wait until all is there, and the bitmap stays where it is."""
    rest(root)
    same, before = 0, None
    while same < 4:
        root.page.wait_for_timeout(120)
        now = root.locator(".lmx-bitmap").bounding_box()
        same, before = (same + 1 if now == before else 0), now


def lit(root: Locator) -> list[int]:
    """The places of the bitmap that are painted as allowed."""
    at_rest(root)
    settle(root.page)
    return root.evaluate(LIT)


def named(root: Locator) -> str:
    """The line under the bitmap about the token that is pointed at."""
    settle(root.page)
    return root.locator(".lmx-part-mask > .lmx-named").inner_text()


def the_id(root: Locator) -> int:
    at_rest(root)
    found = re.search(r"\bid (\d+) ·", named(root))
    assert found is not None, named(root)
    return int(found[1])


# --- an exported page ---------------------------------------------------------------------------


def exported(chromium: Browser, made: Explorer, path: Path) -> Locator:
    made.to_html(path)
    made.close()
    page = chromium.new_page(viewport={"width": 1100, "height": 1000})
    page.goto(path.as_uri())
    root = page.locator(".lmx-root")
    drawer(root, "mask").locator(".lmx-part-mask").wait_for()
    settle(page)
    return root


@pytest.fixture
def tiny(chromium: Browser, tmp_path: Path) -> Iterator[tuple[Locator, Session]]:
    made = Explorer(explorer.load_model("tiny"), explorer.regex(DATE), "The date is ")
    made.cursor.run(7)
    made.cursor.jump(2)
    session = made.session
    root = exported(chromium, made, tmp_path / "run.html")
    yield root, session
    root.page.close()


def corner(root: Locator) -> tuple[float, float, float, int]:
    """The geometry of the bitmap: left, top, pixels per cell, cells per line."""
    box = root.locator(".lmx-bitmap")
    box.scroll_into_view_if_needed()
    at_rest(root)
    area = box.bounding_box()
    assert area is not None
    columns = box.locator("canvas").first.evaluate("(canvas) => canvas.width")
    return area["x"], area["y"], area["width"] / columns, columns


def test_the_keyboard_walks_from_cell_to_cell(tiny: tuple[Locator, Session]) -> None:
    root, session = tiny
    _, _, _, columns = corner(root)
    root.locator(".lmx-bitmap").focus()
    keys = ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowUp"]
    for key, token in zip(keys, (0, 1, 1 + columns, 1 + 2 * columns, 2 * columns, columns),
                          strict=True):  # fmt: skip
        root.page.keyboard.press(key)
        assert the_id(root) == token
    allowed = "allowed" if session.allowed()[columns] else "masked"
    live = root.locator(".lmx-part-mask > .lmx-live")
    assert f"id {columns} · {allowed}" in live.inner_text()
    at(root, 2)  # The arrows moved the cursor, not the run.
    root.page.keyboard.press("Enter")
    root.locator(f'.lmx-why .lmx-tok[data-token="{columns}"]').first.wait_for(state="attached")


@pytest.mark.long
def test_few_tokens_have_a_square_each(chromium: Browser, tmp_path: Path) -> None:
    made = Explorer()
    made.cursor.run(5)
    made.cursor.jump(1)
    root = exported(chromium, made, tmp_path / "toy.html")
    cell = root.locator('.lmx-cell[data-token="3"]')
    cell.hover()
    assert "id 3 · masked" in named(root)
    assert "model 20 %" in named(root)
    root.page.close()


# --- JupyterLab ---------------------------------------------------------------------------------


LARGE = "import explorer\nfrom tests.browser.wide import wide\nfrom widgets import Explorer"


@pytest.mark.long
def test_131_072_tokens_stand_by_class_and_five_can_be_seen(notebook: Notebook, lab: Lab) -> None:
    notebook.open(
        lab.code(
            "large.ipynb",
            f"{LARGE}\n"
            f"e = Explorer(wide(), explorer.regex({DATE!r}))\ne.cursor.run(6)\n"
            "e.cursor.jump(1)\ne",
        )
    )
    assert notebook.run_all()
    root = notebook.explorer()
    from tests.browser.wide import wide

    session = Session(wide(), explorer.regex(DATE), sampler=Sampler(0.0))
    session.run(6)
    trace = session.trace
    at(root, 1)
    rest(drawer(root, "mask"))
    assert root.get_by_label("order of the mask").input_value() == "class"
    order = by_class(trace.token_class)
    assert lit(root) == trace.allowed(1)[order].nonzero()[0].tolist()
    # On the screen, what is allowed covers at least four pixels by four.
    seen = root.evaluate(
        """(root) => {
            const over = root.querySelector('.lmx-bitmap .over');
            const {data} = over.getContext('2d').getImageData(0, 0, over.width, over.height);
            let n = 0;
            for (let i = 3; i < data.length; i += 4) n += data[i] === 255 && data[i - 1] > 100;
            return n;
        }"""
    )
    assert seen >= 4 * 4
    root.get_by_label("order of the mask").select_option("id")
    assert lit(root) == trace.allowed(1).nonzero()[0].tolist()
