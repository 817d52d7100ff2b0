"""A hash of sequences of small integers, for kernels that number rows, sets and functions.

It is FNV-1a (Fowler, Noll and Vo; RFC 9923) over 64-bit words instead of bytes, folded once at the
end so that the low bits, which choose the slot, depend on the high ones. Equal codes do not prove
equality: the caller compares the sequences themselves.

A table of slots is int32[2^k], −1 for a free slot, probed linearly. Numba inlines these functions
into the kernels that call them, so `explorer.jit` recompiles kernels when this file changes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.jit import jit

Int32 = NDArray[np.int32]

SEED: Final = np.uint64(1469598103934665603)
"""The code of the empty sequence."""

_PRIME: Final = np.uint64(1099511628211)
_FOLD: Final = np.uint64(29)


@jit
def mixed(code: np.uint64, value: int) -> np.uint64:
    """The code of a sequence extended by a value."""
    return (code ^ np.uint64(value)) * _PRIME


@jit
def folded(code: np.uint64) -> np.uint64:
    """The final code of a complete sequence."""
    return code ^ (code >> _FOLD)


@jit
def first_slot(code: np.uint64, mask: int) -> int:
    """The first slot to probe for a code; the next one is ``(slot + 1) & mask``."""
    return np.int64(code & np.uint64(mask))  # type: ignore[return-value]


@jit
def slot_of_pair(first: Int32, second: Int32, slots: Int32, one: int, other: int) -> int:
    """The slot of a pair of numbers among the numbered pairs, or a free one if it is new.

    Args:
        first, second: The numbers of each pair, from −1 on.
        slots: A table of the pairs, not full.
    """
    mask = slots.shape[0] - 1
    slot = first_slot(folded(mixed(mixed(SEED, one + 1), other + 1)), mask)
    while slots[slot] >= 0 and (first[slots[slot]] != one or second[slots[slot]] != other):
        slot = (slot + 1) & mask
    return slot


@jit
def enter_pairs(first: Int32, second: Int32, begin: int, count: int, slots: Int32) -> None:
    """Enter the pairs from number ``begin`` on, which all differ, into an empty table of slots."""
    for number in range(begin, count):
        slots[slot_of_pair(first, second, slots, first[number], second[number])] = number


@jit
def enter(codes: NDArray[np.uint64], count: int, slots: Int32) -> None:
    """Enter the first ``count`` sequences, which all differ, into an empty table of slots."""
    mask = slots.shape[0] - 1
    for known in range(count):
        slot = first_slot(codes[known], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = known
