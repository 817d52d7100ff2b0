r"""JSON strings: the string literals of a language of texts, and the ways to spell them.

Constraints on strings (``pattern``, ``maxLength``, ``format``, ``enum``) are about the text that a
literal stands for, so they are combined as machines over that text and only then written as
literals. A character stands for itself unless it must be escaped; then it is spelled as by
``json.dumps(..., ensure_ascii=False)``. In a *free* state, where any text may follow, or with
``escapes="any"`` everywhere, in names and constrained strings too, a character may also be written
in the other ways of RFC 8259, section 7: ``\uXXXX`` with upper or lower digits, a surrogate pair
beyond U+FFFF, and the short escapes.

The spellings are a small transducer from the bytes of a literal to those of its text. It writes
each byte as soon as the digits of an escape determine it, so that it needs a hundred states for a
million characters. One kernel composes it with the machine of the texts and counts the characters
that were read, if there are bounds on their number: a layer for each. Only what a text can reach is
drawn.

Cost of escapes everywhere: some six states for each character of each name or listed string. A
closed machine has all of them; a machine that discovers its states has those that a text reaches.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, Literal

import numpy as np
from msgspec import structs

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.operations import dfa_to_nfa
from explorer.automata.machine import Bool, Dfa, Int32, Nfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Texts
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.jit import jit
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.text.sketch import Sketch

Whitespace = Literal["compact", "dumps", "pretty", "flexible"]
EscapesOf = Literal["free", "any"]
"""Where a character may be written ``\\uXXXX``: where any text may follow, or everywhere."""

SHORT_ESCAPES: Final = {
    0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0C: b"f", 0x0D: b"r", 0x22: b'"', 0x5C: b"\\",
}  # fmt: skip
"""The characters that have an escape of two characters, as `json.dumps` writes them."""

ESCAPED: Final = {
    byte: b"\\" + SHORT_ESCAPES.get(byte, b"u%04x" % byte) for byte in (*range(0x20), 0x22, 0x5C)
}
"""The characters that must be escaped, as `json.dumps` writes them."""

_SHORT: Final = {byte: b"\\" + letter for byte, letter in (*SHORT_ESCAPES.items(), (0x2F, b"/"))}
_HEX: Final = "0123456789abcdef"
_CODES: Final = (
    (0x0000, 0xD000, (_HEX[:13], _HEX, _HEX, _HEX)),
    (0xD000, 0x800, ("d", _HEX[:8], _HEX, _HEX)),
    (0xE000, 0x2000, ("ef", _HEX, _HEX, _HEX)),
    (0x10000, 0x100000, ("d", "89ab", _HEX, _HEX, "\\", "u", "d", "cdef", _HEX, _HEX)),
)
"""The characters that are written alike behind ``\\u``: the first one, their number, and for each
place the letters that divide them equally."""

_NOTHING: Final = -1
"""Stands for the written byte of an arc that writes none."""

SPELLED: Final = r'[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bef]|1[0-9a-f])'
"""A character as `json.dumps` writes it with ``ensure_ascii=False``."""

ESCAPE: Final = (
    r'\\["\\/bfnrt]|\\u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2}'
    r"|[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})"
)
"""One character of a JSON string as an escape."""
CHARACTER: Final = rf'[^"\\\x00-\x1f]|{ESCAPE}'
"""One character of a JSON string in any spelling."""


@lru_cache(maxsize=2)
def _spellings(escapes: EscapesOf) -> Int32:
    """The spellings of characters: int32[arcs, 4], rows ``(source, read, written, target)``.

    State 0 is before and after each character, and within one that stands for itself.
    """
    arcs = [(0, byte, byte, 0) for byte in range(0x20, 0x100) if byte not in b'"\\']
    states: dict[object, int] = {b"": 0}

    def state(key: object) -> int:
        return states.setdefault(key, len(states))

    for character, text in (ESCAPED if escapes == "free" else _SHORT).items():
        for end in range(1, len(text)):
            arcs.append((state(text[: end - 1]), text[end - 1], _NOTHING, state(text[:end])))
        arcs.append((state(text[:-1]), text[-1], character, 0))

    def code(here: int, low: int, count: int, written: int, places: tuple[str, ...]) -> None:
        """Draw the rest of the codes of some characters, of which some bytes were written."""
        letters, rest = places[0], places[1:]
        size = count // len(letters)
        for place, letter in enumerate(letters):
            first = low + place * size
            data, last = chr(first).encode(), chr(first + size - 1).encode()
            known = next((k for k, byte in enumerate(data) if last[k] != byte), len(data))
            # The other characters have as many bytes left to write as the first one.
            key = rest, data[known:]
            is_new = rest and key not in states
            target = state(key) if rest else 0
            byte = data[written] if known > written else _NOTHING
            for each in {letter, letter.upper()} - {"U"}:
                arcs.append((here, ord(each), byte, target))
            if is_new:
                code(target, first, size, known, rest)

    if escapes == "any":
        arcs.append((state(b"\\"), ord("u"), _NOTHING, state(b"\\u")))
        for low, count, places in _CODES:
            code(state(b"\\u"), low, count, 0, places)
    return np.array(sorted(set(arcs)), np.int32)


def literals(texts: Dfa, escapes: EscapesOf = "free", low: int = 0, high: int | None = None) -> Nfa:
    """The string literals, quotes included, of the texts of a machine whose length is bounded.

    Args:
        escapes: Where a character may also be written ``\\uXXXX``, and the slash ``\\/``.
        low, high: The fewest and the most characters; ``None`` for no upper bound.

    Example:
        >>> from explorer import choice
        >>> from explorer.automata.construction.operations import minimal_dfa
        >>> quoted = minimal_dfa(literals(choice(['a"b', "\\n"]).dfa), Meter())
        >>> quoted.accepts(b'"a\\\\"b"'), quoted.accepts(b'"\\\\n"'), quoted.accepts(b'"ab"')
        (True, True, False)
    """
    if not texts.num_states:
        return dfa_to_nfa(texts)
    is_bounded, is_free = low > 0 or high is not None, _free_states(texts)
    table = texts.table[:, texts.symbol_class[:NUM_BYTES]]
    alike = np.arange(texts.num_states, dtype=np.int32)
    if escapes == "free":  # States may share their escapes if those lead to the same states.
        after = np.ascontiguousarray(table[:, [*ESCAPED]])
        rows = after.view(np.dtype((np.void, after.shape[1] * after.itemsize)))[:, 0]
        _, first, kind = np.unique(rows, return_index=True, return_inverse=True)
        alike = first[kind].astype(np.int32)
    arcs, place = _quoted(
        table,
        texts.accepting,
        texts.start,
        _spellings(escapes),
        alike,
        is_free & np.bool_(not is_bounded),
    )
    states = 1 + int(arcs[:, [0, 3]].max())
    ends, free = np.array([BEHIND], np.int32), place[is_free]
    if is_bounded:
        offset = np.searchsorted(arcs[:, 0], np.arange(states + 1)).astype(np.int32)
        arcs, number = _layers(offset, arcs, low if high is None else high, high is None)
        ends, free = number[low:, BEHIND], number[-1, free] if high is None else free[:0]
        states = int(number.max()) + 1
    drawn = Nfa(
        states, 0, np.ascontiguousarray(arcs[:, :4]), np.empty((0, 2), np.int32), ends[ends >= 0]
    )
    if not len(free):
        return drawn
    sketch = Sketch(Meter())
    sketch.part_of(drawn)
    for state in free[free >= 0].tolist():
        sketch.block(*_every_escape(), state)
    return sketch.drawn(0, drawn.accepting.tolist())


BEHIND: Final = 1
INSIDE: Final = 2
"""The states behind the last quote of a literal, and between the first one and the text; state 0 is
before the first one."""


@jit
def _quoted(
    table: Int32, accepting: Bool, start: int, spellings: Int32, alike: Int32, free: Bool
) -> tuple[Int32, Int32]:
    """The arcs of the literals of texts.

    Args:
        table: int32[states, 256], the states after each byte of a text.
        spellings: The arcs of `_spellings`.
        alike: For each state one that has the same escapes.
        free: The states that get their escapes elsewhere.

    Returns:
        int32[arcs, 5], rows ``(source, low, high, target, begun)``, where the last is the number of
        characters that the arc begins; and int32[states], the state of the literals for each of the
        texts.
    """
    count, kinds = len(table), int(spellings[-1, 0]) + 1
    offset = np.searchsorted(spellings[:, 0], np.arange(kinds + 1)).astype(np.int32)
    # The states of an escape and of the texts from which a character can be completed.
    able = np.zeros((kinds, count), np.bool_)
    able[0] = True
    known, before = count, 0
    while before < known:
        before = known
        for k in range(len(spellings) - 1, offset[1] - 1, -1):
            kind, written, then = spellings[k, 0], spellings[k, 2], spellings[k, 3]
            for state in range(count):
                after = state if written < 0 else table[state, written]
                if after >= 0 and able[then, after] and not able[kind, state]:
                    able[kind, state] = True
                    known += 1
    number = np.empty((kinds, count), np.int32)
    met = np.empty((known, 2), np.int32)
    rows = np.empty((1, 5), np.int32)
    kept = 0
    for is_counted in (False, True):
        if is_counted:
            rows = np.empty((kept, 5), np.int32)
        rows[0] = (0, 0x22, 0x22, INSIDE, 0)
        number[:] = -1
        number[0, start], met[0] = INSIDE, (0, start)
        here, past, kept = 0, 1, 1
        while here < past:
            kind, state = met[here]
            if kind == 0 and accepting[state]:
                if is_counted:
                    rows[kept] = (here + INSIDE, 0x22, 0x22, BEHIND, 0)
                kept += 1
            last, byte = -1, -1
            for k in range(offset[kind], offset[kind + 1]):
                read, written, then = spellings[k, 1], spellings[k, 2], spellings[k, 3]
                after = state if written < 0 else table[state, written]
                if after < 0 or not able[then, after] or (then and not kind and free[state]):
                    continue
                if then and not kind:
                    after = alike[state]
                if number[then, after] < 0:
                    number[then, after], met[past] = past + INSIDE, (then, after)
                    past += 1
                target = number[then, after]
                begun = written >= 0 and not 0x80 <= written < 0xC0
                if target != last or read != byte + 1:
                    if is_counted:
                        rows[kept, 0], rows[kept, 3] = here + INSIDE, target
                        rows[kept, 1], rows[kept, 4] = read, begun
                    kept += 1
                if is_counted:
                    rows[kept - 1, 2] = read
                last, byte = target, read
            here += 1
    return rows, number[0].copy()


@jit
def _layers(offset: Int32, arcs: Int32, top: int, endless: bool) -> tuple[Int32, Int32]:
    """The arcs of layers, by the number of characters that were begun, that can be reached.

    Args:
        offset: int32[states + 1], where the arcs of each state begin.
        arcs: int32[arcs, 5] from `_quoted`.
        top: The last layer; what would lead above it stays there if ``endless``, and is left out
            otherwise.

    Returns:
        int32[arcs, 4], and int32[layers, states], the numbers of the states, -1 for what is not
        reached; the start is 0.
    """
    count = len(offset) - 1
    number = np.empty((top + 1, count), np.int32)
    met = np.empty(((top + 1) * count, 2), np.int32)
    rows = np.empty((0, 4), np.int32)
    kept = 0
    for is_counted in (False, True):
        if is_counted:
            rows = np.empty((kept, 4), np.int32)
        number[:] = -1
        number[0, 0], met[0] = 0, (0, 0)
        here, past, kept = 0, 1, 0
        while here < past:
            layer, state = met[here]
            for k in range(offset[state], offset[state + 1]):
                above, target = layer + arcs[k, 4], arcs[k, 3]
                if above > top and not endless:
                    continue
                above = min(above, top)
                if number[above, target] < 0:
                    number[above, target] = past
                    met[past, 0], met[past, 1] = above, target
                    past += 1
                if is_counted:
                    rows[kept, 0], rows[kept, 3] = here, number[above, target]
                    rows[kept, 1], rows[kept, 2] = arcs[k, 1], arcs[k, 2]
                kept += 1
            here += 1
    return rows, number


@cache
def free_string() -> Nfa:
    """The rest of any string in any spelling, its closing quote included."""
    return structs.replace(literals(any_text()), start=INSIDE)


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


def character_in(escapes: EscapesOf) -> str:
    """A pattern of the spellings of one character in a string of bounded length."""
    return CHARACTER if escapes == "any" else SPELLED


@cache
def _every_escape() -> tuple[Int32, int]:
    """The arcs of every escape from a free state 0 back to it, and their number of states."""
    machine = compile_pattern(ESCAPE, Meter())[1]
    arcs = dfa_to_nfa(machine).arcs.copy()
    arcs[np.isin(arcs[:, 3], np.flatnonzero(machine.accepting)), 3] = 0
    assert machine.start == 0
    return arcs, machine.num_states


def _free_states(texts: Dfa) -> Bool:
    """bool[states], whether any text may follow: all characters lead back to the state."""
    own = np.arange(texts.num_states)
    free = (texts.table[:, np.unique(texts.symbol_class[:0x80])] == own[:, None]).all(axis=1)
    for state in np.flatnonzero(free).tolist():
        for sample in ("é", "€", "\ud7ff", "😀", "\U0010ffff"):
            here = state
            for byte in sample.encode():
                here = texts.step(here, byte)
            free[state] &= here == state
    return free
