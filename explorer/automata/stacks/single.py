"""The byte machine of a deterministic grammar: one state of the network and one stack.

What `explorer.automata.stacks.stacks` does for every grammar in Python, this does
in machine code for those whose texts lead to one stack. The moves of a state over a class of bytes,
all calls included, were worked out before (`explorer.automata.rules.moves`), so a byte
costs a look-up, a push or a pop, and two more look-ups that number what comes out.

Cost: some tens of nanoseconds per configuration met, and a hundred bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.discovered.rows import (
    BY_ROWS,
    FINISHED,
    NEEDS_STATES,
    PAUSED,
)
from explorer.automata.machine import (
    NO_ARC,
    Bool,
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
    WORK,
    Met,
    cell_filled,
    configured,
    empty_met,
    fill_trie,
    with_more,
    words_above,
    words_below,
)
from explorer.automata.stacks.stacks import STAGE
from explorer.budget import Meter

MOST_KEPT: Final = 64_000_000
"""The most bytes of cached walks, which do not depend on the stack below a state."""


class _Above(NamedTuple):
    """The walk of a vocabulary from a state of the network on an unknown stack."""

    state: int
    words: UInt32
    below: Int32
    many: NDArray[np.int64]
    stack: Int32


class SingleStack:
    """The kind of a `Discovered` machine over a deterministic network.

    Args:
        met: The configurations met before.
    """

    stage = STAGE

    def __init__(self, network: Network, actions: Actions, met: Met | None = None) -> None:
        self.network = network
        self._ways = actions
        self._plain_ways = tuple(actions)
        self._met = empty_met(network.num_classes) if met is None else met
        self.symbol_class = network.symbol_class
        self._trie: UInt8 | None = None  # The vocabulary of `_above`.
        self._above: dict[int, tuple[UInt32, Int32]] = {}
        self._aside: tuple[_Above, Met] | None = None
        self._target = NO_ARC
        if met is None:
            configured(actions, self._met, network.entry[0], 0)

    @property
    def stacks(self) -> SingleStack:
        """The kind itself, which knows the stack."""
        return self

    @property
    def table(self) -> Int32:
        """int32[room, classes], the cells so far."""
        return self._met.table

    @property
    def num_states(self) -> int:
        """The number of configurations met so far."""
        return int(self._met.progress[CONFIGURATIONS])

    @property
    def held(self) -> int:
        """The bytes of memory used so far."""
        met = self._met if self._aside is None else self._aside[1]
        return sum(part.nbytes for part in met)

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self.network.read

    def begin(self, meter: Meter) -> int:
        """Do nothing: the start state exists."""
        return FINISHED

    def can_start(self, meter: Meter) -> bool:
        """Every state can finish."""
        return True

    def fill(self, state: int, symbol: int, meter: Meter) -> int:
        """Fill a cell, or all cells of a row."""
        self._aside = None
        return cell_filled(self._plain_ways, tuple(self._met), state, symbol)

    def visit(self, trie: WordTrie, stack: Int32, again: bool, meter: Meter) -> int:
        """Fill the cells that the words of a trie need."""
        self._aside = None
        if not again:
            self._met.progress[AT] = 0
        return fill_trie(self._ways, self._met, trie.byte, trie.depth, trie.skip, stack)

    def set_words(self, walk: WordWalk, state: int, words: UInt32, again: bool) -> int:
        """Set the bits of words: those that stay within the rule, then those that leave it."""
        trie = walk.plain
        if not again:
            self._aside, self._target = None, NO_ARC
        if self._trie is not trie.byte:
            self._trie, self._above = trie.byte, {}
        here, node = int(self._met.state[state]), int(self._met.node[state])
        if here not in self._above:
            if (1 + len(self._above)) * words.nbytes > MOST_KEPT:
                return BY_ROWS
            if (reason := self._walk_above(trie, here, len(words))) != FINISHED:
                return reason
        above, below = self._above[here]
        words |= above
        if node == 0 or not len(below):
            return FINISHED
        if self._target == NO_ARC:
            after, around = int(self._met.after[node]), int(self._met.below[node])
            target = configured(self._ways, self._met, after, around)
            if target < 0:
                return NEEDS_STATES
            self._met.progress[AT] = 0
            self._target = target
        stack = np.zeros(trie.max_depth + 1, np.int32)
        nodes = trie.byte, trie.depth, trie.skip, trie.word, trie.first_id
        return words_below(self._ways, self._met, *nodes, stack, words, below, self._target)

    def _walk_above(self, trie: WordTrie, state: int, width: int) -> int:
        if self._aside is None:
            met = empty_met(self.network.num_classes)
            configured(self._ways, met, state, 0)
            room = np.zeros(width, np.uint32), np.empty(len(trie.byte), np.int32)
            stack = np.zeros(trie.max_depth + 1, np.int32)
            self._aside = _Above(state, *room, np.zeros(1, np.int64), stack), met
        at, met = self._aside
        nodes = trie.byte, trie.depth, trie.skip, trie.word, trie.first_id
        reason = words_above(self._ways, met, *nodes, at.stack, at.words, at.below, at.many)
        if reason == FINISHED:
            self._above[state] = at.words, at.below[: int(at.many[0])].copy()
            self._aside = None
        return reason

    def make_room(self, reason: int, most: int, meter: Meter) -> None:
        """Give the kernel the room that it asked for."""
        met = self._met if self._aside is None else self._aside[1]
        if reason == PAUSED:
            met.progress[WORK] = 0
        elif self._aside is not None:
            self._aside = self._aside[0], with_more(met, reason)
        else:
            self._met = with_more(met, reason)

    def accepting(self, state: int) -> bool:
        """Whether the text may end."""
        return bool(self._met.ends[state])

    def finishes_by_bytes(self, state: int) -> bool:
        """Every state can finish."""
        return True

    def symbols(self, state: int) -> tuple[int, tuple[int, ...]]:
        """The state of the network and the return states, the innermost first."""
        return self.configuration(state)

    def configuration(self, state: int) -> tuple[int, tuple[int, ...]]:
        """The state of the network and the return states of a configuration, innermost first."""
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
        """The return state of a stack node and its parent node; none for the bottom."""
        return ((int(self._met.after[node]), int(self._met.below[node])),) if node > 0 else ()

    def sent(self) -> tuple[Callable[..., SingleStack], tuple[Any, ...]]:
        """The constructor and its arguments: the network, its moves, and a copy of the tables."""
        return SingleStack, (self.network, self._ways, deepcopy(self._met))
