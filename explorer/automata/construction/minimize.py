"""Minimisation: the smallest DFA of a language, with its states in reading order.

A machine without cycles is folded from its ends (`explorer.automata.construction.acyclic`), any
other told apart in a few rounds (`explorer.automata.construction.rounds`) or refined
(`explorer.automata.construction.refinement`).

Before: dead ends are trimmed and symbol classes that behave alike are merged, so that m is
small. After: states are numbered breadth first from the start, by lowest symbol, so that two
minimal machines of one language are equal arrays. ``(foo)+d`` comes out as 0, 1, 2, 3, 4.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.automata.construction.acyclic import fold, quotient_of_rows
from explorer.automata.construction.reaching import by_target, steps_from
from explorer.automata.construction.refinement import refined
from explorer.automata.construction.rounds import MOST_CELLS, MOST_ROUNDS, in_rounds
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.hashing import SEED, mixed
from explorer.jit import jit

STAGE: Final = "Minimisation"
_SECONDS_PER_CELL: Final = 1e-8


@jit
def _merge_columns(table: Int32) -> tuple[Int32, int]:
    """A new class for every class, equal exactly where two columns of the table are equal."""
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
    # Most machines come with their classes as they should be, and a copy takes most of the time.
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
