"""The parts of a constraint's source that decide a verdict.

Where the ends of tokens count, a text does not determine its tokens. Then the places are those of
any tokenization with a token boundary where the judged token begins, as far as they read what
the machine expects; and a limit on tokens (``gen(..., max_tokens=32)`` and the like) may be the
reason why a text cannot go on. A limit does not restrict texts: where the text of a limited part
could be read on, but the machine over token ends refuses it, the limit is the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.analysis.places.spans import (
    PlaceQuestion,
    SourceMachines,
    SourcePart,
    parts,
    source_machines,
    state_after,
)
from explorer.analysis.verdict.verdict import Verdict
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import (
    Node,
    Offered,
    Source,
    TokenLimit,
    Written,
    children,
    shape_of,
    walk,
)
from explorer.languages.constraint import Constraint


def deciding_parts(
    constraint: Constraint | None, verdict: Verdict, machine: ByteMachine | None = None
) -> tuple[SourcePart, ...]:
    """The parts of a source that decide a verdict; empty where the constraint does not decide.

    Args:
        constraint: The constraint; ``None`` has no parts.
        machine: The machine over bytes that was walked; default the constraint's own.
    """
    if constraint is None or verdict.char_state == NO_ARC:
        return ()
    source = constraint.source
    if constraint.over_tokens:
        return _over_tokens(source, constraint.machine, verdict) + _limits_reached(source, verdict)
    if verdict.stage not in ("constraint", "end_of_text", "dead_end", "filtered", "allowed"):
        return ()
    byte = verdict.failing_byte
    walked = constraint.machine if machine is None else machine
    places_only = byte is None and verdict.stage in ("allowed", "filtered", "dead_end")
    offered: Offered = "text" if verdict.token is None else "token"
    if places_only:
        offered = "nothing"
    live = parts(source, walked, verdict.read, byte, verdict.char_begin, verdict.rest, offered)
    if places_only:
        # Only the places that come next are wanted, not the parts that forbid the token.
        return tuple(part for part in live if part.role == "expects")
    return live


def _over_tokens(source: Source, texts: ByteMachine, verdict: Verdict) -> tuple[SourcePart, ...]:
    """The places at which the text goes on."""
    if verdict.stage not in ("constraint", "end_of_text", "dead_end", "allowed", "not_text"):
        return ()
    if state_after(texts, verdict.read) == NO_ARC:
        return ()
    known = source_machines(source)

    def expecting(question: PlaceQuestion) -> tuple[SourcePart, ...]:
        return tuple(part for part in known.parts(question, texts) if part.role == "expects")

    only = verdict.expected if verdict.stage == "constraint" else None
    boundary = len(verdict.prefix)
    here = expecting(PlaceQuestion(verdict.read, None, verdict.char_begin, b"", only, boundary))
    if here or verdict.stage != "constraint":
        return here
    # The token must end here; its name is that of the place where it begins.
    begin = expecting(PlaceQuestion(verdict.prefix, None, boundary, boundary=boundary))
    return tuple(part for part in begin if any(place.label for place in part.positions))


def _limits_reached(source: Source, verdict: Verdict) -> tuple[SourcePart, ...]:
    """The limits on tokens that keep a token from going on."""
    if verdict.stage not in ("constraint", "dead_end"):
        return ()
    known = source_machines(source)
    if not any(isinstance(node, TokenLimit) for node in walk(known.source.tree)):
        return ()
    limits = _around(known, known.source.tree, source, "", verdict.read, verdict.failing_byte)
    return tuple(dict.fromkeys(limits))


def _around(
    known: SourceMachines, node: Node, source: Source, label: str, text: bytes, byte: int | None
) -> Iterator[SourcePart]:
    """The limits around the place that reads a byte after a text, or any byte if ``None``."""
    while shape_of(node).part == "around":
        if isinstance(node, Written):
            source, label = node.source or source, node.label or label
        elif isinstance(node, TokenLimit):
            machine = known.machine(node)
            here = state_after(machine, text)
            read = machine.expected(here) if here != NO_ARC else b""
            if not read or (byte is not None and byte not in read):
                return
            yield SourcePart("token_limit", source, (), limit=(label, node.most))
        (node,) = children(node)
    match shape_of(node).part:
        case "sequence":
            for below, begin, _ in known.reading(node, text):
                yield from _around(known, below, source, label, text[begin:], byte)
        case "alternatives" | "both" | "without":
            taken_away = shape_of(node).part == "without"
            for below in children(node)[: -1 if taken_away else None]:
                yield from _around(known, below, source, label, text, byte)
        case _:
            return
