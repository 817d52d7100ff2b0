"""A table over characters as one over the bytes of UTF-8.

The bytes of a character lead through states of their own. Two beginnings of characters from which
the same last bytes lead to the same states are one state: nearly all of a script, mostly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.vocabulary.canonical.determinized import LOST, Int32, Int64

UInt16 = NDArray[np.uint16]
UInt64 = NDArray[np.uint64]

_CONTINUED: Final = 64
"""How many bytes may go on with a character."""

_FACTORS: Final = (
    np.random.default_rng(1).integers(1 << 62, size=_CONTINUED, dtype=np.uint64) * np.uint64(2)
    + np.uint64(1)
)  # fmt: skip


def byte_rows(spelled: Sequence[UInt16], table: Int32) -> tuple[Int32, int]:
    """The table over bytes.

    Args:
        spelled: uint16[0x110000] each, the classes of characters: of those that whole pieces spell,
            and perhaps of those that pieces of one byte do. A class without a column leads nowhere.
        table: int32[2 * states, classes]; in the upper half a word begins.

    Returns:
        int32[2 * all states, 256 for each of ``spelled``], and the number of all states; those of
        the table over characters come first.
    """
    rows, _ = table.shape
    # Two classes more: characters without a column, and what is not a character.
    led = np.concatenate([table, np.full((rows, 2), LOST, np.int32)], axis=1).astype(np.int64)
    states = _States(rows // 2)
    roots = [_one_spelling(class_of, led, states, k) for k, class_of in enumerate(spelled)]
    root = np.concatenate(roots, axis=1).astype(np.int32)
    n, count, width = rows // 2, states.count, NUM_BYTES * len(spelled)
    targets = np.full((2, count, width), LOST, np.int32)
    targets[0, :n], targets[1, :n] = root[:n], root[n:]
    for first, row, base in states.made:
        low = base * NUM_BYTES + 0x80
        targets[0, first : first + len(row), low : low + _CONTINUED] = row
    return targets.reshape(2 * count, width), count


class _States:
    """States within characters, numbered after those between them."""

    def __init__(self, first: int) -> None:
        self.count = first
        self.made: list[tuple[int, Int64, int]] = []

    def of(self, rows: Int64, base: int) -> Int64:
        """The states of some rows of 64 bytes each; `LOST` where all of a row is."""
        shape = rows.shape[:-1]
        flat = rows.reshape(-1, _CONTINUED)
        value = ((flat + 2).astype(np.uint64) * _FACTORS).sum(axis=1)
        _, firsts, which = np.unique(value, return_index=True, return_inverse=True)
        distinct = flat[firsts]
        some = (distinct != LOST).any(axis=1)
        number = np.full(len(firsts), LOST, np.int64)
        number[some] = self.count + np.arange(int(some.sum()))
        self.made.append((self.count, distinct[some], base))
        self.count += int(some.sum())
        return number[which.reshape(-1)].reshape(shape)


def _one_spelling(class_of: UInt16, led: Int64, states: _States, base: int) -> Int64:
    """The targets of the first bytes of characters: int64[rows, 256]."""
    nothing = led.shape[1] - 1
    classes = class_of.astype(np.int64)
    classes[0xD800:0xE000] = nothing
    blocks = np.concatenate([classes.reshape(-1, _CONTINUED), np.full((1, _CONTINUED), nothing)])
    blocks, block_of = np.unique(blocks, axis=0, return_inverse=True)
    block_of = block_of.reshape(-1)
    none = int(block_of[-1])
    second = block_of[:-1].reshape(-1, _CONTINUED)
    # The bytes E0 and F0 are not followed by what a shorter character would be.
    second = np.concatenate([second, np.full((1, _CONTINUED), none)])
    second[0, :32] = none
    second, second_of = np.unique(second, axis=0, return_inverse=True)
    second_of = second_of.reshape(-1)
    third = np.full(5 * _CONTINUED, second_of[-1])
    third[16 : len(second_of) - 1] = second_of[16:-1]
    third = third.reshape(5, _CONTINUED)
    root = np.full((len(led), NUM_BYTES), LOST, np.int64)
    root[:, :0x80] = led[:, classes[:0x80]]
    inner = states.of(led[:, blocks], base)
    root[:, 0xC2:0xE0] = inner[:, block_of[2:32]]
    inner = states.of(inner[:, second], base)
    root[:, 0xE0:0xF0] = inner[:, second_of[:16]]
    root[:, 0xF0:0xF5] = states.of(inner[:, third], base)
    return root
