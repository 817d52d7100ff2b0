"""From a machine of texts to one behind the token stages of a constraint: one registry.

The source of a constraint lists its stages (`explorer.languages.stages`). Each kind registers here
the function that filters a token machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from explorer.budget import Budget, Meter
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.stages.stage import TokenStage
from explorer.languages.stages.tokens import (
    Canonical,
    SpellingStage,
    WithoutIsolatedSpaces,
    WithoutRedundantBytes,
)
from explorer.tokens.filtered.canonical import canonical_machine
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.filtered.of_tokenizer import check_same
from explorer.tokens.filtered.rules import TokenRule, isolated_spaces, redundant_bytes
from explorer.tokens.filtered.table import filtered_table
from explorer.tokens.machine import TokenMachine, table_of
from explorer.tokens.token_dfa import load_texts
from explorer.vocabulary import Vocabulary

Stage = TypeVar("Stage", bound=TokenStage)
Filter = Callable[[Stage, TokenMachine, Constraint, Budget], TokenMachine]

_FILTERS: Final[dict[type[TokenStage], Filter[Any]]] = {}


def filters(kind: type[Stage]) -> Callable[[Filter[Stage]], Filter[Stage]]:
    """Register the function that filters a machine for a kind of stage; a decorator.

    Args:
        kind: The class of the stage. Its function takes the stage, the machine before it, the
            constraint with all its stages, and a budget.
    """

    def known(function: Filter[Stage]) -> Filter[Stage]:
        _FILTERS[kind] = function
        return function

    return known


def filtered(machine: TokenMachine, constraint: Constraint, budget: Budget) -> TokenMachine:
    """A machine of texts behind the token stages of a constraint.

    Args:
        machine: The machine of the constraint's texts.
        budget: Limits for each stage.

    Returns:
        The machine behind the last stage; the same machine if there is none.

    Raises:
        UnsupportedTokenizer: A stage does not follow the tokenizer of the vocabulary.
        IncompatibleVocabulary: Nothing is left.
        BudgetExceeded: A limit was reached.
    """
    # Rules filter a table into a table, so they go first; the canonical filter takes any machine.
    stages: tuple[TokenStage, ...] = constraint.source.token_stages
    for stage in sorted(stages, key=lambda stage: isinstance(stage, Canonical)):
        function = _FILTERS.get(type(stage))
        if function is None:
            raise ConstraintError(
                f"The stage {stage.kind!r} does not say how it filters a machine.",
                remedy="Register a function for it with explorer.tokens.filtered.apply.filters.",
            )
        machine = function(stage, machine, constraint, budget)
    return machine


def load_filtered(
    path: str | Path, vocabulary: Vocabulary, budget: Budget | None = None
) -> TokenMachine:
    """Load a machine that was saved behind token stages, and apply the stages again.

    Args:
        path: A file that the machine's ``save`` wrote.
        vocabulary: The vocabulary that it was compiled for; its tokenizer is asked again.
        budget: Limits for the stages.

    Raises:
        DamagedFile: As in `explorer.TokenDFA.load`.
        ExplorerError: As in `filtered`.
    """
    machine = load_texts(path, vocabulary)
    return filtered(machine, machine.constraint, Meter(budget).budget)


@filters(WithoutRedundantBytes)
def _without_bytes(
    stage: WithoutRedundantBytes, machine: TokenMachine, constraint: Constraint, budget: Budget
) -> TokenMachine:
    return _behind_rule(machine, redundant_bytes(_tokenizer_of(stage, machine)), constraint, budget)


@filters(WithoutIsolatedSpaces)
def _without_spaces(
    stage: WithoutIsolatedSpaces, machine: TokenMachine, constraint: Constraint, budget: Budget
) -> TokenMachine:
    return _behind_rule(machine, isolated_spaces(_tokenizer_of(stage, machine)), constraint, budget)


def _behind_rule(
    machine: TokenMachine, rule: TokenRule, constraint: Constraint, budget: Budget
) -> TokenMachine:
    """A machine behind a rule; of a table the result is a table."""
    table = table_of(machine)
    if table is None:
        return FilteredMachine(machine, rule, budget, constraint=constraint)
    return filtered_table(table, rule, constraint, Meter(budget))


def _tokenizer_of(stage: SpellingStage, machine: TokenMachine) -> Vocabulary:
    """The vocabulary with the tokenizer that a stage was given.

    Raises:
        VocabularyError: The given one belongs to another tokenizer.
    """
    if stage.given is None:
        return machine.vocabulary
    check_same(stage.given, machine.vocabulary)
    return replace(machine.vocabulary, _encoder=stage.given.encoder)


@filters(Canonical)
def _canonically(
    stage: Canonical, machine: TokenMachine, constraint: Constraint, budget: Budget
) -> TokenMachine:
    return canonical_machine(machine, stage.rules(machine.vocabulary), budget, constraint)
