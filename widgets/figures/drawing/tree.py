"""Where the detokenizing FST stands: a tree of prefixes.

With few tokens its last arcs go back to the root; with many each ends in a small root of its own,
because ten arcs across the whole drawing cannot be read.
"""

from __future__ import annotations

from typing import Final

from widgets.figures.drawing.columns import ROW
from widgets.figures.drawing.frame import Layout, framed, roomy
from widgets.figures.drawing.geometry import RADIUS, Placed, Point, Routed, Wire, label_width
from widgets.figures.drawing.routing import Router
from widgets.figures.machines.detokenizing_figure import END
from widgets.figures.machines.machine_figure import Edge, MachineFigure

LEAF_ROW: Final = 32.0

WIDEST: Final = 190.0
"""Between the columns of a tree whose last arcs go back to the root, at most."""

FEW_RETURNS: Final = 5
"""Up to so many prefixes with a last arc, those arcs are drawn back to the root."""


def tree(figure: MachineFigure) -> Layout:
    """The layout of a detokenizing FST.

    Args:
        figure: From `detokenizing_figure`.
    """
    return roomy(lambda rows, gaps: {"": _grown(figure, rows, gaps)})[""]


def _grown(figure: MachineFigure, rows_apart: float, gaps_apart: float) -> Layout:
    """The layout for some distances between rows and columns, given as factors of the usual."""
    below: dict[str, list[str]] = {node.id: [] for node in figure.nodes}
    last: dict[str, Edge] = {}
    for edge in figure.edges:
        if edge.target == "t":
            last[edge.source] = edge
        else:
            below[edge.source].append(edge.target)
    deep = {"t": 0}
    for node in figure.nodes:
        deep |= dict.fromkeys(below[node.id], deep[node.id] + 1)
    height: dict[str, int] = {}
    for node in reversed(figure.nodes):  # Prefixes are in order, so what is below comes later.
        height[node.id] = 1 + max((height[child] for child in below[node.id]), default=-1)
    # What may come next stands first.
    able = {edge.source for edge in figure.edges if set(edge.tokens or ()) - set(edge.masked)}
    for node in reversed(figure.nodes):
        if able & set(below[node.id]):
            able.add(node.id)
    masked = any(edge.masked for edge in figure.edges)
    for children in below.values():
        children.sort(key=lambda name: (masked and name not in able, -height[name], name))
    back = [name for name in last if name != "t"]
    loops = len(back) <= FEW_RETURNS and len(below["t"]) <= 3
    deepest = height.get("t", 0)
    step = 150.0 if deepest <= 3 else 104.0 if deepest <= 6 else 84.0
    if loops:
        # Between the columns stand a letter or two, and above them the words of what goes back.
        words = [(label_width(last[name].label) + 24.0) / deep[name] for name in back]
        step = min(max([99.0, *words]), WIDEST)
    step *= gaps_apart
    row = ROW * rows_apart if loops else LEAF_ROW
    places: dict[str, Placed] = {}
    ends: list[tuple[str, Point]] = []
    rows = 0

    def walk(name: str, depth: int, y: int) -> int:
        """Place a subtree whose first row is ``y``; how many rows it takes."""
        places[name] = Placed(depth * step, y * row, RADIUS if loops or depth == 0 else 12.0)
        used = 0
        for child in below[name]:
            used += walk(child, depth + 1, y + used)
        if name in last and not loops:
            text = label_width(last[name].label)
            x = depth * step + max(step, text + 52.0)
            ends.append((last[name].id, (x, (y + used) * row)))
            used += 1
        return max(used, 1)

    if loops and END in below["t"]:
        # Straight below the root, where no prefix stands: beside them it would cost a row.
        below["t"].remove(END)
        places[END] = Placed(0.0, row, RADIUS)
    rows = walk("t", 0, rows)
    if loops:
        router = Router(places, back_below=False, start="t")
        edges = router.route(Wire(e.id, e.source, e.target, e.label) for e in figure.edges)
        return framed(places, edges, (), "t", "own")
    goal = dict(ends)
    edges = {
        edge.id: _branch(places[edge.source], goal.get(edge.id), places.get(edge.target), edge)
        for edge in figure.edges
    }
    return framed(places, edges, ends, "t", "own")


def _branch(source: Placed, end: Point | None, target: Placed | None, edge: Edge) -> Routed:
    """A branch of the tree: down from its parent, then along its own row."""
    aim = Placed(*end, 6.0) if end is not None else target
    if aim is None or edge.source == edge.target:
        aim = aim or source
    tip = (aim.x - aim.r - 4.5, aim.y)
    if aim.y == source.y:
        begin = (source.x + source.r, source.y)
        path = f"M{begin[0]:.1f},{begin[1]:.1f} L{tip[0]:.1f},{tip[1]:.1f}"
    else:
        begin = (source.x, source.y + source.r)
        path = (
            f"M{begin[0]:.1f},{begin[1]:.1f} L{source.x:.1f},{tip[1] - 12:.1f} "
            f"Q{source.x:.1f},{tip[1]:.1f} {source.x + 12:.1f},{tip[1]:.1f} "
            f"L{tip[0]:.1f},{tip[1]:.1f}"
        )
    x = (source.x + max(source.r, 12.0) + tip[0]) / 2
    y = tip[1] - 6.0
    half = label_width(edge.label) / 2
    reach = (source.x, source.y, tip[0], tip[1])
    return Routed(path, x, y, tip, (x - half, y - 10, x + half, y + 3), reach)
