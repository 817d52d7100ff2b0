"""Checks a caller's arguments, once, and makes the setting of a run from them.

A run is made with a model (`asked`), from ids of another engine (`given`), or by editing an
existing run (`edited`). Each returns a new `Setting`; nothing is changed in place.

A session's own restriction (`Restrict`) is the stage of `explorer.Constraint.restrict`, which the
session puts around each constraint: before the token stages, so that those still see the whole
text. So it appears in traces, in explanations and on the pipeline bar. A constraint that already
has the same stage is not changed, even if the stage is switched off on the bar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, cast

from explorer.arguments import flag, mapped, plain, whole_number, wrong
from explorer.budget import Budget
from explorer.decoding.models.arguments import (
    MOST_TOKENS,
    ResponsePrefix,
    checked_prompt,
    checked_sampler,
    kept_prompt,
    prefix_ids,
    prompt_ids,
)
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.drafting import Draft, checked_draft
from explorer.decoding.stepping.healing import (
    Heal,
    checked_heal,
    healed,
    healed_of,
    reopened,
    without_healing,
)
from explorer.decoding.stepping.rule import Forced, Rule, checked_forced, read_constraint
from explorer.decoding.stepping.tree import Setting
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint, GivenConstraint, regex
from explorer.languages.stages.restricted import Restricted
from explorer.languages.stages.stage import TextStage
from explorer.languages.stages.staged import stages_of, unstaged, with_stages
from explorer.tokens.machine import TokenMachine, is_free
from explorer.vocabulary import Vocabulary

Restrict = str | Sequence[str] | Mapping[str, object] | Restricted | None
"""``"ascii"`` or another name of `explorer.Constraint.restrict`, several of them, or its arguments
by name, such as ``{"scripts": ["Latin"], "chars": "§"}``."""

_RESTRICT = 'a name such as "ascii", or arguments such as {"scripts": ["Latin"]}'
_RESTRICT_NAMES = ("name", "scripts", "chars", "words")


def checked_restrict(restrict: object) -> Restricted | None:
    """The stage of a session's restriction; ``None`` without one.

    Raises:
        ConstraintError: It is not a restriction, is empty, or has an unknown name.

    Example:
        >>> print(checked_restrict({"scripts": "Latin"}))
        restrict(scripts=['Latin'])
    """
    restrict = plain(restrict)
    if restrict is None or isinstance(restrict, Restricted):
        return restrict
    if isinstance(restrict, Mapping):
        given = mapped("restrict", cast("object", restrict), _RESTRICT, error=ConstraintError)
        unknown = [key for key in given if key not in _RESTRICT_NAMES]
        if unknown:
            raise ConstraintError(
                f"restrict has {unknown[0]!r}, which is not an argument of Constraint.restrict.",
                remedy=f"Use {', '.join(_RESTRICT_NAMES)}.",
            )
        parts = {name: given.get(name, ()) for name in _RESTRICT_NAMES}
        return Restricted.of(
            given.get("name"), parts["scripts"], given.get("chars", ""), parts["words"]
        )
    if isinstance(restrict, Sequence) and not isinstance(restrict, bytes):
        return Restricted.of(cast("Sequence[object]", restrict), (), "", ())
    raise wrong("restrict", restrict, _RESTRICT, error=ConstraintError)


def kept_to(
    constraint: GivenConstraint | TokenMachine | None, restrict: Restricted | None
) -> Constraint | TokenMachine | None:
    """A user's constraint with a session's restriction added as a stage.

    Args:
        restrict: The restriction; ``None`` for none.

    Returns:
        The given object if it already has that stage.

    Raises:
        ConstraintError: It is not a constraint, or a token machine does not know its constraint.
    """
    if not (constraint is None or isinstance(constraint, TokenMachine)):
        constraint = read_constraint(constraint)
    if restrict is None:
        return constraint
    if constraint is None or (isinstance(constraint, TokenMachine) and is_free(constraint)):
        given = regex("(?s:.*)")
    elif isinstance(constraint, Constraint):
        given = constraint
    else:
        if constraint.constraint is None:
            raise ConstraintError(
                "This token machine does not know its constraint, so it cannot be restricted.",
                remedy="Give the constraint itself, or a session without restrict.",
            )
        given = constraint.constraint
    source = without_healing(given).source
    stages = stages_of(source)
    if any(stage == restrict for stage, _ in stages):
        return constraint
    texts = [placed for placed in stages if isinstance(placed[0], TextStage)]
    tokens = [placed for placed in stages if not isinstance(placed[0], TextStage)]
    return Constraint(with_stages(unstaged(source), [*texts, (restrict, True), *tokens]))


class Unchanged(Enum):
    """The type of the default "leave unchanged" for arguments in which ``None`` has a meaning."""

    UNCHANGED = "unchanged"

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged.UNCHANGED
"""The default of the arguments of `Walk.edit`: leave this unchanged."""


@dataclass(frozen=True, eq=False)
class RunOptions:
    """The unchecked options of a run, as given to `Walk`; `asked` checks them."""

    sampler: Sampler
    budget: Budget | None
    max_tokens: int | None
    masking_budget: bool | None
    top_k: int
    heal: Heal
    forced: Forced
    draft: Draft
    restrict: Restrict
    response_prefix: ResponsePrefix


def asked(
    lm: LanguageModel,
    constraint: GivenConstraint | TokenMachine | None,
    prompt: Prompt,
    options: RunOptions,
) -> Setting:
    """The setting of a run with an already checked model.

    Raises:
        ExplorerError: As in `Walk`.
    """
    heal = checked_heal(options.heal)
    forced = checked_forced(options.forced)
    drafting = checked_draft(options.draft, lm)
    kept = checked_restrict(options.restrict)
    begun = prefix_ids(lm, options.response_prefix)
    given = prompt_ids(lm, prompt)
    ids, end = reopened(heal, lm.vocabulary, (*given, *begun))
    rule = healed(kept_to(constraint, kept), end, lm.vocabulary, options.budget, heal == "prompt")
    max_tokens, masking_budget = options.max_tokens, options.masking_budget
    if max_tokens is not None:
        max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    top_k = whole_number("top_k", options.top_k, 1)
    if masking_budget is not None:
        masking_budget = flag("masking_budget", masking_budget)
    return Setting(
        model=lm,
        rule=rule,
        prompt=kept_prompt(checked_prompt(prompt), lm.vocabulary),
        prompt_ids=ids,
        sampler=checked_sampler(options.sampler),
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
    constraint: GivenConstraint | TokenMachine | None,
    prompt: Prompt | None,
    budget: Budget | None,
) -> Setting:
    """The setting of a run from given ids, without a model.

    Raises:
        ExplorerError: As in `Walk.from_ids`.
    """
    return Setting(
        model=None,
        rule=Rule.of(constraint, vocabulary, budget),
        prompt=None if prompt is None else kept_prompt(checked_prompt(prompt), vocabulary),
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
    constraint: GivenConstraint | TokenMachine | Unchanged | None,
    prompt: Prompt | Unchanged,
    sampler: Sampler | Unchanged,
) -> Setting:
    """A setting with another constraint, prompt or sampler.

    Raises:
        ExplorerError: As in `Walk`.
    """
    rule, vocabulary, end = old.rule, old.rule.vocabulary, old.healed
    if not isinstance(prompt, Unchanged):
        given = () if old.model is None else prompt_ids(old.model, prompt)
        ids, end = reopened(old.heal, vocabulary, (*given, *old.begun))
        old = replace(
            old,
            prompt=kept_prompt(checked_prompt(prompt), vocabulary),
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
