"""How many tokens each choice commits to; a token budget is decided by these numbers.

With a budget, a token is allowed only if the text can still be ended in time after it. The machine
knows `distance`, the fewest tokens from a state to the end of the text, so a token *needs* one for
itself and the distance of where it leads. EOS is a token and counts: it needs one, because it leads
to the end. Therefore

    allowed with r tokens left  =  allowed by the constraint, and needed <= r.

The distance of a state is the least that any of its choices needs. So where a text can still be
ended with r tokens, some choice leads to where it can with r - 1: what fits at the start always
fits, and a generation of at most ``max_tokens`` tokens ends with EOS, having matched.

`DONE` and `FREE` are outside of the budget: EOS after the end is padding, and free text has no end.
They need nothing. A budget does not change which texts are possible within it, only when the model
must begin to close.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32
from explorer.tokens.closed_form.assemble import Table
from explorer.tokens.states import DEAD, DONE, EOS_CLASS, FREE, NUM_FIXED_CLASSES

FORBIDDEN: Final = 2**31 - 1
"""Needed by a token that the constraint does not allow: more than any budget."""

UNLIMITED: Final = FORBIDDEN - 1
"""The largest budget; every allowed token fits."""

NO_BUDGET: Final = UNLIMITED // 2
"""A row without a budget counts down from `UNLIMITED`; no generation gets this far."""

FIRST_STATE: Final = 3
"""The row of state 0 in `needed_rows` and `target_rows`: the sentinels come first.

The row of any state is ``state + FIRST_STATE``, so that a negative state never indexes a table.
"""


class HasDistances(Protocol):
    """The part of a token machine that is a table."""

    @property
    def table(self) -> Table:
        """int32[states, classes], the next state, `DEAD` or `DONE`."""
        ...

    @property
    def distance(self) -> Int32:
        """int32[states], the fewest tokens to the end of the text, EOS included."""
        ...


def target_rows(machine: HasDistances) -> Int32:
    """The machine's table with rows for the sentinels in front.

    Args:
        machine: A token DFA.

    Returns:
        int32[3 + states, classes]: the rows of `FREE`, `DONE`, `DEAD`, then of the states.
    """
    rows = np.full((FIRST_STATE, machine.table.shape[1]), DEAD, np.int32)
    rows[FREE + FIRST_STATE] = FREE
    rows[DONE + FIRST_STATE, EOS_CLASS] = DONE
    return np.concatenate([rows, machine.table.astype(np.int32)])


def needed_rows(machine: HasDistances) -> Int32:
    """The tokens that each choice commits to, the token itself and EOS included.

    Args:
        machine: A token DFA.

    Returns:
        int32[3 + states, classes], `FORBIDDEN` where the constraint does not allow the class; rows
        as in `target_rows`.

    Example:
        >>> from types import SimpleNamespace
        >>> ab = SimpleNamespace(table=np.array([[DEAD, DEAD, 1], [DEAD, DONE, DEAD]], np.int32),
        ...                      distance=np.array([2, 1], np.int32))
        >>> np.where(needed_rows(ab) == FORBIDDEN, -1, needed_rows(ab))[FIRST_STATE:].tolist()
        [[-1, -1, 2], [-1, 1, -1]]
    """
    targets = target_rows(machine)
    # Distances by row of the target; FREE and DONE are at the end already.
    distance = np.concatenate([np.zeros(FIRST_STATE, np.int32), machine.distance])
    needed = np.where(targets == DEAD, FORBIDDEN, 1 + distance[targets + FIRST_STATE])
    for sentinel in (FREE, DONE):
        row = needed[sentinel + FIRST_STATE]
        row[row != FORBIDDEN] = 0
    return needed.astype(np.int32)


def distances_of(table: NDArray[np.signedinteger[Any]]) -> Int32:
    """The fewest tokens to the end from each state of a table.

    Args:
        table: int[states, classes], the next state, `DEAD` or `DONE`.

    Returns:
        int32[states], EOS included; 0 where there is no way to the end.

    Example:
        >>> distances_of(np.array([[DEAD, DEAD, 1], [DEAD, DONE, DEAD]])).tolist()
        [2, 1]
    """
    distance = np.where(table[:, EOS_CLASS] == DONE, 1, 0).astype(np.int32)
    step = 1
    while True:
        near = np.append(distance == step, False)
        new = near[np.where(table >= 0, table, len(table))].any(axis=1) & (distance == 0)
        if not new.any():
            return distance
        step += 1
        distance[new] = step


def least_needed(needed: Int32) -> Int32:
    """The fewest tokens with which each row can be left: `distance`, and the sentinels' own.

    Args:
        needed: From `needed_rows`.

    Returns:
        int32[3 + states]; `FORBIDDEN` for `DEAD`.
    """
    return needed.min(axis=1)


def no_table(after_free: int = FREE) -> tuple[Int32, Int32]:
    """The rows of a machine without a table: those of the sentinels, over the two fixed classes.

    Args:
        after_free: Where the end of the text leads from `FREE`: `DONE`, or `FREE` itself.

    Returns:
        `target_rows` and `needed_rows`.
    """

    class NoStates:
        table = np.empty((0, NUM_FIXED_CLASSES), np.int32)
        distance = np.empty(0, np.int32)

    targets = target_rows(NoStates())
    targets[FREE + FIRST_STATE, EOS_CLASS] = after_free
    return targets, needed_rows(NoStates())
