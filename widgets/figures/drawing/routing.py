"""Edges as curves between placed nodes.

States mostly lie on one line, as text does, so arcs are routed in lanes: an arc to the next state
is straight; an arc that passes other states bows above or below the line, in the first lane without
an overlapping arc; a backward arc prefers the lanes below; a loop is drawn above its state. Any
other arc is straight, or bows around the states that it would cross. Beyond `STRAIGHT` nodes there
is no search: arcs between two rows are straight. The same input gives the same curves: nothing is
random and nothing depends on the order of a set.

Cost: edges × nodes in numpy once, and a search per edge that is not straight; about 0.15 ms for an
edge, including the place of its label.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from widgets.figures.drawing.geometry import (
    RADIUS,
    Box,
    Placed,
    Point,
    Routed,
    Wire,
    extent,
    label_width,
    pair,
)
from widgets.figures.drawing.placing import SAMPLES, Labels, Stand, WantedLabel, dense, places_along

STRAIGHT: Final = 150
"""The number of nodes beyond which arcs between rows are straight."""

CROWDED: Final = 250
"""The number of arcs beyond which labels have fewer places to choose from."""

FEW: Final = 90
TRIES: Final = 32
"""Up to `FEW` arcs, those whose labels have no room are bent, `TRIES` times in all."""

TALLEST: Final = 112.0
"""The greatest bow of an arc: a machine of very many arcs is dense rather than tall."""

_WIDE_LANES: Final = 3
_BOWS: Final = (0.0, 24.0, -24.0, 34.0, -34.0, 60.0, -60.0, 95.0, -95.0)
_LEVELS: Final = 7
"""The number of further lanes that are tried to find one that crosses no state."""

Floats = NDArray[np.float64]


def lane(level: int) -> float:
    """The distance of the middle of an arc in a lane from its line.

    The first lanes have room for labels; many lanes lie closer, so that a dense machine stays low.

    Example:
        >>> [lane(level) for level in (0, 1, 2, 8)]
        [12.0, 31.0, 57.0, 133.0]
    """
    if level == 0:
        return 12.0
    return 5.0 + 26.0 * min(level, _WIDE_LANES) + 10.0 * max(level - _WIDE_LANES, 0)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A curve whose label has no place yet."""

    path: str
    tip: Point
    samples: Floats
    reach: Box


