"""The masks of a trace, as rows over classes of tokens.

A mask at 131,072 tokens takes 16 kB, and a run of a thousand steps has a thousand of them. But most
tokens are allowed at the same positions. Two ids are in one *class* if no mask of the trace
distinguishes them; a mask is then a *row* of a few hundred bits, one per class, and the class of
each id is stored once.

The form is the same for every kind of machine. For a table the classes are its own token classes,
so a row is a row of the table. For a machine without a table they are computed from the masks of
the trace's positions (`SeenClasses`): all ids are in one class until a mask allows only some ids of
a class; these then become a new class. The numbers depend only on the masks and their order, so
equal runs have equal classes. A reader of a trace need not know the kind of machine.

Class 0 holds what no position allows, class 1 the ids that end the text.

Cost: two bytes per id once, an eighth of a byte per class and distinct row, two ints per position;
one pass over the vocabulary per mask that `SeenClasses` had not seen (0.15 ms at 131,072 ids).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.jit import jit
from explorer.tokens.words import DEAD_CLASS, EOS_CLASS, NUM_FIXED_CLASSES, UInt32

EXAMPLES_PER_CLASS: Final = 6
"""The most tokens of a token class whose bytes a trace keeps."""

NARROW: Final = 2**16
"""The most classes for which the class of an id takes two bytes instead of four."""


@dataclass(frozen=True, slots=True)
class MaskRows:
    """The masks of every position of a trace.

    Args:
        num_classes: The number of classes, including 0 and 1.
        class_bytes: The class of each id in two bytes if they suffice, otherwise four;
            little-endian.
        rows: The distinct rows, packed eight classes to a byte (`unpack_row`).
        row_of: The index of each position's row by the constraint alone.
        kept_row_of: The index of each position's row within the token budget.
    """

    num_classes: int
    class_bytes: bytes
    rows: tuple[bytes, ...]
    row_of: tuple[int, ...]
    kept_row_of: tuple[int, ...]

    @property
    def bytes_per_class(self) -> int:
        """The number of bytes for the class of an id, 2 or 4."""
        return bytes_per_class(self.num_classes)

    def token_class(self) -> Int32:
        """int32[size of the vocabulary], the class of each id."""
        kind = "<u2" if self.bytes_per_class == 2 else "<i4"
        return np.frombuffer(self.class_bytes, kind).astype(np.int32)

    def row(self, k: int, *, with_budget: bool = True) -> Bool:
        """The classes that position k allows, after the token budget or by the constraint alone.

        Returns:
            bool[num_classes].
        """
        number = self.kept_row_of[k] if with_budget else self.row_of[k]
        return unpack_row(self.rows[number], self.num_classes)

    def examples(self, most: int) -> list[int]:
        """The first `EXAMPLES_PER_CLASS` ids of each class that some position allows.

        Args:
            most: Only classes below this number are included.
        """
        first = first_of_classes(self.token_class(), self.num_classes, EXAMPLES_PER_CLASS)
        listed = first[DEAD_CLASS + 1 : most]
        return listed[listed >= 0].tolist()


def bytes_per_class(num_classes: int) -> int:
    """The number of bytes for the class of an id in a trace, 2 or 4."""
    return 2 if num_classes <= NARROW else 4


def pack_classes(token_class: NDArray[np.integer[Any]], count: int) -> bytes:
    """The class of each id, packed for `MaskRows.class_bytes`.

    Args:
        token_class: int[ids].
    """
    return token_class.astype("<u2" if bytes_per_class(count) == 2 else "<i4").tobytes()


def unpack_row(row: bytes, num_classes: int) -> Bool:
    """A packed row as flags.

    Returns:
        bool[num_classes].

    Example:
        >>> unpack_row(bytes([0b01100000]), 3).tolist()
        [False, True, True]
    """
    return np.unpackbits(np.frombuffer(row, np.uint8), count=num_classes).astype(np.bool_)


@jit
def _split(words: UInt32, token_class: Int32, sizes: Int32, count: int) -> int:
    """Refine the classes by one mask, in place; return the new number of classes.

    The allowed ids of a class get a new number if the mask does not allow all of the class, and
    always if they were in the dead class.
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
        int32[count, most], ascending, padded with -1.
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
    """Classes computed mask by mask; not thread-safe, its owner holds a lock.

    A session computes its trace after every step, and the next path mostly extends the last one. So
    the partition is kept and refined further.

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
        # The partition is allocated when the first masks come.
        self._masks: tuple[bytes, ...] | None = None

    def of(self, masks: Sequence[bytes]) -> tuple[int, bytes, tuple[bytes, ...]]:
        """The classes that some masks distinguish.

        Returns:
            The number of classes; the class of each id and the row of each mask, both packed as in
            `MaskRows`.
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
        # A class is represented by its first id; no mask allows an empty class.
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
