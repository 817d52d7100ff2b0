"""Where in the source of a constraint one is: its position automaton, run over a text.

A deterministic machine has forgotten where its arcs came from. So the source is laid out once more
as an NFA whose every arc knows its origin: a literal, class or dot of a pattern with its span; a
character of one of the texts of a choice; or a whole part, for parts that have no positions (an
imported machine, or an intersection, difference or complement inside a sequence). The arcs that
leave the states which a text can lead to are the *live positions*.

States that cannot reach the end are taken out first, so that without assertions the bytes of the
live positions are exactly those expected. Assertions are read as if they held; the caller keeps
only positions that agree with the exact machine.

Cost: laying out as in `explorer.automata.regex.build`; then one table look-up per byte of text,
because the sets of states that occur are remembered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32, Nfa
from explorer.automata.operations import dfa_to_nfa
from explorer.automata.regex.build import build_nfa
from explorer.automata.source import (
    Choice,
    Complement,
    Concatenation,
    Difference,
    Imported,
    Intersection,
    Regex,
    Repetition,
    Source,
    Union,
)
from explorer.budget import Budget, Meter

LIMITS: Final = Budget(states=400_000, arcs=2_000_000, bytes=500_000_000, seconds=5.0)
"""For laying out a source; beyond them there are no positions, and the explanation says so."""


@dataclass(frozen=True, slots=True)
class Position:
    """One place of the source.

    Args:
        source: The part of the constraint's tree that holds it.
        start, end: Its span in the pattern of a regex; ``None`` elsewhere.
        text: As it was written: a piece of the pattern, or the texts of a choice that are alive.
    """

    source: Source
    start: int | None
    end: int | None
    text: str

    @property
    def span(self) -> tuple[int, int] | None:
        """``(start, end)`` in characters of the pattern."""
        return None if self.start is None or self.end is None else (self.start, self.end)


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """The texts of a choice in byte order, to find those that begin with something."""

    data: tuple[bytes, ...]

    def alive(self, written: bytes) -> str:
        low = high = bisect_left(self.data, written)
        while high < len(self.data) and self.data[high].startswith(written):
            high += 1
        shown = ", ".join(repr(data.decode()) for data in self.data[low : min(high, low + 4)])
        return shown + (f", … {high - low - 4:,} more" if high - low > 4 else "")


@dataclass(frozen=True, slots=True)
class _Origin:
    """What an arc came from; for a choice, its texts and how far into them."""

    source: Source
    start: int | None
    end: int | None
    written: bytes = b""
    texts: _Texts | None = None

    @property
    def key(self) -> Hashable:
        return (id(self.source), self.start, self.end, self.written)

    def position(self) -> Position:
        if self.texts is not None:
            return Position(self.source, None, None, self.texts.alive(self.written))
        if isinstance(self.source, Regex):
            text = self.source.pattern[self.start : self.end]
            return Position(self.source, self.start, self.end, text)
        return Position(self.source, None, None, str(self.source))


class PositionAutomaton:
    """A source as an NFA with origins, and the sets of states that texts lead to.

    Args:
        source: The tree.
        meter: Watches its size.

    Raises:
        BudgetExceeded: It would be too large.
    """

    def __init__(self, source: Source, meter: Meter) -> None:
        layout = _Layout(meter)
        start, end = layout.state(), layout.state()
        layout.lay(source, start, end)
        arcs, origin, epsilons = layout.joined()
        self._origins = layout.origins
        alive = _reaching(layout.num_states, arcs, epsilons, end)
        kept = alive[arcs[:, 3]] & alive[arcs[:, 0]]
        arcs, origin = arcs[kept], origin[kept]
        order = np.argsort(arcs[:, 0], kind="stable")
        self._arcs: Int32 = arcs[order]
        self._origin: Int32 = origin[order]
        first = np.searchsorted(self._arcs[:, 0], np.arange(layout.num_states + 1))
        self._first: list[int] = first.tolist()
        self._silent: dict[int, list[int]] = {}
        for tail, head in epsilons.tolist():
            if alive[head]:
                self._silent.setdefault(tail, []).append(head)
        self._end = end
        self._closures: dict[int, frozenset[int]] = {}
        self._sets: list[frozenset[int]] = []
        self._number: dict[frozenset[int], int] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._start = self._named(self._closed([start]) if alive[start] else frozenset())

    def live(self, text: bytes) -> int:
        """The number of the set of states that a text leads to; ask `positions` about it."""
        here = self._start
        for byte in text:
            following = self._next.get((here, byte))
            if following is None:
                following = self._next[here, byte] = self._step(here, byte)
            here = following
        return here

    def is_dead(self, live: int) -> bool:
        """Whether a set is empty: no text of the (relaxed) source begins so."""
        return not self._sets[live]

    def may_end(self, live: int) -> bool:
        """Whether the (relaxed) source may end here."""
        return self._end in self._sets[live]

    def positions(self, live: int, wanted: bytes | None = None) -> tuple[Position, ...]:
        """The places that come next, in the order of the source.

        Args:
            live: From `live`.
            wanted: Only those that read one of these bytes; ``None`` for all.
        """
        rows = self._rows(live)
        arcs = self._arcs[rows]
        if wanted is not None:
            hit = np.zeros(257, np.int64)
            hit[[byte + 1 for byte in wanted]] = 1
            counts = hit.cumsum()
            some = counts[np.minimum(arcs[:, 2], 255) + 1] - counts[arcs[:, 1]] > 0
            rows = rows[some]
        origins: list[int] = np.unique(self._origin[rows]).tolist()
        # The texts of a choice share their first letters, so some origins are one place.
        found = {self._origins[k].key: self._origins[k] for k in origins}
        return tuple(origin.position() for origin in found.values())

    def read_bytes(self, live: int) -> bytes:
        """The bytes that the live positions read, ascending."""
        found = np.zeros(256, np.bool_)
        for _, low, high, _ in self._arcs[self._rows(live)].tolist():
            found[low : high + 1] = True
        return bytes(np.flatnonzero(found).tolist())

    def _rows(self, live: int) -> NDArray[np.int64]:
        """The arcs that leave the states of a set."""
        rows = [k for s in self._sets[live] for k in range(self._first[s], self._first[s + 1])]
        return np.array(rows, np.int64)

    def _step(self, live: int, byte: int) -> int:
        arcs = self._arcs[self._rows(live)]
        hit = (arcs[:, 1] <= byte) & (arcs[:, 2] >= byte)
        return self._named(self._closed(np.unique(arcs[hit, 3]).tolist()))

    def _named(self, states: frozenset[int]) -> int:
        number = self._number.get(states)
        if number is None:
            number = self._number[states] = len(self._sets)
            self._sets.append(states)
        return number

    def _closed(self, states: list[int]) -> frozenset[int]:
        seen = set(states)
        waiting = list(states)
        while waiting:
            for target in self._silent.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return frozenset(seen)


class _Layout:
    """Thompson's construction over the tree of sources, with blocks of arcs."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.num_states = 0
        self.origins: list[_Origin] = []
        self.arcs: list[Int32] = []
        self.origin: list[Int32] = []
        self.silent: list[Int32] = []
        self._size = 0

    def state(self) -> int:
        self.num_states += 1
        return self.num_states - 1

    def joined(self) -> tuple[Int32, Int32, Int32]:
        none = np.empty(0, np.int32)
        return (
            np.concatenate([none.reshape(0, 4), *self.arcs]).astype(np.int32),
            np.concatenate([none, *self.origin]).astype(np.int32),
            np.concatenate([none.reshape(0, 2), *self.silent]).astype(np.int32),
        )

    def join(self, tail: int, head: int) -> None:
        self.silent.append(np.array([[tail, head]], np.int32))

    def place(self, nfa: Nfa, origin: Int32, source: int, target: int) -> None:
        """Put a machine between two states; ``origin`` counts from `origins`."""
        shift = self.num_states
        self.num_states += nfa.num_states
        self._size += len(nfa.arcs)
        self.meter.check("Laying out the source", states=self.num_states, arcs=self._size)
        self.arcs.append(nfa.arcs + np.array([shift, 0, 0, shift], np.int32))
        self.origin.append(origin)
        self.silent.append(nfa.epsilons + np.int32(shift))
        self.join(source, nfa.start + shift)
        ends = np.column_stack([nfa.accepting + shift, np.full(len(nfa.accepting), target)])
        self.silent.append(ends.astype(np.int32))

    def lay(self, node: Source, source: int, target: int) -> None:
        first = len(self.origins)
        match node:
            case Regex():
                built = build_nfa(node.tree, self.meter, with_origin=True, relax_assertions=True)
                # In the order of the pattern, so that positions come out in that order.
                order = sorted(range(len(built.leaves)), key=lambda k: built.leaves[k].start)
                rank = np.empty(len(order), np.int32)
                rank[order] = np.arange(len(order), dtype=np.int32)
                self.origins += [
                    _Origin(node, built.leaves[k].start, built.leaves[k].end) for k in order
                ]
                arc_node = built.arc_node
                where = rank[arc_node] if arc_node is not None and len(order) else np.empty(0)
                self.place(built.nfa, where.astype(np.int32) + np.int32(first), source, target)
            case Choice():
                self.choice(node, source, target)
            case Union():
                for part in node.parts:
                    self.lay(part, source, target)
            case Concatenation():
                for part in node.parts[:-1]:
                    between = self.state()
                    self.lay(part, source, between)
                    source = between
                self.lay(node.parts[-1], source, target)
            case Repetition():
                begin, end = self.state(), self.state()
                self.join(source, begin)
                self.join(end, target)
                if node.unbounded:
                    self.join(end, begin)
                if node.minimum == 0:
                    self.join(source, target)
                self.lay(node.part, begin, end)
            case Imported() | Intersection() | Difference() | Complement():
                self.origins.append(_Origin(node, None, None))
                nfa = dfa_to_nfa(node.build(self.meter))
                self.place(nfa, np.full(len(nfa.arcs), first, np.int32), source, target)

    def choice(self, node: Choice, source: int, target: int) -> None:
        """The prefix tree of the texts; every arc remembers what was written before it."""
        first = len(self.origins)
        texts = _Texts(tuple(sorted(text.encode() for text in node.texts)))
        number: dict[bytes, int] = {b"": 0}
        arcs: list[tuple[int, int, int, int]] = []
        accepting: set[int] = set()
        for data in texts.data:
            for k, byte in enumerate(data):
                longer = data[: k + 1]
                if longer not in number:
                    number[longer] = len(number)
                    arcs.append((number[data[:k]], byte, byte, number[longer]))
                    self.origins.append(_Origin(node, None, None, data[:k], texts))
            accepting.add(number[data])
        nfa = Nfa(
            len(number),
            0,
            np.array(arcs, np.int32).reshape(-1, 4),
            np.empty((0, 2), np.int32),
            np.array(sorted(accepting), np.int32),
        )
        self.place(nfa, first + np.arange(len(arcs), dtype=np.int32), source, target)


def _reaching(num_states: int, arcs: Int32, epsilons: Int32, end: int) -> Bool:
    """The states from which the end can be reached."""
    tail = np.concatenate([arcs[:, 0], epsilons[:, 0]])
    head = np.concatenate([arcs[:, 3], epsilons[:, 1]])
    order = np.argsort(head, kind="stable")
    tail = tail[order].tolist()
    first = np.searchsorted(head[order], np.arange(num_states + 1)).tolist()
    alive = np.zeros(num_states, np.bool_)
    alive[end] = True
    waiting = [end]
    while waiting:
        state = waiting.pop()
        for before in tail[first[state] : first[state + 1]]:
            if not alive[before]:
                alive[before] = True
                waiting.append(before)
    return alive


@lru_cache(maxsize=64)
def positions_of(source: Source) -> PositionAutomaton:
    """The position automaton of a source, kept for the last few asked about.

    Raises:
        BudgetExceeded: It is larger than `LIMITS`.

    Example:
        >>> automaton = positions_of(Regex("a[bc]*d"))
        >>> [p.text for p in automaton.positions(automaton.live(b"ab"))]
        ['[bc]', 'd']
    """
    return PositionAutomaton(source, Meter(LIMITS))
