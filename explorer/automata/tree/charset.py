"""A set of characters, as sorted ranges of code points: what one step of a pattern reads.

All sets are *interned*: two equal sets are one object. So the sets hash and compare by
identity, at no cost even for the 734 ranges of ``\\w``, and whatever is derived from one (its
UTF-8 machine, its place among the symbol classes of a pattern) is cached by the object alone.

Surrogates (U+D800–U+DFFF) are never members: they are code points, but no text in UTF-8 can
hold them. A pattern that asks for one asks for the empty set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

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
    """The set of any ranges, in any order; surrogates are left out.

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
