"""Where nodes and edges go: laid out once, so that a step only changes classes.

The character FSA and the token DFA share their places: they are the same states. Positions come
from Graphviz (`widgets.figures.drawing.dot`), or, where there is none or the machine is one line,
from a layered layout of our own; the curves are ours in both (`widgets.figures.drawing.routing`),
and so are the gaps between the columns: each has room for the words on its arcs and no more. The
detokenizing FST is a tree of prefixes and is placed as one; with few tokens its last arcs go back
to the root, with many each ends in a small root of its own, because ten arcs across the whole
drawing cannot be read.

Units are pixels. The same figures give the same layout. Time: 1 ms for the toy; what 300 states
cost is mostly Graphviz and the places of some hundred labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from widgets.figures.drawing.dot import TIMEOUT, Engine, engines, positions
from widgets.figures.drawing.geometry import (
    DOT_RADIUS,
    RADIUS,
    SMALL_RADIUS,
    Box,
    Placed,
    Point,
    Routed,
    Wire,
    label_width,
)
from widgets.figures.drawing.routing import Router
from widgets.figures.machines.machine_figure import Edge, MachineFigure, check_size

MARGIN: Final = 8.0
START_ARROW: Final = 42.0
"""Room before the start state."""

EOS_ARROW: Final = 60.0
ROW: Final = 66.0
LEAF_ROW: Final = 32.0
PANEL: Final = 352.0
"""The width of a narrow column, which a machine that is few states long fills; a page that has more
room shows it larger."""

LONG: Final = 8
"""A machine that is more states long than this has small states."""

SHORT: Final = 2
"""Arcs over more columns than this do not decide where states stand."""

_GAP_LEAST: Final = 34.0
_GAP_MOST: Final = 150.0
"""Between the rims of the states of neighbouring columns, the words on their arcs included."""

FEW_RETURNS: Final = 5
"""Up to so many prefixes with a last arc, those arcs are drawn back to the root."""


@dataclass(frozen=True)
class Layout:
    """Places for one figure.

    Args:
        width, height: Of the drawing.
        nodes, edges: By id. An edge to ``done`` is a short arrow into the open.
        returns: Small roots of the detokenizing FST that last arcs end in: edge id and place.
        engine: Who placed the nodes.
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


def lay_out(
    figures: Mapping[str, MachineFigure],
    *,
    engine: Engine | None = None,
    timeout: float = TIMEOUT,
    whole: bool = False,
) -> dict[str, Layout]:
    """Layouts of the machines of one explorer.

    Args:
        figures: By name: ``character_fsa`` and ``token_dfa`` share their places; a
            ``detokenizing_fst`` is a tree; any other is laid out by itself.
        engine: Who places the nodes; default the first of `engines`.
        timeout: Seconds that Graphviz may take; then our own layout steps in.
        whole: Also machines of more than 300 nodes, because the user asked.

    Returns:
        A layout per figure.

    Raises:
        ExplorerError: A figure is too large to be drawn whole.
    """
    for figure in figures.values():
        check_size(len(figure.nodes), whole=whole or len(figure.nodes) > 300)
    result: dict[str, Layout] = {}
    places: tuple[dict[str, Placed], Engine] | None = None
    character = figures.get("character_fsa")
    token = figures.get("token_dfa")
    if character is not None:
        places = place(character, None if token is None else token, engine, timeout)
        result["character_fsa"] = finish(character, places[0], places[1])
    if token is not None:
        if places is None:
            places = place(token, None, engine, timeout)
        result["token_dfa"] = finish(token, _same_places(token, places[0]), places[1])
    for name, figure in figures.items():
        if figure.name == "detokenizing_fst":
            result[name] = tree(figure)
        elif name not in result:
            alone = place(figure, None, engine, timeout)
            result[name] = finish(figure, *alone)
    _share_axis(result)
    return {name: result[name] for name in figures}


