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

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.compile import compile
from explorer.tokens.machine import Refusal, TokenMachine
from explorer.tokens.numbered_places import NumberedPlaces
from explorer.tokens.report import Report
from explorer.tokens.states import SENTINEL_DISTANCE, checked_state
from explorer.tokens.words import UInt32
from explorer.vocabulary import Vocabulary

K = TypeVar("K", bound=Hashable)
"""What a filter knows of the tokens so far: a value that can be a key."""


class SchemeMachine(NumberedPlaces[tuple[K, int]], Generic[K]):
    """A token machine that is a language and a filter; thread-safe.

    A place is what the filter knows of the tokens so far, and the state of the language's machine.

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
        super().__init__(vocabulary, ((known, self._language.start),))

    @abstractmethod
    def _reads(self, known: K, token: int) -> K | None:
        """What is known after a token that the language allows; ``None`` if it is refused."""

    @abstractmethod
    def _set_known(self, known: K, words: UInt32) -> None:
        """Set the bits of the tokens of text that are not refused."""

    @abstractmethod
    def _reason(self, known: K, token: int) -> Refusal:
        """Why a token is refused that the language allows."""

    def _after(self, place: tuple[K, int], token: int) -> tuple[K, int] | None:
        known, language = place
        target = self._language.step(language, token)
        following = None if target is None else self._reads(known, token)
        return None if target is None or following is None else (following, target)

    def _can_finish(self, place: tuple[K, int]) -> bool:
        """True: the language can be finished, and a scheme looks no further."""
        return True

    def _is_end(self, place: tuple[K, int]) -> bool:
        return self._language.is_final(place[1])

    def _set_tokens(self, place: tuple[K, int], words: UInt32) -> None:
        known, language = place
        allowed = np.zeros_like(words)
        self._set_known(known, allowed)
        words |= allowed & self._language.mask(language) & ~self._end

    @property
    def constraint(self) -> Constraint | None:
        """The language, over characters."""
        return self._language.constraint

    @property
    def language(self) -> TokenMachine:
        """The machine of the language alone, which says what is valid."""
        return self._language

    @property
    def report(self) -> Report:
        """Times and sizes, those of the language's machine."""
        return self._report

    @property
    def byte_machine(self) -> ByteMachine | None:
        """The machine over bytes of the language: a scheme forbids tokens, not texts."""
        return self._language.byte_machine

    def known(self, state: int) -> K:
        """What the filter knows in a state.

        Args:
            state: A state that was met.
        """
        return self._places[checked_state(state, self.num_states)][0]

    def distance_to_end(self, state: int) -> int | None:
        """Known of the sentinels alone; ``None`` of every other state."""
        return SENTINEL_DISTANCE.get(checked_state(state, self.num_states))

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine`; `NO_ARC` for a sentinel."""
        state = checked_state(state, self.num_states)
        return NO_ARC if state < 0 else self._language.byte_state(self._places[state][1])

    def refusal(self, state: int, token: int) -> Refusal | None:
        """Why the scheme masks a token that the language allows; else ``None``.

        Args:
            state: A state or a sentinel.
            token: A token id.
        """
        if state < 0 or self.step(state, token) is not None:
            return None
        known, language = self._places[state]
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
