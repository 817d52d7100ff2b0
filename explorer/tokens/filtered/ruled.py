"""A filter that is a small machine over tokens, on a machine that is not a table.

`explorer.tokens.filtered.table` multiplies the two whole; here the product is followed from state
to state, as far as it is visited. What counts of the tokens so far is the state of the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explorer.automata.machine import Bool, Int32
from explorer.budget import Budget
from explorer.languages.constraint import Constraint
from explorer.tokens.filtered.finding import Place
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.filtered.table import REFUSED, TokenRule, unknown_spelling
from explorer.tokens.filtered.token_filter import Group, Int64, WrittenSoFar, distinct
from explorer.tokens.machine import Filtered, Refusal, TokenMachine
from explorer.vocabulary import Vocabulary


class RuleFilter:
    """A filter of the tokens that a rule allows after some others; thread-safe.

    Args:
        rule: The rule.
        vocabulary: The tokens.
    """

    reach = 1
    """The state after a token does not depend on which token it was."""

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary) -> None:
        self._rule = rule
        sizes = [len(data or b"") for data in vocabulary.tokens]
        self._lengths: Int64 = np.array(sizes, np.int64)
        self.usable: Bool = np.array([data is not None for data in vocabulary.tokens])

    @property
    def lengths(self) -> Int64:
        """int64[ids], in bytes."""
        return self._lengths

    def may_end(self, written: WrittenSoFar) -> bool:
        """Whether the text may end: the rule allows it anywhere."""
        return True

    def after(self, written: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the rule refuses it."""
        following = int(self._rule.table[written.places[0], self._rule.kind_of[token]])
        return None if following == REFUSED else WrittenSoFar(0, (following,))

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The states of the rule after each of some tokens."""
        reached: Int32 = self._rule.table[written.places[0]][self._rule.kind_of[tokens]]
        group_of = np.full(len(tokens), -1, np.int64)
        able = reached != REFUSED
        group_of[able], firsts = distinct([reached[able]])
        return [((int(state),), 0) for state in reached[able][firsts]], group_of

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        return WrittenSoFar(0, *group)

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """All tokens of a group lead to the same state."""
        return np.ones(len(tokens), np.bool_)


class RuledMachine(FilteredMachine):
    """A token machine behind a rule, worked out as it is visited; thread-safe.

    Args:
        machine: The machine without the rule.
        rule: The rule.
        budget: Limits for each question that searches.
        places: The states that were met, by number, the start first.
        constraint: The language with all its stages; default that of the machine.

    Raises:
        IncompatibleVocabulary: The rule leaves no spelling of any text.
        BudgetExceeded: It took too long to find out.
    """

    def __init__(
        self,
        machine: TokenMachine,
        rule: TokenRule,
        budget: Budget,
        places: Sequence[Place] = (),
        constraint: Constraint | None = None,
    ) -> None:
        self._rule = rule
        self._left = f"The {rule.name} filter leaves no spelling of any text."
        checked = RuleFilter(rule, machine.vocabulary)
        super().__init__(machine, checked, machine.report.kind, budget, places, constraint)

    @property
    def rule(self) -> TokenRule:
        """The rule."""
        return self._rule

    def refusal(self, state: int, token: int) -> Refusal | None:
        """Why the rule masks a token that the machine without it allows; else ``None``.

        Args:
            state: A state or a sentinel.
            token: A token id.
        """
        if state < 0 or self.step(state, token) is not None:
            return None
        before, written = self._places[state]
        if self._machine.step(before, token) is None:
            deeper = self._machine
            return deeper.refusal(before, token) if isinstance(deeper, Filtered) else None
        if self._filter.after(written, token) is None:
            return Refusal(self._rule.name, self._rule.instead(written.places[0], token))
        target = self._machine.step(before, token)
        return self._rule.refused_later(self._machine, target, written.places[0], token)

    def __reduce__(self) -> tuple[object, ...]:
        rule = replace(self._rule, instead=unknown_spelling)
        places = tuple(self._places)
        return RuledMachine, (self._machine, rule, self._budget, places, self._constraint)

    def __repr__(self) -> str:
        return f"RuledMachine({self._machine!r}, {self.num_states} states met)"
