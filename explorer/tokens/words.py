"""The sentinel states, and masks as packed words.

A decoding state is an int. A state of the token DFA is 0 or more; the three sentinels are negative,
each with one meaning, and are compared, never used as an index.

Bit ``i % 32`` of word ``i // 32`` of a mask is set where token i may come next.

xgrammar, llguidance and vLLM share this layout. A mask of 131,072 tokens takes 16 kB.

A table's mask is put together class by class and not id by id (`ClassWords`). A large class (a
quoted string's run of letters holds 126,000 ids) is kept as packed words and joined to a mask by
OR, 16 kB at a time; the ids of small classes are set one by one. Either costs about half a
microsecond for a class of `num_words / 8` ids, so that is where the line is drawn. A mask at
131,072 tokens takes a few microseconds, where reading a row of classes id by id takes a hundred.

Source: Koo, Liu & He 2024 store such sets under "terminal labels"; here the classes are found by
the composition, so the sets are disjoint and every mask is a union of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.arguments import shown, whole_number
from explorer.automata.machine import Bool, Int32
from explorer.errors import ExplorerError
from explorer.jit import jit

DEAD: Final = -1
"""No continuation: every token is masked. The table's entry where a token is not allowed."""

DONE: Final = -2
"""The text is complete and its end was written: only EOS is allowed, and the state stays."""

FREE: Final = -3
"""No constraint: every id of the vocabulary is allowed, and the state stays."""

SENTINEL_DISTANCE: Final[dict[int, int | None]] = {DEAD: None, DONE: 0, FREE: 1}
"""The fewest tokens from a sentinel to the end of the text, EOS included; ``None`` for no way."""

DEAD_CLASS: Final = 0
"""The class of tokens that no state allows; it includes ids that are not text."""

EOS_CLASS: Final = 1
"""The class of the ids that end the text."""

NUM_FIXED_CLASSES: Final = 2


def checked_state(state: int, num_states: int) -> int:
    """A state as a plain int, checked to exist.

    Args:
        state: A state or a sentinel.
        num_states: The number of states that the machine has, or has met so far.

    Raises:
        ExplorerError: The value is not a whole number, or there is no such state.
    """
    if type(state) is not int:  # The plain case comes first: this runs at every step.
        state = whole_number("state", state, None)
    if 0 <= state < num_states or state in (DEAD, DONE, FREE):
        return state
    known = f"states 0 to {num_states - 1}, " if num_states else ""
    raise ExplorerError(
        f"There is no state {shown(state)}: the machine has {known}"
        f"DEAD ({DEAD}), DONE ({DONE}) and FREE ({FREE}).",
        remedy="Take states from `start` and `step`.",
        evidence={"state": state, "num_states": num_states},
    )


UInt16 = NDArray[np.uint16]
UInt32 = NDArray[np.uint32]
Cells = NDArray[np.int16] | Int32


def num_words(num_tokens: int) -> int:
    """The number of words of a mask over a number of tokens."""
    return (num_tokens + 31) // 32


