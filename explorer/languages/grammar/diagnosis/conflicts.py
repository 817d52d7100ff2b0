"""A grammar whose texts lead to several stacks: a shortest such text, and what to rewrite.

A conflict is a state of the network that has two moves over one class of bytes
(`explorer.automata.rules.moves`). The shortest text that comes to it is put together from
the shortest words of rules and the shortest ways through them (Dijkstra, rule by rule); where one
of the moves is to end the rule, also from a shortest chain of callers after which the byte may
follow.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.automata.machine import Network
from explorer.automata.rules.moves import Conflict, Move, begins_with
from explorer.budget import Meter

STAGE: Final = "The search for an ambiguous text"

MOST_LOOKED_AT: Final = 500
"""The most conflicts that are looked at for the shortest text."""


@dataclass(frozen=True, slots=True)
class AmbiguousText:
    """A text that leads to two stacks.

    Args:
        prefix: What was read.
        byte: The byte that may be read in two ways.
        rule: The rule in which it is so.
        kind: ``"left recursion"``, ``"end or go on"`` or ``"begin alike"``.
        others: The rules that the moves call, in their order.
    """

    prefix: bytes
    byte: int
    rule: str
    moves: tuple[Move, ...]
    kind: str
    others: tuple[str, ...]


class Shortest:
    """Shortest words and ways of a network."""

    def __init__(self, network: Network, meter: Meter) -> None:
        self._network = network
        self._meter = meter
        classes: list[int] = network.symbol_class.tolist()
        self.byte = [classes.index(c) for c in range(network.num_classes)]
        printable = [b for b in (*range(97, 123), *range(33, 127)) if b < 127]
        for b in reversed(printable):
            self.byte[classes[b]] = b
        self.word = self._words()
        self.within = self._ways()
        self.callers: list[list[tuple[int, int]]] = [[] for _ in network.entry]
        for state, pairs in enumerate(network.calls):
            for rule, after in pairs:
                self.callers[rule].append((state, after))
        self.enter = self._entries()

    def _words(self) -> list[bytes]:
        """A shortest word of each rule (Knuth 1977)."""
        network = self._network
        back: list[list[tuple[int, bytes]]] = [[] for _ in network.calls]
        waiting: list[list[tuple[int, int]]] = [[] for _ in network.entry]
        for state, pairs in enumerate(network.calls):
            for symbol, target in network.arcs(state).items():
                back[target].append((state, bytes([self.byte[symbol]])))
            for rule, after in pairs:
                waiting[rule].append((state, after))
        entry_of = {state: rule for rule, state in enumerate(network.entry)}
        word: list[bytes | None] = [None] * len(network.entry)
        rest: list[bytes | None] = [None] * len(network.calls)
        queue = [(0, b"", state) for state, ends in enumerate(network.exits) if ends]
        heapq.heapify(queue)
        calls_of: list[list[tuple[int, int]]] = [[] for _ in network.calls]
        for state, pairs in enumerate(network.calls):
            for rule, after in pairs:
                calls_of[after].append((state, rule))
        while queue:
            _, text, state = heapq.heappop(queue)
            if rest[state] is not None:
                continue
            self._meter.check_time(STAGE)
            rest[state] = text
            before = [(source, read + text) for source, read in back[state]]
            for source, rule in calls_of[state]:
                inner = word[rule]
                if inner is not None:
                    before.append((source, inner + text))
            begun = entry_of.get(state)
            if begun is not None and word[begun] is None:
                word[begun] = text
                for source, after in waiting[begun]:
                    tail = rest[after]
                    if tail is not None:
                        before.append((source, text + tail))
            for source, longer in before:
                if rest[source] is None:
                    heapq.heappush(queue, (len(longer), longer, source))
        return [each or b"" for each in word]

    def _ways(self) -> list[bytes]:
        """A shortest text from the start of its rule to each state."""
        network = self._network
        within: list[bytes | None] = [None] * len(network.calls)
        queue = [(0, b"", state) for state in network.entry]
        heapq.heapify(queue)
        while queue:
            _, text, state = heapq.heappop(queue)
            if within[state] is not None:
                continue
            within[state] = text
            for symbol, target in network.arcs(state).items():
                longer = text + bytes([self.byte[symbol]])
                heapq.heappush(queue, (len(longer), longer, target))
            for rule, after in network.calls[state]:
                longer = text + self.word[rule]
                heapq.heappush(queue, (len(longer), longer, after))
        return [each or b"" for each in within]

    def _entries(self) -> list[bytes]:
        """A shortest text after which each rule may begin."""
        network = self._network
        states: list[list[int]] = [[] for _ in network.entry]
        for state, rule in enumerate(network.rule):
            states[rule].append(state)
        enter: list[bytes | None] = [None] * len(network.entry)
        queue = [(0, b"", 0)]
        while queue:
            _, text, rule = heapq.heappop(queue)
            if enter[rule] is not None:
                continue
            enter[rule] = text
            for state in states[rule]:
                for callee, _ in network.calls[state]:
                    if enter[callee] is None:
                        longer = text + self.within[state]
                        heapq.heappush(queue, (len(longer), longer, callee))
        return [each or b"" for each in enter]

    def to(self, state: int, symbol: int, ends: bool) -> bytes:
        """A shortest text that comes to a state, so that a class may follow if its rule ends."""
        network, looks = self._network, self._network.arrays
        queue = [(len(self.within[state]), self.within[state], network.rule[state])]
        if not ends:
            return self.enter[network.rule[state]] + self.within[state]
        best: bytes | None = None
        seen: set[int] = set()
        while queue:
            _, text, rule = heapq.heappop(queue)
            if rule in seen or (best is not None and len(text) >= len(best)):
                continue
            seen.add(rule)
            for caller, after in self.callers[rule]:
                longer = self.within[caller] + text
                around = network.rule[caller]
                if looks.reads[after, symbol]:
                    whole = self.enter[around] + longer
                    if best is None or len(whole) < len(best):
                        best = whole
                if looks.empty[after]:
                    heapq.heappush(queue, (len(longer), longer, around))
        return best or b""


def shortest_ambiguous(
    network: Network, conflicts: Sequence[Conflict], meter: Meter
) -> AmbiguousText:
    """A shortest text that leads to two stacks.

    Args:
        conflicts: Its conflicts, at least one; the first `MOST_LOOKED_AT` are looked at.

    Raises:
        BudgetExceeded: The time is up.
    """
    shortest = Shortest(network, meter)
    candidates: list[tuple[int, int, bytes, Conflict]] = []
    for number, (state, symbol, moves) in enumerate(conflicts[:MOST_LOOKED_AT]):
        ends = any(move[0] == "end" for move in moves)
        text = shortest.to(state, symbol, ends)
        candidates.append((len(text), number, text, (state, symbol, moves)))
    _, _, prefix, (state, symbol, moves) = min(candidates)
    rule = network.rule[state]
    called = [move[1] for move in moves if move[0] == "call"]
    begins = [begins_with(network, each) for each in called]
    if any(rule in each for each in begins) and network.entry[rule] == state:
        kind = "left recursion"
    elif any(move[0] == "end" for move in moves):
        kind = "end or go on"
    else:
        kind = "begin alike"
    names = tuple(network.names[each] for each in called)
    byte = shortest.byte[symbol]
    return AmbiguousText(prefix, byte, network.names[rule], moves, kind, names)
