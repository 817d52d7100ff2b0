"""Checks of tensors that users give, without waiting for the device, and the token tables.

The tables of a batch's machines stand one after the other. Every (state, class) has one number, the
tokens that this choice *needs* up to the end of the text (`explorer.tokens.masks.needed`), so the
mask and the token budget are one comparison. The sentinels `FREE`, `DONE` and `DEAD` have rows of
their own in every table, in front of the states; a state is shifted before it indexes anything, and
one out of range becomes `DEAD`. No number can reach another constraint's rows.

A table takes 8 bytes per state and class; the classes take 2 bytes per id, once for machines whose
tokens have the same classes (all machines without a table do): 262 kB for 131,072 ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.arguments import plain, wrong
from explorer.automata.machine import Int32
from explorer.errors import ExplorerError
from explorer.tokens.masks.needed import FIRST_STATE, least_needed
from explorer.tokens.words import DEAD

_WHOLE: Final = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def checked_tensor(name: str, value: object, wanted: str) -> Tensor:
    """A tensor, checked.

    Args:
        name: The argument.
        value: What was given.
        wanted: The expected value, with its article.

    Raises:
        ExplorerError: The value is not a tensor.
    """
    if not isinstance(value, Tensor):
        raise wrong(name, value, wanted)
    return value


def checked_rows(name: str, value: object, batch: int) -> Tensor:
    """One whole number for each row of a batch, checked.

    Args:
        name: The argument.
        value: What was given.
        batch: The number of rows.

    Raises:
        ExplorerError: It is not a tensor, does not hold whole numbers, or has another shape.
    """
    rows = checked_tensor(name, value, "a tensor, int64[B]")
    if rows.dtype not in _WHOLE:
        raise ExplorerError(
            f"{name} is of {rows.dtype}, not of whole numbers.",
            remedy=f"Give {name} as int64[B].",
            evidence={name: str(rows.dtype)},
        )
    if rows.shape != (batch,):
        raise misfit(name, list(rows.shape), [batch])
    return rows


def misfit(name: str, shape: list[int], expected: list[int]) -> ExplorerError:
    """The error for a tensor of another shape."""
    return ExplorerError(
        f"`{name}` has the shape {shape}, not {expected}.",
        remedy="Logits are [B, W]; states, tokens, constraint and remaining are [B].",
        evidence={"name": name, "shape": shape, "expected": expected},
    )


def checked_device(device: object, *, or_auto: bool = False) -> torch.device:
    """A device, checked to be usable.

    Args:
        device: A device's name in torch, or a `torch.device`.
        or_auto: Whether the remedy names "auto" too.

    Raises:
        ExplorerError: There is no device of this name, or it does not work here.
    """
    auto = '"auto", ' if or_auto else ""
    remedy = f'Give {auto}"cpu", or a device of this machine such as "cuda:0".'
    if not isinstance(device, str | torch.device):
        raise wrong("device", device, "the name of a device", remedy=remedy)
    device = plain(device)
    try:
        usable = torch.device(device)
        torch.empty(0, device=usable)
    except (RuntimeError, AssertionError) as error:
        raise ExplorerError(
            f"The device {str(device)!r} cannot be used: {_reason(error)}.",
            remedy=remedy,
            evidence={"device": str(device)},
        ) from error
    return usable


def _reason(error: Exception) -> str:
    """The first sentence of torch's message, without its full stop."""
    return str(error).strip().splitlines()[0].split(". ")[0].rstrip(" .:")


DEAD_ROW: Final = DEAD + FIRST_STATE
"""The row of `DEAD` in every constraint's tables."""


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The tables, on one device.

    Args:
        token_class: int16 or int32[distinct rows, ids], the class of each id.
        target, needed: int32[cells], the target of each choice and the tokens that it needs.
        least: int32[rows], the fewest tokens from each row to the end.
        class_row: int64[constraints], the row of ``token_class`` of each constraint.
        cell_start, row_start, num_rows, num_classes: int64[constraints], where the cells and rows
            of each constraint begin, and how many rows and classes it has.
    """

    token_class: Tensor
    target: Tensor
    needed: Tensor
    least: Tensor
    class_row: Tensor
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
        """The indices into ``target`` and ``needed`` of some classes for each row of a batch."""
        first = self.cell_start[constraint] + row * self.num_classes[constraint]
        return first.reshape(-1, *[1] * (columns.dim() - 1)) + columns.to(torch.int64)

    def locate(self, states: Tensor, constraint: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Each row's constraint and table row, made valid, and whether they were."""
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
    # Two bytes per id where that is enough. Not torch's uint16, which lacks most operations.
    narrow = max(each.shape[1] for each in needed) <= 2**15

    known: dict[bytes, int] = {}
    class_row = [known.setdefault(each.tobytes(), len(known)) for each in classes]
    first = [class_row.index(k) for k in range(len(known))]

    def starts(sizes: list[int]) -> NDArray[np.int64]:
        return np.cumsum([0, *sizes[:-1]], dtype=np.int64)

    arrays: list[NDArray[Any]] = [
        np.stack([classes[k] for k in first]).astype(np.int16 if narrow else np.int32),
        np.concatenate([targets.ravel() for targets, _ in rows]),
        np.concatenate([each.ravel() for each in needed]),
        np.concatenate([least_needed(each) for each in needed]),
        np.array(class_row, np.int64),
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
