"""Minimisation: the smallest DFA of a language, with its states in reading order.

Partition refinement over *transitions* (Valmari, "Fast brief practical DFA minimization",
Information Processing Letters 112, 2012). It refines blocks of states and bundles of equal
transitions in turn, costs O(m log m) for m existing transitions, and never needs a sink state,
which suits partial machines: a chain of thirty thousand states, where a machine for ``.{0,4000}``
begins, has few transitions per state.

A machine without cycles, such as every bounded repeat, needs no refinement: taken from its ends,
two states are equal exactly where their rows of already numbered targets are, so one pass with
a hash table does it in linear time (Revuz, "Minimisation of acyclic deterministic automata in
linear time", Theoretical Computer Science 92, 1992).

Before: dead ends are trimmed and symbol classes that behave alike are merged, so that m is
small. After: states are numbered breadth first from the start, by lowest symbol, so that two
minimal machines of one language are equal arrays. ``(foo)+d`` comes out as 0, 1, 2, 3, 4.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.jit import jit

STAGE: Final = "Minimisation"
QUANTUM: Final = 4_000_000
_SECONDS_PER_CELL: Final = 1e-8

_FINISHED: Final = 0
_PAUSED: Final = 1

# Places in `progress`: next block, next bundle, number of blocks, number of bundles.
_BLOCK: Final = 0
_BUNDLE: Final = 1
_BLOCKS: Final = 2
_BUNDLES: Final = 3


@jit
def _merge_columns(table: Int32) -> tuple[Int32, int]:
    """A new class for every class, equal exactly where two columns of the table are equal."""
    states, classes = table.shape
    merged = np.zeros(classes, np.int32)
    if states == 0:
        return merged, 1
    code = np.full(classes, 1469598103934665603, np.uint64)
    for s in range(states):
        for c in range(classes):
            code[c] = (code[c] ^ np.uint64(table[s, c] + 1)) * np.uint64(1099511628211)
    representative = np.empty(classes, np.int32)
    count = 0
    for c in range(classes):
        found = -1
        for k in range(count):
            other = representative[k]
            if code[other] == code[c]:
                same = True
                for s in range(states):
                    if table[s, other] != table[s, c]:
                        same = False
                        break
                if same:
                    found = k
                    break
        if found < 0:
            representative[count] = c
            found = count
            count += 1
        merged[c] = found
    return merged, count


@jit
def _trim(table: Int32, accepting: Bool, start: int) -> Bool:
    """Which states lie on a path from the start to an accepting state."""
    states, classes = table.shape
    useful = np.zeros(states, np.bool_)
    if start < 0:
        return useful
    reached = np.zeros(states, np.bool_)
    queue = np.empty(states, np.int32)
    queue[0] = start
    reached[start] = True
    head, tail = 0, 1
    while head < tail:
        state = queue[head]
        head += 1
        for c in range(classes):
            target = table[state, c]
            if target >= 0 and not reached[target]:
                reached[target] = True
                queue[tail] = target
                tail += 1
    # Reverse arcs, grouped by target.
    offset = np.zeros(states + 2, np.int64)
    for i in range(tail):
        for c in range(classes):
            target = table[queue[i], c]
            if target >= 0:
                offset[target + 2] += 1
    for s in range(states + 1):
        offset[s + 1] += offset[s]
    source = np.empty(offset[states + 1], np.int32)
    for i in range(tail):
        for c in range(classes):
            target = table[queue[i], c]
            if target >= 0:
                source[offset[target + 1]] = queue[i]
                offset[target + 1] += 1
    head = 0
    count = 0
    for i in range(tail):
        if accepting[queue[i]]:
            useful[queue[i]] = True
    back = np.empty(states, np.int32)
    for i in range(tail):
        if useful[queue[i]]:
            back[count] = queue[i]
            count += 1
    while head < count:
        state = back[head]
        head += 1
        for k in range(offset[state], offset[state + 1]):
            if not useful[source[k]]:
                useful[source[k]] = True
                back[count] = source[k]
                count += 1
    return useful


@jit
def _fold(table: Int32, accepting: Bool, useful: Bool, start: int) -> tuple[Int32, Int32, int]:
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
        code = np.uint64(1469598103934665603) + np.uint64(accepting[state])
        for c in range(classes):
            target = table[state, c]
            row[c] = -1 if target < 0 else number[target]
            code = (code ^ np.uint64(row[c] + 1)) * np.uint64(1099511628211)
        code ^= code >> np.uint64(29)
        slot = np.int64(code & np.uint64(size - 1))
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
def _quotient_of_rows(
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


@jit
def _transitions(table: Int32, useful: Bool) -> tuple[Int32, Int32, Int32, Int32]:
    """Tail, label and head of each transition between useful states, and the states' new names.

    Transitions come grouped by label.
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
    """Move an element into the marked front part of its set; the new number of touched sets."""
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
    while progress[_BUNDLE] < progress[_BUNDLES]:
        if work > quantum:
            return _PAUSED
        bundle = progress[_BUNDLE]
        count = 0
        for i in range(bundles[3, bundle], bundles[4, bundle]):
            count = _mark(
                int(tail[bundles[0, i]]), blocks[0], blocks[1], blocks[2], blocks[3], touched[1],
                touched[0], count,
            )  # fmt: skip
        work += bundles[4, bundle] - bundles[3, bundle] + 1
        progress[_BLOCKS] = _split(
            blocks[0], blocks[2], blocks[3], blocks[4], touched[1], touched[0], count,
            progress[_BLOCKS],
        )  # fmt: skip
        progress[_BUNDLE] = bundle + 1
        while progress[_BLOCK] < progress[_BLOCKS]:
            block = progress[_BLOCK]
            count = 0
            for i in range(blocks[3, block], blocks[4, block]):
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
            progress[_BLOCK] = block + 1
    return _FINISHED


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
    # The first block needs no turn of its own: its complement's turn tells the same.
    progress = np.array([1, 0, sets, bundle + 1], np.int64)
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


