"""A set of characters as a machine over the bytes of its UTF-8 codes.

A code of k bytes is a number written with one *lead* digit and k - 1 *continuation* digits of
base 64 (The Unicode Standard, table 3-7; RFC 3629). So a set is split by its leading digit, what
remains below each digit is a smaller set, and equal remainders share one state. The result is
the minimal deterministic machine of the set, with arcs over intervals of bytes. Overlong codes,
surrogates and anything past U+10FFFF cannot appear, as they are not numbers of the set.

``[a-z]`` is one arc, the dot 17 arcs over 9 states (microseconds), ``\\w`` 1,184 arcs over 310
states (1.4 ms). The machines of the last thousands of sets are kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np

from explorer.automata.machine import Int32
from explorer.automata.tree.charset import CharSet, Ranges

Arc = tuple[int, int, int, int]

ENTRY: Final = 0
EXIT: Final = 1

# Code length, first and last code point of that length, bits of the lead byte.
_LENGTHS: Final = (
    (1, 0x0, 0x7F, 0x00),
    (2, 0x80, 0x7FF, 0xC0),
    (3, 0x800, 0xFFFF, 0xE0),
    (4, 0x10000, 0x10FFFF, 0xF0),
)
_CONTINUATION: Final = 0x80
_BASE_BITS: Final = 6

_MANY_ARCS: Final = 64
"""From here on, copying arcs is quicker with numpy than in a Python loop."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of an automaton between two states.

    Args:
        arcs: Rows ``(source, low, high, target)`` over symbols. State `ENTRY` only has arcs
            out, `EXIT` only arcs in; the states between them count from 2.
        rows: int32[arcs, 4], the same arcs, kept for large fragments only.
    """

    arcs: tuple[Arc, ...]
    num_inner: int
    rows: Int32 | None = field(default=None, repr=False, compare=False)


@lru_cache(maxsize=8192)
def utf8_fragment(chars: CharSet) -> Fragment:
    """The minimal machine of the UTF-8 codes of a set.

    Example:
        >>> from explorer.automata.tree.charset import char_set
        >>> utf8_fragment(char_set([(97, 122)]))
        Fragment(arcs=((0, 97, 122, 1),), num_inner=0)
        >>> utf8_fragment(char_set([(0xE4, 0xE4)]))  # ä is C3 A4.
        Fragment(arcs=((0, 195, 195, 2), (2, 164, 164, 1)), num_inner=1)
    """
    ranges = chars.ranges
    if not ranges or ranges[-1][1] <= 0x7F:
        return Fragment(tuple((ENTRY, low, high, EXIT) for low, high in ranges), 0)
    builder = _Builder()
    for length, first, last, bits in _LENGTHS:
        part = [
            (max(low, first), min(high, last))
            for low, high in ranges
            if low <= last and high >= first
        ]
        if part:
            builder.add(ENTRY, part, length - 1, bits)
    arcs = tuple(sorted(builder.arcs))
    rows = np.array(arcs, np.int32) if len(arcs) >= _MANY_ARCS else None
    return Fragment(arcs, builder.num_states - 2, rows)


class _Builder:
    """Arcs so far, and the state of each remainder: a set of numbers of so many digits."""

    __slots__ = ("arcs", "known", "num_states")

    def __init__(self) -> None:
        self.arcs: list[Arc] = []
        self.known: dict[tuple[int, Ranges], int] = {}
        self.num_states = 2

    def remainder(self, numbers: Ranges, digits: int) -> int:
        """The state from which exactly these numbers of so many digits lead to the exit."""
        if digits == 0:
            return EXIT
        key = (digits, numbers)
        state = self.known.get(key)
        if state is None:
            state = self.known[key] = self.num_states
            self.num_states += 1
            self.add(state, numbers, digits - 1, _CONTINUATION)
        return state

    def add(self, source: int, numbers: Sequence[tuple[int, int]], below: int, bits: int) -> None:
        """Arcs that read the leading digit of ``numbers``, of which ``below`` digits follow it.

        Args:
            below: How many digits follow the one that is read.
        """
        shift = _BASE_BITS * below
        full = (1 << shift) - 1
        # For each digit, or run of digits with everything below them: what remains.
        pieces: list[tuple[int, int, list[tuple[int, int]]]] = []
        for low, high in numbers:
            first, last = low >> shift, high >> shift
            low &= full
            high &= full
            if first == last:
                _append(pieces, first, first, (low, high))
                continue
            if low:
                _append(pieces, first, first, (low, full))
                first += 1
            whole_to = last if high == full else last - 1
            if first <= whole_to:
                _append(pieces, first, whole_to, (0, full))
            if high != full:
                _append(pieces, last, last, (0, high))
        previous: tuple[int, int, int] | None = None
        for first, last, rest in pieces:
            target = self.remainder(tuple(rest), below)
            if previous and previous[2] == target and previous[1] + 1 == first:
                previous = (previous[0], last, target)
                continue
            if previous:
                self.arcs.append((source, previous[0] | bits, previous[1] | bits, previous[2]))
            previous = (first, last, target)
        if previous:
            self.arcs.append((source, previous[0] | bits, previous[1] | bits, previous[2]))


def _append(
    pieces: list[tuple[int, int, list[tuple[int, int]]]],
    first: int,
    last: int,
    rest: tuple[int, int],
) -> None:
    """Add what remains below the digits; one digit may be met by several ranges."""
    if pieces and pieces[-1][0] == first and pieces[-1][1] == last:
        pieces[-1][2].append(rest)
    else:
        pieces.append((first, last, [rest]))
