"""Whether a text of a grammar can still be finished together with another machine.

The pairs of a stack and a state of another machine may be endlessly many, so a search for one that
finishes need not end. But the stack is only ever read at its top: all that matters about a rule is
in which states of the other machine its words may end. These *endings* are worked out once for each
state of the network and of the other machine (Bar-Hillel, Perles and Shamir 1961; as tabulated by
Reps, Horwitz and Sagiv 1995). A stack is then followed from its top to its bottom.

Exact for a grammar beside, or minus, a machine of finitely many states.

Cost: some microseconds for each state of a rule, and two states of the other machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from explorer.automata.machine import NO_ARC, ByteMachine, Stacks
from explorer.budget import Meter

STAGE: Final = "The search for what two constraints share"

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
