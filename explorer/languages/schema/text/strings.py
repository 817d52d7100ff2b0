"""JSON strings: the string literals of a language of texts.

Constraints on strings (``pattern``, ``maxLength``, ``format``, ``enum``) are about the text that a
literal stands for, so they are combined as machines over that text and only then written as
literals. A literal has one spelling, that of ``json.dumps(..., ensure_ascii=False)``: a character
stands for itself unless it must be escaped. `explorer.languages.schema.text.spelling` adds the
other spellings to a finished machine.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

import numpy as np

from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import Dfa, Nfa
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
    nfa = dfa_to_nfa(texts)
    first, last = nfa.num_states, nfa.num_states + 1
    escapes: list[tuple[int, int, int, int]] = [(first, 0x22, 0x22, nfa.start)]
    escapes += [(int(state), 0x22, 0x22, last) for state in nfa.accepting]
    after: dict[tuple[int, bytes], int] = {}

    def read(source: int, data: bytes) -> int:
        """The state after the beginning of an escape."""
        if not data:
            return source
        if (source, data) not in after:
            here = read(source, data[:-1])
            after[source, data] = nfa.num_states + 2 + len(after)
            escapes.append((here, data[-1], data[-1], after[source, data]))
        return after[source, data]

    source, low, high, target = nfa.arcs.T
    for byte, data in ESCAPED.items():
        for row in np.flatnonzero((low <= byte) & (byte <= high)).tolist():
            here = read(int(source[row]), data[:-1])
            escapes.append((here, data[-1], data[-1], int(target[row])))
    rows = [np.array(escapes, np.int32)]
    for begin, end in _THEMSELVES:
        kept = nfa.arcs[(low <= end) & (begin <= high)]
        kept[:, 1] = np.maximum(kept[:, 1], begin)
        kept[:, 2] = np.minimum(kept[:, 2], end)
        rows.append(kept)
    states = nfa.num_states + 2 + len(after)
    ends = np.array([last], np.int32)
    return minimal_dfa(Nfa(states, first, np.concatenate(rows), nfa.epsilons, ends), meter)


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
