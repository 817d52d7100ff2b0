"""Equal states of a machine without cycles, such as every bounded repeat.

It needs no refinement: taken from its ends, two states are equal exactly where their rows of
already numbered targets are, so one pass with a hash table does it in linear time (Revuz,
"Minimisation of acyclic deterministic automata in linear time", Theoretical Computer Science 92,
1992).
"""

from __future__ import annotations

import numpy as np

from explorer.automata.machine import Bool, Int32
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit


@jit
def fold(table: Int32, accepting: Bool, useful: Bool, start: int) -> tuple[Int32, Int32, int]:
    """Number equal states alike from the ends of an acyclic machine.

    Returns a number for each useful state (−1 for the others), a state of each number, and how
    many numbers there are: none if the machine has a cycle.
    """
    states, classes = table.shape
    number = np.full(states, -1, np.int32)
    incoming = np.zeros(states, np.int32)
    total = 0
    for s in range(states):
        if useful[s]:
            total += 1
            for c in range(classes):
                target = table[s, c]
                if target >= 0 and useful[target]:
                    incoming[target] += 1
    representative = np.empty(total, np.int32)
    order = np.empty(total, np.int32)
    head, tail = 0, 0
    if incoming[start] == 0:
        order[0] = start
        tail = 1
    while head < tail:
        state = order[head]
        head += 1
        for c in range(classes):
            target = table[state, c]
            if target >= 0 and useful[target]:
                incoming[target] -= 1
                if incoming[target] == 0:
                    order[tail] = target
                    tail += 1
    if tail < total:
        return number, representative, 0
    size = 16
    while size < 4 * total:
        size *= 2
    slots = np.full(size, -1, np.int32)
    codes = np.empty(total, np.uint64)
    count = 0
    row = np.empty(classes, np.int32)
    for i in range(total - 1, -1, -1):
        state = order[i]
        code = SEED + np.uint64(accepting[state])
        for c in range(classes):
            target = table[state, c]
            row[c] = -1 if target < 0 else number[target]
            code = mixed(code, row[c] + 1)
        code = folded(code)
        slot = first_slot(code, size - 1)
        while slots[slot] >= 0:
            known = slots[slot]
            if codes[known] == code:
                other = representative[known]
                same = accepting[other] == accepting[state]
                for c in range(classes):
                    target = table[other, c]
                    if row[c] != (-1 if target < 0 else number[target]):
                        same = False
                        break
                if same:
                    break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            codes[count] = code
            representative[count] = state
            count += 1
        number[state] = slots[slot]
    return number, representative, count


@jit
def quotient_of_rows(
    table: Int32, accepting: Bool, number: Int32, representative: Int32, count: int, start: int
) -> tuple[Int32, Bool]:
    """The machine of the numbers, renumbered breadth first from the start by lowest class."""
    classes = table.shape[1]
    name = np.full(count, -1, np.int32)
    order = np.empty(count, np.int32)
    order[0] = number[start]
    name[order[0]] = 0
    found = 1
    result = np.empty((count, classes), np.int32)
    final = np.empty(count, np.bool_)
    for s in range(count):
        state = representative[order[s]]
        final[s] = accepting[state]
        for c in range(classes):
            target = table[state, c]
            to = -1 if target < 0 else number[target]
            if to >= 0 and name[to] < 0:
                name[to] = found
                order[found] = to
                found += 1
            result[s, c] = -1 if to < 0 else name[to]
    return result, final
