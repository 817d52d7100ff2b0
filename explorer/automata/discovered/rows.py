"""The subset construction, one row at a time: the kernel of a machine that is discovered.

A state of the machine is a set of configurations of a `Net`, sorted, in one growing array, and
found again by a hash table that compares the sets themselves. A row is filled when a step from its
state is first asked for; the states in it are numbered then. A configuration is one number: a state
of the net, and below it in ``bits`` bits the counts of its counters.

Of two configurations that differ in the count of their innermost counter alone, and both have the
fewest copies already, whatever the higher one can still read the lower one can too. Only the lowest
is kept, so ``.*x.{0,1000}`` has sets of a few configurations and not of a thousand.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import LETTER
from explorer.automata.machine import NO_ARC, UNKNOWN, Bool, Int32, UInt8
from explorer.automata.program import AGAIN, ENTER, LEAVE, PLAIN
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit

Int64 = NDArray[np.int64]

# What a kernel came back for.
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

    @property
    def num_classes(self) -> int:
        """The number of classes of bytes."""
        return int(self.symbol_class[-1]) + 1  # Classes are numbered in the order of bytes.

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some arc reads, and those that a late part may read."""
        room = self.num_classes + 1
        hit = np.bincount(self.arcs[:, 0], minlength=room)
        hit -= np.bincount(self.arcs[:, 1] + 1, minlength=room)
        read = hit.cumsum()[self.symbol_class] > 0
        if self.late.any():
            read[:LETTER] = True  # A late part is text.
        return read


class Found(NamedTuple):
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
def closed(
    move_start: Int32, moves: Int32, late: Bool, sizes: Int64, bits: int, members: Int64,
    count: int, seen: Int64, stamps: Int64, now: int,
) -> int:  # fmt: skip
    """Close ``members[:count]``, all of which are in ``seen``, under moves, in place.

    Args:
        move_start, moves, late, sizes: As in `Net`.
        bits: The number of bits of a configuration's counts.
        members: The configurations, with room for half as many as ``seen``.
        seen, stamps: A hash table of this set; its entries have the stamp ``now``.

    Returns:
        The new count; −1 without room; −2 minus a state whose part must be built first.
    """
    mask = (np.int64(1) << bits) - 1
    done = 0
    while done < count:
        state = members[done] >> bits
        value = members[done] & mask
        done += 1
        if late[state]:
            return -2 - state
        for k in range(move_start[state], move_start[state + 1]):
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
            count = entered((np.int64(moves[k, 0]) << bits) | after, members, count, seen,
                            stamps, now)  # fmt: skip
            if count < 0:
                return -1
    return count


@jit
def entered(code: int, members: Int64, count: int, seen: Int64, stamps: Int64, now: int) -> int:
    """Add a configuration to a set; return the new count, or −1 without room."""
    mask = seen.shape[0] - 1
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
def _kept(useful: Bool, scopes: Int32, sizes: Int64, bits: int, members: Int64, count: int) -> int:
    """Sort a closed set; drop configurations that are useless or covered by another one."""
    kept = 0
    for i in range(count):
        if useful[members[i] >> bits]:
            members[kept] = members[i]
            kept += 1
    if kept < 2:
        return kept
    members[:kept].sort()
    if sizes.shape[0] == 0:
        return kept
    mask = (np.int64(1) << bits) - 1
    count, kept = kept, 0
    state, around = np.int64(-1), np.int64(-1)
    enough = False
    for i in range(count):
        here = members[i] >> bits
        scope = scopes[here]
        if scope >= 0:
            size = sizes[scope, 0]
            outer, copies = (members[i] & mask) // size, (members[i] & mask) % size + 1
            if here != state or outer != around:
                state, around, enough = here, outer, False
            if copies >= sizes[scope, 1]:
                if enough:
                    continue
                enough = True
        members[kept] = members[i]
        kept += 1
    return kept


