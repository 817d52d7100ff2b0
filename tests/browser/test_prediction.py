"""Questions in a real JupyterLab: they wait for a guess by key or mouse, then show the answer."""

from __future__ import annotations

import pytest

from tests.browser.acting import quiet
from tests.browser.conftest import Lab, Notebook
from tests.evidence import few

CELLS = (
    "from widgets.lessons import *",
    "predict(731, bar_picture('Bars', {'a': 1.0}), wrong={1: 'That is `one`.'})",
    "predict('b', table_picture('T', ['x'], [['y']]), choices=['a', 'b'], otherwise='No.')",
    "predict('1', 'some words', click=lettered_picture('ab', FIGURE_1['ab']), otherwise='No.')",
)


@pytest.mark.parametrize("keyboard", few([False, True], 1))
def test_a_question_waits_and_then_answers(notebook: Notebook, lab: Lab, keyboard: bool) -> None:
    notebook.open(lab.code("questions.ipynb", *CELLS))
    assert notebook.run_all()
    page = notebook.page
    asked = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .lmx-guess")
    asked.nth(2).wait_for()
    assert "731" not in page.locator(".lmx-guess").first.inner_text()
    number, choice, state = (asked.nth(k) for k in range(3))
    for one in (number, choice, state):
        assert one.locator(".lmx-guess-said").text_content() == ""
    number.locator("input").fill("1")
    if keyboard:
        number.locator("input").press("Enter")
        choice.locator("button").nth(1).press("Enter")
        state.locator(".lmx-guess-state").nth(2).press("Enter")
    else:
        number.locator("button").click()
        choice.locator("button").nth(1).click()
        state.locator(".lmx-guess-state").nth(2).click()
    number.get_by_text("✗ You predicted 1; it is 731. That is one.").wait_for()
    number.locator(".lmx-guess-said code", has_text="one").wait_for()
    number.locator("img[alt^=Bars]").wait_for()
    choice.get_by_text("✓ You predicted b, and so it is.").wait_for()
    choice.locator("table").wait_for()
    state.get_by_text("✗ You predicted 2; it is 1. No.").wait_for()
    state.get_by_text("some words").wait_for()
    quiet(notebook)
