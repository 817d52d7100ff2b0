"""The mask in a real browser: its orders, its zoom, and the history of all positions.

What needs no kernel is looked at in an exported page; the rest in JupyterLab.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

import explorer
from explorer.analysis.session import Session
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.trace import Trace
from tests.browser.acting import STEP, at, drawer, press, rest, settle
from tests.browser.conftest import Lab, Notebook
from widgets.figures.panels.mask import token_order
from widgets.views.explorer import Explorer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

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


def history(root: Locator) -> list[int]:
    """The allowed count of each row of the history, as the keyboard reads it."""
    slider = root.locator(".lmx-history")
    slider.focus()
    root.page.keyboard.press("Home")
    out: list[int] = []
    for k in range(int(slider.get_attribute("aria-valuemax") or -1) + 1):
        said = slider.get_attribute("aria-valuetext") or ""
        found = re.search(rf"^position {k}\b.*: ([\d,]+) allowed$", said)
        assert found is not None, said
        out.append(int(found[1].replace(",", "")))
        root.page.keyboard.press("ArrowDown")
    return out


# --- an exported page ---------------------------------------------------------------------------


def exported(chromium: Browser, made: Explorer, path: Path) -> Locator:
    made.to_html(path)
    made.close()
    page = chromium.new_page(viewport={"width": 1100, "height": 1000})
    page.goto(path.as_uri())
    root = page.locator(".lmx-root")
    drawer(root, "past").locator(".lmx-history canvas").wait_for()
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


def id_at(root: Locator, place: int) -> int:
    """The id that is named when the pointer comes to a place of the bitmap.

    In a notebook what stands above may still grow and carry the bitmap away from under the
    pointer; then it is pointed at again, where it is now.
    """
    box = root.locator(".lmx-bitmap")
    for _ in range(50):
        box.scroll_into_view_if_needed()
        area = box.bounding_box()
        assert area is not None
        columns = box.locator("canvas").first.evaluate("(canvas) => canvas.width")
        x, y, cell = area["x"], area["y"], area["width"] / columns
        root.page.mouse.move(x - 3, y - 3)  # What rests where it was says nothing new.
        left, top = (place % columns + 0.5) * cell, (place // columns + 0.5) * cell
        root.page.mouse.move(x + left, y + top)
        said = re.search(r"\bid (\d+) ·", named(root))
        if said is not None and box.bounding_box() == area:
            return int(said[1])
        root.page.wait_for_timeout(120)
    raise AssertionError(f"place {place} is never named")


def zoom(page: Page, turns: int) -> None:
    page.keyboard.down("Control")
    for _ in range(abs(turns)):
        page.mouse.wheel(0, -200 if turns > 0 else 200)
    page.keyboard.up("Control")


def test_zoom_and_pan_keep_and_move_what_is_pointed_at(tiny: tuple[Locator, Session]) -> None:
    root, session = tiny
    page, mouse = root.page, root.page.mouse
    x, y, cell, columns = corner(root)
    line, place = 9, 20
    token = line * columns + place
    px, py = x + (place + 0.5) * cell, y + (line + 0.5) * cell
    mouse.move(px, py)
    assert the_id(root) == token
    mouse.wheel(0, 40)  # A plain wheel belongs to the notebook.
    settle(page)
    assert root.locator(".lmx-bitmap.zoomed").count() == 0
    x, y, cell, columns = corner(root)
    px, py = x + (place + 0.5) * cell, y + (line + 0.5) * cell
    mouse.move(px, py)
    assert the_id(root) == token
    zoom(page, 12)  # As far as it goes: the same token stays under the pointer.
    assert root.locator(".lmx-bitmap.zoomed").count() == 1
    assert the_id(root) == token
    largest = 72
    mouse.move(px + largest, py)
    assert the_id(root) == token + 1
    mouse.move(px, py)
    mouse.down()
    mouse.move(px - 2 * largest, py, steps=4)  # Pull the picture to the left.
    mouse.up()
    mouse.move(px, py)
    assert the_id(root) == token + 2
    assert root.locator(".lmx-why").is_hidden()  # A drag asks nothing,
    mouse.click(px, py)  # a click does.
    shown = session.vocabulary.tokens[token + 2]
    assert shown is not None
    root.locator(f'.lmx-why .lmx-tok[data-token="{token + 2}"]').first.wait_for(state="attached")
    root.locator(".lmx-bitmap").focus()
    page.keyboard.press("0")
    settle(page)
    assert root.locator(".lmx-bitmap.zoomed").count() == 0
    mouse.move(px + 1, py)
    assert the_id(root) == token
    root.get_by_role("button", name="zoom in").click()
    settle(page)
    assert root.locator(".lmx-bitmap.zoomed").count() == 1
    root.get_by_role("button", name="the whole mask (0)").click()
    settle(page)
    assert root.locator(".lmx-bitmap.zoomed").count() == 0


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


def shown_counts(trace: Trace) -> list[int]:
    """The number of ids that each position allows; after the end the page shows no number."""
    return [0 if each.finished else each.num_allowed for each in trace.positions]


def test_the_history_counts_what_the_trace_counts(tiny: tuple[Locator, Session]) -> None:
    root, session = tiny
    session.jump(session.length)
    counts = shown_counts(session.trace)
    assert len(set(counts)) > 3
    assert history(root) == counts
    # Without a kernel that order is not there, and the page says why.
    option = root.locator('.lmx-part-mask option[value="probability"]')
    assert option.is_disabled() and "not kept in this page" in option.inner_text()
    root.locator(".lmx-history").focus()
    for key in ("Home", "ArrowDown", "Enter"):
        root.page.keyboard.press(key)
    at(root, 1)
    sheet = root.locator(".lmx-history .sheet")
    box = sheet.bounding_box()
    assert box is not None
    root.page.mouse.click(box["x"] + 40, box["y"] + box["height"] * 4.5 / len(counts))
    at(root, 4)
    settle(root.page)
    assert lit(root) == session.trace.allowed(4).nonzero()[0].tolist()


def test_a_row_of_the_history_is_painted_where_it_allows(tiny: tuple[Locator, Session]) -> None:
    root, session = tiny
    session.jump(session.length)
    trace = session.trace
    painted: list[list[bool]] = root.evaluate(
        """(root) => {
            const canvas = root.querySelector('.lmx-history canvas');
            const {width, height} = canvas;
            const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
            return Array.from({length: height}, (_, y) =>
                Array.from({length: width}, (_, x) => data[4 * (y * width + x) + 3] > 0));
        }"""
    )
    assert len(painted) == len(trace.positions)
    classes = set(np.unique(trace.token_class).tolist()) - {0}
    for k, row in enumerate(painted):
        allowed = trace.allowed(k)
        some = {c for c in classes if allowed[trace.token_class == c].any()}
        # As many separate stretches at most as classes are allowed, and nothing where none is.
        edges = np.diff(np.array([False, *row]).astype(int))
        if trace.positions[k].finished:
            assert not any(row)
            continue
        assert 0 < (edges == 1).sum() <= len(some)
        assert all(row) == (some == classes)


def test_few_tokens_have_a_square_each(chromium: Browser, tmp_path: Path) -> None:
    made = Explorer()
    made.cursor.run(5)
    trace = made.session.trace
    made.cursor.jump(1)
    root = exported(chromium, made, tmp_path / "toy.html")
    assert history(root) == shown_counts(trace)
    size = root.locator(".lmx-history canvas").evaluate("(c) => [c.width, c.height]")
    assert size == [6, len(trace.positions)]
    cell = root.locator('.lmx-cell[data-token="3"]')
    cell.hover()
    assert "id 3 · masked" in named(root)
    assert "model 20 %" in named(root)
    root.page.close()


# --- JupyterLab ---------------------------------------------------------------------------------


def test_by_probability_the_likeliest_come_first(notebook: Notebook, lab: Lab) -> None:
    notebook.open(
        lab.code(
            "order.ipynb",
            "import explorer, torch\nfrom widgets import Explorer\n"
            "lm = explorer.load_model('tiny', device='cpu', dtype=torch.float64)\n"
            f"e = Explorer(lm, explorer.regex({DATE!r}), 'The date is ')\ne",
        )
    )
    assert notebook.run_all()
    root = notebook.explorer()
    # In float64: float32 rounds a reading by what was read before, so neighbours change places.
    session = Session(
        explorer.load_model("tiny", device="cpu", dtype=torch.float64),
        explorer.regex(DATE), "The date is ", sampler=Sampler(0.0),
    )  # fmt: skip
    at(root, 0)
    by_id = lit(root)
    assert by_id == session.allowed().nonzero()[0].tolist()
    root.get_by_label("order of the mask").select_option("probability")
    for k in range(3):
        at(root, k)
        logits = session.logits().float().cpu().numpy()[: len(session.vocabulary)]
        order = np.argsort(-logits, kind="stable")
        expected = session.allowed()[order].nonzero()[0].tolist()
        root.page.wait_for_function(
            f"([root, want]) => JSON.stringify(({LIT})(root)) === JSON.stringify(want)",
            arg=[root.element_handle(), expected],
        )
        columns = corner(root)[3]
        for place in (0, 1, columns + 3):
            assert id_at(root, place) == int(order[place])
        chance = float(np.exp(logits - logits.max()).max() / np.exp(logits - logits.max()).sum())
        id_at(root, 0)
        assert f"model {100 * chance:.0f}"[:8] in named(root) or chance < 0.0995
        session.step()
        press(root, STEP)
    # The whole run as a figure, in one file that needs nothing.
    with notebook.page.expect_download() as waiting:
        drawer(root, "time").get_by_role("button", name="figure…").click()
    path = lab.work / "figure.html"
    waiting.value.save_as(path)
    page = notebook.page.context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.locator(".js-plotly-plot .scatterlayer .trace").first.wait_for(state="attached")
    assert requests == [path.as_uri()]
    page.close()


LARGE = "import explorer\nfrom tests.browser.wide import wide\nfrom widgets import Explorer"


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
    assert root.get_by_label("order of the mask").input_value() == "class"
    order = token_order("class", trace.token_class)
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
    # The page was shown one position and asked for the rest.
    rest(drawer(root, "past"))
    assert history(root) == shown_counts(trace)
    root.get_by_label("order of the mask").select_option("id")
    assert lit(root) == trace.allowed(1).nonzero()[0].tolist()


def test_a_thousand_positions_are_bounded_and_grow_by_a_row(notebook: Notebook, lab: Lab) -> None:
    notebook.open(
        lab.code(
            "thousand.ipynb",
            "import explorer\nfrom widgets import Explorer\nfrom widgets.cursor import Cursor\n"
            "v = explorer.Vocabulary.from_bytes([bytes([97 + i % 26]) * (1 + i // 26)"
            " for i in range(78)], eos_ids=[78])\n"
            "ids = [(7 * i) % 78 for i in range(999)]\n"
            "s = explorer.Session.from_ids(v, explorer.regex('[a-y]{0,5}|[a-z]*'), ids)\n"
            "e = Explorer(cursor=Cursor(s))\ne",
        )
    )
    assert notebook.run_all()
    root = notebook.explorer()
    box = drawer(root, "past").locator(".lmx-history")
    box.locator("canvas").wait_for()
    notebook.page.wait_for_function(
        "() => document.querySelector('.lmx-history canvas').height === 1000"
    )
    assert box.evaluate("(box) => box.clientHeight <= 160 && box.scrollHeight > 3000")
    rest(root)
    option = root.locator('.lmx-part-mask option[value="probability"]')
    assert option.is_disabled() and "no model" in option.inner_text()
    here = root.locator(".lmx-history .here")
    k = int(re.findall(r"\d+", root.locator(".where").inner_text())[0])
    assert here.evaluate("(el) => el.style.top") == f"{4 * k}px"
    inside = "([box, here]) => here.offsetTop >= box.scrollTop - 4"
    assert box.evaluate(f"(box) => ({inside})([box, box.querySelector('.here')])")
