"""Masks on the host: the rows of visited states as Boolean arrays, blended into logits.

This is how `explorer.tokens.masks.device.DeviceMasks` masks logits that lie in the host's memory.
The row of a state is made on the first visit and kept, as long as all kept rows fit into 64 MB. A
compiled loop then writes -inf into the logits wherever the row is false. Cost: 9 µs for 131,072
float32 logits, 20 µs on the first visit of a state.

A state of a machine without a table has no row of needed tokens: its mask is asked from the machine
itself. Where that does not know its distances either, a token budget that could be reached is
refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.arguments import whole_number
from explorer.automata.machine import Bool, Int32
from explorer.errors import ExplorerError
from explorer.jit import jit
from explorer.tokens.machine import TokenMachine
from explorer.tokens.masks import error_word
from explorer.tokens.masks.error_word import ints
from explorer.tokens.masks.needed import FIRST_STATE, NO_BUDGET, UNLIMITED, least_needed
from explorer.tokens.masks.visited import mask_in_time
from explorer.tokens.states import DEAD
from explorer.tokens.words import unpack

_ROW_BYTES_KEPT: Final = 64_000_000

# -inf as bits, and the integers through which a CPU row is read; the sign bit, then all of the
# exponent. Blending bits needs no arithmetic on 16-bit floats and works on every type alike.
MINUS_INFINITY: Final = {
    torch.float64: (torch.int64, np.int64(-(2**52))),
    torch.float32: (torch.int32, np.int32(-(2**23))),
    torch.bfloat16: (torch.int16, np.int16(-(2**7))),
    torch.float16: (torch.int16, np.int16(-(2**10))),
}
"""The types of logits that can be masked."""

AnyInt = np.signedinteger[Any]


@jit
def _blend(bits: NDArray[AnyInt], keep: Bool, masked: AnyInt) -> None:
    """Write -inf where a token is not kept, and past the mask."""
    width = min(bits.shape[0], keep.shape[0])
    for k in range(width):
        bits[k] = bits[k] if keep[k] else masked
    for k in range(width, bits.shape[0]):
        bits[k] = masked


@jit
def _gather(row: Bool, classes: NDArray[np.integer[Any]]) -> Bool:
    """A row over classes as a row over ids; numpy would widen the ids' classes first."""
    result = np.empty(classes.shape[0], np.bool_)
    for k in range(classes.shape[0]):
        result[k] = row[classes[k]]
    return result


class HostMasks:
    """The masks of a batch's machines, row by row on the host.

    Args:
        machines: The machines of the batch; empty for a batch without any constraint.
        without_table: The numbers of the machines that are asked state by state.
        needed: For each machine int32[rows, classes], the tokens that each choice needs; see
            `explorer.tokens.masks.needed`.
        classes: For each machine the class of each id.
    """

    def __init__(
        self,
        machines: Sequence[TokenMachine],
        without_table: frozenset[int],
        needed: Sequence[Int32],
        classes: Sequence[NDArray[np.integer[Any]]],
    ) -> None:
        self._machines, self._without_table = machines, without_table
        self._needed, self._classes = needed, classes
        self._rows: OrderedDict[tuple[int, int, int], Bool] = OrderedDict()

    def num_rows(self, which: int) -> int:
        """The number of states and sentinels that a machine has by now.

        Args:
            which: The number of a machine.
        """
        if which in self._without_table:
            return self._machines[which].num_states + FIRST_STATE
        return len(self._needed[which])

    def allowed(self, which: int, state: int, remaining: int | None) -> Bool:
        """The mask of one state, kept for visited states.

        Args:
            which: The number of a machine.
            state: A state of it, or a sentinel.
            remaining: How many tokens may still be written, EOS included; ``None`` for no limit.

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
        return self._row(which, row, remaining)

    def mask_(
        self,
        logits: Tensor,
        states: Sequence[int],
        whiches: Sequence[int],
        remaining: Tensor | None,
    ) -> list[int]:
        """Write -inf, in place, where a token is not allowed.

        Args:
            logits: float[B, W] in the host's memory.
            states: The state of each row, or a sentinel.
            whiches: The machine of each row.
            remaining: int64[B], how many tokens each row may still write.

        Returns:
            The fault of each row for the error word; 0 for none.
        """
        bits_type, masked = MINUS_INFINITY[logits.dtype]
        bits = logits.detach().view(bits_type).numpy()
        budgets: list[int | None] = [None] * len(states)
        if remaining is not None:
            budgets = [*ints(remaining)]
        faults: list[int] = []
        for k, (state, which, budget) in enumerate(zip(states, whiches, budgets, strict=True)):
            known = 0 <= which < len(self._needed) and (
                0 <= state + FIRST_STATE < self.num_rows(which)
            )
            if known:
                keep = self._row(which, state + FIRST_STATE, budget)
            else:
                keep = self._row(0, DEAD + FIRST_STATE, None)
            _blend(bits[k], keep, masked)
            in_table = known and not (which in self._without_table and state >= 0)
            least = self._least[which][state + FIRST_STATE] if in_table else 0
            empty = least > (UNLIMITED if budget is None else max(budget, 0))
            faults.append(
                error_word.NO_SUCH_STATE if not known else error_word.NOTHING_ALLOWED * empty
            )
        return faults

    def _row(self, which: int, row: int, remaining: int | None) -> Bool:
        """`allowed` without its checks, which would cost too much in the loop over a batch."""
        budget = UNLIMITED if remaining is None else min(max(remaining, 0), UNLIMITED)
        if which in self._without_table and row >= FIRST_STATE:
            machine = self._machines[which]
            if budget >= NO_BUDGET:
                return machine.allowed(row - FIRST_STATE)
            return unpack(mask_in_time(machine, row - FIRST_STATE, budget), len(machine.vocabulary))
        needed = self._needed[which][row]
        if budget >= self._most_needed[which][row]:
            # The budget removes nothing here, so the row is the same with any larger one.
            budget = UNLIMITED
        key = (which, row, budget)
        kept = self._rows.get(key)
        if kept is None:
            if budget == UNLIMITED and self._machines:
                kept = self._machines[which].allowed(row - FIRST_STATE)
            else:
                kept = _gather(needed <= budget, self._classes[which])
                kept.setflags(write=False)
            while self._rows and (len(self._rows) + 1) * kept.nbytes > _ROW_BYTES_KEPT:
                self._rows.popitem(last=False)
            self._rows[key] = kept
        else:
            self._rows.move_to_end(key)
        return kept

    @cached_property
    def _least(self) -> list[list[int]]:
        """For each machine and row the fewest tokens that a choice needs."""
        return [least_needed(needed).tolist() for needed in self._needed]

    @cached_property
    def _most_needed(self) -> list[list[int]]:
        """For each machine and row the budget from which on it removes nothing."""
        return [
            np.where(needed <= UNLIMITED, needed, 0).max(axis=1).tolist() for needed in self._needed
        ]
