"""The byte machine of a deterministic grammar: one state of the network and one stack.

What `explorer.automata.stacks.stacks` does for every grammar in Python, this does
in machine code for those whose texts lead to one stack. The moves of a state over a class of bytes,
all calls included, were worked out before (`explorer.automata.rules.moves`), so a byte
costs a look-up, a push or a pop, and two more look-ups that number what comes out.

A configuration is a state of the network and a stack node: a return state and the parent node.
Hash tables keep each configuration and node once, under its number. A cell of a row is filled when
the byte is first asked for.

Most words end before the rule in which they begin, so whether they can be read depends on the state
alone. So the vocabulary is walked once for each state, over an unknown stack. The result is the
words that stay above the bottom, as a packed mask, and the nodes of the trie at which the rule at
the bottom ends. For a configuration with a known stack only these nodes are walked further, from
the return state. (Dong et al. 2024, section 3.1, cache such words as context-independent.)

Cost: some tens of nanoseconds per configuration met, and a hundred bytes. At 131,072 tokens: a walk
of the whole trie for a state, some milliseconds inside of a string; then some tens of microseconds
for each stack.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, NamedTuple

import numpy as np

from explorer.automata.construction.rows import (
    BY_ROWS,
    FINISHED,
    NEEDS_ARENA,
    NEEDS_STATES,
    PAUSED,
    WHOLE_ROW,
    Int64,
)
from explorer.automata.machine import (
    NO_ARC,
    UNKNOWN,
    Bool,
    Int32,
    Network,
    UInt8,
    UInt32,
    WordTrie,
    WordWalk,
)
from explorer.automata.rules.moves import END, Actions
from explorer.automata.stacks.stacks import STAGE
from explorer.budget import Meter
from explorer.hashing import enter_pairs, slot_of_pair
from explorer.jit import jit
from explorer.memo import longer

# Places in `progress`.
CONFIGURATIONS: Final = 0
NODES: Final = 1
AT: Final = 2
WORK: Final = 3

MUCH: Final = 2_000_000
"""The number of moves between two looks at the clock."""


ENDS_BELOW: Final = -3
"""The value of a cell after which the rule at the bottom ends; its caller decides what follows."""


class Met(NamedTuple):
    """The configurations and stack nodes met so far.

    Args:
        state, node: int32[room], of each configuration.
        ends: bool[room], whether the text may end there.
        slots: int32[2^k], the hash table of configurations.
        table: int32[room, classes], a configuration, `NO_ARC` or `UNKNOWN`.
        after, below: int32[room], of each stack node; the bottom is 0.
        may_end: bool[room], whether all rules from a stack node down may end.
        node_slots: int32[2^k], the hash table of nodes.
        progress: int64[4], the numbers of configurations and nodes, the place in a trie, and the
            number of moves made.
    """

    state: Int32
    node: Int32
    ends: Bool
    slots: Int32
    table: Int32
    after: Int32
    below: Int32
    may_end: Bool
    node_slots: Int32
    progress: Int64


@jit
def pushed(ways: Actions, met: Met, after: int, below: int) -> int:
    """The stack node with a return state and a parent node; −1 without room."""
    slot = slot_of_pair(met.after, met.below, met.node_slots, after, below)
    if met.node_slots[slot] >= 0:
        return met.node_slots[slot]
    number = met.progress[NODES]
    if number >= met.after.shape[0]:
        return -1
    met.after[number] = after
    met.below[number] = below
    met.may_end[number] = ways.empty[after] and met.may_end[below]
    met.node_slots[slot] = number
    met.progress[NODES] = number + 1
    return number


@jit
def configured(ways: Actions, met: Met, state: int, node: int) -> int:
    """The number of a configuration; −1 without room."""
    while ways.only_exits[state] and node > 0:
        state = met.after[node]
        node = met.below[node]
    slot = slot_of_pair(met.state, met.node, met.slots, state, node)
    if met.slots[slot] >= 0:
        return met.slots[slot]
    number = met.progress[CONFIGURATIONS]
    if number >= met.state.shape[0]:
        return -1
    met.state[number] = state
    met.node[number] = node
    met.ends[number] = ways.empty[state] and met.may_end[node]
    met.table[number, :] = UNKNOWN
    met.slots[slot] = number
    met.progress[CONFIGURATIONS] = number + 1
    return number


@jit
def fill_cell(ways: Actions, met: Met, configuration: int, symbol: int, at_bottom: int) -> int:
    """Fill one cell, and return the reason why the kernel stopped; without room nothing is filled.

    Args:
        ways, met: The machine.
        configuration, symbol: The cell.
        at_bottom: The value of the cell if the rule at the bottom of the stack ends.
    """
    if met.progress[WORK] > MUCH:
        return PAUSED
    state = met.state[configuration]
    node = met.node[configuration]
    while True:
        met.progress[WORK] += 1
        way = ways.act[state, symbol]
        if way == NO_ARC or (way == END and node == 0):
            met.table[configuration, symbol] = NO_ARC if way == NO_ARC else at_bottom
            return FINISHED
        if way != END:
            break
        state = met.after[node]
        node = met.below[node]
    for k in range(ways.first[way], ways.first[way + 1]):
        node = pushed(ways, met, ways.push[k], node)  # pyright: ignore[reportArgumentType]
        if node < 0:
            return NEEDS_ARENA
    target = configured(ways, met, ways.target[way], node)  # pyright: ignore[reportArgumentType]
    if target < 0:
        return NEEDS_STATES
    met.table[configuration, symbol] = target
    return FINISHED


@jit
def fill_row(ways: Actions, met: Met, configuration: int) -> int:
    """Fill all cells of a row."""
    for symbol in range(met.table.shape[1]):
        if met.table[configuration, symbol] == UNKNOWN:
            reason = fill_cell(ways, met, configuration, symbol, NO_ARC)
            if reason != FINISHED:
                return reason
    return FINISHED


@jit
def cell_filled(
    ways: tuple[Any, ...], met: tuple[Any, ...], configuration: int, symbol: int
) -> int:
    """Fill a cell, or the `WHOLE_ROW`, with the `Actions` and the `Met` as plain tuples.

    Numba takes longer to look up the types of named tuples than to fill a cell.
    """
    if symbol == WHOLE_ROW:
        return fill_row(Actions(*ways), Met(*met), configuration)
    return fill_cell(Actions(*ways), Met(*met), configuration, symbol, NO_ARC)


@jit
def walk_stack(
    ways: Actions, met: Met, byte: UInt8, depth: Int32, skip: Int32, word: Int32, first_id: Int32,
    stack: Int32, end: int, words: UInt32, below: Int32, count: Int64, at_bottom: int,
) -> int:  # fmt: skip
    """Walk the words of a trie from node ``progress[AT]`` on; return why the kernel stopped.

    Args:
        ways, met: The machine.
        byte, depth, skip, word, first_id: As in `explorer.automata.machine.WordTrie`.
        stack: int32[deepest + 1], the configuration at each depth up to the walk's beginning.
        end: The node after the last one.
        words: uint32[n], the packed words; empty where only the cells are wanted.
        below: int32[nodes], the first nodes of the trie below the bottom.
        count: int64[1], the number of these nodes.
        at_bottom: The value of a cell after which the rule at the bottom ends.
    """
    at = met.progress[AT]
    while at < end:
        here = stack[depth[at] - 1]
        symbol = ways.symbol_class[byte[at]]
        target = met.table[here, symbol]
        if target == UNKNOWN:
            reason = fill_cell(ways, met, here, symbol, at_bottom)  # pyright: ignore[reportArgumentType]
            if reason != FINISHED:
                met.progress[AT] = at
                return reason
            target = met.table[here, symbol]
        if target < 0:
            if target == ENDS_BELOW:
                below[count[0]] = at
                count[0] += 1
            at = skip[at]
            continue
        stack[depth[at]] = target
        if words.shape[0] and word[at] >= 0:
            token = first_id[word[at]]
            words[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        at += 1
    met.progress[AT] = at
    return FINISHED


@jit
def walk_below_stack(
    ways: Actions, met: Met, byte: UInt8, depth: Int32, skip: Int32, word: Int32, first_id: Int32,
    stack: Int32, words: UInt32, below: Int32, count: Int64, configuration: int,
) -> int:  # fmt: skip
    """Set the bits of the words that leave the rule at the bottom, from its return state on.

    Args:
        ways, met, byte, depth, skip, word, first_id, stack, words, below: As for `walk_stack`.
        count: int64[1], the number of nodes that are done.
        configuration: The configuration after the return of the rule.
    """
    while count[0] < below.shape[0]:
        first = below[count[0]]
        stack[depth[first] - 1] = configuration
        met.progress[AT] = first  # Where the kernel stopped, the place is walked again.
        end: int = np.int64(skip[first])  # pyright: ignore[reportAssignmentType] - An int here.
        reason = walk_stack(
            ways, met, byte, depth, skip, word, first_id, stack, end, words, below, count, NO_ARC
        )
        if reason != FINISHED:
            return reason
        count[0] += 1
    return FINISHED


def empty_met(classes: int) -> Met:
    """The tables before any configuration is met, with the bottom of the stack only."""
    met = Met(
        np.zeros(256, np.int32), np.zeros(256, np.int32), np.zeros(256, np.bool_),
        np.full(512, -1, np.int32), np.full((256, classes), UNKNOWN, np.int32),
        np.full(256, -1, np.int32), np.zeros(256, np.int32), np.zeros(256, np.bool_),
        np.full(512, -1, np.int32), np.array([0, 1, 0, 0], np.int64),
    )  # fmt: skip
    met.may_end[0] = True
    return met


def with_more(met: Met, reason: int) -> Met:
    """A copy of the tables with twice the room of the kind that a kernel asked for."""
    if reason == NEEDS_ARENA:
        room, count = 2 * len(met.after), int(met.progress[NODES])
        parts = longer(met.after, room), longer(met.below, room)
        slots = np.full(2 * len(met.node_slots), -1, np.int32)
        enter_pairs(*parts, 1, count, slots)
        return met._replace(
            after=parts[0], below=parts[1], may_end=longer(met.may_end, room), node_slots=slots
        )
    room, count = 2 * len(met.state), int(met.progress[CONFIGURATIONS])
    parts = longer(met.state, room), longer(met.node, room)
    slots = np.full(2 * len(met.slots), -1, np.int32)
    enter_pairs(*parts, 0, count, slots)
    table = np.full((room, met.table.shape[1]), UNKNOWN, np.int32)
    table[: len(met.table)] = met.table
    return met._replace(
        state=parts[0], node=parts[1], ends=longer(met.ends, room), slots=slots, table=table
    )


MOST_KEPT: Final = 64_000_000
"""The most bytes of cached walks, which do not depend on the stack below a state."""


_NO_WORDS: Final = np.empty(0, np.uint32)
_NO_NODES: Final = np.empty(0, np.int32)


class _Above(NamedTuple):
    """The walk of a vocabulary from a state of the network on an unknown stack."""

    state: int
    words: UInt32
    below: Int32
    many: Int64
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
        self._done = np.zeros(1, np.int64)
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
        return self._walked(self._met, trie, stack, _NO_WORDS, _NO_NODES, self._done, NO_ARC)

    def _walked(
        self, met: Met, trie: WordTrie, stack: Int32, words: UInt32, below: Int32, count: Int64,
        at_bottom: int,
    ) -> int:  # fmt: skip
        nodes = trie.byte, trie.depth, trie.skip, trie.word, trie.first_id
        end = len(trie.byte)
        return walk_stack(self._ways, met, *nodes, stack, end, words, below, count, at_bottom)

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
            self._done[0] = 0
            self._target = target
        stack = np.zeros(trie.max_depth + 1, np.int32)
        nodes = trie.byte, trie.depth, trie.skip, trie.word, trie.first_id
        return walk_below_stack(
            self._ways, self._met, *nodes, stack, words, below, self._done, self._target
        )

    def _walk_above(self, trie: WordTrie, state: int, width: int) -> int:
        if self._aside is None:
            met = empty_met(self.network.num_classes)
            configured(self._ways, met, state, 0)
            room = np.zeros(width, np.uint32), np.empty(len(trie.byte), np.int32)
            stack = np.zeros(trie.max_depth + 1, np.int32)
            self._aside = _Above(state, *room, np.zeros(1, np.int64), stack), met
        at, met = self._aside
        reason = self._walked(met, trie, at.stack, at.words, at.below, at.many, ENDS_BELOW)
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

    def symbols(self, state: int) -> tuple[int, tuple[int, ...]]:
        """The state of the network and the return states, the innermost first."""
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

    def least(self, state: int, meter: Meter) -> None:
        """``None``: its states can be searched."""
        return

    def wider(self, state: int) -> None:
        """``None``: its states can be searched."""
        return

    def apart(self, meter: Meter) -> SingleStack:
        """A copy; cached walks are shared, as they depend on no stack."""
        copy = SingleStack(self.network, self._ways, deepcopy(self._met))
        copy._trie, copy._above = self._trie, dict(self._above)
        return copy

    def sent(self) -> tuple[Callable[..., SingleStack], tuple[Any, ...]]:
        """The constructor and its arguments: the network, its moves, and a copy of the tables."""
        return SingleStack, (self.network, self._ways, deepcopy(self._met))
