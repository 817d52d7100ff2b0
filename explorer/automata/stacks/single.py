"""The byte machine of a deterministic grammar: one state of the network and one stack.

What `explorer.automata.stacks.stacks` does for every grammar in Python, this does
in machine code for those whose texts lead to one stack. The moves of a state over a class of bytes,
all calls included, were worked out before (`explorer.automata.rules.moves`), so a byte
costs a look-up, a push or a pop, and two more look-ups that number what comes out.

Cost: some tens of nanoseconds per configuration met, and a hundred bytes.
"""

from __future__ import annotations

from threading import RLock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import (
    NO_ARC,
    UNKNOWN,
    Bool,
    DiscoveredMachine,
    Int32,
    Network,
    UInt8,
    UInt32,
    WordTrie,
    WordWalk,
)
from explorer.automata.rules.moves import Actions
from explorer.automata.stacks.single_rows import (
    AT,
    CONFIGURATIONS,
    NEEDS_CONFIGURATIONS,
    NEEDS_TIME,
    WORK,
    Met,
    Ways,
    configured,
    empty_met,
    fill_cell,
    fill_row,
    fill_trie,
    with_more,
)
from explorer.automata.stacks.single_words import (
    words_above,
    words_below,
)
from explorer.automata.stacks.stacks import STAGE
from explorer.budget import Budget, Meter

MOST_KEPT: Final = 64_000_000
"""Bytes of the words that are kept for states, whatever stands below them on the stack."""


