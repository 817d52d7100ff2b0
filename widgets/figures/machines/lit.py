"""The names that are lit at a position: the path so far, the present place, and the arcs of a
token.

A step only changes these names; places stay. The path is blue and the present states are amber, in
all three machines at once. The names are computed only here: the page lights the names that it is
sent (``static/lit.js``), and a picture without a page uses them directly.

`walk_token` follows one token through all three machines, byte by byte, for slow motion, hovering
and explanations. T_V reads the id and writes its bytes, the character FSA moves with each, and the
last one completes the arc of the token DFA. Every named node and edge is in the figures; if the
character FSA is drawn by characters, all bytes of a character light that character's arc.

Cost: the bytes of the text and the last `ARCS_OF` tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

from explorer.automata.machine import NO_ARC, ByteMachine, run
from explorer.automata.token_marks import marks_from
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from widgets.figures.drawing.labels import byte_text, token_text
from widgets.figures.machines.arcs import node_of
from widgets.figures.machines.character_fsa import Form, character_edges, character_view
from widgets.figures.machines.detokenizing_figure import END, prefix_node


@dataclass(frozen=True, slots=True)
class ByteStep:
    """The names that one byte of a token lights.

    Args:
        edges: One edge of T_V, and one of the character FSA, unless the byte fails or is in the
            middle of a character that may be several.
        nodes: The nodes that they lead to: in T_V, and in the character FSA unless the byte fails.
    """

    edges: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenWalk:
    """A token through the machines, in one of the two forms of the character FSA.

    Args:
        stopped: The node of the character FSA where it fails; ``None`` if no byte does.
        arc: The arc of the token DFA that the token takes; ``None`` if it is masked.
    """

    steps: tuple[ByteStep, ...]
    failed_at: int | None
    stopped: str | None
    arc: str | None
    target: str | None

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "steps": [[list(step.edges), list(step.nodes)] for step in self.steps],
            "stopped": self.stopped,
            "arc": self.arc,
            "target": self.target,
        }


def walk_token(
    machine: TokenMachine, state: int, token: int, form: Form = "characters"
) -> TokenWalk:
    """The path of a token through all three machines.

    Raises:
        ExplorerError: There is no such state.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> dfa = explorer.compile(explorer.regex("(foo)+d"), vocab)
        >>> found = walk_token(dfa, dfa.walk([2])[-1], 3)
        >>> found.failed_at, found.stopped, [step.edges for step in found.steps]
        (2, 'c2', [('t-t66', 'c3-c1'), ('t66-t666f', 'c1-c2'), ('t666f-t',)])
    """
    vocabulary = machine.vocabulary
    data = (vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None) or b""
    byte_machine = machine.byte_machine
    begin = machine.byte_state(state) if state >= 0 else NO_ARC
    states = [NO_ARC] * (len(data) + 1)
    if byte_machine is not None:
        states = run(byte_machine, begin, data).tolist()
    view = character_view(machine, states)
    failed = next((k for k, after in enumerate(states[1:]) if after == NO_ARC), None)
    arcs = character_edges(view, states, data, form)
    here = begin
    steps: list[ByteStep] = []
    for k in range(len(data) if failed is None else failed + 1):
        after = prefix_node(data[: k + 1]) if k + 1 < len(data) else "t"
        edges, nodes = [f"{prefix_node(data[:k])}-{after}"], [after]
        if states[k + 1] != NO_ARC:
            if form == "bytes" or view.between(states[k + 1]):
                here = states[k + 1]
            nodes.append(f"c{here}")
            if (arc := arcs[k]) is not None:
                edges.append(arc)
        steps.append(ByteStep(tuple(edges), tuple(nodes)))
    if byte_machine is not None and steps and failed is None:
        for _, after in marks_from(byte_machine, states[-1]):
            edge = ByteStep((*steps[-1].edges, f"c{states[-1]}-c{after}"), (*steps[-1].nodes,))
            steps[-1] = ByteStep(edge.edges, (*edge.nodes[:-1], f"c{after}"))
    if token in vocabulary.eos_ids:
        steps.append(ByteStep((f"t-{END}",), (END,)))
    target = machine.step(state, token)
    name = None if target is None or state < 0 else node_of(machine, target, form)
    return TokenWalk(
        tuple(steps),
        failed,
        None if failed is None or state < 0 else f"c{here}",
        None if name is None else f"{node_of(machine, state, form)}-{name}",
        name,
    )


def walk_packet(machine: TokenMachine, state: int, token: int) -> dict[str, object]:
    """A walk as data for the page, in both forms of the character FSA if they differ.

    Args:
        machine: The token machine.
        state: A token state or a sentinel.
        token: An id, allowed or not.

    Returns:
        Plain values for JSON: ``token``, ``text``, ``bytes``, ``labels`` (one per byte),
        ``failed_at``, ``allowed``, and ``lit`` with ``characters`` and perhaps ``bytes``.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"f", b"oo"], eos_ids=[2])
        >>> dfa = explorer.compile(explorer.regex("f(oo)*"), vocab)
        >>> walk_packet(dfa, dfa.start, 0)["lit"]["characters"]["arc"]
        'q0-q1'
    """
    vocabulary = machine.vocabulary
    data = (vocabulary.tokens[token] if 0 <= token < len(vocabulary) else None) or b""
    by_character = walk_token(machine, state, token)
    by_byte = walk_token(machine, state, token, "bytes")
    lit: dict[str, object] = {"characters": by_character.to_dict()}
    if by_byte != by_character:
        lit["bytes"] = by_byte.to_dict()
    return {
        "token": token,
        "text": token_text(vocabulary, token),
        "bytes": list(data),
        "labels": [byte_text(byte) for byte in data],
        "failed_at": by_character.failed_at,
        "allowed": machine.step(state, token) is not None,
        "lit": lit,
    }


Mark = Literal["past", "now", "go"]

ARCS_OF: Final = 256
"""The number of tokens, the last ones, whose arcs are lit; and the same number of bytes."""


@dataclass(frozen=True, slots=True)
class LitPath:
    """The names that the path so far lights, in one of the two forms of the character FSA.

    Args:
        tokens: For each arc of the token DFA on the path, the tokens that were taken, in words.
    """

    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    now: tuple[str, ...]
    tokens: Mapping[str, tuple[str, ...]]
    folded: bool = field(default=True, compare=False)
    """Whether states in the middle of a character may be missing."""

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "nodes": list(self.nodes),
            "edges": list(self.edges),
            "now": list(self.now),
            "tokens": {arc: list(words) for arc, words in self.tokens.items()},
        }


def lit_path(trace: Trace, k: int, machine: TokenMachine, form: Form = "characters") -> LitPath:
    """Find the names that the path to a position lights."""
    position = trace.positions[k]
    byte_machine = machine.byte_machine
    if byte_machine is None:
        return LitPath((), (), ("t",), {}, folded=False)
    states = run(byte_machine, byte_machine.start, position.data).tolist()
    last = next((p for p in reversed(trace.positions[: k + 1]) if p.state >= 0), None)
    # Ends of tokens and control tokens write nothing, but they lead to another state.
    aside = last is not None and states[len(last.data)] != machine.byte_state(last.state)
    if byte_machine.over_tokens or aside:
        return _lit_by_tokens(trace, k, machine, byte_machine, form)
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
        folded=len(shown) < len(states),
    )


def _lit_by_tokens(
    trace: Trace, k: int, machine: TokenMachine, byte_machine: ByteMachine, form: Form
) -> LitPath:
    """The same for a machine that reads more than bytes: each token is followed from its state."""
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
    """The names that the path lights, as data for the page, in both forms if they differ.

    Returns:
        Plain values for JSON: ``characters`` and perhaps ``bytes``.
    """
    by_character = lit_path(trace, k, machine)
    packet: dict[str, object] = {"characters": by_character.to_dict()}
    if by_character.folded:
        by_byte = lit_path(trace, k, machine, "bytes")
        if by_byte != by_character:
            packet["bytes"] = by_byte.to_dict()
    return packet


@dataclass(frozen=True, slots=True)
class Lit:
    """Names of nodes and edges, and how they are lit."""

    nodes: Mapping[str, Mark]
    edges: Mapping[str, Mark]


def lit(
    trace: Trace,
    k: int,
    machine: TokenMachine,
    token: int | None = None,
    letters: int | None = None,
) -> Lit:
    """The names that are lit at a position, for a picture without a page.

    Args:
        token: A token whose path is lit, too.
        letters: Only so many of its bytes, after which the present place is inside the token.

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
    now = path.now
    if token is not None and position.state >= 0 and letters != 0:
        walked = walk_token(machine, position.state, token)
        steps = walked.steps[:letters]
        for step in steps:
            nodes.update(dict.fromkeys(step.nodes, "past"))
            edges.update(dict.fromkeys(step.edges, "go"))
        whole = len(steps) == len(walked.steps)
        if walked.arc is not None and whole:
            edges[walked.arc] = "go"
        if letters is not None:
            nodes.update(dict.fromkeys(now, "past"))
            at = walked.target if whole and walked.target else now[-2]
            now = (*(steps[-1].nodes if steps else ()), at)
    nodes.update(dict.fromkeys(now, "past" if position.finished else "now"))
    return Lit(nodes, edges)
