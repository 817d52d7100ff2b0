"""Subset construction: an NFA over symbol intervals becomes a DFA over symbol classes.

Rabin and Scott's construction with four things that matter in practice:

- **Classes first.** Symbols that no arc distinguishes are one class, so a table row has tens of
  columns, not hundreds. The classes follow from the end points of the arcs' intervals.
- **Segments per state.** Inside one state set, neighbouring classes covered by the same arcs
  share one target, which is computed once.
- **Sets in an arena.** A state set is a sorted run of int32 in one growing array, looked up
  through a hash table that always compares the runs themselves: no false merge is possible.
- **Deadlines.** The number of sets can double with every NFA state (``(a|b)*a(a|b){25}``), so
  the kernel returns after a bounded amount of work, and every growth of the arena is reported to
  the `Meter` before memory is allocated. OpenFST's ``determinize`` cannot be interrupted, and its
  state limit truncates silently; it is the oracle in the tests.

Costs: time proportional to the arcs of all sets; memory 4 bytes per member of each set plus
4 bytes per table cell.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Dfa, Int32, Nfa
from explorer.budget import Meter
from explorer.hashing import SEED, enter, first_slot, folded, mixed
from explorer.jit import jit
from explorer.memo import longer, slots_for

STAGE: Final = "Determinization"

# Work units (arc visits) between checks of the clock: about ten milliseconds.
QUANTUM: Final = 2_000_000
_SORTING: Final = 32
_SECONDS_PER_BYTE: Final = 1e-9
_SECONDS_PER_ARC: Final = 1e-8

# The reasons for which `_expand` returns.
_FINISHED: Final = 0
_PAUSED: Final = 1
_NEEDS_STATES: Final = 2
_NEEDS_ARENA: Final = 3

# Places in the `progress` vector that a paused kernel resumes from.
_STATES: Final = 0
_ARENA: Final = 1
_NEXT: Final = 2
_STAMP: Final = 3
_SEGMENT: Final = 4


@jit
def _index(
    num_states: int, num_symbols: int, arcs: Int32, epsilons: Int32
) -> tuple[Int32, int, Int32, Int32, Int32, Int32]:
    """Symbol classes, and arcs and ε-arcs grouped by source.

    Returns the class of each symbol, the number of classes, and the offsets and orders of the
    arcs (``arc_start[s] .. arc_start[s + 1]`` index ``arc_order``) and of the ε-arcs.
    """
    boundary = np.zeros(num_symbols + 1, np.bool_)
    arc_start = np.zeros(num_states + 2, np.int32)
    epsilon_start = np.zeros(num_states + 2, np.int32)
    for k in range(arcs.shape[0]):
        boundary[arcs[k, 1]] = True
        boundary[arcs[k, 2] + 1] = True
        arc_start[arcs[k, 0] + 2] += 1
    for k in range(epsilons.shape[0]):
        epsilon_start[epsilons[k, 0] + 2] += 1
    for s in range(num_states + 1):
        arc_start[s + 1] += arc_start[s]
        epsilon_start[s + 1] += epsilon_start[s]
    symbol_class = np.empty(num_symbols, np.int32)
    current = 0
    for symbol in range(num_symbols):
        if symbol > 0 and boundary[symbol]:
            current += 1
        symbol_class[symbol] = current
    arc_order = np.empty(arcs.shape[0], np.int32)
    for k in range(arcs.shape[0]):
        source = arcs[k, 0] + 1
        arc_order[arc_start[source]] = k
        arc_start[source] += 1
    epsilon_target = np.empty(epsilons.shape[0], np.int32)
    for k in range(epsilons.shape[0]):
        source = epsilons[k, 0] + 1
        epsilon_target[epsilon_start[source]] = epsilons[k, 1]
        epsilon_start[source] += 1
    return symbol_class, current + 1, arc_start, arc_order, epsilon_start, epsilon_target


@jit
def _close(
    members: Int32,
    count: int,
    stamp: Int32,
    now: int,
    epsilon_start: Int32,
    epsilon_target: Int32,
) -> tuple[int, int]:
    """Follow ε from ``members[:count]`` (already stamped ``now``), in place.

    Returns the new count and the number of ε-arcs followed.
    """
    seen = 0
    followed = 0
    while seen < count:
        state = members[seen]
        seen += 1
        followed += epsilon_start[state + 1] - epsilon_start[state]
        for k in range(epsilon_start[state], epsilon_start[state + 1]):
            target = epsilon_target[k]
            if stamp[target] != now:
                stamp[target] = now
                members[count] = target
                count += 1
    return count, followed  # pyright: ignore[reportReturnType] - A scalar of numpy is an int here.


@jit
def _expand(
    symbol_class: Int32,
    num_classes: int,
    arcs: Int32,
    arc_start: Int32,
    arc_order: Int32,
    epsilon_start: Int32,
    epsilon_target: Int32,
    useful: Bool,
    nfa_accepting: Bool,
    stamp: Int32,
    arena: Int32,
    set_start: NDArray[np.int64],
    set_hash: NDArray[np.uint64],
    slots: Int32,
    table: Int32,
    accepting: Bool,
    progress: NDArray[np.int64],
    quantum: int,
) -> int:
    """Expand state sets until all are done, room runs out, or the quantum is used up."""
    num_nfa = stamp.shape[0]
    members = np.empty(num_nfa, np.int32)
    boundary = np.zeros(num_classes + 1, np.bool_)
    segment_of = np.empty(num_classes + 1, np.int32)
    segment_end = np.empty(num_classes + 1, np.int32)
    bucket_start = np.empty(num_classes + 2, np.int32)
    bucket = np.empty(1024, np.int32)
    mask = slots.shape[0] - 1
    work = 0
    while progress[_NEXT] < progress[_STATES]:
        if work > quantum:
            return _PAUSED
        state = progress[_NEXT]
        first, last = set_start[state], set_start[state + 1]
        # Room for everything that this state can create: a growth restarts it from here.
        if progress[_STATES] + num_classes > accepting.shape[0]:
            return _NEEDS_STATES
        # 1. Mark the classes at which arcs of this set begin and end.
        boundary[:] = False
        for i in range(first, last):
            source = arena[i]
            for k in range(arc_start[source], arc_start[source + 1]):
                arc = arc_order[k]
                boundary[symbol_class[arcs[arc, 1]]] = True
                boundary[symbol_class[arcs[arc, 2]] + 1] = True
        segments = 0
        for c in range(num_classes):
            if c > 0 and boundary[c]:
                segment_end[segments] = c
                segments += 1
            segment_of[c] = segments
        segment_end[segments] = num_classes
        segments += 1
        # 2. Collect the targets of each segment: count, then fill.
        for g in range(segments + 2):
            bucket_start[g] = 0
        for i in range(first, last):
            source = arena[i]
            for k in range(arc_start[source], arc_start[source + 1]):
                arc = arc_order[k]
                low = segment_of[symbol_class[arcs[arc, 1]]]
                high = segment_of[symbol_class[arcs[arc, 2]]]
                for g in range(low, high + 1):
                    bucket_start[g + 2] += 1
                work += high - low + 1
        for g in range(segments):
            bucket_start[g + 2] += bucket_start[g + 1]
        if bucket_start[segments + 1] > bucket.shape[0]:
            bucket = np.empty(2 * bucket_start[segments + 1], np.int32)
        for i in range(first, last):
            source = arena[i]
            for k in range(arc_start[source], arc_start[source + 1]):
                arc = arc_order[k]
                low = segment_of[symbol_class[arcs[arc, 1]]]
                high = segment_of[symbol_class[arcs[arc, 2]]]
                for g in range(low, high + 1):
                    bucket[bucket_start[g + 1]] = arcs[arc, 3]
                    bucket_start[g + 1] += 1
        # 3. Close each segment's targets under ε and find or add the set.
        class_ = 0
        for g in range(segments):
            if g < progress[_SEGMENT]:  # Done before a pause.
                class_ = segment_end[g]
                continue
            if work > quantum and g > progress[_SEGMENT]:
                progress[_SEGMENT] = g
                return _PAUSED
            target_state = -1
            if bucket_start[g + 1] > bucket_start[g]:
                progress[_STAMP] += 1
                now = progress[_STAMP]
                count = 0
                for k in range(bucket_start[g], bucket_start[g + 1]):
                    target = bucket[k]
                    if stamp[target] != now:
                        stamp[target] = now
                        members[count] = target
                        count += 1
                count, followed = _close(members, count, stamp, now, epsilon_start, epsilon_target)
                work += count + followed
                kept = 0
                if _SORTING * count > num_nfa:  # So many that their stamps give the order sooner.
                    work += num_nfa
                    for member in range(num_nfa):
                        if stamp[member] == now and useful[member]:
                            members[kept] = member
                            kept += 1
                else:
                    for i in range(count):
                        if useful[members[i]]:
                            members[kept] = members[i]
                            kept += 1
                    if kept > 1:
                        members[:kept].sort()
                        work += _SORTING * kept  # Of large sets this is most of the time.
                if kept > 0:
                    code = SEED
                    for i in range(kept):
                        code = mixed(code, members[i])
                    code = folded(code)
                    slot = first_slot(code, mask)
                    while True:
                        known = slots[slot]
                        if known < 0:
                            break
                        if set_hash[known] == code:
                            begin = set_start[known]
                            if set_start[known + 1] - begin == kept:
                                same = True
                                for i in range(kept):
                                    if arena[begin + i] != members[i]:
                                        same = False
                                        break
                                if same:
                                    break
                        slot = (slot + 1) & mask
                    if slots[slot] >= 0:
                        target_state = slots[slot]
                    else:
                        begin = progress[_ARENA]
                        if begin + kept > arena.shape[0]:
                            return _NEEDS_ARENA
                        target_state = progress[_STATES]
                        accepts = False
                        for i in range(kept):
                            arena[begin + i] = members[i]
                            if nfa_accepting[members[i]]:
                                accepts = True
                        accepting[target_state] = accepts
                        set_hash[target_state] = code
                        slots[slot] = target_state
                        progress[_ARENA] = begin + kept
                        progress[_STATES] = target_state + 1
                        set_start[target_state + 1] = begin + kept
            for c in range(class_, segment_end[g]):
                table[state, c] = target_state
            class_ = segment_end[g]
        progress[_NEXT] = state + 1
        progress[_SEGMENT] = 0
        work += num_classes
    return _FINISHED


def determinize(nfa: Nfa, meter: Meter) -> Dfa:
    """The subset automaton of ``nfa``: reachable, not trimmed of dead ends, not minimised.

    Args:
        nfa: Any automaton over symbol intervals, with or without ε-arcs.

    Returns:
        A `Dfa` whose states are numbered in the order in which they were found.

    Raises:
        BudgetExceeded: A limit was reached; what had been built is dropped.
    """
    given = len(nfa.arcs) + len(nfa.epsilons)
    meter.check(
        STAGE, states=nfa.num_states, arcs=given, bytes=16 * (nfa.num_states + given),
        ahead=given * _SECONDS_PER_ARC,
    )  # fmt: skip
    symbol_class, num_classes, arc_start, arc_order, epsilon_start, epsilon_target = _index(
        nfa.num_states, nfa.num_symbols, nfa.arcs, nfa.epsilons
    )
    nfa_accepting = np.zeros(nfa.num_states, np.bool_)
    nfa_accepting[nfa.accepting] = True
    # Members that neither accept nor read anything would only enlarge the sets.
    useful = nfa_accepting | (arc_start[1 : nfa.num_states + 1] > arc_start[: nfa.num_states])
    stamp = np.zeros(nfa.num_states, np.int32)

    start_set = np.empty(nfa.num_states, np.int32)
    start_set[0] = nfa.start
    stamp[nfa.start] = 1
    count, _ = _close(start_set, 1, stamp, 1, epsilon_start, epsilon_target)
    start_set = np.sort(start_set[:count][useful[start_set[:count]]])

    room = num_classes + 64
    arena = np.empty(max(1024, 4 * len(start_set)), np.int32)
    arena[: len(start_set)] = start_set
    set_start = np.zeros(room + 1, np.int64)
    set_start[1] = len(start_set)
    set_hash = np.zeros(room, np.uint64)
    slots = np.full(slots_for(room), -1, np.int32)
    # The start set is never looked up by hash before it is entered here; an odd hash is fine
    # as long as an equal set found later is allowed to become a state of its own, which only
    # costs one state that minimisation merges again.
    table = np.empty((room, num_classes), np.int32)
    accepting = np.zeros(room, np.bool_)
    accepting[0] = bool(nfa_accepting[start_set].any())
    progress = np.array([1, len(start_set), 0, 1, 0], np.int64)
    while True:
        reason = _expand(
            symbol_class,
            num_classes,
            nfa.arcs,
            arc_start,
            arc_order,
            epsilon_start,
            epsilon_target,
            useful,
            nfa_accepting,
            stamp,
            arena,
            set_start,
            set_hash,
            slots,
            table,
            accepting,
            progress,
            QUANTUM,
        )
        states = int(progress[_STATES])
        if progress[_STAMP] > 2_000_000_000:  # pragma: no cover - an hour of work
            stamp[:] = 0
            progress[_STAMP] = 1
        if reason == _FINISHED:
            break
        if reason == _NEEDS_STATES:
            room = 2 * room + num_classes
        held = arena.nbytes + (16 + 4 * num_classes) * room + 8 * slots_for(room)
        if reason == _NEEDS_ARENA:
            held += arena.nbytes + 4 * nfa.num_states
        # The old copy lives until the new one is filled.
        growing = held + (table.nbytes if reason == _NEEDS_STATES else arena.nbytes)
        # New memory is mapped page by page while the clock is not checked.
        ahead = 0.0 if reason == _PAUSED else held * _SECONDS_PER_BYTE
        meter.check(STAGE, states=states, arcs=states * num_classes, bytes=growing, ahead=ahead)
        if reason == _NEEDS_ARENA:
            arena = longer(arena, 2 * len(arena) + nfa.num_states)
        elif reason == _NEEDS_STATES:
            set_start = longer(set_start, room + 1)
            set_hash = longer(set_hash, room)
            table = longer(table, room)
            accepting = longer(accepting, room)
            if slots_for(room) > len(slots):
                slots = np.full(slots_for(room), -1, np.int32)
                enter(set_hash, states, slots)
    meter.check(STAGE, states=states, arcs=states * num_classes)
    return Dfa(symbol_class, table[:states].copy(), accepting[:states].copy(), 0)
