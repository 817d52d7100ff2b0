"""Masks on the host: the packed mask of each row's state, applied to the logits.

`explorer.tokens.masks.device.DeviceMasks` masks logits in the host's memory in this way, and any
logits where a machine without a table takes part: the machine gives the packed mask of a state and
keeps it, and -inf is written into the logits wherever a bit is not set. What is computed is kept,
so only the first visit of a state costs more than a copy.

A state of a machine without a table has no row of needed tokens: the machine itself gives its mask
under a token budget. Where it does not know its distances either, a token budget that could be
reached is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from torch import Tensor

from explorer.arguments import whole_number
from explorer.automata.machine import Bool, Int32
from explorer.errors import ExplorerError
from explorer.tokens.machine import PlansAhead, TokenMachine, planner_of
from explorer.tokens.masks import error_word
from explorer.tokens.masks.error_word import ints
from explorer.tokens.masks.needed import (
    FIRST_STATE,
    NO_BUDGET,
    UNLIMITED,
    least_needed,
)
from explorer.tokens.words import DEAD, UInt32, unpack


class HostMasks:
    """The masks of a batch's machines, row by row on the host.

    Args:
        machines: The machines of the batch, at least one.
        without_table: The numbers of the machines without a table.
        needed: For each machine int32[rows, classes], the tokens needed after each choice; see
            `explorer.tokens.masks.needed`.
    """

    def __init__(
        self,
        machines: Sequence[TokenMachine],
        without_table: frozenset[int],
        needed: Sequence[Int32],
    ) -> None:
        self._machines, self._without_table = machines, without_table
        self._needed = needed
        # Finding out whether a machine knows all distances takes a search, so it is done once.
        self._planners: dict[int, PlansAhead | None] = {}

    def num_rows(self, which: int) -> int:
        """The number of states and sentinels that a machine has so far.

        Args:
            which: The number of a machine.
        """
        if which in self._without_table:
            return self._machines[which].num_states + FIRST_STATE
        return len(self._needed[which])

    def allowed(self, which: int, state: int, remaining: int | None) -> Bool:
        """The mask of one state.

        Args:
            which: The number of a machine.
            state: A state of it, or a sentinel.
            remaining: The number of tokens that may still be written, EOS included, or ``None``.

        Returns:
            bool[len(vocabulary)], read-only.

        Raises:
            ExplorerError: There is no such machine or state.
        """
        which = whole_number("constraint", which, 0, len(self._needed) - 1)
        row = whole_number("state", state, -FIRST_STATE) + FIRST_STATE
        if row >= self.num_rows(which):
            raise ExplorerError(
                f"There is no state {state} in constraint {which}, which has "
                f"{self.num_rows(which) - FIRST_STATE}.",
                remedy="Take states from `advance`, or from the machine's `step`.",
                evidence={"state": state, "constraint": which},
            )
        if remaining is not None:
            remaining = whole_number("remaining", remaining, None)
        words = self._words(which, row - FIRST_STATE, remaining)
        mask = unpack(words, len(self._machines[which].vocabulary))
        mask.setflags(write=False)
        return mask

    def rows(
        self, states: Sequence[int], whiches: Sequence[int], remaining: Tensor | None
    ) -> tuple[list[UInt32], list[int]]:
        """The packed mask of each row.

        Args:
            states: The state of each row, or a sentinel.
            whiches: The machine of each row.
            remaining: int64[B], the number of tokens that each row may still write, or ``None``.

        Returns:
            The masks, empty for an unknown state; and the fault of each row for the error word, 0
            for none.
        """
        budgets: list[int | None] = [None] * len(states)
        if remaining is not None:
            budgets = [*ints(remaining)]
        rows: list[UInt32] = []
        faults: list[int] = []
        for state, which, budget in zip(states, whiches, budgets, strict=True):
            if not self._knows(which, state):
                rows.append(self._machines[0].mask(DEAD))
                faults.append(error_word.NO_SUCH_STATE)
                continue
            rows.append(self._words(which, state, budget))
            in_table = not (which in self._without_table and state >= 0)
            least = self._least[which][state + FIRST_STATE] if in_table else 0
            empty = least > (UNLIMITED if budget is None else max(budget, 0))
            faults.append(error_word.NOTHING_ALLOWED * empty)
        return rows, faults

    def advance(
        self, states: Sequence[int], whiches: Sequence[int], tokens: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """The state of each row after a token, and the fault of each row, 0 for none."""
        following: list[int] = []
        faults: list[int] = []
        for state, which, token in zip(states, whiches, tokens, strict=True):
            if not self._knows(which, state):
                following.append(DEAD)
                faults.append(error_word.NO_SUCH_STATE)
                continue
            after = self._machines[which].step(state, token)
            following.append(DEAD if after is None else after)
            stuck = after is None and state != DEAD
            fault = error_word.NOTHING_TO_DRAW if token == -1 else error_word.TOKEN_NOT_ALLOWED
            faults.append(fault * stuck)
        return following, faults

    def _knows(self, which: int, state: int) -> bool:
        """Whether a machine and a state of it exist."""
        return 0 <= which < len(self._needed) and 0 <= state + FIRST_STATE < self.num_rows(which)

    def _words(self, which: int, state: int, remaining: int | None) -> UInt32:
        """The packed mask of an existing state.

        Raises:
            ExplorerError: The machine does not know the distances to its end.
        """
        machine = self._machines[which]
        budget = UNLIMITED if remaining is None else min(max(remaining, 0), UNLIMITED)
        if budget >= NO_BUDGET:
            return machine.mask(state)
        if which not in self._planners:
            self._planners[which] = planner_of(machine)
        planner = self._planners[which]
        if planner is not None:
            return planner.mask_within(state, budget)
        if state < 0:
            return machine.mask(state)
        raise ExplorerError(
            f"remaining={remaining} takes part in the mask, which needs the fewest tokens to the "
            "end from every state. A machine without a table does not know them.",
            remedy="Compile the constraint to a table (lazy=False, with a budget that is large "
            "enough), or give no budget.",
            evidence={"remaining": remaining},
        )

    @cached_property
    def _least(self) -> list[list[int]]:
        """For each machine and row the fewest tokens to the end."""
        return [least_needed(needed).tolist() for needed in self._needed]
