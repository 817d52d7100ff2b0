"""All tokens of a vocabulary, read from the states of a marked text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.jit import jit
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import Int32, Marked, UInt16

Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]


@jit
def _length(lead: int) -> int:
    """How many bytes a character has, by the first one; 0 for a byte that begins none."""
    if lead < 0x80:
        return 1
    if lead < 0xC0:
        return 0
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@jit
def _character(data: UInt8, at: int, length: int) -> int:
    """The code point of a complete character."""
    if length == 1:
        return data[at]
    found = data[at] & (0x7F >> length)
    for k in range(1, length):
        found = (found << 6) | (data[at + k] & 0x3F)
    return found


@jit
def _read_all(
    data: UInt8, offset: Int64, class_of: UInt16, table: Int32, place: int, reached: Int32
) -> None:
    """Where the complete characters of each token lead, none of them the first of a word but one.

    A token without bytes, or that begins within a character, leads nowhere.
    """
    for token in range(offset.shape[0] - 1):
        at, end = offset[token], offset[token + 1]
        here = place if at < end and _length(int(data[at])) > 0 else -1
        while here >= 0 and at < end:
            length = _length(int(data[at]))
            if length == 0 or at + length > end:
                if length == 0:
                    here = -1
                break
            character = _character(data, at, length)
            here = table[here, class_of[character]] if character < class_of.shape[0] else -1
            at += length
        reached[token] = here


class MarkedTokens:
    """Where tokens lead in texts with the cuts marked: rows are worked out when asked, and kept.

    Args:
        marked: The automaton.
        vocabulary: The tokens.
    """

    def __init__(self, marked: Marked, vocabulary: Vocabulary) -> None:
        self._marked = marked
        parts: list[bytes] = [data or b"" for data in vocabulary.tokens]
        self.lengths: Int64 = np.array([len(part) for part in parts], np.int64)
        self._data = np.frombuffer(b"".join(parts), np.uint8)
        self._offset: Int64 = np.concatenate(([0], np.cumsum(self.lengths)))
        self._reached: dict[int, Int32] = {}

    def from_place(self, place: int) -> Int32:
        """Where each token leads from a place: int32[ids], `LOST` where it leads nowhere.

        Args:
            place: A state; one from the number of states on where the token begins a word.
        """
        reached = self._reached.get(place)
        if reached is None:
            reached = np.empty(len(self.lengths), np.int32)
            marked = self._marked
            _read_all(self._data, self._offset, marked.class_of, marked.table, place, reached)
            self._reached[place] = reached
        return reached
