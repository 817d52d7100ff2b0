"""Programs without calls as nets, and the subset construction of all their states.

A *net* has the arcs and moves of a program by source, over the classes of symbols that it tells
apart, without what cannot end. The kernels of `explorer.automata.construction.rows` fill rows of
its subset automaton: those that a text comes to (`explorer.automata.discovered`), or all of them
(`determinize`).

The number of sets can double with every state, so every growth is reported to the `Meter` before
memory is allocated. OpenFST's ``determinize`` cannot be interrupted, and its state limit truncates
silently; it is the oracle in the tests.

Costs: time proportional to the arcs of all sets; memory 8 bytes per configuration of each set plus
4 bytes per table cell.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from explorer.alphabet import LETTER
from explorer.automata.construction.minimize import by_head, empty_dfa, minimize, steps_from
from explorer.automata.construction.rows import (
    FILLED,
    FINISHED,
    NEEDS_ARENA,
    NEEDS_SETS,
    NEEDS_STATES,
    PAUSED,
    SHARE,
    STATES,
    Int64,
    Net,
    SetRows,
    fill,
)
from explorer.automata.machine import UNKNOWN, Bool, Dfa, Int32, Nfa
from explorer.automata.program import PLAIN, Program
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.hashing import enter
from explorer.jit import jit
from explorer.memo import longer, slots_for

STAGE: Final = "Determinization"

_SECONDS_PER_BYTE: Final = 1e-9
_SECONDS_PER_ARC: Final = 1e-8

MOST_BITS: Final = 62
"""The most bits of a configuration, state and counts together."""

LATE_BITS: Final = 30
"""The bits of a configuration that are reserved for counts inside late parts."""

_NO_SIZES: Final = np.empty((0, 4), np.int64)


@jit
def indexed(
    states: int, symbols: int, arcs: Int32, epsilons: Int32, counts: Int32, accepting: Bool,
    every: bool,
) -> tuple[Int32, Int32, Int32, Int32, Int32, Bool, Bool]:  # fmt: skip
    """The symbol classes, arcs and moves by source, useful states, and those that can end.

    Args:
        epsilons, counts: The moves, as in `Program`.
        every: Whether every symbol is a class of its own.
    """
    tails = np.concatenate((arcs[:, 0], epsilons[:, 0], counts[:, 0]))
    heads = np.concatenate((arcs[:, 3], epsilons[:, 1], counts[:, 1]))
    offset, source = by_head(tails, heads, states)
    alive = steps_from(offset, source, accepting) > 0
    boundary = np.full(symbols + 1, every)
    arc_start = np.zeros(states + 2, np.int32)
    move_start = np.zeros(states + 2, np.int32)
    kept_arcs, kept_moves = 0, 0
    for k in range(arcs.shape[0]):
        if alive[arcs[k, 3]]:
            boundary[arcs[k, 1]] = True
            boundary[arcs[k, 2] + 1] = True
            arc_start[arcs[k, 0] + 2] += 1
            kept_arcs += 1
    for k in range(arcs.shape[0], tails.shape[0]):
        if alive[heads[k]]:
            move_start[tails[k] + 2] += 1
            kept_moves += 1
    for s in range(states):
        arc_start[s + 2] += arc_start[s + 1]
        move_start[s + 2] += move_start[s + 1]
    symbol_class = np.empty(symbols, np.int32)
    current = 0
    for symbol in range(symbols):
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
    moves = np.empty((kept_moves, 3), np.int32)
    plain = arcs.shape[0] + epsilons.shape[0]
    for k in range(arcs.shape[0], tails.shape[0]):
        if alive[heads[k]]:
            place = move_start[tails[k] + 1]
            moves[place, 0] = heads[k]
            moves[place, 1] = PLAIN if k < plain else counts[k - plain, 2]
            moves[place, 2] = 0 if k < plain else counts[k - plain, 3]
            move_start[tails[k] + 1] += 1
    useful = accepting.copy()
    for s in range(states):
        if arc_start[s + 1] > arc_start[s]:
            useful[s] = True
    return symbol_class, arc_start, by_source, move_start, moves, useful, alive


def net_of(program: Program, meter: Meter, stage: str = STAGE) -> Net | None:
    """The net of a program without calls.

    Args:
        stage: The work in progress, for an error.

    Returns:
        ``None`` if there are no words. With late parts each byte is a class of its own, because the
        classes of the parts are not known yet.

    Raises:
        BudgetExceeded: It has too many arcs, or nested counts that 62 bits cannot hold.
    """
    epsilons, scope, sizes = counts_of(program, 1, meter, stage)
    bits = (int(sizes[:, 3].max(initial=1)) - 1).bit_length() if program.scopes else 0
    if program.late:
        bits += LATE_BITS
    if bits + program.num_states.bit_length() > MOST_BITS:
        raise BudgetExceeded("states", limit=2**MOST_BITS, reached=1 << bits, stage=stage)
    accepting = np.zeros(program.num_states, np.bool_)
    accepting[program.accepting] = True
    symbol_class, arc_start, arcs, move_start, moves, useful, alive = indexed(
        program.num_states, program.num_symbols, program.arcs, epsilons, program.counts, accepting,
        bool(program.late),
    )  # fmt: skip
    if not alive[program.start]:
        return None
    return Net(
        np.array([program.start << bits], np.int64), symbol_class, arc_start[:-1], arcs,
        move_start[:-1], moves, useful, accepting, scope, waiting(program), sizes,
        np.array([bits], np.int64),
    )  # fmt: skip


def counts_of(
    program: Program, around: int, meter: Meter, stage: str
) -> tuple[Int32, Int32, Int64]:
    """The plain moves of a program, the scope of each state, and the sizes of the scopes.

    Args:
        around: The number of combined counts of the scopes around it.
        stage: The work in progress, for an error.
    """
    epsilons, late = program.epsilons, program.late
    given = len(program.arcs) + len(epsilons) + len(late)
    meter.check(
        stage, states=program.num_states, arcs=given, bytes=48 * (program.num_states + given),
        ahead=given * _SECONDS_PER_ARC,
    )  # fmt: skip
    if late:
        across = np.array([(before, after) for before, after, _ in late], np.int32)
        epsilons = np.concatenate([epsilons, across])
    scope = np.empty(program.num_states, np.int32)
    scope.fill(-1)
    if not program.scopes:
        return epsilons, scope, _NO_SIZES
    rows: list[tuple[int, int, int, int]] = []
    for number, each in enumerate(program.scopes):
        scope[each.first : each.end] = number
        total = each.size * (rows[each.parent][3] if each.parent >= 0 else around)
        rows.append((each.size, each.fewest, int(each.endless), total))
    most = max((row[3] for row in rows), default=1)
    if most.bit_length() > MOST_BITS:
        raise BudgetExceeded("states", limit=2**MOST_BITS, reached=most, stage=stage)
    return epsilons, scope, np.array(rows, np.int64).reshape(-1, 4)


def waiting(program: Program) -> Bool:
    """Flags of the states where late parts begin, bool[states]."""
    flags = np.zeros(program.num_states, np.bool_)
    if program.late:
        flags[[before for before, _, _ in program.late]] = True
    return flags


def bytes_read(net: Net) -> Bool:
    """bool[256], the bytes that some arc reads, and those that a late part may read."""
    return _read(net.arcs, net.symbol_class, net.late)


@jit
def _read(arcs: Int32, symbol_class: Int32, late: Bool) -> Bool:
    """The symbols that arcs read; if a part is late, all of a text."""
    change = np.zeros(symbol_class[-1] + 2, np.int64)
    for k in range(arcs.shape[0]):
        change[arcs[k, 0]] += 1
        change[arcs[k, 1] + 1] -= 1
    read = np.cumsum(change)[symbol_class] > 0
    if late.any():
        read[:LETTER] = True
    return read


@jit
def row_filled(net: tuple[Any, ...], met: tuple[Any, ...], state: int) -> int:
    """Fill one row, with the `Net` and the `SetRows` as plain tuples; see `fill_rows`.

    Numba takes longer to look up the types of named tuples than to fill a row.
    """
    return fill(Net(*net), SetRows(*met), state, state + 1)


@jit
def all_filled(net: tuple[Any, ...], met: tuple[Any, ...]) -> int:
    """Make the start state, and fill the rows of all states that are met; see `fill_rows`."""
    progress = met[-1]
    return fill(Net(*net), SetRows(*met), progress[FILLED] if progress[STATES] > 0 else -1, -1)


def none_met(net: Net) -> SetRows:
    """The tables before any state is met."""
    room, members, classes = 96, 256, int(net.symbol_class[-1]) + 1  # In the order of symbols.
    table = np.empty((room, classes), np.int32)  # A row is set when a state takes it.
    table[0] = UNKNOWN
    return SetRows(
        np.empty(1024, np.int64), np.zeros(room + 1, np.int64), np.zeros(room, np.uint64),
        np.full(slots_for(room), -1, np.int32), table, np.zeros(room, np.bool_),
        np.empty(members, np.int64), np.empty(2 * members, np.int64),
        np.zeros(2 * members, np.int64), np.zeros(6, np.int64),
    )  # fmt: skip


def grown(met: SetRows, reason: int, room: int) -> SetRows:
    """A copy of the tables with more room of the kind that a kernel asked for.

    Args:
        met: The states so far.
        reason: The reason why the kernel stopped.
        room: The number of states to reserve room for, where it asked for that.
    """
    if reason == NEEDS_ARENA:
        return met._replace(arena=longer(met.arena, 2 * len(met.arena) + len(met.members)))
    if reason == NEEDS_SETS:
        room = 4 * len(met.members)
        return met._replace(
            members=np.empty(room, np.int64), seen=np.empty(2 * room, np.int64),
            stamps=np.zeros(2 * room, np.int64),
        )  # fmt: skip
    return with_room(met, room)


def bytes_held(met: SetRows) -> int:
    """The approximate number of bytes that the states met so far take."""
    states, part = int(met.progress[STATES]), met.arena.nbytes + 4 * met.members.nbytes
    return part + states * (4 * met.table.shape[1] + 32)


def with_room(met: SetRows, room: int) -> SetRows:
    """A copy of the tables with room for ``room`` states, at least as many as there are."""
    count = int(met.progress[STATES])
    classes = met.table.shape[1]
    set_start = np.zeros(room + 1, np.int64)
    set_start[: count + 1] = met.set_start[: count + 1]
    set_hash = np.zeros(room, np.uint64)
    set_hash[:count] = met.set_hash[:count]
    slots = np.full(slots_for(room), -1, np.int32)
    enter(set_hash, count, slots)
    table = np.empty((room, classes), np.int32)  # A row is set when a state takes it.
    table[:count] = met.table[:count]
    table[count : count + 1] = UNKNOWN
    accepting = np.zeros(room, np.bool_)
    accepting[:count] = met.accepting[:count]
    return met._replace(
        set_start=set_start, set_hash=set_hash, slots=slots, table=table, accepting=accepting
    )


def determinize(nfa: Nfa, meter: Meter) -> Dfa:
    """The subset automaton of ``nfa``: every state can be reached and finish; not minimised.

    Args:
        nfa: Any automaton over symbol intervals, with or without moves.

    Returns:
        A `Dfa` whose states are numbered in the order in which they were met.

    Raises:
        BudgetExceeded: A limit was reached; what had been built is dropped.
    """
    net = net_of(nfa, meter)
    if net is None:
        return empty_dfa(nfa.num_symbols)
    arrays, met = tuple(net), none_met(net)
    classes = met.table.shape[1]
    while (reason := all_filled(arrays, tuple(met))) != FINISHED:
        states, room = int(met.progress[STATES]), 2 * len(met.table) + classes
        held = SHARE * bytes_held(met)
        # New memory is mapped page by page while the clock is not checked.
        ahead = 0.0 if reason == PAUSED else held * _SECONDS_PER_BYTE
        states += reason == NEEDS_STATES
        meter.check(STAGE, states=states, arcs=states * classes, bytes=held, ahead=ahead)
        if reason != PAUSED:
            met = grown(met, reason, room)
    states = int(met.progress[STATES])
    meter.check(STAGE, states=states, arcs=states * classes)
    table, accepting = met.table[:states].copy(), met.accepting[:states].copy()
    return Dfa(net.symbol_class, table, accepting, 0)


def minimal_dfa(nfa: Nfa, meter: Meter) -> Dfa:
    """The canonical minimal machine of the language of an automaton: determinized, minimised.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    return minimize(determinize(nfa, meter), meter)