class Router:
    """Routes the edges of one drawing.

    Args:
        start: The node that the start arrow points at; labels keep off the arrow.
    """

    def __init__(
        self,
        nodes: Mapping[str, Placed],
        ghosts: frozenset[str] = frozenset(),
        *,
        back_below: bool = True,
        start: str | None = None,
    ) -> None:
        self.nodes = nodes
        self.back_below = back_below
        self.fast = len(nodes) > STRAIGHT
        every = np.array([(n.x, n.y, n.r) for n in nodes.values()], float).reshape(-1, 3)
        solid = np.array([name not in ghosts and n.r > 0 for name, n in nodes.items()], bool)
        self._every, self._centres = every, every[solid]
        names = [name for name, keep in zip(nodes, solid.tolist(), strict=True) if keep]
        self._row = {name: k for k, name in enumerate(names)}
        self.labels = Labels(every)
        if start is not None and start in nodes:
            at = nodes[start]
            self.labels.keep_free((at.x - at.r - 26, at.y - 5, at.x - at.r, at.y + 5))

    def route(self, wires: Iterable[Wire], ends: Iterable[Wire] = ()) -> dict[str, Routed]:
        """Curves for the edges whose ends are placed; other edges are left out.

        All curves come first and then the labels, so that a label can avoid every curve.

        Args:
            ends: Edges into the open, for the end of the text; their targets do not matter.
        """
        listed = [w for w in wires if w.source in self.nodes and w.target in self.nodes]
        open_ends = [w for w in ends if w.source in self.nodes]
        bows = self._bows(listed)
        curves = self._curves(listed, bows)
        curves |= {w.id: self._stub(self.nodes[w.source]) for w in open_ends}
        # Straight arcs first: their labels have the fewest places.
        order = sorted(listed, key=lambda wire: abs(bows[wire.id])) + open_ends
        fast = len(order) > CROWDED
        asked = {w.id: self._wanted(w, bows.get(w.id), curves[w.id], fast) for w in order}
        stands, labels = self._label(asked)
        tries = TRIES if len(order) <= FEW else 0
        for wire in listed:
            if tries and wire.source != wire.target and not stands[wire.id].clear:
                for bow in self._other_bows(wire, bows[wire.id])[:tries]:
                    tries -= 1
                    curve = self._curves([wire], {wire.id: bow})[wire.id]
                    bent = {**asked, wire.id: self._wanted(wire, bow, curve, fast)}
                    label = self._label(bent)
                    if _unclear(label[0]) < _unclear(stands):
                        asked, curves[wire.id], (stands, labels) = bent, curve, label
                        break
        self.labels = labels
        return {
            name: Routed(
                curve.path,
                stands[name].x,
                stands[name].y,
                curve.tip,
                stands[name].box,
                curve.reach,
                stands[name].tucked,
                stands[name].clear,
            )
            for name, curve in curves.items()
        }

    def _wanted(self, wire: Wire, bow: float | None, curve: _Curve, fast: bool) -> WantedLabel:
        """The label of an arc with its places; an arc into the open has no bow."""
        line, text = curve.samples, wire.label
        if wire.source == wire.target:
            places = _above_loop(curve, text)
        elif bow is None:
            places = np.concatenate([places_along(line, text, under=False), _beyond(line, text)])
        else:
            under = bow > 0 and self.nodes[wire.source].y == self.nodes[wire.target].y
            places = places_along(line, text, under=under, fast=fast)
        return WantedLabel(wire.id, text, dense(line), places)

    def _label(self, asked: Mapping[str, WantedLabel]) -> tuple[dict[str, Stand], Labels]:
        """Places for labels, and the places that are then taken."""
        labels = copy(self.labels)
        return labels.place(list(asked.values())), labels

    def _other_bows(self, wire: Wire, bow: float) -> list[float]:
        """Other bows of an arc whose label has no room, at which it crosses no state."""
        source, target = self.nodes[wire.source], self.nodes[wire.target]
        tries = np.array([bow + more for more in (10.0, -10.0, 20.0, -20.0)])
        return tries[~self._crossed(wire, source, target, tries)].tolist()

    def _stub(self, node: Placed, length: float = 37.0) -> _Curve:
        """An arc from a state into the open, for the end of the text: right, else downwards."""
        begin = tip = (node.x, node.y)
        for dx, dy in ((1.0, 0.0), (0.7, 0.72), (0.7, -0.72), (0.0, 1.0)):
            begin = (node.x + dx * node.r, node.y + dy * node.r)
            tip = (node.x + dx * (node.r + length), node.y + dy * (node.r + length))
            ahead = np.hypot(self._every[:, 0] - tip[0], self._every[:, 1] - tip[1])
            level = (self._every[:, 1] == node.y) & (self._every[:, 0] > node.x)
            if dy == 0.0 and level.any():
                continue  # The arc to the next state is there.
            if not (ahead < self._every[:, 2] + 8).any():
                break
        line = np.linspace(begin, tip, SAMPLES + 1)
        return _Curve(f"M{pair(begin)} L{pair(tip)}", tip, line, extent([begin, tip]))

    # The direction in which an arc bows

    def _bows(self, wires: Sequence[Wire]) -> dict[str, float]:
        """The distance that each edge bows off the straight line; negative is above."""
        pairs = {(w.source, w.target) for w in wires}
        lanes = _Lanes()
        bows: dict[str, float] = {}
        for wire in wires:
            if wire.source == wire.target:
                node = self.nodes[wire.source]
                lanes.take(node.y, -1, 1, node.x - 1, node.x + 1)
                bows[wire.id] = 0.0
        rest = [w for w in wires if w.source != w.target]
        blocked = dict(zip((w.id for w in rest), self._blocked(rest), strict=True))
        spans = {w.id: abs(self.nodes[w.source].x - self.nodes[w.target].x) for w in rest}
        for wire in sorted(rest, key=lambda w: spans[w.id]):
            source, target = self.nodes[wire.source], self.nodes[wire.target]
            crossed, both = blocked[wire.id], (wire.target, wire.source) in pairs
            if not crossed and not both:
                bows[wire.id] = 0.0
            elif source.y != target.y:
                bows[wire.id] = self._between_rows(wire, source, target, both)
            else:
                bows[wire.id] = self._in_lane(wire, source, target, 1 if crossed else 0, lanes)
        return _lowered(bows)

    def _blocked(self, wires: Sequence[Wire]) -> list[bool]:
        """Whether the straight line of each edge touches a state that is not its own."""
        if not wires or not len(self._centres):
            return [False] * len(wires)
        a = np.array([(self.nodes[w.source].x, self.nodes[w.source].y) for w in wires], float)
        b = np.array([(self.nodes[w.target].x, self.nodes[w.target].y) for w in wires], float)
        along = b - a
        length = np.maximum((along**2).sum(axis=1), 1e-9)
        x, y, r = self._centres.T
        from_x, from_y = x[None, :] - a[:, :1], y[None, :] - a[:, 1:]
        t = np.clip((from_x * along[:, :1] + from_y * along[:, 1:]) / length[:, None], 0.0, 1.0)
        away = (from_x - t * along[:, :1]) ** 2 + (from_y - t * along[:, 1:]) ** 2
        near = away < (r[None, :] + 5.0) ** 2
        for k, wire in enumerate(wires):
            for name in (wire.source, wire.target):
                if name in self._row:
                    near[k, self._row[name]] = False
        return cast("list[bool]", near.any(axis=1).tolist())

    def _between_rows(self, wire: Wire, source: Placed, target: Placed, both: bool) -> float:
        """The smallest bow at which an arc between two rows crosses no state."""
        if self.fast:
            return 14.0 if both else 0.0
        tries = np.array([14.0, -14.0, *_BOWS[3:]] if both else _BOWS)
        free = np.flatnonzero(~self._crossed(wire, source, target, tries))
        return float(tries[free[0] if len(free) else 0])

    def _in_lane(
        self, wire: Wire, source: Placed, target: Placed, least: int, lanes: _Lanes
    ) -> float:
        """The first free lane above or below, and the bow of its arcs."""
        left, right = sorted((source.x, target.x))
        forward = source.x < target.x
        sides = (-1, 1) if forward or not self.back_below else (1, -1)
        free = [
            (level, preference, side)
            for preference, side in enumerate(sides)
            for level in lanes.free(source.y, side, least, left, right, 1 if self.fast else _LEVELS)
        ]
        free.sort()
        best = free[0]
        if not self.fast:
            tries = np.array([side * lane(level) for level, _, side in free])
            clear = np.flatnonzero(~self._crossed(wire, source, target, tries))
            best = free[int(clear[0])] if len(clear) else best
        level, _, side = best
        lanes.take(source.y, side, level, left, right)
        return side * lane(level)

    def _crossed(
        self, wire: Wire, source: Placed, target: Placed, bows: Floats
    ) -> NDArray[np.bool_]:
        """Whether the curve with each bow would touch a state that is not its own."""
        own = [self._row[name] for name in (wire.source, wire.target) if name in self._row]
        controls = np.array([_control(source, target, bow) for bow in bows.tolist()])
        t = np.linspace(0.08, 0.92, 15)[None, :, None]
        curve = (
            (1 - t) ** 2 * np.array([source.x, source.y])
            + 2 * (1 - t) * t * controls[:, None, :]
            + t**2 * np.array([target.x, target.y])
        )
        x, y, r = self._centres.T
        away = (curve[..., :1] - x) ** 2 + (curve[..., 1:] - y) ** 2
        near = (away < (r + 5.0) ** 2).any(axis=1)
        near[:, own] = False
        return near.any(axis=1)

    # The curves

    def _curves(self, wires: Sequence[Wire], bows: Mapping[str, float]) -> dict[str, _Curve]:
        arcs = [w for w in wires if w.source != w.target]
        curves = {w.id: self._loop(w) for w in wires if w.source == w.target}
        if arcs:
            ends = [(self.nodes[w.source], self.nodes[w.target]) for w in arcs]
            controls = [
                _control(source, target, bows[w.id])
                for w, (source, target) in zip(arcs, ends, strict=True)
            ]
            begins = [_towards(one, c, 0.0) for (one, _), c in zip(ends, controls, strict=True)]
            tips = [_towards(two, c, 4.5) for (_, two), c in zip(ends, controls, strict=True)]
            t = (np.arange(SAMPLES + 1) / SAMPLES)[None, :, None]
            a, b, c = (np.array(points, float)[:, None, :] for points in (begins, controls, tips))
            samples = (1 - t) ** 2 * a + 2 * (1 - t) * t * b + t**2 * c
            low, high = samples.min(axis=1).tolist(), samples.max(axis=1).tolist()
            for k, wire in enumerate(arcs):
                path = f"M{pair(begins[k])} Q{pair(controls[k])} {pair(tips[k])}"
                reach = (low[k][0], low[k][1], high[k][0], high[k][1])
                curves[wire.id] = _Curve(path, tips[k], samples[k], reach)
        return curves

    def _loop(self, wire: Wire) -> _Curve:
        node = self.nodes[wire.source]
        x, y = node.x, node.y
        small = node.r < RADIUS / 2
        wide, high, foot = (18.0, 30.0, 3.0) if small else (34.0, 37.0 + node.r, node.r - 2.0)
        begin, tip = (x - node.r / 2, y - foot), (x + node.r * 0.66, y - foot - 3.5)
        path = (
            f"M{pair(begin)} C{pair((x - wide, y - high))} {pair((x + wide, y - high))} {pair(tip)}"
        )
        corners = np.array([begin, (x - wide, y - high), (x + wide, y - high), tip])
        t = (np.arange(SAMPLES + 1) / SAMPLES)[:, None]
        weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
        samples = sum((w * c for w, c in zip(weights, corners, strict=True)), np.zeros((1, 2)))
        (left, top), (right, bottom) = samples.min(axis=0).tolist(), samples.max(axis=0).tolist()
        return _Curve(path, tip, samples, (left, top, right, bottom))


