"""Intersection and difference of two machines, discovered as pairs of their states.

A state is a pair of states, one of each machine, numbered when it is first met. The left machine
always has a state; in a difference the right one may have stopped.

Every state of a byte machine can finish, but whether a pair can does not follow from its halves:
this is searched depth first before a pair is returned. The search ends at the first pair that is
known to finish; then every pair on the path to it can finish too. If the search finds no such pair,
no pair that it visited can finish. In a difference, a pair whose right half has stopped can finish,
because its left half can. The budget limits the search, as a stage of its own.

The search of a grammar's pairs need not end, because its stack can grow without one that finishes.
After `MOST_SEARCHED` pairs the stack is read from its top to its bottom instead (`Endings`). This
decides if the other machine has finitely many states and, in a difference, the grammar is the left
half. So a combination is regrouped before it is paired: what needs no stack is put into one half. A
pattern minus a grammar, and two halves with stacks, are searched until the budget ends.

The stack is only ever read at its top: all that matters about a rule is in which states of the
other machine its words may end. These *endings* are worked out once for each state of the network
and of the other machine (Bar-Hillel, Perles and Shamir 1961; as tabulated by Reps, Horwitz and
Sagiv 1995). A stack is then followed from its top to its bottom.

Cost: some tens of microseconds per pair, in Python; for the endings some microseconds for each
state of a rule, and two states of the other machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from typing import Any, Final, Literal

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.discovered.discovered import Discovered, apart
from explorer.automata.discovered.whole_rows import WholeRows, joint_classes
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Dfa, Stacks
from explorer.automata.tree.nodes import Intersect, Machine, Node, Rules, Subtract, inside, walk
from explorer.budget import Budget, Meter

MOST_SEARCHED: Final = 1_000
"""The most pairs that are searched before the stack of a grammar is read as a whole."""

STAGE: Final = "The search for what two constraints share"

Operation = Literal["both", "left only"]
"""Words of both machines, or of the left one that are not words of the right one."""


Place = tuple[int, int]
"""A state of the network, and a state of the other machine; `NO_ARC` where that has stopped."""


class Endings:
    """The endings of the rules of a grammar, found as they are asked for.

    Args:
        stacks: The stacks of the grammar's machine.
        other: The other machine.
        symbols: A byte of each class that either machine tells apart.
        apart: Whether words of the grammar are wanted that are not words of the other machine.
    """

    def __init__(
        self, stacks: Stacks, other: ByteMachine, symbols: list[int], *, apart: bool
    ) -> None:
        self._stacks = stacks
        self._network = stacks.network
        self._other = other
        self._apart = apart
        classes = self._network.symbol_class.tolist()
        self._symbols = [(byte, classes[byte]) for byte in symbols]
        self._forget()

    def _forget(self) -> None:
        self._ends: dict[Place, dict[int, None]] = {}
        self._reached: dict[Place, set[Place]] = {}
        self._callers: dict[Place, list[tuple[Place, int]]] = {}
        self._waiting: list[tuple[Place, Place]] = []

    def can_finish(self, state: int, other: int, meter: Meter) -> bool:
        """Whether some text leads both machines from these states to where a wanted word ends.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        waiting = [(here, node, other) for here, node in self._stacks.heads(state)]
        seen = set(waiting)
        for here, node, beside in waiting:  # The list grows while it is read.
            returns = self._stacks.returns(node) or ((NO_ARC, node),)
            for end in self._ends_from((here, beside), meter):
                for after, below in returns:
                    if after == NO_ARC:
                        if self._is_wanted(end):
                            return True
                    elif (after, below, end) not in seen:
                        seen.add((after, below, end))
                        waiting.append((after, below, end))
        return False

    def _is_wanted(self, other: int) -> bool:
        """Whether a text of the grammar that leads the other machine to a state is wanted."""
        return self._apart != (other != NO_ARC and self._other.is_accepting(other))

    def _ends_from(self, begin: Place, meter: Meter) -> dict[int, None]:
        """The states of the other machine in which the rule of a place may end."""
        if begin not in self._ends:
            try:
                self._begin(begin)
                while self._waiting:
                    meter.check_time(STAGE)
                    self._follow(*self._waiting.pop())
                held = sum(map(len, self._reached.values()))
                meter.check(STAGE, states=len(self._ends), bytes=200 * held)
            except BaseException:  # What is half worked out would answer wrongly.
                self._forget()
                raise
        return self._ends[begin]

    def _begin(self, begin: Place) -> None:
        self._ends[begin], self._callers[begin], self._reached[begin] = {}, [], set()
        self._reach(begin, begin)

    def _reach(self, begin: Place, place: Place) -> None:
        if place not in self._reached[begin]:
            self._reached[begin].add(place)
            self._waiting.append((begin, place))

    def _follow(self, begin: Place, place: Place) -> None:
        """Follow what leaves a place, which some text reaches from another within one rule."""
        state, other = place
        if other == NO_ARC:  # Every rule can be ended, and nothing is asked of the other machine.
            self._end(begin, NO_ARC)
            return
        if self._network.exits[state]:
            self._end(begin, other)
        for target in self._moves(state, other):
            self._reach(begin, target)
        for rule, after in self._network.calls[state]:
            called = self._network.entry[rule], other
            if called not in self._ends:
                self._begin(called)
            self._callers[called].append((begin, after))
            for end in self._ends[called]:
                self._reach(begin, (after, end))

    def _end(self, begin: Place, other: int) -> None:
        if other not in self._ends[begin]:
            self._ends[begin][other] = None
            for caller, after in self._callers[begin]:
                self._reach(caller, (after, other))

    def _moves(self, state: int, other: int) -> Iterator[Place]:
        arcs = self._network.arcs(state)
        for byte, symbol in self._symbols:
            target = arcs.get(symbol)
            if target is not None:
                beside = self._other.step(other, byte)
                if beside != NO_ARC or self._apart:
                    yield target, beside


