"""Repeats of a piece: multiplied out, copied as arrays, or counted.

*Flattened*: ``(x{a,b}){c,d}`` is ``x{ac,bd}`` where the counts leave no gap. So 500 copies of 500
copies are laid out as 250,000 copies of one short body, whose size is compared with the budget
before any of them is made.

*Copies* are the arcs of a body that was laid once, between states of their own: one operation on
arrays, however many there are.

*Counters*: ``x{0,4096}`` written out is 4,096 copies of x. Counted, it is one copy, entered with
the count 1, and two arcs at its end that read nothing: *again*, to the beginning of the copy with
one more, while the most is not reached, and *leave*, once the fewest are. The copies are still
there, as pairs of a state and a count, but nobody writes them down.

A counter's states are a run of the states of its NFA, its *scope*. Scopes nest as the repeats do,
and a state in nested scopes has one count for each. All of them are one number in mixed radix, the
innermost count in the lowest place: `ENTER` multiplies by the number of counts, `LEAVE` divides.

The NFA with counters has exactly the words of the one that is written out, whatever the repeated
part is: pairs of a state and a number are its states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32
from explorer.automata.tree.nodes import Deferred, Group, Node, Repeat
from explorer.automata.tree.utf8 import Arc


def flattened(node: Repeat) -> tuple[Node, int, int | None]:
    """Body, fewest and most repetitions, with directly nested repeats multiplied where exact.

    ``(x{a,b}){c,d}`` reads ``k·a`` to ``k·b`` copies for some ``k`` in ``c .. d``. Those intervals
    leave no gap if the first two touch, because the later ones overlap more.

    Example:
        >>> from explorer.languages.regex import parse
        >>> flattened(parse("(x{1,500}){1,500}").root)[1:]
        (1, 250000)
        >>> flattened(parse("(x{2}){0,3}").root)[1:]  # Only 0, 2, 4 and 6: left as it is.
        (0, 3)
    """
    body, low, high = node.body, node.minimum, node.maximum
    while True:
        inner = body
        while isinstance(inner, Group):
            inner = inner.body
        if not isinstance(inner, Repeat):
            return body, low, high
        a, b = inner.minimum, inner.maximum
        if high == 0:
            return inner.body, 0, 0
        # From low to low + 1 repetitions there must be no gap; a single count has none.
        endless_from_first = b is None and low > 0
        touching = low * (b or 0) + 1 >= (low + 1) * a
        if not (low == high or endless_from_first or touching):
            return body, low, high
        endless = b != 0 if high is None else b is None
        body, low, high = inner.body, low * a, None if endless else (high or 0) * (b or 0)


@dataclass(frozen=True, slots=True)
class Copies:
    """The states of copies of a body.

    Args:
        states: The first state inside of it; those inside follow each other.
        ends: int64[copies], where each copy ends; the states inside of it follow.
    """

    source: int
    first_end: int
    states: int
    ends: NDArray[np.int64]

    @property
    def chain(self) -> NDArray[np.int64]:
        """int64[copies + 2], where the body begins, and where it and each copy ends."""
        return np.concatenate([[self.source, self.first_end], self.ends])

    def rows(self, arcs: Int32) -> Int32:
        """The arcs of all copies, by the arcs of the body: int32[copies × arcs, 4]."""
        rows = np.empty((len(self.ends), len(arcs), 4), np.int32)
        rows[:, :, 0] = self._renamed(arcs[:, 0])
        rows[:, :, 1:3] = arcs[None, :, 1:3]
        rows[:, :, 3] = self._renamed(arcs[:, 3])
        return rows.reshape(-1, 4)

    def pairs(self, epsilons: Int32) -> Int32:
        """The ε-arcs of all copies, by those of the body: int32[copies × ε-arcs, 2]."""
        named = [self._renamed(epsilons[:, column]) for column in (0, 1)]
        return np.stack(named, axis=2).reshape(-1, 2).astype(np.int32)

    def _renamed(self, old: Int32) -> NDArray[np.int64]:
        wide = old.astype(np.int64)[None, :]
        new = wide + (self.ends + 1 - self.states)[:, None]
        new = np.where(wide == self.source, self.chain[1:-1, None], new)
        return np.where(wide == self.first_end, self.ends[:, None], new)


def joined(rows: list[tuple[int, ...]] | list[Arc], blocks: list[Int32], width: int) -> Int32:
    """Rows of a list and of arrays, as one array."""
    # Numbers one by one: numpy would first look into every row for its length and type.
    numbers = np.fromiter(chain.from_iterable(rows), np.int32, width * len(rows))
    first = numbers.reshape(-1, width)
    return np.concatenate([first, *blocks]) if blocks else first


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
        """The number of scopes and late parts there are so far."""
        return len(self.scopes) + len(self.late or ())

    def open(self, first: int, minimum: int, maximum: int | None) -> int:
        """Begin a scope at a state; its number. `close` it once its last state is laid.

        Args:
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
