"""Equal states of any machine: partition refinement over *transitions*.

Valmari, "Fast brief practical DFA minimization", Information Processing Letters 112, 2012. The
algorithm alternately refines blocks of states and bundles of equally labelled transitions, costs
O(m log m) for m existing transitions, and needs no sink state. This suits partial machines with few
transitions per state, such as the chain of thirty thousand states of ``.{0,4000}``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Dfa, Int32
from explorer.jit import jit

QUANTUM: Final = 250_000
"""The number of marks between checks of the clock: 0.1 s in a machine of half a million states,
where each mark misses the processor's cache."""

_FINISHED: Final = 0
_PAUSED: Final = 1

# Places in `progress`: next block, next bundle, number of blocks, number of bundles; and of the
# one whose turn was paused, how many members are done and how many sets they have touched.
_BLOCK: Final = 0
_BUNDLE: Final = 1
_BLOCKS: Final = 2
_BUNDLES: Final = 3
_DONE: Final = 4
_TOUCHED: Final = 5


@jit
def _transitions(table: Int32, useful: Bool) -> tuple[Int32, Int32, Int32, Int32]:
    """The tail, label and head of each transition between useful states, and the states' new names.

    Transitions are grouped by label.
    """
    states, classes = table.shape
    name = np.full(states, -1, np.int32)
    count = 0
    for s in range(states):
        if useful[s]:
            name[s] = count
            count += 1
    arcs = 0
    for s in range(states):
        if useful[s]:
            for c in range(classes):
                if table[s, c] >= 0 and useful[table[s, c]]:
                    arcs += 1
    tail = np.empty(arcs, np.int32)
    label = np.empty(arcs, np.int32)
    head = np.empty(arcs, np.int32)
    k = 0
    for c in range(classes):
        for s in range(states):
            if useful[s]:
                target = table[s, c]
                if target >= 0 and useful[target]:
                    tail[k] = name[s]
                    label[k] = c
                    head[k] = name[target]
                    k += 1
    return tail, label, head, name


@jit
def _mark(
    element: int, members: Int32, place: Int32, set_of: Int32, first: Int32, marked: Int32,
    touched: Int32, count: int,
) -> int:  # fmt: skip
    """Move an element into the marked front part of its set; return the number of touched sets."""
    part = set_of[element]
    here = place[element]
    there = first[part] + marked[part]
    members[here] = members[there]
    place[members[here]] = here
    members[there] = element
    place[element] = there
    if marked[part] == 0:
        touched[count] = part
        count += 1
    marked[part] += 1
    return count


@jit
def _split(
    members: Int32, set_of: Int32, first: Int32, past: Int32, marked: Int32, touched: Int32,
    count: int, sets: int,
) -> int:  # fmt: skip
    """Split each touched set into marked and unmarked; the smaller part becomes a new set."""
    while count > 0:
        count -= 1
        part = touched[count]
        middle = first[part] + marked[part]
        if middle == past[part]:
            marked[part] = 0
            continue
        if marked[part] <= past[part] - middle:
            first[sets] = first[part]
            past[sets] = middle
            first[part] = middle
        else:
            past[sets] = past[part]
            first[sets] = middle
            past[part] = middle
        for i in range(first[sets], past[sets]):
            set_of[members[i]] = sets
        marked[part] = 0
        marked[sets] = 0
        sets += 1
    return sets


@jit
def _refine(
    tail: Int32,
    incoming_start: Int32,
    incoming: Int32,
    blocks: Int32,
    bundles: Int32,
    touched: Int32,
    progress: NDArray[np.int64],
    quantum: int,
) -> int:
    """Refine blocks of states and bundles of transitions until both are stable.

    ``blocks`` and ``bundles`` are int32[5, n]: members, place, set of each element, and, per
    set, first, past; ``touched`` is int32[3, ...]: the work list and the two marked counts.
    """
    work = 0
    while True:
        # Blocks first, but not before the first bundle has had its turn.
        while progress[_BUNDLE] > 0 and progress[_BLOCK] < progress[_BLOCKS]:
            block = progress[_BLOCK]
            count = progress[_TOUCHED]
            for i in range(blocks[3, block] + progress[_DONE], blocks[4, block]):
                if work > quantum:
                    progress[_DONE] = i - blocks[3, block]
                    progress[_TOUCHED] = count
                    return _PAUSED
                state = blocks[0, i]
                for k in range(incoming_start[state], incoming_start[state + 1]):
                    count = _mark(
                        incoming[k], bundles[0], bundles[1], bundles[2], bundles[3], touched[2],
                        touched[0], count,
                    )  # fmt: skip
                    work += 1
            progress[_BUNDLES] = _split(
                bundles[0], bundles[2], bundles[3], bundles[4], touched[2], touched[0], count,
                progress[_BUNDLES],
            )  # fmt: skip
            progress[_DONE] = progress[_TOUCHED] = 0
            progress[_BLOCK] = block + 1
        if progress[_BUNDLE] >= progress[_BUNDLES]:
            return _FINISHED
        bundle = progress[_BUNDLE]
        count = progress[_TOUCHED]
        for i in range(bundles[3, bundle] + progress[_DONE], bundles[4, bundle]):
            if work > quantum:
                progress[_DONE] = i - bundles[3, bundle]
                progress[_TOUCHED] = count
                return _PAUSED
            count = _mark(
                int(tail[bundles[0, i]]), blocks[0], blocks[1], blocks[2], blocks[3], touched[1],
                touched[0], count,
            )  # fmt: skip
            work += 1
        work += 1
        progress[_BLOCKS] = _split(
            blocks[0], blocks[2], blocks[3], blocks[4], touched[1], touched[0], count,
            progress[_BLOCKS],
        )  # fmt: skip
        progress[_DONE] = progress[_TOUCHED] = 0
        progress[_BUNDLE] = bundle + 1


