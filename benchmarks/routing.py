"""Arcs and labels by Graphviz, at the places where our own stand: what each lays on each other.

The machines are those of the presets over the embedded model's vocabulary. Graphviz is given the
states where they stand (``neato -n2``), the arcs, and their words as ``xlabel``; what comes back is
judged by the same geometry as our own (`tests.widgets.figures.clear`). Prints a table: labels,
those that lie on another arc, a state, the start or a label, those set into their own arc, and the
milliseconds of each. Not a test; `docs/decisions/0112-arcs-and-labels-are-placed-here.md` has its
figures.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from typing import Any

import graphviz  # pyright: ignore[reportMissingTypeStubs] - It has none.

from tests.widgets.figures.clear import collisions
from tests.widgets.figures.test_clear import NAMES, offered
from widgets.figures.drawing.geometry import Layout, Routed, label_width
from widgets.figures.drawing.layout import finish
from widgets.figures.machines.machine_figure import MachineFigure

SPLINES = ("true", "curved")
FONT = {"fontname": "DejaVu Sans Mono", "fontsize": "12"}


def by_graphviz(figure: MachineFigure, layout: Layout, splines: str) -> Layout:
    """The same states, with arcs and labels by Graphviz."""
    names = {node: f"n{k}" for k, node in enumerate(layout.nodes)}
    graph: Any = graphviz.Digraph(
        graph_attr={"splines": splines, "forcelabels": "true", "bb": ""}, edge_attr=FONT
    )
    for node, at in layout.nodes.items():
        size = f"{max(2 * at.r, 1.0) / 72:.4f}"
        graph.node(
            names[node], label="", shape="circle", width=size, height=size, fixedsize="true",
            pos=f"{at.x:.2f},{-at.y:.2f}!",
        )  # fmt: skip
    drawn = [edge for edge in figure.edges if edge.id in layout.edges]
    for edge in drawn:
        words = "W" * round(label_width(edge.label) / label_width("W"))  # As wide as the label.
        graph.edge(names[edge.source], names[edge.target], xlabel=words, comment=edge.id)
    command = ["neato", "-n2", "-Tjson"]
    done = subprocess.run(
        command, input=graph.source, capture_output=True, text=True, check=True, timeout=20
    )
    edges: dict[str, Routed] = {}
    for edge in json.loads(done.stdout).get("edges", []):
        numbers = re.findall(r"(-?[\d.e+-]+),(-?[\d.e+-]+)", edge["pos"].partition(" ")[2])
        points = [(float(x), -float(y)) for x, y in numbers]
        if edge["pos"].startswith("e,"):
            x, y = edge["pos"][2:].partition(" ")[0].split(",")
            tip = (float(x), -float(y))
        else:
            tip, points = points[-1], points
        path = f"M{points[0][0]:.1f},{points[0][1]:.1f}" + "".join(
            " C" + " ".join(f"{x:.1f},{y:.1f}" for x, y in points[k : k + 3])
            for k in range(1, len(points) - 2, 3)
        )
        x, y = (float(n) for n in edge.get("xlp", "-9999,9999").split(","))
        edges[edge["comment"]] = Routed(
            path, x, -y + 4.0, tip, (0, 0, 0, 0), (0, 0, 0, 0), tucked="xlp" not in edge
        )
    return Layout(layout.width, layout.height, layout.nodes, edges)


def main() -> None:
    sums: dict[str, Counter[str]] = {name: Counter() for name in ("ours", *SPLINES)}
    for preset in NAMES:
        for name, (figure, layout) in offered(preset).items():
            if figure.name == "detokenizing_fst":
                continue  # A tree: nothing is searched for.
            places = {node: at for node, at in layout.nodes.items() if node != "done"}
            began = time.perf_counter()
            finish(figure, places, layout.engine)
            own = time.perf_counter() - began
            made = {"ours": (layout, own)}
            for splines in SPLINES:
                began = time.perf_counter()
                try:
                    routed = by_graphviz(figure, layout, splines)
                except subprocess.TimeoutExpired:
                    sums[splines]["drawings not done in 20 s"] += 1
                    continue
                made[splines] = routed, time.perf_counter() - began
            for way, (drawn, seconds) in made.items():
                one = Counter(
                    found.kind for found in collisions(figure, drawn) if found.kind != "frame"
                )
                one["labels"] = sum(bool(edge.label) for edge in figure.edges)
                one["left out"] = sum(edge.tucked for edge in drawn.edges.values())
                one["ms"] = round(1000 * seconds)
                sums[way] += one
                print(f"{preset:24} {name:14} {way:7} {dict(one)}", flush=True)
    for way, total in sums.items():
        print(way, dict(total))


if __name__ == "__main__":
    main()
