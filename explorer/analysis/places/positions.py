"""Where in the source of a constraint one is: its position automaton, run over a text.

A deterministic machine has forgotten where its arcs came from. So the tree of the source is laid
out once more as an NFA whose every arc knows its origin: a literal, class or dot with its span in
the text of the source that it was written in; a character of one of the texts of a choice; or a
whole part, for parts that are machines of their own (an imported machine, or an intersection,
difference or complement inside a sequence). The arcs that leave the states which a text can lead to
are the *live places*.

States that cannot reach the end are taken out first, so that without assertions the bytes of the
live places are exactly those expected. Assertions are read as if they held; the caller keeps only
places that agree with the exact machine.

Cost: laying out as in `explorer.automata.tree.layout`; then one table look-up per byte of text,
because the sets of states that occur are remembered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import TOKEN_END, in_quotes
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.tree.build import build
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Node, Source, Texts, TokenPiece
from explorer.automata.tree.origin import Origin
from explorer.automata.tree.repeats import PLAIN, Counters, value_after
from explorer.budget import Budget, Meter
from explorer.numbering import number_of

LIMITS: Final = Budget(states=400_000, arcs=2_000_000, bytes=500_000_000, seconds=5.0)
"""Limits for laying out a source; a larger source has no places, and the explanation says so."""

MOST_TEXTS: Final = 4
"""The most texts of a choice that are named."""


Move = tuple[int, int, int]
"""An arc that reads nothing: its target, what it does to a counter, and the counter's scope."""

_Set = frozenset[tuple[int, int]]
"""States of the NFA, each with the counts of the scopes it is in, as one number."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """One place of a source.

    Args:
        source: The source that it was written in.
        start, end: Its span in the text of that source; ``None`` if it is not written there.
        text: As it was written: a piece of that text, or the texts of a choice that are alive.
        label: What the place is called beside its span, such as ``/properties/age``; may be empty.
    """

    source: Source
    start: int | None
    end: int | None
    text: str
    label: str = ""

    @property
    def span(self) -> tuple[int, int] | None:
        """``(start, end)`` in characters of the source's text."""
        return None if self.start is None or self.end is None else (self.start, self.end)


