"""Rules laid into those that call them: machines in the place of calls, determinized again.

All of it is arrays, as a large grammar lays hundreds of machines into each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import Dfa, Int32, Nfa
from explorer.automata.rules.pieces import RulePiece
from explorer.budget import Meter

SmallRule = tuple[Dfa, tuple[int, ...]]
"""A rule as a machine over bytes and calls, and the rules that are called, by symbol."""


class RuleArcs(NamedTuple):
    """A rule as arrays; state 0 is its start.

    Args:
        num_states: How many states there are.
        arcs: int32[n, 4], rows ``(source, low, high, target)`` over bytes.
        calls: int32[n, 3], rows ``(source, rule, target)``.
        epsilons: int32[n, 2], rows ``(source, target)``.
        accepting: int32[n], the states where it may end.
    """

    num_states: int
    arcs: Int32
    calls: Int32
    epsilons: Int32
    accepting: Int32


def arcs_of_piece(piece: RulePiece) -> RuleArcs:
    """A rule as it was laid out.

    Args:
        piece: The rule.
    """
    return RuleArcs(
        piece.num_states, np.array(piece.arcs, np.int32).reshape(-1, 4),
        np.array(piece.calls, np.int32).reshape(-1, 3),
        np.array(piece.epsilons, np.int32).reshape(-1, 2), np.array(piece.accepting, np.int32),
    )  # fmt: skip


def arcs_of_machine(rule: SmallRule) -> RuleArcs:
    """A machine over bytes and calls; its states are counted from 1, and its one ε-arc leads from
    state 0 to its start.

    Args:
        rule: The machine, and what it calls.
    """
    nfa = dfa_to_nfa(rule[0])
    one_more = np.array([1, 0, 0, 1], np.int32)
    reading = nfa.arcs[nfa.arcs[:, 1] < NUM_BYTES] + one_more
    reading[:, 2] = np.minimum(reading[:, 2], NUM_BYTES - 1)
    calling = nfa.arcs[nfa.arcs[:, 2] >= NUM_BYTES] + one_more
    low = np.maximum(calling[:, 1], NUM_BYTES) - NUM_BYTES
    many = calling[:, 2] - NUM_BYTES - low + 1
    rows = np.repeat(np.arange(len(calling)), many)
    # The symbols of each row, one after the other.
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(many) - many, many)
    callees = np.array(rule[1], np.int32)[low[rows] + nth]
    calls = np.column_stack([calling[rows, 0], callees, calling[rows, 3]]).astype(np.int32)
    begins = np.array([[0, nfa.start + 1]], np.int32)
    return RuleArcs(nfa.num_states + 1, reading, calls, begins, nfa.accepting + 1)


def laid_in(
    rule: RuleArcs, machines: Mapping[int, SmallRule], limit: int | None = None,
    places: Set[tuple[int, int]] | None = None,
) -> RuleArcs:  # fmt: skip
    """A rule with some machines in the place of their calls.

    Args:
        rule: The rule.
        machines: For some of the rules that it calls their machines.
        limit: The most states; a call that would make more stays.
        places: Only these pairs of a state, counted without the first, and what it calls.
    """
    arcs, epsilons = [rule.arcs], [rule.epsilons]
    calls: list[Int32] = []
    made: dict[int, RuleArcs] = {}
    staying: list[int] = []
    states = rule.num_states
    rows: list[list[int]] = rule.calls.tolist()
    for k, (source, callee, target) in enumerate(rows):
        size = machines[callee][0].num_states if callee in machines else 0
        elsewhere = callee not in machines or (
            places is not None and (source - 1, callee) not in places
        )
        if elsewhere or (limit is not None and states + size > limit):
            staying.append(k)
            continue
        if callee not in made:
            made[callee] = arcs_of_machine(machines[callee])
        inner = made[callee]
        ends = inner.accepting + states
        arcs.append(inner.arcs + np.array([states, 0, 0, states], np.int32))
        calls.append(inner.calls + np.array([states, 0, states], np.int32))
        begin = np.array([[source, int(inner.epsilons[0, 1]) + states]], np.int32)
        epsilons += [begin, np.column_stack([ends, np.full_like(ends, target)])]
        states += inner.num_states
    return RuleArcs(
        states, np.concatenate(arcs), np.concatenate([rule.calls[staying], *calls]),
        np.concatenate(epsilons), rule.accepting,
    )  # fmt: skip


def determinized(rule: RuleArcs, meter: Meter) -> SmallRule:
    """A rule as a minimal machine.

    Args:
        rule: The rule.
        meter: Watches sizes and time.
    """
    callees, symbol = np.unique(rule.calls[:, 1], return_inverse=True)
    symbol = symbol.reshape(-1) + NUM_BYTES
    calling = np.column_stack([rule.calls[:, 0], symbol, symbol, rule.calls[:, 2]])
    nfa = Nfa(
        rule.num_states, 0, np.concatenate([rule.arcs, calling]).astype(np.int32), rule.epsilons,
        rule.accepting, NUM_BYTES + len(callees),
    )  # fmt: skip
    return minimal_dfa(nfa, meter), tuple(callees.tolist())