@jit
def _initial(
    num_states: int, final: Bool, label: Int32, head: Int32
) -> tuple[Int32, Int32, Int32, NDArray[np.int64], Int32, Int32]:
    """The first partitions (accepting or not; by label) and the arcs grouped by head."""
    arcs = label.shape[0]
    blocks = np.zeros((5, num_states + 1), np.int32)
    bundles = np.zeros((5, arcs + 1), np.int32)
    touched = np.zeros((3, max(num_states, arcs) + 1), np.int32)
    finals = 0
    for s in range(num_states):
        if final[s]:
            blocks[0, finals] = s
            blocks[1, s] = finals
            finals += 1
    k = finals
    for s in range(num_states):
        if not final[s]:
            blocks[0, k] = s
            blocks[1, s] = k
            blocks[2, s] = 1
            k += 1
    blocks[4, 0] = finals
    sets = 1
    if finals < num_states:
        blocks[3, 1] = finals
        blocks[4, 1] = num_states
        sets = 2
    bundle = -1
    for t in range(arcs):
        bundles[0, t] = t
        bundles[1, t] = t
        if t == 0 or label[t] != label[t - 1]:
            bundle += 1
            bundles[3, bundle] = t
        bundles[2, t] = bundle
        bundles[4, bundle] = t + 1
    # The first block needs no turn of its own: its complement's turn has the same effect.
    progress = np.array([1, 0, sets, bundle + 1, 0, 0], np.int64)
    start = np.zeros(num_states + 2, np.int32)
    for t in range(arcs):
        start[head[t] + 2] += 1
    for s in range(num_states + 1):
        start[s + 1] += start[s]
    incoming = np.empty(arcs, np.int32)
    for t in range(arcs):
        incoming[start[head[t] + 1]] = t
        start[head[t] + 1] += 1
    return blocks, bundles, touched, progress, start, incoming


@jit
def _quotient(
    blocks: Int32,
    num_blocks: int,
    num_classes: int,
    tail: Int32,
    label: Int32,
    head: Int32,
    final: Bool,
    start: int,
) -> tuple[Int32, Bool]:
    """The machine of the blocks, numbered breadth first from the start by lowest class."""
    raw = np.full((num_blocks, num_classes), -1, np.int32)
    for t in range(tail.shape[0]):
        raw[blocks[2, tail[t]], label[t]] = blocks[2, head[t]]
    number = np.full(num_blocks, -1, np.int32)
    order = np.empty(num_blocks, np.int32)
    order[0] = blocks[2, start]
    number[order[0]] = 0
    count = 1
    table = np.empty((num_blocks, num_classes), np.int32)
    accepting = np.empty(num_blocks, np.bool_)
    for s in range(num_blocks):
        block = order[s]
        accepting[s] = final[blocks[0, blocks[3, block]]]
        for c in range(num_classes):
            target = raw[block, c]
            if target >= 0 and number[target] < 0:
                number[target] = count
                order[count] = target
                count += 1
            table[s, c] = -1 if target < 0 else number[target]
    return table, accepting


def refined(dfa: Dfa, useful: Bool, look: Callable[[], None]) -> tuple[Int32, Bool]:
    """The machine of the blocks of equal states.

    Args:
        useful: bool[num_states], the states to keep, the start among them.
        look: Called between chunks of work, to check the clock.

    Returns:
        Its table, numbered breadth first from the start by lowest class, and its accepting states.
    """
    tail, label, head, name = _transitions(dfa.table, useful)
    final = dfa.accepting[useful]
    blocks, bundles, touched, progress, start, incoming = _initial(len(final), final, label, head)
    while _refine(tail, start, incoming, blocks, bundles, touched, progress, QUANTUM) == _PAUSED:
        look()
    look()
    return _quotient(
        blocks,
        int(progress[_BLOCKS]),
        dfa.num_classes,
        tail,
        label,
        head,
        final,
        int(name[dfa.start]),
    )
