"""The shapes of a drawing: nodes with places, edges with curves, labels with boxes; and its frame.

Everything is an immutable value in pixels of the page at its usual size, y downwards. The places
are chosen in `widgets.figures.drawing.layout`, the curves are drawn in
`widgets.figures.drawing.routing`. The frame is as small as it can be while everything is visible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

RADIUS: Final = 15.0
SMALL_RADIUS: Final = 12.0
"""The radius of the states of a machine with many columns."""

DOT_RADIUS: Final = 4.0

CHARACTER_WIDTH: Final = 7.3
"""The width of a character of the labels, in a monospaced face of 12 px."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

START_ARROW: Final = 42.0
"""The room for the arrow before the start state."""

Engine = Literal["dot", "pygraphviz", "own"]


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
    """An edge's curve, the middle of its label's base line, and the tip of its arrow."""

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

        def shift(number: re.Match[str]) -> str:
            return pair((float(number[1]) + dx, float(number[2]) + dy))

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
        packet: dict[str, object] = {
            "path": self.path,
            "x": round(self.x, 1),
            "y": round(self.y, 1),
            "tip": [round(self.tip[0], 1), round(self.tip[1], 1)],
        }
        if self.tucked:
            packet["tucked"] = True
        return packet


@dataclass(frozen=True, slots=True)
class Wire:
    """An edge to be routed: its ends and its label."""

    id: str
    source: str
    target: str
    label: str


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


def extent(points: Sequence[Point]) -> Box:
    """The smallest box around some points."""
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return min(xs), min(ys), max(xs), max(ys)


def pair(point: Point) -> str:
    """A point as SVG path data."""
    return f"{point[0]:.1f},{point[1]:.1f}"


def _shifted(box: Box, dx: float, dy: float) -> Box:
    return box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy


MARGIN: Final = 8.0

LARGE: Final = 320
"""The number of arcs beyond which a drawing is not spread to make room for labels."""

SPREADS: Final = ((1.25, 1.0), (1.0, 1.3), (1.25, 1.25), (1.6, 1.3))
"""The factors by which rows and columns are spread if labels have no room."""

TALL: Final = 400.0
"""The greatest height to which a drawing is spread; a higher one would have to be scrolled."""


@dataclass(frozen=True)
class Layout:
    """Places for one figure.

    Args:
        nodes, edges: By id. An edge to ``done`` is a short arrow into the open.
        returns: Small roots of the detokenizing FST that last arcs end in: edge id and place.
    """

    width: float
    height: float
    nodes: Mapping[str, Placed]
    edges: Mapping[str, Routed]
    returns: tuple[tuple[str, Point], ...] = ()
    engine: Engine = "own"

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON, as the page reads them."""
        return {
            "width": round(self.width, 1),
            "height": round(self.height, 1),
            "nodes": {name: node.to_dict() for name, node in self.nodes.items()},
            "edges": {name: edge.to_dict() for name, edge in self.edges.items()},
            "returns": [
                {"edge": name, "x": round(x, 1), "y": round(y, 1)} for name, (x, y) in self.returns
            ],
            "engine": self.engine,
        }


def moved(layout: Layout, dx: float) -> Layout:
    """The same drawing further to the right."""
    return Layout(
        layout.width + dx,
        layout.height,
        {name: Placed(n.x + dx, n.y, n.r) for name, n in layout.nodes.items()},
        {name: edge.moved(dx, 0.0) for name, edge in layout.edges.items()},
        tuple((name, (x + dx, y)) for name, (x, y) in layout.returns),
        layout.engine,
    )


def framed(
    nodes: Mapping[str, Placed],
    edges: Mapping[str, Routed],
    returns: Sequence[tuple[str, Point]],
    start: str | None,
    engine: Engine,
) -> Layout:
    """Move everything into the frame, so that nothing is cut off and no margin is empty."""
    boxes: list[Box] = [
        (n.x - n.r - 2, n.y - n.r - 2, n.x + n.r + 2, n.y + n.r + 2) for n in nodes.values()
    ]
    for edge in edges.values():
        boxes += [edge.reach] if edge.tucked else [edge.reach, edge.box]
    boxes += [(x - 10, y - 8, x + 10, y + 8) for _, (x, y) in returns]
    if start is not None and start in nodes:
        node = nodes[start]
        boxes.append((node.x - node.r - START_ARROW + 18, node.y, node.x, node.y))
    if not boxes:
        return Layout(2 * MARGIN, 2 * MARGIN, {}, {}, (), engine)
    left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
    right, bottom = max(b[2] for b in boxes), max(b[3] for b in boxes)
    dx, dy = MARGIN - left, MARGIN - top
    return Layout(
        right - left + 2 * MARGIN,
        bottom - top + 2 * MARGIN,
        {name: Placed(n.x + dx, n.y + dy, n.r) for name, n in nodes.items()},
        {name: edge.moved(dx, dy) for name, edge in edges.items()},
        tuple((name, (x + dx, y + dy)) for name, (x, y) in returns),
        engine,
    )


def roomy(draw: Callable[[float, float], dict[str, Layout]]) -> dict[str, Layout]:
    """Drawings whose labels lie clear of curves, spread if that makes room for them.

    Returns:
        The first drawing without labels on curves; if there is none, the smallest one that a
        greater spread would not improve much.
    """
    best = draw(1.0, 1.0)
    labels = sum(len(layout.edges) for layout in best.values())
    highest = max(layout.height for layout in best.values())
    least = 0 if labels > LARGE else _unclear(best)
    for rows, gaps in SPREADS:
        if least == 0:
            break
        if rows > 1.0 and highest * rows > TALL * 1.1:
            continue
        layouts = draw(rows, gaps)
        if max(layout.height for layout in layouts.values()) > max(TALL, highest):
            continue
        count = _unclear(layouts)
        if count == 0 or count < least - 0.03 * labels:
            best, least = layouts, count
    return best


def _unclear(layouts: Mapping[str, Layout]) -> int:
    """The number of labels that are hidden, or not clear of all curves."""
    places = [edge for layout in layouts.values() for edge in layout.edges.values()]
    return sum(edge.tucked or not edge.clear for edge in places)
