"""Bars, tables and rows of tokens as pictures.

Tokens are drawn in boxes: spellings of a text, or texts as they were written. Bars compare a few
numbers, one row for each name and one bar for each series. No meaning is in colour alone: the bars
of the second series are hatched, and every bar has its number beside it. A table is HTML in a
notebook and lines in a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from explorer.arguments import wrong
from widgets.figures.drawing.labels import markup, shorten
from widgets.figures.drawing.svg import (
    LINE,
    MONO_WIDTH,
    NO,
    NO_PAPER,
    OK,
    OK_PAPER,
    PAPER,
    SHADES,
    SOFT,
    box,
    chip,
    document,
    line,
    px,
    text,
)
from widgets.figures.snapshot import Snapshot

BARS_WIDTH: Final = 720.0
ROOM: Final = 330.0
"""The width of the longest bar."""

COLOURS: Final = (OK, NO, SOFT)
LONGEST_NAME: Final = 28
"""The most characters of a name that are shown."""


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
        title: The title, which a screen reader says first.
        rows: For each name a number, or one number per series; none may be negative.
        series: The names of the series, at most three.
        unit: The text after each number, such as `` %``.
        digits: The decimal places of the numbers.

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
    left = 20 + min(max(len(name) for name in values), LONGEST_NAME) * 12.0 * MONO_WIDTH
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
        parts.append(text(12, y + 11, shorten(name, LONGEST_NAME), mono=True))
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
    return Snapshot(document(max(BARS_WIDTH, left + ROOM + 90), y + 12, alt, parts), words, alt)


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


@dataclass(frozen=True, slots=True)
class LessonTable:
    """A table with a caption, as `table_picture` makes it."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """The table for a terminal."""
        every = (self.head, *self.rows)
        widths = [max(len(row[k]) for row in every) for k in range(len(self.head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in every
        ]
        return "\n".join([self.caption, *lines])

    def to_mimebundle(self) -> dict[str, str]:
        """The table and its text by media type, as notebooks display them."""
        left, kept = "text-align:left", "white-space:pre;font-family:monospace"
        head = "".join(f'<th scope="col" style="{left}">{markup(h)}</th>' for h in self.head)
        body = "".join(
            "<tr>" + "".join(f'<td style="{left};{kept}">{markup(c)}</td>' for c in row) + "</tr>"
            for row in self.rows
        )
        caption = f'<caption style="{left}">{markup(self.caption)}</caption>'
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return {"text/html": table, "text/plain": self.text}

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """The bundle that a notebook displays at the end of a cell."""
        return self.to_mimebundle()


def table_picture(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, digits: int = 2
) -> LessonTable:
    """A table; spaces inside a text are kept as they are.

    Args:
        caption: What the table shows.
        head: The names of the columns.
        rows: The cells; floats are rounded.
        digits: Decimal places of floats.

    Raises:
        ExplorerError: A row has another number of cells than the head.

    Example:
        >>> print(table_picture("Sums", ["text", "log p"], [["a", -0.251]]).text)
        Sums
        text  log p
        a     -0.25
    """
    cells = tuple(
        tuple(f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell) for cell in row)
        for row in rows
    )
    if any(len(row) != len(head) for row in cells):
        raise wrong("rows", cells, f"{len(head)} cells in each row")
    return LessonTable(caption, tuple(head), cells)


WIDTH: Final = 760.0
LONGEST: Final = 34
"""The most characters of a row's name that are shown."""

SHADED_FROM: Final = (0.01, 0.7, 3.0, 7.0)
"""The bits of surprise from which a box is one shade darker."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One row of tokens.

    Args:
        name: The name of the row.
        tokens: The tokens as text, such as those of `widgets.figures.drawing.labels.token_names`.
        notes: Words below the tokens, such as log-probabilities: none, or one for each token.
        marked: The tokens that are marked, counted from 0.
        end: Words after the last token.
        masked: Whether a mask forbids the row; it is drawn in another colour, and called masked in
            the text.
        shades: The bits of surprise of each token, which shade its box as in the explorer; give
            the numbers in ``notes`` too.
    """

    name: str
    tokens: tuple[str, ...]
    notes: tuple[str, ...] = ()
    marked: frozenset[int] = frozenset()
    end: str = ""
    masked: bool = False
    shades: tuple[float, ...] = ()


def token_picture(title: str, rows: Sequence[TokenRow], *, mark: str = "marked") -> Snapshot:
    """Rows of tokens below each other; a long row is broken.

    Args:
        title: The title.
        rows: The rows.
        mark: The meaning of a marked token, which is written below the title and in the text.

    Example:
        >>> row = TokenRow("Rome", ("R", "ome"), end="refused", masked=True)
        >>> print(token_picture("Two ways", [row]).text)
        Two ways
        Rome: R | ome (refused, masked)
    """
    parts = [text(12, 22, title, size=13, bold=True)]
    y = 40.0
    if any(row.marked for row in rows):
        parts += [chip(12, y, "token", fill=OK_PAPER, stroke=OK, weight=2)[0]]
        parts.append(text(66, y, f"a blue box with a thick edge: {mark}", size=11.5, fill=SOFT))
        y += 24
    lines = [title]
    left = 24 + max(len(shorten(row.name, LONGEST)) for row in rows) * 12 * MONO_WIDTH
    for row in rows:
        y += 6
        parts.append(text(12, y, shorten(row.name, LONGEST), mono=True))
        x = left
        for k, token in enumerate(row.tokens):
            note = row.notes[k] if row.notes else ""
            wide = max(len(token) * 12 * MONO_WIDTH + 10, len(note) * 6.6 + 6)
            if x + wide > WIDTH - 12 and x > left:
                x, y = left, y + (36 if row.notes else 24)
            thick = k in row.marked
            fill = OK_PAPER if thick else NO_PAPER if row.masked else PAPER
            if row.shades:
                fill = SHADES[sum(row.shades[k] >= bits for bits in SHADED_FROM)]
            edge = OK if thick else NO if row.masked else LINE
            drawn, used = chip(x, y, token, fill=fill, stroke=edge, weight=2 if thick else 1)
            parts.append(drawn)
            if note:
                parts.append(text(x + 3, y + 18, note, size=10.5, fill=SOFT))
            x += max(used, len(note) * 6.6) + 5
        if row.end:
            if x + len(row.end) * 7 > WIDTH - 12:
                x, y = left, y + (36 if row.notes else 24)
            parts.append(text(x + 6, y, row.end, size=11.5, fill=NO if row.masked else SOFT))
        y += 38 if row.notes else 24
        lines.append(_said(row, mark))
    described, alt = "\n".join(lines), "; ".join(lines)
    return Snapshot(document(WIDTH, y, alt, parts), described, alt)


def _said(row: TokenRow, mark: str) -> str:
    """A row as text."""
    tokens = [
        token
        + (f" [{row.notes[k]}]" if row.notes else "")
        + (f" ({mark})" if k in row.marked else "")
        for k, token in enumerate(row.tokens)
    ]
    after = [word for word in (row.end, "masked" if row.masked else "") if word]
    return f"{row.name}: {' | '.join(tokens)}" + (f" ({', '.join(after)})" if after else "")
