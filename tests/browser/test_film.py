"""A film of a lesson in a real JupyterLab: one frame at a time, and a slider."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.browser.acting import quiet

if TYPE_CHECKING:
    from tests.browser.conftest import Lab, Notebook

FILM = """reading_picture("Reading foo food", FIGURE_4, ["foo", "food"],
    names=["r", "f", "fo", "foo", "o"], loops=True)"""
CELLS = ("from widgets.lessons import *", FILM, f"predict(7, 'arcs', {FILM})")


def test_a_film_shows_one_frame_and_its_slider_the_others(notebook: Notebook, lab: Lab) -> None:
    notebook.open(lab.code("film.ipynb", *CELLS))
    assert notebook.run_all()
    page = notebook.page
    page.locator(".lmx-guess input").fill("7")
    page.locator(".lmx-guess input").press("Enter")
    films = page.locator(".jp-NotebookPanel .lmx-film")
    films.nth(1).wait_for()
    for film in films.all():
        box, slider, picture = film.bounding_box(), film.locator("input"), film.locator("img")
        picture.evaluate("(one) => one.decode()")
        seen = "(one) => [one.parentElement.clientHeight, one.height, one.offsetTop]"
        window, high, first = picture.evaluate(seen)
        assert box and box["height"] < 280  # All frames below each other take 1,500 pixels.
        assert 8 * window < high < 9 * window
        tops, words = [first], [slider.get_attribute("aria-valuetext")]
        slider.focus()
        for _ in range(7):
            page.keyboard.press("ArrowRight")
            tops.append(picture.evaluate(seen)[2])
            words.append(slider.get_attribute("aria-valuetext"))
        steps = {one - other for one, other in pairwise(tops)}
        assert max(steps) - min(steps) <= 1 and abs(max(steps) - window) <= 1
        assert words[0] == "in r; nothing read, written nothing"
        assert (words[-1] or "").startswith("food : d leads to r; read foo food")
        assert len(set(words)) == 8
    quiet(notebook)
