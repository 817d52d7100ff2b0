"""The subset construction, one row at a time: the kernel of a machine that is discovered.

A state of the machine is a set of configurations of a `Net`, sorted, in one growing array, and
found again by a hash table that compares the sets themselves. A row is filled when a step from its
state is first asked for; the states in it are numbered then.

Of two configurations that differ in the count of their innermost counter alone, and both have the
fewest copies already, whatever the higher one can still read the lower one can too. Only the lowest
is kept, so ``.*x.{0,1000}`` has sets of a few configurations and not of a thousand.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.discovered.net import Int64, Net, closed, entered
from explorer.automata.machine import NO_ARC, Bool, Int32
from explorer.hashing import SEED, enter, first_slot, folded, mixed
from explorer.jit import jit

UNKNOWN: Final = -2
"""An entry of a row that has not been filled."""

# What a kernel came back for.
FINISHED: Final = 0
PAUSED: Final = 1
NEEDS_STATES: Final = 2
NEEDS_ARENA: Final = 3
NEEDS_SETS: Final = 4
NEEDS_PART: Final = 5
"""A part that was left for later, the one that begins in the state ``progress[PART]``."""

# Places in `progress`.
STATES: Final = 0
ARENA: Final = 1
STAMP: Final = 2
NODE: Final = 3
FILLED: Final = 4
PART: Final = 5

QUANTUM: Final = 200_000
"""Arcs and nodes that are looked at between two looks at the clock."""

UInt8 = NDArray[np.uint8]


class Found(NamedTuple):
    """The states that were met.

    Args:
        arena: int64[room], the configurations of all sets, one set after the other.
        set_start: int64[states + 1], where each set begins.
        set_hash: uint64[states].
        slots: int32[2^k], the hash table of the sets.
        table: int32[states, classes], a state, `NO_ARC` or `UNKNOWN`.
        accepting: bool[states].
        members: int64[m], room for a set that is being made.
        seen, stamps: int64[2 m], a hash table for it.
        progress: int64[6], how many states, configurations, stamps, trie nodes and filled rows, and
            the state of a part that is needed.
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
def _kept(net: Net, members: Int64, count: int) -> int:
    """Sort a closed set, and drop what can neither read nor accept, and what another one covers."""
    bits = net.bits[0]
    kept = 0
    for i in range(count):
        if net.useful[members[i] >> bits]:
            members[kept] = members[i]
            kept += 1
    if kept < 2:
        return kept
    members[:kept].sort()
    if net.sizes.shape[0] == 0:
        return kept
    mask = (np.int64(1) << bits) - 1
    count, kept = kept, 0
    state, around = np.int64(-1), np.int64(-1)
    enough = False
    for i in range(count):
        here = members[i] >> bits
        scope = net.scope[here]
        if scope >= 0:
            size = net.sizes[scope, 0]
            outer, copies = (members[i] & mask) // size, (members[i] & mask) % size + 1
            if here != state or outer != around:
                state, around, enough = here, outer, False
            if copies >= net.sizes[scope, 1]:
                if enough:
                    continue
                enough = True
        members[kept] = members[i]
        kept += 1
    return kept


@jit
def _numbered(net: Net, found: Found, kept: int) -> int:
    """The number of the set ``found.members[:kept]``; a new one if it is new, −1 without room."""
    members, arena, set_start = found.members, found.arena, found.set_start
    code = SEED
    for i in range(kept):
        code = mixed(code, members[i])
    code = folded(code)
    mask = found.slots.shape[0] - 1
    slot = first_slot(code, mask)
    while found.slots[slot] >= 0:
        known = found.slots[slot]
        begin = set_start[known]
        if found.set_hash[known] == code and set_start[known + 1] - begin == kept:
            same = True
            for i in range(kept):
                if arena[begin + i] != members[i]:
                    same = False
                    break
            if same:
                return known
        slot = (slot + 1) & mask
    begin = found.progress[ARENA]
    if begin + kept > arena.shape[0]:
        return -1
    number = found.progress[STATES]
    bits = net.bits[0]
    accepts = False
    for i in range(kept):
        arena[begin + i] = members[i]
        if net.accepting[members[i] >> bits]:
            accepts = True
    found.accepting[number] = accepts
    found.set_hash[number] = code
    found.slots[slot] = number
    found.table[number, :] = UNKNOWN
    set_start[number + 1] = begin + kept
    found.progress[ARENA] = begin + kept
    found.progress[STATES] = number + 1
    return number


@jit
def _short_of(found: Found, count: int) -> int:
    """Why a set could not be closed."""
    found.progress[PART] = -2 - count
    return NEEDS_SETS if count == -1 else NEEDS_PART


@jit
def begin(net: Net, found: Found) -> int:
    """Make the start state, number 0, and say why the kernel returned."""
    found.progress[STAMP] += 1
    now = found.progress[STAMP]
    count = 0
    for k in range(net.start.shape[0]):
        count = entered(net.start[k], found.members, count, found.seen, found.stamps, now)
    if count >= 0:
        count = closed(net, found.members, count, found.seen, found.stamps, now)
    if count < 0:
        return _short_of(found, count)
    kept = _kept(net, found.members, count)
    return NEEDS_ARENA if _numbered(net, found, kept) < 0 else FINISHED


