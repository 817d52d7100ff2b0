"""The settings of a session on a page: marks in the strip, and pairs of a stage when replayed."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Browser, Locator

import explorer
from tests.browser.acting import at
from widgets.views.explorer import Explorer


def opened(chromium: Browser, made: Explorer, path: Path, width: int = 1100) -> Locator:
    """The page that replays an explorer, at its start."""
    made.cursor.jump(0)
    made.to_html(path)
    made.close()
    page = chromium.new_page(viewport={"width": width, "height": 1000})
    page.goto(path.as_uri())
    root = page.locator(".lmx-root")
    at(root, 0)
    return root


def shot(root: Locator, name: str) -> None:
    folder = os.environ.get("EXPLORER_STILLS")
    if folder:
        root.page.wait_for_timeout(600)
        root.screenshot(path=f"{folder}/{name}.png")


def test_what_is_healed_and_how_the_answer_begins_is_marked(
    chromium: Browser, tmp_path: Path
) -> None:
    sp = explorer.load_model("tiny-sp")
    begun = Explorer(
        sp, explorer.choice([" Berlin", " Bonn"]), "Germany?", response_prefix=" The capital is"
    )
    root = opened(chromium, begun, tmp_path / "begun.html")
    marked = root.locator(".lmx-strip .begins")
    assert [text.split("▸")[0].strip() for text in marked.all_inner_texts()] == [
        "␣The", "␣capital", "␣is",
    ]  # fmt: skip
    assert "response prefix" in (marked.first.get_attribute("title") or "")
    shot(root, "begun")
    root.page.close()
    pattern = explorer.regex("[a-z ,.]{4,12}").canonical()
    healed = Explorer(sp, pattern, "What is the col", heal="prompt")
    healed.cursor.run(12)
    root = opened(chromium, healed, tmp_path / "healed.html")
    again = root.locator(".lmx-strip [data-k] sup").filter(has_text="↶")
    assert again.count() > 2
    said = root.locator(".lmx-strip [data-k='1']").get_attribute("title") or ""
    assert "the end of the prompt is written again" in said
    shot(root, "healed-prompt")
    root.page.close()
