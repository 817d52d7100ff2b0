"""The moves of a network: what it does for each state and class of bytes, and whether that is one.

In a state a network may *read* the byte, *call* a rule that begins with it, or *end* its rule, if
the byte may follow that. Calls of rules that derive nothing are passed. Where for every state and
class there is at most one of these, a text leads to one stack, and the network is *deterministic*;
where there are two, some text leads to two stacks: every call and every return that is looked at
occurs in some text, so nothing is refused for want of looking closely. (That is LL(1) over bytes,
with the rules merged and made minimal first; for one symbol of look-ahead LL and strong LL are the
same, Rosenkrantz and Stearns 1970. As a push-down automaton it is the deterministic one of Koo et
al. 2024, section 3.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import NO_ARC, Bool, Int32, Network, NetworkArrays
from explorer.automata.rules.arrays import network_arrays
from explorer.budget import Meter
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit

Int64 = NDArray[np.int64]

STAGE: Final = "Looking ahead in a grammar"

END: Final = -2
"""The move that ends the rule; the caller then moves over the same byte."""

Move = tuple[str, int, int]
"""``("read", state, 0)``, ``("call", rule, state after)`` or ``("end", 0, 0)``."""

Moves = dict[int, list[Move]]
"""Moves by class."""


def looks_of(network: Network, meter: Meter) -> NetworkArrays:
    """What can come next in each state.

    Args:
        network: The network; each state has one arc for a class at most.
        meter: Watches the time.

    Raises:
        BudgetExceeded: The time is up.
    """
    meter.check_time(STAGE)
    if network.arrays is not None:
        return network.arrays
    table = np.full((len(network.arcs), network.num_classes), NO_ARC, np.int32)
    for state, row in enumerate(network.arcs):
        for symbol, (target,) in row.items():
            table[state, symbol] = target
    exits, rule = np.array(network.exits, np.bool_), np.array(network.rule, np.int32)
    return network_arrays(table, network.calls, exits, rule, network.entry)


def moves(network: Network, looks: NetworkArrays, state: int, wanted: Bool) -> Moves:
    """The moves of a state over some classes, by class.

    Args:
        network, looks: The network.
        state: A state of it.
        wanted: bool[classes], the classes.
    """
    near, waiting = {state: None}, [state]
    while waiting:
        here = waiting.pop()
        for rule, after in network.calls[here]:
            if looks.empty[network.entry[rule]] and after not in near:
                near[after] = None
                waiting.append(after)
    found: dict[int, dict[Move, None]] = {}

    def put(symbols: Bool, move: Move) -> None:
        for symbol in np.flatnonzero(symbols & wanted).tolist():
            found.setdefault(symbol, {})[move] = None

    for here in near:
        targets = looks.table[here]
        for symbol in np.flatnonzero((targets != NO_ARC) & wanted).tolist():
            found.setdefault(symbol, {})["read", int(targets[symbol]), 0] = None
        for rule, after in network.calls[here]:
            # All last calls of a rule leave the same stack.
            back = NO_ARC if network.only_exits[after] else after
            put(looks.reads[network.entry[rule]], ("call", rule, back))
        if network.exits[here]:
            put(looks.follow[network.rule[here]], ("end", 0, 0))
    return {symbol: list(each) for symbol, each in found.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Actions:
    """The one move of each state and class.

    Args:
        act: int32[states, classes]: `NO_ARC`, `END`, or the number of a way.
        first: int32[ways + 1], where the pushes of each way begin in ``push``.
        push: int32[pushes], the states to go on in after each call, the outermost first.
        target: int32[ways], the state after the byte.
        empty: bool[states], whether the rule may end.
        only_exits: bool[states], whether it must.
        entry: The state to begin in.
    """

    act: Int32
    first: Int32
    push: Int32
    target: Int32
    empty: np.ndarray[tuple[int], np.dtype[np.bool_]]
    only_exits: np.ndarray[tuple[int], np.dtype[np.bool_]]
    entry: int


Conflict = tuple[int, int, tuple[Move, ...]]
"""A state, a class, and its moves."""


_NOTHING: Final = -1
_SEVERAL: Final = -3


@jit
def _choices(looks: NetworkArrays, only_exits: Bool) -> Int64:
    """The one move of each state and class as a number: a target, a call, `END`, `_NOTHING` or
    `_SEVERAL`."""
    states, classes = looks.table.shape
    choice = np.full((states, classes), _NOTHING, np.int64)
    near = np.empty(states, np.int32)
    seen = np.full(states, -1, np.int32)
    for state in range(states):
        near[0], count, at = state, 1, 0
        seen[state] = state
        while at < count:
            here = near[at]
            at += 1
            for c in range(classes):
                _put(choice, state, c, looks.table[here, c] >= 0, looks.table[here, c])
            for k in range(looks.first_call[here], looks.first_call[here + 1]):
                begin, after = looks.begins[k], looks.after[k]
                back = states if only_exits[after] else after
                call = np.int64(states) * (1 + begin) + np.int64(begin) + back
                for c in range(classes):
                    _put(choice, state, c, looks.reads[begin, c], call)
                if looks.empty[begin] and seen[after] != state:
                    seen[after] = state
                    near[count] = after
                    count += 1
            if looks.exits[here]:
                for c in range(classes):
                    _put(choice, state, c, looks.follow[looks.rule[here], c], END)
    return choice


@jit
def _put(choice: Int64, state: int, symbol: int, there: bool, move: int) -> None:
    if there:
        known = choice[state, symbol]
        one = known == _NOTHING or known == move  # Not a tuple in a kernel.
        choice[state, symbol] = move if one else _SEVERAL


@jit
def _ways(choice: Int64, slots: Int32, act: Int32) -> tuple[Int32, Int32, Int32]:
    """Number the ways, and write them out: where the pushes of each begin, these, the targets."""
    states, classes = choice.shape
    mask = slots.shape[0] - 1
    count, room = 0, 0
    first_of = np.empty((slots.shape[0] // 2, 2), np.int32)
    for state in range(states):
        for c in range(classes):
            move = choice[state, c]
            if move < 0:
                act[state, c] = END if move == END else NO_ARC
                continue
            # A call over a class leads to the same, wherever it is made.
            slot = first_slot(folded(mixed(mixed(SEED, move), c if move >= states else -1)), mask)
            way = -1
            while slots[slot] >= 0 and way < 0:
                known = slots[slot]
                other = choice[first_of[known, 0], first_of[known, 1]]
                if other == move and (move < states or first_of[known, 1] == c):
                    way = known
                else:
                    slot = (slot + 1) & mask
            if way < 0:
                way = slots[slot] = count
                first_of[count, 0], first_of[count, 1] = state, c
                count += 1
                while move >= states:
                    room += 1
                    move = choice[(move - states) // (states + 1), c]
            act[state, c] = way
    first = np.zeros(count + 1, np.int32)
    push = np.empty(room, np.int32)
    target = np.empty(count, np.int32)
    size = 0
    for way in range(count):
        c = first_of[way, 1]
        move = choice[first_of[way, 0], c]
        while move >= states:
            back = (move - states) % (states + 1)
            if back < states:
                push[size] = back
                size += 1
            move = choice[(move - states) // (states + 1), c]
        target[way] = move
        first[way + 1] = size
    return first, push[:size].copy(), target


def actions_of(network: Network, looks: NetworkArrays, meter: Meter) -> Actions | tuple[
    Conflict, ...
]:  # fmt: skip
    """The table of moves of a deterministic network; the conflicts of any other.

    Args:
        network, looks: The network; it has words.
        meter: Watches the time.

    Raises:
        BudgetExceeded: The time is up.
    """
    meter.check_time(STAGE)
    choice = _choices(looks, np.array(network.only_exits, np.bool_))
    several = choice == _SEVERAL
    if several.any():
        conflicts: list[Conflict] = []
        for state in np.flatnonzero(several.any(axis=1)).tolist():
            meter.check_time(STAGE)
            found = moves(network, looks, state, several[state])
            conflicts += [(state, symbol, tuple(each)) for symbol, each in found.items()]
        return tuple(conflicts)
    act = np.empty(choice.shape, np.int32)
    slots = np.full(1 << (2 * choice.size + 2).bit_length(), -1, np.int32)
    first, push, target = _ways(choice, slots, act)
    return Actions(
        act, first, push, target, looks.empty, np.array(network.only_exits, np.bool_),
        network.entry[network.root],
    )  # fmt: skip


def begins_with(network: Network, looks: NetworkArrays, rule: int) -> set[int]:
    """The rules with which a rule may begin, itself included.

    Args:
        network, looks: The network.
        rule: A rule of it.
    """
    seen = {rule}
    waiting = [network.entry[rule]]
    passed = set(waiting)
    while waiting:
        for callee, after in network.calls[waiting.pop()]:
            begun = [network.entry[callee]] if callee not in seen else []
            seen.add(callee)
            begun += [after] if looks.empty[network.entry[callee]] else []
            for state in begun:
                if state not in passed:
                    passed.add(state)
                    waiting.append(state)
    return seen