@jit
def fill(net: Net, found: Found, state: int) -> int:
    """Fill the row of a state, and say why the kernel returned. After a growth the row is begun
    again."""
    table, arena, progress = found.table, found.arena, found.progress
    classes = table.shape[1]
    if table[state, 0] != UNKNOWN:
        return FINISHED
    if progress[STATES] + classes + 1 > table.shape[0]:
        return NEEDS_STATES
    bits = net.bits[0]
    mask = (np.int64(1) << bits) - 1
    first, last = found.set_start[state], found.set_start[state + 1]
    # Where do the arcs of this set begin and end?
    boundary = np.zeros(classes + 1, np.bool_)
    for i in range(first, last):
        source = arena[i] >> bits
        for k in range(net.arc_start[source], net.arc_start[source + 1]):
            boundary[net.arcs[k, 0]] = True
            boundary[net.arcs[k, 1] + 1] = True
    row = np.full(classes, NO_ARC, np.int32)
    low = 0
    while low < classes:
        high = low + 1
        while high < classes and not boundary[high]:
            high += 1
        progress[STAMP] += 1
        now = progress[STAMP]
        count = 0
        for i in range(first, last):
            source = arena[i] >> bits
            for k in range(net.arc_start[source], net.arc_start[source + 1]):
                if net.arcs[k, 0] <= low and low <= net.arcs[k, 1]:
                    code = (np.int64(net.arcs[k, 2]) << bits) | (arena[i] & mask)
                    count = entered(code, found.members, count, found.seen, found.stamps, now)
                    if count < 0:
                        return NEEDS_SETS
        if count > 0:
            count = closed(net, found.members, count, found.seen, found.stamps, now)
            if count < 0:
                return _short_of(found, count)
            target = _numbered(net, found, _kept(net, found.members, count))
            if target < 0:
                return NEEDS_ARENA
            for c in range(low, high):
                row[c] = target
        low = high
    table[state, :] = row
    progress[FILLED] += 1
    return FINISHED


@jit
def visit(
    net: Net, found: Found, byte: UInt8, depth: Int32, skip: Int32, stack: Int32, quantum: int
) -> int:
    """Fill the rows that the words of a trie need, and say why the kernel returned.

    Args:
        net, found: The machine.
        byte, depth, skip: The trie, in depth-first order: the byte into each node, its depth from
            1, and the node after its last descendant.
        stack: int32[deepest + 1], the state at each depth; the first is where the words begin.
        quantum: How much may be done before it pauses.
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


def empty_found(classes: int) -> Found:
    """The tables before any state was met.

    Args:
        classes: How many classes of bytes there are.
    """
    room, members = 64 + 2 * classes, 256
    return Found(
        np.empty(1024, np.int64), np.zeros(room + 1, np.int64), np.zeros(room, np.uint64),
        np.full(_slots_for(room), -1, np.int32), np.full((room, classes), UNKNOWN, np.int32),
        np.zeros(room, np.bool_), np.empty(members, np.int64), np.empty(2 * members, np.int64),
        np.zeros(2 * members, np.int64), np.zeros(6, np.int64),
    )  # fmt: skip


def grown(found: Found, reason: int) -> Found:
    """The same with more room of the kind that a kernel came back for."""
    if reason == NEEDS_ARENA:
        arena = np.empty(2 * len(found.arena) + len(found.members), np.int64)
        arena[: len(found.arena)] = found.arena
        return found._replace(arena=arena)
    if reason == NEEDS_SETS:
        room = 4 * len(found.members)
        return found._replace(
            members=np.empty(room, np.int64), seen=np.empty(2 * room, np.int64),
            stamps=np.zeros(2 * room, np.int64),
        )  # fmt: skip
    states, classes = found.table.shape
    return with_room(found, 2 * states + 2 * classes)


def with_room(found: Found, room: int) -> Found:
    """The same with room for so many states, at least as many as there are."""
    count = int(found.progress[STATES])
    classes = found.table.shape[1]
    set_start = np.zeros(room + 1, np.int64)
    set_start[: count + 1] = found.set_start[: count + 1]
    set_hash = np.zeros(room, np.uint64)
    set_hash[:count] = found.set_hash[:count]
    slots = np.full(_slots_for(room), -1, np.int32)
    enter(set_hash, count, slots)
    table = np.full((room, classes), UNKNOWN, np.int32)
    table[:count] = found.table[:count]
    accepting = np.zeros(room, np.bool_)
    accepting[:count] = found.accepting[:count]
    return found._replace(
        set_start=set_start, set_hash=set_hash, slots=slots, table=table, accepting=accepting
    )


def _slots_for(states: int) -> int:
    return 1 << (2 * states).bit_length()


@jit
def missing(
    table: Int32, symbol_class: Int32, byte: UInt8, depth: Int32, skip: Int32, stack: Int32,
    progress: Int64,
) -> int:  # fmt: skip
    """The next state whose row the words of a trie need and the table lacks; −1 if it has all.

    Args:
        table, symbol_class: The rows so far; states beyond the table have none.
        byte, depth, skip, stack: As for `visit`.
        progress: int64[1], the node that it goes on from, and where it stops.
    """
    node = progress[0]
    while node < byte.shape[0]:
        here = stack[depth[node] - 1]
        if here >= table.shape[0] or table[here, 0] == UNKNOWN:
            progress[0] = node
            return here  # pyright: ignore[reportReturnType] - An int here.
        target = table[here, symbol_class[byte[node]]]
        if target < 0:
            node = skip[node]
            continue
        stack[depth[node]] = target
        node += 1
    progress[0] = node
    return -1
