"""Places of a grammar within tokens, hash-consed: equal ones have one number.

A *place* is a state of the network at a node of the graph of words. From most of them the only
thing that can happen is that the token ends somewhere: after a quote nearly every token goes on in
the string. So two places that lead to the same places, with the same number of further tokens, are
one, and a place that leads to a single other place is that one, with some tokens more. Not merged
are the places between two tokens and those that call a rule, because these lead to each other in
cycles; they are *anchors*, and there are few.

The graph of words is acyclic, so places are made from the ends of words backwards, once for each
reachable pair of a state and a node.
"""

# To numpy's stubs an element of an array is an array; to a kernel it is a number.
# pyright: reportArgumentType=false, reportReturnType=false

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from explorer.automata.machine import Int32, NetworkArrays
from explorer.hashing import SEED, enter_pairs, first_slot, folded, mixed, slot_of_pair
from explorer.jit import jit
from explorer.memo import longer
from explorer.tokens.saturation.word_graph import ROOT, Int64, WordGraph

EMPTY: Final = 0
"""The place that leads nowhere."""

# Indices into `Alike.tally`.
PLACES: Final = 0
MEMBERS: Final = 1
PAIRS: Final = 2

_DEEPEST: Final = 4096
"""The longest word, in bytes, that is followed."""


class Alike(NamedTuple):
    """The places, and the place of each pair of a state and a node.

    Args:
        state, node: int32[room], those of each place that is an anchor; −1 for others.
        first, size: int32[room], the members of each other place.
        sets: int32[2^k], the hash table of places that have members.
        member, member_extra: int32[room], a place, or ``-1 - node`` for the end of the rule at a
            node; and the tokens more.
        pair_state, pair_node: int32[room], of each pair.
        place, extra: int32[room], the place of each pair, −1 where not known, and the tokens more.
        pairs: int32[2^k], the hash table of pairs.
        tally: int64[3], the numbers of places, members and pairs.
    """

    state: Int32
    node: Int32
    first: Int32
    size: Int32
    sets: Int32
    member: Int32
    member_extra: Int32
    pair_state: Int32
    pair_node: Int32
    place: Int32
    extra: Int32
    pairs: Int32
    tally: Int64


@jit
def relevant(rules: NetworkArrays, graph: WordGraph, entry: int, node: int) -> bool:
    """Whether a rule that is called at a node can end there or read on.

    A token that ends within the rule before it reads anything is the same as one that ends before
    the call.
    """
    if rules.empty[entry]:
        return True
    for k in range(graph.first[node], graph.first[node + 1]):
        if rules.reads[entry, graph.symbol[k]]:
            return True
    return False


@jit
def left_at(rules: NetworkArrays, graph: WordGraph, state: int, node: int) -> tuple[int, int]:
    """The node at which a rule that ends at a node is left, and the tokens to there.

    Where nothing that may follow the rule can be read, the token must end: the rule is then left
    between two tokens. The node is −1 where the token cannot end either.
    """
    if node == ROOT:
        return ROOT, 0
    for k in range(graph.first[node], graph.first[node + 1]):
        if rules.follow[rules.rule[state], graph.symbol[k]]:
            return node, 0
    return (ROOT, 1) if graph.ends[node] else (-1, 0)


@jit
def _pair(alike: Alike, state: int, node: int) -> int:
    """The number of a pair, added if it is new; −1 without room."""
    slot = slot_of_pair(alike.pair_state, alike.pair_node, alike.pairs, state, node)
    if alike.pairs[slot] >= 0:
        return np.int64(alike.pairs[slot])
    number = alike.tally[PAIRS]
    if number >= alike.place.shape[0]:
        return np.int64(-1)
    alike.pair_state[number], alike.pair_node[number] = state, node
    alike.place[number] = -1
    alike.pairs[slot] = number
    alike.tally[PAIRS] = number + 1
    return number


@jit
def _is_anchor(rules: NetworkArrays, graph: WordGraph, state: int, node: int) -> bool:
    if node == ROOT:
        return True
    for k in range(rules.first_call[state], rules.first_call[state + 1]):
        if relevant(rules, graph, rules.begins[k], node):
            return True
    return False


@jit
def _with_member(alike: Alike, begin: int, count: int, target: int, more: int) -> int:
    """Insert a member into the sorted set at ``begin`` of the pool; return its new size."""
    at = begin
    while at < begin + count and alike.member[at] < target:
        at += 1
    if at < begin + count and alike.member[at] == target:
        alike.member_extra[at] = min(alike.member_extra[at], more)
        return count
    for k in range(begin + count, at, -1):
        alike.member[k] = alike.member[k - 1]
        alike.member_extra[k] = alike.member_extra[k - 1]
    alike.member[at], alike.member_extra[at] = target, more
    return count + 1


@jit
def _set_place(alike: Alike, begin: int, count: int) -> int:
    """The place whose members are the last ``count`` of the pool."""
    mask = alike.sets.shape[0] - 1
    code = mixed(SEED, count)
    for k in range(begin, begin + count):
        code = mixed(mixed(code, alike.member[k]), alike.member_extra[k])
    slot = first_slot(folded(code), mask)
    while alike.sets[slot] >= 0:
        known = alike.sets[slot]
        same = alike.size[known] == count
        k = 0
        while same and k < count:
            at = alike.first[known] + k
            same = (
                alike.member[at] == alike.member[begin + k]
                and alike.member_extra[at] == alike.member_extra[begin + k]
            )
            k += 1
        if same:
            return np.int64(known)
        slot = (slot + 1) & mask
    number = alike.tally[PLACES]
    alike.state[number] = alike.node[number] = -1
    alike.first[number], alike.size[number] = begin, count
    alike.sets[slot] = number
    alike.tally[PLACES] = number + 1
    alike.tally[MEMBERS] = begin + count
    return number


