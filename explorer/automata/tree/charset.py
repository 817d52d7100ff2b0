"""Sets of characters as sorted ranges of code points, and as machines over UTF-8 bytes.

All sets are *interned*: two equal sets are one object. So the sets hash and compare by
identity, at no cost even for the 734 ranges of ``\\w``, and whatever is derived from one (its
UTF-8 machine, its place among the symbol classes of a pattern) is cached by the object alone.

Surrogates (U+D800–U+DFFF) are never members: they are code points, but no text in UTF-8 can
hold them. A pattern that asks for one asks for the empty set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32

Ranges = tuple[tuple[int, int], ...]

MAX_CODE_POINT: Final = 0x10FFFF
FIRST_SURROGATE: Final = 0xD800
LAST_SURROGATE: Final = 0xDFFF


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class CharSet:
    """An interned set of characters; make one with `char_set` or `character`.

    Args:
        ranges: Pairs ``(low, high)``, both included, ascending, neither overlapping nor touching.
    """

    ranges: Ranges
    _bounds: list[NDArray[np.int64]] = field(default_factory=list[NDArray[np.int64]], repr=False)

    def __contains__(self, code_point: int) -> bool:
        return any(low <= code_point <= high for low, high in self.ranges)

    def size(self) -> int:
        """The number of characters in the set."""
        return sum(high - low + 1 for low, high in self.ranges)

    def bounds(self) -> NDArray[np.int64]:
        """int64[2 · ranges]: each ``low`` and each ``high + 1``, ascending (computed once)."""
        if not self._bounds:
            flat = np.array(self.ranges, np.int64).reshape(-1, 2)
            flat[:, 1] += 1
            self._bounds.append(flat.reshape(-1))
        return self._bounds[0]


_interned: WeakValueDictionary[Ranges, CharSet] = WeakValueDictionary()


def intern_ranges(ranges: Ranges) -> CharSet:
    """The one `CharSet` of ranges that are already in normal form."""
    known = _interned.get(ranges)
    if known is None:
        known = CharSet(ranges)
        known = _interned.setdefault(ranges, known)
    return known


def char_set(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """The set of characters in ranges, which come in any order; surrogates are left out.

    Example:
        >>> char_set([(99, 100), (97, 98)]).ranges
        ((97, 100),)
        >>> char_set([(0xD7FF, 0xE000)]).ranges
        ((55295, 55295), (57344, 57344))
    """
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        elif low <= high:
            merged.append((low, high))
    if merged and merged[-1][1] >= FIRST_SURROGATE:
        merged = [piece for low, high in merged for piece in _without_surrogates(low, high)]
    return intern_ranges(tuple(merged))


def _without_surrogates(low: int, high: int) -> list[tuple[int, int]]:
    if high < FIRST_SURROGATE or low > LAST_SURROGATE:
        return [(low, high)]
    pieces = [(low, FIRST_SURROGATE - 1), (LAST_SURROGATE + 1, high)]
    return [(first, last) for first, last in pieces if first <= last]


def complement(chars: CharSet) -> CharSet:
    """All characters that are not in the set.

    Example:
        >>> complement(char_set([(1, 0x10FFFF)])).ranges
        ((0, 0),)
    """
    gaps: list[tuple[int, int]] = []
    free = 0
    for low, high in chars.ranges:
        if low > free:
            gaps.append((free, low - 1))
        free = high + 1
    if free <= MAX_CODE_POINT:
        gaps.append((free, MAX_CODE_POINT))
    return char_set(gaps)


def without(chars: CharSet, removed: CharSet) -> CharSet:
    """The characters of a set that are not in another one.

    Example:
        >>> without(char_set([(97, 122)]), characters("aez")).ranges
        ((98, 100), (102, 121))
    """
    return complement(char_set([*complement(chars).ranges, *removed.ranges]))


def characters(text: Iterable[str]) -> CharSet:
    """The set of the characters of a text, or of a list of them."""
    return char_set((ord(char), ord(char)) for char in text)


class _CharacterSets(dict[str, CharSet]):
    """The set of each single character, made when first asked for."""

    def __missing__(self, char: str) -> CharSet:
        code_point = ord(char)
        made = char_set([(code_point, code_point)])
        if len(self) < 65_536:
            self[char] = made
        return made


character = _CharacterSets().__getitem__
"""The set of one character: ``character("a").ranges == ((97, 97),)``."""

ANY: Final = char_set([(0, MAX_CODE_POINT)])
NOTHING: Final = char_set([])
NEWLINE: Final = character("\n")
NOT_NEWLINE: Final = complement(NEWLINE)


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
"""The number of arcs from which numpy copies them faster than a Python loop."""


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
    """The arcs so far, and the state of each remainder, a set of numbers with its digit count."""

    __slots__ = ("arcs", "known", "num_states")

    def __init__(self) -> None:
        self.arcs: list[Arc] = []
        self.known: dict[tuple[int, Ranges], int] = {}
        self.num_states = 2

    def remainder(self, numbers: Ranges, digits: int) -> int:
        """The state that reads exactly the given numbers, written with ``digits`` digits."""
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
        """Add arcs that read the leading digit of ``numbers``.

        Args:
            below: The number of digits after the leading one.
        """
        shift = _BASE_BITS * below
        full = (1 << shift) - 1
        # The remainders of each digit, or of each run of digits with all remainders.
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
    """Add a remainder of a run of digits; several ranges may share one digit."""
    if pieces and pieces[-1][0] == first and pieces[-1][1] == last:
        pieces[-1][2].append(rest)
    else:
        pieces.append((first, last, [rest]))
