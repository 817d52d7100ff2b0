"""Large machines, a piece at a time: the path so far as a strip, and the arcs ahead.

Above 300 states a drawing of the whole machine cannot be read. It is replaced by where one came
from and where one can go: the last states of the path on a line, and beside its end a column of
what the arcs ahead lead to. A state keeps the place where the path first came to it, and the strip
only grows to the right, so a step moves nothing that was there; no layout program runs. Of the
token DFA's arcs the strip has those that were taken and all that are ahead: between the states of a
long text there may be hundreds more, which do not concern this run.

Cost: the arcs of one state, and one for each token on the strip, whatever the size of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.frame import Layout
from widgets.figures.drawing.geometry import DOT_RADIUS, RADIUS, Placed
from widgets.figures.drawing.layout import finish
from widgets.figures.machines.arcs import Arcs, arcs_of
from widgets.figures.machines.character_fsa import character_figure
from widgets.figures.machines.character_view import CharacterView, character_view
from widgets.figures.machines.machine_figure import Edge, MachineFigure, base
from widgets.figures.machines.token_dfa import token_figure

PATH_STATES: Final = 12
"""How many different states of the path are on the strip."""

AHEAD: Final = 12
"""How many states ahead are drawn of each machine."""

STEP: Final = 120.0
ROW: Final = 60.0


def ahead(
    machine: TokenMachine,
    path: Sequence[int],
    stops: Sequence[int] = (),
    shown: int = PATH_STATES,
) -> tuple[dict[str, MachineFigure], dict[str, Layout]]:
    """The two machines with the same states, near where we are.

    Args:
        machine: The token machine.
        path: The character states byte by byte, the present one last; at least one.
        stops: The token states along it, the start and the present one included, in order.
        shown: How many different states of the path to show.

    Returns:
        Figures and layouts, both by the names ``character_fsa`` and ``token_dfa``.
    """
    view = character_view(machine, path)
    arcs = arcs_of(machine)
    present = [state for state in stops[-1:] if state >= 0]
    counted: dict[int, int] = {}
    for name, count in arcs.sizes(arcs.name(present[0])).items() if present else ():
        if name not in ("done", "qmid"):
            char = int(base(name)[1:])
            counted[char] = counted.get(char, 0) + count
    next_tokens = sorted(counted, key=lambda char: (-counted[char], char))[:AHEAD]
    if not view.whole:  # To follow the arcs may have met states.
        view = character_view(machine, [*path, *next_tokens])
    named = [state for state in path if view.between(state) or state in view.dots]
    # In the order in which the path first came to them; a loop comes back to a place it has.
    order = list(dict.fromkeys(named))
    recent = set(list(dict.fromkeys(reversed(named)))[:shown])
    kept = [state for state in order if state in recent]
    here = named[-1] if named else path[-1]
    if not kept:
        kept = [here]
    next_characters = dict.fromkeys(
        [target for _, _, target in view.arcs.get(here, ())]
        + ([t for _, _, t in view.steps.get(here, ())] if not view.between(here) else [])
    )
    column = [
        target
        for target in dict.fromkeys([*list(next_characters)[:AHEAD], *next_tokens])
        if target not in recent and (view.between(target) or target in view.dots)
    ]
    states = [*kept, *column]
    tokens = token_figure(machine, only=states, sources=present, most=0, met=stops_met(stops))
    figures = {
        "character_fsa": character_figure(machine, only=states),
        "token_dfa": replace(tokens, edges=(*tokens.edges, *_taken(arcs, tokens, stops))),
    }
    first = order.index(kept[0]) if kept[0] in order else 0
    places: dict[str, Placed] = {}
    for k, state in enumerate(kept):
        radius = RADIUS if view.between(state) else DOT_RADIUS
        places[str(state)] = Placed((first + k) * STEP, 0.0, radius)
    levels = _levels(view, here, column)
    begin = (first + len(kept)) * STEP
    if any(len(level) > 1 for level in levels):
        begin += STEP / 2  # Arcs that fan out need room for their words.
    for depth, level in enumerate(levels):
        for k, state in enumerate(level):
            radius = RADIUS if view.between(state) else DOT_RADIUS
            y = (k - (len(level) - 1) / 2) * ROW
            places[str(state)] = Placed(begin + depth * STEP, y, radius)
    layouts: dict[str, Layout] = {}
    for name, figure in figures.items():
        drawn = {node.id: beside(node.id, places) for node in figure.nodes if node.kind != "done"}
        layouts[name] = finish(figure, drawn, "own")
    return figures, layouts


def stops_met(stops: Sequence[int]) -> list[int]:
    """The token states of a path that have arcs."""
    return [state for state in stops if state >= 0]


def beside(name: str, places: Mapping[str, Placed]) -> Placed:
    """The place of a node: that of its character state, or a little below for a further one."""
    stem, _, number = name.partition("~")
    place = places[stem[1:]]
    return place if not number else Placed(place.x, place.y + ROW * int(number), place.r)


def _levels(view: CharacterView, here: int, column: Sequence[int]) -> list[list[int]]:
    """States ahead by how many characters away they are; those that only bytes lead to come first.

    A chain of them then stands in a row, where the path will have it.
    """
    left = set(column)
    levels: list[list[int]] = []
    reached = [here]
    while reached:
        targets = dict.fromkeys(t for state in reached for _, _, t in view.arcs.get(state, ()))
        reached = [state for state in column if state in targets and state in left]
        left -= set(reached)
        levels.append(reached)
    rest = [state for state in column if state in left]
    levels[0] += rest
    return [level for level in levels if level]


def _taken(arcs: Arcs, figure: MachineFigure, stops: Sequence[int]) -> list[Edge]:
    """The arcs of the token DFA that the path took between nodes of a figure, without its own."""
    known = {edge.id for edge in figure.edges}
    drawn = {node.id for node in figure.nodes}
    found: list[Edge] = []
    for before, after in pairwise(stops):
        source, target = arcs.name(before), arcs.name(after)
        if before >= 0 and {source, target} <= drawn and f"{source}-{target}" not in known:
            known.add(f"{source}-{target}")
            found += arcs.edges([before], [target])
    return found
