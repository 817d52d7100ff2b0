"""A source as it was written, as one program: every arc knows where in the source it stands.

A machine that decides has forgotten where its arcs came from: it was made small, and its rules were
merged. So the tree of the source is laid out once more as it was written. Each rule of a grammar is
an automaton of its own, and whatever stands around a grammar is the rule 0, which has no name; a
pattern is a program of that one rule. A state has arcs that read bytes, moves that read nothing (of
a counted repeat with what they do to its counter) and calls of rules. An arc has an *origin*: a
literal, class or dot with its span in the text of the source that it was written in; a character of
one of the texts of a choice; a call; or a whole part, for parts that are machines of their own (an
imported machine, or an intersection, difference or complement inside a sequence).

States that cannot reach the end of their rule are taken out, so that without assertions every
configuration can be finished. Assertions are read as if they held; the caller keeps only places
that agree with the exact machine.

Cost: laying out as in `explorer.automata.tree.layout`; a state is looked at when a text first
comes to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES, TOKEN_END
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.rules.pieces import laid_rules
from explorer.automata.tree.nodes import Node, TokenPiece
from explorer.automata.tree.origin import Origin
from explorer.automata.tree.repeats import PLAIN, Scope, value_after
from explorer.budget import Meter

STAGE: Final = "Laying out a source"

AROUND: Final = 0
"""The rule that stands around everything."""

START: Final = 0
END: Final = 1
"""The first state of a rule, and the one in which it may end, counted from the rule's own."""

Point = tuple[int, int]
"""A state, and the counts of the counted repeats that it stands in, as one number."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves from a point, once everything is followed that reads nothing.

    Args:
        reads: Rows ``(lowest, highest, point after, origin)`` over bytes.
        calls: Rows ``(rule, point after, origin)``.
        ends: Whether the rule may end here.
    """

    reads: tuple[tuple[int, int, Point, Origin | None], ...]
    calls: tuple[tuple[int, Point, Origin | None], ...]
    ends: bool


@dataclass(slots=True)
class _Laid:
    """The rules laid out so far, side by side."""

    names: list[str] = field(default_factory=list[str])
    first: list[int] = field(default_factory=list[int])
    arcs: list[Int32] = field(default_factory=list[Int32])
    arc_origins: list[Int32] = field(default_factory=list[Int32])
    calls: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    silent: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    scopes: list[Scope] = field(default_factory=list[Scope])
    origins: list[Origin] = field(default_factory=list[Origin])


