"""Equal states by rounds: states are alike for one more byte as long as that tells more apart.

Moore's algorithm (1956). A round is one pass over the table, and there are as many rounds as the
longest word that is needed to tell two states apart: a few dozen in machines of JSON, where they
cost a third of what `explorer.automata.construction.refinement` costs, and thousands in a long
bounded repeat. So after a few rounds it is given up where most states are still alike, and it never
takes long.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.automata.machine import Bool, Int32
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit

MOST_ROUNDS: Final = 48
MOST_CELLS: Final = 1_000_000
"""A round over a larger table would be long between two looks at the clock."""

_FIRST_LOOK: Final = 8
_APART: Final = 4
"""After so many rounds at least a quarter of the states must be told apart."""


@jit
def in_rounds(table: Int32, accepting: Bool, useful: Bool, rounds: int) -> tuple[Int32, Int32, int]:
    """Number equal states alike.

    Returns a number for each useful state (−1 for the others), a state of each number, and how
    many numbers there are: none if so many rounds were not enough.
    """
    states, classes = table.shape
    number = np.full(states, -1, np.int32)
    total = 0
    finals = 0
    for s in range(states):
        if useful[s]:
            total += 1
            finals += accepting[s]
            number[s] = accepting[s]
    representative = np.empty(total, np.int32)
    size = 16
    while size < 2 * total:
        size *= 2
    slots = np.empty(size, np.int32)
    codes = np.empty(total, np.uint64)
    after = np.full(states, -1, np.int32)
    before = 1 if finals == 0 or finals == total else 2
    for k in range(rounds):
        slots[:] = -1
        count = 0
        for s in range(states):
            if not useful[s]:
                continue
            code = mixed(SEED, number[s] + 1)
            for c in range(classes):
                target = table[s, c]
                code = mixed(code, 0 if target < 0 else int(number[target]) + 1)
            code = folded(code)
            slot = first_slot(code, size - 1)
            while slots[slot] >= 0:
                known = slots[slot]
                if codes[known] == code:
                    other = representative[known]
                    same = number[other] == number[s]
                    for c in range(classes):
                        one, two = table[s, c], table[other, c]
                        if one != two and (-1 if one < 0 else number[one]) != (
                            -1 if two < 0 else number[two]
                        ):
                            same = False
                            break
                    if same:
                        break
                slot = (slot + 1) & (size - 1)
            if slots[slot] < 0:
                slots[slot] = count
                codes[count] = code
                representative[count] = s
                count += 1
            after[s] = slots[slot]
        if count in (before, total):
            return after, representative, count
        number, after = after, number
        before = count
        if k == _FIRST_LOOK and count * _APART < total:
            break
    return number, representative, 0
