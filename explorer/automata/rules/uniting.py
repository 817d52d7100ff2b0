"""Inlining of recursive rules into their callers, where it makes a grammar deterministic.

A rule such as ``sum ::= term (ws "+" ws term)*`` that may be followed by white space cannot know
whether a blank is its own, or that of the rule that called it; and where two rules begin alike it
is not known which to call. Both go away where the rule is a part of its callers, as their automata
are determinized. So a rule that does not know whether to end is laid in wherever it is called, and
one that begins like something else where that is so; but not a rule that calls itself. What is left
to be called is what stands between brackets, as a rule. The language does not change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from typing import Final

import numpy as np

from explorer.automata.machine import Network
from explorer.automata.program import Program
from explorer.automata.rules.moves import Actions, Conflict, actions_of, begins_with
from explorer.automata.rules.network import SmallRules, side_by_side, small_rules
from explorer.automata.rules.pieces import determinized, laid_in, piece_of
from explorer.budget import Meter
from explorer.errors import BudgetExceeded

STAGE: Final = "Uniting rules of a grammar"

MOST_ROUNDS: Final = 12
"""The most rounds of inlining."""

MOST: Final = 20_000
"""The most states of all rules together before a round, and of each rule during it."""


def united(program: Program, meter: Meter) -> tuple[Network, Actions] | None:
    """The deterministic network of a grammar after inlining; ``None`` if inlining fails.

    Args:
        program: The rules of a grammar that has words.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    rules = small_rules(program, meter, lay_in=False)
    tried = replace(meter.budget, states=min(meter.budget.states, MOST))
    try:
        for _ in range(MOST_ROUNDS):
            if rules is None or sum(each.num_states for each, _ in rules.made.values()) > MOST:
                break
            network, order = side_by_side(rules, meter)
            actions = actions_of(network, meter)
            if isinstance(actions, Actions):
                return network, actions
            wanted = _to_unite(network, actions)
            rules = _with_fewer(rules, order, wanted, meter.with_sizes(tried).with_share(0.5))
    except BudgetExceeded:  # Several stacks do without, unless the time is up.
        meter.check_time(STAGE)
    return None


def _to_unite(network: Network, conflicts: tuple[Conflict, ...]) -> dict[int, set[int]]:
    """The rules to inline, none of which calls itself, and the states that call them."""
    callers: dict[int, set[int]] = {}
    for state, pairs in enumerate(network.calls):
        for inner, _ in pairs:
            callers.setdefault(inner, set()).add(state)
    size = Counter(network.rule)
    circular = {inner for inner, states in callers.items()
                if any(network.rule[state] == inner for state in states)}  # fmt: skip
    known: dict[int, set[int]] = {}

    def begun(rule: int) -> set[int]:
        if rule not in known:
            known[rule] = begins_with(network, rule)
        return known[rule]

    places: dict[int, set[int]] = {}
    for state, _, moves in conflicts:
        # Of several rules one is laid in at a time, not one with which another begins: what is left
        # may then be the same call.
        called = {move[1] for move in moves if move[0] == "call"}
        outer = {
            k for k in called - circular
            if not any(k in begun(other) for other in called - {k})
        } or called - circular  # fmt: skip
        if outer:
            places.setdefault(min(outer, key=lambda k: (size[k], k)), set()).add(state)
        rule = network.rule[state]
        if any(move[0] == "end" for move in moves) and rule not in circular:
            places.setdefault(rule, set()).update(callers.get(rule, ()))
    return places


def _with_fewer(
    rules: SmallRules, order: tuple[int, ...], wanted: dict[int, set[int]], meter: Meter
) -> SmallRules | None:
    """The rules after inlining some of them; ``None`` if none can be inlined.

    Args:
        order: The number in ``rules`` of each rule of the network.
        wanted: The rules of the network to inline, and the states that call them.
    """
    made = dict(rules.made)
    first = np.cumsum([0, *(made[k][0].num_states for k in order)]).tolist()
    places: dict[int, list[tuple[int, int]]] = {}
    for inner, states in wanted.items():
        for state in states:
            outer = bisect_right(first, state) - 1
            places.setdefault(outer, []).append((state - first[outer], order[inner]))
    # The innermost first, so that what is laid in has its own rules laid in.
    for outer in sorted(places, key=lambda k: made[order[k]][0].num_states):
        meter.check_time(STAGE)
        piece = laid_in(piece_of(made[order[outer]]), made, MOST, set(places[outer]))
        made[order[outer]] = determinized(piece, meter)
    return SmallRules(made, rules.names) if places else None