class WrittenProgram:
    """A tree as a program whose arcs know their origin.

    Args:
        node: The tree: a pattern, a grammar, or anything with grammars inside.
        meter: Watches its size.
        machine: Builds the parts that are machines of their own; default anew.

    Raises:
        BudgetExceeded: It would be too large.
        NotRegular: A grammar that recurses stands inside of what needs a closed form.

    Attributes:
        names: The name of each rule; empty for what stands around a grammar.
        entry: The point at which each rule begins.
        is_empty: Whether there is no text.
    """

    def __init__(
        self, node: Node, meter: Meter, machine: Callable[[Node], Dfa] | None = None
    ) -> None:
        laid = _lay_out(node, meter, machine)
        self.names = tuple(laid.names)
        self.entry: tuple[Point, ...] = tuple((first + START, 0) for first in laid.first[:-1])
        rules = np.arange(len(laid.names), dtype=np.int32)
        self._rule_of: list[int] = np.repeat(rules, np.diff(laid.first)).tolist()
        arcs = np.concatenate(laid.arcs)
        origin = np.concatenate(laid.arc_origins)
        alive = _alive(laid, arcs)
        self.is_empty = not alive[self.entry[AROUND][0]]
        kept = alive[arcs[:, 3]] & alive[arcs[:, 0]]
        order = np.argsort(arcs[kept, 0], kind="stable")
        self._arcs: Int32 = arcs[kept][order]
        self._arc_origin: Int32 = origin[kept][order]
        first = np.searchsorted(self._arcs[:, 0], np.arange(laid.first[-1] + 1))
        self._row_of: list[int] = first.tolist()
        self._origins = tuple(laid.origins)
        self._order = {id(each): number for number, each in enumerate(self._origins)}
        self._scopes = tuple(laid.scopes)
        self._silent: dict[int, list[tuple[int, int, int]]] = {}
        for tail, head, action, scope in laid.silent:
            if alive[head]:
                self._silent.setdefault(tail, []).append((head, action, scope))
        self._calls: dict[int, list[tuple[int, int, int]]] = {}
        for tail, rule, after, of in laid.calls:
            if alive[after] and alive[self.entry[rule][0]]:
                self._calls.setdefault(tail, []).append((rule, after, of))
        self._inside = self._inside_one_token()
        self._moves: dict[Point, Moves] = {}
        self._ahead: dict[Point, tuple[int, bool]] = {}
        self._empty: list[bool] = []
        self._begins: list[int] = []
        self._look_into_rules()

    def rule(self, point: Point) -> int:
        """The number of the rule that a point is in."""
        return self._rule_of[point[0]]

    def order(self, origin: Origin) -> int:
        """The place of an origin in the order of the tree."""
        return self._order[id(origin)]

    def inside_token(self, point: Point) -> bool:
        """Whether part of a token was read that is a terminal by itself."""
        return point[0] in self._inside

    def between_tokens(self, point: Point) -> tuple[Point, ...]:
        """The points at which a token may begin, without another byte: the point itself, or those
        behind the terminal that it is in."""
        if not self.inside_token(point):
            return (point,)
        return tuple(sorted(each for each in self._near(point) if not self.inside_token(each)))

    def moves(self, point: Point) -> Moves:
        """The reads and calls of a point, and whether its rule may end there."""
        known = self._moves.get(point)
        if known is None:
            known = self._moves[point] = self._moves_of(point)
        return known

    def _moves_of(self, point: Point) -> Moves:
        reads: list[tuple[int, int, Point, Origin | None]] = []
        calls: list[tuple[int, Point, Origin | None]] = []
        near = self._near(point)
        for state, counts in sorted(near):
            rows = slice(self._row_of[state], self._row_of[state + 1])
            arcs: list[list[int]] = self._arcs[rows].tolist()
            origins: list[int] = self._arc_origin[rows].tolist()
            for (_, low, high, target), of in zip(arcs, origins, strict=True):
                reads.append((low, high, (target, counts), self._origin(of)))
            for rule, after, of in self._calls.get(state, ()):
                calls.append((rule, (after, counts), self._origin(of)))
        end = self.entry[self.rule(point)][0] - START + END
        return Moves(tuple(reads), tuple(calls), (end, 0) in near)

    def _origin(self, number: int) -> Origin | None:
        return self._origins[number] if number >= 0 else None

    def _near(self, point: Point) -> set[Point]:
        """The points that are reached without reading."""
        near = {point}
        waiting = [point]
        while waiting:
            state, counts = waiting.pop()
            for target, action, scope in self._silent.get(state, ()):
                after = (
                    counts if action == PLAIN else value_after(self._scopes[scope], action, counts)
                )
                if after is not None and (target, after) not in near:
                    near.add((target, after))
                    waiting.append((target, after))
        return near

    # The bytes that can come next before the rule ends.

    def first(self, point: Point) -> int:
        """The bytes that the rule can go on with, calls included: bit b for byte b."""
        return self._looked(point)[0]

    def may_end(self, point: Point) -> bool:
        """Whether the rule may end without another byte."""
        return self._looked(point)[1]

    def must_end(self, points: Iterable[Point]) -> bool:
        """Whether a rule can only end at its points."""
        return all(self.may_end(point) and not self.first(point) for point in points)

    def begins(self, rule: int) -> int:
        """The bytes that a rule can begin with, as `first` gives them."""
        return self._begins[rule]

    def may_be_empty(self, rule: int) -> bool:
        """Whether a rule has the empty word."""
        return self._empty[rule]

    def _looked(self, point: Point) -> tuple[int, bool]:
        known = self._ahead.get(point)
        if known is None:
            bits, rules, ends = self._look(point)
            for rule in rules:
                bits |= self._begins[rule]
            known = self._ahead[point] = bits, ends
        return known

    def _look(self, point: Point) -> tuple[int, set[int], bool]:
        """The bytes that are read here, the rules that are called, and whether the rule may end."""
        bits, rules, ends = 0, set[int](), False
        seen = {point}
        for here in (waiting := [point]):  # The list grows while it is read.
            moves = self.moves(here)
            ends |= moves.ends
            for low, high, _, _ in moves.reads:
                bits |= (1 << high + 1) - (1 << low)
            for rule, after, _ in moves.calls:
                rules.add(rule)
                if self._empty[rule] and after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return bits, rules, ends

    def _look_into_rules(self) -> None:
        """Find the rules that may be empty, and the bytes that each can begin with."""
        numbers = range(len(self.names))
        self._empty = [False for _ in numbers]
        while more := [
            rule for rule in numbers if not self._empty[rule] and self._look(self.entry[rule])[2]
        ]:
            for rule in more:
                self._empty[rule] = True
        looked = [self._look(self.entry[rule]) for rule in numbers]
        self._begins = [bits for bits, _, _ in looked]
        changed = True
        while changed:
            changed = False
            for rule, (_, called, _) in enumerate(looked):
                bits = self._begins[rule]
                for callee in called:
                    bits |= self._begins[callee]
                changed |= bits != self._begins[rule]
                self._begins[rule] = bits

    def _inside_one_token(self) -> frozenset[int]:
        pieces = [k for k, each in enumerate(self._origins) if _is_one_token(each.node)]
        if not pieces:
            return frozenset()
        arcs = self._arcs[np.isin(self._arc_origin, pieces)]
        return frozenset(arcs[:, 0].tolist()) & frozenset(arcs[:, 3].tolist())