class _Lanes:
    """The stretches of lanes that are taken; stretches of one lane never overlap."""

    def __init__(self) -> None:
        self._taken: dict[tuple[float, int, int], list[tuple[float, float]]] = {}

    def free(
        self, y: float, side: int, least: int, left: float, right: float, most: int
    ) -> list[int]:
        """The first lanes of a row that have this stretch free."""
        lanes: list[int] = []
        level = least
        while len(lanes) < most:
            stretches = self._taken.get((y, side, level), [])
            k = bisect_left(stretches, (right - 1, -math.inf))
            if k == 0 or stretches[k - 1][1] - 1 <= left:
                lanes.append(level)
            level += 1
        return lanes

    def take(self, y: float, side: int, level: int, left: float, right: float) -> None:
        """Mark a stretch as taken."""
        stretches = self._taken.setdefault((y, side, level), [])
        stretches.insert(bisect_left(stretches, (left, right)), (left, right))


def _above_loop(curve: _Curve, text: str) -> Floats:
    """Places for the label of a loop: above it, then beside it."""
    left, top, right, _ = curve.reach
    middle, half = (left + right) / 2, label_width(text) / 2
    above = [(middle + dx, top - 5.5 - dy, 0.03 * abs(dx) + 0.1 * dy)
             for dy in (0.0, 4.0, 9.0, 15.0) for dx in (0.0, 12.0, -12.0, 24.0, -24.0)]  # fmt: skip
    ends = (right + half + 4, left - half - 4)
    beside = [(x, top + dy, 1.5) for dy in (12.0, 8.0, 16.0, 4.0) for x in ends]
    return np.array([*above, *beside])


