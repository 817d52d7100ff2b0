"""The machines on one axis, the text: a column is a state of FSA and FST, and their pair."""

from __future__ import annotations

import re

from tests.browser.acting import STEP, at, opened, press, quiet, rest
from tests.browser.conftest import Lab, Notebook
from tests.browser.test_hand import REAL
from tests.browser.test_why import in_view

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
    assert characters.locator("header button:visible").count() == 1
    assert opened(characters).get_by_role("button", name="bytes").is_visible()
    page.keyboard.press("Escape")
    press(root, "along the text")
    drawn.wait_for()
    quiet(notebook)
