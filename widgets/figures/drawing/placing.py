"""The places of the words on arcs: clear of all states, of other words and of curves.

Each label has candidate places along its arc, on both sides of it and at several distances: a box
is as far from a sloped curve as its corner needs. Of the places that cover no state and no label
placed before, it takes the one that touches the fewest curves, and of those the one nearest to the
middle of its arc. Then labels that still lie on a curve are tried once more: if the place that one
wants is taken by a label that can use another place, that label moves. If every place covers a
state or a label, the label is *tucked*: the drawing shows it only while its arc is lit; the arc's
title and the table always have it. So no two labels overlap, however dense a machine is.

Cost: labels × places × points of nearby curves, in machine code: some 20 µs per label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.jit import jit
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
_HARD: Final = 1e5
"""The costs of a place: for steps along the arc, for distance, for curves under it, and for another
curve that is nearer than its own, because a reader would take the label for that one's. A label in
the middle of its own line is set into it: a rim in the colour of the paper interrupts the line.
"""

_NEAR: Final = 16.0
"""The distance from a label within which other curves are looked for; its own curve is nearer."""

CLEAR: Final = 4.0
"""The cost below which a place is clear of everything, and its own arc is the nearest."""

_ROUNDS: Final = 3
"""The number of rounds in which labels without a clear place are tried again."""

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
        self._nodes = np.ascontiguousarray(nodes, np.float64)
        self._taken = np.empty((0, 4))

    def keep_free(self, box: Box) -> None:
        """Keep labels off a box."""
        self._taken = np.concatenate([self._taken, np.array([box])])

    def place(self, asked: Sequence[WantedLabel]) -> dict[str, Stand]:
        """Places for some labels.

        Args:
            asked: The labels, in the order in which they are placed; they also avoid each other's
                curves.
        """
        curves = [one.curve for one in asked]
        points = np.concatenate([np.empty((0, 2)), *curves])
        owner = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
        by_x = np.argsort(points[:, 0], kind="stable")
        points, owner = np.ascontiguousarray(points[by_x]), owner[by_x]
        places = np.concatenate([np.empty((0, 3)), *(one.places for one in asked)])
        first = np.cumsum([0, *(len(one.places) for one in asked)])
        half = np.repeat([label_width(one.text) / 2 for one in asked], np.diff(first))
        x, y, likes = places[:, 0], places[:, 1], places[:, 2]
        boxes = np.column_stack([x - half, y - ASCENT, x + half, y + DESCENT])
        ranked = np.lexsort((likes, np.repeat(np.arange(len(asked)), np.diff(first))))
        boxes, prices = boxes[ranked], likes[ranked]
        named = np.array([k for k, one in enumerate(asked) if one.text], np.int64)
        kept = len(self._taken)
        taken = np.concatenate([self._taken, np.zeros((len(asked), 4))])
        chosen = np.full(len(asked), -1, np.int64)
        priced = first[:-1].copy()
        _choose(
            named, first, boxes, prices, priced, taken, kept, chosen, points, owner, self._nodes
        )
        self._taken = taken[[*range(kept), *(kept + k for k in np.flatnonzero(chosen >= 0))]]
        stands: dict[str, Stand] = {}
        for k, one in enumerate(asked):
            best = int(chosen[k])
            if best < 0:
                best = int(first[k] + np.argmin(prices[first[k] : first[k + 1]]))
            left, top, right, bottom = cast("list[float]", boxes[best].tolist())
            stands[one.id] = Stand(
                (left + right) / 2,
                bottom - DESCENT,
                (left, top, right, bottom),
                tucked=bool(one.text and chosen[k] < 0),
                clear=not one.text or float(prices[best]) < CLEAR,
            )
        return stands


@jit
def _choose(
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    boxes: Floats,
    prices: Floats,
    priced: NDArray[np.int64],
    taken: Floats,
    kept: int,
    chosen: NDArray[np.int64],
    points: Floats,
    owner: NDArray[np.int64],
    nodes: Floats,
) -> None:
    """Choose a place for each label, and then better ones for those that are not clear.

    Args:
        boxes, prices: The boxes of all places and their costs, cheapest first for each label; the
            costs of what lies under the boxes are added in place.
        priced: The first place of each label whose full cost is not yet known; changed.
        taken: The boxes that are not free: ``kept`` others, then one for each label; changed.
        chosen: The place of each label, -1 for none; changed.
        points, owner, nodes: See `_harm`.
    """
    for k in order:
        lowest, best = _HARD, -1
        for place in range(first[k], first[k + 1]):
            if prices[place] >= lowest:  # Curves under the remaining places can only add cost.
                break
            most = lowest - prices[place]
            prices[place] += _harm(boxes[place], points, owner, k, nodes, most)
            priced[k] = place + 1
            if prices[place] < lowest and _holder(boxes[place], taken, -1) == -1:
                lowest, best = prices[place], place
        if best >= 0:
            taken[kept + k], chosen[k] = boxes[best], best
    for _ in range(_ROUNDS):
        moved = False
        for k in order:
            now = prices[chosen[k]] if chosen[k] >= 0 else _HARD
            if now < CLEAR:
                continue
            for place in range(first[k], priced[k]):
                if prices[place] >= now - 1.0:
                    continue
                holder = _holder(boxes[place], taken, kept + k)
                if holder == -1:
                    taken[kept + k], chosen[k], now = boxes[place], place, prices[place]
                    moved = True
                    continue
                other = holder - kept
                if other < 0 or prices[place] >= CLEAR:  # No label holds it, or several do.
                    continue
                mine, theirs = taken[kept + k].copy(), taken[holder].copy()
                taken[kept + k] = boxes[place]
                best = -1
                for turn in range(first[other], first[other + 1]):
                    if turn == priced[other]:
                        prices[turn] += _harm(boxes[turn], points, owner, other, nodes, CLEAR)
                        priced[other] = turn + 1
                    if prices[turn] < CLEAR and _holder(boxes[turn], taken, holder) == -1:
                        best = turn
                        break
                if best >= 0:
                    chosen[k], chosen[other], taken[holder] = place, best, boxes[best]
                    moved = True
                    break
                taken[kept + k], taken[holder] = mine, theirs
        if not moved:
            break


@jit
def _holder(box: Floats, taken: Floats, without: int) -> int:
    """The one box that overlaps a box: -1 if there is none, -2 if there are several."""
    holder = -1
    for n in range(len(taken)):
        if (
            n != without
            and min(box[2], taken[n, 2]) > max(box[0], taken[n, 0])
            and min(box[3], taken[n, 3]) > max(box[1], taken[n, 1])
        ):
            if holder != -1:
                return -2
            holder = n
    return holder


@jit
def _harm(
    box: Floats, points: Floats, owner: NDArray[np.int64], own: int, nodes: Floats, most: float
) -> float:
    """The cost of the curves and the states under a box."""
    for n in range(len(nodes)):
        x, y, r = nodes[n, 0], nodes[n, 1], nodes[n, 2] + _BESIDE
        dx = max(box[0] - x, x - box[2], 0.0)
        dy = max(box[1] - y, y - box[3], 0.0)
        if dx * dx + dy * dy < r * r:
            return 2 * _HARD
    left, top = box[0] - _AROUND, box[1] - _AROUND
    right, bottom = box[2] + _AROUND, box[3] + _AROUND
    mine = theirs = 0
    away_mine = away_theirs = _NEAR**2
    begin, end = 0, len(points)
    while begin < end:
        middle = (begin + end) // 2
        if points[middle, 0] < left - _NEAR:
            begin = middle + 1
        else:
            end = middle
    for n in range(begin, len(points)):
        x, y = points[n, 0], points[n, 1]
        if x > right + _NEAR:
            break
        dy = max(top - y, y - bottom, 0.0)
        if dy >= _NEAR:
            continue
        dx = max(left - x, x - right, 0.0)
        away = dx * dx + dy * dy
        if owner[n] == own:
            mine += away == 0.0
            away_mine = min(away_mine, away)
        else:
            away_theirs = min(away_theirs, away)
            if away == 0.0:
                theirs += 1
                if _OTHER_ARC + theirs > most:
                    break
    harm = 0.0
    if mine:
        harm += _OWN_ARC + 0.1 * mine
    if theirs:
        harm += _OTHER_ARC + theirs
    elif away_theirs < away_mine or away_mine >= _NEAR**2:
        harm += _ASTRAY + 0.2 * (math.sqrt(away_mine) - math.sqrt(away_theirs))
    return harm
