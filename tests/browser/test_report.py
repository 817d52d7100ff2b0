"""The report of a sweep in a real browser: no error, nothing fetched, usable by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import explorer
from tests.widgets.test_report import HOSTILE, Loud, table

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser


def test_the_report_opens_without_errors(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    explorer.report(table(), path, worst=2, models={"<b>loud</b>": Loud()}, title=HOSTILE)
    page = chromium.new_page(viewport={"width": 1100, "height": 900}, color_scheme="light")
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith("file:") else faults.append(asked.url[:80]),
    )
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn]")
    # Markup of a model is text, also in plotly's labels; none became an element.
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("img, b").count() == 0
    ticks = page.locator(".ytick text").all_text_contents()
    assert any("</script><img" in tick for tick in ticks)
    # Each figure says in words what it shows, and is there as a table.
    pictures = page.locator("figure > [role=img]").all()
    assert len(pictures) == 3 == page.locator("figure details").count()
    assert page.get_by_text("No run met a trap.").is_visible()
    assert all(len(picture.get_attribute("aria-label") or "") > 30 for picture in pictures)
    page.locator("figure summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("figure table").first.is_visible()
    assert "100.0 %" in page.locator("figure table").first.inner_text()
    # The worst run opens as the page that replays it, by the keyboard, in a frame of its own.
    button = page.get_by_role("button", name="Open the replay").first
    button.focus()
    page.keyboard.press("Enter")
    replay = page.frame_locator("iframe[sandbox='allow-scripts']")
    replay.locator(".lmx-root").wait_for()
    # It opens at the beginning, and goes to the end.
    replay.get_by_text("position 0").first.wait_for()
    replay.get_by_role("button", name="To the end").press("Enter")
    replay.get_by_text("finished").first.wait_for()
    page.get_by_role("button", name="Close the replay").press("Enter")
    assert page.locator("iframe").count() == 0
    # Dark: the letters of the figures change with the page.
    from playwright.sync_api import expect

    tick = page.locator(".ytick text").first
    light = tick.evaluate("(el) => getComputedStyle(el).fill")
    page.emulate_media(color_scheme="dark")
    expect(tick).not_to_have_css("fill", light)
    page.close()
    # Narrow: nothing sticks out.
    page = chromium.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert faults == []
    page.close()
