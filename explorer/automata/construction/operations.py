"""The operations on byte machines, each under a budget.

The subset construction and minimisation have files of their own. A *product* (intersection,
difference, symmetric difference) explores only reachable pairs, over the coarsest common refinement
of the symbol classes; a missing arc is the state −1 on that side, so no machine must be completed
first. Cost: pairs reached × joint classes; at most ``|A| × |B|`` pairs. Union and concatenation
join machines with ε-arcs and pass the result to the subset construction.
pynini's operations of the same names are the reference; the tests compare with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.minimize import empty_dfa, merge_classes, minimize
from explorer.automata.construction.subset import determinize, minimal_dfa
from explorer.automata.machine import Bool, Dfa, Int32, Nfa
from explorer.budget import Meter
from explorer.hashing import enter_pairs, slot_of_pair
from explorer.jit import jit
from explorer.memo import longer, slots_for

STAGE: Final = "Product construction"
QUANTUM: Final = 500_000

_BOTH: Final = 0
_LEFT_ONLY: Final = 1
_EITHER_ONLY: Final = 2

_FINISHED: Final = 0
_PAUSED: Final = 1
_NEEDS_ROOM: Final = 2


@jit
def _joint_classes(a: Int32, b: Int32) -> tuple[Int32, Int32, Int32]:
    """The coarsest common refinement of two class maps, and the class of either side in each."""
    size = 0
    for symbol in range(b.shape[0]):
        size = max(size, b[symbol] + 1)
    rows = 0
    for symbol in range(a.shape[0]):
        rows = max(rows, a[symbol] + 1)
    known = np.full((rows, size), -1, np.int32)
    joint = np.empty_like(a)
    left = np.empty(a.shape[0], np.int32)
    right = np.empty(a.shape[0], np.int32)
    count = 0
    for symbol in range(a.shape[0]):
        if known[a[symbol], b[symbol]] < 0:
            known[a[symbol], b[symbol]] = count
            left[count] = a[symbol]
            right[count] = b[symbol]
            count += 1
        joint[symbol] = known[a[symbol], b[symbol]]
    return joint, left[:count], right[:count]


@jit
def _explore(
    a: Int32,
    b: Int32,
    left: Int32,
    right: Int32,
    operation: int,
    first: Int32,
    second: Int32,
    slots: Int32,
    table: Int32,
    progress: NDArray[np.int64],
    quantum: int,
) -> int:
    """Explore pairs until all are done, room runs out, or the quantum is used up."""
    classes = left.shape[0]
    work = 0
    while progress[1] < progress[0]:
        if work > quantum:
            return _PAUSED
        if progress[0] + classes > table.shape[0]:
            return _NEEDS_ROOM
        state = progress[1]
        p, q = first[state], second[state]
        for c in range(classes):
            x = a[p, left[c]] if p >= 0 else -1
            y = b[q, right[c]] if q >= 0 else -1
            dead = x < 0 and y < 0
            if operation == _BOTH:
                dead = x < 0 or y < 0
            elif operation == _LEFT_ONLY:
                dead = x < 0
            if dead:
                table[state, c] = -1
                continue
            slot = slot_of_pair(first, second, slots, x, y)  # pyright: ignore[reportArgumentType]
            if slots[slot] < 0:
                slots[slot] = progress[0]
                first[progress[0]], second[progress[0]] = x, y
                progress[0] += 1
            table[state, c] = slots[slot]
        progress[1] = state + 1
        work += classes
    return _FINISHED


def _accepting(side: Dfa, states: Int32) -> Bool:
    """Whether each state of one side accepts; −1 does not accept."""
    if side.num_states == 0:
        return np.zeros(len(states), np.bool_)
    return np.where(states >= 0, side.accepting[np.maximum(states, 0)], False)


def _product(a: Dfa, b: Dfa, operation: int, meter: Meter) -> Dfa:
    joint, left, right = _joint_classes(a.symbol_class, b.symbol_class)
    classes = len(left)
    room = 256 + classes
    first, second = np.full(room, a.start, np.int32), np.full(room, b.start, np.int32)
    slots = np.full(slots_for(room), -1, np.int32)
    enter_pairs(first, second, 0, 1, slots)
    table = np.empty((room, classes), np.int32)
    progress = np.array([1, 0], np.int64)
    while True:
        reason = _explore(
            a.table, b.table, left, right, operation, first, second, slots, table, progress, QUANTUM
        )
        count = int(progress[0])
        if reason == _FINISHED:
            break
        if reason == _NEEDS_ROOM:
            room = 2 * room + classes
        meter.check(
            STAGE, states=count, arcs=count * classes, bytes=room * (4 * classes + 24) * 3 // 2
        )
        if reason == _NEEDS_ROOM:
            first, second, table = longer(first, room), longer(second, room), longer(table, room)
            slots = np.full(slots_for(room), -1, np.int32)
            enter_pairs(first, second, 0, count, slots)
    meter.check(STAGE, states=count, arcs=count * classes)
    x, y = _accepting(a, first[:count]), _accepting(b, second[:count])
    accepting = x & y if operation == _BOTH else x & ~y if operation == _LEFT_ONLY else x ^ y
    return minimize(Dfa(joint, table[:count].copy(), accepting, 0), meter)


def intersection(a: Dfa, b: Dfa, meter: Meter) -> Dfa:
    """The minimal machine of the words that both accept.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    return _product(a, b, _BOTH, meter)