def _same_places(token: MachineFigure, places: Mapping[str, Placed]) -> dict[str, Placed]:
    """The token states at the places of their character states."""
    found: dict[str, Placed] = {}
    for node in token.nodes:
        twin = places.get(f"c{node.id[1:]}")
        if node.kind != "done" and twin is not None:
            found[node.id] = twin
    return found


def _share_axis(layouts: dict[str, Layout]) -> None:
    """The same width and the same left edge for the two machines with the same states."""
    pair = [name for name in ("character_fsa", "token_dfa") if name in layouts]
    if len(pair) < 2:
        return
    one, other = (layouts[name] for name in pair)
    common = [(n, f"q{n[1:]}") for n in one.nodes if f"q{n[1:]}" in other.nodes]
    if not common:
        return
    shift = one.nodes[common[0][0]].x - other.nodes[common[0][1]].x
    if shift > 0:
        layouts[pair[1]] = other = _moved(other, shift)
    elif shift < 0:
        layouts[pair[0]] = one = _moved(one, -shift)
    width = max(one.width, other.width)
    for name in pair:
        now = layouts[name]
        layouts[name] = Layout(width, now.height, now.nodes, now.edges, now.returns, now.engine)


def _moved(layout: Layout, dx: float) -> Layout:
    return Layout(
        layout.width + dx,
        layout.height,
        {name: Placed(n.x + dx, n.y, n.r) for name, n in layout.nodes.items()},
        {name: edge.moved(dx, 0.0) for name, edge in layout.edges.items()},
        tuple((name, (x + dx, y)) for name, (x, y) in layout.returns),
        layout.engine,
    )


# Positions


def place(
    figure: MachineFigure, also: MachineFigure | None, engine: Engine | None, timeout: float
) -> tuple[dict[str, Placed], Engine]:
    """Places for the nodes of a figure.

    Args:
        figure: The machine.
        also: Another that will use the same places; its labels need room too.
        engine: Who places; default the first of `engines`.
        timeout: Seconds for Graphviz.

    Returns:
        The places, and who found them.
    """
    names = [node.id for node in figure.nodes if node.kind != "done"]
    known = set(names)
    edges = [e for e in figure.edges if e.source in known and e.target in known]
    start = next((n.id for n in figure.nodes if n.start), next(iter(names), ""))
    ranks, turned = _forwards(names, edges, start)
    deepest = max(ranks.values(), default=0)
    usual = RADIUS if deepest <= LONG else SMALL_RADIUS
    dots = {node.id for node in figure.nodes if node.kind == "dot"}
    radius = {name: DOT_RADIUS if name in dots else usual for name in names}
    counts: dict[int, int] = {}
    for rank in ranks.values():
        counts[rank] = counts.get(rank, 0) + 1
    who: Engine = engine if engine is not None else engines()[0]
    placed: dict[str, Placed] | None = None
    if max(counts.values(), default=0) <= 1:
        who = "own"
        placed = {name: Placed(100.0 * rank, 0.0, radius[name]) for name, rank in ranks.items()}
    elif who != "own":
        found = positions(radius, _weighted(turned, ranks), 100.0, who, timeout)
        if found is not None:
            placed = {name: Placed(x, y, radius[name]) for name, (x, y) in found.items()}
    if placed is None:
        who, placed = "own", _layers(radius, edges, ranks)
    shared = also.edges if also is not None else ()
    ends = [(e.source, e.target, e.label) for e in edges]
    ends += [(f"c{e.source[1:]}", f"c{e.target[1:]}", e.label) for e in shared]
    return _columns(placed, ends, deepest), who


