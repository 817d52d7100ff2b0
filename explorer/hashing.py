"""The hash of runs of small integers, for kernels that number rows, sets and functions.

It is FNV-1a (Fowler, Noll and Vo; RFC 9923) over 64-bit words instead of bytes, folded once at the
end so that the low bits, which choose the slot, depend on the high ones. A code is only a hint:
whoever finds a known code compares the runs themselves.

A table of slots is int32[2^k], −1 where a slot is free, probed linearly. Numba inlines all of this
into the kernels that call it, so `explorer.jit` compiles kernels anew when this file changes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.jit import jit

SEED: Final = np.uint64(1469598103934665603)
"""The code of the empty run."""

_PRIME: Final = np.uint64(1099511628211)
_FOLD: Final = np.uint64(29)


@jit
def mixed(code: np.uint64, value: int) -> np.uint64:
    """The code of a run that goes on with a value."""
    return (code ^ np.uint64(value)) * _PRIME


@jit
def folded(code: np.uint64) -> np.uint64:
    """The code of a whole run."""
    return code ^ (code >> _FOLD)


@jit
def first_slot(code: np.uint64, mask: int) -> int:
    """The first place to look for a code; the next places are ``(slot + 1) & mask``."""
    return np.int64(code & np.uint64(mask))  # type: ignore[return-value]


@jit
def enter(codes: NDArray[np.uint64], count: int, slots: NDArray[np.int32]) -> None:
    """Enter the first ``count`` runs, which all differ, into an empty table of slots."""
    mask = slots.shape[0] - 1
    for known in range(count):
        slot = first_slot(codes[known], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = known
