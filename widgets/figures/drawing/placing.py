"""The places of the words on arcs: clear of all states and of other words, and of curves where
possible.

Each label has places along its arc, above it, below it and on it. It takes the one that covers the
least of the curves among those that cover no state and no label that stands already. If there is no
such place, the label is *tucked*: the drawing shows it only while its arc is lit; the arc's title
and the table always have it. So no two words are ever on top of each other, however dense a machine
is.

Cost: labels × places × nodes in numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from widgets.figures.drawing.geometry import LABEL_HEIGHT, Box, label_width

SAMPLES: Final = 24
"""The number of steps that a curve is cut into."""

LABEL_STEPS: Final = np.array([12, 10, 14, 8, 16, 6, 18, 20, 4])
"""The steps at which a label may stand, the best first."""

_FEW_STEPS: Final = 3
_RISES: Final = (-6.0, 15.0, 4.5)
"""Base lines above an arc, below it, and on it."""

_RISE_COST: Final = np.array([0.0, 0.5, 4.0])
_CHUNK: Final = 64

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WantedLabel:
    """A label that wants a place.

    Args:
        id: Of its arc.
        text: What it says; an empty one needs no place.
        places: Points of its arc where it may stand, the best first: (n, 2).
        under: Rather below the arc.
        samples: Points along the arc: (n, 2).
    """

    id: str
    text: str
    places: Floats
    under: bool
    samples: Floats


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a label stands: the middle of its base line, its box, and whether it is tucked."""

    x: float
    y: float
    box: Box
    tucked: bool


class Labels:
    """Places labels one after the other; each keeps off those before.

    Args:
        nodes: Centres and radii: (n, 3).
        fast: Look at fewer places.
    """

    def __init__(self, nodes: Floats, *, fast: bool = False) -> None:
        self._nodes = nodes
        self._fast = fast
        self._taken = np.empty((0, 4))

    def keep_free(self, box: Box) -> None:
        """Keep labels off a box."""
        self._taken = np.concatenate([self._taken, np.array([box])])

    def place(self, asked: Sequence[WantedLabel], order: Sequence[int]) -> dict[str, Stand]:
        """Places for some labels.

        Args:
            asked: The labels; they also keep off each other's curves.
            order: The order in which the labels choose.
        """
        points = np.concatenate([np.empty((0, 2)), *(one.samples for one in asked)])
        owner = np.repeat(np.arange(len(asked)), [len(one.samples) for one in asked])
        by_x = np.argsort(points[:, 0], kind="stable")
        points, owner = points[by_x], owner[by_x]
        taken = np.empty((len(self._taken) + len(asked), 4))
        standing = len(self._taken)
        taken[:standing] = self._taken
        found: dict[str, Stand] = {}
        for chunk in range(0, len(order), _CHUNK):
            some = list(order[chunk : chunk + _CHUNK])
            boxes = [self._boxes(asked[k]) for k in some]
            over = self._over_nodes(np.concatenate([np.empty((0, 4)), *(b for b, _ in boxes)]))
            at = 0
            for k, (box, cost) in zip(some, boxes, strict=True):
                one = asked[k]
                hit = over[at : at + len(box)]
                at += len(box)
                best, free = 0, True
                if one.text:
                    covered = hit + _over(box, taken[:standing])
                    price = cost + self._over_curves(box, points, owner, k) + 1000.0 * covered
                    best = int(np.argmin(price))
                    free = not covered[best]
                    if free:
                        taken[standing] = box[best]
                        standing += 1
                left, top, right, bottom = cast("list[float]", box[best].tolist())
                stand = (left, top, right, bottom)
                found[one.id] = Stand((left + right) / 2, bottom - 3.0, stand, not free)
        self._taken = taken[:standing].copy()
        return found

    def _boxes(self, one: WantedLabel) -> tuple[Floats, Floats]:
        """The boxes in which a label may stand, and how much each is disliked."""
        half = label_width(one.text) / 2
        at = one.places[:_FEW_STEPS] if self._fast else one.places
        rises = (_RISES[1], _RISES[0], _RISES[2]) if one.under else _RISES
        x = np.tile(at[:, 0], len(rises))
        y = np.concatenate([at[:, 1] + rise for rise in rises])
        cost = np.add.outer(_RISE_COST, 0.1 * np.arange(len(at))).ravel()
        return np.column_stack([x - half, y - LABEL_HEIGHT + 3, x + half, y + 3]), cost

    def _over_nodes(self, boxes: Floats) -> NDArray[np.int64]:
        """For each box how many states it touches."""
        x, y, r = (self._nodes[None, :, k] for k in range(3))
        near_x = np.maximum(np.maximum(boxes[:, 0:1] - x, x - boxes[:, 2:3]), 0.0)
        near_y = np.maximum(np.maximum(boxes[:, 1:2] - y, y - boxes[:, 3:4]), 0.0)
        return (near_x**2 + near_y**2 < (r + 1.0) ** 2).sum(axis=1)

    def _over_curves(
        self, boxes: Floats, points: Floats, owner: NDArray[np.int64], own: int
    ) -> Floats:
        """For each box how much of the curves it lies on; its own is the least harm."""
        # Points are in the order of x, so only those near are looked at.
        ends = np.array([boxes[:, 0].min(), boxes[:, 2].max()], float)
        first, last = cast("list[int]", np.searchsorted(points[:, 0], ends).tolist())
        step = 2 if self._fast else 1
        x, y = points[None, first:last:step, 0], points[None, first:last:step, 1]
        inside = (x > boxes[:, 0:1]) & (x < boxes[:, 2:3])
        inside &= (y > boxes[:, 1:2] + 1) & (y < boxes[:, 3:4])
        price = np.where(owner[first:last:step] == own, 0.3, 1.5) * step
        return (inside * price).sum(axis=1)


def _over(boxes: Floats, others: Floats) -> NDArray[np.int64]:
    """For each box how many others it overlaps."""
    width = np.minimum(boxes[:, None, 2], others[None, :, 2]) - np.maximum(
        boxes[:, None, 0], others[None, :, 0]
    )
    height = np.minimum(boxes[:, None, 3], others[None, :, 3]) - np.maximum(
        boxes[:, None, 1], others[None, :, 1]
    )
    return ((width > 0) & (height > 0)).sum(axis=1)
