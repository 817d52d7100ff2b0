"""The moves of a network for each state and class of bytes, and a test whether they are unique.

In a state a network may *read* the byte, *call* a rule that begins with it, or *end* its rule, if
the byte may follow that. Calls of rules that derive nothing are passed. Where for every state and
class there is at most one of these, a text leads to one stack, and the network is *deterministic*;
where there are two, some text leads to two stacks: every call and every return that is looked at
occurs in some text, so nothing is refused for want of looking closely. (That is LL(1) over bytes,
with the rules merged and made minimal first; for one symbol of look-ahead LL and strong LL are the
same, Rosenkrantz and Stearns 1970. As a push-down automaton it is the deterministic one of Koo et
al. 2024, section 3.)

A large grammar has thousands of states and a hundred classes of bytes. What is asked of each state
and class (what can come next, what the moves are) is asked of arrays, by kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import NO_ARC, Bool, Int32, Network, NetworkArrays
from explorer.budget import Meter
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit

Int64 = NDArray[np.int64]

STAGE: Final = "Looking ahead in a grammar"

MOST_CONFLICTS: Final = 20_000
"""The conflicts of a network after which no others are listed."""

END: Final = -2
"""The move that ends the rule; the caller then reads the same byte."""

Move = tuple[str, int, int]
"""``("read", state, 0)``, ``("call", rule, state after)`` or ``("end", 0, 0)``."""

Moves = dict[int, list[Move]]
"""The moves of a state, by class."""


def network_arrays(table: Int32, calls: Int32, exits: Bool, rule: Int32) -> NetworkArrays:
    """The arrays of a network, with its look-ahead.

    Args:
        table: int32[states, classes], the state after a class or −1.
        calls: int32[calls, 3], a state, the entry of the rule that it calls, and the state after
            the call; by the first of these.
        exits: bool[states], whether the rule may end there.
        rule: int32[states], the rule of each state.
    """
    states, classes = table.shape
    first = np.zeros(states + 1, np.int32)
    np.cumsum(np.bincount(calls[:, 0], minlength=states), out=first[1:])
    reads = table != NO_ARC
    only_exits = exits & ~reads.any(axis=1) & (np.diff(first) == 0)
    arrays = NetworkArrays(
        table, first, calls[:, 1].copy(), calls[:, 2].copy(), exits, only_exits, rule, reads,
        exits.copy(), np.zeros((int(rule[-1]) + 1, classes), np.bool_),
    )  # fmt: skip
    _look_ahead(arrays)
    return arrays


@jit
def _look_ahead(rules: NetworkArrays) -> None:
    """Compute the look-ahead as least fixpoints: ``reads``, ``empty`` and ``follow``."""
    states, classes = rules.table.shape
    changed = True
    while changed:
        changed = False
        for state in range(states - 1, -1, -1):  # Those that are called come later.
            for k in range(rules.first_call[state], rules.first_call[state + 1]):
                begin, after = rules.begins[k], rules.after[k]
                passed = rules.empty[begin]
                if passed and rules.empty[after] and not rules.empty[state]:
                    rules.empty[state] = changed = True
                for c in range(classes):
                    if not rules.reads[state, c] and (
                        rules.reads[begin, c] or (passed and rules.reads[after, c])
                    ):
                        rules.reads[state, c] = changed = True
    changed = True
    while changed:
        changed = False
        for state in range(states):
            for k in range(rules.first_call[state], rules.first_call[state + 1]):
                inner, outer = rules.rule[rules.begins[k]], rules.rule[state]
                after = rules.after[k]
                for c in range(classes):
                    if not rules.follow[inner, c] and (
                        rules.reads[after, c] or (rules.empty[after] and rules.follow[outer, c])
                    ):
                        rules.follow[inner, c] = changed = True


def occurs_nowhere(rules: NetworkArrays, symbols: Sequence[int]) -> bool:
    """Whether it is certain that no text contains the given bytes, at any position.

    The bytes are read from all states at once, and a rule that ends returns to every call of it, so
    a false answer means unknown.

    Args:
        rules: The network.
        symbols: The classes of the bytes.
    """
    here = np.ones(len(rules.table), np.bool_)
    caller = np.repeat(np.arange(len(rules.table)), np.diff(rules.first_call))
    callee = rules.rule[rules.begins]
    for symbol in symbols:
        after = np.zeros_like(here)
        targets = rules.table[here, symbol]
        after[targets[targets != NO_ARC]] = True
        while True:
            ended = np.zeros(len(rules.follow), np.bool_)
            ended[rules.rule[after & rules.exits]] = True
            more = after.copy()
            more[rules.begins[after[caller]]] = True
            more[rules.after[ended[callee]]] = True
            if (more == after).all():
                break
            after = more
        here = after
    return not here.any()


def moves(network: Network, state: int, wanted: Bool) -> Moves:
    """The moves of a state, by class, over the classes ``wanted``, bool[classes]."""
    looks = network.arrays
    near, waiting = {state: None}, [state]
    while waiting:
        here = waiting.pop()
        for rule, after in network.calls[here]:
            if looks.empty[network.entry[rule]] and after not in near:
                near[after] = None
                waiting.append(after)
    by_class: dict[int, dict[Move, None]] = {}

    def put(symbols: Bool, move: Move) -> None:
        for symbol in np.flatnonzero(symbols & wanted).tolist():
            by_class.setdefault(symbol, {})[move] = None

    for here in near:
        targets = looks.table[here]
        for symbol in np.flatnonzero((targets != NO_ARC) & wanted).tolist():
            by_class.setdefault(symbol, {})["read", int(targets[symbol]), 0] = None
        for rule, after in network.calls[here]:
            # A last call leaves nothing on the stack, whatever the state after it.
            back = NO_ARC if network.only_exits[after] else after
            put(looks.reads[network.entry[rule]], ("call", rule, back))
        if network.exits[here]:
            put(looks.follow[network.rule[here]], ("end", 0, 0))
    return {symbol: list(each) for symbol, each in by_class.items()}


class Actions(NamedTuple):
    """The one move of each state and class of a network, for kernels.

    Args:
        act: int32[states, classes]: `NO_ARC`, `END`, or the number of a way.
        first: int32[ways + 1], where the pushes of each way begin in ``push``.
        push: int32[pushes], the return states of the calls, the outermost first.
        target: int32[ways], the state after the byte.
        empty, only_exits: bool[states], whether the rule may end, and whether it must.
        symbol_class: int32[256], the class of each byte.
    """

    act: Int32
    first: Int32
    push: Int32
    target: Int32
    empty: Bool
    only_exits: Bool
    symbol_class: Int32


Conflict = tuple[int, int, tuple[Move, ...]]
"""A state, a class, and their two or more moves."""


_NOTHING: Final = -1
_SEVERAL: Final = -3


@jit
def _choices(looks: NetworkArrays) -> Int64:
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
                back = states if looks.only_exits[after] else after
                call = np.int64(states) * (1 + begin) + np.int64(begin) + back
                for c in range(classes):
                    _put(choice, state, c, looks.reads[begin, c], call)
                if looks.empty[begin] and seen[after] != state:
                    seen[after] = state
                    near[count] = after
                    count += 1
            if looks.exits[here]:
                for c in range(classes):
                    _put(choice, state, c, looks.follow[looks.rule[here], c], END)  # pyright: ignore[reportArgumentType] - A bool here.
    return choice


@jit
def _put(choice: Int64, state: int, symbol: int, there: bool, move: int) -> None:
    if there:
        known = choice[state, symbol]
        one = known == _NOTHING or known == move  # Not a tuple in a kernel.
        choice[state, symbol] = move if one else _SEVERAL


@jit
def _ways(choice: Int64, slots: Int32, act: Int32) -> tuple[Int32, Int32, Int32]:
    """Number the ways; the arrays ``first``, ``push`` and ``target`` of `Actions`."""
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
            # A call over a class has the same way in every state.
            slot = first_slot(
                folded(mixed(mixed(SEED, move), c if move >= states else classes)), mask
            )
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


def actions_of(network: Network, meter: Meter) -> Actions | tuple[Conflict, ...]:
    """The table of moves of a deterministic network; the conflicts of another one, or the first
    `MOST_CONFLICTS`.

    Raises:
        BudgetExceeded: The time is up.
    """
    meter.check_time(STAGE)
    looks = network.arrays
    choice = _choices(looks)
    several = choice == _SEVERAL
    if several.any():
        conflicts: list[Conflict] = []
        for state in np.flatnonzero(several.any(axis=1)).tolist():
            if len(conflicts) > MOST_CONFLICTS:
                break
            meter.check_time(STAGE)
            by_class = moves(network, state, several[state])
            conflicts += [(state, symbol, tuple(each)) for symbol, each in by_class.items()]
        return tuple(conflicts)
    act = np.empty(choice.shape, np.int32)
    slots = np.full(1 << (2 * choice.size + 2).bit_length(), -1, np.int32)
    first, push, target = _ways(choice, slots, act)
    return Actions(act, first, push, target, looks.empty, looks.only_exits, network.symbol_class)


def begins_with(network: Network, rule: int) -> set[int]:
    """The rules that a text of a rule may begin with, including the rule itself."""
    may_be_empty = network.arrays.empty
    seen = {rule}
    waiting = [network.entry[rule]]
    passed = set(waiting)
    while waiting:
        for callee, after in network.calls[waiting.pop()]:
            begun = [network.entry[callee]] if callee not in seen else []
            seen.add(callee)
            begun += [after] if may_be_empty[network.entry[callee]] else []
            for state in begun:
                if state not in passed:
                    passed.add(state)
                    waiting.append(state)
    return seen
