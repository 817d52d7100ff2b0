"""The layout of nodes and edges: made once, so that a step only changes classes.

The character FSA and the token DFA share their places, because they have the same states. The
places of states are found in `widgets.figures.drawing.columns`, the curves in
`widgets.figures.drawing.routing`. The same figures give the same layout.

The detokenizing FST is laid out here, as a tree of prefixes. With few tokens its last arcs go back
to the root; with many, each ends in a small root of its own, because ten arcs across the whole
drawing cannot be read.

Cost: 1 ms for the toy; with 300 states most of the time goes to Graphviz and to the places of some
hundred labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from widgets.figures.drawing.columns import ROW, TIMEOUT, Arranged, Places, place
from widgets.figures.drawing.geometry import (
    RADIUS,
    Engine,
    Layout,
    Placed,
    Point,
    Routed,
    Wire,
    framed,
    label_width,
    moved,
    roomy,
)
from widgets.figures.drawing.routing import Router
from widgets.figures.machines.detokenizing_figure import END
from widgets.figures.machines.machine_figure import Edge, MachineFigure, check_size

LEAF_ROW: Final = 32.0

WIDEST: Final = 190.0
"""The greatest distance between the columns of a tree whose last arcs go back to the root."""

FEW_RETURNS: Final = 5
"""The most prefixes with a last arc for which those arcs are drawn back to the root."""


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
    for node in reversed(figure.nodes):  # Prefixes are in order, so children come after parents.
        height[node.id] = 1 + max((height[child] for child in below[node.id]), default=-1)
    # The continuations that may come next are placed first.
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
        # Between the columns are a letter or two, and above them the labels of arcs to the root.
        words = [(label_width(last[name].label) + 24.0) / deep[name] for name in back]
        step = min(max([99.0, *words]), WIDEST)
    step *= gaps_apart
    row = ROW * rows_apart if loops else LEAF_ROW
    places: dict[str, Placed] = {}
    ends: list[tuple[str, Point]] = []
    rows = 0

    def walk(name: str, depth: int, y: int) -> int:
        """Place a subtree whose first row is ``y``; return the number of its rows."""
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
        # Straight below the root, where no prefix is: beside them it would cost a row.
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


def lay_out_figures(
    figures: Mapping[str, MachineFigure],
    *,
    engine: Engine | None = None,
    timeout: float = TIMEOUT,
    whole: bool = False,
    places: Places | None = None,
) -> dict[str, Layout]:
    """Layouts of the machines of one explorer.

    Args:
        figures: By name: ``character_fsa`` and ``token_dfa`` share their places; a
            ``detokenizing_fst`` is a tree; any other is laid out by itself.
        engine: The layout engine; default the first of `engines`.
        timeout: The seconds that Graphviz may take; after that our own layout is used.
        whole: Also machines of more than 300 nodes, because the user asked.
        places: The places of the two machines with the same states, if they are known.

    Returns:
        A layout per figure.

    Raises:
        ExplorerError: A figure is too large to be drawn whole.
    """
    for figure in figures.values():
        check_size(len(figure.nodes), whole=whole or len(figure.nodes) > 300)
    result: dict[str, Layout] = {}
    pair = {name: figures[name] for name in ("character_fsa", "token_dfa") if name in figures}
    if pair and places is not None:
        result |= _pair(pair, places)
    elif pair:
        first, *others = pair.values()
        arranged = place(first, *others, engine=engine, timeout=timeout)
        result |= roomy(lambda rows, gaps: _pair(pair, arranged.spread(rows, gaps)))
    for name, figure in figures.items():
        if figure.name == "detokenizing_fst":
            result[name] = tree(figure)
        elif name not in result:
            result |= _alone(name, figure, place(figure, None, engine, timeout))
    _share_axis(result)
    return {name: result[name] for name in figures}


def _pair(figures: Mapping[str, MachineFigure], places: Places) -> dict[str, Layout]:
    """The two machines with the same states, on the same places."""
    own = {"character_fsa": _own, "token_dfa": _same_places}
    return {
        name: finish(figure, own[name](figure, places[0]), places[1])
        for name, figure in figures.items()
    }


def _alone(name: str, figure: MachineFigure, arranged: Arranged) -> dict[str, Layout]:
    """The layout of any other machine."""
    return roomy(lambda rows, gaps: {name: finish(figure, *arranged.spread(rows, gaps))})


def _same_places(token: MachineFigure, places: Mapping[str, Placed]) -> dict[str, Placed]:
    """The token states at the places of their character states.

    A further token state of the same character state without a place of its own is placed below
    the first.
    """
    placed: dict[str, Placed] = {}
    for node in token.nodes:
        if node.kind == "done":
            continue
        stem, _, number = node.id[1:].partition("~")
        twin = places.get(f"c{node.id[1:]}") or places.get(f"c{stem}")
        if twin is not None:
            lower = 0.0 if f"c{node.id[1:]}" in places else ROW * int(number)
            placed[node.id] = Placed(twin.x, twin.y + lower, twin.r)
    return placed


def _own(figure: MachineFigure, places: Mapping[str, Placed]) -> dict[str, Placed]:
    return {node.id: places[node.id] for node in figure.nodes if node.id in places}


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
        layouts[pair[1]] = other = moved(other, shift)
    elif shift < 0:
        layouts[pair[0]] = one = moved(one, -shift)
    width = max(one.width, other.width)
    for name in pair:
        now = layouts[name]
        layouts[name] = Layout(width, now.height, now.nodes, now.edges, now.returns, now.engine)


def finish(figure: MachineFigure, places: Mapping[str, Placed], engine: Engine) -> Layout:
    """Route the edges of a placed figure and fit everything into a frame.

    Args:
        places: The places of its nodes; ``done`` needs none.
    """
    nodes = dict(places)
    ghosts = frozenset(node.id for node in figure.nodes if node.kind == "ghost")
    start = next((node.id for node in figure.nodes if node.start), None)
    router = Router(nodes, ghosts, start=start)
    ends = {edge.id for edge in figure.edges if edge.target == "done"}
    wires = [Wire(e.id, e.source, e.target, e.label) for e in figure.edges]
    edges = router.route((w for w in wires if w.id not in ends), (w for w in wires if w.id in ends))
    if any(node.kind == "done" for node in figure.nodes):
        tip = max((edges[name].tip for name in ends & set(edges)), default=None)
        if tip is not None:
            nodes["done"] = Placed(tip[0], tip[1], 0.0)
    return framed(nodes, edges, (), start, engine)
