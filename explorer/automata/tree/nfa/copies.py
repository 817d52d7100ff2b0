"""Copies of a laid body as arrays: the same arcs between states of their own.

Copy k (from 1) begins where copy k - 1 ends, and its end and its inner states lie in one run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32


@dataclass(frozen=True, slots=True)
class Copies:
    """The states of copies of a body.

    Args:
        source: Where the body that was laid begins.
        first_end: Where it ends.
        states: The first state inside of it; those inside follow each other.
        ends: int64[copies], where each copy ends; the states inside of it follow.
    """

    source: int
    first_end: int
    states: int
    ends: NDArray[np.int64]

    @property
    def chain(self) -> NDArray[np.int64]:
        """int64[copies + 2], where the body begins, and where it and each copy ends."""
        return np.concatenate([[self.source, self.first_end], self.ends])

    def rows(self, arcs: Int32) -> Int32:
        """The arcs of all copies, by the arcs of the body: int32[copies × arcs, 4]."""
        rows = np.empty((len(self.ends), len(arcs), 4), np.int32)
        rows[:, :, 0] = self._renamed(arcs[:, 0])
        rows[:, :, 1:3] = arcs[None, :, 1:3]
        rows[:, :, 3] = self._renamed(arcs[:, 3])
        return rows.reshape(-1, 4)

    def pairs(self, epsilons: Int32) -> Int32:
        """The ε-arcs of all copies, by those of the body: int32[copies × ε-arcs, 2]."""
        named = [self._renamed(epsilons[:, column]) for column in (0, 1)]
        return np.stack(named, axis=2).reshape(-1, 2).astype(np.int32)

    def _renamed(self, old: Int32) -> NDArray[np.int64]:
        wide = old.astype(np.int64)[None, :]
        new = wide + (self.ends + 1 - self.states)[:, None]
        new = np.where(wide == self.source, self.chain[1:-1, None], new)
        return np.where(wide == self.first_end, self.ends[:, None], new)
