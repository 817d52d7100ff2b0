"""The machine that discovers its states: it numbers configurations as it meets them.

A *configuration* is what is alive after a text. A *kind* defines it, and computes rows: sets of
configurations of a net (`Sets`), one stack (`explorer.automata.stacks.single`), and the kinds that
compute whole rows in Python (`whole_rows`): pairs, counted tokens, many stacks. Everything else is
common to all kinds: the lock, the budget, growing arrays, pickling, and the methods of a
`ByteMachine`.

A kind is resumable: a method works until it has finished, or returns the reason why it stopped.
Then the machine makes room, builds a part or checks the clock, and calls it again.

The numbers depend on the order of the questions; a machine that is sent to another process takes
its states along. The budget limits them: the number of states, their table's cells and bytes, and
the seconds of one question.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Protocol

import numpy as np

from explorer.alphabet import LETTER, NUM_BYTES
from explorer.automata.construction.rows import (
    BY_ROWS,
    FINISHED,
    NEEDS_PART,
    NEEDS_STATES,
    PAUSED,
    SHARE,
    WHOLE_ROW,
)
from explorer.automata.machine import (
    NO_ARC,
    UNKNOWN,
    Bool,
    ByteMachine,
    Int32,
    Stacks,
    UInt32,
    WordTrie,
    WordWalk,
)
from explorer.budget import Budget, Meter


class Kind(Protocol):
    """One kind of configurations, which fills the rows of a machine; not thread-safe."""

    stage: str
    """The name of the work, as the subject of a sentence about a budget."""

    @property
    def symbol_class(self) -> Int32:
        """int32[256] or longer, the class of each symbol."""
        ...

    @property
    def table(self) -> Int32:
        """The table, int32[room, classes], with a row for each numbered state."""
        ...

    @property
    def num_states(self) -> int:
        """The number of states met so far."""
        ...

    @property
    def held(self) -> int:
        """The bytes of memory used so far."""
        ...

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        ...

    @property
    def stacks(self) -> Stacks | None:
        """The stacks, if the kind has any."""
        ...

    def begin(self, meter: Meter) -> int:
        """Make the start state, number 0; return `FINISHED` or the reason for stopping."""
        ...

    def can_start(self, meter: Meter) -> bool:
        """Whether the start state can finish."""
        ...

    def fill(self, state: int, symbol: int, meter: Meter) -> int:
        """Fill a cell, or the `WHOLE_ROW`; return `FINISHED` or the reason for stopping."""
        ...

    def visit(self, trie: WordTrie, stack: Int32, again: bool, meter: Meter) -> int:
        """Fill the cells along the words of a trie from state ``stack[0]``.

        Returns `FINISHED` or the reason for stopping; with ``again`` it continues from there.
        """
        ...

    def set_words(self, walk: WordWalk, state: int, words: UInt32, again: bool) -> int:
        """Set the bits of the words that a state reads.

        Returns `FINISHED`, the reason for stopping, or `BY_ROWS` without a method of its own.
        """
        ...

    def make_room(self, reason: int, most: int, meter: Meter) -> None:
        """Do what a reason for stopping asks for: enlarge arrays, or build a part.

        Args:
            most: The most states to make room for.
        """
        ...

    def accepting(self, state: int) -> bool | None:
        """Whether the text may end in a state; ``None`` if its row must be filled first."""
        ...

    def least(self, state: int, meter: Meter) -> int | None:
        """As `Discovered.least`."""
        ...

    def wider(self, state: int) -> tuple[ByteMachine, int] | None:
        """As `Discovered.wider`."""
        ...

    def apart(self, meter: Meter) -> Kind:
        """A copy that numbers the same configurations alike and meets further ones by itself.

        Args:
            meter: As in `apart`, for the machines inside.
        """
        ...

    def sent(self) -> tuple[Callable[..., Kind], tuple[Any, ...]]:
        """The function that rebuilds the kind in another process, and its arguments."""
        ...


class Discovered:
    """A `ByteMachine` over configurations of some kind; thread-safe.

    Args:
        kind: The kind of its configurations.
        budget: Limits on all discovered states together, and on the seconds of one question.
        clock: A running clock for all questions together; by default each has its own.

    Example:
        >>> from explorer.automata.discovered.discover import discover
        >>> from explorer.languages.regex import parse
        >>> machine = discover(parse("(foo){0,4000}d").root, Budget())
        >>> machine.expected(machine.start), machine.num_states
        (b'df', 3)
    """

    def __init__(self, kind: Kind, budget: Budget, clock: Meter | None = None) -> None:
        self._kind = kind
        self._budget = budget
        self._clock = clock
        self._lock = RLock()
        self._class_of: list[int] = kind.symbol_class.tolist()
        self._start: int | None = None
        meter = self._meter()
        while (reason := kind.begin(meter)) != FINISHED:
            self._answer(reason, meter)

    def _meter(self) -> Meter:
        return self._clock or Meter(self._budget)

    def apart(self, meter: Meter) -> Discovered:
        """See `apart`."""
        with self._lock:
            kind = self._kind.apart(meter)
        more, states = meter.budget, kind.num_states
        budget = Budget(
            states=states + more.states,
            arcs=states * kind.table.shape[1] + more.arcs,
            bytes=SHARE * kind.held + more.bytes,
            seconds=more.seconds,
        )
        machine = Discovered(kind, budget, meter.with_sizes(budget))
        machine._start = self._start
        return machine

    @property
    def kind(self) -> Kind:
        """The kind of its configurations."""
        return self._kind

    @property
    def start(self) -> int:
        """The start state, 0; `NO_ARC` if there are no words.

        Raises:
            BudgetExceeded: It took too long to find out.
        """
        if self._start is None:
            with self._lock:
                self._start = 0 if self._kind.can_start(self._meter()) else NO_ARC
        return self._start

    @property
    def num_states(self) -> int:
        """The number of states met so far, including those that cannot finish."""
        return self._kind.num_states

    @property
    def symbol_class(self) -> Int32:
        """int32[256] or longer, the class of each symbol."""
        return self._kind.symbol_class

    @property
    def table(self) -> Int32:
        """The rows so far, int32[room, classes]: a state, `NO_ARC` or `UNKNOWN`."""
        return self._kind.table

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self._kind.read

    @property
    def over_tokens(self) -> bool:
        """Whether it also reads the ends of tokens."""
        return len(self._kind.symbol_class) > NUM_BYTES

    @property
    def reads_letters(self) -> bool:
        """Whether some word holds a control token."""
        return bool(self._kind.read[LETTER])

    @property
    def closed(self) -> None:
        """``None``, because there is no table of all states."""
        return

    @property
    def stacks(self) -> Stacks | None:
        """The stacks of a machine that follows the rules of a grammar."""
        return self._kind.stacks

    def step(self, state: int, byte: int) -> int:
        """The state after one more byte, or `NO_ARC`.

        Raises:
            BudgetExceeded: The discovered states exceed the budget, or it took too long.
        """
        if state == NO_ARC:
            return NO_ARC
        symbol = self._class_of[byte]
        target = int(self._kind.table[state, symbol])
        if target == UNKNOWN:
            self._fill(state, symbol)
            target = int(self._kind.table[state, symbol])
        return target

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""
        if state == NO_ARC:
            return False
        answer = self._kind.accepting(state)
        if answer is None:
            self._fill(state)
            answer = self._kind.accepting(state)
        return bool(answer)

    def expected(self, state: int) -> bytes:
        """The bytes that may come next, ascending; none from `NO_ARC`.

        Raises:
            BudgetExceeded: As for `step`.
        """
        if state == NO_ARC:
            return b""
        self._fill(state)
        row = self._kind.table[state][self._kind.symbol_class[:NUM_BYTES]]
        return bytes(np.flatnonzero(row != NO_ARC).tolist())

    def least(self, state: int) -> int | None:
        """A number of bytes that every ending has at least, where there are too many states to
        search without it; else ``None``.

        Raises:
            BudgetExceeded: It took too long to find out.
        """
        if state == NO_ARC:
            return None
        with self._lock:
            return self._kind.least(state, self._meter())

    def wider(self, state: int) -> tuple[ByteMachine, int] | None:
        """A machine with few states, and one of them, that reads all that this one reads from a
        state, and perhaps more; ``None`` where `least` is.
        """
        return None if state == NO_ARC else self._kind.wider(state)

    def visit(self, trie: WordTrie, state: int) -> None:
        """Fill the cells of `table` along the words of a trie from a state.

        Raises:
            BudgetExceeded: As for `step`.
        """
        with self._lock:
            stack = np.zeros(trie.max_depth + 1, np.int32)
            stack[0] = state
            meter, again = self._meter(), False
            while (reason := self._kind.visit(trie, stack, again, meter)) != FINISHED:
                self._answer(reason, meter)
                again = True

    def set_words(self, walk: WordWalk, state: int, words: UInt32) -> None:
        """Set the bits of the first ids of the words that can be read from a state.

        Raises:
            BudgetExceeded: As for `step`.
        """
        with self._lock:
            meter, again = self._meter(), False
            while (reason := self._kind.set_words(walk, state, words, again)) != FINISHED:
                if reason == BY_ROWS:
                    return walk.set_from_rows(self, state, words)
                self._answer(reason, meter)
                again = True
            return None

    def _fill(self, state: int, symbol: int = WHOLE_ROW) -> None:
        with self._lock:
            meter = self._meter()
            while (reason := self._kind.fill(state, symbol, meter)) != FINISHED:
                self._answer(reason, meter)

    def _answer(self, reason: int, meter: Meter) -> None:
        """React to a reason for stopping: make room, build a part, or check the clock."""
        kind, limits = self._kind, self._budget
        classes = kind.table.shape[1]
        if reason in (PAUSED, NEEDS_PART):
            meter.check_time(kind.stage)
        else:  # Check the limits before allocating.
            states = kind.num_states + (reason == NEEDS_STATES)
            held = SHARE * kind.held
            meter.check(kind.stage, states=states, arcs=states * classes, bytes=held)
        most = min(limits.states, limits.arcs // classes, limits.bytes // (12 * classes)) + 1
        kind.make_room(reason, most, meter)

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            make, arguments = self._kind.sent()
            return _received, (make, arguments, self._budget)

    def __repr__(self) -> str:
        return f"Discovered({type(self._kind).__name__}, {self.num_states} states met)"


def apart(machine: ByteMachine, meter: Meter) -> ByteMachine:
    """A machine of the same words to ask questions of, so that they leave no trace in this one.

    It has the same states under the same numbers, and discovers further ones by itself; a machine
    that discovers nothing is returned itself. Cost: a copy of what was discovered.

    Args:
        meter: The clock of all questions together, and the sizes that it may discover.

    Example:
        >>> from explorer.automata.discovered.discover import discover
        >>> from explorer.languages.regex import parse
        >>> machine = discover(parse("(foo){0,4000}d").root, Budget())
        >>> asked = apart(machine, Meter())
        >>> asked.step(asked.step(asked.start, ord("f")), ord("o"))
        3
        >>> machine.num_states
        1
    """
    return machine.apart(meter) if isinstance(machine, Discovered) else machine


def _received(make: Callable[..., Kind], arguments: tuple[Any, ...], budget: Budget) -> Discovered:
    return Discovered(make(*arguments), budget)
