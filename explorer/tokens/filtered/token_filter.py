"""A filter of tokens as a value: the protocol behind `FilteredMachine`.

A filter masks more than the text does: spellings that a tokenizer would not write, tokens that
cross the border of a terminal. Its knowledge of the tokens so far is a hashable value, so the
states of a machine behind it are pairs of a state of the machine before it and such a value.
Filters are
stacked by stacking machines: each stands behind the one before it.

There are two kinds, by the way a row is made. A `MaskFilter` gives a mask at once and does not look
ahead. A `explorer.tokens.filtered.trimmed.TrimmedFilter` could leave dead ends, so a token is
allowed only where a way to the end exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from explorer.budget import Meter
from explorer.tokens.machine import Mark, Refusal, TokenMachine
from explorer.tokens.words import UInt32

K = TypeVar("K", bound=Hashable)
"""A filter's knowledge of the tokens so far."""


@dataclass(frozen=True, slots=True)
class MaskedToken(Generic[K]):
    """A token that the machine before a filter allows and the machine behind it masks.

    Args:
        machine: The machine before the filter.
        state: Its state before the token.
        known: The filter's knowledge of the tokens before it.
        token: The token.
        target: The state of the machine after it, or `DONE`.
        came_by: The token that first led to ``state``; ``None`` where that was not recorded.
    """

    machine: TokenMachine
    state: int
    known: K
    token: int
    target: int
    came_by: int | None


class FilteredRows(ABC, Generic[K]):
    """The rows of a machine behind a filter. Not thread-safe: its owner holds a lock.

    A place is a state of the machine before the filter and the filter's knowledge.
    """

    @abstractmethod
    def is_end(self, place: tuple[int, K]) -> bool:
        """Whether the text may end at a place."""

    @abstractmethod
    def can_finish(self, place: tuple[int, K], meter: Meter) -> bool:
        """Whether the text can be completed from a place.

        Raises:
            BudgetExceeded: The search reached a limit before it found out.
        """

    @abstractmethod
    def set_tokens(self, place: tuple[int, K], words: UInt32, meter: Meter) -> None:
        """Set the bits of the tokens of text that are allowed at a place."""


class TokenFilter(ABC, Generic[K]):
    """A filter of tokens; thread-safe.

    Attributes:
        name: Its name, for explanations and the times of a report.
        kind: The kind of a machine behind it, for a report; empty to keep that of the machine
            before.
        start: Its knowledge before the first token.
    """

    name: str
    kind: str
    start: K

    @abstractmethod
    def after(self, known: K, token: int) -> K | None:
        """The knowledge after a token that the text allows; ``None`` where it is refused."""

    def after_control(self, known: K, token: int) -> K | None:
        """The knowledge after a control token, which writes no text; by default as after text."""
        return self.after(known, token)

    @abstractmethod
    def rows(self, machine: TokenMachine) -> FilteredRows[K]:
        """The rows of a machine behind this filter."""

    @abstractmethod
    def refusal(self, masked: MaskedToken[K]) -> Refusal:
        """The reason why a token is masked."""

    def may_end(self, known: K) -> bool:
        """Whether the filter allows the text to end here; by default everywhere."""
        return True

    def marks(self, known: K, token: int) -> frozenset[Mark]:
        """The remarks of a filter on an allowed token."""
        return frozenset()

    @property
    def nothing_left(self) -> tuple[str, str]:
        """The message and the remedy of the error where the filter leaves no text."""
        return (
            f"The {self.name} filter leaves no spelling of any text.",
            "Leave the stage out, or allow texts that can be written without such tokens.",
        )


class MaskFilter(TokenFilter[K]):
    """A filter that masks by its knowledge alone, without looking ahead.

    It may lead to a state where it refuses every allowed token; then nothing is allowed, and a run
    stops with an error.
    """

    @abstractmethod
    def mask(self, known: K) -> UInt32:
        """uint32[words], the tokens of text that the filter allows."""

    def rows(self, machine: TokenMachine) -> FilteredRows[K]:
        """The rows of a machine: its masks joined with those of the filter."""
        return _MaskedRows(machine, self)


class _MaskedRows(FilteredRows[K]):
    def __init__(self, machine: TokenMachine, rule: MaskFilter[K]) -> None:
        self._machine = machine
        self._filter = rule

    def is_end(self, place: tuple[int, K]) -> bool:
        return self._machine.is_final(place[0]) and self._filter.may_end(place[1])

    def can_finish(self, place: tuple[int, K], meter: Meter) -> bool:
        """True: the text can be finished, and the filter does not look ahead."""
        return True

    def set_tokens(self, place: tuple[int, K], words: UInt32, meter: Meter) -> None:
        state, known = place
        words |= self._filter.mask(known) & self._machine.mask(state)
