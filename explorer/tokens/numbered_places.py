"""A token machine that numbers its states as they are met and computes a row on the first visit.

A number stands for a *place*: a state of a byte machine, alone or with a filter's knowledge of the
tokens so far. The machines differ in four methods on places (`_after`, `_can_finish`, `_is_end`,
`_set_tokens`) and share the rest: the numbers, the sentinels, the end of the text, and
the masks of visited states, of which 64 MB are kept. `Free` is the machine without a constraint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import partial
from threading import RLock
from typing import Generic, TypeVar

import numpy as np

from explorer.arguments import whole_number
from explorer.automata.machine import NO_ARC, Bool
from explorer.memo import Kept
from explorer.numbering import number_of
from explorer.tokens.lost import Lost
from explorer.tokens.report import Report
from explorer.tokens.words import (
    DEAD,
    DONE,
    FREE,
    SENTINEL_DISTANCE,
    UInt32,
    checked_state,
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
