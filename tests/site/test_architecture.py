"""The picture of the architecture: it is current, it can be read, and the page says it in words."""

from __future__ import annotations

import re

import pytest

from tools.architecture import (
    ARROWS,
    BOXES,
    GROUNDS,
    HEIGHT,
    THEMES,
    WIDTH,
    WORDS,
    architecture_paths,
    architecture_svg,
)
from tools.site.pages import ROOT


@pytest.mark.parametrize("theme", list(THEMES))
def test_the_picture_is_current(theme: str) -> None:
    assert architecture_paths()[theme].read_text("utf-8") == architecture_svg(theme)


def test_the_page_says_what_the_picture_shows() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert f'alt="{WORDS}"' in page
    assert all((ROOT / name).is_dir() or (ROOT / "explorer" / name).is_dir() for name in GROUNDS)


def test_boxes_stand_on_the_ground_and_not_on_each_other() -> None:
    boxes = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in BOXES.values()]
    for a in boxes:
        assert a[0] >= 0 and a[2] <= WIDTH and a[1] >= 0 and a[3] <= HEIGHT
        inside = [
            (x, y) for x, y, w, h in GROUNDS.values()
            if x <= a[0] and a[2] <= x + w and y + 24 <= a[1] and a[3] <= y + h
        ]  # fmt: skip
        assert len(inside) == 1
        over = [b for b in boxes if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]
        assert over == [a]
    for path in ARROWS:
        x, y = map(int, re.findall(r"(\d+),(\d+)", path)[0])
        touched = [b for b in boxes if b[0] <= x <= b[2] and b[1] <= y <= b[3]]
        assert touched or path.startswith("M812,"), path


def luminance(colour: str) -> float:
    """The relative luminance of the contrast that WCAG defines."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = ((v / 12.92) if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", list(THEMES))
def test_words_and_lines_stand_out(theme: str) -> None:
    of = THEMES[theme]
    grounds = ("box", "core", "ground")
    assert min(contrast(of[ink], of[under]) for ink in ("ink", "soft") for under in grounds) >= 4.5
    assert min(contrast(of[line], of["ground"]) for line in ("line", "edge")) >= 3
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