class Paired(WholeRows[tuple[int, int]]):
    """The kind of a machine over two others. Make one with `paired`.

    Args:
        left, right: The machines.
        pairs: The pairs that were met before.
    """

    stage = STAGE

    def __init__(
        self,
        left: ByteMachine,
        right: ByteMachine,
        operation: Operation,
        pairs: tuple[tuple[int, int], ...] = (),
    ) -> None:
        joint, self._lowest = joint_classes([left, right])
        super().__init__(joint, len(self._lowest), [*pairs] or [(left.start, right.start)])
        self._left, self._right = left, right
        self._operation: Operation = operation
        self._rows: dict[int, list[int]] = {}  # Including pairs that cannot finish.
        self._finishes: dict[int, bool] = {}
        self._is_deep = False  # Whether a search was given up.

    def can_start(self, meter: Meter) -> bool:
        """Whether there are words, found by a search."""
        return self._can_finish(0, meter)

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._left.read

    def accepting(self, state: int) -> bool:
        """Whether the text may end."""
        left, right = self._met[state]
        wanted = self._operation == "both"
        return self._left.is_accepting(left) and self._right.is_accepting(right) == wanted

    def row(self, state: int, meter: Meter) -> list[int]:
        """The pairs after each class of bytes; `NO_ARC` for those that cannot finish."""
        return [
            target if target != NO_ARC and self._can_finish(target, meter) else NO_ARC
            for target in self._row(state, meter)
        ]

    def _row(self, state: int, meter: Meter) -> list[int]:
        """The pairs after each class of bytes, including those that cannot finish."""
        known = self._rows.get(state)
        if known is not None:
            return known
        left, right = self._met[state]
        row: list[int] = []
        for byte in self._lowest:
            one, other = self._left.step(left, byte), self._right.step(right, byte)
            if one == NO_ARC or (other == NO_ARC and self._operation == "both"):
                row.append(NO_ARC)
                continue
            row.append(self.number((one, other)))
        self._rows[state] = row
        count = self.num_states
        meter.check(STAGE, states=count, arcs=len(self._rows) * len(row), bytes=256 * count)
        return row

    def _can_finish(self, state: int, meter: Meter) -> bool:
        known = self._decided(state)
        if known is None and self._is_deep:
            known = self._read_whole(state, meter)
        if known is not None:
            return known
        # Depth first, because the path to the end of a long repeat is long and narrow.
        came_from: dict[int, list[int]] = {state: []}
        stack = [state]
        while stack:
            if len(came_from) > MOST_SEARCHED and not self._is_deep:
                known = self._read_whole(state, meter)
                if known is not None:
                    self._is_deep = True
                    return known
            here = stack.pop()
            for target in dict.fromkeys(self._row(here, meter)):
                decided = False if target == NO_ARC else self._decided(target)
                if decided is False:
                    continue
                if target not in came_from:
                    came_from[target] = []
                    stack.append(target)
                came_from[target].append(here)
                if decided:
                    self._remember(target, came_from)
                    return True
        self._finishes.update(dict.fromkeys(came_from, False))
        return False

    def _read_whole(self, state: int, meter: Meter) -> bool | None:
        """Whether a pair can finish, read from the stack of one half; ``None`` without a stack, or
        with two.
        """
        known = self._endings
        if known is None:
            return None
        endings, swapped = known
        left, right = self._met[state]
        finishes = endings.can_finish(*((right, left) if swapped else (left, right)), meter)
        self._finishes[state] = finishes
        return finishes

    @cached_property
    def _endings(self) -> tuple[Endings, bool] | None:
        """The endings of the half that has a stack, and whether that is the right one."""
        left, right = self._left.stacks, self._right.stacks
        apart = self._operation == "left only"
        if left is not None and right is None:
            return Endings(left, self._right, self._lowest, apart=apart), False
        if right is not None and left is None and not apart:
            return Endings(right, self._left, self._lowest, apart=False), True
        return None

    def _remember(self, end: int, came_from: dict[int, list[int]]) -> None:
        """Note that all pairs on the paths to a pair that can finish can finish too."""
        waiting = [end]
        while waiting:
            here = waiting.pop()
            if self._finishes.get(here) is not True:
                self._finishes[here] = True
                waiting += came_from.get(here, ())

    def _decided(self, state: int) -> bool | None:
        known = self._finishes.get(state)
        if known is not None:
            return known
        left, right = self._met[state]
        if left == NO_ARC or (right == NO_ARC and self._operation == "both"):
            return False
        if right == NO_ARC or self.accepting(state):
            return True
        return None

    def least(self, state: int, meter: Meter) -> int | None:
        """The larger number of both halves, or of the left one in a difference."""
        left, right = self._met[state]
        halves = [self._left.least(left)]
        if self._operation == "both" or right != NO_ARC:
            halves.append(self._right.least(right))
        known = [each for each in halves if each is not None]
        if self._operation == "left only":
            return None if not known else halves[0] or 0
        return max(known, default=None)

    def wider(self, state: int) -> tuple[ByteMachine, int] | None:
        """That of a half: of the left one, or else, in an intersection, of the right one."""
        left, right = self._met[state]
        wider = self._left.wider(left)
        if wider is None and self._operation == "both":
            return self._right.wider(right)
        return wider

    def apart(self, meter: Meter) -> Paired:
        """A copy over copies of both machines."""
        halves = apart(self._left, meter), apart(self._right, meter)
        copy = Paired(*halves, self._operation, tuple(self._met))
        copy.table, copy._rows = self.table.copy(), dict(self._rows)
        copy._finishes, copy._is_deep = dict(self._finishes), self._is_deep
        return copy

    def sent(self) -> tuple[Callable[..., Paired], tuple[Any, ...]]:
        """The machines, and the pairs that were met."""
        return Paired, (self._left, self._right, self._operation, tuple(self._met))