def pack(mask: Bool) -> UInt32:
    """A mask packed into words.

    Args:
        mask: bool[tokens].

    Returns:
        uint32[ceil(tokens / 32)], the bits past the vocabulary 0.

    Example:
        >>> pack(np.array([True, False, True])).tolist()
        [5]
    """
    words = np.zeros(num_words(len(mask)), "<u4")
    bits = np.packbits(mask, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def unpack(words: UInt32, num_tokens: int) -> Bool:
    """The mask that packed words hold.

    Args:
        words: uint32[ceil(num_tokens / 32)].
        num_tokens: The width of the vocabulary.

    Returns:
        bool[num_tokens].
    """
    bits = np.unpackbits(words.view(np.uint8), count=num_tokens, bitorder="little")
    return bits.view(np.bool_)


@jit
def _ids(words: UInt32, count: int) -> Int32:
    result = np.empty(count, np.int32)
    filled = 0
    for k in range(words.shape[0]):
        word = words[k]
        bit = 32 * k
        while word != 0:
            if word & np.uint32(1):
                result[filled] = bit
                filled += 1
            word >>= np.uint32(1)
            bit += 1
    return result


def ids(words: UInt32) -> Int32:
    """The token ids that a mask allows.

    Args:
        words: uint32[n], a packed mask.

    Returns:
        int32[m], ascending.

    Example:
        >>> ids(pack(np.array([True, False, True]))).tolist()
        [0, 2]
    """
    return _ids(words, int(np.bitwise_count(words).sum()))


@jit
def set_bits(words: UInt32, ids: Int32) -> None:
    """Set the bits of some ids."""
    for k in range(ids.shape[0]):
        words[ids[k] >> 5] |= np.uint32(1) << np.uint32(ids[k] & 31)


@jit
def has_bits(words: UInt32, ids: Int32) -> Bool:
    """Whether the bit of each of some ids is set: bool[len(ids)]."""
    present = np.empty(ids.shape[0], np.bool_)
    for k in range(ids.shape[0]):
        present[k] = (words[ids[k] >> 5] >> np.uint32(ids[k] & 31)) & np.uint32(1) != 0
    return present


@jit
def _sizes(token_class: UInt16 | Int32, num_classes: int) -> NDArray[np.int64]:
    """The number of ids of each class."""
    # Four counters take turns: neighbouring ids often share a class, and adding to one counter
    # again and again would wait for itself.
    tally = np.zeros(4 * num_classes, np.int32)
    whole = token_class.shape[0] // 4 * 4
    for k in range(0, whole, 4):
        tally[token_class[k]] += 1
        tally[num_classes + token_class[k + 1]] += 1
        tally[2 * num_classes + token_class[k + 2]] += 1
        tally[3 * num_classes + token_class[k + 3]] += 1
    for k in range(whole, token_class.shape[0]):
        tally[token_class[k]] += 1
    sizes = np.zeros(num_classes, np.int64)
    for k in range(4):
        for class_ in range(num_classes):
            sizes[class_] += tally[k * num_classes + class_]
    return sizes


@jit
def _chosen(token_class: UInt16 | Int32, wanted: Bool, count: int) -> Int32:
    """The ids whose class is wanted, ascending."""
    # One entry more than needed: every id is written, and only wanted ones advance the count.
    ids = np.empty(count + 1, np.int32)
    filled = 0
    for token in range(token_class.shape[0]):
        ids[filled] = token
        filled += wanted[token_class[token]]
    return ids[:count]


@jit
def _live(blocks: NDArray[np.uint64], token_class: UInt16, count: int) -> Int32:
    """The ids whose class is not 0, ascending; ``blocks`` are four classes at a time."""
    ids = np.empty(count, np.int32)
    filled = 0
    for k in range(blocks.shape[0]):
        if blocks[k] != 0:
            for token in range(4 * k, 4 * k + 4):
                if token_class[token] != 0:
                    ids[filled] = token
                    filled += 1
    for token in range(4 * blocks.shape[0], token_class.shape[0]):
        if token_class[token] != 0:
            ids[filled] = token
            filled += 1
    return ids


@jit
def _by_class(ids: Int32, token_class: UInt16 | Int32, place: NDArray[np.int64]) -> Int32:
    """The ids grouped by class; each class begins at its ``place``."""
    ordered = np.empty_like(ids)
    for k in range(ids.shape[0]):
        class_ = token_class[ids[k]]
        ordered[place[class_]] = ids[k]
        place[class_] += 1
    return ordered


@jit
def _join(
    row: Cells, start: NDArray[np.int64], ids: Int32, large: Int32, words: UInt32, out: UInt32
) -> None:
    """The mask of a row: the union of the classes that are not -1 in it."""
    for class_ in range(row.shape[0]):
        if row[class_] == -1:
            continue
        if large[class_] >= 0:
            block = words[large[class_]]
            for k in range(out.shape[0]):
                out[k] |= block[k]
        else:
            for k in range(start[class_], start[class_ + 1]):
                token = ids[k]
                out[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@dataclass(frozen=True, slots=True, eq=False)
class ClassWords:
    """The ids of every token class, in the form from which masks are joined.

    Args:
        start: int64[classes + 1], where each small class begins in ``ids``.
        ids: int32[n], the ids of small classes, class by class.
        large: int32[classes], the row of ``words`` of a large class, else −1.
        words: uint32[large classes, ceil(tokens / 32)].
    """

    start: NDArray[np.int64]
    ids: Int32
    large: Int32
    words: UInt32

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.start.nbytes + self.ids.nbytes + self.large.nbytes + self.words.nbytes

    def mask(self, row: Cells) -> UInt32:
        """The packed mask of a row of the table.

        Args:
            row: int16 or int32[classes], -1 where the class is not allowed.

        Returns:
            uint32[ceil(tokens / 32)].
        """
        out = np.zeros(self.words.shape[1], np.uint32)
        _join(row, self.start, self.ids, self.large, self.words, out)
        return out


def _most(num_tokens: int) -> int:
    """The most ids of a small class."""
    return max(8, num_words(num_tokens) // 8)


def packed_bytes(num_tokens: int, num_live: int) -> int:
    """The most memory that `class_words` can take, with every class large."""
    return 8 * num_live + num_live // _most(num_tokens) * 4 * num_words(num_tokens)


def class_words(token_class: UInt16 | Int32, num_classes: int, num_live: int) -> ClassWords:
    """Sort the ids of a vocabulary by class. Cost: 0.2 ms for 131,072 ids, 0.02 ms for few live.

    Args:
        token_class: uint16 or int32[tokens]; class 0 is never allowed and left out.
        num_classes: The number of classes.
        num_live: The number of ids outside of class 0.

    Example:
        >>> sets = class_words(np.array([2, 0, 1, 2], np.uint16), 3, 3)
        >>> sets.mask(np.array([-1, -1, 7], np.int16)).tolist()
        [9]
    """
    width = num_words(len(token_class))
    most = _most(len(token_class))
    large = np.full(num_classes, -1, np.int32)
    if num_live <= most and token_class.dtype == np.uint16:  # No class can be large.
        narrow = np.ascontiguousarray(token_class, np.uint16)
        blocks = narrow[: len(narrow) // 4 * 4].view(np.uint64)
        ids = _live(blocks, narrow, num_live)
        sizes = np.bincount(narrow[ids], minlength=num_classes)
    else:
        sizes = _sizes(token_class, num_classes)
        sizes[DEAD_CLASS] = 0
        is_large = sizes > most
        large[is_large] = np.arange(np.count_nonzero(is_large))
        sizes[is_large] = 0
        ids = _chosen(token_class, sizes > 0, int(sizes.sum()))
    start = np.zeros(num_classes + 1, np.int64)
    np.cumsum(sizes, out=start[1:])
    ids = _by_class(ids, token_class, start[:-1].copy())
    words = np.zeros((np.count_nonzero(large >= 0), width), np.uint32)
    for row, class_ in enumerate(np.flatnonzero(large >= 0)):
        words[row] = pack(token_class == class_)
    return ClassWords(start, ids, large, words)
