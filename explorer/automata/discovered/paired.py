"""Two machines read side by side: intersection and difference, discovered.

A state is a pair of states, one of each machine, numbered when it is first met. The left machine
always has a state; the right one may have stopped, if that does not matter.

Every state of a byte machine can finish, and whether a pair can is not known from its halves: that
is searched for, depth first, before a pair is given out. The search ends at the first pair that is
known to finish, and every pair on the way to it can then finish too. If the search reaches no new
pair, no pair that it met can finish. In a difference a pair whose right half has stopped can finish
as its left half can. The budget limits the search, as a stage of its own.

Cost: some tens of microseconds per pair, in Python.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Literal

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.discovered.whole_rows import WholeRows
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Int32
from explorer.budget import Budget, Meter
from explorer.numbering import number_of

STAGE: Final = "The search for what two constraints share"

Operation = Literal["both", "left only"]
"""Words of both machines, or of the left one that are not words of the right one."""


class Paired(WholeRows):
    """A `ByteMachine` over two others; thread-safe. Make one with `paired`.

    Args:
        left, right: The machines.
        operation: What is wanted of them.
        budget: Limits for the pairs that are met altogether, and for the seconds of one question.
        pairs: What was met before.
    """

    def __init__(
        self,
        left: ByteMachine,
        right: ByteMachine,
        operation: Operation,
        budget: Budget,
        pairs: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self._left, self._right = left, right
        self._operation: Operation = operation
        classes = np.stack([classes_of(left), classes_of(right)], axis=1)
        _, lowest, joint = np.unique(classes, axis=0, return_index=True, return_inverse=True)
        super().__init__(joint.reshape(-1).astype(np.int32), len(lowest), budget)
        self._lowest: list[int] = lowest.tolist()
        self._pairs = [*pairs] or [(left.start, right.start)]
        self._numbers = {pair: number for number, pair in enumerate(self._pairs)}
        self._rows: dict[int, list[int]] = {}  # Also to pairs that cannot finish.
        self._finishes: dict[int, bool] = {}

    @property
    def start(self) -> int:
        """The start state, 0; `NO_ARC` where there are no words.

        Raises:
            BudgetExceeded: It took too long to find out.
        """
        with self._lock:
            return 0 if self._can_finish(0, Meter(self._budget)) else NO_ARC

    @property
    def num_states(self) -> int:
        """The number of pairs met so far, those that cannot finish included."""
        return len(self._pairs)

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._left.read

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""
        if state == NO_ARC:
            return False
        left, right = self._pairs[state]
        wanted = self._operation == "both"
        return self._left.is_accepting(left) and self._right.is_accepting(right) == wanted

    def configuration(self, state: int) -> tuple[Hashable, Hashable]:
        """The configurations of the two halves; ``None`` for a right one that has stopped."""
        left, right = self._pairs[state]
        stopped = right == NO_ARC
        return self._left.configuration(left), None if stopped else self._right.configuration(right)

    def row(self, state: int, meter: Meter) -> list[int]:
        """The pairs after each class of bytes that can finish."""
        return [
            target if target != NO_ARC and self._can_finish(target, meter) else NO_ARC
            for target in self._row(state, meter)
        ]

    def _row(self, state: int, meter: Meter) -> list[int]:
        """The pairs after each class of bytes, whether they can finish or not."""
        known = self._rows.get(state)
        if known is not None:
            return known
        left, right = self._pairs[state]
        row: list[int] = []
        for byte in self._lowest:
            one, other = self._left.step(left, byte), self._right.step(right, byte)
            if one == NO_ARC or (other == NO_ARC and self._operation == "both"):
                row.append(NO_ARC)
                continue
            row.append(number_of((one, other), self._pairs, self._numbers))
        self._rows[state] = row
        count = len(self._pairs)
        meter.check(STAGE, states=count, arcs=len(self._rows) * len(row), bytes=256 * count)
        return row

    def _can_finish(self, state: int, meter: Meter) -> bool:
        known = self._decided(state)
        if known is not None:
            return known
        # Depth first: the way to the end of a long repeat is long and narrow.
        came_from: dict[int, list[int]] = {state: []}
        stack = [state]
        while stack:
            here = stack.pop()
            for target in dict.fromkeys(self._row(here, meter)):
                decided = False if target == NO_ARC else self._decided(target)
                if decided is False:
                    continue
                if target not in came_from:
                    came_from[target] = []
                    stack.append(target)
                came_from[target].append(here)
                if decided:
                    self._remember(target, came_from)
                    return True
        self._finishes.update(dict.fromkeys(came_from, False))
        return False

    def _remember(self, end: int, came_from: dict[int, list[int]]) -> None:
        """Note that all pairs on the ways to a pair that can finish can finish too."""
        waiting = [end]
        while waiting:
            here = waiting.pop()
            if self._finishes.get(here) is not True:
                self._finishes[here] = True
                waiting += came_from.get(here, ())

    def _decided(self, state: int) -> bool | None:
        known = self._finishes.get(state)
        if known is not None:
            return known
        left, right = self._pairs[state]
        if left == NO_ARC or (right == NO_ARC and self._operation == "both"):
            return False
        if right == NO_ARC or self.is_accepting(state):
            return True
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            pairs = tuple(self._pairs)
            return Paired, (self._left, self._right, self._operation, self._budget, pairs)

    def __repr__(self) -> str:
        return f"Paired({self._operation}, {self.num_states} states met)"


def paired(
    left: ByteMachine, right: ByteMachine, operation: Operation, budget: Budget
) -> ByteMachine:
    """The words of both machines, or of the left one alone.

    Args:
        left, right: The machines.
        operation: ``"both"`` or ``"left only"``.
        budget: Limits for what is met while it is used.

    Example:
        >>> from explorer import Budget, regex
        >>> short = regex("[ab]{0,3}").dfa
        >>> machine = paired(short, regex("a*").dfa, "left only", Budget())
        >>> machine.is_accepting(machine.step(machine.start, ord("a")))
        False
    """
    if left.start == NO_ARC or (right.start == NO_ARC and operation == "left only"):
        return left
    return Paired(left, right, operation, budget)


def classes_of(machine: ByteMachine) -> Int32:
    """The class of each byte."""
    return machine.symbol_class[:NUM_BYTES]
