"""Which limit on tokens keeps a text from going on: ``gen(..., max_tokens=32)`` and the like.

A limit says nothing about texts. So where the text of a limited part could be read on, and the
machine over token ends does not, it is the limit that forbids it.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.analysis.places.part import SourcePart
from explorer.analysis.places.spans import (
    SourceMachines,
    deciding_parts_over_tokens,
    source_machines,
)
from explorer.analysis.verdict.verdict import Verdict
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import Node, Source, TokenLimit, Written
from explorer.automata.tree.walking import children, shape_of, walk
from explorer.tokens.walks.failing import run


def parts_over_tokens(
    source: Source, texts: ByteMachine, verdict: Verdict
) -> tuple[SourcePart, ...]:
    """Find the parts of a source that speaks about tokens which decide a verdict.

    Args:
        source: What the constraint was made of.
        texts: The machine of its texts.
        verdict: The verdict.
    """
    return deciding_parts_over_tokens(source, texts, verdict) + limits_reached(source, verdict)


def limits_reached(source: Source, verdict: Verdict) -> tuple[SourcePart, ...]:
    """The parts that a token would go on with if more tokens might write them.

    Args:
        source: What the constraint was made of.
        verdict: The verdict.

    Returns:
        Parts of the role ``token_limit``; none where no limit decides.
    """
    if verdict.char_state == NO_ARC or verdict.stage not in ("constraint", "dead_end"):
        return ()
    known = source_machines(source)
    if not any(isinstance(node, TokenLimit) for node in walk(known.source.tree)):
        return ()
    found = _around(known, known.source.tree, source, "", verdict.read, verdict.failing_byte)
    return tuple(dict.fromkeys(found))


def _around(
    known: SourceMachines, node: Node, source: Source, label: str, text: bytes, byte: int | None
) -> Iterator[SourcePart]:
    """The limits around what reads a byte after a text, or any byte where that is ``None``."""
    while shape_of(node).part == "around":
        if isinstance(node, Written):
            source, label = node.source or source, node.label or label
        elif isinstance(node, TokenLimit):
            machine = known.machine(node)
            here = NO_ARC
            if machine.start != NO_ARC:
                here = int(run(machine, machine.start, text)[-1])
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
