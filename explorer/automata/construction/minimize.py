"""Minimisation: the smallest DFA of a language, with its states in reading order.

Before: dead ends are trimmed and symbol classes that behave alike are merged, so that m is
small. After: states are numbered breadth first from the start, by lowest symbol, so that two
minimal machines of one language are equal arrays. ``(foo)+d`` comes out as 0, 1, 2, 3, 4.

Between these steps, equal states are found in one of two ways:

- *Folded* from its ends, a machine without cycles, such as every bounded repeat: two states are
  equal exactly where their rows of already numbered targets are, so one pass with a hash table does
  it in linear time (Revuz, "Minimisation of acyclic deterministic automata in linear time",
  Theoretical Computer Science 92, 1992).
- *Refined*, any other: blocks of states that are not yet told apart are split by the blocks that
  their arcs lead to, until none is. Only states that lead to a state whose block has changed are
  looked at again, and of a block that is split the largest part keeps the name, so a state changes
  its name at most log n times (Hopcroft 1971; in this form Jacobs and Wißmann, "Fast coalgebraic
  bisimilarity minimization", POPL 2023).

The backward search for states that can finish, and for the number of steps (`by_head`,
`steps_from`), is shared by machines over characters, automata with moves and token machines. It
takes one pass over the states and one over the arcs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit


@jit
def by_head(tail: Int32, head: Int32, states: int) -> tuple[NDArray[np.int64], Int32]:
    """The arcs that lead to each state.

    Args:
        tail: int32[arcs], the source of each arc.
        head: int32[arcs], the target of each arc.

    Returns:
        int64[states + 2] and int32[arcs]: the arcs to state s have the sources
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
    """The states that lead to each state by some columns of a table, in the form of `by_head`.

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
    """The number of states on a shortest path from the given start states to each state.

    Args:
        offset, neighbour: The neighbours of each state, in the direction of the search.

    Returns:
        int32[states]: 1 for a start state, 0 for an unreachable one.
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


