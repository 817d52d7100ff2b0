"""Arcs sorted by the state that they lead to, and the backward search along them.

Which states can finish, and in how many steps, is asked of characters, of automata with moves and
of tokens; the search is the same. It takes one pass over the states and one over the arcs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.jit import jit


@jit
def by_head(tail: Int32, head: Int32, states: int) -> tuple[NDArray[np.int64], Int32]:
    """The arcs that lead to each state.

    Args:
        tail: int32[arcs], where each arc begins.
        head: int32[arcs], where it leads.

    Returns:
        int64[states + 2] and int32[arcs]: the arcs to state s begin in the states
        ``source[offset[s]:offset[s + 1]]``.
    """
    offset = np.zeros(states + 2, np.int64)
    for k in range(head.shape[0]):
        offset[head[k] + 2] += 1
    for s in range(states):
        offset[s + 2] += offset[s + 1]
    source = np.empty(head.shape[0], np.int32)
    for k in range(head.shape[0]):
        source[offset[head[k] + 1]] = tail[k]
        offset[head[k] + 1] += 1
    return offset, source


@jit
def by_target(table: Int32, rows: Bool, columns: Bool) -> tuple[NDArray[np.int64], Int32]:
    """The states that lead to each state by some columns of a table, as `by_head` has them.

    Args:
        table: int32[states, classes], −1 where there is no arc.
    """
    states, classes = table.shape
    offset = np.zeros(states + 2, np.int64)
    for s in range(states):
        if rows[s]:
            for c in range(classes):
                if columns[c] and table[s, c] >= 0:
                    offset[table[s, c] + 2] += 1
    for s in range(states):
        offset[s + 2] += offset[s + 1]
    source = np.empty(offset[states + 1], np.int32)
    for s in range(states):
        if rows[s]:
            for c in range(classes):
                if columns[c] and table[s, c] >= 0:
                    source[offset[table[s, c] + 1]] = s
                    offset[table[s, c] + 1] += 1
    return offset, source


@jit
def steps_from(offset: NDArray[np.int64], neighbour: Int32, begin: Bool) -> Int32:
    """The number of states on a shortest way from those where a search begins to each state.

    Args:
        offset, neighbour: The states beside each: those that arcs to it come from, or lead to.

    Returns:
        int32[states]: 1 where it begins, 0 where it does not get to.
    """
    states = begin.shape[0]
    steps = np.zeros(states, np.int32)
    queue = np.empty(states, np.int32)
    head, tail = 0, 0
    for s in range(states):
        if begin[s]:
            steps[s] = 1
            queue[tail] = s
            tail += 1
    while head < tail:
        here = queue[head]
        head += 1
        for k in range(offset[here], offset[here + 1]):
            if steps[neighbour[k]] == 0:
                steps[neighbour[k]] = steps[here] + 1
                queue[tail] = neighbour[k]
                tail += 1
    return steps
