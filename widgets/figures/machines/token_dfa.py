"""The token DFA as a figure: the character FSA as a language model meets it.

A token state carries the name of the character state that it is; a character state that no token
ends in keeps its place as a ghost. The contents of the edges come from
`widgets.figures.machines.arcs`. Where one dot stands for many states, an edge holds each class
once, whichever of them it leaves from.

Past `EDGES_SHOWN` edges a drawing is cut to the largest of each state and says so in its caption;
`widgets.figures.machines.present` adds the arcs of the present state. Of a machine whose states are
not all known, the states that were met are drawn with their arcs, and their neighbours without.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from explorer.tokens.machine import TokenMachine, table_of
from widgets.figures.machines.arcs import arcs_of, state_names, states_of_bytes
from widgets.figures.machines.character_fsa import expects
from widgets.figures.machines.character_view import CharacterView, Form, character_view
from widgets.figures.machines.machine_figure import Edge, FigureNode, MachineFigure, NodeKind

EDGES_SHOWN: Final = 400
"""How many edges are drawn at once; of more, the largest of each state."""


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
        only: Draw these character states alone, for machines too large to be drawn whole.
        sources: Token states whose edges are drawn first, where there are more than ``most``.
        most: How many edges are drawn, and all of ``sources`` in any case; default
            `EDGES_SHOWN`, or one for each node where there are more.
        form: In the byte form every state in the middle of a character is a dot of its own.
        met: Token states whose edges are drawn at all, where the machine is not a table; default
            all that are known.

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
    # Following an arc may meet states of a machine that is not a table: so first the arcs.
    members = {
        name: [state for state in states if followed is None or state in followed]
        for name, states in arcs.members.items()
    }
    leads = {name: arcs.sizes(name) for name, states in members.items() if states}
    view = character_view(machine, wanted or ())
    nodes, alias = _nodes(machine, view, wanted, form)
    names = {node.id for node in nodes}
    first = dict.fromkeys(arcs.name(state) for state in sources or ())
    # The largest edge of each node, then the next: so that a cut drawing still holds together.
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
        number = len(followed or ())
        caption = f"arcs of {number:,} states"
        about = f"worked out as it is used: the arcs of {number:,} states met so far"
    elif wanted is not None:
        caption = f"{len(edges):,} arcs, not all"
        about = f"{len(edges):,} arcs near where we are, not all"
    elif len(edges) < len(listed):
        caption = f"{len(edges):,} of {len(listed):,} arcs"
        about = f"{caption}, all from here"
    complete = table is not None and wanted is None and len(edges) == len(listed)
    return MachineFigure("token_dfa", caption, complete, tuple(nodes), tuple(edges), alias, about)


def _nodes(
    machine: TokenMachine, view: CharacterView, wanted: set[int] | None, form: Form
) -> tuple[list[FigureNode], dict[str, str]]:
    """The nodes in the order of the character states, and which of them stand for others."""
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
