"""Token machines that number their states as they are met and compute a row on the first visit.

A number stands for a *place*: a state of a byte machine, alone or with a filter's knowledge of the
tokens so far. The machines differ in four methods on places (`_after`, `_can_finish`, `_is_end`,
`_set_tokens`) and share the rest (`NumberedPlaces`): the numbers, the sentinels, the end of the
text, and the masks of visited states, of which 64 MB are kept. `Free` is the machine without a
constraint.

`LazyMachine` is the machine of a constraint whose closed form is too large, or of which only a few
states will ever be visited: a single row is one walk of the token trie from the byte state. The
masks are those of the closed form, entry by entry, and so are the steps; features that need all
rows at once (token classes over all states, a state graph) are not available.

The start is number 0; `byte_state` gives the state of the byte machine that a number stands for.
The byte machine may discover its own states too (`explorer.automata.discovered`); a person is then
shown its closed form, if that is small. Two processes that take the same tokens in the same order
give the same numbers, and a machine that is sent to another process takes its numbers along.

Cost at 131,072 tokens: a row costs as many steps as there are trie nodes that the state can read,
microseconds where few tokens survive and up to a millisecond where nearly all do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

import numpy as np

from explorer.arguments import whole_number
from explorer.automata.discovered.discover import on_stack
from explorer.automata.machine import NO_ARC, Bool, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, NotATable
from explorer.languages.constraint import Constraint
from explorer.memo import Kept, number_of
from explorer.tokens.lost import Lost
from explorer.tokens.report import Report
from explorer.tokens.walks.finishing import finishing_of
from explorer.tokens.walks.trie import Trie, after_token, trie_of, walked, written
from explorer.tokens.walks.walk import walk_trie
from explorer.tokens.words import (
    DEAD,
    DONE,
    FREE,
    SENTINEL_DISTANCE,
    UInt32,
    checked_state,
    has_bits,
    num_words,
    set_bits,
    unpack,
)
from explorer.vocabulary import Vocabulary

P = TypeVar("P", bound=Hashable)


class NumberedPlaces(ABC, Generic[P]):
    """The base of machines that number their states as they meet them; thread-safe.

    Args:
        places: The places met so far, in the order of their numbers; the start first.
    """

    def __init__(self, vocabulary: Vocabulary, places: Sequence[P]) -> None:
        self._vocabulary = vocabulary
        self._places = [*places]
        self._numbers = {place: number for number, place in enumerate(self._places)}
        self._eos = frozenset(vocabulary.eos_ids)
        self._end = np.zeros(num_words(len(vocabulary)), np.uint32)
        set_bits(self._end, np.array(vocabulary.eos_ids, np.int32))
        self._masks: Kept[int, UInt32] = Kept()
        self._lock = RLock()

    @abstractmethod
    def _after(self, place: P, token: int) -> P | None:
        """The place after a token of text; ``None`` where the token cannot be read."""

    @abstractmethod
    def _can_finish(self, place: P) -> bool:
        """Whether the text can be completed from a place; called under the lock."""

    @abstractmethod
    def _is_end(self, place: P) -> bool:
        """Whether the text may end at a place."""

    @abstractmethod
    def _set_tokens(self, place: P, words: UInt32) -> None:
        """Set the bits of the tokens of text that a place allows; called under the lock."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        return self._vocabulary

    @property
    def start(self) -> int:
        """The start state, 0."""
        return 0

    @property
    def num_states(self) -> int:
        """The number of states met so far."""
        return len(self._places)

    def is_final(self, state: int) -> bool:
        """Whether the text may end here, so that EOS is allowed; true of `DONE`.

        Raises:
            ExplorerError: There is no such state.
        """
        state = checked_state(state, len(self._places))
        return self._is_end(self._places[state]) if state >= 0 else state in (DONE, FREE)

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token, numbered now if it is met for the first time.

        Args:
            state: A state or a sentinel.
            token: A token id.

        Returns:
            The next state or `DONE`; ``None`` where the token is not allowed, ids outside the
            vocabulary included.

        Raises:
            ExplorerError: There is no such state.
            BudgetExceeded: The search for whether the text can be finished afterwards reached a
                limit.
        """
        state = checked_state(state, len(self._places))
        if type(token) is not int:
            token = whole_number("token", token, None)
        if not 0 <= token < len(self._vocabulary):
            return None
        if state == FREE and not (token in self._eos and self.start == FREE):
            return FREE
        if token in self._eos:
            return DONE if state != DEAD and self.is_final(state) else None
        if state < 0:
            return None
        place = self._after(self._places[state], token)
        if place is None:
            return None
        number = self._numbers.get(place)
        if number is not None:  # Numbers never change, so a known place needs no lock.
            return number
        with self._lock:
            number = self._numbers.get(place)
            if number is None:
                if not self._can_finish(place):
                    return None
                self._meet(len(self._numbers), state, token)
                number = number_of(place, self._places, self._numbers)
            return number

    def _meet(self, number: int, before: int, token: int) -> None:
        """Record the state and the token that lead to a new state.

        After an interrupt the state may lack its number; another state then gets the number later.
        """

    def mask(self, state: int) -> UInt32:
        """The mask of a state as packed words, computed on the first visit and kept.

        Returns:
            uint32[ceil(len(vocabulary) / 32)], read-only.

        Raises:
            ExplorerError: There is no such state.
            BudgetExceeded: The search for the states that can finish reached a limit.
        """
        state = checked_state(state, len(self._places))
        words = self._masks.get(state)
        if words is None:
            with self._lock:
                words = self._row(state)
            words.setflags(write=False)
            self._masks.put(state, words, words.nbytes)
        return words

    def allowed(self, state: int) -> Bool:
        """The mask of a state, one entry per id: bool[len(vocabulary)], read-only."""
        row = unpack(self.mask(state), len(self._vocabulary))
        row.setflags(write=False)
        return row

    def _row(self, state: int) -> UInt32:
        ends = state == DONE or (state >= 0 and self._is_end(self._places[state]))
        words = self._end.copy() if ends else np.zeros(len(self._end), np.uint32)
        if state == FREE:
            set_bits(words, np.arange(len(self._vocabulary), dtype=np.int32))
        elif state >= 0:
            self._set_tokens(self._places[state], words)
        return words


class Free(NumberedPlaces[int]):
    """A token machine that allows everything; its only states are sentinels.

    Example:
        >>> import explorer
        >>> free = Free(explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2]))
        >>> free.allowed(free.start).tolist()
        [True, True, True]
        >>> free.step(free.start, 1) == free.start, free.step(free.start, 2) == explorer.DONE
        (True, True)
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary, ())

    @property
    def constraint(self) -> None:
        """``None``: every text is allowed."""
        return None

    @property
    def byte_machine(self) -> None:
        """``None``: no machine reads the bytes."""
        return None

    @property
    def report(self) -> Report:
        """An empty report: all figures are 0, and the kind is ``"free"``."""
        live = len(self._vocabulary)
        return Report({}, 0, 0, 0, 0, 0, live, 0, 0, "free", partial(Lost, (), ()), kind="free")

    @property
    def start(self) -> int:
        """The sentinel `FREE`."""
        return FREE

    def distance_to_end(self, state: int) -> int | None:
        """1 from `FREE`, the end of the text; 0 from `DONE`; ``None`` from `DEAD`."""
        return SENTINEL_DISTANCE[checked_state(state, 0)]

    def byte_state(self, state: int) -> int:
        """`NO_ARC`: there is no machine over bytes."""
        checked_state(state, 0)
        return NO_ARC

    # There are no places, so these are never called.
    def _after(self, place: int, token: int) -> int | None:
        return None

    def _can_finish(self, place: int) -> bool:
        return False

    def _is_end(self, place: int) -> bool:
        return False

    def _set_tokens(self, place: int, words: UInt32) -> None:
        return

    def __reduce__(self) -> tuple[type[Free], tuple[Vocabulary]]:
        return Free, (self._vocabulary,)

    def __repr__(self) -> str:
        return f"Free({self._vocabulary!r})"


