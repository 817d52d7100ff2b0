"""A drawing in its frame: places for nodes and edges, so that all of it is visible without empty
margins.

Units are pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from widgets.figures.drawing.columns import START_ARROW
from widgets.figures.drawing.dot import Engine
from widgets.figures.drawing.geometry import Box, Placed, Point, Routed

MARGIN: Final = 8.0


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
