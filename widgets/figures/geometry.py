"""Edges as curves between placed nodes, and labels where they cover nothing.

States mostly lie on one line, as text does, so the router thinks in lanes: an arc to the next state
is straight; an arc that passes other states bows above the line or below it, in the first lane that
no overlapping arc has; an arc back prefers below; a loop stands on its state. Elsewhere an arc is
straight, and bows away from what it would cross. The same input gives the same curves: nothing is
random and nothing depends on the order of a set.

Units are pixels of the page at its usual size. Cost: edges × nodes in numpy; some tens of
milliseconds for 300 states and 400 edges.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

RADIUS: Final = 15.0
DOT_RADIUS: Final = 4.0
LANE: Final = 30.0
"""The height of a lane, a label included."""

CHARACTER_WIDTH: Final = 7.3
"""Of the 12 px monospaced face of the labels."""

LABEL_HEIGHT: Final = 13.0
LOOP_HEIGHT: Final = 46.0

_LABEL_PLACES: Final = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
"""Where along an arc a label may stand, the best first."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Floats = NDArray[np.float64]


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
    """

    path: str
    x: float
    y: float
    tip: Point
    box: Box
    reach: Box

    def moved(self, dx: float, dy: float) -> Routed:
        """The same curve elsewhere."""

        def shift(found: re.Match[str]) -> str:
            return _n((float(found[1]) + dx, float(found[2]) + dy))

        sides = (dx, dy, dx, dy)
        return Routed(
            re.sub(r"(-?[\d.]+),(-?[\d.]+)", shift, self.path),
            self.x + dx,
            self.y + dy,
            (self.tip[0] + dx, self.tip[1] + dy),
            _shifted(self.box, sides),
            _shifted(self.reach, sides),
        )

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "path": self.path,
            "x": round(self.x, 1),
            "y": round(self.y, 1),
            "tip": [round(self.tip[0], 1), round(self.tip[1], 1)],
        }


@dataclass(frozen=True, slots=True)
class _Curve:
    """A curve whose label has no place yet."""

    path: str
    tip: Point
    places: list[Point]
    under: bool
    samples: list[Point]
    reach: Box


@dataclass(frozen=True, slots=True)
class Wire:
    """An edge to be routed: its ends and its label."""

    id: str
    source: str
    target: str
    label: str


@dataclass
class Router:
    """Routes edges one after the other; each keeps off the labels of those before.

    Args:
        nodes: Where the nodes are.
        ghosts: Nodes that arcs may pass, because nothing ends there.
        back_below: Arcs to the left prefer the lanes below the line.
    """

    nodes: Mapping[str, Placed]
    ghosts: frozenset[str] = frozenset()
    back_below: bool = True

    def __post_init__(self) -> None:
        solid = [(name, node) for name, node in self.nodes.items() if name not in self.ghosts]
        self._centres = np.array([(n.x, n.y, n.r) for _, n in solid], float).reshape(-1, 3)
        self._names = [name for name, _ in solid]
        self._points = np.empty((0, 2))
        self._owner = np.empty(0, np.int64)
        self._number: dict[str, int] = {}
        self._taken = np.empty((0, 4))
        every = [(n.x, n.y, n.r) for n in self.nodes.values()]
        self._all = np.array(every, float).reshape(-1, 3)

    def route(self, wires: Iterable[Wire]) -> dict[str, Routed]:
        """Curves for edges whose ends are placed; the others are left out.

        All curves first, then the labels, so that a label can keep off every curve.
        """
        listed = [w for w in wires if w.source in self.nodes and w.target in self.nodes]
        pairs = {(w.source, w.target) for w in listed}
        bows = self._lanes(listed, pairs)
        curves = {
            wire.id: self._loop(wire) if wire.source == wire.target else self._arc(wire, bows)
            for wire in listed
        }
        self._number = {name: k for k, name in enumerate(curves)}
        samples = [point for curve in curves.values() for point in curve.samples]
        owner = [k for k, curve in enumerate(curves.values()) for _ in curve.samples]
        points = np.array(samples, float).reshape(-1, 2)
        by_x = np.argsort(points[:, 0], kind="stable")
        self._points, self._owner = points[by_x], np.array(owner, np.int64)[by_x]
        # Straight arcs first: their labels have the fewest places to go.
        order = sorted(range(len(listed)), key=lambda k: (abs(bows[listed[k].id]), k))
        routed: dict[str, Routed] = {}
        for k in order:
            wire = listed[k]
            curve = curves[wire.id]
            x, y, box = self._label(wire.label, curve.places, curve.under, wire.id)
            routed[wire.id] = Routed(curve.path, x, y, curve.tip, box, curve.reach)
        return {wire.id: routed[wire.id] for wire in listed}

    def stub(self, wire: Wire, length: float = 37.0) -> Routed:
        """An arc from a state into the open, for the end of the text: right, else downwards."""
        node = self.nodes[wire.source]
        for dx, dy in ((1.0, 0.0), (0.7, 0.72), (0.7, -0.72), (0.0, 1.0)):
            begin = (node.x + dx * node.r, node.y + dy * node.r)
            tip = (node.x + dx * (node.r + length), node.y + dy * (node.r + length))
            ahead = np.hypot(self._all[:, 0] - tip[0], self._all[:, 1] - tip[1])
            level = (self._all[:, 1] == node.y) & (self._all[:, 0] > node.x)
            if dy == 0.0 and level.any():
                continue  # The next state's arc runs there.
            if not (ahead < self._all[:, 2] + 8).any():
                break
        middle = _bezier(begin, begin, tip, 0.6)
        places = [middle, tip] if dy == 0.0 else [(tip[0] + 2, tip[1]), (tip[0] + 20, tip[1])]
        x, y, box = self._label(wire.label, places, dy > 0)
        return Routed(f"M{_n(begin)} L{_n(tip)}", x, y, tip, box, _extent([begin, tip]))

    def _lanes(self, wires: Sequence[Wire], pairs: set[tuple[str, str]]) -> dict[str, float]:
        """How far each edge bows off the straight line; negative is above."""
        bows: dict[str, float] = {}
        taken: dict[tuple[float, int], list[tuple[float, float, int]]] = {}
        for wire in wires:
            if wire.source == wire.target:
                node = self.nodes[wire.source]
                taken.setdefault((node.y, -1), []).append((node.x - 1, node.x + 1, 1))
                bows[wire.id] = 0.0
        rest = [w for w in wires if w.source != w.target]
        spans = {w.id: abs(self.nodes[w.source].x - self.nodes[w.target].x) for w in rest}
        for wire in sorted(rest, key=lambda w: spans[w.id]):
            source, target = self.nodes[wire.source], self.nodes[wire.target]
            crossed = self._crossed(wire, source, target, 0.0)
            both = (wire.target, wire.source) in pairs
            if not crossed and not both:
                bows[wire.id] = 0.0
                continue
            if source.y != target.y:
                bows[wire.id] = self._clear_bow(wire, source, target, both)
                continue
            left, right = sorted((source.x, target.x))
            forward = source.x < target.x
            least = 1 if crossed or not both else 0
            choices: list[tuple[int, int, int]] = []
            for preference, side in enumerate(
                (-1, 1) if forward or not self.back_below else (1, -1)
            ):
                level = least
                while any(
                    a < right - 1 and left < b - 1 and n == level
                    for a, b, n in taken.get((source.y, side), [])
                ):
                    level += 1
                choices.append((level, preference, side))
            level, _, side = min(choices)
            taken.setdefault((source.y, side), []).append((left, right, level))
            bows[wire.id] = side * (12.0 if level == 0 else LANE * level + 4.0)
        return bows

    def _clear_bow(self, wire: Wire, source: Placed, target: Placed, both: bool) -> float:
        """The smallest bow at which an arc between two rows crosses no state."""
        tries = (14.0, -14.0) if both else (0.0, 24.0, -24.0)
        for bow in (*tries, 34.0, -34.0, 60.0, -60.0, 95.0, -95.0):
            if not self._crossed(wire, source, target, bow):
                return bow
        return tries[0]

    def _crossed(self, wire: Wire, source: Placed, target: Placed, bow: float) -> bool:
        """Whether a curve would touch a state that is not its own."""
        if not len(self._centres):
            return False
        control = _control(source, target, bow)
        t = np.linspace(0.08, 0.92, 15)[:, None]
        curve = (
            (1 - t) ** 2 * np.array([source.x, source.y])
            + 2 * (1 - t) * t * np.array(control)
            + t**2 * np.array([target.x, target.y])
        )
        steps = curve[:, None, :] - self._centres[None, :, :2]
        near = np.hypot(steps[..., 0], steps[..., 1]) < self._centres[None, :, 2] + 5.0
        hit = near.any(axis=0)
        return any(
            name not in (wire.source, wire.target)
            for name in (self._names[k] for k in cast("list[int]", np.flatnonzero(hit).tolist()))
        )

    def _arc(self, wire: Wire, bows: Mapping[str, float]) -> _Curve:
        bow = bows[wire.id]
        source, target = self.nodes[wire.source], self.nodes[wire.target]
        control = _control(source, target, bow)
        begin = _towards(source, control, 0.0)
        tip = _towards(target, control, 4.5)
        path = f"M{_n(begin)} Q{_n(control)} {_n(tip)}"
        places = [_bezier(begin, control, tip, t) for t in _LABEL_PLACES]
        under = bow > 0 and source.y == target.y
        samples = [_bezier(begin, control, tip, t / 24) for t in range(25)]
        return _Curve(path, tip, places, under, samples, _extent(samples))

    def _loop(self, wire: Wire) -> _Curve:
        node = self.nodes[wire.source]
        x, y = node.x, node.y
        small = node.r < RADIUS
        wide, high, foot = (18.0, 30.0, 3.0) if small else (34.0, 52.0, 13.0)
        begin, tip = (x - node.r / 2, y - foot), (x + node.r * 0.66, y - foot - 3.5)
        path = f"M{_n(begin)} C{_n((x - wide, y - high))} {_n((x + wide, y - high))} {_n(tip)}"
        top = y - (foot + 0.75 * (high - foot))
        places = [(x, top), (x, top - 13), (x + 18, top)]
        samples = [begin, (x - wide / 2, y - high * 0.6), (x, top), (x + wide / 2, y - high * 0.6)]
        return _Curve(path, tip, places, False, samples, (x - wide, top, x + wide, y))

    def _label(
        self, text: str, places: Sequence[Point], under: bool, own: str = ""
    ) -> tuple[float, float, Box]:
        """The place where a label covers least: states, other labels, curves, in this order."""
        half = len(text) * CHARACTER_WIDTH / 2
        at = np.array(places, float).reshape(-1, 2)
        count = len(at)
        below = np.repeat([under, not under], count)
        x = np.tile(at[:, 0], 2)
        y = np.tile(at[:, 1], 2) + np.where(below, 15.0, -6.0)
        boxes = np.column_stack([x - half, y - LABEL_HEIGHT + 3, x + half, y + 3])
        best = 0
        if text:
            cost = 0.1 * np.tile(np.arange(count), 2) + 0.5 * (below != under)
            cost += self._over_labels(boxes) + self._over_nodes(boxes)
            cost += self._over_curves(boxes, own)
            best = int(np.argmin(cost))
            self._taken = np.concatenate([self._taken, boxes[best : best + 1]])
        left, top, right, bottom = boxes[best].tolist()
        return float(x[best]), float(y[best]), (left, top, right, bottom)

    def _over_labels(self, boxes: Floats) -> Floats:
        """For each box what it covers of the labels that stand already."""
        width, height = _common(boxes, self._taken)
        both = (width > 0) & (height > 0)
        return np.where(both, 10.0 + width * height / 100, 0.0).sum(axis=1)

    def _over_nodes(self, boxes: Floats) -> Floats:
        """For each box a price for every state that it covers."""
        x, y = self._all[None, :, 0], self._all[None, :, 1]
        near_x = np.maximum(np.maximum(boxes[:, 0:1] - x, x - boxes[:, 2:3]), 0.0)
        near_y = np.maximum(np.maximum(boxes[:, 1:2] - y, y - boxes[:, 3:4]), 0.0)
        return 20.0 * (np.hypot(near_x, near_y) < self._all[None, :, 2] - 1.0).sum(axis=1)

    def _over_curves(self, boxes: Floats, own: str) -> Floats:
        """For each box how much of the curves it lies on; its own is the least harm."""
        # Points are in the order of x, so only those near are looked at.
        ends = np.array([boxes[:, 0].min(), boxes[:, 2].max()], float)
        first, last = cast("list[int]", np.searchsorted(self._points[:, 0], ends).tolist())
        x, y = self._points[None, first:last, 0], self._points[None, first:last, 1]
        inside = (x > boxes[:, 0:1]) & (x < boxes[:, 2:3])
        inside &= (y > boxes[:, 1:2] + 1) & (y < boxes[:, 3:4])
        price = np.where(self._owner[first:last] == self._number.get(own, -1), 0.7, 1.5)
        return (inside * price).sum(axis=1)


def _common(boxes: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Width and height of what each pair of boxes has in common; negative where nothing."""
    width = np.minimum(boxes[:, None, 2], others[None, :, 2]) - np.maximum(
        boxes[:, None, 0], others[None, :, 0]
    )
    height = np.minimum(boxes[:, None, 3], others[None, :, 3]) - np.maximum(
        boxes[:, None, 1], others[None, :, 1]
    )
    return width, height