def _lay_out(node: Node, meter: Meter, machine: Callable[[Node], Dfa] | None) -> _Laid:
    """All rules side by side; those of a schema have the schema itself for origin."""
    laid = _Laid()
    states = 0
    whole: dict[int, int] = {}  # By the identity of rules that nobody wrote, their one origin.
    for each in laid_rules(node, meter, written=True, machine=machine):
        nfa, counters = each.built.nfa, each.counters
        scopes, origins = len(laid.scopes), len(laid.origins)
        laid.names.append(each.name)
        laid.first.append(states)
        laid.origins += each.built.origins
        arcs = nfa.arcs.copy()
        arcs[:, [0, 3]] += states
        of = np.empty(0, np.int32) if each.built.arc_origin is None else each.built.arc_origin
        of = np.where(of >= 0, of + origins, of).astype(np.int32)
        if each.rules is not None and each.rules.locate is not None:
            of = np.full(len(arcs), whole.get(id(each.rules), NO_ARC), np.int32)
        calling = arcs[:, 1] >= NUM_BYTES
        rows: list[list[int]] = arcs[calling].tolist()
        numbers: list[int] = of[calling].tolist()
        for (tail, symbol, _, head), number in zip(rows, numbers, strict=True):
            rule, called = each.callees[symbol - NUM_BYTES]
            laid.calls.append((tail, rule, head, number))
            whole.setdefault(id(called), number)
        laid.arcs.append(arcs[~calling])
        laid.arc_origins.append(of[~calling])
        laid.silent += [(a + states, b + states, PLAIN, -1) for a, b in nfa.epsilons.tolist()]
        laid.silent += [
            (tail + states, head + states, action, scope + scopes)
            for tail, head, action, scope in counters.moves
        ]
        laid.scopes += counters.scopes
        states += nfa.num_states
        meter.check(STAGE, states=states, arcs=sum(map(len, laid.arcs)) + len(laid.silent))
    laid.first.append(states)
    return laid


def _alive(laid: _Laid, arcs: Int32) -> Bool:
    """bool[states], those from which the end of their rule can be reached."""
    silent = np.array(laid.silent, np.int64).reshape(-1, 4)
    tail = np.concatenate([arcs[:, 0], silent[:, 0]])
    head = np.concatenate([arcs[:, 3], silent[:, 1]])
    order = np.argsort(head, kind="stable")
    before: list[int] = tail[order].tolist()
    num_states = laid.first[-1]
    first: list[int] = np.searchsorted(head[order], np.arange(num_states + 1)).tolist()
    # A call goes on once its rule can end and the state after it is alive.
    waits: dict[int, list[tuple[int, int]]] = {}
    for caller, rule, after, _ in laid.calls:
        entry = laid.first[rule] + START
        waits.setdefault(after, []).append((caller, entry))
        waits.setdefault(entry, []).append((caller, after))
    alive = np.zeros(num_states, np.bool_)
    waiting = [state + END for state in laid.first[:-1]]
    alive[waiting] = True
    while waiting:
        state = waiting.pop()
        able: Iterable[int] = (caller for caller, other in waits.get(state, ()) if alive[other])
        for earlier in (*before[first[state] : first[state + 1]], *able):
            if not alive[earlier]:
                alive[earlier] = True
                waiting.append(earlier)
    return alive


def _is_one_token(node: object) -> bool:
    """Whether a node is a terminal whose words are single tokens."""
    if not isinstance(node, TokenPiece):
        return False
    machine = node.tokens()
    ends = machine.table[:, machine.symbol_class[TOKEN_END]]
    return bool((machine.table[ends[ends != NO_ARC]] == NO_ARC).all())
