"""The labels of a drawing that overlap its arcs, states or other labels: plain geometry.

It reads what the page reads, the path data and the places of the words, and shares nothing with the
code that chose them: curves are followed in small steps, words are boxes of ink.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import Literal

from widgets.figures.drawing.geometry import Layout, label_width
from widgets.figures.machines.machine_figure import MachineFigure

ASCENT, DESCENT = 9.0, 2.5
"""The ink of a line of 12 px letters, above and below its base line."""

STEP = 1.0
"""Curves are followed in steps no longer than this, in pixels."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
Kind = Literal["arc", "own arc", "start", "state", "label", "frame"]


@dataclass(frozen=True)
class Collision:
    """A label and what it lies on: another arc, its own, the start arrow, a state, a label."""

    label: str
    kind: Kind
    other: str


def curve(path: str) -> list[Point]:
    """Points along path data of M, L, Q and C with absolute coordinates, close to each other."""
    points: list[Point] = []
    for command, numbers in re.findall(r"([MLQC])([^MLQC]*)", path):
        given = [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+)[ ,]+(-?[\d.]+)", numbers)]
        if command == "M":
            points.append(given[-1])
            continue
        corners = [points[-1], *given]
        length = sum(math.dist(a, b) for a, b in itertools.pairwise(corners))
        steps = max(int(length / STEP) + 1, 2)
        points += [_bezier(corners, k / steps) for k in range(1, steps + 1)]
    return points


def _bezier(corners: list[Point], t: float) -> Point:
    """De Casteljau: the point of a curve of any order."""
    while len(corners) > 1:
        corners = [
            ((1 - t) * ax + t * bx, (1 - t) * ay + t * by)
            for (ax, ay), (bx, by) in itertools.pairwise(corners)
        ]
    return corners[0]


def ink(text: str, x: float, y: float) -> Box:
    """The box of a word's ink: left, top, right, bottom."""
    half = label_width(text) / 2
    return x - half, y - ASCENT, x + half, y + DESCENT


def collisions(figure: MachineFigure, layout: Layout) -> list[Collision]:
    """The curves, states and labels under the labels that are shown."""
    words = {
        edge.id: ink(edge.label, layout.edges[edge.id].x, layout.edges[edge.id].y)
        for edge in figure.edges
        if edge.label and edge.id in layout.edges and not layout.edges[edge.id].tucked
    }
    curves = {name: curve(edge.path) for name, edge in layout.edges.items()}
    for node in figure.nodes:
        if node.start and node.id in layout.nodes:
            at = layout.nodes[node.id]
            curves["start"] = curve(f"M{at.x - at.r - 24},{at.y} L{at.x - at.r},{at.y}")
    found: list[Collision] = []
    for name, box in words.items():
        left, top, right, bottom = box
        for other, points in curves.items():
            if any(left < x < right and top < y < bottom for x, y in points):
                kind: Kind = "own arc" if other == name else "start" if other == "start" else "arc"
                found.append(Collision(name, kind, other))
        for state, at in layout.nodes.items():
            dx, dy = max(left - at.x, at.x - right, 0), max(top - at.y, at.y - bottom, 0)
            if at.r and math.hypot(dx, dy) < at.r:
                found.append(Collision(name, "state", state))
        if left < 0 or top < 0 or right > layout.width or bottom > layout.height:
            found.append(Collision(name, "frame", ""))
    for (one, a), (two, b) in itertools.combinations(words.items(), 2):
        wide = min(a[2], b[2]) > max(a[0], b[0])
        if wide and min(a[3], b[3]) > max(a[1], b[1]):
            found.append(Collision(one, "label", two))
    return found
