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

`explorer.automata.grammar.rules.uniting` goes further where this is not yet enough for one stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import empty_dfa
from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.grammar.rules.pieces import (
    STAGE,
    RulePiece,
    as_nfa,
    components,
    pieces_of,
    productive,
    with_loops,
    with_only_calls,
)
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.tree.nodes import Node
from explorer.budget import Meter
from explorer.errors import NotRegular

MOST_MERGED: Final = 60
"""The most states of a rule that is laid into those that call it."""

MOST_LAID_IN: Final = 500
"""The most states of a rule with the rules that are called in it only."""

MOST_STATES: Final = 20_000
"""The most states of a rule with what is laid into it, before it is made small."""

Targets = tuple[int, ...]

SmallRule = tuple[Dfa, tuple[int, ...]]
"""A rule as a machine over bytes and calls, and the rules that are called, by symbol."""


@dataclass(frozen=True, slots=True, eq=False)
class SmallRules:
    """The rules that remain; the first, number 0, begins.

    Args:
        made: Each by its number; those that were merged into others may be there too.
        names: The name of each number.
    """

    made: Mapping[int, SmallRule]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The automata of all rules side by side; every state can be reached and can end its rule.

    Args:
        symbol_class: int32[256], the class of each byte.
        arcs: For each state, the states after each class that it reads.
        calls: For each state, pairs ``(rule, state after it)``.
        exits: For each state, whether the rule may end there.
        only_exits: For each state, whether the rule must end there.
        rule: For each state, the number of its rule.
        entry: For each rule, its start state.
        names: For each rule, its name.
        root: The rule to begin with; `NO_ARC` if the grammar has no words.
    """

    symbol_class: Int32
    arcs: tuple[dict[int, Targets], ...]
    calls: tuple[tuple[tuple[int, int], ...], ...]
    exits: tuple[bool, ...]
    only_exits: tuple[bool, ...]
    rule: tuple[int, ...]
    entry: tuple[int, ...]
    names: tuple[str, ...]
    root: int

    @property
    def num_classes(self) -> int:
        """The number of classes of bytes."""
        return int(self.symbol_class.max()) + 1

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some arc reads."""
        used = np.zeros(self.num_classes, np.bool_)
        for row in self.arcs:
            used[list(row)] = True
        return used[self.symbol_class]


def network_of(node: Node, meter: Meter) -> Network:
    """The network of a tree.

    Args:
        node: A grammar, or anything with grammars inside.
        meter: Watches sizes and time.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    rules = small_rules(node, meter)
    if rules is None:
        none = np.zeros(NUM_BYTES, np.int32)
        return Network(none, (), (), (), (), (), (), (), NO_ARC)
    return side_by_side(rules, meter)[0]


def small_rules(node: Node, meter: Meter, *, lay_in: bool = True) -> SmallRules | None:
    """The rules of a tree, trimmed, laid in, looped and merged; ``None`` without words.

    Args:
        node: A grammar, or anything with grammars inside.
        meter: Watches sizes and time.
        lay_in: Whether a rule that is called in one place becomes a part of its caller.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    pieces = pieces_of(node, meter)
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
) -> RulePiece:  # fmt: skip
    """A rule with the machines of those rules that it merges laid into it."""
    piece = replace(piece, calls=tuple(row for row in piece.calls if able[row[1]]))
    return laid_in(piece, {k: made[k] for _, k, _ in piece.calls if k in merged}, limit)


def laid_in(
    piece: RulePiece, machines: Mapping[int, SmallRule], limit: int | None = None,
    places: Set[tuple[int, int]] | None = None,
) -> RulePiece:  # fmt: skip
    """A rule with some machines in the place of their calls.

    Args:
        piece: The rule.
        machines: For some of the rules that it calls their machines.
        limit: The most states; a call that would make more stays.
        places: Only these pairs of a state, counted without the first, and what it calls.
    """
    arcs, epsilons = list(piece.arcs), list(piece.epsilons)
    calls: list[tuple[int, int, int]] = []
    states = piece.num_states
    for source, rule, target in piece.calls:
        size = machines[rule][0].num_states if rule in machines else 0
        elsewhere = rule not in machines or (
            places is not None and (source - 1, rule) not in places
        )
        if elsewhere or (limit is not None and states + size > limit):
            calls.append((source, rule, target))
            continue
        inner = as_piece(machines[rule], states)
        arcs += inner.arcs
        calls += inner.calls
        epsilons += [(source, inner.epsilons[0][1]), *((end, target) for end in inner.accepting)]
        states += inner.num_states
    return RulePiece(
        piece.name, states, tuple(arcs), tuple(calls), tuple(epsilons), piece.accepting
    )


def as_piece(rule: SmallRule, base: int = 0) -> RulePiece:
    """A machine over bytes and calls with its states counted from a base; its one ε-arc leads from
    the base to its start.

    Args:
        rule: The machine, and what it calls.
        base: Its first state.
    """
    nfa = dfa_to_nfa(rule[0])
    arcs: list[tuple[int, int, int, int]] = []
    calls: list[tuple[int, int, int]] = []
    first = base + 1
    for a, low, high, b in nfa.arcs.tolist():
        if low < NUM_BYTES:
            arcs.append((a + first, low, min(high, NUM_BYTES - 1), b + first))
        calls += [
            (a + first, rule[1][symbol - NUM_BYTES], b + first)
            for symbol in range(max(low, NUM_BYTES), high + 1)
        ]
    ends = tuple(end + first for end in nfa.accepting.tolist())
    begins = ((base, nfa.start + first),)
    return RulePiece("", nfa.num_states + 1, tuple(arcs), tuple(calls), begins, ends)


def determinized(piece: RulePiece, meter: Meter) -> SmallRule:
    """A rule as a minimal machine.

    Args:
        piece: The rule.
        meter: Watches sizes and time.
    """
    callees = tuple(sorted({rule for _, rule, _ in piece.calls}))
    symbols = {rule: NUM_BYTES + k for k, rule in enumerate(callees)}
    return minimal_dfa(as_nfa(piece, symbols), meter), callees


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
    arcs: list[dict[int, Targets]] = []
    calls: list[tuple[tuple[int, int], ...]] = []
    exits: list[bool] = []
    rule_of: list[int] = []
    entry: list[int] = []
    for rule in order:
        machine, callees = made[rule]
        first = len(arcs)
        entry.append(first + machine.start)
        reading: list[list[int]] = machine.table[:, machine.symbol_class[lowest]].tolist()
        calling: list[list[int]] = machine.table[:, machine.symbol_class[NUM_BYTES:]].tolist()
        for row, called in zip(reading, calling, strict=True):
            arcs.append({c: (first + t,) for c, t in enumerate(row) if t != NO_ARC})
            pairs = zip(callees, called, strict=True)
            calls.append(tuple((number[r], first + t) for r, t in pairs if t != NO_ARC))
        exits += machine.accepting.tolist()
        rule_of += [number[rule]] * machine.num_states
        meter.check(STAGE, states=len(arcs), arcs=len(arcs) * len(lowest))
    only = tuple(e and not a and not c for e, a, c in zip(exits, arcs, calls, strict=True))
    network = Network(
        joint.astype(np.int32), tuple(arcs), tuple(calls), tuple(exits), only, tuple(rule_of),
        tuple(entry), tuple(names[rule] for rule in order), 0,
    )  # fmt: skip
    return network, tuple(order)
