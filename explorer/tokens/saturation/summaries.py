"""The exits of each rule of a grammar from any place within a token, with the fewest tokens.

A token may begin in one rule and end in another, so following the rules one is at a state of the
network *and* at a node of the graph of words (`word_graph`), which stands for the bytes since the
last token ended. From such a *place* the rule may be left at several nodes, after more or fewer
tokens. These are its *exits*, a least fixpoint of five rules:

*end*    a state that ends its rule leaves it at the node where it is, after no token;
*read*   a byte that both the state and the node read gives the exits of its target;
*token*  at the end of a word one may be between two tokens instead, for one token;
*call*   a rule that is called is followed from its entry at the same node;
*return* for each of its exits the caller goes on in the state after the call, at that node.

That is saturation of a push-down system (Bouajjani, Esparza and Maler 1997) with weights (Reps et
al. 2005): rules with two halves, so each rule is asked only at the nodes at which it is called. It
is exact for every grammar, including left-recursive and ambiguous ones. Places are computed on
demand, and earlier results stay valid.

Most places are alike: in the middle of a string nearly all say "read on to the end of the token".
So equal places share a number (`explorer.tokens.saturation.alike`), and some hundreds
of them stand for the tens of thousands of pairs of a state and a node.
"""

# To numpy's stubs an element of an array is an array; to a kernel it is a number.
# pyright: reportArgumentType=false, reportReturnType=false

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32, NetworkArrays
from explorer.jit import jit
from explorer.memo import longer
from explorer.tokens.saturation.alike import (
    EMPTY,
    PLACES,
    Alike,
    left_at,
    place_of,
    relevant,
)
from explorer.tokens.saturation.word_graph import ROOT, Int64, WordGraph

Int16 = NDArray[np.int16]

SATURATED: Final = 0
NEEDS_TIME: Final = 1
NEEDS_ROOM: Final = 2

MUCH: Final = 2_000_000
"""The cells that are processed between two looks at the clock."""

NO_WAY: Final = 32_767
"""The entry of a cell: the rule cannot be left there."""

MOST_TOKENS: Final = 30_000
"""The entry of a cell: this many tokens or more."""

# Indices into `Summaries.tally`.
COLUMNS: Final = 0
LINKS: Final = 1
CALLS: Final = 2
FOLLOWED: Final = 3
FIRST: Final = 4
LAST: Final = 5
CALLED: Final = 6
WORK: Final = 7


class Summaries(NamedTuple):
    """The exits of places and the links between places, as linked lists in arrays; −1 ends one.

    Args:
        rows: int16[places, columns], the tokens to each exit, or `NO_WAY`.
        column: int32[nodes], the column of each node of words, −1 while no rule was left there.
        node_of: int32[columns], the node of each column.
        first_link, first_call: int32[places], the first link and call of each place.
        handed: int32[places], the row of ``told`` of a place that is called, or −1.
        told: int16[called, columns], the exits that the callers of a place already know.
        waits: int32[places], the next place of the queue of changed rows, −1 for the last, −2 where
            the place is not queued.
        heir, more, next_link: int32[room], for each link of a place: a place that inherits its
            exits, the tokens added to them, and the next link.
        caller, after, called_with, next_call: int32[room], for each call of an entry: the place
            that calls, the state after it, the tokens added to the exits of the entry, and the
            next call.
        tally: int64[8], the numbers of columns, links, calls and followed places, the first and
            last place of the queue, the number of called places, and of processed cells.
    """

    rows: Int16
    column: Int32
    node_of: Int32
    first_link: Int32
    first_call: Int32
    handed: Int32
    told: Int16
    waits: Int32
    heir: Int32
    more: Int32
    next_link: Int32
    caller: Int32
    after: Int32
    called_with: Int32
    next_call: Int32
    tally: Int64


@jit
def _wait(known: Summaries, place: int) -> None:
    """Queue a place whose row has changed."""
    if known.waits[place] == -2:
        known.waits[place] = -1
        if known.tally[FIRST] < 0:
            known.tally[FIRST] = place
        else:
            known.waits[known.tally[LAST]] = place
        known.tally[LAST] = place


@jit
def _end(known: Summaries, place: int, node: int, cost: int) -> bool:
    """Record that a rule can be left from a place at a node; false without room."""
    column = np.int64(known.column[node])
    if column < 0:
        column = known.tally[COLUMNS]
        if column >= known.node_of.shape[0]:
            return False
        known.column[node] = column
        known.node_of[column] = node
        known.tally[COLUMNS] = column + 1
    if cost < known.rows[place, column]:
        known.rows[place, column] = min(cost, MOST_TOKENS)
        _wait(known, place)
    return True


