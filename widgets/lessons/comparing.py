"""Bars that compare a few numbers, one row for each name and one bar for each series.

No meaning is in colour alone: the bars of the second series are hatched, and every bar has its
number beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from explorer.arguments import wrong
from widgets.figures.drawing.labels import markup, shorten
from widgets.figures.drawing.palette import LINE, NO, OK, PAPER, SOFT
from widgets.figures.drawing.svg import MONO_WIDTH, box, document, line, px, text
from widgets.figures.snapshot import Snapshot

WIDTH: Final = 720.0
ROOM: Final = 330.0
"""The width of the longest bar."""

COLOURS: Final = (OK, NO, SOFT)
LONGEST: Final = 28
"""Characters of a name that are shown."""


def bar_picture(
    title: str,
    rows: Mapping[str, float | Sequence[float]],
    series: Sequence[str] = ("",),
    *,
    unit: str = "",
    digits: int = 2,
) -> Snapshot:
    """Bars, one row for each name.

    Args:
        title: What is compared; it is also what a screen reader says first.
        rows: A number of each name, or one of each series; none below zero.
        series: Names of the series, at most three.
        unit: What stands behind each number, such as `` %``.
        digits: Decimal places of the numbers.

    Returns:
        The picture; its text is a table.

    Raises:
        ExplorerError: A row has another number of values than there are series, or a negative one.

    Example:
        >>> shown = bar_picture("Shares", {"a": (0.25, 0.5)}, ("masked", "given C"))
        >>> print(shown.text)
        Shares
        a: masked 0.25, given C 0.50
    """
    values = {
        name: tuple(value) if isinstance(value, Sequence) else (float(value),)
        for name, value in rows.items()
    }
    fits = all(len(row) == len(series) and min(row) >= 0 for row in values.values())
    if not values or not fits or not 0 < len(series) <= len(COLOURS):
        raise wrong("rows", rows, "a number that is not negative for each name and series")
    largest = max(max(row) for row in values.values()) or 1.0
    left = 20 + min(max(len(name) for name in values), LONGEST) * 12.0 * MONO_WIDTH
    parts = [text(12, 22, title, size=13, bold=True)]
    y = 36.0
    if len(series) > 1:
        x = left
        for number, name in enumerate(series):
            parts += [_bar(x, y, 22, number), text(x + 28, y + 10, name, size=11.5)]
            x += 44 + len(name) * 7.2
        y += 20
    lines = [title]
    for name, row in values.items():
        y += 6
        top = y
        parts.append(text(12, y + 11, shorten(name, LONGEST), mono=True))
        for number, value in enumerate(row):
            width = ROOM * value / largest
            words = f"{value:.{digits}f}{unit}"
            parts.append(_bar(left, y, width, number))
            parts.append(text(left + width + 6, y + 11, words, size=11.5))
            y += 16
        parts.append(line(left, top - 2, left, y, LINE))
        said = (f"{k} {v:.{digits}f}{unit}".strip() for k, v in zip(series, row, strict=True))
        lines.append(f"{name}: {', '.join(said)}")
    words = "\n".join(lines)
    alt = ". ".join(lines)
    return Snapshot(document(max(WIDTH, left + ROOM + 90), y + 12, alt, parts), words, alt)


def _bar(x: float, y: float, width: float, number: int) -> str:
    """One bar; those of the second series are hatched, those of the third are hollow."""
    colour = COLOURS[number]
    if number == 2:
        return box(x, y, width, 13, fill=PAPER, stroke=colour)
    parts = [box(x, y, width, 13, fill=colour)]
    if number == 1:
        strokes = "".join(
            f"M{px(x + k)},{px(y + 13)} l6,-13 " for k in range(2, max(int(width) - 6, 0), 8)
        )
        if strokes:
            parts.append(f'<path d="{markup(strokes)}" stroke="{PAPER}" stroke-width="1.5"/>')
    return "".join(parts)