@jit
def fold(table: Int32, accepting: Bool, useful: Bool, start: int) -> tuple[Int32, Int32, int]:
    """Give equal states of an acyclic machine the same number, working back from its ends.

    Returns a number for each useful state (−1 for the others), a state of each number, and the
    count of numbers, which is 0 if the machine has a cycle.
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
    numbered = 1
    result = np.empty((count, classes), np.int32)
    final = np.empty(count, np.bool_)
    for s in range(count):
        state = representative[order[s]]
        final[s] = accepting[state]
        for c in range(classes):
            target = table[state, c]
            to = -1 if target < 0 else number[target]
            if to >= 0 and name[to] < 0:
                name[to] = numbered
                order[numbered] = to
                numbered += 1
            result[s, c] = -1 if to < 0 else name[to]
    return result, final


QUANTUM: Final = 1_000_000
"""The cells of the table that are read between two looks at the clock."""

# The rows of `parts` in `refine`.
_BLOCK, _MEMBER, _PLACE, _COPY, _GROUP = range(5)
_FIRST, _PAST, _CHANGED, _WAITING, _SIZE, _NUMBER = range(5, 11)


@jit
def blocks_at_first(accepting: Bool, useful: Bool) -> tuple[Int32, Int32, NDArray[np.int64]]:
    """The accepting states and the others, all of them changed: three arguments of `refine`."""
    states = accepting.shape[0]
    size = 16
    while size < 2 * states:
        size *= 2
    slots = np.full(size, -1, np.int32)
    parts = np.full((11, states), -1, np.int32)
    progress = np.zeros(2, np.int64)
    count = 0
    for ends in (False, True):
        block, begin = progress[0], count
        for s in range(states):
            if useful[s] and accepting[s] == ends:
                parts[_BLOCK, s], parts[_PLACE, s], parts[_MEMBER, count] = block, count, s
                count += 1
        if count > begin:
            parts[_FIRST, block], parts[_PAST, block] = begin, count
            parts[_CHANGED, block], parts[_WAITING, block] = count - begin, block
            progress[0] = progress[1] = block + 1
    return parts, slots, progress


@jit
def refine(
    table: Int32, offset: NDArray[np.int64], source: Int32, parts: Int32, slots: Int32,
    progress: NDArray[np.int64], quantum: int,
) -> bool:  # fmt: skip
    """Split blocks until all states of each lead to the same blocks; false after a pause.

    Args:
        offset, source: The states that lead to each state, in the form of `by_head`.
        parts: int32[11, states]: of each state its block; the states in the order of the blocks,
            and the place of each there; of each block where it begins and ends in that order, and
            how many of its states have changed, which stand first; the blocks with such states; and
            scratch memory.
        slots: int32[2^k], a free slot for each state and more; all −1.
        progress: int64[2], the numbers of blocks and of blocks with changed states.
    """
    classes, mask = table.shape[1], slots.shape[0] - 1
    block_of, members, place, copy = parts[_BLOCK], parts[_MEMBER], parts[_PLACE], parts[_COPY]
    group_of, begins, ends, changed = parts[_GROUP], parts[_FIRST], parts[_PAST], parts[_CHANGED]
    waiting, size, number = parts[_WAITING], parts[_SIZE], parts[_NUMBER]
    work = 0
    while progress[1] > 0:
        if work > quantum:
            return False
        progress[1] -= 1
        block = waiting[progress[1]]
        first, until, past = begins[block], begins[block] + changed[block], ends[block]
        changed[block] = 0
        if past - first == 1:
            continue
        # The states that have not changed are alike, so the first of them stands for all.
        groups = 0
        for i in range(first, min(until + 1, past)):
            code = SEED
            for c in range(classes):
                target = table[members[i], c]
                code = mixed(code, 0 if target < 0 else int(block_of[target]) + 1)
            slot = first_slot(folded(code), mask)
            while slots[slot] >= 0:
                same = True
                for c in range(classes):
                    one, two = table[members[i], c], table[members[slots[slot]], c]
                    if one != two and (-1 if one < 0 else block_of[one]) != (
                        -1 if two < 0 else block_of[two]
                    ):
                        same = False
                        break
                if same:
                    break
                slot = (slot + 1) & mask
            if slots[slot] < 0:
                slots[slot] = i
                group_of[i], size[groups], number[groups] = groups, 0, slot
                groups += 1
            group_of[i] = group_of[slots[slot]]
            size[group_of[i]] += 1
        work += (until - first + 1) * classes
        for g in range(groups):
            slots[number[g]] = -1
        if groups == 1:
            continue
        alike = -1
        if until < past:
            alike = group_of[until]
            size[alike] += past - until - 1
        largest = 0
        for g in range(groups):
            if size[g] > size[largest]:
                largest = g
        # The largest group stays the block. The others become blocks, which stand before it.
        end = until if alike in (-1, largest) else past
        copy[first:end] = members[first:end]
        at = first
        for g in range(groups):
            if g != largest:
                begins[progress[0]], changed[progress[0]], number[g] = at, 0, progress[0]
                ends[progress[0]] = at
                at += size[g]
                progress[0] += 1
        begins[block] = at
        for i in range(first, end):
            state, g = copy[i], group_of[i] if i < until else alike
            where = at
            if g == largest:
                at += 1
            else:
                block_of[state] = number[g]
                where = ends[number[g]]
                ends[number[g]] += 1
            members[where], place[state] = state, where
        # What leads to a state of a new block has changed; that moves states within their blocks.
        copy[first : begins[block]] = members[first : begins[block]]
        for i in range(first, begins[block]):
            for k in range(offset[copy[i]], offset[copy[i] + 1]):
                state = source[k]
                of = block_of[state]
                front = begins[of] + changed[of]
                if place[state] < front or ends[of] - begins[of] == 1:
                    continue
                other = members[front]
                members[place[state]], place[other] = other, place[state]
                members[front], place[state] = state, front
                if changed[of] == 0:
                    waiting[progress[1]] = of
                    progress[1] += 1
                changed[of] += 1
    return True


STAGE: Final = "Minimisation"
_SECONDS_PER_CELL: Final = 1e-8


@jit
def _merge_columns(table: Int32) -> tuple[Int32, int]:
    """The new class of every class; classes with equal columns get the same one."""
    states, classes = table.shape
    merged = np.zeros(classes, np.int32)
    if states == 0:
        return merged, 1
    code = np.full(classes, SEED, np.uint64)
    for s in range(states):
        for c in range(classes):
            code[c] = mixed(code[c], table[s, c] + 1)
    representative = np.empty(classes, np.int32)
    count = 0
    for c in range(classes):
        twin = -1
        for k in range(count):
            other = representative[k]
            if code[other] == code[c]:
                same = True
                for s in range(states):
                    if table[s, other] != table[s, c]:
                        same = False
                        break
                if same:
                    twin = k
                    break
        if twin < 0:
            representative[count] = c
            twin = count
            count += 1
        merged[c] = twin
    return merged, count


@jit
def _trim(table: Int32, accepting: Bool, start: int) -> tuple[Bool, NDArray[np.int64], Int32]:
    """The states on a path from the start to an end, and the arcs in `by_head`'s form."""
    states, classes = table.shape
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
    offset, source = by_target(table, reached, np.ones(int(classes), np.bool_))
    return steps_from(offset, source, accepting & reached) > 0, offset, source


