"""All tokens of a vocabulary, read from the states of a marked text; and half characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.jit import jit
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import Bool, Int32, Marked, UInt16

Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]

_NOT_COVERED: Final = np.zeros(0, np.bool_)


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


@jit
def _read_on(
    partial: UInt8, data: UInt8, offset: Int64, tokens: Int32, class_of: UInt16, table: Int32,
    places: Int32, covered: Bool, reached: Int32,
) -> Bool:  # fmt: skip
    """Where tokens lead that go on within a character; returns which of them complete it."""
    complete = np.zeros(tokens.shape[0], np.bool_)
    length = _length(int(partial[0]))
    missing = length - partial.shape[0]
    character_bytes = np.zeros(4, np.uint8)
    character_bytes[: partial.shape[0]] = partial
    for k in range(tokens.shape[0]):
        at, end = int(offset[tokens[k]]), int(offset[tokens[k] + 1])
        read = 0
        while read < missing and at < end and _length(int(data[at])) == 0:
            character_bytes[partial.shape[0] + read] = data[at]
            read += 1
            at += 1
        if read < missing:
            for n in range(places.shape[0]):
                reached[n, k] = places[n] if at == end else -1
            continue
        complete[k] = True
        first = _character(character_bytes, 0, length)
        known = first < class_of.shape[0] and not (covered.shape[0] > 0 and covered[first])
        for n in range(places.shape[0]):
            here = table[places[n], class_of[first]] if known else -1
            rest = at
            while here >= 0 and rest < end:
                size = _length(int(data[rest]))
                if size == 0 or rest + size > end:
                    if size == 0:
                        here = -1
                    break
                character = _character(data, rest, size)
                here = table[here, class_of[character]] if character < class_of.shape[0] else -1
                rest += size
            reached[n, k] = here
    return complete


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

    def within_character(
        self, partial: bytes, places: Sequence[int], tokens: Int32, covered: Bool | None
    ) -> tuple[Int32, Bool]:
        """Where tokens lead that go on within an unfinished character.

        Args:
            partial: The bytes of the character so far.
            places: States where it begins; from the number of states on where it begins a word.
            tokens: int32[n], ids.
            covered: bool[0x110000], the characters that may not be written so; ``None`` for none.

        Returns:
            int32[places, n], where each leads, the place itself if the character is still not
            finished; and bool[n], whether it is.
        """
        reached = np.empty((len(places), len(tokens)), np.int32)
        complete = _read_on(
            np.frombuffer(partial, np.uint8), self._data, self._offset, tokens,
            self._marked.class_of, self._marked.table, np.array(places, np.int32),
            _NOT_COVERED if covered is None else covered, reached,
        )  # fmt: skip
        return reached, complete

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


def character_length(data: bytes) -> int:
    """How many bytes a character has that begins with some bytes."""
    return 2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4


def code_point(data: bytes) -> int:
    """The bits of a code point that the first bytes of a character give.

    Example:
        >>> hex(code_point("\u6771".encode()[:2]))  # The last byte gives six bits more.
        '0x19d'
    """
    found = data[0] & (0x7F >> character_length(data))
    for byte in data[1:]:
        found = found << 6 | byte & 0x3F
    return found


def tail_of(data: bytes) -> bytes:
    """The bytes of the character that some bytes break off in.

    Example:
        >>> tail_of("aé".encode()[:-1]), tail_of(b"abc")
        (b'\\xc3', b'')
    """
    for back in range(1, min(3, len(data)) + 1):
        lead = data[-back]
        if lead < 0x80:
            return b""
        if lead >= 0xC0:
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return data[-back:] if length > back else b""
    return b""
