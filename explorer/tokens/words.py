"""Masks as packed words: bit ``i % 32`` of word ``i // 32`` is set where token i may come next.

The layout that xgrammar, llguidance and vLLM share. A mask of 131,072 tokens takes 16 kB.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.jit import jit

UInt32 = NDArray[np.uint32]


def num_words(num_tokens: int) -> int:
    """How many words a mask over so many tokens takes."""
    return (num_tokens + 31) // 32


def pack(mask: Bool) -> UInt32:
    """A mask as words.

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
    """The mask that words hold.

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
    found = 0
    for k in range(words.shape[0]):
        word = words[k]
        bit = 32 * k
        while word != 0:
            if word & np.uint32(1):
                result[found] = bit
                found += 1
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
    found = np.empty(ids.shape[0], np.bool_)
    for k in range(ids.shape[0]):
        found[k] = (words[ids[k] >> 5] >> np.uint32(ids[k] & 31)) & np.uint32(1) != 0
    return found
