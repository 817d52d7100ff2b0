"""All tokens of a vocabulary, read from the states of a marked text.

A rule tells few bytes apart: to most splitters one lower-case word of five letters is as another.
So tokens are read by their *spelling*, the sequence of the classes of their bytes; of 131,072
tokens some ten thousand differ. Spellings are read in their order, each from where it leaves the
one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.jit import jit
from explorer.memo import Kept
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import Bool, Int32, Marked, UInt16

Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]

FEW: Final = 2048
"""Below this number each token is read by itself."""

_LARGEST_TABLE: Final = 1 << 22


@jit
def _read_all(
    classes: UInt16, offset: Int64, shared: Int32, table: Int32, place: int, stack: Int32,
    reached: Int32,
) -> None:  # fmt: skip
    """Compute the target of each spelling; an empty one leads nowhere."""
    stack[0] = place
    alive = 0
    for word in range(offset.shape[0] - 1):
        begin, end = offset[word], offset[word + 1]
        reached[word] = -1
        if shared[word] > alive or begin == end:
            continue
        alive = shared[word]
        here = stack[alive]
        for at in range(begin + alive, end):
            here = table[here, classes[at]]
            if here < 0:
                break
            alive += 1
            stack[alive] = here
        if here >= 0:
            reached[word] = here


@jit
def _read_some(
    classes: UInt16, offset: Int64, spelled: Int32, table: Int32, place: int, reached: Int32
) -> None:
    """Compute the targets of some spellings, each read by itself."""
    for k in range(spelled.shape[0]):
        begin, end = offset[spelled[k]], offset[spelled[k] + 1]
        here = place if begin < end else -1
        for at in range(begin, end):
            here = table[here, classes[at]]
            if here < 0:
                break
        reached[k] = here


@jit
def _shared(classes: UInt16, offset: Int64, shared: Int32) -> None:
    """Compute the length of the prefix that each spelling shares with the one before it."""
    for word in range(1, offset.shape[0] - 1):
        before, here = offset[word - 1], offset[word]
        most = min(here - before, offset[word + 1] - here)
        count = 0
        while count < most and classes[before + count] == classes[here + count]:
            count += 1
        shared[word] = count


class MarkedTokens:
    """The targets of tokens in texts with the cuts marked; rows are computed on demand and kept.

    Args:
        single: bool[ids], the tokens of one byte that spell characters without a piece, or
            ``None``.

    Attributes:
        lengths: int64[ids], in bytes.
        spelling_of: int32[ids], the number of each token's spelling.
        num_spellings: The number of spellings.
    """

    def __init__(self, marked: Marked, vocabulary: Vocabulary, single: Bool | None = None) -> None:
        parts = [data or b"" for data in vocabulary.tokens]
        self.lengths: Int64 = np.array([len(part) for part in parts], np.int64)
        symbols = np.frombuffer(b"".join(parts), np.uint8).astype(np.int64)
        if single is not None:
            symbols += NUM_BYTES * np.repeat(single[: len(parts)], self.lengths)
        # Of two bytes each, the larger one first, spellings sort as bytes do.
        spelled = marked.class_of[symbols].astype(">u2").tobytes()
        ends = (2 * np.cumsum(self.lengths)).tolist()
        numbers: dict[bytes, int] = {}
        before = 0
        spelling = np.empty(len(parts), np.int32)
        for token, end in enumerate(ends):
            spelling[token] = numbers.setdefault(spelled[before:end], len(numbers))
            before = end
        words = sorted(numbers)
        number = np.empty(len(words), np.int32)
        number[[numbers[word] for word in words]] = np.arange(len(words), dtype=np.int32)
        self.spelling_of: Int32 = number[spelling]
        self.num_spellings = len(words)
        self._classes = np.frombuffer(b"".join(words), ">u2").astype(np.uint16)
        sizes = np.array([len(word) // 2 for word in words], np.int64)
        self._offset: Int64 = np.concatenate(([0], np.cumsum(sizes)))
        self._common = np.zeros(len(words), np.int32)
        _shared(self._classes, self._offset, self._common)
        self._table = marked.table
        self._stack_size = int(sizes.max(initial=0)) + 1
        self._rows: Kept[int, Int32] = Kept()

    def row(self, place: int) -> Int32:
        """The target of each spelling from a place: int32[spellings], `LOST` where there is none.

        Args:
            place: A state; plus the number of states where the token begins a word.
        """
        reached = self._rows.get(place)
        if reached is None:
            reached = np.empty(self.num_spellings, np.int32)
            stack = np.empty(self._stack_size, np.int32)
            _read_all(self._classes, self._offset, self._common, self._table, place, stack, reached)
            self._rows.put(place, reached, reached.nbytes)
        return reached

    def lead(self, place: int, tokens: Int32) -> Int32:
        """The targets of some tokens from a place: int32[n]; few tokens are read one by one."""
        spelled = self.spelling_of[tokens]
        if len(tokens) >= FEW:
            return self.row(place)[spelled]
        reached = np.empty(len(tokens), np.int32)
        _read_some(self._classes, self._offset, spelled, self._table, place, reached)
        return reached


def distinct(columns: Sequence[NDArray[np.integer]]) -> tuple[Int64, Int64]:
    """Number the distinct rows of some columns of small numbers from 0 on.

    Small numbers need no sorting: a table of those that occur suffices.

    Args:
        columns: int[n] each, 0 or more.

    Returns:
        int64[n], the number of each row; int64[rows], an index at which each number occurs.

    Example:
        >>> key, firsts = distinct([np.array([1, 0, 1]), np.array([2, 2, 2])])
        >>> key.tolist(), sorted(firsts.tolist())
        ([1, 0, 1], [1, 2])
    """
    key = np.zeros(len(columns[0]), np.int64)
    count = 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        joined = key * width + column
        if count * width > _LARGEST_TABLE:
            values, key = np.unique(joined, return_inverse=True)
            count = len(values)
            continue
        present = np.zeros(count * width, np.bool_)
        present[joined] = True
        key = (np.cumsum(present) - 1)[joined]
        count = int(present.sum())
    firsts = np.zeros(count, np.int64)
    firsts[key] = np.arange(len(key))
    return key, firsts
