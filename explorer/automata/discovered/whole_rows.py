"""A machine that works out whole rows in Python, each when it is first asked for.

What is common to those machines stands here: the table that grows, reading a byte, and filling the
rows that a vocabulary comes by. A kind of machine says what a row holds.
"""

from __future__ import annotations

from abc import abstractmethod
from threading import RLock

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.discovered.rows import missing
from explorer.automata.machine import NO_ARC, UNKNOWN, DiscoveredMachine, Int32, WordTrie
from explorer.budget import Budget, Meter


class WholeRows(DiscoveredMachine):
    """A `DiscoveredMachine` whose kind says what a row holds; thread-safe.

    Args:
        symbol_class: int32[symbols], the class of each symbol.
        classes: The number of classes.
        budget: Limits for what is met altogether, and for the seconds of one question.
    """

    def __init__(self, symbol_class: Int32, classes: int, budget: Budget) -> None:
        self._symbol_class = symbol_class
        self._class_of: list[int] = symbol_class.tolist()
        self._budget = budget
        self._lock = RLock()
        self._table: Int32 = np.full((64, classes), UNKNOWN, np.int32)

    @abstractmethod
    def row(self, state: int, meter: Meter) -> list[int]:
        """The states after each class of symbols, worked out anew.

        Args:
            state: A state that has been numbered. `num_states` counts those that the row adds.
            meter: Watches sizes and time.

        Raises:
            BudgetExceeded: A limit was reached.
        """

    @property
    def symbol_class(self) -> Int32:
        """int32[symbols], the class of each symbol."""
        return self._symbol_class

    @property
    def table(self) -> Int32:
        """int32[room, classes], the rows so far: a state, `NO_ARC`, or less where not known."""
        return self._table

    def step(self, state: int, byte: int) -> int:
        """The state after one more symbol, or `NO_ARC`.

        Raises:
            BudgetExceeded: More was met than the budget allows.
        """
        if state == NO_ARC:
            return NO_ARC
        class_ = self._class_of[byte]
        if state >= len(self._table) or self._table[state, class_] == UNKNOWN:
            self.fill(state, Meter(self._budget))
        return int(self._table[state, class_])

    def expected(self, state: int) -> bytes:
        """The bytes that may come next, ascending; none from `NO_ARC`."""
        if state == NO_ARC:
            return b""
        self.fill(state, Meter(self._budget))
        row = self._table[state][self._symbol_class[:NUM_BYTES]]
        return bytes(np.flatnonzero(row != NO_ARC).tolist())

    def visit(self, trie: WordTrie, state: int) -> None:
        """Fill the rows that the words of a trie come by from a state, so that `table` has them.

        Raises:
            BudgetExceeded: More was met than the budget allows.
        """
        stack = np.zeros(trie.max_depth + 1, np.int32)
        stack[0] = state
        progress = np.zeros(1, np.int64)
        meter = Meter(self._budget)
        with self._lock:
            needed = state
            while needed >= 0:
                self.fill(needed, meter)
                needed = missing(
                    self._table,
                    self._symbol_class,
                    trie.byte,
                    trie.depth,
                    trie.skip,
                    stack,
                    progress,
                )

    def fill(self, state: int, meter: Meter) -> None:
        """Write the row of a state into the table, if it is not there.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        with self._lock:
            if state < len(self._table) and self._table[state, 0] != UNKNOWN:
                return
            row = self.row(state, meter)
            count = self.num_states
            if count > len(self._table):
                room = np.full((2 * count + 64, len(row)), UNKNOWN, np.int32)
                room[: len(self._table)] = self._table
                self._table = room
            self._table[state] = row
