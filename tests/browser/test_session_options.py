"""The settings of a session on a page: marks in the strip, and pairs of a stage when replayed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator

import explorer
from tests.browser.acting import STEP, at, press
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


@pytest.mark.long
def test_a_replayed_page_shows_the_pairs_of_a_stage(chromium: Browser, tmp_path: Path) -> None:
    name = explorer.regex("R[a-z]{1,3}").canonical()
    made = Explorer("tiny", name, "The name is ")
    made.cursor.step(made.session.vocabulary.ids_of(b"R")[0])
    root = opened(chromium, made, tmp_path / "pairs.html")
    root.get_by_role("list", name="pipeline").get_by_role("button", name="canonical").click()
    pairs = root.get_by_role("group", name="pairs at the present place of the stage canonical")
    said = pairs.locator("p").inner_text()
    assert "are refused here" in said and "start" in pairs.locator("td").first.inner_text()
    press(root, STEP)
    at(root, 1)
    pairs.locator("p").filter(has_not_text=said).wait_for()
    refused = pairs.locator("tr.no").first.locator("td").all_inner_texts()
    assert refused[0] == "R" and "refused: the tokenizer writes" in refused[4]
    shot(root, "pairs-replayed")
    root.page.close()