def difference(a: Dfa, b: Dfa, meter: Meter) -> Dfa:
    """The minimal machine of the words that only ``a`` accepts; see `intersection`."""
    return _product(a, b, _LEFT_ONLY, meter)


def symmetric_difference(a: Dfa, b: Dfa, meter: Meter) -> Dfa:
    """The minimal machine of the words that exactly one accepts; see `intersection`."""
    return _product(a, b, _EITHER_ONLY, meter)


__all__ = [
    "concatenation",
    "determinize",
    "dfa_to_nfa",
    "difference",
    "empty_dfa",
    "equivalent",
    "intersection",
    "merge_classes",
    "minimal_dfa",
    "minimize",
    "symmetric_difference",
    "union",
]

_NO_EPSILONS: Int32 = np.empty((0, 2), np.int32)


def dfa_to_nfa(dfa: Dfa) -> Nfa:
    """The machine as an NFA with arcs over symbol intervals.

    A machine without states becomes one state that accepts nothing.
    """
    if dfa.num_states == 0:
        none = np.empty((0, 4), np.int32)
        return Nfa(1, 0, none, _NO_EPSILONS, np.empty(0, np.int32), dfa.num_symbols)
    # Work on runs of equal class, not on symbols: a run is the finest interval that can matter.
    first = np.flatnonzero(np.diff(dfa.symbol_class, prepend=-1))
    last = np.append(first[1:], dfa.num_symbols) - 1
    targets = dfa.table[:, dfa.symbol_class[first]]
    starts = np.ones(targets.shape, np.bool_)
    starts[:, 1:] = targets[:, 1:] != targets[:, :-1]
    ends = np.ones(targets.shape, np.bool_)
    ends[:, :-1] = starts[:, 1:]
    live = targets >= 0
    source, low = np.nonzero(starts & live)
    high = np.nonzero(ends & live)[1]
    arcs = np.column_stack([source, first[low], last[high], targets[source, low]])
    return Nfa(
        dfa.num_states,
        dfa.start,
        np.ascontiguousarray(arcs, np.int32),
        _NO_EPSILONS,
        np.flatnonzero(dfa.accepting).astype(np.int32),
        dfa.num_symbols,
    )


def _side_by_side(parts: Sequence[Dfa], spare: int) -> tuple[list[Nfa], list[int], int]:
    """The parts as NFAs, the first state of each, and the number of states after ``spare`` more."""
    nfas = [dfa_to_nfa(part) for part in parts]
    offsets = list(np.cumsum([spare, *(nfa.num_states for nfa in nfas)]))
    return nfas, [int(offset) for offset in offsets[:-1]], int(offsets[-1])


def _shifted_arcs(nfas: Sequence[Nfa], offsets: Sequence[int]) -> Int32:
    shift = np.array([1, 0, 0, 1], np.int32)
    return np.concatenate(
        [nfa.arcs + shift * offset for nfa, offset in zip(nfas, offsets, strict=True)]
    ).astype(np.int32)


def union(parts: Sequence[Dfa], meter: Meter) -> Dfa:
    """The minimal machine of the words that any part accepts.

    Args:
        parts: At least one machine, all over the same number of symbols.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    nfas, offsets, total = _side_by_side(parts, 1)
    epsilons = [(0, offset + nfa.start) for nfa, offset in zip(nfas, offsets, strict=True)]
    accepting = [nfa.accepting + offset for nfa, offset in zip(nfas, offsets, strict=True)]
    joined = Nfa(
        total,
        0,
        _shifted_arcs(nfas, offsets),
        np.array(epsilons, np.int32),
        np.concatenate(accepting).astype(np.int32),
        nfas[0].num_symbols,
    )
    return minimal_dfa(joined, meter)


def concatenation(parts: Sequence[Dfa], meter: Meter) -> Dfa:
    """The minimal machine of the concatenations of one word of each part; see `union`."""
    nfas, offsets, total = _side_by_side(parts, 0)
    epsilons: list[tuple[int, int]] = []
    for k in range(len(nfas) - 1):
        entry = offsets[k + 1] + nfas[k + 1].start
        epsilons += [(int(state) + offsets[k], entry) for state in nfas[k].accepting]
    joined = Nfa(
        total,
        offsets[0] + nfas[0].start,
        _shifted_arcs(nfas, offsets),
        np.array(epsilons, np.int32).reshape(-1, 2),
        (nfas[-1].accepting + offsets[-1]).astype(np.int32),
        nfas[0].num_symbols,
    )
    return minimal_dfa(joined, meter)


def equivalent(a: Dfa, b: Dfa, meter: Meter) -> bool:
    """Whether two machines accept the same words."""
    return symmetric_difference(a, b, meter).num_states == 0
