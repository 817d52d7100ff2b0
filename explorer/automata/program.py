"""The program, the intermediate representation of every source, as flat arrays.

It has *states*; *arcs*, which read a symbol of an interval; *moves*, which read nothing: plain ones
(ε-arcs) and those of counters; and *calls* of rules, which continue after the call when the rule
ends. A symbol is a byte (0–255) or, in some constructions, one of a few *marks* above 255. With
arcs over intervals ``.{0,4000}`` has thirty thousand arcs; over single bytes it would have two
million.

*Counters*: ``x{0,4096}`` written out is 4,096 copies of x. Counted, it is one copy, entered with
the count 1, and two moves at its end: *again*, to the beginning of the copy with one more, while
the most is not reached, and *leave*, once the fewest are. The copies are still there, as pairs of a
state and a count, but nobody writes them down; the program has exactly the words of the one that is
written out, whatever the repeated part is. A counter's states are a run of states, its *scope*.
Scopes nest as the repeats do, and a state in nested scopes has one count for each. All of them are
one number in mixed radix, the innermost count in the lowest place: `ENTER` multiplies by the number
of counts, `LEAVE` divides.

*Rules* lie side by side: the states of a rule follow its first one, and it ends in the second. What
stands around a grammar is a rule without a name. A pattern is a program of that one rule.

*Late parts* are laid out when a text first comes to them.

*Origins* say where arcs and calls were written, where somebody asks for that.

A program is a value; nothing changes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES

Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

PLAIN: Final = 0
"""A move that does not change a count."""
ENTER: Final = 1
"""The move into a scope, with the count 1."""
AGAIN: Final = 2
"""The move from the end of a copy to its beginning, with the count + 1, up to the most copies."""
LEAVE: Final = 3
"""The move out of a scope; it needs the fewest copies."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The states of one counted repeat.

    Args:
        first, end: Its states are ``first .. end - 1``, including those of nested scopes.
        parent: The scope around it; −1 if there is none.
        size: The number of counts: the most copies, or the fewest if there is no upper bound.
        endless: Whether there is no upper bound.
    """

    first: int
    end: int
    parent: int
    size: int
    fewest: int
    endless: bool

    def after(self, action: int, counts: int) -> int | None:
        """The packed counts of this scope and those around it after a move; ``None`` if the move is
        not allowed."""
        if action == ENTER:
            return counts * self.size
        copies = counts % self.size + 1
        if action == LEAVE:
            return counts // self.size if copies >= self.fewest else None
        if copies < self.size:
            return counts + 1
        return counts if self.endless else None


LatePart = tuple[int, int, Any]
"""The states before and after a part, and its node (`explorer.automata.tree.nodes.Deferred`)."""


_NO_MOVES: Final = np.empty((0, 4), np.int32)
_NO_CALLS: Final = np.empty((0, 3), np.int32)


class Program(Struct, frozen=True, eq=False):
    """States, arcs, moves and calls; a program without counters and calls is an NFA.

    Args:
        num_states: States are ``0 .. num_states - 1``.
        start: The start state.
        arcs: int32[arcs, 4], rows ``(source, low, high, target)``; reads any symbol in
            ``low .. high``, both included.
        epsilons: int32[epsilons, 2], rows ``(source, target)``: the plain moves.
        accepting: int32[n], the accepting states; with several rules, the end state of each.
        num_symbols: 256, or more where marks are in use.
        counts: int32[n, 4], rows ``(source, target, action, scope)``: the moves of counters.
        scopes: The counted repeats; an outer one comes before those inside it.
        calls: int32[n, 3], rows ``(source, rule, target)``.
        late: The parts that are left for later.
        rules: The name and the first state of each rule, if the program has calls.
        origins: The origins (`explorer.automata.tree.nodes.Origin`), in the order of the tree.
        arc_origin: int32[arcs], the index into ``origins`` for each arc, −1 for none; ``None`` if
            origins were not requested.
        call_origin: int32[calls], the same for each call.
        apart: The numbers of rules that are not laid into several callers.
    """

    num_states: int
    start: int
    arcs: Int32
    epsilons: Int32
    accepting: Int32
    num_symbols: int = NUM_BYTES
    counts: Int32 = field(default_factory=lambda: _NO_MOVES)
    scopes: tuple[Scope, ...] = ()
    calls: Int32 = field(default_factory=lambda: _NO_CALLS)
    late: tuple[LatePart, ...] = ()
    rules: tuple[tuple[str, int], ...] = ()
    origins: tuple[Any, ...] = ()
    arc_origin: Int32 | None = None
    call_origin: Int32 | None = None
    apart: frozenset[int] = frozenset()

    @property
    def rule_of(self) -> Int32:
        """int32[states], the rule of each state."""
        first = [state for _, state in self.rules]
        sizes = np.diff([*first, self.num_states])
        return np.repeat(np.arange(len(first), dtype=np.int32), sizes)
