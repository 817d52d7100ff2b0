"""What flows: the path of a token, a step as a motion, pair by pair, a text that is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.acting import STEP, at, press, rest

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.replays import Opened

CROSSES = """(svgs) => svgs.flatMap((svg) => [...svg.querySelectorAll('.cross')]
    .filter((one) => one.closest('.looked') || !one.closest('.lmx-along'))
    .map((one) => Math.round(one.getBoundingClientRect().x)))"""


def hovered(root: Locator, token: str) -> None:
    """Move the pointer to a token of the list."""
    row = root.locator(".lmx-rows .lmx-row").filter(has=root.page.get_by_text(token, exact=True))
    row.first.hover()
    root.locator(".lmx-row.sel").filter(has_text=token).first.wait_for()
    rest(root)


def test_a_token_under_the_pointer_ghosts_its_path_along_the_text(opened: Opened) -> None:
    root = opened("date", 848, 640)
    drawn = root.locator(".lmx-along svg")
    paths = "(svg) => [...svg.querySelectorAll('.looked .line')].length"
    row = root.locator(".lmx-rows .lmx-row[data-token]:not(.masked)").first
    text = row.locator(".name").inner_text()
    row.hover()
    drawn.locator(".looked .char").first.wait_for()
    # A letter is an arc of the FSA and one of the FST; the token is an arc of the token DFA.
    assert drawn.evaluate(paths) == 2 * len(text) + 1
    assert drawn.locator(".looked .char").all_text_contents() == list(text)
    assert drawn.evaluate("(svg) => getComputedStyle(svg.querySelector('.coming')).opacity") < "0.5"
    assert drawn.locator(".looked .cross").count() == 0
    box = root.locator(".lmx-parts").bounding_box()
    press(root, STEP)
    at(root, 1)
    # Of a masked token ✗ stands at the letter where it fails, in all three.
    press(root, STEP)
    at(root, 2)
    masked = root.locator(".lmx-rows .lmx-row.masked").first
    masked.hover()
    drawn.locator(".looked .cross").first.wait_for()
    assert drawn.locator(".looked .cross").count() == 3
    assert len(set(drawn.evaluate_all(CROSSES))) == 1
    assert "expects" in (drawn.locator(".looked .said").text_content() or "")
    assert root.locator(".lmx-parts").bounding_box() == box
    root.page.mouse.move(2, 2)
    drawn.locator(".looked .cross").first.wait_for(state="detached")


def test_in_each_machine_by_itself_a_masked_token_has_its_cross(opened: Opened) -> None:
    root = opened("toy", 848, 640)
    press(root, STEP)
    at(root, 1)
    hovered(root, "for")
    crosses = root.locator(".lmx-machine svg .cross")
    assert crosses.count() == 3  # `fo` is read, `r` is not.
    hovered(root, "foo")
    assert crosses.count() == 0
