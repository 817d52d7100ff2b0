"""The places of the words on arcs: clear of all states, of other words and of curves.

Each label has candidate places along its arc, on both sides of it and at several distances: a box
is as far from a sloped curve as its corner needs. Labels are placed one after the other. Of the
places that cover no state and no label placed before, a label takes the one that touches the fewest
curves, and of those the one nearest to the middle of its arc. If every place covers a state or a
label, the label is *tucked*: the drawing shows it only while its arc is lit; the arc's title and
the table always have it. So no two labels overlap, however dense a machine is.

Cost: labels × places × points of nearby curves, in numpy: half a millisecond per label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from widgets.figures.drawing.geometry import Box, label_width

SAMPLES: Final = 24
"""The number of steps into which a curve is divided."""

SPACING: Final = 2.5
"""The pixels between the points of a curve that labels must avoid."""

ASCENT: Final = 9.0
DESCENT: Final = 2.5
"""The ink of a label above and below its base line, in pixels."""

_ALONG: Final = np.array(
    [12, 13, 11, 14, 10, 15, 9, 16, 8, 17, 7, 18, 6, 19, 5, 20, 4, 21, 3, 22, 2], np.int64
)
"""The samples of a curve at which a label may be placed, the best first."""

_GAPS: Final = np.array([3.0, 6.0, 10.0, 15.0, 21.0])
"""The possible distances between a curve and the ink of its label, in pixels."""

_AROUND: Final = 1.5
"""The least distance between the ink of a label and any curve, in pixels."""

_BESIDE: Final = 3.0
"""The least distance between the ink of a label and any state, in pixels."""

_FEW_STEPS: Final = 13
_FEW_GAPS: Final = 5

_PER_STEP: Final = 0.08
_PER_GAP: Final = 0.1
_OTHER_SIDE: Final = 0.5
_OWN_ARC: Final = 15.0
_SET_IN: Final = 9.0
_OTHER_ARC: Final = 40.0
_ASTRAY: Final = 12.0
"""The costs of a place: for steps along the arc, for distance, for curves under it, and for another
curve that is nearer than its own, because a reader would take the label for that one's. A label in
the middle of its own line is set into it: a rim in the colour of the paper interrupts the line.
"""

_NEAR: Final = 16.0
"""The distance from a label within which other curves are looked for; its own curve is nearer."""

_AT_ONCE: Final = 48
"""The number of places of a label that are looked at together, the cheapest first."""

CLEAR: Final = 4.0
"""The cost below which a place is clear of everything, and its own arc is the nearest."""


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WantedLabel:
    """A label to be placed.

    Args:
        text: Its text; an empty one needs no place.
        places: The candidates for the middle of its base line, each with its cost: (m, 3).
    """

    id: str
    text: str
    curve: Floats
    places: Floats


@dataclass(frozen=True, slots=True)
class Stand:
    """The place of a label."""

    x: float
    y: float
    box: Box
    tucked: bool
    clear: bool


def places_along(samples: Floats, text: str, *, under: bool, fast: bool = False) -> Floats:
    """Places for a label on both sides of a curve, and on it.

    Args:
        samples: `SAMPLES` + 1 points along the curve: (25, 2).
        under: Prefer places below the arc, or to the right of a vertical one.

    Returns:
        The middles of base lines, each with its cost: (m, 3).
    """
    along = _ALONG[:_FEW_STEPS] if fast else _ALONG
    gaps = _GAPS[:_FEW_GAPS] if fast else _GAPS
    tangent = samples[along + 1] - samples[along - 1]
    lengths = np.maximum(np.hypot(tangent[:, 0], tangent[:, 1]), 1e-9)
    dx, dy = -tangent[:, 1] / lengths, tangent[:, 0] / lengths
    # Upwards, or to the left of a curve that goes straight down.
    turn = np.where((dy > 1e-6) | ((np.abs(dy) <= 1e-6) & (dx > 0)), -1.0, 1.0)
    # The distance that the box reaches towards the curve.
    away = np.abs(dx) * (label_width(text) / 2) + np.abs(dy) * ((ASCENT + DESCENT) / 2)
    steps = np.concatenate([np.zeros(1), gaps, -gaps])  # On it, above it, below it.
    far = steps[:, None] + np.sign(steps)[:, None] * away
    stands = np.empty((len(steps), len(along), 3))
    stands[..., 0] = samples[along, 0] + far * (turn * dx)
    stands[..., 1] = samples[along, 1] + far * (turn * dy) + (ASCENT - DESCENT) / 2
    wrong = np.where((steps < 0) != under, _OTHER_SIDE, 0.0)
    likes = wrong + _PER_GAP * (np.abs(steps) - gaps[0])
    likes[0] = -_SET_IN
    stands[..., 2] = likes[:, None] + _PER_STEP * np.arange(len(along))
    return stands.reshape(-1, 3)


def dense(points: Floats) -> Floats:
    """Points along a line of straight pieces, at most `SPACING` apart; each is kept."""
    dx, dy = np.diff(points[:, 0]), np.diff(points[:, 1])
    counts = np.maximum(np.ceil(np.hypot(dx, dy) / SPACING), 1).astype(np.int64)
    piece = np.repeat(np.arange(len(counts)), counts)
    share = (np.arange(len(piece)) - (np.cumsum(counts) - counts)[piece]) / counts[piece]
    curve = np.empty((len(piece) + 1, 2))
    curve[:-1, 0] = points[piece, 0] + dx[piece] * share
    curve[:-1, 1] = points[piece, 1] + dy[piece] * share
    curve[-1] = points[-1]
    return curve


class Labels:
    """Places labels one after the other; each avoids those before."""

    def __init__(self, nodes: Floats) -> None:
        self._nodes = nodes
        self._taken = np.empty((0, 4))
        self._curves: list[Floats] = []

    def keep_free(self, box: Box) -> None:
        """Keep labels off a box."""
        self._taken = np.concatenate([self._taken, np.array([box])])

    def keep_off(self, curve: Floats) -> None:
        """Keep labels off a curve whose label is already placed."""
        self._curves.append(curve)

    def place(self, asked: Sequence[WantedLabel]) -> dict[str, Stand]:
        """Places for some labels.

        Args:
            asked: The labels, in the order in which they are placed; they also avoid each other's
                curves.
        """
        curves = [one.curve for one in asked] + self._curves
        points = np.concatenate([np.empty((0, 2)), *curves])
        owner = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
        by_x = np.argsort(points[:, 0], kind="stable")
        points, owner = points[by_x], owner[by_x]
        self._curves = curves
        return {one.id: self._stand(one, points, owner == k) for k, one in enumerate(asked)}

    def _stand(self, one: WantedLabel, points: Floats, own: NDArray[np.bool_]) -> Stand:
        half = label_width(one.text) / 2
        x, y, likes = one.places[np.argsort(one.places[:, 2], kind="stable")].T
        boxes = np.column_stack([x - half, y - ASCENT, x + half, y + DESCENT])
        best, lowest = 0, np.inf
        for first in range(0, len(boxes) if one.text else 0, _AT_ONCE):
            if likes[first] >= lowest:  # Curves under the remaining places can only add cost.
                break
            some = slice(first, first + _AT_ONCE)
            prices = likes[some] + self._harm(boxes[some], points, own)
            place = int(np.argmin(prices))
            if prices[place] < lowest:
                best, lowest = first + place, float(prices[place])
        box: Box = tuple(boxes[best].tolist())
        if np.isfinite(lowest):
            self.keep_free(box)
        middle, base = (box[0] + box[2]) / 2, box[3] - DESCENT
        tucked = bool(one.text) and not np.isfinite(lowest)
        return Stand(middle, base, box, tucked, clear=not one.text or lowest < CLEAR)

    def _harm(self, boxes: Floats, points: Floats, own: NDArray[np.bool_]) -> Floats:
        """The cost of what lies under boxes: infinite for a state or another label."""
        left, top, right, bottom = boxes.T[:, :, None]
        x, y, r = self._nodes.T
        dx, dy = _apart(left, right, x), _apart(top, bottom, y)
        hard = (dx * dx + dy * dy < (r + _BESIDE) ** 2).any(axis=1)
        across = np.minimum(right, self._taken[:, 2]) > np.maximum(left, self._taken[:, 0])
        down = np.minimum(bottom, self._taken[:, 3]) > np.maximum(top, self._taken[:, 1])
        hard |= (across & down).any(axis=1)
        reach = np.array([left.min() - 2 * _NEAR, right.max() + 2 * _NEAR])
        some = slice(*np.searchsorted(points[:, 0], reach))
        x, y, mine = points[some, 0], points[some, 1], own[some]
        dx = _apart(left - _AROUND, right + _AROUND, x)
        dy = _apart(top - _AROUND, bottom + _AROUND, y)
        away = np.sqrt(dx * dx + dy * dy)
        touched = away == 0.0
        on_mine, on_theirs = touched[:, mine].sum(axis=1), touched[:, ~mine].sum(axis=1)
        to_mine = away[:, mine].min(axis=1, initial=_NEAR)
        to_theirs = away[:, ~mine].min(axis=1, initial=_NEAR)
        harm = np.where(on_mine > 0, _OWN_ARC + 0.1 * on_mine, 0.0)
        astray = (to_theirs < to_mine) | (to_mine >= _NEAR)
        harm += np.where(
            on_theirs > 0, _OTHER_ARC + on_theirs, astray * (_ASTRAY + 0.2 * (to_mine - to_theirs))
        )
        return np.where(hard, np.inf, harm)


def _apart(low: Floats, high: Floats, value: Floats) -> Floats:
    """The distances of values from ranges: 0 inside."""
    return np.maximum(np.maximum(low - value, value - high), 0.0)
