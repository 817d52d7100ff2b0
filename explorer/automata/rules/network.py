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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Network
from explorer.automata.rules.arrays import ArcRows, network_arrays
from explorer.automata.rules.laying import (
    RuleArcs,
    SmallRule,
    arcs_of_piece,
    determinized,
    laid_in,
)
from explorer.automata.rules.pieces import (
    STAGE,
    RulePiece,
    components,
    pieces_of,
    productive,
    with_loops,
    with_only_calls,
)
from explorer.automata.tree.nodes import Node
from explorer.budget import Meter
from explorer.errors import NotRegular

MOST_MERGED: Final = 60
"""The most states of a rule that is laid into those that call it."""

MOST_LAID_IN: Final = 500
"""The most states of a rule with the rules that are called in it only."""

MOST_STATES: Final = 20_000
"""The most states of a rule with what is laid into it, before it is made small."""


@dataclass(frozen=True, slots=True, eq=False)
class SmallRules:
    """The rules that remain; the first, number 0, begins.

    Args:
        made: Each by its number; those that were merged into others may be there too.
        names: The name of each number.
    """

    made: Mapping[int, SmallRule]
    names: tuple[str, ...]


def network_of(node: Node, meter: Meter, pieces: tuple[RulePiece, ...] | None = None) -> Network:
    """The network of a tree.

    Args:
        node: A grammar, or anything with grammars inside.
        meter: Watches sizes and time.
        pieces: Its rules, where they were laid out already.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    rules = small_rules(pieces or pieces_of(node, meter), meter)
    if rules is None:
        none = np.zeros(NUM_BYTES, np.int32)
        return Network(none, (), (), (), (), (), (), (), NO_ARC)
    return side_by_side(rules, meter)[0]


def small_rules(
    pieces: tuple[RulePiece, ...], meter: Meter, *, lay_in: bool = True
) -> SmallRules | None:
    """The rules of a tree, trimmed, laid in, looped and merged; ``None`` without words.

    Args:
        pieces: The rules as they were laid out.
        meter: Watches sizes and time.
        lay_in: Whether a rule that is called in one place becomes a part of its caller.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    if lay_in:
        pieces = with_only_calls(pieces, MOST_LAID_IN)
    able = productive(pieces)
    if not able[0]:
        return None
    made, _ = _made_small(pieces, able, meter, merge_all=False)
    return SmallRules(made, tuple(piece.name for piece in pieces))


def regular(node: Node, meter: Meter) -> Dfa:
    """The minimal machine of a grammar that does not recurse.

    Args:
        node: The grammar.
        meter: Watches sizes and time.

    Raises:
        NotRegular: It recurses.
        BudgetExceeded: A limit was reached.
    """
    pieces = with_only_calls(pieces_of(node, meter), MOST_LAID_IN)
    able = productive(pieces)
    if not able[0]:
        return empty_dfa(NUM_BYTES)
    made, recursive = _made_small(pieces, able, meter, merge_all=True)
    if recursive:
        raise NotRegular(tuple(pieces[k].name for k in recursive))
    return made[0][0]


def _made_small(
    pieces: tuple[RulePiece, ...], able: list[bool], meter: Meter, *, merge_all: bool
) -> tuple[dict[int, SmallRule], list[int]]:
    """The machines of the rules that remain, and the rules of one circle of calls, if any."""
    pieces = tuple(with_loops(piece, k) for k, piece in enumerate(pieces))
    called = [
        sorted({r for _, r, _ in piece.calls if able[r]}) if able[k] else []
        for k, piece in enumerate(pieces)
    ]
    made: dict[int, SmallRule] = {}
    merged: set[int] = set()
    circle: list[int] = []
    for component in components(called):
        recursive = len(component) > 1 or component[0] in called[component[0]]
        if recursive and merge_all:
            return {}, sorted(component)
        if recursive and not circle:
            circle = sorted(component)
        for k in component:
            if not able[k]:
                continue
            meter.check_time(STAGE)
            limit = None if merge_all else MOST_STATES
            made[k] = determinized(_laid_in(pieces[k], able, made, merged, limit), meter)
            if not recursive and (merge_all or made[k][0].num_states <= MOST_MERGED):
                merged.add(k)
    return made, circle


def _laid_in(
    piece: RulePiece, able: list[bool], made: dict[int, SmallRule], merged: set[int],
    limit: int | None,
) -> RuleArcs:  # fmt: skip
    """A rule with the machines of those rules that it merges laid into it."""
    piece = replace(piece, calls=tuple(row for row in piece.calls if able[row[1]]))
    machines = {k: made[k] for _, k, _ in piece.calls if k in merged}
    return laid_in(arcs_of_piece(piece), machines, limit)


def side_by_side(rules: SmallRules, meter: Meter) -> tuple[Network, tuple[int, ...]]:
    """The machines that the first one needs, side by side, and the number of each before.

    Args:
        rules: The rules.
        meter: Watches sizes.
    """
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
    tables: list[Int32] = []
    calls: list[tuple[tuple[int, int], ...]] = []
    entry: list[int] = []
    for rule in order:
        machine, callees = made[rule]
        first = len(calls)
        entry.append(first + machine.start)
        table = machine.table[:, machine.symbol_class[lowest]]
        tables.append(np.where(table == NO_ARC, NO_ARC, table + first))
        calling = machine.table[:, machine.symbol_class[NUM_BYTES:]]
        calls += [()] * machine.num_states
        for state in np.flatnonzero((calling != NO_ARC).any(axis=1)).tolist():
            pairs = zip(callees, calling[state].tolist(), strict=True)
            calls[first + state] = tuple((number[r], first + t) for r, t in pairs if t != NO_ARC)
        meter.check(STAGE, states=len(calls), arcs=len(calls) * len(lowest))
    joined = np.concatenate(tables).astype(np.int32)
    exits = np.concatenate([made[rule][0].accepting for rule in order])
    sizes = [made[rule][0].num_states for rule in order]
    rule_of = np.repeat(np.arange(len(order), dtype=np.int32), sizes)
    arrays = network_arrays(joined, calls, exits, rule_of, entry)
    only = exits & (joined == NO_ARC).all(axis=1) & (np.diff(arrays.first_call) == 0)
    network = Network(
        joint.astype(np.int32), ArcRows(joined), tuple(calls), tuple(exits.tolist()),
        tuple(only.tolist()), tuple(rule_of.tolist()), tuple(entry),
        tuple(names[rule] for rule in order), 0, arrays,
    )  # fmt: skip
    return network, tuple(order)