class SingleStack(DiscoveredMachine):
    """A `ByteMachine` over a deterministic network; thread-safe.

    Args:
        network: The grammar.
        actions: Its moves.
        budget: Limits for what is met altogether, and for the seconds of one question.
        met: What was met before.
    """

    def __init__(
        self, network: Network, actions: Actions, budget: Budget, met: Met | None = None
    ) -> None:
        self._network = network
        self._actions = actions
        self._budget = budget
        self._lock = RLock()
        self._ways = Ways(
            actions.act, actions.first, actions.push, actions.target, actions.empty,
            actions.only_exits, network.symbol_class,
        )  # fmt: skip
        self._classes: list[int] = network.symbol_class.tolist()
        self._met = empty_met(network.num_classes) if met is None else met
        self._trie: NDArray[np.uint8] | None = None  # The vocabulary that `_above` is about.
        self._above: dict[int, tuple[NDArray[np.uint32], Int32]] = {}
        if met is None:
            configured(self._ways, self._met, actions.entry, 0)

    @property
    def network(self) -> Network:
        """The grammar."""
        return self._network

    @property
    def actions(self) -> Actions:
        """The moves of the grammar."""
        return self._actions

    @property
    def start(self) -> int:
        """The start state, 0."""
        return 0

    @property
    def num_states(self) -> int:
        """The number of configurations met so far."""
        return int(self._met.progress[CONFIGURATIONS])

    @property
    def symbol_class(self) -> Int32:
        """int32[256], the class of each byte."""
        return self._network.symbol_class

    @property
    def table(self) -> Int32:
        """int32[room, classes], the cells so far: a state, `NO_ARC`, or less where not known."""
        return self._met.table

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._network.read

    def step(self, state: int, byte: int) -> int:
        """The state after one more byte, or `NO_ARC`.

        Raises:
            BudgetExceeded: More was met than the budget allows.
        """
        if state == NO_ARC:
            return NO_ARC
        symbol = self._classes[byte]
        target = int(self._met.table[state, symbol])
        if target == UNKNOWN:
            with self._lock:
                while reason := fill_cell(self._ways, self._met, state, symbol):
                    self._grow(reason, Meter(self._budget))
            target = int(self._met.table[state, symbol])
        return target

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""
        return state != NO_ARC and bool(self._met.ends[state])

    def expected(self, state: int) -> bytes:
        """The bytes that may come next, ascending; none from `NO_ARC`."""
        if state == NO_ARC:
            return b""
        with self._lock:
            while reason := fill_row(self._ways, self._met, state):
                self._grow(reason, Meter(self._budget))
        row = self._met.table[state][self.symbol_class]
        return bytes(np.flatnonzero(row != NO_ARC).tolist())

    def visit(self, trie: WordTrie, state: int) -> None:
        """Fill the cells that the words of a trie come by from a state, so that `table` has them.

        Raises:
            BudgetExceeded: More was met than the budget allows, or it took too long.
        """
        with self._lock:
            stack = np.zeros(trie.max_depth + 1, np.int32)
            stack[0] = state
            self._met.progress[AT] = 0
            arrays = trie.byte, trie.depth, trie.skip
            meter = Meter(self._budget)
            while reason := fill_trie(self._ways, self._met, *arrays, stack):
                self._grow(reason, meter)

    def set_words(self, walk: WordWalk, state: int, words: UInt32) -> None:
        """Set the bits of the words that can be read from a state, by their first ids.

        Raises:
            BudgetExceeded: More was met than the budget allows, or it took too long.
        """
        trie = walk.plain
        with self._lock:
            if self._trie is not trie.byte:
                self._trie, self._above = trie.byte, {}
            here, node = int(self._met.state[state]), int(self._met.node[state])
            above = self._above.get(here)
            if above is None:
                if (1 + len(self._above)) * words.nbytes > MOST_KEPT:
                    return walk.set_from_rows(self, state, words)
                above = self._above[here] = self._words_above(trie, here, len(words))
            words |= above[0]
            if node > 0 and len(above[1]):
                self._set_words_below(trie, node, above[1], words)
            return None

    def _words_above(
        self, trie: WordTrie, state: int, count: int
    ) -> tuple[NDArray[np.uint32], Int32]:
        words, stack = np.zeros(count, np.uint32), np.zeros(trie.max_depth + 1, np.int32)
        below, found = np.empty(len(trie.byte), np.int32), np.zeros(1, np.int64)
        met = empty_met(self._network.num_classes)
        configured(self._ways, met, state, 0)
        meter = Meter(self._budget)
        while reason := words_above(self._ways, met, *_arrays(trie), stack, words, below, found):
            met = self._grown(met, reason, meter)
        return words, below[: int(found[0])].copy()

    def _set_words_below(
        self, trie: WordTrie, node: int, below: Int32, words: NDArray[np.uint32]
    ) -> None:
        after, around = int(self._met.after[node]), int(self._met.below[node])
        meter = Meter(self._budget)
        stack = np.zeros(trie.max_depth + 1, np.int32)
        while (target := configured(self._ways, self._met, after, around)) < 0:
            self._grow(NEEDS_CONFIGURATIONS, meter)
        self._met.progress[AT] = 0
        while reason := words_below(
            self._ways, self._met, *_arrays(trie), stack, words, below, target
        ):
            self._grow(reason, meter)

    @property
    def stacks(self) -> SingleStack:
        """The stack, which the machine itself knows."""
        return self

    def symbols(self, state: int) -> tuple[int, tuple[int, ...]]:
        """As `configuration`."""
        return self.configuration(state)

    def configuration(self, state: int) -> tuple[int, tuple[int, ...]]:
        """A state of the network, and the states to return to, the innermost first."""
        node = int(self._met.node[state])
        stack: list[int] = []
        while node > 0:
            stack.append(int(self._met.after[node]))
            node = int(self._met.below[node])
        return int(self._met.state[state]), tuple(stack)

    def heads(self, state: int) -> tuple[tuple[int, int], ...]:
        """The one pair of a state of the network and a stack node; see `returns`."""
        return ((int(self._met.state[state]), int(self._met.node[state])),)

    def returns(self, node: int) -> tuple[tuple[int, int], ...]:
        """Where a stack node returns to, and the node around it; none for the bottom."""
        return ((int(self._met.after[node]), int(self._met.below[node])),) if node > 0 else ()

    def _grow(self, reason: int, meter: Meter) -> None:
        self._met = self._grown(self._met, reason, meter)

    def _grown(self, met: Met, reason: int, meter: Meter) -> Met:
        """Make room of some kind, or look at the clock."""
        if reason == NEEDS_TIME:
            met.progress[WORK] = 0
            meter.check_time(STAGE)
            return met
        held = sum(part.nbytes for part in met)
        states = int(met.progress[CONFIGURATIONS]) + 1
        meter.check(STAGE, states=states, arcs=states * met.table.shape[1], bytes=3 * held)
        return with_more(met, reason)

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            return SingleStack, (self._network, self._actions, self._budget, self._met)

    def __repr__(self) -> str:
        return f"SingleStack({self.num_states} configurations met)"


def _arrays(trie: WordTrie) -> tuple[UInt8, Int32, Int32, Int32, Int32]:
    return trie.byte, trie.depth, trie.skip, trie.word, trie.first_id