@jit
def _numbered(
    ends: Bool, bits: int, arena: Int64, set_start: Int64, set_hash: NDArray[np.uint64],
    slots: Int32, table: Int32, accepting: Bool, members: Int64, progress: Int64, kept: int,
) -> int:  # fmt: skip
    """The number of the set ``members[:kept]``; a new one if it is new, −1 without room.

    ``ends`` are the accepting states of the net; the rest is as in `Found`.
    """
    code = SEED
    for i in range(kept):
        code = mixed(code, members[i])
    code = folded(code)
    mask = slots.shape[0] - 1
    slot = first_slot(code, mask)
    while slots[slot] >= 0:
        known = slots[slot]
        begin = set_start[known]
        if set_hash[known] == code and set_start[known + 1] - begin == kept:
            same = True
            for i in range(kept):
                if arena[begin + i] != members[i]:
                    same = False
                    break
            if same:
                return known
        slot = (slot + 1) & mask
    begin = progress[ARENA]
    if begin + kept > arena.shape[0]:
        return -1
    number = progress[STATES]
    accepts = False
    for i in range(kept):
        arena[begin + i] = members[i]
        if ends[members[i] >> bits]:
            accepts = True
    accepting[number] = accepts
    table[number, :] = UNKNOWN
    set_hash[number] = code
    slots[slot] = number
    set_start[number + 1] = begin + kept
    progress[ARENA] = begin + kept
    progress[STATES] = number + 1
    return number


@jit
def _short_of(progress: Int64, count: int) -> int:
    """The reason why a set could not be closed."""
    progress[PART] = -2 - count
    return NEEDS_SETS if count == -1 else NEEDS_PART


@jit
def begin(net: Net, found: Found) -> int:
    """Make the start state, number 0, and return the reason why the kernel stopped."""
    members, seen, stamps, bits = found.members, found.seen, found.stamps, net.bits[0]
    found.progress[STAMP] += 1
    now = found.progress[STAMP]
    count = 0
    for k in range(net.start.shape[0]):
        count = entered(net.start[k], members, count, seen, stamps, now)
    if count >= 0:
        count = closed(
            net.move_start, net.moves, net.late, net.sizes, bits, members, count, seen, stamps, now
        )
    if count < 0:
        return _short_of(found.progress, count)
    kept = _kept(net.useful, net.scope, net.sizes, bits, members, count)
    number = _numbered(
        net.accepting, bits, found.arena, found.set_start, found.set_hash, found.slots,
        found.table, found.accepting, members, found.progress, kept,
    )  # fmt: skip
    return NEEDS_ARENA if number < 0 else FINISHED


@jit
def fill(net: Net, found: Found, state: int) -> int:
    """Fill the row of a state, and return the reason why the kernel stopped.

    After a growth the row is filled from its beginning.
    """
    return fill_from_arrays(
        net.arc_start, net.arcs, net.move_start, net.moves, net.useful, net.accepting, net.scope,
        net.late, net.sizes, net.bits, found.arena, found.set_start, found.set_hash, found.slots,
        found.table, found.accepting, found.members, found.seen, found.stamps, found.progress,
        state,
    )  # fmt: skip


@jit
def row_filled(net: tuple[Any, ...], found: tuple[Any, ...], state: int) -> int:
    """`fill` for calls from Python, with the `Net` and the `Found` as plain tuples.

    Numba takes longer to look up the types of named tuples than to fill a row.
    """
    return fill(Net(*net), Found(*found), state)


