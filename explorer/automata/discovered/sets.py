"""Sets of configurations of a net, numbered as they are met: what a discovered machine runs.

A row is worked out by a kernel when a step from its state is first asked for. Every state can
finish.

Cost: a few microseconds per row. Nothing is minimised, so two states may be alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.automata.discovered.broad import (
    BEGINNING,
    GOING_ON,
    NEEDS_LETTERS,
    NEEDS_ROOM,
    walk_filling,
    walk_words,
)
from explorer.automata.discovered.letters import COMPLETE
from explorer.automata.discovered.net import LateParts, Net
from explorer.automata.discovered.rows import (
    FINISHED,
    NEEDS_PART,
    NODE,
    PART,
    PAUSED,
    QUANTUM,
    STATES,
    Found,
    begin,
    bytes_held,
    empty_found,
    grown,
    row_filled,
    visit,
    with_room,
)
from explorer.automata.machine import UNKNOWN, Bool, Int32, UInt32, WordTrie, WordWalk
from explorer.budget import Meter


class Sets:
    """The kind of a `Discovered` machine over a net.

    Args:
        net: The automaton.
        parts: Where the late parts of the net come from.
        rows: What was met before.
    """

    stage = "The discovery of states"
    stacks = None

    def __init__(self, net: Net, parts: LateParts | None = None, rows: Found | None = None) -> None:
        self._net = net
        self._parts = parts
        self._begun = rows is not None
        self._rows = empty_found(net.num_classes) if rows is None else rows
        self.symbol_class = net.symbol_class

    @property
    def table(self) -> Int32:
        """int32[room, classes], the rows so far."""
        return self._rows.table

    @property
    def num_states(self) -> int:
        """The number of states met so far."""
        return int(self._rows.progress[STATES])

    @property
    def held(self) -> int:
        """The bytes of what was met."""
        return bytes_held(self._rows)

    @property
    def num_waiting(self) -> int:
        """The number of parts that were met and have not been laid out yet."""
        return int(self._net.late.sum())

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._net.read

    def begin(self, meter: Meter) -> int:
        """Make the start state."""
        return FINISHED if self._begun else begin(self._net, self._rows)

    def can_start(self, meter: Meter) -> bool:
        """Every state can finish."""
        return True

    def fill(self, state: int, symbol: int, meter: Meter) -> int:
        """Fill a row."""
        return row_filled(tuple(self._net), tuple(self._rows), state)

    def visit(self, trie: WordTrie, stack: Int32, again: bool, meter: Meter) -> int:
        """Fill the rows that words come by."""
        if not again:
            self._rows.progress[NODE] = 0
        return visit(self._net, self._rows, trie.byte, trie.depth, trie.skip, stack, QUANTUM)

    def set_words(self, walk: WordWalk, state: int, words: UInt32, again: bool) -> int:
        """Set the bits of words, most of them by the letters that states read."""
        how, reason = GOING_ON if again else BEGINNING, NEEDS_ROOM
        if not again and self.table[state, 0] != UNKNOWN:  # Perhaps all rows on the way are known.
            here = self.table, self.symbol_class
            reason = walk_words(*walk.arrays, *here, state, words, how)
            how = GOING_ON
        while reason != COMPLETE:
            if reason == NEEDS_LETTERS:
                walk.set_letters(state, words)
            walk.make_room(self.num_states)
            reason = walk_filling(*walk.arrays, state, words, how, QUANTUM, *self._net, *self._rows)
            how = GOING_ON
            if reason > 0:
                return reason
        return FINISHED

    def make_room(self, reason: int, most: int, meter: Meter) -> None:
        """Make room, or lay a part out."""
        if reason == NEEDS_PART:
            if self._parts is not None:
                self._net = self._parts.laid(self._net, int(self._rows.progress[PART]), meter)
        elif reason != PAUSED:
            self._rows = grown(self._rows, reason, most)

    def accepting(self, state: int) -> bool:
        """Whether the text may end."""
        return bool(self._rows.accepting[state])

    def configuration(self, state: int) -> tuple[tuple[int, int], ...]:
        """The pairs of a state of the net and its counts, packed in one number."""
        first, last = self._rows.set_start[state : state + 2].tolist()
        packed: list[int] = self._rows.arena[first:last].tolist()
        bits = int(self._net.bits[0])
        return tuple((each >> bits, each & ((1 << bits) - 1)) for each in packed)

    def finishes_by_bytes(self, state: int) -> bool:
        """Every state can finish."""
        return True

    def sent(self) -> tuple[Callable[..., Sets], tuple[Any, ...]]:
        """The net, or where parts are left the tree; and what was met."""
        rows = with_room(self._rows, self.num_states + 1)
        if self._parts is not None and self._net.late.any():
            self._parts.settle(self._net)
            return _laid_again, (self._parts, rows)
        return Sets, (self._net, None, rows)


def _laid_again(parts: LateParts, rows: Found) -> Sets:
    """The kind in another process: the net is made again, as far as it had come."""
    return Sets(*parts.again(Meter()), rows)
