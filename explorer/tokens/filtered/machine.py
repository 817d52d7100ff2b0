"""A token machine behind a filter: byte machine × vocabulary × filter.

A state is a pair of a state of the machine before the filter and the filter's knowledge of the
tokens so far (`explorer.tokens.filtered.token_filter`); states are numbered as they are met. One
class serves every filter: canonical tokenization (`canonical`), small machines over tokens
(`rules`), and schemes that see less than the text (`explorer.tokens.schemes`). The table of such a
machine, where it has one, is made by `explorer.tokens.filtered.table`.

Cost at 131,072 tokens: a row behind the canonical filter takes some milliseconds where nearly all
tokens are allowed by the machine before it, and a fraction of one where few are; masks are kept,
64 MB of them. Over a lazy machine a wide row is slower: one step for each token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Generic

from explorer.alphabet import shown_letters
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.words import shortest_word
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError, IncompatibleVocabulary
from explorer.languages.constraint import Constraint
from explorer.tokens.filtered.token_filter import K, MaskedToken, TokenFilter
from explorer.tokens.lazy import NumberedPlaces
from explorer.tokens.machine import Mark, Refusal, TokenMachine, filtered_of, storable_of
from explorer.tokens.report import Report
from explorer.tokens.words import SENTINEL_DISTANCE, UInt32, checked_state


class FilteredMachine(NumberedPlaces[tuple[int, K]], Generic[K]):
    """A token machine behind a filter; thread-safe.

    Args:
        machine: The machine before the filter.
        rule: The filter.
        budget: Limits for each search, such as the one for an end of the text.
        places: The states met so far, by number, the start first.
        constraint: The language with all its stages; by default the machine's own.

    Raises:
        IncompatibleVocabulary: The filter leaves no spelling of any text.
        BudgetExceeded: The search for an end reached a limit.

    Example:
        >>> import explorer
        >>> lm = explorer.load_model("tiny")
        >>> machine = explorer.compile(explorer.regex("[A-Z][a-z]+").canonical(), lm.vocabulary)
        >>> machine.filter_name, machine.report.kind
        ('canonical', 'canonical')
    """

    def __init__(
        self,
        machine: TokenMachine,
        rule: TokenFilter[K],
        budget: Budget,
        places: Sequence[tuple[int, K]] = (),
        constraint: Constraint | None = None,
    ) -> None:
        began = perf_counter()
        super().__init__(machine.vocabulary, places or ((machine.start, rule.start),))
        self._machine = machine
        self._constraint = machine.constraint if constraint is None else constraint
        self._budget = budget
        self._filter = rule
        self._rows = rule.rows(machine)
        # The state and the token that first led to each state, for messages.
        self._came: dict[int, tuple[int, int]] = {}
        if not places and not self._rows.can_finish(self._places[0], Meter(budget)):
            raise nothing_left(machine, rule)
        report = machine.report
        spent = {**report.milliseconds, rule.name: 1e3 * (perf_counter() - began)}
        self._report = replace(
            report,
            milliseconds=spent,
            kind=rule.kind or report.kind,
            method=f"{report.method}, then {rule.name}",
        )

    @property
    def unfiltered(self) -> TokenMachine:
        """The machine before the filter."""
        return self._machine

    @property
    def filter(self) -> TokenFilter[K]:
        """The filter."""
        return self._filter

    @property
    def filter_name(self) -> str:
        """The filter's name."""
        return self._filter.name

    @property
    def constraint(self) -> Constraint | None:
        """The language, with its source and its filters."""
        return self._constraint

    @property
    def report(self) -> Report:
        """Times and sizes; the sizes are those of the machine before the filter."""
        return self._report

    @property
    def byte_machine(self) -> ByteMachine | None:
        """The machine over bytes that this one follows: a filter changes no text."""
        return self._machine.byte_machine

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine` that a state stands for; `NO_ARC` for a sentinel."""
        state = checked_state(state, len(self._places))
        return NO_ARC if state < 0 else self._machine.byte_state(self._places[state][0])

    def known(self, state: int) -> K:
        """The filter's knowledge in a state that was met."""
        return self._places[checked_state(state, len(self._places))][1]

    def text_to(self, state: int) -> bytes | None:
        """The text that first led to a state; ``None`` where that was not recorded."""
        state = checked_state(state, len(self._places))
        tokens: list[int] = []
        while state in self._came:
            state, token = self._came[state]
            tokens.append(token)
        if state != self.start:
            return None
        return self._vocabulary.written(reversed(tokens))

    def distance_to_end(self, state: int) -> int | None:
        """The distance of a sentinel; ``None`` for every other state."""
        return SENTINEL_DISTANCE.get(checked_state(state, len(self._places)))

    def refusal(self, state: int, token: int) -> Refusal | None:
        """The filter's reason for masking a token that the text allows; else ``None``.

        Args:
            state: A state or a sentinel.
            token: A token id.
        """
        if state < 0 or self.step(state, token) is not None:
            return None
        before, known = self._places[state]
        target = self._machine.step(before, token)
        if target is None:
            deeper = filtered_of(self._machine)
            return None if deeper is None else deeper.refusal(before, token)
        _, came_by = self._came.get(state, (None, None))
        return self._filter.refusal(
            MaskedToken(self._machine, before, known, token, target, came_by)
        )

    def marks(self, state: int, token: int) -> frozenset[Mark]:
        """The filter's remarks on a token that is allowed in a state."""
        return frozenset() if state < 0 else self._filter.marks(self._places[state][1], token)

    def _after(self, place: tuple[int, K], token: int) -> tuple[int, K] | None:
        before, known = place
        target = self._machine.step(before, token)
        if target is None or target < 0:
            return None
        control = token in self._vocabulary.letters
        with self._lock:
            read = self._filter.after_control if control else self._filter.after
            after = read(known, token)
        return None if after is None else (target, after)

    def _can_finish(self, place: tuple[int, K]) -> bool:
        return self._rows.can_finish(place, Meter(self._budget))

    def _meet(self, number: int, before: int, token: int) -> None:
        self._came[number] = before, token

    def _is_end(self, place: tuple[int, K]) -> bool:
        return self._rows.is_end(place)

    def _set_tokens(self, place: tuple[int, K], words: UInt32) -> None:
        text = words | ~self._end  # The end of the text was decided before.
        self._rows.set_tokens(place, words, Meter(self._budget))
        words &= text

    def of_constraint(self, constraint: Constraint) -> FilteredMachine[K]:
        """This machine under a constraint that has the same texts."""
        return FilteredMachine(self._machine, self._filter, self._budget, self._places, constraint)

    def save(self, path: str | Path) -> None:
        """Write the table before all filters and the constraint with them to one file.

        Args:
            path: The file; `explorer.tokens.filtered.apply.load_filtered` reads it.

        Raises:
            ExplorerError: The machine before the filters is not a table.
        """
        machine = storable_of(self._machine)
        if machine is None:
            raise ExplorerError(
                "Only a machine over a table can be saved; this one works its rows out.",
                remedy="Compile the constraint with a larger budget, or save its source.",
            )
        if self._constraint is not None:
            machine = machine.of_constraint(self._constraint)
        machine.save(path)

    def __reduce__(self) -> tuple[object, ...]:
        places = tuple(self._places)
        parts = self._machine, self._filter, self._budget, places, self._constraint
        return FilteredMachine, parts

    def __repr__(self) -> str:
        return (
            f"FilteredMachine({self._machine!r}, {self._filter.name}, {self.num_states} states met)"
        )


def nothing_left(machine: TokenMachine, rule: TokenFilter[K]) -> IncompatibleVocabulary:
    """The error of a filter that leaves no text."""
    characters = machine.byte_machine
    word = b"" if characters is None else shortest_word(characters)
    message, remedy = rule.nothing_left
    return IncompatibleVocabulary(
        f"{message} A shortest text is {shown_letters(word, 'backslashreplace')!r}.",
        witness=word,
        offset=0,
        remedy=remedy,
    )