def _control(source: Placed, target: Placed, bow: float) -> Point:
    """The control point of a quadratic curve whose middle is ``bow`` off the straight line."""
    mx, my = (source.x + target.x) / 2, (source.y + target.y) / 2
    if source.y == target.y:
        return mx, my + 2 * bow
    dx, dy = target.x - source.x, target.y - source.y
    length = math.hypot(dx, dy) or 1.0
    return mx - dy / length * 2 * bow, my + dx / length * 2 * bow


def _towards(node: Placed, point: Point, gap: float) -> Point:
    """Where a curve meets a node's circle, seen from its control point."""
    dx, dy = point[0] - node.x, point[1] - node.y
    length = math.hypot(dx, dy) or 1.0
    return node.x + dx / length * (node.r + gap), node.y + dy / length * (node.r + gap)


def _bezier(a: Point, b: Point, c: Point, t: float) -> Point:
    return (
        (1 - t) ** 2 * a[0] + 2 * (1 - t) * t * b[0] + t**2 * c[0],
        (1 - t) ** 2 * a[1] + 2 * (1 - t) * t * b[1] + t**2 * c[1],
    )


def _extent(points: Sequence[Point]) -> Box:
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return min(xs), min(ys), max(xs), max(ys)


def _shifted(box: Box, by: Box) -> Box:
    return box[0] + by[0], box[1] + by[1], box[2] + by[2], box[3] + by[3]


def _n(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
