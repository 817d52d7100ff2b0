"""An NFA with counters as flat arrays, made ready to be run.

A *configuration* is a state of the NFA and, in the scope of a counter, the count
(`explorer.automata.tree.counters`), packed in one int: the state in the high bits, all counts of
nested scopes in the low ones. A million states of a machine that is written out are one state and
a number here; whatever uses the net sees no difference.

Only arcs on a way to the end are kept. A copy can always be ended and begun again until there are
enough, so whether a configuration can finish depends on its state alone, and every configuration
that is met can.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32, Nfa
from explorer.automata.tree.counters import AGAIN, ENTER, LEAVE, PLAIN, Counters
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.jit import jit

STAGE: Final = "Making a machine that is discovered"

MOST_BITS: Final = 62
"""Of a configuration: the bits of the state and of its counts."""

Int64 = NDArray[np.int64]


class Net(NamedTuple):
    """An NFA with counters, its arcs and moves by source, over symbol classes.

    Args:
        start: int64[configurations], those before the first byte; not closed under moves.
        symbol_class: int32[256], the class of each byte.
        arc_start: int32[states + 1], where the arcs of each state begin.
        arcs: int32[arcs, 3], rows ``(low class, high class, target)``.
        move_start: int32[states + 1], where the moves of each state begin.
        moves: int32[moves, 3], rows ``(target, action, scope)``.
        useful: bool[states], those with arcs, and those that accept.
        accepting: bool[states].
        scope: int32[states], the innermost scope; −1 outside all.
        sizes: int64[scopes, 3], rows ``(counts, fewest copies, whether there is no most)``.
        bits: int64[1], how many bits the counts take.
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
    sizes: Int64
    bits: Int64

    @property
    def num_classes(self) -> int:
        """How many classes of bytes there are."""
        return int(self.symbol_class.max()) + 1

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some arc reads."""
        hit = np.zeros(self.num_classes + 1, np.int64)
        np.add.at(hit, self.arcs[:, 0], 1)
        np.add.at(hit, self.arcs[:, 1] + 1, -1)
        return hit.cumsum()[self.symbol_class] > 0


@jit
def _alive(states: int, arcs: Int32, moves: Int32, accepting: Bool) -> Bool:
    """The states from which an accepting one can be reached."""
    offset = np.zeros(states + 2, np.int32)
    for k in range(arcs.shape[0]):
        offset[arcs[k, 3] + 2] += 1
    for k in range(moves.shape[0]):
        offset[moves[k, 1] + 2] += 1
    for s in range(states):
        offset[s + 2] += offset[s + 1]
    source = np.empty(arcs.shape[0] + moves.shape[0], np.int32)
    for k in range(arcs.shape[0]):
        source[offset[arcs[k, 3] + 1]] = arcs[k, 0]
        offset[arcs[k, 3] + 1] += 1
    for k in range(moves.shape[0]):
        source[offset[moves[k, 1] + 1]] = moves[k, 0]
        offset[moves[k, 1] + 1] += 1
    alive = accepting.copy()
    queue = np.empty(states, np.int32)
    tail = 0
    for s in range(states):
        if accepting[s]:
            queue[tail] = s
            tail += 1
    head = 0
    while head < tail:
        here = queue[head]
        head += 1
        for k in range(offset[here], offset[here + 1]):
            if not alive[source[k]]:
                alive[source[k]] = True
                queue[tail] = source[k]
                tail += 1
    return alive


@jit
def _indexed(
    states: int, arcs: Int32, moves: Int32, accepting: Bool
) -> tuple[Int32, Int32, Int32, Int32, Int32, Bool, bool]:
    """The byte classes, arcs and moves by source, useful states, and whether there are words."""
    alive = _alive(states, arcs, moves, accepting)
    boundary = np.zeros(257, np.bool_)
    arc_start = np.zeros(states + 2, np.int32)
    move_start = np.zeros(states + 2, np.int32)
    kept_arcs, kept_moves = 0, 0
    for k in range(arcs.shape[0]):
        if alive[arcs[k, 3]]:
            boundary[arcs[k, 1]] = True
            boundary[arcs[k, 2] + 1] = True
            arc_start[arcs[k, 0] + 2] += 1
            kept_arcs += 1
    for k in range(moves.shape[0]):
        if alive[moves[k, 1]]:
            move_start[moves[k, 0] + 2] += 1
            kept_moves += 1
    for s in range(states):
        arc_start[s + 2] += arc_start[s + 1]
        move_start[s + 2] += move_start[s + 1]
    symbol_class = np.empty(256, np.int32)
    current = 0
    for symbol in range(256):
        if symbol > 0 and boundary[symbol]:
            current += 1
        symbol_class[symbol] = current
    by_source = np.empty((kept_arcs, 3), np.int32)
    for k in range(arcs.shape[0]):
        if alive[arcs[k, 3]]:
            place = arc_start[arcs[k, 0] + 1]
            by_source[place, 0] = symbol_class[arcs[k, 1]]
            by_source[place, 1] = symbol_class[arcs[k, 2]]
            by_source[place, 2] = arcs[k, 3]
            arc_start[arcs[k, 0] + 1] += 1
    moves_by_source = np.empty((kept_moves, 3), np.int32)
    for k in range(moves.shape[0]):
        if alive[moves[k, 1]]:
            place = move_start[moves[k, 0] + 1]
            moves_by_source[place, 0] = moves[k, 1]
            moves_by_source[place, 1] = moves[k, 2]
            moves_by_source[place, 2] = moves[k, 3]
            move_start[moves[k, 0] + 1] += 1
    useful = accepting.copy()
    for s in range(states):
        if arc_start[s + 1] > arc_start[s]:
            useful[s] = True
    return (
        symbol_class, arc_start, by_source, move_start, moves_by_source, useful, alive[0],
    )  # fmt: skip


def net_of(nfa: Nfa, counters: Counters | None, meter: Meter) -> Net | None:
    """An NFA with counters, ready to be run.

    Args:
        nfa: Its states, arcs over bytes, and ε-arcs; its start is state 0.
        counters: Its counters; ``None`` if it has none.
        meter: Watches its size.

    Returns:
        The net; ``None`` if there are no words.

    Raises:
        BudgetExceeded: It has too many arcs, or nested counts that 62 bits cannot hold.
    """
    given = len(nfa.arcs) + len(nfa.epsilons)
    meter.check(STAGE, states=nfa.num_states, arcs=given, bytes=48 * (nfa.num_states + given))
    moves = np.zeros((len(nfa.epsilons), 4), np.int32)
    moves[:, :2] = nfa.epsilons
    moves[:, 2] = PLAIN
    scope = np.full(nfa.num_states, -1, np.int32)
    sizes = np.zeros((0, 3), np.int64)
    most = 1
    if counters is not None and counters.scopes:
        moves = np.concatenate([moves, np.array(counters.moves, np.int32).reshape(-1, 4)])
        totals: list[int] = []
        for number, each in enumerate(counters.scopes):
            scope[each.first : each.end] = number
            around = totals[each.parent] if each.parent >= 0 else 1
            totals.append(around * each.size)
        most = max(totals)
        rows = [(each.size, each.fewest, int(each.endless)) for each in counters.scopes]
        sizes = np.array([(min(a, 2**62), b, c) for a, b, c in rows], np.int64)
    bits = (most - 1).bit_length()
    if bits + nfa.num_states.bit_length() > MOST_BITS:
        raise BudgetExceeded("states", limit=2**MOST_BITS, reached=most, stage=STAGE)
    accepting = np.zeros(nfa.num_states, np.bool_)
    accepting[nfa.accepting] = True
    symbol_class, arc_start, arcs, move_start, by_source, useful, begins = _indexed(
        nfa.num_states, nfa.arcs, moves, accepting
    )
    if not begins:
        return None
    return Net(
        np.array([nfa.start << bits], np.int64), symbol_class, arc_start[:-1], arcs,
        move_start[:-1], by_source, useful, accepting, scope, sizes, np.array([bits], np.int64),
    )  # fmt: skip


@jit
def closed(net: Net, members: Int64, count: int, seen: Int64, stamps: Int64, now: int) -> int:
    """Follow moves from ``members[:count]``, each of which stands in ``seen``, in place.

    Args:
        net: The automaton.
        members: Configurations; room for half as many as ``seen``.
        count: How many there are.
        seen, stamps: A hash table of the configurations of this set, those with the stamp ``now``.
        now: The stamp.

    Returns:
        The new count, or −1 if there is no more room.
    """
    bits = net.bits[0]
    mask = (np.int64(1) << bits) - 1
    done = 0
    while done < count:
        state = members[done] >> bits
        value = members[done] & mask
        done += 1
        for k in range(net.move_start[state], net.move_start[state + 1]):
            action = net.moves[k, 1]
            after = value
            if action != PLAIN:
                size = net.sizes[net.moves[k, 2], 0]
                if action == ENTER:
                    after = value * size
                elif action == AGAIN:
                    if value % size + 1 < size:
                        after = value + 1
                    elif net.sizes[net.moves[k, 2], 2] == 0:
                        continue
                elif action == LEAVE:
                    if value % size + 1 < net.sizes[net.moves[k, 2], 1]:
                        continue
                    after = value // size
            count = entered((np.int64(net.moves[k, 0]) << bits) | after, members, count, seen,
                            stamps, now)  # fmt: skip
            if count < 0:
                return -1
    return count


@jit
def entered(code: int, members: Int64, count: int, seen: Int64, stamps: Int64, now: int) -> int:
    """Add a configuration to a set if it is not in it; the new count, or −1 without room."""
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
