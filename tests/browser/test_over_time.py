"""The lines over the positions in a real browser, against the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import explorer
from tests.browser.acting import at, drawer
from tests.browser.test_mask import DATE, exported
from widgets.views import bundle
from widgets.views.explorer import Explorer

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page


@pytest.mark.long
def test_axes_and_gaps(bare: Page) -> None:
    page = bare
    page.add_script_tag(content=bundle.script("over_time"))
    axis = (
        "(values) => { const a = axisOf(values, {log: true}); return [a.log, values.map(a.at)]; }"
    )
    assert page.evaluate(axis, [1, 10, 100]) == [True, [0, 0.5, 1]]
    assert page.evaluate(axis, [2, 50, 100]) == [False, [0.02, 0.5, 1]]
    path = "() => linePath([1, null, 2, 3], (i) => 10 * i, (v) => v)"
    assert page.evaluate(path) == "M0.0,1.0h0.1M20.0,2.0L30.0,3.0"


@pytest.mark.long
def test_the_lines_read_as_the_trace(chromium: Browser, tmp_path: Path) -> None:
    made = Explorer(explorer.load_model("tiny"), explorer.regex(DATE), "The date is ")
    made.cursor.run(7)
    trace = made.session.trace
    made.cursor.jump(2)
    root = exported(chromium, made, tmp_path / "run.html")
    grid = drawer(root, "time").locator(".lmx-time")
    grid.focus()
    root.page.keyboard.press("Home")
    for k, position in enumerate(trace.positions):
        said = (grid.get_attribute("aria-valuetext") or "").split("; ")
        assert said[0].startswith(f"position {k}")
        # After the end nothing is allowed.
        number = 0 if position.finished else position.num_allowed
        assert f"allowed {number:,}" in said
        assert ("one token allowed" in said) == (position.forced and not position.finished)
        found = position.distribution
        masked = found is not None and found.intervention
        assert ("the model's first choice was masked" in said) == masked
        root.page.keyboard.press("ArrowRight")
    # A tick per forced position in each chart; spans of decades say that they are logarithmic.
    for ticks in grid.locator("path.forced").all():
        marks = (ticks.get_attribute("d") or "").count("M")
        assert marks == sum(position.forced for position in trace.positions)
    assert "allowed (log)" in grid.inner_text()
    sizes = grid.evaluate("(el) => [...el.querySelectorAll('text')].map((t) => "
                          "parseFloat(getComputedStyle(t).fontSize))")  # fmt: skip
    assert sizes and min(sizes) >= 11
    root.page.keyboard.press("Home")
    root.page.keyboard.press("Enter")
    at(root, 0)
    root.page.close()
