"""One token through all three machines, byte by byte: slow motion, hovering, and asking why.

The id enters T_V, its bytes come out, the character FSA moves with each, and the last one
completes the arc of the token DFA. Every node and edge that is named is one of the figures; where
the character FSA is drawn by characters, all bytes of a character light that character's arc.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.automata.machine import NO_ARC
from explorer.automata.token_marks import marks_from
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.failing import run
from widgets.figures.drawing.labels import byte_text, token_text
from widgets.figures.machines.arcs import node_of
from widgets.figures.machines.character_view import (
    Form,
    character_edges,
    character_view,
)
from widgets.figures.machines.detokenizing_figure import END, prefix_node


@dataclass(frozen=True, slots=True)
class ByteStep:
    """The names that one byte of a token lights.

    Args:
        edges: One of T_V and, unless the byte fails or lies in the middle of a character that may
            be several, one of the character FSA.
        nodes: The nodes that it leads to: in T_V, and in the character FSA unless the byte fails.
    """

    edges: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenWalk:
    """A token through the machines, in one of the two forms of the character FSA.

    Args:
        steps: One per byte read, the failing one included.
        failed_at: The offset of the byte that fails.
        stopped: The node of the character FSA where it fails; ``None`` if no byte does.
        arc: The arc of the token DFA that the token takes; ``None`` if it is masked.
        target: The node of the token DFA that it leads to.
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
    """The way of a token through all three machines.

    Args:
        machine: The token machine.
        state: A token state or a sentinel.
        token: An id, allowed or not.
        form: How the character FSA is drawn.

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
    """A walk as the page reads it, in both forms of the character FSA where they differ.

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
    found = walk_token(machine, state, token)
    by_byte = walk_token(machine, state, token, "bytes")
    lit: dict[str, object] = {"characters": found.to_dict()}
    if by_byte != found:
        lit["bytes"] = by_byte.to_dict()
    return {
        "token": token,
        "text": token_text(vocabulary, token),
        "bytes": list(data),
        "labels": [byte_text(byte) for byte in data],
        "failed_at": found.failed_at,
        "allowed": machine.step(state, token) is not None,
        "lit": lit,
    }
