"""A byte machine that is determinized while it is asked.

Its states are sets of configurations of a `Net`, numbered as they are met, the start 0. A row is
worked out when a step from its state is first asked for. Every state can finish.

The numbers depend on the order of the questions; a machine that is sent to another process takes
the states that it has met with it. They are kept, and the budget limits them: the number of states,
their table's cells and bytes, and the seconds of one question.

Cost: a few microseconds per row. Nothing is minimised, so two states may be alike.
"""

from __future__ import annotations

from threading import RLock
from typing import Any, Final

import numpy as np

from explorer.automata.discovered.broad import (
    BEGINNING,
    GOING_ON,
    NEEDS_LETTERS,
    NEEDS_ROOM,
    walk_filling,
    walk_words,
)
from explorer.automata.discovered.late import LateParts
from explorer.automata.discovered.letters import COMPLETE
from explorer.automata.discovered.net import Net
from explorer.automata.discovered.rows import (
    FINISHED,
    NEEDS_PART,
    NEEDS_STATES,
    NODE,
    PART,
    PAUSED,
    QUANTUM,
    STATES,
    Found,
    begin,
    bytes_held,
    empty_found,
    fill,
    grown,
    visit,
    with_room,
)
from explorer.automata.machine import (
    NO_ARC,
    UNKNOWN,
    Bool,
    DiscoveredMachine,
    Int32,
    UInt32,
    WordTrie,
    WordWalk,
)
from explorer.budget import Budget, Meter

STAGE: Final = "The discovery of states"


class OnDemand(DiscoveredMachine):
    """A `ByteMachine` over a net; thread-safe.

    Args:
        net: The automaton.
        budget: Limits for what is met altogether, and for the seconds of one question.
        parts: Where the late parts of the net come from.
        found: What was met before.

    Example:
        >>> from explorer.automata.discovered.discover import discover
        >>> from explorer.languages.regex import parse
        >>> machine = discover(parse("(foo){0,4000}d").root, Budget())
        >>> machine.expected(machine.start), machine.num_states
        (b'df', 3)
    """

    def __init__(
        self, net: Net, budget: Budget, parts: LateParts | None = None, found: Found | None = None
    ) -> None:
        self._net = net
        self._budget = budget
        self._parts = parts
        self._lock = RLock()
        self._symbol_class: list[int] = net.symbol_class.tolist()
        self._found = empty_found(net.num_classes) if found is None else found
        if found is None:
            while (reason := begin(net, self._found)) != FINISHED:
                self._grow(reason, Meter(budget))

    @property
    def start(self) -> int:
        """The start state, 0."""
        return 0

    @property
    def num_states(self) -> int:
        """The number of states met so far."""
        return int(self._found.progress[STATES])

    @property
    def num_waiting(self) -> int:
        """How many parts have not been laid out yet, of those that were met."""
        return int(self._net.late.sum())

    @property
    def symbol_class(self) -> Int32:
        """int32[256], the class of each byte."""
        return self._net.symbol_class

    @property
    def table(self) -> Int32:
        """int32[room, classes], the rows so far: a state, `NO_ARC`, or less where not known."""
        return self._found.table

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._net.read

    def step(self, state: int, byte: int) -> int:
        """The state after one more byte, or `NO_ARC`.

        Raises:
            BudgetExceeded: More states were met than the budget allows.
        """
        if state == NO_ARC:
            return NO_ARC
        class_ = self._symbol_class[byte]
        target = int(self._found.table[state, class_])
        if target == UNKNOWN:
            self._fill(state)
            target = int(self._found.table[state, class_])
        return target

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""
        return state != NO_ARC and bool(self._found.accepting[state])

    def expected(self, state: int) -> bytes:
        """The bytes that may come next, ascending; none from `NO_ARC`."""
        if state == NO_ARC:
            return b""
        self._fill(state)
        row = self._found.table[state][self._net.symbol_class]
        return bytes(np.flatnonzero(row != NO_ARC).tolist())

    def visit(self, trie: WordTrie, state: int) -> None:
        """Fill the rows that the words of a trie come by from a state, so that `table` has them.

        Raises:
            BudgetExceeded: More states were met than the budget allows, or it took too long.
        """
        with self._lock:
            stack = np.zeros(trie.max_depth + 1, np.int32)
            stack[0] = state
            self._found.progress[NODE] = 0
            meter = Meter(self._budget)
            while True:
                arrays = trie.byte, trie.depth, trie.skip, stack
                reason = visit(self._net, self._found, *arrays, QUANTUM)
                if reason == FINISHED:
                    return
                self._grow(reason, meter)

    def set_words(self, walk: WordWalk, state: int, words: UInt32) -> None:
        """Set the bits of the words that can be read from a state.

        Args:
            walk: The vocabulary.
            state: Where the words begin.
            words: uint32[n], the mask.

        Raises:
            BudgetExceeded: More states were met than the budget allows, or it took too long.
        """
        with self._lock:
            meter = Meter(self._budget)
            how, reason = BEGINNING, NEEDS_ROOM
            if self._found.table[state, 0] != UNKNOWN:  # Perhaps all rows on the way are known.
                here = self._found.table, self._net.symbol_class
                reason = walk_words(*walk.arrays, *here, state, words, how)
                how = GOING_ON
            while reason != COMPLETE:
                if reason == NEEDS_LETTERS:
                    walk.set_letters(state, words)
                walk.make_room(self.num_states)
                reason = walk_filling(
                    *walk.arrays, state, words, how, QUANTUM, *self._net, *self._found
                )
                how = GOING_ON
                if reason > 0:
                    self._grow(reason, meter)

    def configuration(self, state: int) -> tuple[tuple[int, int], ...]:
        """The pairs of a state of the net and its counts, packed in one number."""
        first, last = self._found.set_start[state : state + 2].tolist()
        packed: list[int] = self._found.arena[first:last].tolist()
        bits = int(self._net.bits[0])
        return tuple((each >> bits, each & ((1 << bits) - 1)) for each in packed)

    def _fill(self, state: int) -> None:
        with self._lock:
            while (reason := fill(self._net, self._found, state)) != FINISHED:
                self._grow(reason, Meter(self._budget))

    def _grow(self, reason: int, meter: Meter) -> None:
        """Make room of some kind, or look at the clock."""
        found = self._found
        held = bytes_held(found)
        states, classes = self.num_states, found.table.shape[1]
        if reason == PAUSED:
            meter.check_time(STAGE)
            return
        if reason == NEEDS_PART:
            meter.check_time(STAGE)
            if self._parts is not None:
                self._net = self._parts.laid(self._net, int(found.progress[PART]), meter)
            return
        if reason == NEEDS_STATES:  # Announce what the room is for.
            states += 1
        meter.check(STAGE, states=states, arcs=states * classes, bytes=3 * held)
        limits = self._budget
        most = min(limits.states, limits.arcs // classes, limits.bytes // (12 * classes)) + 1
        self._found = grown(found, reason, most)

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            found = with_room(self._found, self.num_states + 1)
            if self._parts is not None and self._net.late.any():
                self._parts.settle(self._net)
                return _resumed, (self._parts, self._budget, found)
            return OnDemand, (self._net, self._budget, None, found)

    def __repr__(self) -> str:
        return f"OnDemand({self.num_states} states met)"


def _resumed(parts: LateParts, budget: Budget, found: Found) -> OnDemand:
    """A machine that comes from another process: its net is made again, as far as it had come."""
    meter = Meter(budget)
    net, parts = parts.again(meter)
    return OnDemand(net, budget, parts, found)
