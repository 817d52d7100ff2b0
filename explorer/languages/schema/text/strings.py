r"""JSON strings: the string literals of a language of texts, and the ways to spell them.

Constraints on strings (``pattern``, ``maxLength``, ``format``, ``enum``) are about the text that a
literal stands for, so they are combined as machines over that text and only then written as
literals. A literal has one spelling, that of ``json.dumps(..., ensure_ascii=False)``: a character
stands for itself unless it must be escaped.

`respelled` allows the other spellings: in a *free* state, where any text may follow, or with
``escapes="any"`` in all of them, in names and constrained strings too. Then every state inside a
string that reads a character gets escapes to the same target: ``\uXXXX`` with upper or lower
digits, a surrogate pair beyond U+FFFF, and the short escapes of RFC 8259, section 7.

A language of texts with bounds on its length is drawn from copies of the machine of literals, a
layer for each character that was read: each arc that completes a character leads one layer up. Only
what a text can reach is drawn.

Cost of escapes everywhere: some six states for each character of each name or listed string. A
closed machine has all of them; a machine that discovers its states has those that a text reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32, Nfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Texts
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

_BEGINNINGS: Final = ((-1, 0x5C), (0, ord("u")), (1, ord("0")), (2, ord("0")), (3, ord("0")),
                      (3, ord("1")))  # fmt: skip
"""The beginnings of escapes, from the backslash on: the one before, and the byte after it."""

_ENDS: Final = np.array(
    [
        (byte, 0 if len(data) == 2 else 4 + (byte >= 0x10), data[-1])
        for byte, data in ESCAPED.items()
    ],
    np.int32,
)
"""The characters that must be escaped, each with the beginning and the last byte of its escape."""

_NO_MOVES: Final = np.empty((0, 2), np.int32)

SPELLED: Final = r'[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bef]|1[0-9a-f])'
"""A character as `json.dumps` writes it with ``ensure_ascii=False``."""

_PLAIN: Final = np.array([byte for byte in range(0x20, 0x80) if byte not in b'"\\'])
_CONTROLS: Final = np.arange(0x80)

Runs = tuple[tuple[int, int, int], ...]
"""Intervals of numbers, both ends included, each with its target state."""

ESCAPE: Final = (
    r'\\["\\/bfnrt]|\\u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2}'
    r"|[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})"
)
"""One character of a JSON string as an escape."""
CHARACTER: Final = rf'[^"\\\x00-\x1f]|{ESCAPE}'
"""One character of a JSON string in any spelling."""

_LEADS: Final = ((0xC2, 0xDF, 0x1F, 1), (0xE0, 0xEF, 0x0F, 2), (0xF0, 0xF4, 0x07, 3))
"""The first bytes of UTF-8: lowest, highest, mask of the payload bits, number of further bytes."""

_SLASH: Final = {0x2F: b"/"}
_FIRST_PAIRED: Final = 0x10000


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
    count = texts.num_states
    if not count:
        return dfa_to_nfa(texts)
    rows, states = _quoted(
        texts.table[:, texts.symbol_class[:NUM_BYTES]], texts.accepting, texts.start,
        np.isin(np.arange(count), free), _ENDS,
    )  # fmt: skip
    return Nfa(states, count, rows, _NO_MOVES, np.array([count + 1], np.int32))


@jit
def _quoted(
    table: Int32, accepting: Bool, start: int, free: Bool, ends: Int32
) -> tuple[Int32, int]:
    """The arcs of the literals of texts, and how many states they have.

    The states of the texts keep their numbers; then come the state before the first quote and the
    one behind the last quote, and six for the beginnings of escapes after each state that needs
    some.

    Args:
        table: int32[states, 256], the states after each byte.
        ends: int32[n, 3], the characters that must be escaped (`_ENDS`).
    """
    count = len(table)
    rows = np.empty((1, 4), np.int32)
    states, kept = 0, 1
    for is_counted in (False, True):
        if is_counted:
            rows = np.empty((kept, 4), np.int32)
        rows[0, 0], rows[0, 1], rows[0, 2], rows[0, 3] = count, 0x22, 0x22, start
        states, kept = count + 2, 1
        for state in range(count):
            last = -1
            for byte in range(0x20, 256):
                target = table[state, byte]
                if byte == 0x22:
                    target = count + 1 if accepting[state] else -1
                elif byte == 0x5C:
                    target = -1
                kept += target >= 0 and target != last
                if is_counted and target >= 0:
                    if target != last:
                        rows[kept - 1, 0], rows[kept - 1, 3] = state, target
                        rows[kept - 1, 1] = byte
                    rows[kept - 1, 2] = byte
                last = target
            if free[state]:
                continue
            is_escaping = False
            for k in range(len(ends)):
                target = table[state, ends[k, 0]]
                if target < 0:
                    continue
                is_escaping = True
                if is_counted:
                    rows[kept, 0], rows[kept, 3] = states + ends[k, 1], target
                    rows[kept, 1], rows[kept, 2] = ends[k, 2], ends[k, 2]
                kept += 1
            if is_escaping:
                for k in range(len(_BEGINNINGS)):
                    before, byte = _BEGINNINGS[k]
                    if is_counted:
                        rows[kept, 0] = state if before < 0 else states + before
                        rows[kept, 1], rows[kept, 2] = byte, byte
                        rows[kept, 3] = states + k
                    kept += 1
                states += len(_BEGINNINGS)
    return rows, states


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


def respelled(machine: Dfa, meter: Meter, escapes: EscapesOf = "free") -> Nfa:
    """String literals with further spellings, as an NFA.

    Args:
        machine: A machine of literals, quotes included, each character in one spelling.
        meter: Watches every limit.
        escapes: Where a character may also be written ``\\uXXXX`` (with a surrogate pair beyond
            U+FFFF), and the slash ``\\/``.
    """
    inside = _free_states(machine) if escapes == "free" else in_strings(machine)
    if not inside:
        return dfa_to_nfa(machine)
    sketch = Sketch(meter)
    states = sketch.copy(machine)
    every = Escapes(sketch, machine, states)
    for state in inside:
        if escapes == "any":
            every.draw(state)
        else:
            sketch.block(*free_escapes(), states[state])
    accepting: list[int] = np.flatnonzero(machine.accepting).tolist()
    return sketch.drawn(states[machine.start], [states[state] for state in accepting])


def spelled_literals(texts: Dfa, meter: Meter, escapes: EscapesOf = "free") -> Nfa:
    """The literals of a language of texts in all their spellings; arguments as `respelled`."""
    if escapes == "any":
        return respelled(literals(texts, meter), meter, escapes)
    free = _free_states(texts, _CONTROLS) if texts.num_states else []
    drawn = drawn_literals(texts, free)
    if not free:
        return drawn
    sketch = Sketch(meter)
    sketch.part_of(drawn)
    for state in free:
        sketch.block(*free_escapes(), state)
    return sketch.drawn(drawn.start, drawn.accepting.tolist())


def in_strings(machine: Dfa) -> list[int]:
    """The states between the quotes of a literal that are not within an escape."""
    if machine.start == NO_ARC:
        return []
    first = machine.step(machine.start, 0x22)
    met, todo = {first}, [first]
    while todo:
        here = todo.pop()
        after = {machine.step(here, byte) for byte in machine.expected(here) if byte not in b'"\\'}
        backslash = machine.step(here, 0x5C)
        if backslash != NO_ARC:
            after |= _after_escape(machine, backslash)
        todo += after - met
        met |= after
    return sorted(met)


def _after_escape(machine: Dfa, backslash: int) -> set[int]:
    """The states after the escapes that a machine reads."""
    ends = {machine.step(backslash, byte) for byte in b'"\\/bfnrt'}
    digits = {machine.step(backslash, ord("u"))} - {NO_ARC}
    for _ in range(4):
        digits = {machine.step(state, byte) for state in digits for byte in machine.expected(state)}
    return (ends | digits) - {NO_ARC}


@cache
def free_escapes() -> tuple[Int32, int]:
    """The arcs of every escape from a free state 0 back to it, and their number of states."""
    machine = compile_pattern(ESCAPE, Meter())[1]
    arcs = dfa_to_nfa(machine).arcs.copy()
    arcs[np.isin(arcs[:, 3], np.flatnonzero(machine.accepting)), 3] = 0
    assert machine.start == 0
    return arcs, machine.num_states


def _free_states(machine: Dfa, read: NDArray[np.int64] = _PLAIN) -> list[int]:
    """The states of a machine of literals in which any text may follow.

    All of them are between the quotes, since only there a state can read every letter and stay.

    Args:
        read: Bytes that such a state reads: for a machine of texts, also those that a literal
            escapes.
    """
    after = machine.table[:, np.unique(machine.symbol_class[read])]
    staying = (after == np.arange(machine.num_states)[:, None]).all(axis=1)
    states: list[int] = np.flatnonzero(staying).tolist()
    return [state for state in states if _is_free(machine, state, of_texts=read is not _PLAIN)]


def _is_free(machine: Dfa, state: int, *, of_texts: bool) -> bool:
    """Whether characters beyond ASCII and all escapes also lead back to a state."""
    for sample in ("é", "€", "\ud7ff", "😀", "\U0010ffff"):
        here = state
        for byte in sample.encode():
            here = machine.step(here, byte)
        if here != state:
            return False
    if of_texts:
        return True
    backslash = machine.step(state, 0x5C)
    return backslash != NO_ARC and all(machine.step(backslash, c) == state for c in b'"\\bfnrt')


class Escapes:
    """Draws escapes beside the characters of a machine, without ε-arcs."""

    def __init__(self, sketch: Sketch, machine: Dfa, inside: range) -> None:
        self._sketch = sketch
        self._machine = machine
        self._inside = inside
        self._rest: dict[tuple[int, int], Runs] = {}
        self._digits: dict[tuple[int, Runs], int] = {}
        self._low: dict[Runs, int] = {}

    def draw(self, state: int) -> None:
        """Draw the escapes of all characters that a state inside a string reads."""
        characters = self._characters(state)
        if not characters:
            return
        sketch = self._sketch
        backslash = sketch.state()
        sketch.byte(self._inside[state], 0x5C, backslash)
        for character, letter in (*SHORT_ESCAPES.items(), *_SLASH.items()):
            for low, high, target in characters:
                if low <= character <= high:
                    sketch.text(backslash, letter, self._inside[target])
        units = [
            (low, min(high, _FIRST_PAIRED - 1), self._inside[target])
            for low, high, target in characters
            if low < _FIRST_PAIRED
        ]
        units += self._pairs(characters)
        sketch.byte(backslash, ord("u"), self._node(4, tuple(sorted(units))))

    def _characters(self, state: int) -> Runs:
        """The characters that a state reads, as intervals of code points with targets."""
        step = self._machine.step
        arcs = [(byte, byte, step(state, byte)) for byte in range(0x20, 0x80) if byte not in b'"\\']
        backslash = step(state, 0x5C)
        if backslash != NO_ARC:
            for character, escape in ESCAPED.items():
                here = backslash
                for letter in escape[1:]:
                    here = step(here, letter) if here != NO_ARC else NO_ARC
                arcs.append((character, character, here))
        for lowest, highest, bits, more in _LEADS:
            for lead in range(lowest, highest + 1):
                after = step(state, lead)
                if after != NO_ARC:
                    first = (lead & bits) << 6 * more
                    arcs += [(first + a, first + b, t) for a, b, t in self._after(after, more)]
        return _joined(sorted(each for each in arcs if each[2] != NO_ARC))

    def _after(self, state: int, more: int) -> Runs:
        """The targets after the remaining bytes of a character, by the payload bits of those."""
        if more == 0:
            return ((0, 0, state),)
        known = self._rest.get((state, more))
        if known is None:
            arcs: list[tuple[int, int, int]] = []
            for byte in range(64):
                after = self._machine.step(state, 0x80 + byte)
                if after != NO_ARC:
                    first = byte << 6 * (more - 1)
                    arcs += [(first + a, first + b, t) for a, b, t in self._after(after, more - 1)]
            known = self._rest[state, more] = _joined(arcs)
        return known

    def _pairs(self, characters: Runs) -> list[tuple[int, int, int]]:
        """The first halves of surrogate pairs, each with the state after its four digits."""
        halves: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for low, high, target in characters:
            if high < _FIRST_PAIRED:
                continue
            begin, end = max(low, _FIRST_PAIRED) - _FIRST_PAIRED, high - _FIRST_PAIRED
            first, last = begin >> 10, end >> 10
            here = self._inside[target]
            if first == last:
                halves.setdefault((first, first), []).append((begin & 1023, end & 1023, here))
                continue
            if begin & 1023:
                halves.setdefault((first, first), []).append((begin & 1023, 1023, here))
                first += 1
            if end & 1023 != 1023:
                halves.setdefault((last, last), []).append((0, end & 1023, here))
                last -= 1
            if first <= last:
                halves.setdefault((first, last), []).append((0, 1023, here))
        return [
            (0xD800 + first, 0xD800 + last, self._second_half(tuple(sorted(rest))))
            for (first, last), rest in halves.items()
        ]

    def _second_half(self, rest: Runs) -> int:
        """The state before the second half of a pair."""
        known = self._low.get(rest)
        if known is None:
            sketch = self._sketch
            known = self._low[rest] = sketch.state()
            u = sketch.state()
            digits = tuple((0xDC00 + low, 0xDC00 + high, target) for low, high, target in rest)
            sketch.byte(known, 0x5C, u)
            sketch.byte(u, ord("u"), self._node(4, digits))
        return known

    def _node(self, count: int, runs: Runs) -> int:
        """The state before the given number of hexadecimal digits that write some numbers."""
        known = self._digits.get((count, runs))
        if known is not None:
            return known
        sketch = self._sketch
        here = self._digits[count, runs] = sketch.state()
        width = 16 ** (count - 1)
        for digit in range(16):
            begin = digit * width
            part = tuple(
                (max(low, begin) - begin, min(high, begin + width - 1) - begin, target)
                for low, high, target in runs
                if low < begin + width and high >= begin
            )
            if part:
                after = part[0][2] if count == 1 else self._node(count - 1, part)
                for letter in {b"%x" % digit, b"%X" % digit}:
                    sketch.text(here, letter, after)
        return here


def _joined(runs: list[tuple[int, int, int]]) -> Runs:
    """The intervals with neighbours of the same target joined."""
    intervals: list[tuple[int, int, int]] = []
    for low, high, target in runs:
        if intervals and intervals[-1][1] == low - 1 and intervals[-1][2] == target:
            intervals[-1] = (intervals[-1][0], high, target)
        else:
            intervals.append((low, high, target))
    return tuple(intervals)


def literals_of_length(texts: Dfa, low: int, high: int | None, escapes: EscapesOf) -> Nfa:
    """The literals, in all their spellings, of the texts of a machine whose length is bounded.

    Args:
        low, high: The fewest and the most characters; ``None`` for no upper bound.
    """
    if escapes == "any":
        written = literals(texts, Meter())
        every = respelled(written, Meter(), escapes)
        return in_layers(every, in_strings(written), low, high)
    free = _free_states(texts, _CONTROLS) if high is None else []
    return in_layers(drawn_literals(texts), range(texts.num_states), low, high, free)


def in_layers(
    literals: Nfa, inside: Sequence[int], low: int, high: int | None, free: Sequence[int] = ()
) -> Nfa:
    """The literals of ``low`` to ``high`` characters: those that a text can reach.

    Args:
        literals: String literals, quotes included, without ε-arcs.
        inside: The states between the quotes that are not within an escape.
        low, high: The fewest and the most characters; ``None`` for no upper bound, where the last
            layer, that of ``low``, is not left.
        free: States that get every escape in the last layer.
    """
    count = literals.num_states
    arcs = literals.arcs[np.argsort(literals.arcs[:, 0], kind="stable")]
    offset = np.searchsorted(arcs[:, 0], np.arange(count + 1)).astype(np.int32)
    between = np.zeros(count, np.bool_)
    between[inside] = True
    # States within a character read only continuation bytes.
    begins = np.zeros(count, np.bool_)
    begins[arcs[(arcs[:, 1] < 0x80) | (arcs[:, 2] >= 0xC0), 0]] = True
    rises = (between & begins)[arcs[:, 3]] & (arcs[:, 0] != literals.start)
    top = low if high is None else high
    rows, number = _layers(offset, arcs, rises, literals.start, top, high is None)
    layer, state = np.divmod(np.flatnonzero(number >= 0), count)
    ended = np.isin(state, literals.accepting) & (layer >= low)
    place = number[layer * count + state]
    sketch = Sketch(Meter())
    sketch.part_of(Nfa(len(place), 0, rows, literals.epsilons, place[ended]))
    for each in free:
        if number[top * count + each] >= 0:
            sketch.block(*free_escapes(), int(number[top * count + each]))
    return sketch.drawn(0, place[ended].tolist())


@jit
def _layers(
    offset: Int32, arcs: Int32, rises: Bool, start: int, top: int, endless: bool
) -> tuple[Int32, Int32]:
    """The arcs between the states of layers that can be reached, and the numbers of these states.

    Args:
        offset: int32[states + 1], where the arcs of each state begin.
        rises: bool[arcs], whether an arc completes a character and so leads one layer up.
        top: The last layer; what would lead above it stays there if ``endless``, and is left out
            otherwise.

    Returns:
        int32[arcs, 4], and int32[layers * states], -1 for what is not reached; the start is 0.
    """
    count = len(offset) - 1
    number = np.empty((top + 1) * count, np.int32)
    order = np.empty((top + 1) * count, np.int32)
    rows = np.empty((0, 4), np.int32)
    for is_counted in (False, True):
        number[:] = -1
        number[start], order[0] = 0, start
        here, met, kept = 0, 1, 0
        while here < met:
            layer, state = order[here] // count, order[here] % count
            for k in range(offset[state], offset[state + 1]):
                above = layer + rises[k]
                if above > top:
                    if not endless:
                        continue
                    above = top
                target = above * count + arcs[k, 3]
                if number[target] < 0:
                    number[target], order[met] = met, target
                    met += 1
                if is_counted:
                    rows[kept, 0], rows[kept, 3] = here, number[target]
                    rows[kept, 1], rows[kept, 2] = arcs[k, 1], arcs[k, 2]
                kept += 1
            here += 1
        if not is_counted:
            rows = np.empty((kept, 4), np.int32)
    return rows, number
