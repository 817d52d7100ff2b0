"""Packed masks of machines without a table, kept on the device from their first use on.

Such a machine is asked on the host, and its mask of a state, 16 kB at 131,072 tokens, would be sent
to the device at every step. A state that is met again has the same mask object, so its row on the
device is found by that, and only the number of the row is sent. A full table is begun anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from explorer.tokens.masks.packed import sent, uploaded
from explorer.tokens.words import UInt32

_CAPACITY: Final = 1024
"""The number of rows: 16 MB at 131,072 tokens."""


class StoredRows:
    """The packed masks that a batch has used.

    Args:
        device: The device of the rows.

    Example:
        >>> import numpy as np
        >>> one, other = np.array([5], np.uint32), np.array([2], np.uint32)
        >>> stored = StoredRows("cpu")
        >>> places = stored.places([one, other, one])
        >>> places.tolist(), stored.words(places).tolist(), (stored.asked, stored.sent)
        ([0, 1, 0], [[5], [2], [5]], (3, 2))
    """

    def __init__(self, device: str | torch.device) -> None:
        self._device = torch.device(device)
        self._table = torch.zeros(0, 0, dtype=torch.int32, device=self._device)
        self._known: dict[int, tuple[int, UInt32]] = {}  # Each holds its array, so ids stay unique.
        self.asked = self.sent = 0
        """How many masks were asked for, and how many of them were sent to the device."""

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._table.numel() * self._table.element_size()

    def places(self, rows: Sequence[UInt32]) -> Tensor:
        """The place of each mask, int64[B] on the device; masks that are new are sent there.

        Args:
            rows: Packed masks, all equally long and never changed.
        """
        if len(self._known) + len(rows) > len(self._table) and len(rows):
            self._begin(max(_CAPACITY, 2 * len(rows)), len(rows[0]))
        first = len(self._known)
        new: list[UInt32] = []
        for row in rows:
            if id(row) not in self._known:
                self._known[id(row)] = first + len(new), row
                new.append(row)
        if new:
            self._table[first : first + len(new)].copy_(uploaded(new, self._device))
        self.asked += len(rows)
        self.sent += len(new)
        return sent(torch.tensor([self._known[id(row)][0] for row in rows]), self._device)

    def words(self, places: Tensor) -> Tensor:
        """The masks at some places, int32[B, n]."""
        return self._table.index_select(0, places)

    def _begin(self, capacity: int, width: int) -> None:
        self._known.clear()
        if self._table.shape != (capacity, width):
            self._table = torch.zeros(capacity, width, dtype=torch.int32, device=self._device)