def _columns(
    placed: Mapping[str, Placed], ends: Sequence[tuple[str, str, str]], deepest: int
) -> dict[str, Placed]:
    """The same columns, each as far from the next as the words between them need; rows as close.

    Args:
        placed: Nodes in columns.
        ends: Source, target and label of every arc.
        deepest: How many states long the machine is; a short one fills the panel.
    """
    column = {name: round(node.x) for name, node in placed.items()}
    order = sorted(set(column.values()))
    number = {x: k for k, x in enumerate(order)}
    usual = (PANEL - START_ARROW - EOS_ARROW) / max(deepest, 1)
    least = min(max(usual - 2 * RADIUS, _GAP_LEAST), 82.0)
    gaps = [least] * max(len(order) - 1, 0)
    rims = [0.0] * len(order)
    for name, node in placed.items():
        k = number[column[name]]
        rims[k] = max(rims[k], node.r)
    rows = {y: 0.0 for y in sorted({node.y for node in placed.values()})}
    last: float | None = None
    for y in rows:
        # Graphviz leaves room for long arcs, which here have lanes.
        rows[y] = 0.0 if last is None else rows[last] + min(y - last, ROW)
        last = y
    for source, target, label in ends:
        if source in column and target in column:
            one, two = sorted((number[column[source]], number[column[target]]))
            if two - one == 1:
                gaps[one] = max(gaps[one], min(label_width(label) + 18.0, _GAP_MOST))
    places = [0.0]
    for k, gap in enumerate(gaps):
        places.append(places[-1] + rims[k] + gap + rims[k + 1])
    return {
        name: Placed(places[number[column[name]]], rows[node.y], node.r)
        for name, node in placed.items()
    }


