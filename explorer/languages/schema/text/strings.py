"""JSON strings: a language of texts becomes a language of string literals.

Constraints on strings (``pattern``, ``maxLength``, ``format``, ``enum``) are about the text that a
literal stands for, so they are combined as machines over that text and only then written as
literals. A literal is written in one way, the one of ``json.dumps(..., ensure_ascii=False)``: a
character stands for itself unless it must be escaped. `explorer.languages.schema.text.spelling`
adds the other ways to a finished machine.
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

_HEX: Final = b"0123456789abcdef"


def literals(texts: Dfa, meter: Meter) -> Dfa:
    """The string literals, quotes included, of a language of texts.

    Example:
        >>> from explorer import choice
        >>> quoted = literals(choice(['a"b', "\\n"]).dfa, Meter())
        >>> quoted.accepts(b'"a\\\\"b"'), quoted.accepts(b'"\\\\n"'), quoted.accepts(b'"ab"')
        (True, True, False)
    """
    nfa = dfa_to_nfa(texts)
    arcs: list[tuple[int, int, int, int]] = []
    first, last = nfa.num_states, nfa.num_states + 1
    states = nfa.num_states + 2
    backslash: dict[int, int] = {}
    four: dict[tuple[int, str], int] = {}

    def escape(source: int) -> int:
        nonlocal states
        if source not in backslash:
            backslash[source] = states
            arcs.append((source, 0x5C, 0x5C, states))
            states += 1
        return backslash[source]

    def under(source: int, digits: str) -> int:
        """The state after a backslash and the beginning of ``u00..``."""
        nonlocal states
        if (source, digits) in four:
            return four[source, digits]
        here = escape(source)
        for length in range(1, len(digits) + 1):
            key = (source, digits[:length])
            if key not in four:
                four[key] = states
                byte = ord(digits[length - 1])
                arcs.append((here, byte, byte, states))
                states += 1
            here = four[key]
        return here

    for source, low, high, target in nfa.arcs.tolist():
        themselves, short, long = _written(low, high)
        arcs += [(source, *interval, target) for interval in themselves]
        if short:
            here = escape(source)
            arcs += [(here, letter, letter, target) for letter in short]
        for digits, last_digits in long:
            here = under(source, digits)
            arcs += [(here, *interval, target) for interval in last_digits]
    arcs.append((first, 0x22, 0x22, nfa.start))
    arcs += [(int(state), 0x22, 0x22, last) for state in nfa.accepting]
    quoted = Nfa(
        states, first, np.array(arcs, np.int32).reshape(-1, 4), nfa.epsilons,
        np.array([last], np.int32),
    )  # fmt: skip
    return minimal_dfa(quoted, meter)


Interval = tuple[int, int]


@lru_cache(maxsize=256)
def _written(
    low: int, high: int
) -> tuple[list[Interval], list[int], list[tuple[str, list[Interval]]]]:
    """The spellings of the bytes of an interval: as themselves, by the letter of their escape, and
    by the digits of it, of which the last ones are intervals."""
    special = [byte for byte in (*range(0x20), 0x22, 0x5C) if low <= byte <= high]
    themselves: list[Interval] = []
    begin = low
    for byte in special:
        if byte > begin and byte >= 0x20:
            themselves.append((begin, byte - 1))
        begin = byte + 1
    if max(begin, 0x20) <= high:
        themselves.append((max(begin, 0x20), high))
    short = [SHORT_ESCAPES[byte][0] for byte in special if byte in SHORT_ESCAPES]
    long: dict[str, list[Interval]] = {}
    for byte in special:
        if byte not in SHORT_ESCAPES:
            runs, digit = long.setdefault(f"u00{byte >> 4:x}", []), _HEX[byte & 15]
            if runs and runs[-1][1] == digit - 1:
                runs[-1] = runs[-1][0], digit
            else:
                runs.append((digit, digit))
    return themselves, short, list(long.items())


@lru_cache(maxsize=64)
def length_between(minimum: int, maximum: int | None) -> Dfa:
    """The texts of so many characters (code points)."""
    most = "" if maximum is None else maximum
    return compile_pattern(f"(?s:.{{{minimum},{most}}})", Meter())[1]


def among(texts: list[str], meter: Meter) -> Dfa:
    """Exactly these texts; those with half of a surrogate pair are not text and are left out."""
    valid = [text for text in texts if not any(0xD800 <= ord(char) <= 0xDFFF for char in text)]
    if not valid:
        return nothing()
    return build(Texts(0, 0, tuple(dict.fromkeys(valid))), meter)


@cache
def nothing() -> Dfa:
    """The empty language."""
    return compile_pattern(r"(?!)", Meter())[1]
