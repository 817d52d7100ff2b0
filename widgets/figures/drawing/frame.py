"""A drawing in its frame: places for nodes and edges, so that all of it is visible without empty
margins.

Units are pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from widgets.figures.drawing.columns import START_ARROW
from widgets.figures.drawing.dot import Engine
from widgets.figures.drawing.geometry import Box, Placed, Point, Routed

MARGIN: Final = 8.0

LARGE: Final = 320
"""Drawings of more arcs are laid out once, not farther apart where labels have no room."""

SPREADS: Final = ((1.25, 1.0), (1.0, 1.3), (1.25, 1.25), (1.6, 1.3))
"""How much farther apart rows and columns are tried, where labels have no room."""

TALL: Final = 400.0
"""A drawing is not made higher than this for the sake of its labels: one would have to scroll."""


@dataclass(frozen=True)
class Layout:
    """Places for one figure.

    Args:
        width, height: Of the drawing.
        nodes, edges: By id. An edge to ``done`` is a short arrow into the open.
        returns: Small roots of the detokenizing FST that last arcs end in: edge id and place.
        engine: The engine that placed the nodes.
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
    """Drawings in which labels stand clear: farther apart where that gives them room.

    Args:
        draw: The drawings, with rows and columns so much farther apart.

    Returns:
        The first without labels on curves, or where there is none, the smallest that greater
        distances would not improve much.
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
        found = draw(rows, gaps)
        if max(layout.height for layout in found.values()) > max(TALL, highest):
            continue
        count = _unclear(found)
        if count == 0 or count < least - 0.03 * labels:
            best, least = found, count
    return best


def _unclear(layouts: Mapping[str, Layout]) -> int:
    """How many labels are hidden, or not clear of all curves."""
    places = [edge for layout in layouts.values() for edge in layout.edges.values()]
    return sum(edge.tucked or not edge.clear for edge in places)