def paired(
    left: ByteMachine, right: ByteMachine, operation: Operation, budget: Budget
) -> ByteMachine:
    """The machine of the words of both machines, or of the left one only.

    Args:
        left, right: The machines.
        operation: ``"both"`` or ``"left only"``.
        budget: Limits on the machine while it is used.

    Example:
        >>> from explorer import Budget, regex
        >>> short = regex("[ab]{0,3}").dfa
        >>> machine = paired(short, regex("a*").dfa, "left only", Budget())
        >>> machine.is_accepting(machine.step(machine.start, ord("a")))
        False
    """
    if left.start == NO_ARC or (right.start == NO_ARC and operation == "left only"):
        return left
    return Discovered(Paired(left, right, operation), budget)


def regrouped(
    node: Intersect | Subtract, small: Callable[[Node], Dfa | None]
) -> tuple[Node, Node, Operation]:
    """The two halves of a combination; if one operand needs a stack, it is the left half alone.

    That stack is then read as a whole beside a machine of finitely many states: ``(g & a) - b`` is
    paired as ``g & (a - b)``, and ``(g - a) - b`` as ``g`` and any text but those of ``a`` and
    ``b``.

    Args:
        small: The closed machine of a part with rules, unless they recurse or it is large.
    """
    grammar, wanted, unwanted = _operands(node, small)
    if not wanted and not unwanted:
        return node.left, node.right, "both" if isinstance(node, Intersect) else "left only"
    if not wanted and len(unwanted) == 1:
        return grammar, unwanted[0], "left only"
    every = wanted or (Machine(0, 0, _EVERY),)
    rest = reduce(lambda left, right: Intersect(0, 0, left, right), every)
    rest = reduce(lambda left, right: Subtract(0, 0, left, right), unwanted, rest)
    return grammar, rest, "both"


_EVERY: Final = Dfa(
    np.zeros(NUM_BYTES, np.int32), np.zeros((1, 1), np.int32), np.ones(1, np.bool_), 0
)
"""Every sequence of bytes; unlike `any_text` with those of control tokens."""

_Operands = tuple[Node, tuple[Node, ...], tuple[Node, ...]]
"""A part with rules, the parts that it is intersected with, and those subtracted from it."""


def _operands(node: Node, small: Callable[[Node], Dfa | None]) -> _Operands:
    """The operands of a combination, itself alone if it is not of one part with rules."""
    core = inside(node)
    if not isinstance(core, Intersect | Subtract):
        return node, (), ()
    sides = [(core.left, core.right), (core.right, core.left)][: 1 + isinstance(core, Intersect)]
    sides = [(of, other) for of, other in sides if _holds_rules(of)]
    for of, other in sides:
        if _holds_rules(other):
            closed = small(other)
            if closed is None:
                continue
            other = Machine(0, 0, closed)
        grammar, wanted, unwanted = _operands(of, small)
        if isinstance(core, Intersect):
            return grammar, (*wanted, other), unwanted
        return grammar, wanted, (*unwanted, other)
    return node, (), ()


def _holds_rules(node: Node) -> bool:
    return any(isinstance(each, Rules) for each in walk(node))
