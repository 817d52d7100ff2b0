"""The base of all schemes: a language over characters, and a filter of the tokens that write it.

A state is a pair: what the filter knows of the tokens so far, and the state of the language's own
machine. A token is allowed if both allow it; the text may end where the language may. So a scheme
never writes another text than the language has, and what it masks beside that is a *refusal*, which
explanations ask for.

The language's machine sees to it that the text can be finished with this vocabulary as far as the
language is concerned. A scheme may still lead where only tokens that it forbids go on; then nothing
is allowed, and a run stops with an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from threading import RLock
from typing import Generic, TypeVar

import numpy as np

from explorer.arguments import whole_number
from explorer.automata.constraint import Constraint
from explorer.automata.machine import NO_ARC, Bool, ByteMachine
from explorer.budget import Budget
from explorer.errors import ExplorerError
from explorer.tokens.compile import compile
from explorer.tokens.kept import Kept
from explorer.tokens.machine import Refusal, TokenMachine
from explorer.tokens.report import Report
from explorer.tokens.states import DEAD, DONE, FREE, SENTINEL_DISTANCE, checked_state
from explorer.tokens.words import UInt32, num_words, set_bits, unpack
from explorer.vocabulary import Vocabulary

K = TypeVar("K")
"""What a filter knows of the tokens so far: a value that can be a key."""


class SchemeMachine(ABC, Generic[K]):
    """A token machine that is a language and a filter; thread-safe.

    Args:
        constraint: The language.
        vocabulary: The tokens.
        known: What the filter knows before the first token.
        kind: What to call it in a report.
        budget: Limits for compiling the language.
    """

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        known: K,
        kind: str,
        budget: Budget | None = None,
    ) -> None:
        self._language = compile(constraint, vocabulary, budget, lazy=True)
        self._report = replace(self._language.report, kind=kind)
        start = (known, self._language.start)
        self._states: list[tuple[K, int]] = [start]
        self._numbers = {start: 0}
        self._masks: Kept[int, UInt32] = Kept()
        self._lock = RLock()

    @abstractmethod
    def _after(self, known: K, token: int) -> K | None:
        """What is known after a token that the language allows; ``None`` if it is refused."""

    @abstractmethod
    def _set_tokens(self, known: K, words: UInt32) -> None:
        """Set the bits of the tokens that are not refused; EOS is asked of the language alone."""

    @abstractmethod
    def _reason(self, known: K, token: int) -> Refusal:
        """Why a token is refused that the language allows."""

    @property
    def constraint(self) -> Constraint | None:
        """The language, over characters."""
        return self._language.constraint

    @property
    def language(self) -> TokenMachine:
        """The machine of the language alone, which says what is valid."""
        return self._language

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        return self._language.vocabulary

    @property
    def report(self) -> Report:
        """Times and sizes, those of the language's machine."""
        return self._report

    @property
    def byte_machine(self) -> ByteMachine | None:
        """The machine over bytes of the language: a scheme forbids tokens, not texts."""
        return self._language.byte_machine

    @property
    def start(self) -> int:
        """The start state, 0."""
        return 0

    @property
    def num_states(self) -> int:
        """The number of states met so far."""
        return len(self._states)

    def known(self, state: int) -> K:
        """What the filter knows in a state.

        Args:
            state: A state that was met.
        """
        return self._states[checked_state(state, self.num_states)][0]

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token; ``None`` where it is not allowed."""
        state = checked_state(state, self.num_states)
        token = whole_number("token", token, None)
        if state in (DONE, DEAD, FREE):
            return self._language.step(state, token)
        known, language = self._states[state]
        after = self._language.step(language, token)
        if after is None or after == DONE:
            return after
        following = self._after(known, token)
        if following is None:
            return None
        with self._lock:
            made = (following, after)
            if made not in self._numbers:
                self._numbers[made] = len(self._states)
                self._states.append(made)
            return self._numbers[made]

    def mask(self, state: int) -> UInt32:
        """The mask of a state as packed words; see `TokenMachine.mask`."""
        state = checked_state(state, self.num_states)
        if state < 0:
            return self._language.mask(state)
        with self._lock:
            words = self._masks.get(state)
            if words is None:
                known, language = self._states[state]
                words = np.zeros(num_words(len(self.vocabulary)), np.uint32)
                self._set_tokens(known, words)
                set_bits(words, np.array(self.vocabulary.eos_ids, np.int32))
                words &= self._language.mask(language)
                words.setflags(write=False)
                self._masks.put(state, words, words.nbytes)
            return words

    def allowed(self, state: int) -> Bool:
        """The mask of a state: bool[len(vocabulary)], read-only."""
        found = unpack(self.mask(state), len(self.vocabulary))
        found.setflags(write=False)
        return found

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state."""
        state = checked_state(state, self.num_states)
        return self._language.is_final(state if state < 0 else self._states[state][1])

    def distance_to_end(self, state: int) -> int | None:
        """Known of the sentinels alone; ``None`` of every other state."""
        return SENTINEL_DISTANCE.get(checked_state(state, self.num_states))

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine`; `NO_ARC` for a sentinel."""
        state = checked_state(state, self.num_states)
        return NO_ARC if state < 0 else self._language.byte_state(self._states[state][1])

    def refusal(self, state: int, token: int) -> Refusal | None:
        """Why the scheme masks a token that the language allows; else ``None``.

        Args:
            state: A state or a sentinel.
            token: A token id.
        """
        if state < 0 or self.step(state, token) is not None:
            return None
        known, language = self._states[state]
        return None if self._language.step(language, token) is None else self._reason(known, token)

    def crossed(self, state: int, token: int) -> int:
        """How many borders of terminals a token crosses; 0 where terminals are not known.

        Args:
            state: A state that was met.
            token: A token that is allowed there.
        """
        return 0

    def fixes(self, state: int, token: int) -> bool:
        """Whether a token is fixed text, which the model was not asked about.

        Args:
            state: A state that was met.
            token: A token that is allowed there.
        """
        return False

    def __reduce__(self) -> tuple[object, ...]:
        raise ExplorerError(
            "A machine of a scheme is not stored.",
            remedy="Make it again; its states are numbered as they are met.",
        )
