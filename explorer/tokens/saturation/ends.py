"""The fewest tokens from a configuration of a grammar to the end of the text.

A configuration is a state of the network on a stack. From it the state's rule is left at some nodes
of the graph of words, each after a number of tokens (`summaries`); then the innermost return is
left from there, and so on to the bottom, where the text has to end between two tokens. So the
distance is a shortest path through pairs of a stack node and a node of words. A stack node has the
same answers under any top, so they are kept, and a push costs one more step.

An upper bound comes first, without the vocabulary: the distance with tokens of one byte alone.

Cost: that of `summaries`, once, for the states that are met; then some microseconds for each new
stack node.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from explorer.automata.machine import NO_ARC, Bool, Int32, NetworkArrays, Stacks
from explorer.automata.stacks.stacks import BOTTOM
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.jit import jit
from explorer.tokens.saturation.alike import (
    PAIRS,
    PLACES,
    alike_with_room,
    no_places,
    place_of,
)
from explorer.tokens.saturation.summaries import (
    CALLS,
    LINKS,
    MOST_TOKENS,
    NO_WAY,
    Summaries,
    no_summaries,
    saturate,
    summaries_with_room,
)
from explorer.tokens.saturation.word_graph import ROOT, WordGraph, word_graph
from explorer.tokens.walks.trie import Trie

STAGE: Final = "Working out what tokens can finish in a grammar"

FAR: Final = 2**30
"""A distance larger than any: there is no way."""

LIMITS: Final = Budget(states=500_000, arcs=40_000_000, bytes=1_500_000_000)
"""Limits of a distance: counts and not seconds, so that the load of a computer does not matter."""

Key = tuple[int, int]
"""A stack node, and the node of words at which it is reached."""


@jit
def fewest_bytes(rules: NetworkArrays, usable: Bool) -> Int32:
    """The fewest bytes from each state to the end of its rule, if only some classes can be written;
    `FAR` for none."""
    states, classes = rules.table.shape
    fewest = np.full(states, FAR, np.int32)
    changed = True
    while changed:
        changed = False
        for state in range(states - 1, -1, -1):
            best = 0 if rules.exits[state] else fewest[state]
            for c in range(classes):
                after = rules.table[state, c]
                if after >= 0 and usable[c] and fewest[after] + 1 < best:
                    best = fewest[after] + 1
            for k in range(rules.first_call[state], rules.first_call[state + 1]):
                both = fewest[rules.begins[k]] + fewest[rules.after[k]]
                best = min(best, both)
            if best < fewest[state]:
                fewest[state] = best
                changed = True
    return fewest


class _Returns:
    """Shortest paths down the stack.

    Args:
        returns: The states and stack nodes that a stack node returns to.
        exits: The nodes where the rule of a state can be left, from a node of words, with the
            costs.
    """

    def __init__(
        self,
        returns: Callable[[int], tuple[tuple[int, int], ...]],
        exits: Callable[[int, int, Meter], list[tuple[int, int]]],
    ) -> None:
        self._returns, self._exits = returns, exits
        self._rest: dict[Key, int] = {}

    def shortest(self, ways: Iterable[tuple[Key, int]], meter: Meter) -> int:
        """The least cost over several first steps; `FAR` if none of them leads to the bottom."""
        ways = list(ways)
        self._resolve([key for key, _ in ways], meter)
        return min((cost + self._rest[key] for key, cost in ways), default=FAR)

    def _resolve(self, keys: list[Key], meter: Meter) -> None:
        known = self._rest
        into: dict[Key, list[tuple[Key, int]]] = {}
        met: dict[Key, None] = {}
        waiting = [key for key in keys if key not in known]
        edge: dict[Key, int] = {}  # Known costs of keys that a path reaches.
        while waiting:
            key = waiting.pop()
            if key in met:
                continue
            met[key] = None
            if len(met) % 4096 == 0:
                meter.check(STAGE, states=len(known) + len(met), bytes=300 * len(known))
            for target, cost in self._further(key, meter):
                into.setdefault(target, []).append((key, cost))
                if target in known or target[0] == BOTTOM:
                    edge[target] = known.get(target, 0 if target[1] == ROOT else FAR)
                elif target not in met:
                    waiting.append(target)
        for key in met:
            if key[0] == BOTTOM:
                edge[key] = 0 if key[1] == ROOT else FAR
        queue = [(cost, key) for key, cost in edge.items() if cost < FAR]
        heapq.heapify(queue)
        done: dict[Key, int] = {}
        while queue:
            cost, key = heapq.heappop(queue)
            if key in done:
                continue
            done[key] = cost
            for source, more in into.get(key, ()):
                if source not in done:
                    heapq.heappush(queue, (cost + more, source))
        for key in met:
            known[key] = done.get(key, FAR)

    def _further(self, key: Key, meter: Meter) -> list[tuple[Key, int]]:
        if key[0] == BOTTOM:
            return []
        ways: list[tuple[Key, int]] = []
        for after, below in self._returns(key[0]):
            if after == NO_ARC:
                ways.append(((BOTTOM, key[1]), 0))
            else:
                exits = self._exits(after, key[1], meter)
                ways += [((below, node), cost) for node, cost in exits]
        return ways


class StackEnds:
    """The token distances to the end of the configurations of a machine with a stack. Not
    thread-safe.

    Args:
        at_hand: bool[256], the bytes that are tokens.
    """

    def __init__(self, machine: Stacks, trie: Trie, at_hand: Bool) -> None:
        self._machine, self._trie = machine, trie
        network = machine.network
        self._rules = network.arrays
        usable = np.zeros(network.num_classes, np.bool_)
        usable[network.symbol_class[at_hand]] = True
        self._bytes: list[int] = fewest_bytes(self._rules, usable).tolist()
        self._graph: WordGraph | None = None
        self._widest = 0
        self._alike = no_places()
        self._found: Summaries = no_summaries(0)
        self._exits: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._at_hand = at_hand
        self._too_large = self._is_capped = False
        self._by_bytes = _Returns(machine.returns, self._byte_exits)
        self._by_tokens = _Returns(machine.returns, self._token_exits)

    def most(self, state: int, meter: Meter) -> int | None:
        """The fewest tokens of one byte to the end of the text, EOS included.

        Args:
            meter: Watches the search.

        Returns:
            ``None`` where one-byte tokens do not suffice.
        """
        tokens = self._from(state, self._by_bytes, self._byte_exits, meter)
        return tokens + 1 if tokens < FAR else None

    def can_end(self, state: int, meter: Meter) -> bool:
        """Whether some tokens lead from a state to the end of the text.

        Args:
            meter: Watches the sizes and the time.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        if self.most(state, meter) is not None:
            return True
        try:
            return self._from(state, self._by_tokens, self._token_exits, meter) < FAR
        except BudgetExceeded as error:
            raise BudgetExceeded(
                error.resource, limit=error.limit, reached=error.reached, stage=self._stage(state)
            ) from None

    def distance(self, state: int, meter: Meter) -> int | None:
        """The fewest tokens to the end of the text, EOS included.

        Args:
            meter: Watches the time.

        Returns:
            ``None`` where there is no way, where some rule takes `MOST_TOKENS` tokens, or where
            `LIMITS` are exceeded.

        Raises:
            BudgetExceeded: The time is up.
        """
        if self._too_large:
            return None
        try:
            sized = meter.with_sizes(LIMITS)
            tokens = self._from(state, self._by_tokens, self._token_exits, sized)
        except BudgetExceeded as error:
            if error.resource == "seconds":
                raise
            self._too_large = True
            return None
        return None if self._is_capped or tokens >= FAR else tokens + 1

    def _stage(self, state: int) -> str:
        """The work in progress, as the subject of a sentence."""
        network = self._machine.network
        rules = {network.names[network.rule[here]]: None for here, _ in self._machine.heads(state)}
        missing = np.flatnonzero(network.read & ~self._at_hand).tolist()
        shown = ", ".join(repr(chr(b)) if b < 128 else f"the byte {b:#04x}" for b in missing[:6])
        where = " or ".join(repr(name) for name in [*rules][:3] if name)
        return (
            f"Working out whether {f'the rule {where}' if where else 'the text'} can be finished, "
            f"although no token is {shown}{' and others' if len(missing) > 6 else ''} alone,"
        )

    def _from(
        self,
        state: int,
        returns: _Returns,
        exits: Callable[[int, int, Meter], list[tuple[int, int]]],
        meter: Meter,
    ) -> int:
        ways = [
            ((below, node), cost)
            for here, below in self._machine.heads(state)
            for node, cost in exits(here, ROOT, meter)
        ]
        return returns.shortest(ways, meter)

    def _byte_exits(self, state: int, node: int, meter: Meter) -> list[tuple[int, int]]:
        _ = node, meter
        fewest = self._bytes[state]
        return [(ROOT, fewest)] if fewest < FAR else []

    def _token_exits(self, state: int, node: int, meter: Meter) -> list[tuple[int, int]]:
        known = self._exits.get((state, node))
        if known is None:
            if self._graph is None:
                network = self._machine.network
                self._graph = word_graph(self._trie, network.symbol_class, network.read)
                self._widest = int(np.diff(self._graph.first).max())
                self._found = no_summaries(len(self._graph.ends))
            rules, graph = self._rules, self._graph
            while (pair := place_of(rules, graph, self._alike, state, node)) < 0:
                self._grow(meter)
            while saturate(rules, graph, self._alike, self._found):
                self._grow(meter)
            self._look(meter)
            row = self._found.rows[self._alike.place[pair]].astype(np.int32)
            columns = np.flatnonzero(row != NO_WAY)
            self._is_capped |= bool((row[columns] == MOST_TOKENS).any())
            costs = row[columns] + self._alike.extra[pair]
            nodes = self._found.node_of[columns].tolist()
            known = list(zip(nodes, costs.tolist(), strict=True))
            self._exits[state, node] = known
        return known

    def _grow(self, meter: Meter) -> None:
        """Make room in the tables, and check the sizes and the clock."""
        self._look(meter)
        self._alike = alike_with_room(self._alike, self._widest)
        self._found = summaries_with_room(self._found, int(self._alike.tally[PLACES]))

    def _look(self, meter: Meter) -> None:
        places, pairs = int(self._alike.tally[PLACES]), int(self._alike.tally[PAIRS])
        count: list[int] = self._found.tally.tolist()
        held = sum(part.nbytes for part in (*self._found, *self._alike))
        meter.check(STAGE, states=places, arcs=pairs + count[LINKS] + count[CALLS], bytes=2 * held)