@jit
def _lowered(row: Int16, by: Int16, more: np.int32, columns: int) -> bool:
    """Lower a row to another one plus some tokens; return whether it changed."""
    changed = False
    for k in range(columns):
        cost = np.int32(by[k])
        both = min(cost + more, np.int32(MOST_TOKENS))
        both = both if cost <= MOST_TOKENS else np.int32(NO_WAY)
        changed |= both < row[k]
        row[k] = min(both, np.int32(row[k]))
    return changed


@jit
def _share(known: Summaries, place: int, heir: int, more: int) -> None:
    """Copy the present exits of a place to its heir."""
    columns = known.tally[COLUMNS]
    known.tally[WORK] += columns + 16
    if _lowered(known.rows[heir], known.rows[place], np.int32(more), columns):
        _wait(known, heir)


@jit
def _link(known: Summaries, place: int, heir: int, more: int) -> bool:
    """Let one place inherit the exits of another; false without room."""
    if place == EMPTY:
        return True
    number = known.tally[LINKS]
    if number >= known.heir.shape[0]:
        return False
    _share(known, place, heir, more)
    known.heir[number], known.more[number] = heir, more
    known.next_link[number] = known.first_link[place]
    known.first_link[place] = number
    known.tally[LINKS] = number + 1
    return True


@jit
def _go_on(
    rules: NetworkArrays, graph: WordGraph, alike: Alike, known: Summaries, state: int, node: int,
    heir: int, more: int,
) -> bool:  # fmt: skip
    """Let a place inherit the exits of a state at a node; false without room."""
    pair = place_of(rules, graph, alike, state, node)
    return (
        pair >= 0
        and alike.tally[PLACES] <= known.waits.shape[0]
        and _link(known, alike.place[pair], heir, alike.extra[pair] + more)
    )


@jit
def _follow(
    rules: NetworkArrays, graph: WordGraph, alike: Alike, known: Summaries, place: int
) -> bool:
    """Apply the five rules to a place; false without room."""
    if alike.state[place] < 0:
        for k in range(alike.first[place], alike.first[place] + alike.size[place]):
            target, more = alike.member[k], alike.member_extra[k]
            if target < 0:
                if not _end(known, place, -1 - target, more):
                    return False
            elif not _link(known, target, place, more):
                return False
        return True
    state, node = alike.state[place], alike.node[place]
    if rules.exits[state]:
        left, tokens = left_at(rules, graph, state, node)
        if left >= 0 and not _end(known, place, left, tokens):
            return False
    for k in range(graph.first[node], graph.first[node + 1]):
        after = rules.table[state, graph.symbol[k]]
        if after >= 0 and not _go_on(rules, graph, alike, known, after, graph.target[k], place, 0):
            return False
    if graph.ends[node] and not _go_on(rules, graph, alike, known, state, ROOT, place, 1):
        return False
    for k in range(rules.first_call[state], rules.first_call[state + 1]):
        if relevant(rules, graph, rules.begins[k], node):
            pair = place_of(rules, graph, alike, rules.begins[k], node)
            if (
                pair < 0
                or alike.tally[PLACES] > known.waits.shape[0]
                or not _call(rules, graph, alike, known, pair, place, rules.after[k])
            ):
                return False
    return True


@jit
def _call(
    rules: NetworkArrays, graph: WordGraph, alike: Alike, known: Summaries, pair: int, caller: int,
    after: int,
) -> bool:  # fmt: skip
    """Let a place go on at each exit of the rule that it calls; false without room."""
    place, more = alike.place[pair], alike.extra[pair]
    if place == EMPTY:
        return True
    number = known.tally[CALLS]
    if number >= known.caller.shape[0]:
        return False
    if known.handed[place] < 0:
        if known.tally[CALLED] >= known.told.shape[0]:
            return False
        known.handed[place] = known.tally[CALLED]
        known.told[known.tally[CALLED], :] = NO_WAY
        known.tally[CALLED] += 1
        _wait(known, place)
    told = known.told[known.handed[place]]
    for column in range(known.tally[COLUMNS]):
        if told[column] != NO_WAY:
            node, cost = known.node_of[column], told[column] + more
            if not _go_on(rules, graph, alike, known, after, node, caller, cost):
                return False
    known.caller[number], known.after[number], known.called_with[number] = caller, after, more
    known.next_call[number] = known.first_call[place]
    known.first_call[place] = number
    known.tally[CALLS] = number + 1
    return True