def _forwards(
    names: Sequence[str], edges: Sequence[Edge], start: str
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Ranks in reading order: every edge leads to a later one, but those that close a circle.

    A state's rank is its longest way from the start. Where a machine can be left early, as
    ``[a-z]{1,20}``, what follows stands behind all of it, as in the text.

    Args:
        names: All nodes.
        edges: Between them.
        start: Where to begin; what cannot be reached from there begins anew.

    Returns:
        The ranks, and the edges, those that close a circle turned round.
    """
    following: dict[str, list[str]] = {name: [] for name in names}
    for edge in edges:
        if edge.source != edge.target:
            following[edge.source].append(edge.target)
    finished: list[str] = []
    state: dict[str, bool] = {}  # True: its ways are being followed; False: they all were.
    turned: list[tuple[str, str]] = []
    for first in dict.fromkeys([start, *names]):
        if first not in following or first in state:
            continue
        state[first] = True
        ways = [(first, iter(following[first]))]
        while ways:
            name, rest = ways[-1]
            target = next(rest, None)
            if target is None:
                state[name] = False
                finished.append(name)
                ways.pop()
            elif target not in state:
                state[target] = True
                turned.append((name, target))
                ways.append((target, iter(following[target])))
            else:
                turned.append((target, name) if state[target] else (name, target))
    before: dict[str, list[str]] = {name: [] for name in names}
    for source, target in turned:
        before[target].append(source)
    ranks: dict[str, int] = {}
    for name in reversed(finished):
        ranks[name] = max((ranks[other] + 1 for other in before[name] if other in ranks), default=0)
    return ranks, turned


def _weighted(
    turned: Sequence[tuple[str, str]], ranks: Mapping[str, int]
) -> list[tuple[str, str, int]]:
    """Edges for Graphviz: one into each state from the rank before it is to be straight.

    Long ones are left out: every state has one from the rank before, so the columns stay as they
    are, and Graphviz keeps no rows free for arcs that have lanes here.
    """
    reached: set[str] = set()
    found: list[tuple[str, str, int]] = []
    for source, target in turned:
        main = ranks[target] == ranks[source] + 1 and target not in reached
        if main:
            reached.add(target)
        if ranks[target] - ranks[source] <= SHORT:
            found.append((source, target, 6 if main else 1))
    return found


def _layers(
    radius: Mapping[str, float], edges: Sequence[Edge], ranks: Mapping[str, int]
) -> dict[str, Placed]:
    """Our own layout: a column per rank, each ordered by where its neighbours stand."""
    columns: dict[int, list[str]] = {}
    for name, rank in ranks.items():
        columns.setdefault(rank, []).append(name)
    near: dict[str, list[str]] = {name: [] for name in radius}
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    y: dict[str, float] = {}
    for column in columns.values():
        for k, name in enumerate(column):
            y[name] = (k - (len(column) - 1) / 2) * ROW
    for sweep in range(4):
        order = sorted(columns, reverse=sweep % 2 == 1)
        for rank in order:
            column = columns[rank]
            middle = {
                name: sum(y[other] for other in near[name]) / len(near[name])
                if near[name]
                else y[name]
                for name in column
            }
            column.sort(key=lambda name: (middle[name], name))
            for k, name in enumerate(column):
                y[name] = (k - (len(column) - 1) / 2) * ROW
    return {name: Placed(100.0 * ranks[name], y[name], radius[name]) for name in radius}


# Curves


def finish(figure: MachineFigure, places: Mapping[str, Placed], engine: Engine) -> Layout:
    """Route the edges of a placed figure and set everything into a frame.

    Args:
        figure: The machine.
        places: Where its nodes are; ``done`` needs none.
        engine: Who placed them.
    """
    nodes = dict(places)
    ghosts = frozenset(node.id for node in figure.nodes if node.kind == "ghost")
    start = next((node.id for node in figure.nodes if node.start), None)
    router = Router(nodes, ghosts, start=start)
    ends = {e.id: e for e in figure.edges if e.target == "done"}
    wires = [Wire(e.id, e.source, e.target, e.label) for e in figure.edges if e.id not in ends]
    stubs = {
        edge.id: router.stub(Wire(edge.id, edge.source, "", edge.label))
        for edge in ends.values()
        if edge.source in nodes
    }
    edges = {**router.route(wires), **stubs}
    if any(node.kind == "done" for node in figure.nodes):
        tip = max((stub.tip for stub in stubs.values()), default=None)
        if tip is not None:
            nodes["done"] = Placed(tip[0], tip[1], 0.0)
    return _framed(nodes, edges, (), start, engine)


def _framed(
    nodes: Mapping[str, Placed],
    edges: Mapping[str, Routed],
    returns: Sequence[tuple[str, Point]],
    start: str | None,
    engine: Engine,
) -> Layout:
    """Everything moved into the frame: nothing is cut off, nothing is far from the edge."""
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


# The detokenizing FST


def tree(figure: MachineFigure) -> Layout:
    """The layout of a detokenizing FST.

    Args:
        figure: From `detokenizing_figure`.
    """
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
    for children in below.values():
        children.sort(key=lambda name: (-height[name], name))
    back = [name for name in last if name != "t"]
    loops = len(back) <= FEW_RETURNS and len(below["t"]) <= 3
    deepest = height.get("t", 0)
    step = 150.0 if deepest <= 3 else 104.0 if deepest <= 6 else 84.0
    if loops:
        # Between the columns stand a letter or two, and above them the words of what goes back.
        words = [(label_width(last[name].label) + 24.0) / deep[name] for name in back]
        step = min(step, max([99.0, *words]))
    row = ROW if loops else LEAF_ROW
    places: dict[str, Placed] = {}
    ends: list[tuple[str, Point]] = []
    rows = 0

    def walk(name: str, depth: int, y: int) -> int:
        """Place a subtree whose first row is ``y``; how many rows it takes."""
        places[name] = Placed(depth * step, y * row, RADIUS if row == ROW or depth == 0 else 12.0)
        used = 0
        for child in below[name]:
            used += walk(child, depth + 1, y + used)
        if name in last and not loops:
            text = label_width(last[name].label)
            x = depth * step + max(step, text + 52.0)
            ends.append((last[name].id, (x, (y + used) * row)))
            used += 1
        return max(used, 1)

    rows = walk("t", 0, rows)
    if loops:
        router = Router(places, back_below=False, start="t")
        edges = router.route(Wire(e.id, e.source, e.target, e.label) for e in figure.edges)
        return _framed(places, edges, (), "t", "own")
    goal = dict(ends)
    edges = {
        edge.id: _branch(places[edge.source], goal.get(edge.id), places.get(edge.target), edge)
        for edge in figure.edges
    }
    return _framed(places, edges, ends, "t", "own")


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
