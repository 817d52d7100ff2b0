"""Rows of numbers that were made in two ways, some one by one and some in blocks, as one array."""

from __future__ import annotations

from itertools import chain

import numpy as np

from explorer.automata.machine import Int32
from explorer.automata.tree.utf8 import Arc


def joined(rows: list[tuple[int, ...]] | list[Arc], blocks: list[Int32], width: int) -> Int32:
    """Rows of a list and of arrays, as one array."""
    # Numbers one by one: numpy would first look into every row for its length and type.
    numbers = np.fromiter(chain.from_iterable(rows), np.int32, width * len(rows))
    first = numbers.reshape(-1, width)
    return np.concatenate([first, *blocks]) if blocks else first