@jit
def _hand_on(
    rules: NetworkArrays, graph: WordGraph, alike: Alike, known: Summaries, place: int
) -> bool:
    """Pass the exits of a place on to its heirs and its callers; false without room."""
    at = known.first_link[place]
    while at >= 0:
        _share(known, place, known.heir[at], known.more[at])
        at = known.next_link[at]
    if known.handed[place] < 0:
        return True
    told, row = known.told[known.handed[place]], known.rows[place]
    for column in range(known.tally[COLUMNS]):
        cost = row[column]
        if cost < told[column]:
            at = known.first_call[place]
            while at >= 0:
                if not _go_on(
                    rules, graph, alike, known, known.after[at], known.node_of[column],
                    known.caller[at], cost + known.called_with[at],
                ):  # fmt: skip
                    return False
                at = known.next_call[at]
            told[column] = cost
    return True


@jit
def saturate(rules: NetworkArrays, graph: WordGraph, alike: Alike, known: Summaries) -> int:
    """Follow all places and pass all exits on; return the reason for stopping.

    Work that is restarted for want of room may be done twice, which changes nothing.
    """
    count = known.tally
    count[WORK] = 0
    while count[WORK] < MUCH:
        count[WORK] += 16
        if alike.tally[PLACES] > known.waits.shape[0]:
            return NEEDS_ROOM
        if count[FOLLOWED] < alike.tally[PLACES]:
            if not _follow(rules, graph, alike, known, count[FOLLOWED]):
                return NEEDS_ROOM
            count[FOLLOWED] += 1
        elif count[FIRST] >= 0:
            place = count[FIRST]
            # Its row may be lowered meanwhile; then it is queued again.
            count[FIRST] = known.waits[place]
            known.waits[place] = -2
            if not _hand_on(rules, graph, alike, known, place):
                _wait(known, place)
                return NEEDS_ROOM
        else:
            return SATURATED
    return NEEDS_TIME


def no_summaries(nodes: int) -> Summaries:
    """Empty tables.

    Args:
        nodes: The number of nodes of the graph of words.
    """

    def room(size: int) -> Int32:
        return np.full(size, -1, np.int32)

    rows, told = (np.full((size, 32), NO_WAY, np.int16) for size in (256, 16))
    few = [room(256) for _ in range(10)]
    return Summaries(
        rows, room(nodes), room(32), few[0], few[1], few[2], told, np.full(256, -2, np.int32),
        *few[3:], tally=np.array([0, 0, 0, 0, -1, -1, 0, 0], np.int64),
    )  # fmt: skip


def summaries_with_room(known: Summaries, places: int) -> Summaries:
    """The tables with longer arrays where they are nearly full.

    Args:
        known: The tables.
        places: The number of places.
    """
    count: list[int] = known.tally.tolist()
    columns, called = known.told.shape[1], len(known.told)
    if 4 * count[COLUMNS] > 3 * columns:
        columns *= 2
    if 4 * count[CALLED] > 3 * called:
        called *= 2
    room = len(known.waits)
    if places > room:
        room = 2 * places
        waits = np.full(room, -2, np.int32)
        waits[: len(known.waits)] = known.waits
        known = known._replace(
            first_link=longer(known.first_link, room, -1),
            first_call=longer(known.first_call, room, -1),
            handed=longer(known.handed, room, -1), waits=waits,
        )  # fmt: skip
    known = known._replace(
        rows=_larger(known.rows, room, columns), told=_larger(known.told, called, columns),
        node_of=longer(known.node_of, columns, -1),
    )  # fmt: skip
    if 2 * count[LINKS] > len(known.heir):
        room = 2 * len(known.heir)
        known = known._replace(
            heir=longer(known.heir, room, -1), more=longer(known.more, room, -1),
            next_link=longer(known.next_link, room, -1),
        )  # fmt: skip
    if 2 * count[CALLS] > len(known.caller):
        room = 2 * len(known.caller)
        known = known._replace(
            caller=longer(known.caller, room, -1), after=longer(known.after, room, -1),
            called_with=longer(known.called_with, room, -1),
            next_call=longer(known.next_call, room, -1),
        )  # fmt: skip
    return known


def _larger(rows: Int16, height: int, width: int) -> Int16:
    if rows.shape == (height, width):
        return rows
    more = np.full((height, width), NO_WAY, np.int16)
    more[: rows.shape[0], : rows.shape[1]] = rows
    return more
