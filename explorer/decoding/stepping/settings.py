"""From what a caller asks for to the setting of a run: arguments are checked here, once.

A run is asked for with a model (`asked`), given by ids from elsewhere (`given`), or edited from a
run that there is (`edited`). Each gives a new `Setting`; nothing is changed in place.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from explorer.arguments import flag, whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import (
    MOST_TOKENS,
    checked_prompt,
    checked_sampler,
    kept_prompt,
    prompt_ids,
)
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.models.prefix import ResponsePrefix, prefix_ids
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.proposing import AnyDraft, checked_drafter
from explorer.decoding.stepping.forced import Forced, checked_forced
from explorer.decoding.stepping.healing import Heal, checked_heal, healed, healed_of, reopened
from explorer.decoding.stepping.kept_to import Restrict, checked_restrict, kept_to
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.stepping.tree import Setting
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary


class Unchanged(Enum):
    """The default "leave as it was", where ``None`` already has a meaning."""

    UNCHANGED = "unchanged"

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged.UNCHANGED
"""The default of `Walk.edit`: leave this as it was."""


def asked(
    lm: LanguageModel,
    constraint: Constraint | TokenMachine | None,
    prompt: Prompt,
    *,
    sampler: Sampler,
    budget: Budget | None,
    max_tokens: int | None,
    masking_budget: bool | None,
    top_k: int,
    heal: Heal,
    forced: Forced,
    draft: AnyDraft,
    restrict: Restrict,
    response_prefix: ResponsePrefix,
) -> Setting:
    """The setting of a run with a model; the arguments are those of `Walk`.

    Args:
        lm: The model, checked.
        constraint, prompt, sampler, budget, max_tokens, masking_budget, top_k, heal, forced,
            draft, restrict, response_prefix: As the caller gave them.

    Raises:
        ExplorerError: As `Walk` has it.
    """
    heal = checked_heal(heal)
    forced = checked_forced(forced)
    drafting = checked_drafter(draft, lm)
    kept = checked_restrict(restrict)
    begun = prefix_ids(lm, response_prefix)
    given = prompt_ids(lm, prompt)
    ids, end = reopened(heal, lm.vocabulary, (*given, *begun))
    rule = healed(kept_to(constraint, kept), end, lm.vocabulary, budget, heal == "prompt")
    if max_tokens is not None:
        max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    top_k = whole_number("top_k", top_k, 1)
    if masking_budget is not None:
        masking_budget = flag("masking_budget", masking_budget)
    return Setting(
        model=lm,
        rule=rule,
        prompt=kept_prompt(checked_prompt(prompt)),
        prompt_ids=ids,
        sampler=checked_sampler(sampler),
        max_tokens=max_tokens,
        masking_budget=rule.plans(max_tokens, masking_budget),
        budget_asked=masking_budget,
        top_k=top_k,
        heal=heal,
        healed=end,
        forced=forced,
        drafting=drafting,
        restrict=kept,
        begun=begun,
        prefixed=max(0, len(ids) - len(given)),
    )


def given(
    vocabulary: Vocabulary,
    constraint: Constraint | TokenMachine | None,
    prompt: Prompt | None,
    budget: Budget | None,
) -> Setting:
    """The setting of a run from elsewhere, which has no model.

    Args:
        vocabulary: What the ids mean.
        constraint: What the text was meant to be.
        prompt: For display only.
        budget: Limits for compiling the constraint.

    Raises:
        ExplorerError: As `Walk.from_ids` has it.
    """
    return Setting(
        model=None,
        rule=Rule.of(constraint, vocabulary, budget),
        prompt=None if prompt is None else kept_prompt(checked_prompt(prompt)),
        prompt_ids=(),
        sampler=Sampler(),
        max_tokens=None,
        masking_budget=True,
        top_k=1,
    )


def edited(
    old: Setting,
    budget: Budget | None,
    *,
    constraint: Constraint | TokenMachine | Unchanged | None,
    prompt: Prompt | Unchanged,
    sampler: Sampler | Unchanged,
) -> Setting:
    """A setting with another constraint, prompt or sampler.

    Args:
        old: The setting as it was.
        budget: Limits for compiling the constraint.
        constraint, prompt, sampler: The new ones; `UNCHANGED` for the old one.

    Raises:
        ExplorerError: As `Walk` has it.
    """
    rule, vocabulary, end = old.rule, old.rule.vocabulary, old.healed
    if not isinstance(prompt, Unchanged):
        given = () if old.model is None else prompt_ids(old.model, prompt)
        ids, end = reopened(old.heal, vocabulary, (*given, *old.begun))
        old = replace(
            old,
            prompt=kept_prompt(checked_prompt(prompt)),
            prompt_ids=ids,
            healed=end,
            prefixed=max(0, len(ids) - len(given)),
        )
    if not isinstance(constraint, Unchanged):
        constraint = kept_to(constraint, old.restrict)
        rule = healed(constraint, end, vocabulary, budget, old.heal == "prompt")
    elif end != healed_of(rule):
        rule = healed(rule.machine, end, vocabulary, budget, old.heal == "prompt")
    if rule is not old.rule:
        old = replace(old, masking_budget=rule.plans(old.max_tokens, old.budget_asked))
    if not isinstance(sampler, Unchanged):
        old = replace(old, sampler=checked_sampler(sampler))
    return replace(old, rule=rule)
