"""Kinds of configurations whose rows are computed in Python, each when first asked for.

The base class numbers the configurations, grows the table and fills the rows that a vocabulary
needs. A kind computes the row of a state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np

from explorer.automata.construction.rows import BY_ROWS, FINISHED, missing
from explorer.automata.machine import (
    UNKNOWN,
    Bool,
    ByteMachine,
    Int32,
    Stacks,
    UInt32,
    WordTrie,
    WordWalk,
)
from explorer.budget import Meter
from explorer.memo import number_of

K = TypeVar("K", bound=Hashable)


class WholeRows(ABC, Generic[K]):
    """The kind of a `Discovered` machine whose rows are computed in Python.

    Args:
        symbol_class: int32[symbols], the class of each symbol.
        met: The configurations met so far, by number; the first is the start.
    """

    stage: str

    def __init__(self, symbol_class: Int32, classes: int, met: list[K]) -> None:
        self.symbol_class = symbol_class
        self._met = met
        self._numbers = {each: number for number, each in enumerate(met)}
        self.table: Int32 = np.full((len(met) + 64, classes), UNKNOWN, np.int32)
        self._at = np.zeros(1, np.int64)

    @abstractmethod
    def row(self, state: int, meter: Meter) -> list[int]:
        """Compute the states after each class of symbols.

        Raises:
            BudgetExceeded: A limit was reached.
        """

    @abstractmethod
    def accepting(self, state: int) -> bool | None:
        """Whether the text may end; ``None`` if the row has to be filled first."""

    @property
    @abstractmethod
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""

    @abstractmethod
    def apart(self, meter: Meter) -> WholeRows[K]:
        """As `explorer.automata.discovered.discovered.Kind.apart`."""

    @abstractmethod
    def sent(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function that rebuilds the kind in another process, and its arguments."""

    @property
    def num_states(self) -> int:
        """The number of states met so far."""
        return len(self._met)

    @property
    def held(self) -> int:
        """The bytes of the table; a kind checks its other memory when it computes a row."""
        return self.table.nbytes

    @property
    def stacks(self) -> Stacks | None:
        """``None``: a kind of whole rows has no stacks."""
        return None

    def number(self, configuration: K) -> int:
        """The number of a configuration; a new configuration gets the next number."""
        return number_of(configuration, self._met, self._numbers)

    def least(self, state: int, meter: Meter) -> int | None:
        """``None``, by default: its states can be searched."""
        return None

    def wider(self, state: int) -> tuple[ByteMachine, int] | None:
        """``None``, by default: its states can be searched."""
        return None

    def begin(self, meter: Meter) -> int:
        """Do nothing: the start state exists."""
        return FINISHED

    def can_start(self, meter: Meter) -> bool:
        """Every state can finish."""
        return True

    def fill(self, state: int, symbol: int, meter: Meter) -> int:
        """Write the row of a state into the table, unless it is known."""
        if self.table[state, 0] == UNKNOWN:
            row = self.row(state, meter)
            self.make_rows()
            self.table[state] = row
        return FINISHED

    def make_rows(self) -> None:
        """Give every numbered state a row."""
        rows, classes = self.table.shape
        if self.num_states > rows:
            room = np.full((2 * self.num_states + 64, classes), UNKNOWN, np.int32)
            room[:rows] = self.table
            self.table = room

    def visit(self, trie: WordTrie, stack: Int32, again: bool, meter: Meter) -> int:
        """Fill the rows that the words of a trie need."""
        self._at[0] = 0
        nodes = trie.byte, trie.depth, trie.skip
        while (needed := missing(self.table, self.symbol_class, *nodes, stack, self._at)) >= 0:
            self.fill(needed, 0, meter)
        return FINISHED

    def set_words(self, walk: WordWalk, state: int, words: UInt32, again: bool) -> int:
        """Ask for the words to be set from rows."""
        return BY_ROWS

    def make_room(self, reason: int, most: int, meter: Meter) -> None:
        """Do nothing: `fill` grows the table."""


def joint_classes(machines: list[ByteMachine]) -> tuple[Int32, list[int]]:
    """The common refinement of the machines' byte classes, and the lowest byte of each class."""
    own = [machine.symbol_class[:256] for machine in machines]
    _, lowest, joint = np.unique(
        np.stack([np.zeros(256, np.int32), *own], axis=1),
        axis=0, return_index=True, return_inverse=True,
    )  # fmt: skip
    return joint.reshape(-1).astype(np.int32), lowest.tolist()
