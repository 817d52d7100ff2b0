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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.automata.grammar.rules.network import Network
from explorer.automata.machine import NO_ARC, Int32
from explorer.budget import Meter

STAGE: Final = "Looking ahead in a grammar"

END: Final = -2
"""The move that ends the rule; the caller then moves over the same byte."""

Move = tuple[str, int, int]
"""``("read", state, 0)``, ``("call", rule, state after)`` or ``("end", 0, 0)``."""


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """The classes of bytes that can come next; a set of classes is the bits of an int.

    Args:
        first: For each state, the classes that its rule may read next.
        empty: For each state, whether its rule may end without reading.
        follow: For each rule, the classes that may be read after it.
    """

    first: tuple[int, ...]
    empty: tuple[bool, ...]
    follow: tuple[int, ...]


def looks_of(network: Network, meter: Meter) -> Looks:
    """Find the classes of bytes that can come next in each state, as a least fixpoint.

    Args:
        network: The network.
        meter: Watches the time.

    Raises:
        BudgetExceeded: The time is up.
    """
    count = len(network.arcs)
    first = [sum(1 << c for c in row) for row in network.arcs]
    empty = list(network.exits)
    entry, calls = network.entry, network.calls
    changed = True
    while changed:
        meter.check_time(STAGE)
        changed = False
        for state in range(count - 1, -1, -1):  # Those that are called come later.
            found, ends = first[state], empty[state]
            for rule, after in calls[state]:
                begin = entry[rule]
                found |= first[begin]
                if empty[begin]:
                    found |= first[after]
                    ends = ends or empty[after]
            if found != first[state] or ends != empty[state]:
                first[state], empty[state], changed = found, ends, True
    follow = [0] * len(entry)
    changed = True
    while changed:
        meter.check_time(STAGE)
        changed = False
        for state in range(count):
            for rule, after in calls[state]:
                found = follow[rule] | first[after]
                if empty[after]:
                    found |= follow[network.rule[state]]
                if found != follow[rule]:
                    follow[rule], changed = found, True
    return Looks(tuple(first), tuple(empty), tuple(follow))


def moves(network: Network, looks: Looks, state: int) -> dict[int, list[Move]]:
    """The moves of a state, by class.

    Args:
        network, looks: The network.
        state: A state of it.
    """
    near, waiting = {state: None}, [state]
    while waiting:
        here = waiting.pop()
        for rule, after in network.calls[here]:
            if looks.empty[network.entry[rule]] and after not in near:
                near[after] = None
                waiting.append(after)
    found: dict[int, dict[Move, None]] = {}
    for here in near:
        for symbol, targets in network.arcs[here].items():
            for target in targets:
                found.setdefault(symbol, {})["read", target, 0] = None
        for rule, after in network.calls[here]:
            # All last calls of a rule leave the same stack.
            move: Move = ("call", rule, NO_ARC if network.only_exits[after] else after)
            for symbol in bits(looks.first[network.entry[rule]]):
                found.setdefault(symbol, {})[move] = None
        if network.exits[here]:
            for symbol in bits(looks.follow[network.rule[here]]):
                found.setdefault(symbol, {})["end", 0, 0] = None
    return {symbol: list(each) for symbol, each in found.items()}


def bits(number: int) -> Iterator[int]:
    """The places of the bits of a number that are set, ascending.

    Example:
        >>> list(bits(0b1010))
        [1, 3]
    """
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


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


def actions_of(network: Network, looks: Looks, meter: Meter) -> Actions | tuple[Conflict, ...]:
    """The table of moves of a deterministic network; the conflicts of any other.

    Args:
        network, looks: The network; it has words.
        meter: Watches the time.

    Raises:
        BudgetExceeded: The time is up.
    """
    table: list[dict[int, list[Move]]] = []
    for state in range(len(network.arcs)):
        if state % 256 == 0:
            meter.check_time(STAGE)
        table.append(moves(network, looks, state))
    conflicts = tuple(
        (state, symbol, tuple(found))
        for state, row in enumerate(table)
        for symbol, found in row.items()
        if len(found) > 1
    )
    if conflicts:
        return conflicts
    ways: dict[tuple[int, ...], int] = {}
    act = np.full((len(table), network.num_classes), NO_ARC, np.int32)
    for state, row in enumerate(table):
        for symbol, (move,) in row.items():
            pushes: list[int] = []
            while move[0] == "call":
                if move[2] != NO_ARC:
                    pushes.append(move[2])
                (move,) = table[network.entry[move[1]]][symbol]
            if move[0] == "end":
                act[state, symbol] = END
            else:
                act[state, symbol] = ways.setdefault((*pushes, move[1]), len(ways))
    first = np.cumsum([0, *(len(way) - 1 for way in ways)]).astype(np.int32)
    push = np.array([state for way in ways for state in way[:-1]], np.int32)
    target = np.array([way[-1] for way in ways], np.int32)
    return Actions(
        act, first, push, target, np.array(looks.empty), np.array(network.only_exits),
        network.entry[network.root],
    )  # fmt: skip