SHOWN: Final = Budget(states=20_000, arcs=2_000_000, bytes=200_000_000, seconds=2.0)
"""Limits of the closed form that is shown for a machine whose states are discovered."""

ON_STACK: Final = Budget(states=100_000, seconds=2.0)
"""Limits of the machine with a stack that is made to learn how far the end is."""

TABLE_ONLY: Final = frozenset(
    {
        "table", "token_class", "char_state", "accepting", "distance", "stuck", "num_classes",
        "nbytes", "class_row", "walk", "tokens_of_class", "lost", "to", "save", "load",
        "sets", "of_constraint",
    }
)  # fmt: skip
"""The names of `explorer.TokenDFA` that a machine without a table does not have."""

_SIZES: Final = ("states", "arcs", "bytes", "seconds")


def _at_most(budget: Budget, most: Budget) -> Budget:
    return Budget(**{name: min(getattr(budget, name), getattr(most, name)) for name in _SIZES})


def _set_further(trie: Trie, words: UInt32) -> None:
    """Copy the bit of each word's first id to the other ids with the same bytes."""
    if len(trie.further_id):
        allowed = has_bits(words, trie.first_id[trie.further_word])
        set_bits(words, trie.further_id[allowed])


class LazyMachine(NumberedPlaces[int]):
    """The token machine of a constraint, row by row; thread-safe.

    Made by ``explorer.compile(constraint, vocabulary, lazy=True)``.

    Args:
        constraint: The language.
        vocabulary: The tokens.
        byte_machine: The machine over bytes; its language is not empty.
        report: Times and sizes of the compilation.
        budget: Limits for each search, such as the one for an end of the text.
        byte_states: States of ``byte_machine`` by the numbers given to them, the start first.
        came_by: For each of those but the start, a preceding state and the token from there.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> machine = explorer.compile(explorer.regex("(foo)+d"), vocab, lazy=True)
        >>> [vocab.tokens[i] for i in machine.allowed(machine.start).nonzero()[0]]
        [b'f', b'foo', b'food']
        >>> machine.step(machine.step(machine.start, 4), 5) == explorer.DONE
        True
        >>> machine.num_states  # the start, and after "food"
        2
    """

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        byte_machine: ByteMachine,
        report: Report,
        budget: Budget,
        byte_states: tuple[int, ...] = (),
        came_by: tuple[tuple[int, int], ...] = (),
    ) -> None:
        super().__init__(vocabulary, byte_states or (byte_machine.start,))
        self._constraint = constraint
        self._walked = byte_machine
        self._report = report
        self._budget = budget
        self._trie = trie_of(vocabulary, byte_machine)
        self._letters_stand = constraint.source.letters_stand
        self._finishing = finishing_of(byte_machine, self._trie, self._letters_stand)
        self._over_tokens = byte_machine.over_tokens
        self._beyond_bytes = self._over_tokens or byte_machine.reads_letters
        self._words = walked(self._trie, plain=not self._over_tokens)
        self._came_by = list(came_by)
        self._within: Kept[tuple[int, int], UInt32] = Kept()
        self._states_on_stack = [0]
        self._distances_after: Kept[int, dict[int, int]] = Kept()
        # The small closed form that a person is shown; see `byte_machine`.
        self._shown: ByteMachine | None = None
        self._shown_states: list[int] = []
        self._shown_finishing = self._finishing

    @property
    def constraint(self) -> Constraint:
        """The language, with its source."""
        return self._constraint

    @property
    def report(self) -> Report:
        """Times and sizes of the compilation; the kind is ``"lazy"``."""
        return self._report

    @property
    def byte_machine(self) -> ByteMachine:
        """The machine over bytes that this one follows, in the form that a person is shown.

        Where the states are discovered, that is the minimal closed form if it is small (`SHOWN`),
        built when it is first asked for; two states may then stand for one state of it.
        """
        if self._shown is None:
            with self._lock:
                self._shown = self._as_shown()
        return self._shown

    def _as_shown(self) -> ByteMachine:
        walked = self._walked
        if walked.closed is not None:
            return walked
        try:
            shown = self._constraint.for_tokens(Meter(_at_most(self._budget, SHOWN)))
        except BudgetExceeded:
            return walked
        self._shown_states = [shown.start]
        self._shown_finishing = finishing_of(shown, self._trie, self._letters_stand)
        return shown

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine` that a state stands for; `NO_ARC` for a sentinel."""
        state = checked_state(state, len(self._places))
        if state < 0:
            return NO_ARC
        machine = self.byte_machine
        if machine is self._walked:
            return self._places[state]
        with self._lock:
            known = self._shown_states
            for before, token in self._came_by[len(known) - 1 : state]:
                here = known[before]
                for symbol in written(self._vocabulary, machine, token):
                    here = machine.step(here, symbol)
                known.append(here)
            return known[state]

    def text_to(self, state: int) -> bytes:
        """The text that first led to a state."""
        state = checked_state(state, len(self._places))
        tokens: list[int] = []
        while state > 0:
            state, token = self._came_by[state - 1]
            tokens.append(token)
        return self._vocabulary.written(reversed(tokens))

    def can_finish(self, byte_state: int) -> bool:
        """Whether this vocabulary can finish from a state of `byte_machine`.

        Raises:
            ExplorerError: There is no such state.
            BudgetExceeded: The search reached a limit.
        """
        byte_state = whole_number("byte_state", byte_state, 0, self.byte_machine.num_states - 1)
        return self._shown_finishing.can_finish(byte_state, Meter(self._budget))

    def can_write(self) -> bool:
        """Whether this vocabulary can write any word at all.

        Raises:
            BudgetExceeded: The search reached a limit.
        """
        return self._finishing.can_finish(self._walked.start, Meter(self._budget))

    def distance_to_end(self, state: int) -> int | None:
        """The fewest tokens to the end of the text, EOS included, where it is known.

        Computed when it is first asked for, and exact: by saturation for a grammar
        (`explorer.tokens.saturation`), else by a search over rows. ``None`` from `DEAD`, where the
        search would visit more than `explorer.tokens.walks.finishing.MOST_ROWS` rows or reaches
        another limit, and where a grammar is too large.

        Raises:
            ExplorerError: There is no such state.
            BudgetExceeded: The saturation of a grammar reached a limit.
        """
        state = checked_state(state, len(self._places))
        if state < 0:
            return SENTINEL_DISTANCE[state]
        if self._on_stack is not None:
            return self._on_stack.distance_to_end(self._state_on_stack(state))
        return self._finishing.distance(self._places[state], Meter(self._budget))

    @cached_property
    def _on_stack(self) -> LazyMachine | None:
        """A machine of the same texts that has a stack, and so knows how far the end is; ``None``
        where this one has a stack, nests to a limit, or is too large."""
        if self._over_tokens or self._walked.closed or self._walked.stacks:
            return None
        with suppress(BudgetExceeded):
            limits = Meter(_at_most(self._budget, ON_STACK))
            machine = on_stack(self._constraint.source.tree, self._budget, limits)
            if machine is not None:
                given = self._constraint, self._vocabulary, machine, self._report, self._budget
                return LazyMachine(*given)
        return None

    def _state_on_stack(self, state: int) -> int:
        """The state of `_on_stack` after the same tokens."""
        with self._lock:
            known = self._states_on_stack
            for before, token in self._came_by[len(known) - 1 : state]:
                known.append(cast("LazyMachine", self._on_stack).step(known[before], token) or 0)
            return known[state]

    @property
    def knows_distances(self) -> bool:
        """Whether `distance_to_end` is known in every state, so that a token budget can be planned:
        for a grammar, or values that nest without end, if not too large."""
        if self._on_stack is not None:
            return self._on_stack.knows_distances
        return self._finishing.knows_distances(self._walked.start, Meter(self._budget))

    def mask_within(self, state: int, remaining: int) -> UInt32:
        """The mask of the tokens after which the text can still be ended in time.

        Args:
            state: A state or a sentinel; no budget changes the mask of a sentinel.
            remaining: The number of tokens that may still be written, EOS included.

        Returns:
            As `mask`, read-only; where the budget removes nothing, the same object.

        Raises:
            ExplorerError: There is no such state, or ``remaining`` is not a whole number.
            BudgetExceeded: It took too long.
        """
        state = checked_state(state, len(self._places))
        remaining = whole_number("remaining", remaining, None)
        whole = self.mask(state)
        if state < 0:
            return whole
        if self._on_stack is not None:
            words = self._on_stack.mask_within(self._state_on_stack(state), remaining)
            return whole if np.array_equal(words, whole) else words
        with self._lock:
            place, meter = self._places[state], Meter(self._budget)
            needed = self._needed_after(state, place, meter)
            if remaining >= max(needed.values(), default=0) + 1 and remaining > 0:
                return whole
            words = self._within.get((state, remaining))
            if words is None:
                words = np.zeros_like(whole)
                fits = [target for target, most in needed.items() if most < remaining]
                seen = walk_trie(self._walked, self._trie, place)
                set_bits(words, self._trie.first_id[seen.leading_to(np.array(fits, np.int32))])
                _set_further(self._trie, words)
                if remaining > 0 and self._is_end(place):
                    set_bits(words, np.array(self._vocabulary.eos_ids, np.int32))
                words.setflags(write=False)
                self._within.put((state, remaining), words, words.nbytes)
            return words

    def _needed_after(self, state: int, place: int, meter: Meter) -> dict[int, int]:
        """The distance to the end from each byte state that one token reaches from a place."""
        known = self._distances_after.get(state)
        if known is None:
            finishing = self._finishing
            known = {
                target: distance
                for target in finishing.targets(place, meter)
                if (distance := finishing.distance(target, meter)) is not None
            }
            self._distances_after.put(state, known, 100 * len(known) + 100)
        return known

    def _after(self, place: int, token: int) -> int | None:
        if self._beyond_bytes:
            symbols = written(self._vocabulary, self._walked, token)
        else:
            symbols = self._vocabulary.tokens[token] or b""
        here = after_token(self._walked, place, symbols)
        return None if here == NO_ARC else here

    def _can_finish(self, place: int) -> bool:
        finishing = self._finishing
        return finishing.all_finish or finishing.can_finish(place, Meter(self._budget))

    def _is_end(self, place: int) -> bool:
        return self._walked.is_accepting(place)

    def _meet(self, number: int, before: int, token: int) -> None:
        del self._came_by[number - 1 :]  # The start has no entry.
        self._came_by.append((before, token))

    def _set_tokens(self, place: int, words: UInt32) -> None:
        trie, finishing = self._trie, self._finishing
        if finishing.all_finish:
            self._walked.set_words(self._words, place, words)
        else:
            seen, meter = walk_trie(self._walked, trie, place), Meter(self._budget)
            targets: list[int] = seen.distinct().tolist()
            able = [target for target in targets if finishing.can_finish(target, meter)]
            set_bits(words, trie.first_id[seen.leading_to(np.array(able, np.int32))])
        _set_further(trie, words)

    def with_reason(self, reason: str) -> LazyMachine:
        """The same machine at its start, with the reason why it is lazy in its report.

        Args:
            reason: A sentence.

        Example:
            >>> import explorer
            >>> vocab = explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1])
            >>> lazy = explorer.compile(explorer.regex("a+"), vocab, lazy=True)
            >>> lazy.with_reason("A table was over the budget.").report.reason
            'A table was over the budget.'
        """
        report = replace(self._report, reason=reason)
        return LazyMachine(self._constraint, self._vocabulary, self._walked, report, self._budget)

    if not TYPE_CHECKING:  # A type checker knows what is there.

        def __getattr__(self, name: str) -> object:
            if name not in TABLE_ONLY:
                raise AttributeError(f"'LazyMachine' object has no attribute {name!r}")
            reason, larger = self._report.reason, "lazy=False"
            if reason:
                reason, larger = f" It was not made a table: {reason}", "a larger budget"
            raise NotATable(
                f"This machine is lazy: it works its states out as they are visited, so it has no "
                f"{name!r}, which needs all of them.{reason}",
                remedy=f"Compile with {larger} for a table, or ask for one state at a time, such "
                "as distance_to_end(state). explorer.tokens.machine.table_of(machine) tells "
                "whether a machine is a table.",
                evidence={"name": name, "reason": self._report.reason},
            )

    def __reduce__(self) -> tuple[object, ...]:
        return LazyMachine, (
            self._constraint,
            self._vocabulary,
            self._walked,
            self._report,
            self._budget,
            tuple(self._places),
            tuple(self._came_by),
        )

    def __repr__(self) -> str:
        return (
            f"LazyMachine({self._constraint!r}, {self.num_states} states met, "
            f"{len(self._vocabulary):,} tokens)"
        )
