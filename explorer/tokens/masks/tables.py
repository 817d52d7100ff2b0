"""The token tables of a batch's machines as tensors, one after the other.

Every (state, class) has one number, the tokens that this choice *needs* up to the end of the text
(`explorer.tokens.masks.needed`), so the mask and the token budget are one comparison. The sentinels
`FREE`, `DONE` and `DEAD` have rows of their own in every table, in front of the states; a state is
shifted before it indexes anything, and one that is out of range becomes `DEAD`. No number can
reach another constraint's rows.

A table takes 8 bytes per state and class; the classes 2 bytes per id and constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.automata.machine import Int32
from explorer.tokens.masks.needed import FIRST_STATE, least_needed
from explorer.tokens.states import DEAD

DEAD_ROW: Final = DEAD + FIRST_STATE
"""The row of `DEAD` in every constraint's tables."""


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The tables, on one device.

    Args:
        token_class: int16 or int32[constraints, ids], the class of each id.
        target, needed: int32[cells], where each choice leads and what it needs, row by row.
        least: int32[rows], the fewest tokens with which each row can be left.
        cell_start, row_start, num_rows, num_classes: int64[constraints], where the cells and rows
            of each constraint begin, and how many rows and classes it has.
    """

    token_class: Tensor
    target: Tensor
    needed: Tensor
    least: Tensor
    cell_start: Tensor
    row_start: Tensor
    num_rows: Tensor
    num_classes: Tensor

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        tables = (self.token_class, self.target, self.needed, self.least)
        return sum(table.numel() * table.element_size() for table in tables)

    def cells(self, constraint: Tensor, row: Tensor, columns: Tensor) -> Tensor:
        """The places in ``target`` and ``needed`` of one class or more for each row of a batch."""
        first = self.cell_start[constraint] + row * self.num_classes[constraint]
        return first.reshape(-1, *[1] * (columns.dim() - 1)) + columns.to(torch.int64)

    def locate(self, states: Tensor, constraint: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Each row's constraint and table row, made safe, and whether they were."""
        known = (constraint >= 0) & (constraint < len(self.num_rows))
        constraint = torch.where(known, constraint, 0)
        row = states.to(torch.int64) + FIRST_STATE
        known = known & (row >= 0) & (row < self.num_rows[constraint])
        return constraint, torch.where(known, row, DEAD_ROW), known


def device_tables(
    rows: Sequence[tuple[Int32, Int32]],
    classes: Sequence[NDArray[np.integer[Any]]],
    device: torch.device,
) -> Tables:
    """Put the tables of some machines side by side.

    Args:
        rows: Their `target_rows` and `needed_rows`.
        classes: Their classes of the ids.
        device: The device.
    """
    needed = [each for _, each in rows]
    # Two bytes per id where they suffice. Not torch's uint16, which lacks most operations.
    narrow = max(each.shape[1] for each in needed) <= 2**15

    def starts(sizes: list[int]) -> NDArray[np.int64]:
        return np.cumsum([0, *sizes[:-1]], dtype=np.int64)

    arrays: list[NDArray[Any]] = [
        np.stack(classes).astype(np.int16 if narrow else np.int32),
        np.concatenate([targets.ravel() for targets, _ in rows]),
        np.concatenate([each.ravel() for each in needed]),
        np.concatenate([least_needed(each) for each in needed]),
        starts([each.size for each in needed]),
        starts([len(each) for each in needed]),
        np.array([len(each) for each in needed], np.int64),
        np.array([each.shape[1] for each in needed], np.int64),
    ]
    return Tables(
        *[
            torch.from_numpy(np.ascontiguousarray(array)).to(device)  # pyright: ignore[reportUnknownMemberType]
            for array in arrays
        ]
    )
