"""A token machine in lines for a terminal: a mask, a walk along a text, sizes and milliseconds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from explorer.analysis.characters.display import show_text
from explorer.arguments import counted
from explorer.tokens.machine import TokenMachine

SHOWN = 8
"""How many tokens of a mask are written out before the rest is only counted."""


def show(data: bytes | None) -> str:
    """A token as one would write it: text in quotes, and bytes that are not text.

    Args:
        data: Token bytes, or ``None`` for an id that is not text.

    Example:
        >>> print(show(b" the"), show(b"\\xf0\\x9f"), show(None))
        ' the' <F0><9F> <not text>
    """
    return "<not text>" if data is None else show_text(data)


def show_allowed(machine: TokenMachine, state: int) -> str:
    """A mask in one line: how many ids, and the first of them."""
    ids = [int(token) for token in np.flatnonzero(machine.allowed(state))]
    eos = [token for token in ids if token in machine.vocabulary.eos_ids]
    texts = [token for token in ids if token not in machine.vocabulary.eos_ids]
    parts = [show(machine.vocabulary.tokens[token]) for token in texts[:SHOWN]]
    if len(texts) > SHOWN:
        parts.append("...")
    if eos:
        parts.append("<EOS>")
    return f"{len(ids):,} of {len(machine.vocabulary):,}: {' '.join(parts)}"


def longest_step(machine: TokenMachine, state: int, remaining: bytes) -> int | None:
    """The allowed id whose bytes cover most of the text that remains; an EOS id at its end.

    Args:
        machine: The machine.
        state: Its state.
        remaining: The text still to be written.
    """
    allowed = machine.allowed(state)
    if not remaining:
        return next((token for token in sorted(machine.vocabulary.eos_ids) if allowed[token]), None)
    best: int | None = None
    length = 0
    for token in np.flatnonzero(allowed):
        data = machine.vocabulary.tokens[int(token)]
        if data and len(data) > length and remaining.startswith(data):
            best, length = int(token), len(data)
    return best


def walk_lines(machine: TokenMachine, text: str) -> Iterable[str]:
    """The masks along the way that writes a text in the longest allowed tokens."""
    remaining = text.encode()
    state = machine.start
    for position in range(len(remaining) + 1):
        token = longest_step(machine, state, remaining)
        yield f"  {position:>2}  allowed {show_allowed(machine, state)}"
        if token is None:
            yield "      no allowed token goes on with the text"
            return
        data = machine.vocabulary.tokens[token]
        ends = token in machine.vocabulary.eos_ids
        yield f"      take    {'<EOS>' if ends else show(data)}  (id {token})"
        following = machine.step(state, token)
        if ends or following is None:
            return
        state = following
        remaining = remaining[len(data or b"") :]


def report_lines(machine: TokenMachine) -> Iterable[str]:
    """Sizes and milliseconds, one stage per line."""
    report = machine.report
    yield (
        f"  character FSA   {_column(report.character_states, 'state')}, "
        f"{counted(report.byte_classes, 'byte class')}"
    )
    if report.kind == "table":
        yield from _table_lines(machine)
    else:
        yield f"  {report.kind:<15} {_column(machine.num_states, 'state')} so far; no table is made"
        if report.reason:
            yield f"  {report.reason}"
    for warning in report.warnings:
        yield f"  warning: {warning}".replace("\n", "\n           ")
    for stage, spent in report.milliseconds.items():
        yield f"  {stage.replace('_', ' '):<15} {spent:>9.2f} ms"
    yield f"  {'sum':<15} {report.total_milliseconds:>9.2f} ms"


def _column(count: int, noun: str) -> str:
    """A number with its noun, the numbers of all lines one below the other."""
    number, _, word = counted(count, noun).partition(" ")
    return f"{number:>9} {word}"


def _table_lines(machine: TokenMachine) -> Iterable[str]:
    report = machine.report
    yield (
        f"  token DFA       {_column(report.token_states, 'state')}, "
        f"{counted(report.token_classes, 'token class')}, {report.bytes_held / 1024:,.0f} kB"
    )
    yield (
        f"  allowed at all  {report.live_tokens:>9,} of {len(machine.vocabulary):,} ids; "
        f"{counted(report.stuck_states, 'state')} cannot finish and "
        f"{'is' if report.stuck_states == 1 else 'are'} trimmed"
    )
