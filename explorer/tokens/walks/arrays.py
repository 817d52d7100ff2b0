"""The rows of a byte machine that the words of a vocabulary come by, as arrays for the kernels.

A `Dfa` has all rows. A machine that is discovered fills those that are needed first.
"""

from __future__ import annotations

from explorer.automata.machine import ByteMachine, Int32
from explorer.tokens.walks.trie import Trie


def arrays_from(machine: ByteMachine, trie: Trie, state: int) -> tuple[Int32, Int32] | None:
    """The class of each byte, and a table that has every row on the way of a word from a state.

    Args:
        machine: The byte machine.
        trie: The vocabulary.
        state: Where the words begin.

    Returns:
        int32[256] and int32[rows, classes].

    Raises:
        BudgetExceeded: A machine that is discovered met more than its budget allows.
    """
    machine.visit(trie, state)
    return machine.symbol_class, machine.table
