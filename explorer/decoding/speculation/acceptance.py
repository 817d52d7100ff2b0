"""Measures the rate of accepted proposals, with and without a mask on the draft.

Without the mask a draft wastes proposals on tokens that are not allowed, mostly at steps where the
model itself would be masked. Sharing the model's masks avoids this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from explorer.budget import Budget
from explorer.decoding.batches.generate import generate
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.drafting import Drafting, checked_draft
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine


@dataclass(frozen=True)
class Acceptance:
    """The counts of one draft's proposals and of those accepted.

    Args:
        masked: As in `Drafting`.
        proposed: The number of proposals at positions that were reached.
        accepted: The number of accepted proposals.
        tokens: The number of generated tokens.
        passes: The number of forward passes of the model.
    """

    masked: bool
    proposed: int
    accepted: int
    tokens: int
    passes: int

    @property
    def rate(self) -> float:
        """The share of accepted proposals; NaN without proposals."""
        return self.accepted / self.proposed if self.proposed else math.nan

    @property
    def tokens_per_pass(self) -> float:
        """The mean number of tokens per forward pass of the model; 1 without a draft."""
        return self.tokens / self.passes

    def __str__(self) -> str:
        kind = "constrained" if self.masked else "not constrained"
        return (
            f"draft {kind:<16} {self.accepted:>6,} of {self.proposed:>6,} taken ({self.rate:.1%}), "
            f"{self.tokens_per_pass:.2f} tokens a pass"
        )


def measured_acceptance(
    lm: LanguageModel,
    draft: Drafting | LanguageModel,
    prompts: Sequence[Prompt],
    constraint: GivenConstraint | TokenMachine | None,
    *,
    sampler: Sampler = Sampler(),  # noqa: B008 - A frozen value.
    max_tokens: int = 64,
    seed: int = 0,
    budget: Budget | None = None,
) -> tuple[Acceptance, ...]:
    """Generate texts with the draft masked and unmasked, and count.

    Args:
        draft: The draft; its option ``masked`` is replaced.
        prompts: Texts to continue.
        constraint: The constraint on all texts.
        sampler: By default at temperature 1.
        max_tokens: The most tokens of each text; longer ones are cut off.
        seed: The seed of the random numbers.

    Returns:
        Two results, each of which prints as a line.

    Raises:
        ExplorerError: As in `explorer.generate`.

    Example:
        >>> from explorer import load_model, regex
        >>> lm, draft = load_model("tiny"), load_model("tiny-draft")
        >>> prompts = ["Q: What is 12 + 30?\\nA: "] * 4
        >>> rows = measured_acceptance(lm, draft, prompts, regex("[0-9]{1,3}"))
        >>> masked, unmasked = rows
        >>> masked.rate > unmasked.rate
        True
    """
    drafting = checked_draft(draft, lm)
    if drafting is None:
        raise ExplorerError("There is no draft to measure.", remedy="Give a language model.")
    machine = Rule.of(constraint, lm.vocabulary, budget).machine
    rows: list[Acceptance] = []
    for masked in (True, False):
        texts = generate(
            lm, prompts, machine, sampler, max_tokens, seed=seed, masking_budget=False,
            draft=replace(drafting, masked=masked), log_probs=False,
        )  # fmt: skip
        rows.append(
            Acceptance(
                masked,
                sum(text.proposed for text in texts),
                sum(text.accepted for text in texts),
                sum(len(text.tokens) for text in texts),
                sum(text.passes for text in texts),
            )
        )
    return tuple(rows)
