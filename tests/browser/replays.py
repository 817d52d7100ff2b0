"""Runs as pages without a kernel, which tests of what is seen open in windows of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import explorer
from tests.browser.acting import at, press, rest
from widgets import Explorer
from widgets.kinds import constraint_of_kind, preset_model, preset_of
from widgets.lessons.story import RECORD_PROMPT, record_constraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

    Opened = Callable[[str, int, int], Locator]

DATES = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
SUMS = 'start: "(" start ")" | "x" ("+" start)?'
KINDS = ["string", "integer", "boolean", "number"] * 3
FIELDS = {f"field_{name}": {"type": kind} for name, kind in zip("abcdefghijkl", KINDS, strict=True)}
FORM = {
    "type": "object",
    "properties": FIELDS,
    "required": [*FIELDS],
    "additionalProperties": False,
}
STEPS = {
    "toy": 4,
    "date": 7,
    "record": 14,
    "grammar": 3,
    "drawn": 3,
    "unwanted": 2,
    "tools": 14,
    "form": 32,
}


def made(name: str) -> Explorer:
    """A run that is written to its end, or as far as is looked at."""
    if name == "toy":
        return Explorer()
    if name == "tools":
        call = preset_of("a call of a tool")
        assert call is not None
        constraint = constraint_of_kind(call.kind, call.text)
        return Explorer(preset_model(call), constraint, call.prompt)
    lm = explorer.load_model("tiny")
    constraint, prompt = {
        "date": (explorer.regex(DATES), "The date is "),
        "record": (record_constraint(), RECORD_PROMPT),
        "grammar": (explorer.grammar(SUMS, syntax="lark"), "sum: "),
        "drawn": (explorer.regex(DATES), "The date is "),
        "form": (explorer.json_schema(FORM), "Fill in the form: "),
        "unwanted": (explorer.regex("[0-9]{9}"), "The capital of France is"),
    }[name]
    sampler = explorer.Sampler(0.5) if name == "drawn" else None
    return Explorer(lm, constraint, prompt, sampler=sampler)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a run, without a kernel."""
    known: dict[str, Path] = {}

    def page_of(name: str) -> Path:
        if name not in known:
            shown = made(name)
            for _ in range(STEPS[name]):
                if not shown.session.finished:
                    shown.session.step()
            known[name] = shown.to_html(tmp_path_factory.mktemp(name) / "page.html")
            shown.close()
        return known[name]

    return page_of


@pytest.fixture
def opened(chromium: Browser, written: Callable[[str], Path]) -> Iterator[Opened]:
    """A run in a window of some size, at its start."""
    pages: list[Page] = []

    def open_page(name: str, width: int, height: int) -> Locator:
        page = chromium.new_page(viewport={"width": width, "height": height})
        pages.append(page)
        page.goto(written(name).as_uri())
        page.add_style_tag(content="body { margin: 0 !important }")
        root = page.locator(".lmx-root")
        root.locator(".lmx-row").first.wait_for()
        rest(root)
        if not (root.locator(".where").text_content() or "").startswith("position 0"):
            press(root, "to the start (Home)")
        at(root, 0)
        return root

    yield open_page
    for page in pages:
        page.close()
