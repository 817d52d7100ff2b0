"""Films: of a lesson, one frame at a time, with a slider; and of a run, as an animated picture."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from tests.browser.acting import STEP, at, press, quiet

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator

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


SEEN = """(at) => document.getAnimations().forEach((one) => {
    one.pause();
    one.currentTime = at;
}) || [...document.querySelectorAll('.frame')].map((one) => getComputedStyle(one).visibility)
    .flatMap((said, i) => (said === 'visible' ? [i] : []))"""
GROWTH = """() => [...document.querySelectorAll('.f0 .grows')]
    .map((one) => one.getBoundingClientRect().width)"""


def test_an_animated_picture_of_a_run_is_written_and_shows_its_frames_in_turn(
    toy: Locator, notebook: Notebook, tmp_path: Path
) -> None:
    press(toy, STEP)
    at(toy, 1)
    press(toy, STEP)
    at(toy, 2)
    toy.locator(".lmx-top > .lmx-menu > summary").last.click()
    with notebook.page.expect_download() as download:
        toy.get_by_role("button", name="Animated picture…").click()
    path = tmp_path / "run.svg"
    download.value.save_as(path)
    quiet(notebook)
    page = notebook.page.context.new_page()
    page.goto(path.as_uri())
    # Three positions, and three letters of each token; each is shown alone, in its turn.
    assert page.locator(".frame").count() == 3 + 3 + 3
    seen = [page.evaluate(SEEN, 100 * tenth) for tenth in range(1, 114)]
    assert [one for one, _ in groupby(seen)] == [[frame] for frame in range(9)]
    page.evaluate(SEEN, 0)
    begun = page.evaluate(GROWTH)
    page.evaluate(SEEN, 1500)
    assert all(one < other for one, other in zip(begun, page.evaluate(GROWTH), strict=True))
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    assert page.evaluate("() => document.getAnimations().length") == 0
    assert page.evaluate(SEEN, 0) == [0]
    page.close()