@jit
def _renumber(symbol_class: Int32, merged: Int32, count: int) -> tuple[Int32, Int32]:
    """Number classes by their lowest symbol; return the new map and an old class of each."""
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
    # Most machines already have their classes in order, and copying takes most of the time.
    as_it_is = len(old) == dfa.num_classes and bool((old[1:] > old[:-1]).all())
    table = dfa.table if as_it_is else dfa.table.take(old, axis=1)
    return Dfa(symbol_class, np.ascontiguousarray(table), dfa.accepting, dfa.start)


def empty_dfa(num_symbols: int) -> Dfa:
    """The machine of the empty language, which has no state."""
    return Dfa(
        np.zeros(num_symbols, np.int32), np.empty((0, 1), np.int32), np.empty(0, np.bool_), NO_ARC
    )


def minimize(dfa: Dfa, meter: Meter) -> Dfa:
    """The smallest machine of the same language, trimmed and in canonical form.

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
    useful, offset, source = _trim(dfa.table, dfa.accepting, dfa.start)
    if not useful[dfa.start]:
        return empty_dfa(dfa.num_symbols)
    meter.check_time(STAGE, ahead=seconds)
    number, representative, count = fold(dfa.table, dfa.accepting, useful, dfa.start)
    if not count:
        number, representative, count = _refined(dfa, useful, offset, source, meter)
    meter.check_time(STAGE, ahead=seconds)
    table, accepting = quotient_of_rows(
        dfa.table, dfa.accepting, number, representative, count, dfa.start
    )
    return merge_classes(Dfa(dfa.symbol_class, table, accepting, 0))


def _refined(
    dfa: Dfa, useful: Bool, offset: NDArray[np.int64], source: Int32, meter: Meter
) -> tuple[Int32, Int32, int]:
    """The result of `fold` for any machine; the arguments are those of `_trim`'s result."""
    meter.check(STAGE, bytes=dfa.table.nbytes * 4 + 80 * dfa.num_states)
    parts, slots, progress = blocks_at_first(dfa.accepting, useful)
    while not refine(dfa.table, offset, source, parts, slots, progress, QUANTUM):
        meter.check_time(STAGE)
    count = int(progress[0])
    return parts[_BLOCK], parts[_MEMBER][parts[_FIRST, :count]], count
