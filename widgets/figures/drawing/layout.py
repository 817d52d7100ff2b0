"""Where nodes and edges go: laid out once, so that a step only changes classes.

The character FSA and the token DFA share their places: they are the same states. Where states stand
is `widgets.figures.drawing.columns`; the curves are `widgets.figures.drawing.routing`; the
detokenizing FST is a tree of prefixes and is placed as one (`widgets.figures.drawing.tree`).

The same figures give the same layout. Time: 1 ms for the toy; with 300 states most of it is
Graphviz and the places of some hundred labels.
"""

from __future__ import annotations

from collections.abc import Mapping

from widgets.figures.drawing.columns import ROW, Arranged, Places, place
from widgets.figures.drawing.dot import TIMEOUT, Engine
from widgets.figures.drawing.frame import Layout, framed, moved, roomy
from widgets.figures.drawing.geometry import Placed, Wire
from widgets.figures.drawing.routing import Router
from widgets.figures.drawing.tree import tree
from widgets.figures.machines.machine_figure import MachineFigure, check_size


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
        timeout: Seconds that Graphviz may take; then our own layout steps in.
        whole: Also machines of more than 300 nodes, because the user asked.
        places: Where the two machines with the same states stand, where that is known.

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
    """Any other machine."""
    return roomy(lambda rows, gaps: {name: finish(figure, *arranged.spread(rows, gaps))})


def _same_places(token: MachineFigure, places: Mapping[str, Placed]) -> dict[str, Placed]:
    """The token states at the places of their character states.

    A further state of one character state that has no place of its own stands below the first.
    """
    found: dict[str, Placed] = {}
    for node in token.nodes:
        if node.kind == "done":
            continue
        stem, _, number = node.id[1:].partition("~")
        twin = places.get(f"c{node.id[1:]}") or places.get(f"c{stem}")
        if twin is not None:
            lower = 0.0 if f"c{node.id[1:]}" in places else ROW * int(number)
            found[node.id] = Placed(twin.x, twin.y + lower, twin.r)
    return found


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
    """Route the edges of a placed figure and set everything into a frame.

    Args:
        figure: The machine.
        places: Where its nodes are; ``done`` needs none.
        engine: The engine that placed them.
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
