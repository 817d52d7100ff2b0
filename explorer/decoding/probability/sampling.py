"""Texts drawn from the model's own distribution, given a constraint, by sequential Monte Carlo.

Many texts are generated together under the mask and, whenever their weights have become too uneven,
it continues with copies of the heavy ones. The cost is predictable, but it is exact only in the
limit of many particles, and the texts of one run are not independent.

Rejection needs nothing from here: keep a text that was generated under the mask with the
probability p/q, the exponential of ``sum(log_probs_model) - sum(log_probs_constrained)``. It is
exact, and keeps one text in 1/p(C).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.arguments import whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import LAST_SEED, MOST_TOKENS
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.probability.particles import Swarm, effective_size
from explorer.decoding.probability.progress import Progress, advancing
from explorer.decoding.probability.written import WrittenTokens, opened
from explorer.decoding.sampling.sampler import uniform
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine

_SHIFTS: Final = (1 << 63) - 1
"""The stream of random numbers for resampling."""


@dataclass(frozen=True)
class ConditionalSample:
    """Texts drawn from the conditional distribution.

    Args:
        data: The bytes of each text.
        log_mass: An estimate of the log-probability of the constraint.
        effective: The equivalent number of independent texts: the effective size of the weights
            before the last resampling.
    """

    texts: tuple[WrittenTokens, ...]
    data: tuple[bytes, ...]
    log_mass: float
    effective: float


def sample_conditional(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: GivenConstraint | TokenMachine,
    count: int = 16,
    *,
    particles: int = 256,
    max_tokens: int = 200,
    seed: int = 0,
    budget: Budget | None = None,
    progress: Progress = True,
) -> ConditionalSample:
    """Draw texts from the model's distribution given that the text is allowed.

    Args:
        lm: The model, at temperature 1.
        prompt: A text to continue, or messages.
        constraint: The language; texts end after a word of it (with EOS).
        count: The number of texts; some may be equal because they are copies.
        particles: The number of texts that are generated together, at least ``count``.
        max_tokens: The most tokens of a text, EOS included; longer texts are given up.
        seed: The seed of the random numbers.
        progress: See `explorer.decoding.probability.progress.Progress`.

    Raises:
        ExplorerError: No text ended within ``max_tokens``.
        EmptyConstraint, IncompatibleVocabulary: As in `explorer.compile`.

    Example:
        >>> from explorer import choice, load_model
        >>> stops = choice([" New York.", " Boston."])
        >>> drawn = sample_conditional(load_model("tiny"), "The night train stops at", stops, 8)
        >>> drawn.data.count(b" Boston.") >= 6  # Under the mask it would be less than half.
        True
    """
    model, ids = opened(lm, prompt)
    rule = Rule.of(constraint, model.vocabulary, budget)
    count = whole_number("count", count, 1)
    seed = whole_number("seed", seed, 0, LAST_SEED)
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    particles = whole_number("particles", particles, count)
    swarm = Swarm(model, ids, rule, particles, seed=seed)
    with advancing(max_tokens, "tokens", progress) as advance:
        for index in range(max_tokens):
            going = swarm.step()
            advance(1)
            if not going:
                break
            if effective_size(swarm.weights()) < particles / 2:
                swarm.resample(uniform(seed, _SHIFTS, index))
    swarm.drop_unfinished()
    weights = swarm.weights()
    if not weights.sum():
        raise ExplorerError(
            f"No text ended within max_tokens={max_tokens}.",
            remedy="Give more, or a constraint with shorter texts.",
            evidence={"max_tokens": max_tokens},
        )
    log_mass = swarm.log_mean()
    effective = effective_size(weights)
    swarm.resample(uniform(seed, _SHIFTS, max_tokens))
    # Copies are adjacent, so taking every n-th particle keeps the proportions.
    chosen = [swarm.particles[k * particles // count].written for k in range(count)]
    data = tuple(one.data(model.vocabulary) for one in chosen)
    return ConditionalSample(tuple(chosen), data, log_mass, effective)