@jit
def place_of(rules: NetworkArrays, graph: WordGraph, alike: Alike, state: int, node: int) -> int:
    """The number of a pair, after computing its place; −1 without room."""
    wanted = _pair(alike, state, node)
    if wanted < 0 or alike.place[wanted] >= 0:
        return wanted
    stack = np.empty(_DEEPEST, np.int64)
    cursor = np.zeros(_DEEPEST, np.int64)
    top = 0
    stack[0] = wanted
    while top >= 0:
        number = stack[top]
        here, at = alike.pair_state[number], alike.pair_node[number]
        if alike.tally[PLACES] + 1 >= alike.state.shape[0]:
            return np.int64(-1)
        if _is_anchor(rules, graph, here, at):
            place = alike.tally[PLACES]
            alike.state[place], alike.node[place] = here, at
            alike.size[place] = 0
            alike.tally[PLACES] = place + 1
            alike.place[number], alike.extra[number] = place, 0
            top -= 1
            continue
        begin = np.int64(graph.first[at])
        last = np.int64(graph.first[at + 1])
        waits = False
        for k in range(begin + cursor[top], last):
            after = rules.table[here, graph.symbol[k]]
            if after >= 0:
                below = _pair(alike, after, graph.target[k])
                if below < 0:
                    return np.int64(-1)
                if alike.place[below] < 0:
                    cursor[top] = k - begin
                    top += 1
                    stack[top], cursor[top] = below, 0
                    waits = True
                    break
        if waits:
            continue
        if graph.ends[at]:
            between = _pair(alike, here, ROOT)
            if between < 0:
                return np.int64(-1)
            if alike.place[between] < 0:
                cursor[top] = last - begin
                top += 1
                stack[top], cursor[top] = between, 0
                continue
        pool = alike.tally[MEMBERS]
        if pool + last - begin + 2 > alike.member.shape[0]:
            return np.int64(-1)
        count = 0
        if rules.exits[here]:
            left, more = left_at(rules, graph, here, at)
            if left >= 0:
                count = _with_member(alike, pool, count, -1 - left, more)
        if graph.ends[at]:
            between = _pair(alike, here, ROOT)
            count = _with_member(alike, pool, count, alike.place[between], 1 + alike.extra[between])
        for k in range(begin, last):
            after = rules.table[here, graph.symbol[k]]
            if after >= 0:
                below = _pair(alike, after, graph.target[k])
                if alike.place[below] != EMPTY:
                    count = _with_member(alike, pool, count, alike.place[below], alike.extra[below])
        if count == 0:
            alike.place[number], alike.extra[number] = EMPTY, 0
        else:
            least = alike.member_extra[pool]
            for k in range(pool, pool + count):
                least = min(least, alike.member_extra[k])
            for k in range(pool, pool + count):
                alike.member_extra[k] -= least
            if count == 1 and alike.member[pool] >= 0:
                alike.place[number] = alike.member[pool]
            else:
                alike.place[number] = _set_place(alike, pool, count)
            alike.extra[number] = least
        top -= 1
    return wanted


@jit
def _sets_again(alike: Alike) -> None:
    mask = alike.sets.shape[0] - 1
    for number in range(alike.tally[PLACES]):
        if alike.size[number] == 0:
            continue
        begin, count = alike.first[number], alike.size[number]
        code = mixed(SEED, count)
        for k in range(begin, begin + count):
            code = mixed(mixed(code, alike.member[k]), alike.member_extra[k])
        slot = first_slot(folded(code), mask)
        while alike.sets[slot] >= 0:
            slot = (slot + 1) & mask
        alike.sets[slot] = number


def no_places() -> Alike:
    """Tables with only the place that leads nowhere."""

    def room(size: int) -> Int32:
        return np.full(size, -1, np.int32)

    sizes = (256, 256, 256, 256, 512, 1024, 1024, 1024, 1024, 1024, 1024, 2048)
    alike = Alike(*[room(size) for size in sizes], tally=np.array([1, 0, 0], np.int64))
    alike.size[EMPTY] = 0
    return alike


def alike_with_room(alike: Alike, widest: int) -> Alike:
    """The tables with longer arrays where they are nearly full.

    Args:
        alike: The tables.
        widest: The most arcs of a node of the graph of words.
    """
    count: list[int] = alike.tally.tolist()
    if 2 * count[PLACES] > len(alike.state):
        room = 2 * len(alike.state)
        alike = alike._replace(
            state=longer(alike.state, room, -1), node=longer(alike.node, room, -1),
            first=longer(alike.first, room, -1), size=longer(alike.size, room, -1),
            sets=np.full(2 * room, -1, np.int32),
        )  # fmt: skip
        _sets_again(alike)
    if 2 * (count[MEMBERS] + widest + 2) > len(alike.member):
        room = 2 * (len(alike.member) + widest + 2)
        alike = alike._replace(
            member=longer(alike.member, room, -1), member_extra=longer(alike.member_extra, room, -1)
        )
    if 2 * count[PAIRS] > len(alike.place):
        room = 2 * len(alike.place)
        alike = alike._replace(
            pair_state=longer(alike.pair_state, room, -1),
            pair_node=longer(alike.pair_node, room, -1),
            place=longer(alike.place, room, -1), extra=longer(alike.extra, room, -1),
            pairs=np.full(2 * room, -1, np.int32),
        )  # fmt: skip
        enter_pairs(alike.pair_state, alike.pair_node, 0, count[PAIRS], alike.pairs)
    return alike
