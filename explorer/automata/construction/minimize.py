"""Minimisation: the smallest DFA of a language, with its states in reading order.

Before: dead ends are trimmed and symbol classes that behave alike are merged, so that m is
small. After: states are numbered breadth first from the start, by lowest symbol, so that two
minimal machines of one language are equal arrays. ``(foo)+d`` comes out as 0, 1, 2, 3, 4.

Between these steps, equal states are found in one of three ways, depending on the machine:

- *Folded* from its ends, without cycles, such as every bounded repeat: two states are equal exactly
  where their rows of already numbered targets are, so one pass with a hash table does it in linear
  time (Revuz, "Minimisation of acyclic deterministic automata in linear time", Theoretical Computer
  Science 92, 1992). ``\\w{0,400}``, 124,000 states: 51 ms, refined 1,340 ms.
- *In rounds*: each round compares states by one more byte, until no more are separated (Moore
  1956). The number of rounds is the length of the longest word needed to separate two states: a few
  dozen in machines of JSON and dates, where they cost a third of a refinement, and thousands in a
  long bounded repeat. So it is given up after a few rounds if most states are still equal.
- *Refined* over transitions (`explorer.automata.construction.refinement`), whatever the machine.

The backward search for states that can finish, and for the number of steps (`by_head`,
`steps_from`), is shared by machines over characters, automata with moves and token machines. It
takes one pass over the states and one over the arcs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.refinement import refined
from explorer.automata.construction.subset import determinize
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32, Nfa
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


MOST_ROUNDS: Final = 48
MOST_CELLS: Final = 1_000_000
"""The most cells of a table for rounds; a round over a larger one delays the clock check."""

_FIRST_LOOK: Final = 8
_APART: Final = 4
"""The number of rounds after which a quarter of the states must be separated."""


@jit
def in_rounds(table: Int32, accepting: Bool, useful: Bool, rounds: int) -> tuple[Int32, Int32, int]:
    """Give equal states the same number, by a limited number of rounds.

    Returns a number for each useful state (−1 for the others), a state of each number, and the
    count of numbers, which is 0 if the rounds did not suffice.
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
def _trim(table: Int32, accepting: Bool, start: int) -> Bool:
    """Mark the states on a path from the start to an accepting state."""
    states, classes = table.shape
    reached = np.zeros(states, np.bool_)
    if start < 0:
        return reached
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
    return steps_from(offset, source, accepting & reached) > 0


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
    useful = _trim(dfa.table, dfa.accepting, dfa.start)
    if not useful[dfa.start]:
        return empty_dfa(dfa.num_symbols)
    meter.check_time(STAGE, ahead=seconds)
    number, representative, count = fold(dfa.table, dfa.accepting, useful, dfa.start)
    if not count and dfa.table.size <= MOST_CELLS:
        number, representative, count = in_rounds(dfa.table, dfa.accepting, useful, MOST_ROUNDS)
    if count:
        meter.check_time(STAGE, ahead=seconds)
        table, accepting = quotient_of_rows(
            dfa.table, dfa.accepting, number, representative, count, dfa.start
        )
        return merge_classes(Dfa(dfa.symbol_class, table, accepting, 0))
    meter.check(STAGE, bytes=dfa.table.nbytes * 12)
    meter.check_time(STAGE, ahead=2 * seconds)
    table, accepting = refined(dfa, useful, lambda: meter.check_time(STAGE))
    return merge_classes(Dfa(dfa.symbol_class, table, accepting, 0))


def minimal_dfa(nfa: Nfa, meter: Meter) -> Dfa:
    """The canonical minimal machine of the language of an automaton: determinized, minimised.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    return minimize(determinize(nfa, meter), meter)
