"""Layout by Graphviz: the DOT text, and the program that places the nodes.

DOT is written with the `graphviz` package. Layout runs in a subprocess with a timeout: `dot`
where it is installed, else the pygraphviz wheel, which has Graphviz inside (in this process it
would hold the interpreter's lock). Only positions are asked for, of nodes named ``n0``, ``n1``,
…: no token text ever reaches Graphviz.

Past `FAST` nodes the search for few crossings is cut short: 300 nodes take a fifth of the time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

import graphviz  # pyright: ignore[reportMissingTypeStubs] - It has none.

Engine = Literal["dot", "pygraphviz", "own"]

FAST: Final = 150
"""Past so many nodes the faster settings are used."""

TIMEOUT: Final = 5.0
"""Seconds after which Graphviz is stopped."""


def _digraph(**options: object) -> Any:
    """A `graphviz.Digraph`; its methods are typed in part only, so they are called through Any."""
    return cast(Any, graphviz.Digraph)(**options)


_PYGRAPHVIZ = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.read())
sys.stdout.buffer.write(graph.draw(format="json0", prog="dot"))
"""


def engines() -> tuple[Engine, ...]:
    """The layout engines that work here, the preferred one first; ``"own"`` always works."""
    from importlib.util import find_spec

    found: list[Engine] = []
    if shutil.which("dot"):
        found.append("dot")
    if find_spec("pygraphviz"):
        found.append("pygraphviz")
    return (*found, "own")


def positions(
    sizes: Mapping[str, float],
    edges: Sequence[tuple[str, str, int]],
    spacing: float,
    engine: Engine,
    timeout: float = TIMEOUT,
) -> dict[str, tuple[float, float]] | None:
    """Where Graphviz puts nodes, from left to right.

    Args:
        sizes: The radius of each node, in pixels.
        edges: Source, target, weight.
        spacing: Pixels between the centres of neighbouring ranks.
        engine: ``"dot"`` or ``"pygraphviz"``.
        timeout: Seconds.

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
    found: dict[str, tuple[float, float]] = {}
    for item in answer.get("objects", []):
        name = named.get(item.get("name", ""))
        if name is not None and "pos" in item:
            x, y = item["pos"].split(",")
            found[name] = (float(x), -float(y))
    return found if len(found) == len(sizes) else None
