"""A grammar as a recursive transition network: an automaton for each rule, with arcs that call.

The rules are made small first, without a change of the language:

*Trim.* A rule without words, and what can only be read by way of it, is left out; so every
configuration that is met can be finished.

*Lay in.* A rule that is called in one place only becomes a part of its caller.

*Loop.* A rule that calls itself only as the last thing it does begins again instead.

*Merge.* A rule that does not recurse is laid into those that call it, where it is small, and each
automaton is determinized and minimised with calls as symbols. So white space, names, numbers,
strings, and alternatives that begin alike make no stacks and no choices; what is left are the calls
by which the grammar recurses. (Woods 1970 calls these networks RTNs.)

`explorer.automata.rules.uniting` goes further where this is not yet enough for one stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Network
from explorer.automata.program import Program
from explorer.automata.rules.moves import network_arrays
from explorer.automata.rules.pieces import (
    STAGE,
    SmallRule,
    components,
    determinized,
    laid_in,
    lay_rules,
    pieces_of,
    with_loops,
)
from explorer.automata.tree.nodes import Node
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, NotRegular

MOST_MERGED: Final = 60
"""The most states of a rule that is inlined into its callers."""

MOST_LAID_IN: Final = 500
"""The most states of a rule together with the rules that only it calls."""

MOST_GROWTH: Final = 4
"""The most states of a rule with its inlined rules, for each state before it is deterministic."""

MOST_STATES: Final = 20_000
"""The most states of a rule with its inlined rules, before minimization."""


@dataclass(frozen=True, slots=True, eq=False)
class SmallRules:
    """The rules of a simplified grammar; a text begins in number 0.

    Args:
        made: The rules by number, perhaps including rules that were merged into others.
    """

    made: Mapping[int, SmallRule]
    names: tuple[str, ...]


def network_of(program: Program, meter: Meter) -> Network | None:
    """The network of the rules of a program; ``None`` if the language is empty.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    rules = small_rules(program, meter)
    return None if rules is None else side_by_side(rules, meter)[0]


def small_rules(program: Program, meter: Meter, *, lay_in: bool = True) -> SmallRules | None:
    """The rules of a program, simplified; ``None`` if the language is empty.

    Args:
        lay_in: Whether to inline a rule that is called in one place only.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    pieces = pieces_of(program, MOST_LAID_IN if lay_in else 0)
    if pieces[0] is None:
        return None
    made, _ = _made_small(pieces, meter, merge_all=False, apart=program.apart)
    return SmallRules(made, tuple(name for name, _ in program.rules))


def regular(node: Node, meter: Meter) -> Dfa:
    """The minimal machine of a grammar without recursion.

    Raises:
        NotRegular: The grammar recurses.
        BudgetExceeded: A limit was reached.
    """
    program = lay_rules(node, meter)
    pieces = pieces_of(program, MOST_LAID_IN)
    if pieces[0] is None:
        return empty_dfa(NUM_BYTES)
    made, recursive = _made_small(pieces, meter, merge_all=True)
    if recursive:
        raise NotRegular(tuple(program.rules[k][0] for k in recursive))
    return made[0][0]


def _made_small(
    pieces: tuple[Program | None, ...],
    meter: Meter,
    *,
    merge_all: bool,
    apart: Set[int] = frozenset(),
) -> tuple[dict[int, SmallRule], list[int]]:
    """The machines of the rules; with ``merge_all``, the rules of a recursive component if any."""
    looped = [piece and with_loops(piece, k) for k, piece in enumerate(pieces)]
    called: list[list[int]] = [
        [] if piece is None else np.unique(piece.calls[:, 1]).tolist() for piece in looped
    ]
    made: dict[int, SmallRule] = {}
    merged: set[int] = set()
    limit = None if merge_all else MOST_STATES
    for component in components(called):
        recursive = len(component) > 1 or component[0] in called[component[0]]
        if recursive and merge_all:
            return {}, sorted(component)
        for k in component:
            piece = looped[k]
            if piece is None:
                continue
            meter.check_time(STAGE)
            machines = {rule: made[rule] for rule in called[k] if rule in merged}
            made[k] = _laid_in_or_calling(piece, machines, limit, meter)
            small = made[k][0].num_states <= MOST_MERGED and k not in apart
            if not recursive and (merge_all or small):
                merged.add(k)
    return made, []


def _laid_in_or_calling(
    piece: Program, machines: Mapping[int, SmallRule], limit: int | None, meter: Meter
) -> SmallRule:
    """A rule as a minimal machine, with the rules that it calls inside if that stays small."""
    if limit is not None and machines:
        larger = laid_in(piece, machines, limit)
        most = min(meter.budget.states, max(MOST_LAID_IN, MOST_GROWTH * larger.num_states))
        try:
            sizes = replace(meter.budget, states=most)
            return determinized(larger, meter.with_sizes(sizes))
        except BudgetExceeded:  # Calls do as well, unless the time is up.
            meter.check_time(STAGE)
            machines = {}
    return determinized(laid_in(piece, machines, limit), meter)


def side_by_side(rules: SmallRules, meter: Meter) -> tuple[Network, tuple[int, ...]]:
    """The network of the rules that rule 0 needs, and the old number of each."""
    made, names = rules.made, rules.names
    order = [0]
    number = {0: 0}
    for rule in order:  # The list grows while it is read.
        machine, callees = made[rule]
        used = (machine.table[:, machine.symbol_class[NUM_BYTES:]] != NO_ARC).any(axis=0)
        for k, callee in enumerate(callees):
            if used[k] and callee not in number:
                number[callee] = len(order)
                order.append(callee)
    joint = np.zeros(NUM_BYTES, np.int64)
    for rule in order:
        machine = made[rule][0]
        both = joint * (machine.num_classes + 1) + machine.symbol_class[:NUM_BYTES]
        joint = np.unique(both, return_inverse=True)[1].reshape(-1)
    lowest = np.unique(joint, return_index=True)[1]
    sizes = [made[rule][0].num_states for rule in order]
    firsts = np.cumsum([0, *sizes]).tolist()
    entry = [first + made[rule][0].start for first, rule in zip(firsts, order, strict=False)]
    tables: list[Int32] = []
    calls: list[Int32] = []
    for first, rule in zip(firsts, order, strict=False):
        machine, callees = made[rule]
        table = machine.table[:, machine.symbol_class[lowest]]
        tables.append(np.where(table == NO_ARC, NO_ARC, table + first))
        calling = machine.table[:, machine.symbol_class[NUM_BYTES:]]
        states, which = np.nonzero(calling != NO_ARC)
        begun = np.array([entry[number.get(callee, 0)] for callee in callees], np.int32)
        after = calling[states, which] + first
        calls.append(np.column_stack([states + first, begun[which], after]).astype(np.int32))
        ready = first + machine.num_states
        meter.check(STAGE, states=ready, arcs=ready * len(lowest))
    exits = np.concatenate([made[rule][0].accepting for rule in order])
    rule_of = np.repeat(np.arange(len(order), dtype=np.int32), sizes)
    joined = np.concatenate(tables).astype(np.int32)
    arrays = network_arrays(joined, np.concatenate(calls), exits, rule_of)
    called = tuple(names[rule] for rule in order)
    return Network(joint.astype(np.int32), tuple(entry), called, arrays), tuple(order)
