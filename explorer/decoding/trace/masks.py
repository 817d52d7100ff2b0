"""The masks of a trace, as rows over classes of tokens.

A mask at 131,072 tokens takes 16 kB, and a run of a thousand steps has a thousand of them. But most
tokens are allowed at the same positions. Two ids are in one *class* if no mask of the trace tells
them apart; a mask is then a *row* of a few hundred bits, one per class, and the class of each id is
stored once.

There is one form for every kind of machine. Of a closed table the classes are its own token
classes, so that a row is the row of the table. A machine without a table has no classes; they are
worked out from the masks of the trace's own positions when the trace is made
(`explorer.decoding.stepping.classes`). Whoever reads a trace need not know which it was.

Class 0 holds what no position allows, class 1 the ids that end the text.

Cost: two bytes per id once, an eighth of a byte per class and distinct row, two ints per position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32

NARROW: Final = 2**16
"""Up to so many classes the class of an id takes two bytes, else four."""


@dataclass(frozen=True, slots=True)
class MaskRows:
    """The masks of every position of a trace.

    Args:
        num_classes: How many classes there are, 0 and 1 included.
        class_bytes: The class of each id, two bytes each where they suffice, else four;
            little-endian.
        rows: The distinct rows, packed eight classes to a byte (`unpack_row`).
        row_of: For each position, which of the rows the constraint alone allows there.
        kept_row_of: The same after the token budget.
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


def bytes_per_class(num_classes: int) -> int:
    """The number of bytes for the class of an id in a trace, 2 or 4."""
    return 2 if num_classes <= NARROW else 4


def pack_classes(token_class: NDArray[np.integer[Any]], count: int) -> bytes:
    """The class of each id as `MaskRows.class_bytes`.

    Args:
        token_class: int[ids].
    """
    return token_class.astype("<u2" if bytes_per_class(count) == 2 else "<i4").tobytes()


def unpack_row(row: bytes, num_classes: int) -> Bool:
    """The row that was packed.

    Returns:
        bool[num_classes].

    Example:
        >>> unpack_row(bytes([0b01100000]), 3).tolist()
        [False, True, True]
    """
    return np.unpackbits(np.frombuffer(row, np.uint8), count=num_classes).astype(np.bool_)
