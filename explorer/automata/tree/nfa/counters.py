"""Counters: a bounded repeat that is counted instead of written out.

``x{0,4096}`` written out is 4,096 copies of x. Counted, it is one copy, entered with the count 1,
and two arcs at its end that read nothing: *again*, to the beginning of the copy with one more,
while the most is not reached, and *leave*, once the fewest are. The copies are still there, as
pairs of a state and a count, but nobody writes them down.

A counter's states are a run of the states of its NFA, its *scope*. Scopes nest as the repeats do,
and a state in nested scopes has one count for each. All of them are one number in mixed radix, the
innermost count in the lowest place: `ENTER` multiplies by the number of counts, `LEAVE` divides.

The NFA with counters has exactly the words of the one that is written out, whatever the repeated
part is: pairs of a state and a number are its states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from explorer.automata.tree.nodes import Deferred

PLAIN: Final = 0
"""An arc that reads nothing and counts nothing."""
ENTER: Final = 1
"""Into a scope, with the count 1."""
AGAIN: Final = 2
"""From the end of a copy to its beginning, with one more; only while that is allowed."""
LEAVE: Final = 3
"""Out of a scope; only with enough copies."""

COUNTED_FROM: Final = 9
"""Repeats of fewer copies than this are written out: a few copies are quicker than a counter."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The states of one counted repeat.

    Args:
        first, end: Its states are ``first .. end - 1``, those of scopes inside it included.
        parent: The scope around it; −1 if there is none.
        size: How many counts it tells apart: the most copies, or the fewest if there is no most.
        fewest: The fewest copies.
        endless: Whether there is no most.
    """

    first: int
    end: int
    parent: int
    size: int
    fewest: int
    endless: bool


def value_after(scope: Scope, action: int, value: int) -> int | None:
    """The counts after a move; ``None`` where it is not allowed.

    Args:
        scope: Whose counter it moves.
        action: `ENTER`, `AGAIN` or `LEAVE`.
        value: The counts of all scopes around, as one number.
    """
    if action == ENTER:
        return value * scope.size
    copies = value % scope.size + 1
    if action == LEAVE:
        return value // scope.size if copies >= scope.fewest else None
    if copies < scope.size:
        return value + 1
    return value if scope.endless else None


LatePart = tuple[int, int, Deferred]
"""A part that is laid out when a machine comes to it: the states before and after it, and it."""


@dataclass(slots=True)
class Counters:
    """The counters of an NFA while it is laid out, and the parts that are left for later.

    Args:
        scopes: The scopes, each after the one around it.
        moves: Rows ``(source, target, action, scope)`` beside the ε-arcs of the NFA.
        current: The scope that is being laid; −1 outside all.
        late: The parts that are left for later; ``None`` if every part is laid out now.
    """

    scopes: list[Scope] = field(default_factory=list[Scope])
    moves: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    current: int = -1
    late: list[LatePart] | None = None

    @property
    def noted(self) -> int:
        """How many scopes and late parts there are so far."""
        return len(self.scopes) + len(self.late or ())

    def open(self, first: int, minimum: int, maximum: int | None) -> int:
        """Begin a scope at a state; its number. `close` it once its last state is laid.

        Args:
            first: Its first state.
            minimum: The fewest copies.
            maximum: The most; ``None`` for no limit.
        """
        number = len(self.scopes)
        size = max(minimum, 1) if maximum is None else maximum
        self.scopes.append(Scope(first, first, self.current, size, minimum, maximum is None))
        self.current = number
        return number

    def close(self, number: int, end: int, between: tuple[int, int, int, int]) -> None:
        """End a scope, and count its copies.

        Args:
            number: From `open`.
            end: One more than its last state.
            between: The state before the repeat, those where a copy begins and ends, and the state
                after the repeat.
        """
        source, first, last, target = between
        self.moves += [
            (source, first, ENTER, number), (last, first, AGAIN, number),
            (last, target, LEAVE, number),
        ]  # fmt: skip
        scope = self.scopes[number]
        self.scopes[number] = Scope(
            scope.first, end, scope.parent, scope.size, scope.fewest, scope.endless
        )
        self.current = scope.parent
