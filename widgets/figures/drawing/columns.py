"""The places of a machine's states: in columns, by their distance from the start.

Positions come from Graphviz; if there is none, or the machine is a single line, they come from our
own layered layout. The gaps between the columns have just enough room for the words on the arcs.
The character FSA and the token DFA share their places, because they have the same states; a node
that only the token DFA has is placed with them.

DOT is written with the `graphviz` package. Layout runs in a subprocess with a timeout: `dot` if it
is installed, else the pygraphviz wheel, which contains Graphviz (in this process it would hold the
interpreter's lock). Graphviz only places nodes named ``n0``, ``n1``, …: no token text reaches it.

Beyond `FAST` nodes the search for few crossings is cut short: 300 nodes take a fifth of the time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import graphviz  # pyright: ignore[reportMissingTypeStubs] - It has no stubs.

from widgets.figures.drawing.geometry import (
    DOT_RADIUS,
    RADIUS,
    SMALL_RADIUS,
    START_ARROW,
    Engine,
    Placed,
    label_width,
)
from widgets.figures.machines.machine_figure import MachineFigure

FAST: Final = 150
"""The number of nodes beyond which the faster settings are used."""

TIMEOUT: Final = 5.0
"""The seconds after which Graphviz is stopped."""


def _digraph(**options: object) -> Any:
    """A `graphviz.Digraph`, as ``Any`` because its methods are only partly typed."""
    return cast(Any, graphviz.Digraph)(**options)


_PYGRAPHVIZ = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.read())
sys.stdout.buffer.write(graph.draw(format="json0", prog="dot"))
"""


def engines() -> tuple[Engine, ...]:
    """The layout engines that work here, the preferred one first; ``"own"`` always works."""
    from importlib.util import find_spec

    installed: list[Engine] = []
    if shutil.which("dot"):
        installed.append("dot")
    if find_spec("pygraphviz"):
        installed.append("pygraphviz")
    return (*installed, "own")