def _beyond(line: Floats, text: str) -> Floats:
    """Further places for the label of an arc into the open: after its tip, and below it."""
    x, y = line[-1].tolist()
    return np.array([(x + label_width(text) / 2 + 6, y + 4, 1.0), (x + 4, y + 15, 1.5)])


def _unclear(stands: Mapping[str, Stand]) -> int:
    return sum(stand.tucked or not stand.clear for stand in stands.values())


def _lowered(bows: dict[str, float]) -> dict[str, float]:
    """Move the outer lanes closer to each other where there are very many."""
    near, deepest = lane(_WIDE_LANES), max(map(abs, bows.values()), default=0.0)
    if deepest <= TALLEST:
        return bows
    share = (TALLEST - near) / (deepest - near)
    return {
        name: math.copysign(near + (abs(bow) - near) * share, bow) if abs(bow) > near else bow
        for name, bow in bows.items()
    }


def _control(source: Placed, target: Placed, bow: float) -> Point:
    """The control point of a quadratic curve whose middle is ``bow`` off the straight line."""
    mx, my = (source.x + target.x) / 2, (source.y + target.y) / 2
    if source.y == target.y:
        return mx, my + 2 * bow
    dx, dy = target.x - source.x, target.y - source.y
    length = math.hypot(dx, dy) or 1.0
    return mx - dy / length * 2 * bow, my + dx / length * 2 * bow


def _towards(node: Placed, point: Point, gap: float) -> Point:
    """The point where a curve meets a node's circle, seen from its control point."""
    dx, dy = point[0] - node.x, point[1] - node.y
    length = math.hypot(dx, dy) or 1.0
    return node.x + dx / length * (node.r + gap), node.y + dy / length * (node.r + gap)
