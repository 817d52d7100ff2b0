"""A source as it was written, as one program: every arc knows where in the source it was written.

A machine that decides does not know where its arcs came from: it was minimized, and its rules were
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
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.alphabet import TOKEN_END
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.program import PLAIN, Int32
from explorer.automata.rules.pieces import alive, lay_rules
from explorer.automata.tree.nodes import Node, TokenPiece
from explorer.automata.tree.origin import Origin
from explorer.budget import Meter

AROUND: Final = 0
"""The number of the rule around everything."""

Point = tuple[int, int]
"""A state, and the counts of the counted repeats that it stands in, as one number."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves from a point, after all moves that read nothing have been followed.

    Args:
        reads: Rows ``(lowest, highest, point after, origin)`` over bytes.
        calls: Rows ``(rule, point after, origin)``.
    """

    reads: tuple[tuple[int, int, Point, Origin | None], ...]
    calls: tuple[tuple[int, Point, Origin | None], ...]
    ends: bool


class WrittenProgram:
    """A tree as a program whose arcs know their origin.

    Args:
        node: The tree: a pattern, a grammar, or anything with grammars inside.
        machine: Builds the parts that are machines of their own; by default each is built anew.

    Raises:
        BudgetExceeded: It would be too large.
        NotRegular: A recursive grammar stands inside a part that needs a closed form.

    Attributes:
        names: The name of each rule; empty for what stands around a grammar.
        entry: The point at which each rule begins.
        is_empty: Whether there is no text.
    """

    def __init__(
        self, node: Node, meter: Meter, machine: Callable[[Node], Dfa] | None = None
    ) -> None:
        program = lay_rules(node, meter, written=True, machine=machine)
        able, entries = alive(program), [first for _, first in program.rules]
        self.names = tuple(name for name, _ in program.rules)
        self.entry: tuple[Point, ...] = tuple((first, 0) for first in entries)
        self.is_empty = not able[entries[AROUND]]
        self._rule_of: list[int] = program.rule_of.tolist()
        self._ends: list[int] = program.accepting.tolist()
        self._origins: tuple[Origin, ...] = program.origins
        self._order = {id(each): number for number, each in enumerate(self._origins)}
        self._scopes = program.scopes
        arcs, origin = program.arcs, program.arc_origin
        kept = able[arcs[:, 3]] & able[arcs[:, 0]]
        order = np.flatnonzero(kept)[np.argsort(arcs[kept, 0], kind="stable")]
        self._arcs: Int32 = arcs[order]
        self._arc_origin: Int32 = np.zeros(0, np.int32) if origin is None else origin[order]
        first = np.searchsorted(self._arcs[:, 0], np.arange(program.num_states + 1))
        self._row_of: list[int] = first.tolist()
        moves: list[list[int]] = program.counts.tolist()
        moves += [[tail, head, PLAIN, -1] for tail, head in program.epsilons.tolist()]
        self._silent: dict[int, list[tuple[int, int, int]]] = {}
        for tail, head, action, scope in moves:
            if able[head]:
                self._silent.setdefault(tail, []).append((head, action, scope))
        called: list[list[int]] = program.calls.tolist()
        written: list[int] = [] if program.call_origin is None else program.call_origin.tolist()
        self._calls: dict[int, list[tuple[int, int, int]]] = {}
        for (tail, rule, after), of in zip(called, written, strict=True):
            if able[after] and able[entries[rule]]:
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
        """Whether the point is inside a terminal that is one token by itself."""
        return point[0] in self._inside

    def between_tokens(self, point: Point) -> tuple[Point, ...]:
        """The points at which a token may begin, without another byte: the point itself, or those
        after the terminal that it is in."""
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
        return Moves(tuple(reads), tuple(calls), (self._ends[self.rule(point)], 0) in near)

    def _origin(self, number: int) -> Origin | None:
        return self._origins[number] if number >= 0 else None

    def _near(self, point: Point) -> set[Point]:
        """The points that are reached from a point without reading."""
        near = {point}
        waiting = [point]
        while waiting:
            state, counts = waiting.pop()
            for target, action, scope in self._silent.get(state, ()):
                after = counts if action == PLAIN else self._scopes[scope].after(action, counts)
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


def _is_one_token(node: object) -> bool:
    """Whether a node is a terminal whose words are single tokens."""
    if not isinstance(node, TokenPiece):
        return False
    machine = node.tokens()
    ends = machine.table[:, machine.symbol_class[TOKEN_END]]
    return bool((machine.table[ends[ends != NO_ARC]] == NO_ARC).all())
