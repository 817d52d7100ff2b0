"""The kernels of the subset construction, one row at a time or all rows.

Rabin and Scott 1959, with what matters in practice. Symbols that no arc distinguishes are one
class, so a row has tens of columns. Within a set, neighbouring classes that the same arcs read
share one target, which is computed once. A kernel returns after a bounded amount of work, and
wherever it needs room, so that the clock and the limits are looked at in between: the number of
sets can double with every state (``(a|b)*a(a|b){25}``).

A state of the machine is a set of configurations of a `Net`, sorted, in one growing array, and
found again by a hash table that compares the sets themselves. A row is filled when a step from its
state is first asked for; the states in it are numbered then. A configuration is one number: a state
of the net, and below it in ``bits`` bits the counts of its counters.

Of two configurations that differ in the count of their innermost counter alone, and both have the
fewest copies already, whatever the higher one can still read the lower one can too. Only the lowest
is kept, so ``.*x.{0,1000}`` has sets of a few configurations and not of a thousand.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import NO_ARC, UNKNOWN, Bool, Int32, UInt8
from explorer.automata.program import AGAIN, ENTER, LEAVE, PLAIN
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit

Int64 = NDArray[np.int64]

# Why a kernel returned.
FINISHED: Final = 0
PAUSED: Final = 1
NEEDS_STATES: Final = 2
NEEDS_ARENA: Final = 3
NEEDS_SETS: Final = 4
NEEDS_PART: Final = 5
"""A late part is needed: the one that begins in the state ``progress[PART]``."""
BY_ROWS: Final = 6
"""Nothing was done: the words have to be set from rows."""

WHOLE_ROW: Final = -1
"""The value that stands for all classes of symbols."""

# Places in `progress`.
STATES: Final = 0
ARENA: Final = 1
STAMP: Final = 2
NODE: Final = 3
FILLED: Final = 4
PART: Final = 5

QUANTUM: Final = 200_000
"""The number of arcs and nodes visited between two looks at the clock."""

SHARE: Final = 3
"""The factor for memory while an array grows: the old copy, and a new one of twice the size."""

_SORTING: Final = 8
"""The arcs that are followed in the time that sorting takes for each configuration of a set."""

_FEW: Final = 32
"""The most numbers that are sorted one by one."""


class Net(NamedTuple):
    """A program without calls, its arcs and moves by source, over symbol classes.

    Args:
        start: int64[configurations], those before the first byte; not closed under moves.
        symbol_class: int32[256], the class of each byte.
        arc_start: int32[states + 1], the first arc of each state.
        arcs: int32[arcs, 3], rows ``(low class, high class, target)``.
        move_start: int32[states + 1], the first move of each state.
        moves: int32[moves, 3], rows ``(target, action, scope)``.
        useful: bool[states], those with arcs, and those that accept.
        accepting: bool[states].
        scope: int32[states], the innermost scope; −1 outside all.
        late: bool[states], those where an unbuilt part begins.
        sizes: int64[scopes, 4], rows ``(counts, fewest copies, whether there is no most, counts of
            this scope and all around it together)``.
        bits: int64[1], the number of bits of the counts.
    """

    start: Int64
    symbol_class: Int32
    arc_start: Int32
    arcs: Int32
    move_start: Int32
    moves: Int32
    useful: Bool
    accepting: Bool
    scope: Int32
    late: Bool
    sizes: Int64
    bits: Int64

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.accepting)


class SetRows(NamedTuple):
    """The states met so far.

    Args:
        arena: int64[room], the configurations of all sets, one set after the other.
        set_start: int64[states + 1], where each set begins.
        set_hash: uint64[states].
        slots: int32[2^k], the hash table of the sets.
        table: int32[states, classes], a state, `NO_ARC` or `UNKNOWN`.
        accepting: bool[states].
        members: int64[m], the buffer for a set under construction.
        seen, stamps: int64[2 m], the hash table of that buffer.
        progress: int64[6], the numbers of states, configurations, stamps, trie nodes and filled
            rows, and the state where a late part is needed.
    """

    arena: Int64
    set_start: Int64
    set_hash: NDArray[np.uint64]
    slots: Int32
    table: Int32
    accepting: Bool
    members: Int64
    seen: Int64
    stamps: Int64
    progress: Int64


@jit
def entered(
    code: int, bits: int, members: Int64, count: int, seen: Int64, stamps: Int64, now: int
) -> int:
    """Add a configuration to a set; return the new count, or −1 without room."""
    mask = seen.shape[0] - 1
    slot = np.int64(code) & mask  # Without counts it is a state, and the states of a set are near.
    if bits > 0:
        slot = np.int64((np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    while stamps[slot] == now:
        if seen[slot] == code:
            return count
        slot = (slot + 1) & mask
    if count >= members.shape[0]:
        return -1
    stamps[slot] = now
    seen[slot] = code
    members[count] = code
    return count + 1


@jit
def _segments(
    arc_start: Int32, arcs: Int32, bits: int, arena: Int64, first: int, last: int, classes: int,
    boundary: Bool, edges: Int32, segment_of: Int32, bucket_start: Int32, bucket: Int64,
) -> int:  # fmt: skip
    """Divide the classes by what the arcs of a set read; return the number of edges between them.

    Args:
        arc_start, arcs, bits: As in `Net`.
        arena: The configurations of the set are ``arena[first:last]``.
        boundary, segment_of: Scratch memory; the flags are all false.
        edges: Receives the classes where some arc begins or has ended; between two of them the same
            arcs read.
        bucket_start, bucket: Receive the configurations that the arcs over each segment lead to.
    """
    count, some = 0, 0
    for i in range(first, last):
        source = arena[i] >> bits
        count += arc_start[source + 1] - arc_start[source]
    if 2 * count < min(classes, _FEW):
        for i in range(first, last):
            source = arena[i] >> bits
            for k in range(arc_start[source], arc_start[source + 1]):
                edges[some], edges[some + 1] = arcs[k, 0], arcs[k, 1] + 1
                some += 2
        some = _ascending(edges, some)
    else:
        for i in range(first, last):
            source = arena[i] >> bits
            for k in range(arc_start[source], arc_start[source + 1]):
                boundary[arcs[k, 0]] = True
                boundary[arcs[k, 1] + 1] = True
        for c in range(classes + 1):
            if boundary[c]:
                edges[some] = c
                some += 1
                boundary[c] = False
    for g in range(some):
        segment_of[edges[g]] = g
        bucket_start[g] = 0
    bucket_start[some] = bucket_start[some + 1] = 0
    for i in range(first, last):
        source = arena[i] >> bits
        for k in range(arc_start[source], arc_start[source + 1]):
            for g in range(segment_of[arcs[k, 0]], segment_of[arcs[k, 1] + 1]):
                bucket_start[g + 2] += 1
    for g in range(some):
        bucket_start[g + 2] += bucket_start[g + 1]
    mask = (np.int64(1) << bits) - 1
    for i in range(first, last):
        source, counts = arena[i] >> bits, arena[i] & mask
        for k in range(arc_start[source], arc_start[source + 1]):
            for g in range(segment_of[arcs[k, 0]], segment_of[arcs[k, 1] + 1]):
                bucket[bucket_start[g + 1]] = (np.int64(arcs[k, 2]) << bits) | counts
                bucket_start[g + 1] += 1
    return some


@jit
def _kept(useful: Bool, scopes: Int32, sizes: Int64, bits: int, members: Int64, count: int) -> int:
    """Sort a closed set; drop configurations that are useless or covered by another one."""
    kept = 0
    for i in range(count):
        if useful[members[i] >> bits]:
            members[kept] = members[i]
            kept += 1
    if kept >= _FEW:
        members[:kept].sort()
    else:
        for k in range(1, kept):
            code, place = members[k], k
            while place > 0 and members[place - 1] > code:
                members[place] = members[place - 1]
                place -= 1
            members[place] = code
    if sizes.shape[0] == 0 or kept < 2:
        return kept
    mask = (np.int64(1) << bits) - 1
    count, kept = kept, 0
    state, around, enough = np.int64(-1), np.int64(-1), False
    for i in range(count):
        here = members[i] >> bits
        if scopes[here] >= 0:
            size = sizes[scopes[here], 0]
            outer, copies = (members[i] & mask) // size, (members[i] & mask) % size + 1
            if here != state or outer != around:
                state, around, enough = here, outer, False
            if copies >= sizes[scopes[here], 1]:
                if enough:
                    continue
                enough = True
        members[kept] = members[i]
        kept += 1
    return kept


@jit
def fill(net: Net, met: SetRows, state: int, past: int) -> int:
    """Fill rows; see `fill_rows`."""
    return fill_rows(
        net.start, net.arc_start, net.arcs, net.move_start, net.moves, net.useful, net.accepting,
        net.scope, net.late, net.sizes, net.bits,
        met.arena, met.set_start, met.set_hash, met.slots, met.table, met.accepting,
        met.members, met.seen, met.stamps, met.progress, state, past,
    )  # fmt: skip


@jit
def fill_rows(
    start: Int64, arc_start: Int32, arcs: Int32, move_start: Int32, moves: Int32, useful: Bool,
    ends: Bool, scope: Int32, late: Bool, sizes: Int64, width: Int64,
    arena: Int64, set_start: Int64, set_hash: NDArray[np.uint64], slots: Int32, table: Int32,
    accepting: Bool, members: Int64, seen: Int64, stamps: Int64, progress: Int64,
    state: int, past: int,
) -> int:  # fmt: skip
    """Fill the rows of ``state .. past - 1``; return the reason why the kernel stopped.

    The arrays of the `Net` and the `SetRows` are separate arguments: a kernel counts the references
    to each array of a tuple argument; that took longer than the work on a row. After a growth or a
    pause a row goes on with its unknown cells.

    Args:
        state: −1 to make the start state first.
        past: −1 for all states that are known when their turn comes.
    """
    classes = table.shape[1]
    bits = width[0]
    mask = (np.int64(1) << bits) - 1
    boundary = np.zeros(classes + 1, np.bool_)
    edges = np.empty(classes + 1, np.int32)
    segment_of = np.empty(classes + 1, np.int32)
    bucket_start = np.empty(classes + 3, np.int32)
    bucket = np.empty(256, np.int64)
    work, made = 0, False
    while state < (progress[STATES] if past < 0 else past):
        if state >= 0 and table[state, classes - 1] != UNKNOWN:
            state += 1
            continue
        some = np.int64(0)
        if state < 0:  # The start is the one target of a row that nobody asks for.
            some, bucket, edges[0], edges[1] = np.int64(2), start.copy(), 0, 0
            bucket_start[0], bucket_start[1] = 0, start.shape[0]
        else:
            size = 0
            for i in range(set_start[state], set_start[state + 1]):
                source = arena[i] >> bits
                for k in range(arc_start[source], arc_start[source + 1]):
                    size += arcs[k, 1] - arcs[k, 0] + 1
            if size > bucket.shape[0]:
                bucket = np.empty(2 * size, np.int64)
            some = _segments(
                arc_start, arcs, bits, arena, set_start[state], set_start[state + 1], classes,
                boundary, edges, segment_of, bucket_start, bucket,
            )  # fmt: skip
            if progress[STATES] + some > table.shape[0]:
                return NEEDS_STATES
        work += classes + bucket_start[some - 1]
        # The set of each segment. The last cell is written last: it says that a row is whole.
        before, target = np.int64(-1), np.int64(NO_ARC)
        if state >= 0:
            for c in range(edges[0] if some > 0 else classes):
                table[state, c] = NO_ARC
        for at in range(some - 1):
            low, high = bucket_start[at], bucket_start[at + 1]
            if state >= 0 and table[state, edges[at]] != UNKNOWN:
                before = np.int64(-1)
                continue
            if high == low:
                target, before = np.int64(NO_ARC), np.int64(-1)
            elif high > low + 1 or bucket[low] != before:
                if work > QUANTUM and made:
                    return PAUSED
                made = True
                progress[STAMP] += 1
                now = progress[STAMP]
                reached = 0
                for k in range(low, high):
                    reached = entered(bucket[k], bits, members, reached, seen, stamps, now)
                    if reached < 0:
                        return NEEDS_SETS
                # Follow the moves.
                done = 0
                while done < reached:
                    here, value = members[done] >> bits, members[done] & mask
                    done += 1
                    if late[here]:
                        progress[PART] = here
                        return NEEDS_PART
                    work += _SORTING + move_start[here + 1] - move_start[here]
                    for k in range(move_start[here], move_start[here + 1]):
                        action = moves[k, 1]
                        after = value
                        if action != PLAIN:
                            size = sizes[moves[k, 2], 0]
                            if action == ENTER:
                                after = value * size
                            elif action == AGAIN:
                                if value % size + 1 < size:
                                    after = value + 1
                                elif sizes[moves[k, 2], 2] == 0:
                                    continue
                            elif action == LEAVE:
                                if value % size + 1 < sizes[moves[k, 2], 1]:
                                    continue
                                after = value // size
                        reached = entered(
                            (np.int64(moves[k, 0]) << bits) | after, bits, members, reached, seen,
                            stamps, now,
                        )  # fmt: skip
                        if reached < 0:
                            return NEEDS_SETS
                kept = reached
                if reached > 1 or not useful[members[0] >> bits]:
                    kept = _kept(useful, scope, sizes, bits, members, reached)
                # Find the set again, or number it.
                hashed = SEED
                for i in range(kept):
                    hashed = mixed(hashed, members[i])
                hashed = folded(hashed)
                slot = first_slot(hashed, slots.shape[0] - 1)
                target = np.int64(-1)
                while slots[slot] >= 0 and target < 0:
                    known = slots[slot]
                    begin = set_start[known]
                    if set_hash[known] == hashed and set_start[known + 1] - begin == kept:
                        target = np.int64(known)
                        for i in range(kept):
                            if arena[begin + i] != members[i]:
                                target = np.int64(-1)
                                break
                    if target < 0:
                        slot = (slot + 1) & (slots.shape[0] - 1)
                if target < 0:
                    begin = progress[ARENA]
                    if begin + kept > arena.shape[0]:
                        return NEEDS_ARENA
                    target = progress[STATES]
                    accepting[target] = False
                    for i in range(kept):
                        arena[begin + i] = members[i]
                        if ends[members[i] >> bits]:
                            accepting[target] = True
                    for c in range(classes):
                        table[target, c] = UNKNOWN
                    set_hash[target] = hashed
                    slots[slot] = target
                    set_start[target + 1] = begin + kept
                    progress[ARENA] = begin + kept
                    progress[STATES] = target + 1
                before = bucket[low] if high == low + 1 else np.int64(-1)
            if state >= 0:
                for c in range(edges[at], edges[at + 1]):
                    table[state, c] = target
        if state >= 0:
            for c in range(edges[some - 1] if some > 0 else classes, classes):
                table[state, c] = NO_ARC
            progress[FILLED] += 1
        state += 1
    return FINISHED


@jit
def _ascending(edges: Int32, count: int) -> int:
    """Sort a few numbers in place and drop duplicates; the number that remain."""
    for k in range(1, count):
        value = edges[k]
        place = k
        while place > 0 and edges[place - 1] > value:
            edges[place] = edges[place - 1]
            place -= 1
        edges[place] = value
    kept = 0
    for k in range(count):
        if kept == 0 or edges[kept - 1] != edges[k]:
            edges[kept] = edges[k]
            kept += 1
    return kept


@jit
def visit(
    net: Net, met: SetRows, byte: UInt8, depth: Int32, skip: Int32, stack: Int32, quantum: int
) -> int:
    """Fill the rows that the words of a trie need, and return the reason why the kernel stopped.

    Args:
        net, met: The machine.
        byte, depth, skip: The trie, in depth-first order: the byte into each node, its depth from
            1, and the node after its last descendant.
        stack: int32[deepest + 1], the state at each depth; the first is where the words begin.
        quantum: The number of arcs and nodes to visit before it pauses.
    """
    table, symbol_class, progress = met.table, net.symbol_class, met.progress
    work = 0
    node = progress[NODE]
    while node < byte.shape[0]:
        here = stack[depth[node] - 1]
        target = table[here, symbol_class[byte[node]]]
        if target == UNKNOWN:
            if work > quantum:
                progress[NODE] = node
                return PAUSED
            reason = fill(net, met, here, here + 1)  # pyright: ignore[reportArgumentType] - An int.
            if reason != FINISHED:
                progress[NODE] = node
                return reason
            work += 1 + (met.set_start[here + 1] - met.set_start[here]) * table.shape[1]
            continue
        if target < 0:
            node = skip[node]
            continue
        stack[depth[node]] = target
        node += 1
    progress[NODE] = node
    return FINISHED


@jit
def missing(
    table: Int32, symbol_class: Int32, byte: UInt8, depth: Int32, skip: Int32, stack: Int32,
    progress: Int64,
) -> int:  # fmt: skip
    """The next state with a cell that the words of a trie need and the table lacks; −1 if it has
    all.

    Args:
        table, symbol_class: The rows so far; states beyond the table have none.
        byte, depth, skip, stack: As for `visit`.
        progress: int64[1], the node to continue from; updated where the search stops.
    """
    node = progress[0]
    while node < byte.shape[0]:
        here = stack[depth[node] - 1]
        symbol = symbol_class[byte[node]]
        if here >= table.shape[0] or table[here, symbol] == UNKNOWN:
            progress[0] = node
            return here  # pyright: ignore[reportReturnType] - An int here.
        target = table[here, symbol]
        if target < 0:
            node = skip[node]
            continue
        stack[depth[node]] = target
        node += 1
    progress[0] = node
    return -1
