"""A comparison of one prompt with and without a constraint: where the runs differ, and the cost.

Definition 2.1 of Beurer-Kellner et al. (2024): a way of constraining is minimally invasive if every
valid output that the model can write by itself is written under the constraint too, token by token,
from the same prompt. Here that is a *law of each prefix*: as long as the language allows the tokens
that the model writes by itself, the constrained run writes the same ones. A run that breaks it has
a `violation`: the first token that differs. Where the language ends and the model would go on, the
constrained run writes the end; the law says nothing about what follows.

Both runs draw with the same random numbers (`explorer.decoding.speculation.own_first`).

The tokens that a *scheme* forbids beyond the language (those that cross terminals, say) are judged
by the language: give the language as ``constraint`` and the scheme as ``machine``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from explorer.arguments import whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import (
    LAST_SEED,
    MOST_TOKENS,
    checked_model,
    prompt_ids,
)
from explorer.decoding.models.model import LanguageModel, LogitsStore, Prompt
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.own_first import OwnFirstText, followed, without_filters
from explorer.decoding.stepping.rule import Rule
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE

Outcome = Literal["valid", "goes on", "cut", "invalid"]
"""The kind of text that the model writes without the constraint.

``"valid"`` is a text of the language, ``"goes on"`` one that continues where the language must end,
``"cut"`` a prefix of one, and ``"invalid"`` any other text.
"""

_LOGITS_BYTES: Final = 64_000_000


@dataclass(frozen=True)
class RunPair:
    """A pair of runs from one prompt, with the same random numbers.

    Args:
        free: The run without the constraint.
        constrained: The run under the constraint.
        outcome: The kind of text that the free run wrote.
        valid: The number of its tokens, from the first on, that the language allows.
        bridges: The number of tokens of the constrained run that cross a border of terminals;
            ``None`` where terminals are not known.
    """

    free: OwnFirstText
    constrained: OwnFirstText
    outcome: Outcome
    valid: int
    bridges: int | None = None

    @property
    def parted(self) -> int | None:
        """The index of the first token that differs; ``None`` if one run begins the other."""
        pairs = zip(self.free.tokens, self.constrained.tokens, strict=False)
        return next((k for k, (own, made) in enumerate(pairs) if own != made), None)

    @property
    def violation(self) -> int | None:
        """The index of the first token that differs although the language allows the model's own;
        ``None`` if definition 2.1 holds."""
        made = self.constrained.tokens
        return next(
            (
                k
                for k, own in enumerate(self.free.tokens[: self.valid])
                if k >= len(made) or made[k] != own
            ),
            None,
        )

    @property
    def interventions(self) -> float:
        """The share of steps at which the model's own choice was not allowed."""
        return 1 - self.constrained.hit_rate

    @property
    def perplexity_free(self) -> float:
        """The perplexity per token of the free text under the model."""
        return _perplexity(self.free)

    @property
    def perplexity(self) -> float:
        """The perplexity per token of the constrained text under the unconstrained model."""
        return _perplexity(self.constrained)

    def __str__(self) -> str:
        own = f"{self.outcome}, perplexity {self.perplexity_free:.2f}"
        lines = [
            f"free         {self.free.text!r}: {own}",
            f"constrained  {self.constrained.text!r}: perplexity {self.perplexity:.2f}, "
            f"interventions {self.interventions:.1%}",
        ]
        k = self.violation
        if k is not None:
            other = self.constrained.pieces[k : k + 1]
            made = repr(other[0]) if other else "missing"
            lines.append(
                f"violation    token {k} is {made}, the model's own is {self.free.pieces[k]!r}, "
                "which is valid"
            )
        elif self.parted is not None:
            lines.append(f"parted       at token {self.parted}, which is not valid")
        return "\n".join(lines)


def invasiveness(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: Constraint | TokenMachine,
    *,
    machine: TokenMachine | None = None,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    seed: int = 0,
    seeds: int = 1,
    max_tokens: int = 64,
    bridges: Callable[[OwnFirstText], int] | None = None,
    budget: Budget | None = None,
    store: LogitsStore | None = None,
) -> tuple[RunPair, ...]:
    """Compare what a model writes with and without a constraint.

    Args:
        prompt: The prompt of all runs.
        constraint: The language of the valid texts.
        machine: The scheme that constrains, if it is not the language itself.
        sampler: The sampler, without filters; greedy by default.
        seed: The seed of the first pair.
        seeds: The number of pairs of runs, each with the next seed.
        max_tokens: The most tokens of a run; longer ones are cut off.
        bridges: Counts the tokens of a text that cross terminals.
        store: The model's logits known from other runs; new ones are added.

    Returns:
        A pair of runs for each seed; each prints as a few lines.

    Raises:
        ExplorerError: The sampler has a filter, or an argument has the wrong type.

    Example:
        >>> from explorer import choice, load_model
        >>> lm = load_model("tiny")
        >>> (found,) = invasiveness(lm, "The capital of France is", choice([" Paris", " Rome"]))
        >>> found.outcome, found.constrained.text, found.violation is None
        ('goes on', ' Paris', True)
    """
    lm = checked_model(lm)
    sampler = without_filters(sampler)
    seed = whole_number("seed", seed, 0, LAST_SEED)
    seeds = whole_number("seeds", seeds, 1, LAST_SEED - seed)
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    language = Rule.of(constraint, lm.vocabulary, budget)
    scheme = language if machine is None else Rule.of(machine, lm.vocabulary, budget)
    free = Rule.of(None, lm.vocabulary)
    ids = prompt_ids(lm, prompt)
    pairs: list[RunPair] = []
    store = logits_store(lm) if store is None else store
    for number in range(seed, seed + seeds):
        own = followed(store, free, ids, sampler, max_tokens, number, 0)
        made = followed(store, scheme, ids, sampler, max_tokens, number, 0)
        outcome, valid = judged(language, own)
        crossed = None if bridges is None else bridges(made)
        pairs.append(RunPair(own, made, outcome, valid, crossed))
    return tuple(pairs)


def logits_store(lm: LanguageModel) -> LogitsStore:
    """An empty store of logits, which the runs of several schemes may share."""
    return LogitsStore(lm, _LOGITS_BYTES)


def judged(language: Rule, own: OwnFirstText) -> tuple[Outcome, int]:
    """The kind of text of a free run, and the number of its tokens before the first invalid one."""
    state: int = language.start
    for k, token in enumerate(own.tokens):
        after = language.step(state, token) if token < len(language.vocabulary) else None
        if after is None:
            ends = language.machine.is_final(state)
            only_end = ends and not any(
                language.vocabulary.tokens[int(other)] is not None
                for other in language.mask(state, None).allowed.nonzero()[0]
            )
            return ("goes on" if only_end else "invalid"), k
        state = after
    return ("valid" if state == DONE else "cut"), len(own.tokens)


def _perplexity(text: OwnFirstText) -> float:
    return math.exp(-math.fsum(text.log_probs) / max(1, len(text.log_probs)))
