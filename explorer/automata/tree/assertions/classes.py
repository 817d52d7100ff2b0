"""The character classes of one pattern: an alphabet of a few symbols instead of a million.

Characters that no set of the pattern tells apart behave alike everywhere in it. Each class of
such characters is one symbol; ``\\bfoo\\b`` has four: ``f``, ``o``, the other word characters, and
the rest. Whatever is decided character by character can be decided over these symbols, and is
written out in bytes once, at the end. (As UTF-8 is a code, the two alphabets give the same
language; a boundary in Unicode then costs five states where it costs hundreds over bytes.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from explorer.automata.tree.charset import (
    FIRST_SURROGATE,
    LAST_SURROGATE,
    MAX_CODE_POINT,
    CharSet,
    char_set,
)
from explorer.automata.tree.utf8 import ENTRY, EXIT, Fragment


@dataclass(frozen=True, slots=True, eq=False)
class CharClasses:
    """A partition of all characters.

    Args:
        bounds: int64[n + 1], where the pieces of the code points begin, ascending, and the end.
        piece_class: int32[n], the class of each piece, or −1 for the surrogates.
        num_classes: Classes are ``0 .. num_classes - 1``.
        fragments: For each set that the partition was made for: reading one of its symbols.
    """

    bounds: NDArray[np.int64]
    piece_class: NDArray[np.int32]
    num_classes: int
    fragments: dict[CharSet, Fragment]

    def write(self, chars: CharSet) -> Fragment:
        """A set that the partition was made for, over the symbols."""
        return self.fragments[chars]

    def intervals(self, chars: CharSet) -> Iterator[tuple[int, int]]:
        """The symbols of such a set, as inclusive intervals."""
        return ((low, high) for _, low, high, _ in self.fragments[chars].arcs)

    def characters(self, symbols: Iterable[int]) -> CharSet:
        """All characters of some classes."""
        chosen = np.zeros(self.num_classes + 1, np.bool_)
        chosen[list(symbols)] = True
        inside = chosen[self.piece_class]  # −1 is the last entry, which is never chosen.
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
        cuts = self.bounds[edges].tolist()
        return char_set((low, past - 1) for low, past in zip(cuts[::2], cuts[1::2], strict=True))


@lru_cache(maxsize=128)
def char_classes(sets: frozenset[CharSet]) -> CharClasses:
    """The coarsest partition in which every given set is a union of classes.

    Example:
        >>> from explorer.automata.tree.charset import character
        >>> classes = char_classes(frozenset([character("a"), character("b")]))
        >>> classes.num_classes
        3
    """
    ordered = sorted(sets, key=lambda chars: chars.ranges)
    ends = [0, FIRST_SURROGATE, LAST_SURROGATE + 1, MAX_CODE_POINT + 1]
    bounds = np.unique(np.concatenate([np.array(ends, np.int64), *(s.bounds() for s in ordered)]))
    pieces = len(bounds) - 1
    # One bit per set and piece; pieces with equal bits are one class.
    member = np.zeros((len(ordered) + 1, pieces), np.bool_)
    for k, chars in enumerate(ordered):
        member[k] = np.searchsorted(chars.bounds(), bounds[:-1], side="right") % 2 == 1
    packed = np.ascontiguousarray(np.packbits(member, axis=0).T)
    piece_class = np.full(pieces, -1, np.int32)
    number: dict[bytes, int] = {}
    for piece in range(pieces):
        if not FIRST_SURROGATE <= bounds[piece] <= LAST_SURROGATE:
            piece_class[piece] = number.setdefault(packed[piece].tobytes(), len(number))
    fragments: dict[CharSet, Fragment] = {}
    for k, chars in enumerate(ordered):
        symbols = np.unique(piece_class[member[k]])
        gaps = np.flatnonzero(np.diff(symbols) > 1)
        lows = symbols[np.concatenate([[0], gaps + 1])] if len(symbols) else symbols
        highs = symbols[np.concatenate([gaps, [-1]])] if len(symbols) else symbols
        arcs = tuple(
            (ENTRY, int(low), int(high), EXIT) for low, high in zip(lows, highs, strict=True)
        )
        fragments[chars] = Fragment(arcs, 0)
    return CharClasses(bounds, piece_class, len(number), fragments)
