"""The shapes of a drawing: nodes that have a place, edges that have a curve, words that have a box.

Everything is an immutable value in pixels of the page at its usual size, y downwards. The places
are chosen in `widgets.figures.drawing.layout`, the curves are drawn in
`widgets.figures.drawing.routing`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

RADIUS: Final = 15.0
SMALL_RADIUS: Final = 12.0
"""Of the states of a machine that is many states long."""

DOT_RADIUS: Final = 4.0

CHARACTER_WIDTH: Final = 7.3
"""Of the 12 px monospaced face of the labels."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A node's centre and radius."""

    x: float
    y: float
    r: float = RADIUS

    def to_dict(self) -> dict[str, float]:
        """As plain values."""
        return {"x": round(self.x, 1), "y": round(self.y, 1), "r": self.r}


@dataclass(frozen=True, slots=True)
class Routed:
    """An edge's curve, the middle of its label's base line, and the tip of its arrow.

    Args:
        path: SVG path data.
        x, y: Where the label stands.
        tip: Where the curve ends.
        box: The label's box, for tests and for fitting: left, top, right, bottom.
        reach: The extent of the curve: left, top, right, bottom.
        tucked: The label found no place of its own: it is shown only while its arc is lit.
        clear: The label stands clear of all curves, and its own is the nearest.
    """

    path: str
    x: float
    y: float
    tip: Point
    box: Box
    reach: Box
    tucked: bool = False
    clear: bool = True

    def moved(self, dx: float, dy: float) -> Routed:
        """The same curve elsewhere."""

        def shift(found: re.Match[str]) -> str:
            return pair((float(found[1]) + dx, float(found[2]) + dy))

        return Routed(
            _PAIR.sub(shift, self.path),
            self.x + dx,
            self.y + dy,
            (self.tip[0] + dx, self.tip[1] + dy),
            _shifted(self.box, dx, dy),
            _shifted(self.reach, dx, dy),
            self.tucked,
            self.clear,
        )

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        found: dict[str, object] = {
            "path": self.path,
            "x": round(self.x, 1),
            "y": round(self.y, 1),
            "tip": [round(self.tip[0], 1), round(self.tip[1], 1)],
        }
        if self.tucked:
            found["tucked"] = True
        return found


@dataclass(frozen=True, slots=True)
class Wire:
    """An edge to be routed: its ends and its label."""

    id: str
    source: str
    target: str
    label: str


_PIECE: Final = re.compile(r"[MLQC]([^MLQC]*)")
_PAIR: Final = re.compile(r"(-?[\d.]+),(-?[\d.]+)")


def label_width(text: str) -> float:
    """The width of a label in pixels; a wide character takes two places.

    Example:
        >>> label_width("ab") == label_width("日") == 2 * CHARACTER_WIDTH
        True
    """
    if text.isascii():
        return len(text) * CHARACTER_WIDTH
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * CHARACTER_WIDTH


def points_of(path: str, steps: int = 40) -> NDArray[np.float64]:
    """Points along a curve.

    Args:
        path: SVG path data of one piece, as in `Routed`: a line, or a curve with one or two control
            points; or several lines, and curves with one.
        steps: Into how many parts each piece is cut.

    Returns:
        Shape ``(n, 2)``.

    Example:
        >>> points_of("M0.0,0.0 L4.0,0.0", 2).tolist()
        [[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]
    """
    t = (np.arange(steps + 1) / steps)[:, None]
    pieces: list[NDArray[np.float64]] = []
    last = np.zeros(2)
    for numbers in _PIECE.findall(path):
        corners = [np.array((float(x), float(y))) for x, y in _PAIR.findall(numbers)]
        line: list[NDArray[np.float64]] = [
            np.repeat(corner[None], steps + 1, 0) for corner in (last, *corners)
        ]
        while len(line) > 1:
            line = [(1 - t) * one + t * two for one, two in pairwise(line)]
        pieces.append(line[0])
        last = corners[-1]
    return np.concatenate(pieces[1:])


def extent(points: Sequence[Point]) -> Box:
    """The smallest box around some points."""
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return min(xs), min(ys), max(xs), max(ys)


def pair(point: Point) -> str:
    """A point as SVG path data."""
    return f"{point[0]:.1f},{point[1]:.1f}"


def _shifted(box: Box, dx: float, dy: float) -> Box:
    return box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy
