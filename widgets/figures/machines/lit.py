"""What is lit at a position: the path so far, where we are, and what the next token would take.

A step only changes these names; places stay. The path is blue and now is amber, in all three
machines at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

from explorer.automata.machine import NO_ARC
from explorer.decoding.trace.trace import Trace
from explorer.tokens.failing import run
from explorer.tokens.states import DONE
from explorer.tokens.token_dfa import TokenDFA
from widgets.figures.machines.character_fsa import Form, character_view
from widgets.figures.machines.walk import character_edges, walk_packet

Mark = Literal["past", "now", "go"]


@dataclass(frozen=True, slots=True)
class Lit:
    """Names of nodes and edges, and how they are lit.

    Args:
        nodes, edges: By id, over all three figures.
    """

    nodes: Mapping[str, Mark]
    edges: Mapping[str, Mark]


def lit(
    trace: Trace,
    k: int,
    dfa: TokenDFA,
    *,
    token: int | None = None,
    written: int | None = None,
    form: Form = "characters",
) -> Lit:
    """What is lit at a position.

    Args:
        trace: The record.
        k: A position.
        dfa: The token DFA.
        token: A token that is taken next, hovered or asked about; it need not be allowed.
        written: How many of its bytes are written (slow motion); default all.
        form: How the character FSA is drawn.
    """
    view = character_view(dfa)
    machine = dfa.constraint.dfa
    nodes: dict[str, Mark] = {}
    edges: dict[str, Mark] = {}
    position = trace.positions[k]
    states = run(machine, machine.start, position.data).tolist()
    for state in states:
        nodes[f"c{_drawn(dfa, state, form)}"] = "past"
    for edge in character_edges(dfa, states, form):
        if edge is not None:
            edges[edge] = "past"
    line = [p.char_state for p in trace.positions[: k + 1]]
    named = [f"q{view.node(s)}" if s != NO_ARC else "done" for s in line]
    for name in named:
        nodes[name] = "past"
    for one, two in pairwise(named):
        edges[f"{one}-{two}"] = "past"
    nodes["t"] = "past"
    here = states[-1]
    if position.state != DONE:
        nodes[named[-1]] = "now"
    if token is None or position.state < 0:
        nodes[f"c{_drawn(dfa, here, form)}"] = "now" if position.state != DONE else "past"
        nodes["t"] = "now"
        return Lit(nodes, edges)
    walk = walk_packet(dfa, position.state, token, form=form, explanation=False)
    path = cast("list[dict[str, object]]", walk["path"])
    shown = path if written is None else path[:written]
    for step in shown:
        if step["to"] == NO_ARC:
            break
        here = cast(int, step["to"])
        nodes[f"c{_drawn(dfa, here, form)}"] = "past"
        if step["edge_c"] is not None:
            edges[str(step["edge_c"])] = "go"
    inside = "t"
    for step in shown:
        edges[str(step["edge_t"])] = "go"
        inside = str(step["edge_t"]).split("-")[1]
        nodes.setdefault(inside, "past")
    if written is not None:
        nodes[f"c{_drawn(dfa, here, form)}"] = "now"
        nodes[inside] = "now"
    else:
        nodes[f"c{_drawn(dfa, states[-1], form)}"] = "now"
        nodes["t"] = "now"
    if walk["edge_q"] is not None:
        edges[str(walk["edge_q"])] = "go"
    return Lit(nodes, edges)


def _drawn(dfa: TokenDFA, state: int, form: Form) -> str:
    return str(state) if form == "bytes" else character_view(dfa).node(state)
