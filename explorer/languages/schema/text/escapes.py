r"""Every escape of every character: ``\u0061`` for ``a``, in names and constrained strings too.

A finished machine reads each character of a string in one spelling. Here every state inside a
string that reads a character gets escapes to the same target: ``\uXXXX`` with upper or lower
digits, a surrogate pair beyond U+FFFF, and the short escapes of RFC 8259, section 7.

Cost: some six states for each character of each name or listed string. A closed machine has all of
them; a machine that discovers its states has those that a text reaches.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.machine import NO_ARC, Dfa
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.strings import ESCAPED, SHORT_ESCAPES

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
