"""Rows of tokens, each token in a box: spellings of a text, or texts as they were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from widgets.figures.drawing.labels import shorten
from widgets.figures.drawing.palette import LINE, NO, NO_PAPER, OK, OK_PAPER, PAPER, SOFT
from widgets.figures.drawing.svg import MONO_WIDTH, chip, document, text
from widgets.figures.snapshot import Snapshot

WIDTH: Final = 760.0
LONGEST: Final = 34
"""Characters of a row's name that are shown."""

SHADES: Final = (PAPER, "#f5f1fb", "#e9e0f5", "#d6c4ee", "#bfa3e3")
SHADED_FROM: Final = (0.01, 0.7, 3.0, 7.0)
"""Bits of surprise from which on a box is a shade darker; a hue of its own, as in the explorer."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One row of tokens.

    Args:
        name: What the row is.
        tokens: The tokens as text, such as `widgets.figures.drawing.labels.token_names` gives them.
        notes: Words below the tokens, such as log-probabilities: none, or one for each token.
        marked: The tokens that are marked, counted from 0.
        end: Words after the last token.
        masked: Whether the row is one that a mask takes away; it is drawn in another colour, and
            named so in the text.
        shades: Bits of surprise of each token, which shade its box as in the explorer; their
            numbers belong into ``notes``.
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
        title: What the rows show.
        rows: The rows.
        mark: What it means that a token is marked; said in the text and below the title.

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
