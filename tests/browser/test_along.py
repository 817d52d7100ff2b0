"""The machines on one axis, the text: a column is a state of FSA and FST, and their pair."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import explorer
from tests.browser.acting import STEP, at, opened, press, quiet, rest
from tests.browser.conftest import Lab, Notebook
from tests.browser.test_hand import REAL
from tests.browser.test_why import in_view
from widgets import Explorer

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

MIDDLES = """(svg) => [...svg.querySelectorAll(".n.now")].map((one) => {
    const box = one.querySelector("circle, rect").getBoundingClientRect();
    return [box.y, one.dataset.label, Math.round(box.x + box.width / 2)];
}).sort(([y], [z]) => y - z).map(([, ...one]) => one)"""
"""The rings of the present place, read downwards, with the middle of each."""


def test_a_column_is_a_state_of_the_fsa_one_of_the_fst_and_their_pair(
    notebook: Notebook, lab: Lab
) -> None:
    page = notebook.page
    page.set_viewport_size({"width": 1280, "height": 720})
    notebook.open(lab.code("along.ipynb", REAL))
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    assert notebook.run_all()
    root = notebook.explorer(along=True)
    drawn = root.locator(".lmx-along svg")
    # The names of tokens, which come after the numbers, are drawn as they come.
    drawn.locator(".ahead", has_text=re.compile("20[0-9] : ")).first.wait_for()
    for k in (1, 2):
        press(root, STEP)
        at(root, k)
    drawn.locator('.n.now[data-label="4,r"]').wait_for()
    # The amber column, read downwards.
    middles: list[tuple[str, int]] = drawn.evaluate(MIDDLES)
    assert [label for label, _ in middles] == ["4", "r", "4,r"]
    assert max(x for _, x in middles) - min(x for _, x in middles) <= 1
    # What comes next: the allowed token, and masked ones up to where they fail.
    hyphen, *masked = drawn.locator(".ahead").all()
    assert "allowed" in (hyphen.text_content() or "")
    assert 1 <= len(masked) <= 3
    for row in masked:
        assert row.locator(".a.no").count() == 1
        assert "✗" in (row.text_content() or "")
    # On a projector all three machines, the likeliest tokens and Step are in view.
    root.evaluate("(el) => el.scrollIntoView({block: 'start'})")
    rest(root)
    rows = root.locator(".lmx-rows .lmx-row[data-token]").all()
    for part in (drawn, *rows[:6], root.get_by_role("button", name=STEP, exact=True)):
        assert in_view(part)
    # A click on a row of the drawing asks why, as one on a bar does.
    masked[0].locator(".said").click()
    root.locator(".lmx-why", has_text="expects").wait_for()
    drawn.locator(".ahead.masked.sel").wait_for()
    page.keyboard.press("Escape")
    # Slow motion walks through the columns: amber moves in all three at once.
    press(root, "to the start (Home)")
    at(root, 0)
    root.get_by_label("slow motion").check()
    press(root, STEP)
    drawn.locator('.n.now[data-label="1,2"]').wait_for()
    assert [label for label, _ in drawn.evaluate(MIDDLES)] == ["1", "2", "1,2"]
    # Each machine by itself is a switch away, with one menu; and back.
    press(root, "as machines")
    drawn.wait_for(state="hidden")
    characters = root.locator('[data-machine="character_fsa"]')
    characters.locator("svg .n").first.wait_for()
    assert characters.locator("header button:visible").count() == 0
    assert opened(characters).get_by_role("button", name="bytes").is_visible()
    page.keyboard.press("Escape")
    press(root, "along the text")
    drawn.wait_for()
    quiet(notebook)


NARROW = """(svg) => {
    const box = (el) => el.getBoundingClientRect();
    const view = box(svg.parentNode);
    const here = box(svg.querySelector('.here'));
    const rings = [...svg.querySelectorAll('.n:not(.ahead .n) :is(circle, rect)')].map(box);
    const labels = [...svg.querySelectorAll('.words text')];
    const cross = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
    const seen = labels.filter((one) => box(one).right > view.left);
    return {
        at: (here.x + here.width / 2 - view.left) / view.width,
        cut: seen.filter((one) => one.matches('.char') && box(one).left < view.left - 1)
            .map((one) => one.textContent),
        covered: seen.filter((one) => rings.some((ring) => cross(ring, box(one))) ||
            seen.some((other) => other !== one && cross(box(other), box(one))))
            .map((one) => one.textContent),
        scrolled: svg.parentNode.scrollLeft,
    };
}"""


@pytest.mark.long
def test_a_narrow_page_shows_the_present_column_and_no_label_on_another(
    chromium: Browser, tmp_path: Path
) -> None:
    dates = explorer.regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
    made = Explorer(explorer.load_model("tiny"), dates, prompt="The date is ")
    for _ in range(3):
        made.session.step()
    path = made.to_html(tmp_path / "narrow.html")
    made.close()
    page = chromium.new_page(viewport={"width": 400, "height": 900})
    page.goto(path.as_uri())
    root, drawn = page.locator(".lmx-root"), page.locator(".lmx-along svg")
    press(root, "to the start (Home)")
    seen: dict[str, Any] = {}
    for k in range(3):
        at(root, k)
        drawn.locator(".ahead").first.wait_for()
        page.wait_for_timeout(200)
        seen = drawn.evaluate(NARROW)
        assert seen["at"] < 0.5, k
        assert (seen["cut"], seen["covered"]) == ([], []), k
        press(root, STEP)
    assert seen["scrolled"] > 0
    page.close()
