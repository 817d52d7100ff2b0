"""The token DFA as a figure: the states of the character FSA, with tokens on the arcs.

A token state has the name of its character state; a character state at which no token ends keeps
its place as a ghost. The contents of the edges come from `widgets.figures.machines.arcs`. If one
dot stands for many states, an edge holds each class once, from any of them.

Beyond `EDGES_SHOWN` edges a drawing is cut to the largest edges of each state and says so in its
caption; `widgets.figures.machines.drawn` adds the arcs of the present state. If not all states of a
machine are known, the states that were met are drawn with their arcs, and their neighbours without.

`ahead` draws a piece of a large machine: the path so far as a strip, and the arcs ahead. Above 300
states a drawing of the whole machine cannot be read. It is replaced by the last states of the path
on a line, and beside its end a column of the targets of the arcs ahead. A state keeps the place at
which the path first reached it, and the strip only grows to the right, so a step moves nothing that
was drawn before; no layout program runs. Of the token DFA's arcs the strip has those of the path
and all that are ahead: between the states of a long text there may be hundreds more, which do not
concern this run.

Cost: the arcs of one state, and one for each token on the strip, whatever the size of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from explorer.arguments import counted
from explorer.tokens.machine import TokenMachine, table_of
from widgets.figures.drawing.geometry import DOT_RADIUS, RADIUS, Layout, Placed
from widgets.figures.drawing.layout import finish
from widgets.figures.machines.arcs import Arcs, arcs_of, state_names, states_of_bytes
from widgets.figures.machines.character_fsa import (
    CharacterView,
    Form,
    character_figure,
    character_view,
    expects,
)
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure, NodeKind, base

EDGES_SHOWN: Final = 400
"""The most edges that are drawn at once; if there are more, the largest of each state."""


def token_figure(
    machine: TokenMachine,
    only: Iterable[int] | None = None,
    sources: Iterable[int] | None = None,
    *,
    most: int | None = None,
    form: Form = "characters",
    met: Iterable[int] | None = None,
) -> MachineFigure:
    """The token DFA.

    Args:
        machine: The token machine.
        only: Draw only these character states, for machines too large to be drawn whole.
        sources: Token states whose edges are drawn first, if there are more than ``most``.
        most: The most edges that are drawn, besides all edges of ``sources``; default
            `EDGES_SHOWN`, or one for each node if there are more nodes.
        form: In the byte form every state in the middle of a character is a dot of its own.
        met: Token states whose edges are drawn, if the machine is not a table; default all that
            are known.

    Returns:
        Nodes ``q<character state>`` and ``done``.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> figure = token_figure(explorer.compile(explorer.regex("(foo)+d"), vocab))
        >>> [node.id for node in figure.nodes if node.kind == "ghost"]
        ['q2']
        >>> [edge.label for edge in figure.edges if edge.source == "q3"]
        ['f', 'foo', 'food']
    """
    wanted = None if only is None else set(only)
    table = table_of(machine)
    arcs = arcs_of(machine, form)
    followed = None if table is not None else set(range(machine.num_states) if met is None else met)
    # The arcs come first, because following one may meet states of a machine that is not a table.
    members = {
        name: [state for state in states if followed is None or state in followed]
        for name, states in arcs.members.items()
    }
    leads = {name: arcs.sizes(name) for name, states in members.items() if states}
    view = character_view(machine, wanted or ())
    nodes, alias = _nodes(machine, view, wanted, form)
    names = {node.id for node in nodes}
    first = dict.fromkeys(arcs.name(state) for state in sources or ())
    # The largest edge of each node, then the next, so that a cut drawing stays connected.
    listed: list[tuple[int, int, str, str]] = []
    for number, source in enumerate(dict.fromkeys([*first, *leads])):
        if source in names:
            sizes = leads.get(source, {})
            order = sorted((n for n in sizes if n in names), key=lambda n: (-sizes[n], n))
            for rank, target in enumerate(order):
                listed.append((-1 if source in first else rank, number, source, target))
    listed.sort()
    always = sum(entry[0] < 0 for entry in listed)
    most = max(EDGES_SHOWN, len(nodes)) if most is None else most
    chosen: dict[str, list[str]] = {}
    for _, _, source, target in sorted(listed[: max(most, always)], key=lambda e: e[1]):
        chosen.setdefault(source, []).append(target)
    edges: list[Edge] = []
    for source, targets in chosen.items():
        edges += arcs.edges(members[source], targets)
    caption = "tokens on the arcs"
    about = "the states of the character FSA, with tokens on the arcs"
    if table is None:
        states = counted(len(followed or ()), "state")
        caption = f"arcs of {states}"
        about = f"computed as it is used: the arcs of {states} met so far"
    elif wanted is not None:
        caption = f"{counted(len(edges), 'arc')}, not all"
        about = f"{counted(len(edges), 'arc')} near where we are, not all"
    elif len(edges) < len(listed):
        caption = f"{len(edges):,} of {len(listed):,} arcs"
        about = f"{caption}, all from here"
    complete = table is not None and wanted is None and len(edges) == len(listed)
    return MachineFigure("token_dfa", caption, complete, tuple(nodes), tuple(edges), alias, about)


def _nodes(
    machine: TokenMachine, view: CharacterView, wanted: set[int] | None, form: Form
) -> tuple[list[FigureNode], dict[str, str]]:
    """The nodes in the order of the character states, and those that stand for others."""
    known = states_of_bytes(machine)
    names = state_names(machine, form)
    collapsed = view.collapsed and form == "characters"
    # By byte every state in the middle of a character; by character those where tokens end.
    middle = sorted(view.dots if form == "characters" else set(view.steps) - set(view.arcs))
    nodes: list[FigureNode] = []
    for state in [*sorted(view.arcs), *(() if collapsed else middle)]:
        if wanted is not None and state not in wanted:
            continue
        nodes.append(_node(machine, view, state, f"q{state}", state in known))
        for name in dict.fromkeys(names[other] for other in known.get(state, ())[1:]):
            nodes.append(_node(machine, view, state, name, True))
    alias: dict[str, str] = {}
    if collapsed and wanted is None and view.dots:
        title = f"{len(view.dots):,} states in the middle of a character, as one"
        nodes.append(FigureNode("qmid", "…", "dot", title=title))
        alias = {f"q{state}": "qmid" for state in sorted(view.dots)}
    nodes.append(FigureNode("done", "", "done", title="the text has ended"))
    return nodes, alias


def _node(
    machine: TokenMachine, view: CharacterView, state: int, name: str, known: bool
) -> FigureNode:
    byte_machine = machine.byte_machine
    middle = not view.between(state)
    kind: NodeKind = "ghost" if not known else "dot" if middle else "state"
    title = f"character state {state}: no token ends here"
    if not known and table_of(machine) is None:
        title = f"character state {state}: not met so far"
    if known:
        title = f"state {state}: expects {expects(machine, state)}"
    return FigureNode(
        name,
        "" if middle else str(state),
        kind,
        known and byte_machine is not None and byte_machine.is_accepting(state),
        byte_machine is not None and state == byte_machine.start and "~" not in name,
        title,
    )


PATH_STATES: Final = 12
"""The most states of the path that are on the strip."""

AHEAD: Final = 12
"""The most states ahead that are drawn for each machine."""

STEP: Final = 120.0
ROW: Final = 60.0


def ahead(
    machine: TokenMachine,
    path: Sequence[int],
    stops: Sequence[int] = (),
    shown: int = PATH_STATES,
) -> tuple[dict[str, MachineFigure], dict[str, Layout]]:
    """The character FSA and the token DFA near the present state.

    Args:
        path: The character states byte by byte, the present one last; at least one.
        stops: The token states along it, the start and the present one included, in order.

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
    if not view.whole:  # Following the arcs may have met states.
        view = character_view(machine, [*path, *next_tokens])
    named = [state for state in path if view.between(state) or state in view.dots]
    # In the order in which the path first reached them; a loop returns to an existing place.
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
        begin += STEP / 2  # Arcs that fan out need room for their labels.
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
    """States ahead by their distance in characters; those that only bytes lead to come first.

    A chain of them is then in a row, where the path will have it.
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
    """The arcs of the token DFA on the path between nodes of a figure, except the figure's own."""
    known = {edge.id for edge in figure.edges}
    drawn = {node.id for node in figure.nodes}
    taken: list[Edge] = []
    for before, after in pairwise(stops):
        source, target = arcs.name(before), arcs.name(after)
        if before >= 0 and {source, target} <= drawn and f"{source}-{target}" not in known:
            known.add(f"{source}-{target}")
            taken += arcs.edges([before], [target])
    return taken
