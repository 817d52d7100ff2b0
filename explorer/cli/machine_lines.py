"""A token DFA in lines for a terminal: a mask, a walk along a text, sizes and milliseconds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from explorer.tokens.token_dfa import TokenDFA

SHOWN = 8
"""How many tokens of a mask are written out before the rest is only counted."""


def show(data: bytes | None) -> str:
    """A token as one would write it: text in quotes, or hexadecimal bytes if it is not text.

    Args:
        data: Token bytes, or ``None`` for an id that is not text.

    Example:
        >>> print(show(b" the"), show(b"\\xf0\\x9f"), show(None))
        ' the' <F0 9F> <not text>
    """
    if data is None:
        return "<not text>"
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return f"<{data.hex(' ').upper()}>"


def show_allowed(dfa: TokenDFA, state: int) -> str:
    """A mask in one line: how many ids, and the first of them."""
    ids = [int(token) for token in np.flatnonzero(dfa.allowed(state))]
    eos = [token for token in ids if token in dfa.vocabulary.eos_ids]
    texts = [token for token in ids if token not in dfa.vocabulary.eos_ids]
    parts = [show(dfa.vocabulary.tokens[token]) for token in texts[:SHOWN]]
    if len(texts) > SHOWN:
        parts.append("...")
    if eos:
        parts.append("<EOS>")
    return f"{len(ids):,} of {len(dfa.vocabulary):,}: {' '.join(parts)}"


def longest_step(dfa: TokenDFA, state: int, remaining: bytes) -> int | None:
    """The allowed id whose bytes cover most of the text that remains; an EOS id at its end.

    Args:
        dfa: The machine.
        state: Its state.
        remaining: The text still to be written.
    """
    allowed = dfa.allowed(state)
    if not remaining:
        return next((token for token in sorted(dfa.vocabulary.eos_ids) if allowed[token]), None)
    best: int | None = None
    length = 0
    for token in np.flatnonzero(allowed):
        data = dfa.vocabulary.tokens[int(token)]
        if data and len(data) > length and remaining.startswith(data):
            best, length = int(token), len(data)
    return best


def walk_lines(dfa: TokenDFA, text: str) -> Iterable[str]:
    """The masks along the way that writes a text in the longest allowed tokens."""
    remaining = text.encode()
    state = dfa.start
    for position in range(len(remaining) + 1):
        token = longest_step(dfa, state, remaining)
        yield f"  {position:>2}  allowed {show_allowed(dfa, state)}"
        if token is None:
            yield "      no allowed token goes on with the text"
            return
        data = dfa.vocabulary.tokens[token]
        ends = token in dfa.vocabulary.eos_ids
        yield f"      take    {'<EOS>' if ends else show(data)}  (id {token})"
        following = dfa.step(state, token)
        if ends or following is None:
            return
        state = following
        remaining = remaining[len(data or b"") :]


def report_lines(dfa: TokenDFA) -> Iterable[str]:
    """Sizes and milliseconds, one stage per line."""
    report = dfa.report
    yield (
        f"  character FSA   {report.character_states:>9,} states, "
        f"{report.byte_classes:,} byte classes"
    )
    yield (
        f"  token DFA       {report.token_states:>9,} states, "
        f"{report.token_classes:,} token classes, {report.bytes_held / 1024:,.0f} kB"
    )
    yield (
        f"  allowed at all  {report.live_tokens:>9,} of {len(dfa.vocabulary):,} ids; "
        f"{report.stuck_states:,} states cannot finish and are trimmed"
    )
    for stage, spent in report.milliseconds.items():
        yield f"  {stage.replace('_', ' '):<15} {spent:>9.2f} ms"
    yield f"  {'sum':<15} {report.total_milliseconds:>9.2f} ms"
