"""The sentinel states, and masks as packed words.

A decoding state is an int. A state of the token DFA is 0 or more; the three sentinels are negative,
each with one meaning, and are compared, never used as an index.

Bit ``i % 32`` of word ``i // 32`` of a mask is set where token i may come next.

xgrammar, llguidance and vLLM share this layout. A mask of 131,072 tokens takes 16 kB.
"""

from __future__ import annotations

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
