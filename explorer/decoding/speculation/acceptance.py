"""The share of proposals that are taken: the draft constrained or not, judged in either way.

Without the mask a draft spends its proposals on what is not allowed, most of all where the model
itself would be masked. That is what sharing the masks of the model is good for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from explorer.budget import Budget
from explorer.decoding.batches.generate import generate
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.drafting import Accept, Drafting, checked_draft
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine


@dataclass(frozen=True)
class Acceptance:
    """The proposals of one draft, and how many of them were taken.

    Args:
        masked, accept: As `Drafting` has them.
        proposed: Proposals for places that were reached.
        accepted: How many were taken.
        tokens: How many tokens were written.
        passes: How many forward passes of the model that took.
    """

    masked: bool
    accept: Accept
    proposed: int
    accepted: int
    tokens: int
    passes: int

    @property
    def rate(self) -> float:
        """The share of proposals that were taken; NaN of none."""
        return self.accepted / self.proposed if self.proposed else math.nan

    @property
    def tokens_per_pass(self) -> float:
        """The number of tokens that a forward pass of the model gave; 1 without a draft."""
        return self.tokens / self.passes

    def __str__(self) -> str:
        kind = "constrained" if self.masked else "not constrained"
        return (
            f"draft {kind:<16} {self.accept:<6} {self.accepted:>6,} of {self.proposed:>6,} taken "
            f"({self.rate:.1%}), {self.tokens_per_pass:.2f} tokens a pass"
        )


def measured_acceptance(
    lm: LanguageModel,
    draft: Drafting | LanguageModel,
    prompts: Sequence[Prompt],
    constraint: Constraint | TokenMachine | None,
    *,
    sampler: Sampler = Sampler(),  # noqa: B008 - A frozen value.
    max_tokens: int = 64,
    seed: int = 0,
    budget: Budget | None = None,
) -> tuple[Acceptance, ...]:
    """Write a text for each prompt with the draft constrained and not, judged in each way.

    Args:
        draft: The draft; what it says of ``masked`` and ``accept`` is replaced.
        prompts: Texts to go on with.
        constraint: For all of them.
        sampler: How tokens are chosen; default temperature 1.
        max_tokens: The most tokens of each text; longer ones are cut off.
        seed: Of the random numbers.

    Returns:
        Four rows, each of which prints as a line.

    Raises:
        ExplorerError: As `explorer.generate` has it.

    Example:
        >>> from explorer import load_model, regex
        >>> lm, draft = load_model("tiny"), load_model("tiny-draft")
        >>> prompts = ["Q: What is 12 + 30?\\nA: "] * 4
        >>> rows = measured_acceptance(lm, draft, prompts, regex("[0-9]{1,3}"))
        >>> masked, _, unmasked, _ = rows
        >>> masked.rate > unmasked.rate
        True
    """
    drafting = checked_draft(draft, lm)
    if drafting is None:
        raise ExplorerError("There is no draft to measure.", remedy="Give a language model.")
    machine = Rule.of(constraint, lm.vocabulary, budget).machine
    rows: list[Acceptance] = []
    for masked in (True, False):
        for accept in get_args(Accept):
            texts = generate(
                lm, prompts, machine, sampler, max_tokens, seed=seed, masking_budget=False,
                draft=replace(drafting, masked=masked, accept=accept), log_probs=False,
            )  # fmt: skip
            rows.append(
                Acceptance(
                    masked,
                    accept,
                    sum(text.proposed for text in texts),
                    sum(text.accepted for text in texts),
                    sum(len(text.tokens) for text in texts),
                    sum(text.passes for text in texts),
                )
            )
    return tuple(rows)
