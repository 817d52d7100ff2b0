"""JSON strings: the string literals of a language of texts.

Constraints on strings (``pattern``, ``maxLength``, ``format``, ``enum``) are about the text that a
literal stands for, so they are combined as machines over that text and only then written as
literals. A literal has one spelling, that of ``json.dumps(..., ensure_ascii=False)``: a character
stands for itself unless it must be escaped. `explorer.languages.schema.text.spelling` adds the
other spellings to a finished machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

import numpy as np

from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Texts
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern

SHORT_ESCAPES: Final = {
    0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0C: b"f", 0x0D: b"r", 0x22: b'"', 0x5C: b"\\",
}  # fmt: skip
"""The characters that have an escape of two characters, as `json.dumps` writes them."""

ESCAPED: Final = {
    byte: b"\\" + SHORT_ESCAPES.get(byte, b"u%04x" % byte) for byte in (*range(0x20), 0x22, 0x5C)
}
"""The characters that must be escaped, as `json.dumps` writes them."""

_BEGINNINGS: Final = ((-1, 0x5C), (0, ord("u")), (1, ord("0")), (2, ord("0")), (3, ord("0")),
                      (3, ord("1")))  # fmt: skip
"""The beginnings of escapes, from the backslash on: the one before, and the byte after it."""

_ENDS: Final = np.array(
    [
        (byte, 0 if len(data) == 2 else 4 + (byte >= 0x10), data[-1])
        for byte, data in ESCAPED.items()
    ]
)
"""The characters that must be escaped, each with the beginning and the last byte of its escape."""

_THEMSELVES: Final = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xFF))
"""The bytes that stand for themselves."""


def literals(texts: Dfa, meter: Meter) -> Dfa:
    """The string literals, quotes included, of a language of texts.

    Example:
        >>> from explorer import choice
        >>> quoted = literals(choice(['a"b', "\\n"]).dfa, Meter())
        >>> quoted.accepts(b'"a\\\\"b"'), quoted.accepts(b'"\\\\n"'), quoted.accepts(b'"ab"')
        (True, True, False)
    """
    return minimal_dfa(drawn_literals(texts), meter)


def drawn_literals(texts: Dfa, free: Sequence[int] = ()) -> Nfa:
    """The string literals of a language of texts, each in one spelling, deterministic.

    Args:
        free: States without the escapes of characters, which are drawn elsewhere.
    """
    nfa = dfa_to_nfa(texts)
    count = nfa.num_states
    first, last = count, count + 1
    rows = [np.array([(first, 0x22, 0x22, nfa.start)], np.int32)]
    quotes = np.full((len(nfa.accepting), 4), 0x22, np.int32)
    quotes[:, 0], quotes[:, 3] = nfa.accepting, last
    rows.append(quotes)
    low, high = nfa.arcs[:, 1], nfa.arcs[:, 2]
    for begin, end in _THEMSELVES:
        kept = nfa.arcs[(low <= end) & (begin <= high)]
        kept[:, 1] = np.maximum(kept[:, 1], begin)
        kept[:, 2] = np.minimum(kept[:, 2], end)
        rows.append(kept)
    # Every state that reads a character to be escaped gets states for the beginnings of escapes.
    targets = np.full((count, len(_ENDS)), NO_ARC, np.int32)
    if texts.num_states:
        targets[:] = texts.table[:, texts.symbol_class[_ENDS[:, 0]]]
    targets[list(free)] = NO_ARC
    within = np.flatnonzero((targets != NO_ARC).any(axis=1)).astype(np.int32)
    targets = targets[within]
    begun = last + 1 + len(_BEGINNINGS) * np.arange(len(within), dtype=np.int32)
    for place, (before, byte) in enumerate(_BEGINNINGS):
        sources = within if before < 0 else begun + before
        bytes_ = np.full(len(within), byte, np.int32)
        rows.append(np.column_stack([sources, bytes_, bytes_, begun + place]))
    state, column = np.nonzero(targets != NO_ARC)
    letters = _ENDS[column, 2]
    ends = [begun[state] + _ENDS[column, 1], letters, letters, targets[state, column]]
    rows.append(np.column_stack(ends))
    states = last + 1 + len(_BEGINNINGS) * len(within)
    arcs = np.concatenate(rows).astype(np.int32)
    return Nfa(states, first, arcs, nfa.epsilons, np.array([last], np.int32))


@lru_cache(maxsize=64)
def length_between(minimum: int, maximum: int | None) -> Dfa:
    """The texts whose number of characters (code points) is within two bounds."""
    most = "" if maximum is None else maximum
    return compile_pattern(f"(?s:.{{{minimum},{most}}})", Meter())[1]


def among(texts: list[str], meter: Meter) -> Dfa:
    """The machine of a list of texts, without those that hold half of a surrogate pair."""
    valid = [text for text in texts if not any(0xD800 <= ord(char) <= 0xDFFF for char in text)]
    if not valid:
        return nothing()
    return build(Texts(0, 0, tuple(dict.fromkeys(valid))), meter)


@cache
def nothing() -> Dfa:
    """The empty language."""
    return compile_pattern(r"(?!)", Meter())[1]