@jit
def _renumber(symbol_class: Int32, merged: Int32, count: int) -> tuple[Int32, Int32]:
    """Classes numbered by their lowest symbol: the new map, and an old class for each new one."""
    name = np.full(count, -1, np.int32)
    old = np.empty(count, np.int32)
    result = np.empty_like(symbol_class)
    used = 0
    for symbol in range(symbol_class.shape[0]):
        class_ = merged[symbol_class[symbol]]
        if name[class_] < 0:
            name[class_] = used
            old[used] = symbol_class[symbol]
            used += 1
        result[symbol] = name[class_]
    return result, old[:used]


def merge_classes(dfa: Dfa) -> Dfa:
    """The same machine with as few symbol classes as it can have, numbered by lowest symbol."""
    merged, count = _merge_columns(dfa.table)
    symbol_class, old = _renumber(dfa.symbol_class, merged, count)
    return Dfa(symbol_class, np.ascontiguousarray(dfa.table[:, old]), dfa.accepting, dfa.start)


def empty_dfa(num_symbols: int) -> Dfa:
    """The machine of the empty language: no state at all."""
    return Dfa(
        np.zeros(num_symbols, np.int32), np.empty((0, 1), np.int32), np.empty(0, np.bool_), NO_ARC
    )


def minimize(dfa: Dfa, meter: Meter) -> Dfa:
    """The smallest machine of the same language, trimmed and in canonical form.

    Args:
        dfa: Any deterministic machine.
        meter: Watches bytes and seconds.

    Returns:
        A machine in which every state lies on an accepting path, states are numbered breadth
        first and classes by their lowest symbol; without any state if the language is empty.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    if dfa.start == NO_ARC or not dfa.accepting.any():
        return empty_dfa(dfa.num_symbols)
    # Whole passes over the table cannot pause, so each is announced with what it may take.
    seconds = dfa.table.size * _SECONDS_PER_CELL
    meter.check_time(STAGE, ahead=seconds)
    dfa = merge_classes(dfa)
    seconds = dfa.table.size * _SECONDS_PER_CELL
    meter.check_time(STAGE, ahead=seconds)
    useful = _trim(dfa.table, dfa.accepting, dfa.start)
    if not useful[dfa.start]:
        return empty_dfa(dfa.num_symbols)
    meter.check_time(STAGE, ahead=seconds)
    number, representative, count = _fold(dfa.table, dfa.accepting, useful, dfa.start)
    if count:
        meter.check_time(STAGE, ahead=seconds)
        table, accepting = _quotient_of_rows(
            dfa.table, dfa.accepting, number, representative, count, dfa.start
        )
        return merge_classes(Dfa(dfa.symbol_class, table, accepting, 0))
    meter.check(STAGE, bytes=dfa.table.nbytes * 12)
    meter.check_time(STAGE, ahead=2 * seconds)
    tail, label, head, name = _transitions(dfa.table, useful)
    final = dfa.accepting[useful]
    blocks, bundles, touched, progress, start, incoming = _initial(len(final), final, label, head)
    while _refine(tail, start, incoming, blocks, bundles, touched, progress, QUANTUM) == _PAUSED:
        meter.check_time(STAGE)
    table, accepting = _quotient(
        blocks,
        int(progress[_BLOCKS]),
        dfa.num_classes,
        tail,
        label,
        head,
        final,
        int(name[dfa.start]),
    )
    return merge_classes(Dfa(dfa.symbol_class, table, accepting, 0))
