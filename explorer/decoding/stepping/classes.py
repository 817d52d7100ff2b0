"""The classes of tokens that a sequence of masks tells apart.

A closed table brings its token classes along. For any other machine a trace needs classes too
(`explorer.decoding.trace.masks`), and they follow from the masks alone: all ids are in one class
until a mask allows some of a class and not the others; then those that it allows become a class of
their own. The numbers depend only on the masks and their order, so equal runs have equal classes.

A session asks for its trace after every step, and the next path mostly begins as the last one did.
`SeenClasses` therefore keeps what it has split and goes on from there.

Cost: one pass over the vocabulary per mask that was not seen before (0.15 ms at 131,072 ids).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.automata.machine import Bool, Int32
from explorer.decoding.trace.masks import pack_classes
from explorer.jit import jit
from explorer.tokens.states import DEAD_CLASS, EOS_CLASS, NUM_FIXED_CLASSES
from explorer.tokens.words import UInt32


@jit
def _split(words: UInt32, token_class: Int32, sizes: Int32, count: int) -> int:
    """Split the classes by one mask, in place; the number of classes after that.

    The ids of a class that the mask allows get a new number where it does not allow all of them,
    and always where they were in the dead class.
    """
    allowed = np.zeros(count, np.int32)
    for token in range(token_class.shape[0]):
        if words[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            allowed[token_class[token]] += 1
    following = np.full(count, -1, np.int32)
    before = count
    for token in range(token_class.shape[0]):
        old = token_class[token]
        if old >= before or not words[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            continue
        if old != 0 and allowed[old] == sizes[old]:
            continue
        if following[old] < 0:
            following[old] = count
            sizes[count] = allowed[old]
            count += 1
        token_class[token] = following[old]
    for old in range(before):
        if following[old] >= 0:
            sizes[old] -= allowed[old]
    return count


@jit
def first_of_classes(token_class: Int32, count: int, most: int) -> Int32:
    """The first ids of each class.

    Args:
        token_class: int32[ids].

    Returns:
        int32[count, most], ascending; -1 where a class has fewer.
    """
    first = np.full((count, most), -1, np.int32)
    filled = np.zeros(count, np.int32)
    for token in range(token_class.shape[0]):
        which = token_class[token]
        if filled[which] < most:
            first[which, filled[which]] = token
            filled[which] += 1
    return first


class SeenClasses:
    """Classes worked out mask by mask. Its owner holds a lock.

    Example:
        >>> seen = SeenClasses(5, (4,))
        >>> masks = [np.array([0b00011], np.uint32), np.array([0b10010], np.uint32)]
        >>> count, data, rows = seen.of([mask.tobytes() for mask in masks])
        >>> np.frombuffer(data, "<u2").tolist()
        [2, 3, 0, 0, 1]
        >>> [np.unpackbits(np.frombuffer(row, np.uint8), count=count).tolist() for row in rows]
        [[0, 0, 1, 1], [0, 1, 0, 1]]
    """

    def __init__(self, size: int, eos_ids: Sequence[int]) -> None:
        self._size = size
        self._eos_ids = list(eos_ids)
        # The classes are a number for each id: they are made when the first masks come.
        self._masks: tuple[bytes, ...] | None = None

    def of(self, masks: Sequence[bytes]) -> tuple[int, bytes, tuple[bytes, ...]]:
        """The classes that some masks tell apart.

        Returns:
            The number of classes; the class of each id and the row of each mask, both packed as in
            `explorer.decoding.trace.masks.MaskRows`.
        """
        known = () if self._masks is None else self._masks
        if self._masks is None or tuple(masks[: len(known)]) != known:
            self._begin()
            known = ()
        for mask in masks[len(known) :]:
            while 2 * self._count > len(self._sizes):
                self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            words = np.frombuffer(mask, "<u4")
            self._count = _split(words, self._token_class, self._sizes, self._count)
            self._packed = None
        self._masks = tuple(masks)
        if self._packed is None:
            self._packed = pack_classes(self._token_class, self._count)
        # Each class by its first id; an empty class is allowed by no mask.
        first = np.full(self._count, -1, np.int64)
        first[self._token_class[::-1]] = np.arange(self._size)[::-1]
        filled: Bool = first >= 0
        filled[DEAD_CLASS] = False
        rows: list[bytes] = []
        for mask in masks:
            words = np.frombuffer(mask, "<u4")
            row = (words[first >> 5] >> (first & 31).astype(np.uint32) & 1).astype(np.bool_)
            rows.append(np.packbits(row & filled).tobytes())
        return self._count, self._packed, tuple(rows)

    def _begin(self) -> None:
        self._token_class: Int32 = np.full(self._size, DEAD_CLASS, np.int32)
        self._token_class[self._eos_ids] = EOS_CLASS
        self._count = NUM_FIXED_CLASSES
        self._sizes: Int32 = np.zeros(64, np.int32)
        self._sizes[:NUM_FIXED_CLASSES] = (self._size - len(self._eos_ids), len(self._eos_ids))
        self._masks = ()
        self._packed: bytes | None = None