def positions(
    sizes: Mapping[str, float],
    edges: Sequence[tuple[str, str, int]],
    spacing: float,
    engine: Engine,
    timeout: float = TIMEOUT,
) -> dict[str, tuple[float, float]] | None:
    """The places of nodes by Graphviz, from left to right.

    Args:
        sizes: The radius of each node, in pixels.
        engine: ``"dot"`` or ``"pygraphviz"``.

    Returns:
        Centres in pixels, y downwards; ``None`` if Graphviz failed or took too long.
    """
    place = {name: f"n{k}" for k, name in enumerate(sizes)}
    largest = 2 * max(sizes.values(), default=1.0)
    graph = _digraph(
        graph_attr={
            "rankdir": "LR",
            "nodesep": "0.5" if len(sizes) <= 20 else "0.42",
            "ranksep": f"{max(spacing - largest, 10.0) / 72:.3f}",
        },
        node_attr={"shape": "circle", "label": "", "fixedsize": "true"},
        edge_attr={"arrowhead": "none"},
    )
    if len(sizes) > FAST:
        graph.attr(nslimit="1", nslimit1="1", mclimit="0.3", splines="line")
    else:
        graph.attr(splines="line")
    for name, radius in sizes.items():
        graph.node(place[name], width=f"{2 * radius / 72:.3f}")
    for source, target, weight in edges:
        if source != target:
            graph.edge(place[source], place[target], weight=str(weight))
    command = [shutil.which("dot") or "dot", "-Tjson0"]
    if engine == "pygraphviz":
        command = [sys.executable, "-c", _PYGRAPHVIZ]
    try:
        done = subprocess.run(
            command,
            input=str(graph.source).encode(),
            capture_output=True,
            timeout=timeout,
            check=True,
        )
        answer = cast("dict[str, list[dict[str, str]]]", json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    named = {short: name for name, short in place.items()}
    places: dict[str, tuple[float, float]] = {}
    for item in answer.get("objects", []):
        name = named.get(item.get("name", ""))
        if name is not None and "pos" in item:
            x, y = item["pos"].split(",")
            places[name] = (float(x), -float(y))
    return places if len(places) == len(sizes) else None


Places = tuple[Mapping[str, Placed], Engine]
"""The places of nodes by name, and the engine that found them."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """The columns of states, before `spread` sets their distances."""

    placed: Mapping[str, Placed]
    ends: Sequence[tuple[str, str, str]]
    deepest: int
    engine: Engine

    def spread(self, rows: float = 1.0, gaps: float = 1.0) -> Places:
        """The places.

        Args:
            rows, gaps: Factors on the usual distances of rows and columns, for larger labels.
        """
        return _columns(self.placed, self.ends, self.deepest, rows, gaps), self.engine


EOS_ARROW: Final = 60.0
ROW: Final = 66.0
PANEL: Final = 352.0
"""The width of a narrow panel, in pixels, which a machine of few columns fills; a page with more
room shows it larger."""

LONG: Final = 8
"""The number of columns beyond which a machine has small states."""

SHORT: Final = 2
"""The number of columns beyond which an arc is not given to Graphviz."""

_GAP_LEAST: Final = 34.0
_GAP_MOST: Final = 150.0
"""The distance between the rims of states in neighbouring columns, at least and at most."""


def place(
    figure: MachineFigure,
    also: MachineFigure | None = None,
    engine: Engine | None = None,
    timeout: float = TIMEOUT,
) -> Arranged:
    """The nodes of a figure in columns and rows, before their distances are set.

    Args:
        also: Another figure that will use the same places, by the names of the first: its labels
            need room too, and so do the nodes that only it has.
        engine: The layout engine; default the first of `engines`.

    Returns:
        The nodes in columns and rows.
    """
    names = [node.id for node in figure.nodes if node.kind != "done"]
    dots = {node.id for node in figure.nodes if node.kind == "dot"}
    known = set(names)
    edges = [(e.source, e.target, e.label) for e in figure.edges if {e.source, e.target} <= known]
    start = next((n.id for n in figure.nodes if n.start), next(iter(names), ""))
    words = list(edges)
    if also is not None:
        own = [n for n in also.nodes if n.kind != "done" and _twin(n.id) not in known]
        names += [_twin(node.id) for node in own]
        dots |= {_twin(node.id) for node in own if node.kind == "dot"}
        shared = [(_twin(e.source), _twin(e.target), e.label) for e in also.edges]
        words += shared
        alone = {_twin(node.id) for node in own}
        # Nodes that only the other machine has are placed by the other's arcs.
        edges += [e for e in shared if {e[0], e[1]} & alone and {e[0], e[1]} <= known | alone]
    ranks, turned = _forwards(names, [(source, target) for source, target, _ in edges], start)
    deepest = max(ranks.values(), default=0)
    usual = RADIUS if deepest <= LONG else SMALL_RADIUS
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
        centres = positions(radius, _weighted(turned, ranks), 100.0, who, timeout)
        if centres is not None:
            placed = {name: Placed(x, y, radius[name]) for name, (x, y) in centres.items()}
    if placed is None:
        who, placed = "own", _layers(radius, edges, ranks)
    return Arranged(placed, words, deepest, who)


def _twin(name: str) -> str:
    """The name of a token state's place: that of its character state."""
    return f"c{name[1:]}"


def _columns(
    placed: Mapping[str, Placed],
    ends: Sequence[tuple[str, str, str]],
    deepest: int,
    spread: float,
    wider: float,
) -> dict[str, Placed]:
    """The same columns and rows, with just enough distance for the words between them.

    Args:
        deepest: The number of the last column; a machine of few columns fills the panel.
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
        # Graphviz leaves room for long arcs, which have lanes here.
        rows[y] = 0.0 if last is None else rows[last] + spread * min(y - last, ROW)
        last = y
    for source, target, label in ends:
        if source in column and target in column:
            one, two = sorted((number[column[source]], number[column[target]]))
            if two - one == 1:
                gaps[one] = max(gaps[one], min(label_width(label) + 18.0, _GAP_MOST))
    places = [0.0]
    for k, gap in enumerate(gaps):
        places.append(places[-1] + rims[k] + wider * gap + rims[k + 1])
    return {
        name: Placed(places[number[column[name]]], rows[node.y], node.r)
        for name, node in placed.items()
    }


def _forwards(
    names: Sequence[str], edges: Sequence[tuple[str, str]], start: str
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Ranks in reading order: every edge leads to a later rank, except those that close a circle.

    A state's rank is its longest distance from the start. If a machine can be left early, as
    ``[a-z]{1,20}``, the states that follow it are placed after all of it, as in the text.

    Args:
        start: The first state; states that it does not reach begin anew at the first rank.

    Returns:
        The ranks, and the edges, with those that close a circle reversed.
    """
    following: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        if source != target:
            following[source].append(target)
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
    """Edges for Graphviz: the heaviest one into each state, from the rank before, becomes straight.

    Long edges are left out: every state has an edge from the rank before, so the columns stay the
    same, and Graphviz keeps no rows free for arcs that have lanes here.
    """
    reached: set[str] = set()
    weighted: list[tuple[str, str, int]] = []
    for source, target in turned:
        main = ranks[target] == ranks[source] + 1 and target not in reached
        if main:
            reached.add(target)
        if ranks[target] - ranks[source] <= SHORT:
            weighted.append((source, target, 6 if main else 1))
    return weighted


def _layers(
    radius: Mapping[str, float],
    edges: Sequence[tuple[str, str, str]],
    ranks: Mapping[str, int],
) -> dict[str, Placed]:
    """Our own layout: a column per rank, each ordered by the places of its neighbours."""
    columns: dict[int, list[str]] = {}
    for name, rank in ranks.items():
        columns.setdefault(rank, []).append(name)
    near: dict[str, list[str]] = {name: [] for name in radius}
    for source, target, _ in edges:
        near[source].append(target)
        near[target].append(source)
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
