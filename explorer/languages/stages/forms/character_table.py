"""A table over classes of characters, as a machine over the bytes of UTF-8.

It serves machines over all of Unicode. The characters of a row are grouped into blocks as in UTF-8:
64 characters that share all bytes but the last, 64 of these blocks, and so on. Equal blocks are
shared, so a state takes some hundred blocks and not a million arcs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import minimize
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter

_BLOCK = 64
_SURROGATES = slice(0xD800, 0xE000)


class _Nodes:
    """The states within a character, each a row of 64 targets; equal rows are one state."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._numbers: dict[bytes, int] = {}
        self.rows: list[Int32] = []

    def of(self, row: Int32) -> int:
        """The number of the state with these 64 targets; `NO_ARC` if all of them are."""
        if (row == NO_ARC).all():
            return NO_ARC
        key = row.tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._first + len(self.rows)
            self.rows.append(row)
        return number


def table_over_bytes(
    table: Int32, class_of: NDArray[np.integer], ends: Bool, meter: Meter, start: int = 0
) -> Dfa:
    """The minimal machine over bytes of a table over classes of characters.

    Args:
        table: int32[states, classes], the next state or `NO_ARC`.
        class_of: int[0x110000], the class of each character, `NO_ARC` for one that no word has;
            surrogates are ignored.
        ends: bool[states], whether a text may end.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> class_of = np.zeros(0x110000, np.int32)
        >>> class_of[ord("é")] = 1
        >>> no_accent = np.array([[0, NO_ARC]], np.int32)
        >>> machine = table_over_bytes(no_accent, class_of, np.array([True]), Meter())
        >>> machine.accepts("hé".encode()), machine.accepts("hê".encode())
        (False, True)
    """
    num_states, num_classes = table.shape
    class_of = np.where(class_of < 0, num_classes, class_of).astype(np.int32)
    class_of[_SURROGATES] = num_classes
    # The last column, for characters without a class, has no arcs.
    rows = np.column_stack([table, np.full(num_states, NO_ARC, np.int32)]).astype(np.int32)
    nodes = _Nodes(num_states)

    def cut(of: Int32, targets: Int32) -> tuple[Int32, Int32]:
        """The number of each block of 64 among the distinct ones, and their targets by state."""
        blocks, number = np.unique(of.reshape(-1, _BLOCK), axis=0, return_inverse=True)
        block_rows = np.empty((num_states, len(blocks)), np.int32)
        for k, block in enumerate(blocks):
            members, place = np.unique(block, return_inverse=True)
            wanted = np.ascontiguousarray(targets[:, members])
            numbers: dict[bytes, int] = {}
            for state, key in enumerate(map(bytes, wanted)):
                if key not in numbers:
                    numbers[key] = nodes.of(np.ascontiguousarray(wanted[state][place]))
                block_rows[state, k] = numbers[key]
            meter.check("Writing characters as bytes", states=num_states + len(nodes.rows))
        return number.reshape(-1).astype(np.int32), block_rows

    last_of, last = cut(class_of, rows)
    # Overlong forms do not exist: two bytes begin at U+0080, three at U+0800, four at U+10000.
    none = last.shape[1]
    last = np.column_stack([last, np.full(num_states, NO_ARC, np.int32)])
    long_of = last_of.copy()
    long_of[: 0x800 // _BLOCK] = none
    third_of, third = cut(long_of, last)
    none = third.shape[1]
    third = np.column_stack([third, np.full(num_states, NO_ARC, np.int32)])
    longest_of = third_of.copy()
    longest_of[: 0x10000 // _BLOCK**2] = none
    padded = np.full(5 * _BLOCK, none, np.int32)
    padded[: len(longest_of)] = longest_of
    second_of, second = cut(padded, third)
    whole = np.full((num_states + len(nodes.rows), NUM_BYTES), NO_ARC, np.int32)
    whole[:num_states, :0x80] = rows[:, class_of[:0x80]]
    whole[:num_states, 0xC2:0xE0] = last[:, last_of[2:32]]
    whole[:num_states, 0xE0:0xF0] = third[:, third_of[:16]]
    whole[:num_states, 0xF0:0xF5] = second[:, second_of]
    if nodes.rows:
        whole[num_states:, 0x80:0xC0] = nodes.rows
    accepting = np.zeros(len(whole), np.bool_)
    accepting[:num_states] = ends
    return minimize(Dfa(np.arange(NUM_BYTES, dtype=np.int32), whole, accepting, start), meter)