class PositionAutomaton:
    """A tree as an NFA with origins, and the sets of states that texts lead to.

    Args:
        source: What the tree was written in, where nothing in the tree says so.
        meter: Watches its size.
        node: The tree; default that of the source.
        machine: Builds the parts that are machines of their own; default anew.

    Raises:
        BudgetExceeded: It would be too large.
    """

    def __init__(
        self,
        source: Source,
        meter: Meter,
        node: Node | None = None,
        machine: Callable[[Node], Dfa] | None = None,
    ) -> None:
        counters = Counters()
        built = lay_out(
            source.tree if node is None else node,
            meter,
            machine=machine or (lambda inner: build(inner, meter)),
            with_origin=True,
            relax_assertions=True,
            counters=counters,
        )
        self._source = source
        self._origins = built.origins
        self._texts: dict[int, tuple[bytes, ...]] = {}
        num_states, arcs, epsilons = built.nfa.num_states, built.nfa.arcs, built.nfa.epsilons
        origin = np.empty(0, np.int32) if built.arc_origin is None else built.arc_origin
        start, end = built.nfa.start, int(built.nfa.accepting[0])
        moves = np.array(counters.moves, np.int32).reshape(-1, 4)
        alive = _reaching(num_states, arcs, np.concatenate([epsilons, moves[:, :2]]), end)
        kept = alive[arcs[:, 3]] & alive[arcs[:, 0]]
        arcs, origin = arcs[kept], origin[kept]
        order = np.argsort(arcs[:, 0], kind="stable")
        self._arcs: Int32 = arcs[order]
        self._origin: Int32 = origin[order]
        first = np.searchsorted(self._arcs[:, 0], np.arange(num_states + 1))
        self._first: list[int] = first.tolist()
        self._silent: dict[int, list[Move]] = {}
        plain = [(tail, head, PLAIN, -1) for tail, head in epsilons.tolist()]
        for tail, head, action, scope in [*plain, *counters.moves]:
            if alive[head]:
                self._silent.setdefault(tail, []).append((head, action, scope))
        self._inside = self._inside_one_token()
        self._scopes = tuple(counters.scopes)
        self._end = end
        self._sets: list[_Set] = []
        self._number: dict[_Set, int] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._start = self._named(self._closed({(start, 0)}) if alive[start] else frozenset())

    def _inside_one_token(self) -> frozenset[int]:
        """The states in which part of a token was read that is a terminal by itself."""
        pieces = [k for k, each in enumerate(self._origins) if _is_one_token(each.node)]
        if not pieces:
            return frozenset()
        arcs = self._arcs[np.isin(self._origin, pieces)]
        return frozenset(arcs[:, 0].tolist()) & frozenset(arcs[:, 3].tolist())

    def live(self, text: bytes, boundary: int | None = None) -> int:
        """The number of the set of states that a text leads to; ask `positions` about it.

        Args:
            text: What was read.
            boundary: Where in it a token begins; ``None`` if that is not known.
        """
        here = self._start
        for offset, byte in enumerate(text):
            if offset == boundary:
                here = self._cut(here)
            following = self._next.get((here, byte))
            if following is None:
                following = self._next[here, byte] = self._step(here, byte)
            here = following
        return self._cut(here) if len(text) == boundary else here

    def _cut(self, live: int) -> int:
        """The states of a set in which a token may begin."""
        if not self._inside:
            return live
        states = self._sets[live]
        return self._named(frozenset(each for each in states if each[0] not in self._inside))

    def is_dead(self, live: int) -> bool:
        """Whether a set is empty: no text of the (relaxed) source begins so."""
        return not self._sets[live]

    def may_end(self, live: int) -> bool:
        """Whether the (relaxed) source may end here."""
        return (self._end, 0) in self._sets[live]

    def positions(self, live: int, wanted: bytes | None = None) -> tuple[SourcePlace, ...]:
        """The places that come next, in the order of the tree.

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
        found = {_key(self._origins[k]): self._origins[k] for k in origins}
        return tuple(map(self._place, found.values()))

    def _place(self, origin: Origin) -> SourcePlace:
        source = origin.source or self._source
        if isinstance(origin.node, Texts):
            return SourcePlace(
                source, None, None, self._alive(origin.node, origin.before), origin.label
            )
        start, end = origin.start, origin.end
        if start == end:
            return SourcePlace(source, None, None, str(source), origin.label)
        return SourcePlace(source, start, end, source.text[start:end], origin.label)

    def _alive(self, node: Texts, before: bytes) -> str:
        """The texts of a choice that begin so, in byte order."""
        data = self._texts.get(id(node))
        if data is None:
            data = self._texts[id(node)] = tuple(sorted(text.encode() for text in node.texts))
        low = high = bisect_left(data, before)
        while high < len(data) and data[high].startswith(before):
            high += 1
        shown = ", ".join(
            in_quotes(text.decode()) for text in data[low : min(high, low + MOST_TEXTS)]
        )
        more = high - low - MOST_TEXTS
        return shown + (f", … {more:,} more" if more > 0 else "")

    def read_bytes(self, live: int) -> bytes:
        """The bytes that the live positions read, ascending."""
        found = np.zeros(256, np.bool_)
        for _, low, high, _ in self._arcs[self._rows(live)].tolist():
            found[low : high + 1] = True
        return bytes(np.flatnonzero(found).tolist())

    def _rows(self, live: int) -> NDArray[np.int64]:
        """The arcs that leave the states of a set."""
        states = {state for state, _ in self._sets[live]}
        rows = [k for s in sorted(states) for k in range(self._first[s], self._first[s + 1])]
        return np.array(rows, np.int64)

    def _step(self, live: int, byte: int) -> int:
        arcs = self._arcs[self._rows(live)]
        hit = (arcs[:, 1] <= byte) & (arcs[:, 2] >= byte)
        targets: dict[int, list[int]] = {}
        for source, target in arcs[hit][:, [0, 3]].tolist():
            targets.setdefault(source, []).append(target)
        reached = {(t, value) for s, value in self._sets[live] for t in targets.get(s, ())}
        return self._named(self._closed(reached))

    def _named(self, states: _Set) -> int:
        return number_of(states, self._sets, self._number)

    def _closed(self, configurations: set[tuple[int, int]]) -> _Set:
        seen = set(configurations)
        waiting = list(configurations)
        while waiting:
            state, value = waiting.pop()
            for target, action, scope in self._silent.get(state, ()):
                after = (
                    value if action == PLAIN else value_after(self._scopes[scope], action, value)
                )
                if after is not None and (target, after) not in seen:
                    seen.add((target, after))
                    waiting.append((target, after))
        return frozenset(seen)


def _is_one_token(node: object) -> bool:
    """Whether a node is a terminal whose words are single tokens."""
    if not isinstance(node, TokenPiece):
        return False
    machine = node.tokens()
    ends = machine.table[:, machine.symbol_class[TOKEN_END]]
    return bool((machine.table[ends[ends != NO_ARC]] == NO_ARC).all())


def _key(origin: Origin) -> Hashable:
    """A key that is equal for origins of the same place."""
    whole = origin.start == origin.end
    node = id(origin.node) if whole else 0
    return id(origin.source), node, origin.start, origin.end, origin.before, origin.label


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
        >>> from explorer.languages.regex.source import Regex
        >>> automaton = positions_of(Regex("a[bc]*d"))
        >>> [place.text for place in automaton.positions(automaton.live(b"ab"))]
        ['[bc]', 'd']
    """
    return PositionAutomaton(source, Meter(LIMITS))
