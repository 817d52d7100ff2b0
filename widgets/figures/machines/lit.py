"""The names that are lit at a position: the path so far, the present place, and the arcs of a
token.

A step only changes these names; places stay. The path is blue and now is amber, in all three
machines at once. This is the one place where it is worked out: the page lights the names that it
is sent (``static/lit.js``), and a picture without a page uses them itself.

Cost: the bytes of the text and the last `ARCS_OF` tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.token_marks import marks_from
from explorer.automata.tree.build import is_over_tokens
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.failing import run
from widgets.figures.drawing.labels import token_text
from widgets.figures.machines.arcs import node_of
from widgets.figures.machines.character_view import (
    Form,
    character_edges,
    character_view,
)
from widgets.figures.machines.walk import walk_token

Mark = Literal["past", "now", "go"]

ARCS_OF: Final = 256
"""Of so many tokens the arcs are lit, the last ones; and of as many bytes."""


@dataclass(frozen=True, slots=True)
class LitPath:
    """The names that the path so far lights, in one of the two forms of the character FSA.

    Args:
        nodes: The names of the nodes that were passed.
        edges: The names of the edges that were taken.
        now: The present place: one node of each machine.
        tokens: For each arc of the token DFA that was taken, the tokens that took it, in words.
    """

    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    now: tuple[str, ...]
    tokens: Mapping[str, tuple[str, ...]]

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "nodes": list(self.nodes),
            "edges": list(self.edges),
            "now": list(self.now),
            "tokens": {arc: list(words) for arc, words in self.tokens.items()},
        }


def lit_path(trace: Trace, k: int, machine: TokenMachine, form: Form = "characters") -> LitPath:
    """Find the names that the path to a position lights.

    Args:
        trace: The record.
        k: A position.
        machine: The token machine.
        form: How the character FSA is drawn.
    """
    position = trace.positions[k]
    byte_machine = machine.byte_machine
    if byte_machine is None:
        return LitPath((), (), ("t",), {})
    if is_over_tokens(byte_machine):
        return _lit_by_tokens(trace, k, machine, byte_machine, form)
    states = run(byte_machine, byte_machine.start, position.data).tolist()
    first = max(0, len(states) - ARCS_OF - 1)
    states, data = states[first:], position.data[first:]
    view = character_view(machine, states)
    shown = [s for s in states if s != NO_ARC and (form == "bytes" or view.between(s))]
    nodes = dict.fromkeys(f"c{state}" for state in shown)
    edges = dict.fromkeys(
        edge for edge in character_edges(view, states, data, form) if edge is not None
    )
    tokens: dict[str, dict[str, None]] = {}
    begin = max(0, k - ARCS_OF)
    line = [node_of(machine, p.state, form) for p in trace.positions[begin : k + 1]]
    nodes.update(dict.fromkeys(line))
    for step, (one, two) in zip(trace.steps[begin:k], pairwise(line), strict=False):
        arc = f"{one}-{two}"
        edges[arc] = None
        tokens.setdefault(arc, {})[token_text(machine.vocabulary, step.token)] = None
    now = [f"c{shown[-1]}"] if shown else []
    return LitPath(
        tuple(nodes),
        tuple(edges),
        (*now, line[-1], "t"),
        {arc: tuple(words) for arc, words in tokens.items()},
    )


def _lit_by_tokens(
    trace: Trace, k: int, machine: TokenMachine, byte_machine: ByteMachine, form: Form
) -> LitPath:
    """The same where the ends of tokens count: each token is followed from its own state."""
    begin = max(0, k - ARCS_OF)
    positions = trace.positions[begin : k + 1]
    line = [node_of(machine, p.state, form) for p in positions]
    ends = [machine.byte_state(p.state) for p in positions]
    view = character_view(machine, ends)
    nodes: dict[str, None] = {}
    edges: dict[str, None] = {}
    tokens: dict[str, dict[str, None]] = {}
    for step, (state, after), (one, two) in zip(
        trace.steps[begin:k], pairwise(ends), pairwise(line), strict=False
    ):
        data = step.data or b""
        states = run(byte_machine, state, data).tolist()
        lit = [s for s in (*states, after) if s != NO_ARC and (form == "bytes" or view.between(s))]
        nodes.update(dict.fromkeys(f"c{s}" for s in lit))
        edges.update(dict.fromkeys(e for e in character_edges(view, states, data, form) if e))
        if after in [target for _, target in marks_from(byte_machine, states[-1])]:
            edges[f"c{states[-1]}-c{after}"] = None
        edges[f"{one}-{two}"] = None
        tokens.setdefault(f"{one}-{two}", {})[token_text(machine.vocabulary, step.token)] = None
    nodes.update(dict.fromkeys(line))
    here = ends[-1]
    now = [f"c{here}"] if here != NO_ARC and (form == "bytes" or view.between(here)) else []
    return LitPath(
        tuple([*now, *nodes] if now and now[0] not in nodes else nodes),
        tuple(edges),
        (*now, line[-1], "t"),
        {arc: tuple(words) for arc, words in tokens.items()},
    )


def path_packet(trace: Trace, k: int, machine: TokenMachine) -> dict[str, object]:
    """The names that the path lights, as the page reads them, in both forms where they differ.

    Args:
        trace: The record.
        k: A position.
        machine: The token machine.

    Returns:
        Plain values for JSON: ``characters`` and perhaps ``bytes``.
    """
    found = lit_path(trace, k, machine)
    by_byte = lit_path(trace, k, machine, "bytes")
    packet: dict[str, object] = {"characters": found.to_dict()}
    if by_byte != found:
        packet["bytes"] = by_byte.to_dict()
    return packet


@dataclass(frozen=True, slots=True)
class Lit:
    """Names of nodes and edges, and how they are lit.

    Args:
        nodes, edges: By id, over all three figures.
    """

    nodes: Mapping[str, Mark]
    edges: Mapping[str, Mark]


def lit(trace: Trace, k: int, machine: TokenMachine, token: int | None = None) -> Lit:
    """The names that are lit at a position, for a picture without a page.

    Args:
        trace: The record.
        k: A position.
        machine: The token machine.
        token: The token that is taken next.

    Example:
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> from explorer.analysis.session import Session
        >>> session = Session(ToyModel(), toy_constraint())
        >>> _ = session.step(2)
        >>> found = lit(session.trace, 1, session.machine, 4)
        >>> found.edges["c2-c3"], found.edges["q3-q4"], found.nodes["q3"]
        ('go', 'go', 'now')
    """
    path = lit_path(trace, k, machine)
    nodes: dict[str, Mark] = dict.fromkeys(path.nodes, "past")
    edges: dict[str, Mark] = dict.fromkeys(path.edges, "past")
    position = trace.positions[k]
    if token is not None and position.state >= 0:
        found = walk_token(machine, position.state, token)
        for step in found.steps:
            nodes.update(dict.fromkeys(step.nodes, "past"))
            edges.update(dict.fromkeys(step.edges, "go"))
        if found.arc is not None:
            edges[found.arc] = "go"
    nodes.update(dict.fromkeys(path.now, "past" if position.finished else "now"))
    return Lit(nodes, edges)