@jit
def fill_from_arrays(
    arc_start: Int32, arcs: Int32, move_start: Int32, moves: Int32, useful: Bool, ends: Bool,
    scope: Int32, late: Bool, sizes: Int64, width: Int64,
    arena: Int64, set_start: Int64, set_hash: NDArray[np.uint64], slots: Int32, table: Int32,
    accepting: Bool, members: Int64, seen: Int64, stamps: Int64, progress: Int64, state: int,
) -> int:  # fmt: skip
    """`fill` with the arrays of the `Net` and the `Found` as separate arguments.

    A kernel counts the references to each array of a tuple argument; that took longer than the
    work on a row.
    """
    classes = table.shape[1]
    if table[state, 0] != UNKNOWN:
        return FINISHED
    bits = width[0]
    mask = (np.int64(1) << bits) - 1
    first, last = set_start[state], set_start[state + 1]
    count = 0
    for i in range(first, last):
        source = arena[i] >> bits
        count += arc_start[source + 1] - arc_start[source]
    # The classes where some arc begins or has ended; between two of them the same arcs read.
    room = min(2 * count, classes + 1) + 1
    edges = np.empty(room, np.int32)
    if 2 * count < room:
        some = 0
        for i in range(first, last):
            source = arena[i] >> bits
            for k in range(arc_start[source], arc_start[source + 1]):
                edges[some], edges[some + 1] = arcs[k, 0], arcs[k, 1] + 1
                some += 2
        some = _ascending(edges, some)
    else:
        begins = np.zeros(classes + 1, np.bool_)
        for i in range(first, last):
            source = arena[i] >> bits
            for k in range(arc_start[source], arc_start[source + 1]):
                begins[arcs[k, 0]] = True
                begins[arcs[k, 1] + 1] = True
        some = 0
        for c in range(classes + 1):
            if begins[c]:
                edges[some] = c
                some += 1
    if progress[STATES] + some > table.shape[0]:
        return NEEDS_STATES
    targets = np.empty(room, np.int32)
    before, target = np.int64(-1), np.int64(NO_ARC)
    for at in range(some - 1):
        low = edges[at]
        cover, single = 0, np.int64(-1)
        progress[STAMP] += 1
        now = progress[STAMP]
        reached = 0
        for i in range(first, last):
            source = arena[i] >> bits
            for k in range(arc_start[source], arc_start[source + 1]):
                if arcs[k, 0] <= low and low <= arcs[k, 1]:
                    cover += 1
                    single = (np.int64(arcs[k, 2]) << bits) | (arena[i] & mask)
                    reached = entered(int(single), members, reached, seen, stamps, now)
                    if reached < 0:
                        return NEEDS_SETS
        if cover == 0:
            targets[at] = NO_ARC
            continue
        if cover > 1 or single != before:
            reached = closed(
                move_start, moves, late, sizes, bits, members, reached, seen, stamps, now
            )
            if reached < 0:
                return _short_of(progress, reached)
            target = _numbered(
                ends, bits, arena, set_start, set_hash, slots, table, accepting, members, progress,
                _kept(useful, scope, sizes, bits, members, reached),
            )  # fmt: skip
            if target < 0:
                return NEEDS_ARENA
            before = single if cover == 1 else np.int64(-1)
        targets[at] = target
    table[state, :] = NO_ARC
    for at in range(some - 1):
        for c in range(edges[at], edges[at + 1]):
            table[state, c] = targets[at]
    progress[FILLED] += 1
    return FINISHED


@jit
def _ascending(edges: Int32, count: int) -> int:
    """Sort numbers in place and drop duplicates; the number that remain."""
    if count > 32:
        edges[:count].sort()
    else:
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
    net: Net, found: Found, byte: UInt8, depth: Int32, skip: Int32, stack: Int32, quantum: int
) -> int:
    """Fill the rows that the words of a trie need, and return the reason why the kernel stopped.

    Args:
        net, found: The machine.
        byte, depth, skip: The trie, in depth-first order: the byte into each node, its depth from
            1, and the node after its last descendant.
        stack: int32[deepest + 1], the state at each depth; the first is where the words begin.
        quantum: The number of arcs and nodes to visit before it pauses.
    """
    table, symbol_class, progress = found.table, net.symbol_class, found.progress
    work = 0
    node = progress[NODE]
    while node < byte.shape[0]:
        here = stack[depth[node] - 1]
        target = table[here, symbol_class[byte[node]]]
        if target == UNKNOWN:
            if work > quantum:
                progress[NODE] = node
                return PAUSED
            reason = fill(net, found, here)  # pyright: ignore[reportArgumentType] - An int here.
            if reason != FINISHED:
                progress[NODE] = node
                return reason
            work += 1 + (found.set_start[here + 1] - found.set_start[here]) * table.shape[1]
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
