"""Texts drawn from the model's own distribution, given a constraint.

*Rejection* draws under the mask and keeps a text with the probability p/q, decided token by token:
each token is kept with a probability equal to its feasible mass, so hopeless texts are given up
early. The kept texts follow the model's conditional distribution exactly; one draw in 1/p(C) is
kept.

*Sequential Monte Carlo* generates many texts together and, whenever their weights have become too
uneven, continues with copies of the heavy ones. Its cost is predictable, but it is exact only in
the limit of many particles, and the texts of one run are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from explorer.arguments import named_way, whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import LAST_SEED, MOST_TOKENS
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.probability.enumeration import ROWS
from explorer.decoding.probability.particles import Swarm, effective_size
from explorer.decoding.probability.progress import Progress, advancing
from explorer.decoding.probability.written import WrittenTokens, opened
from explorer.decoding.sampling.sampler import uniform
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine

Way = Literal["rejection", "smc"]
"""The method for drawing from the conditional distribution."""

_DECISIONS: Final = 1 << 62
"""The first stream of random numbers for rejection; lower ones draw tokens."""

_SHIFTS: Final = (1 << 63) - 1
"""The stream of random numbers for resampling."""


@dataclass(frozen=True)
class ConditionalSample:
    """Texts drawn from the conditional distribution.

    Args:
        data: The bytes of each text.
        log_mass: An estimate of the log-probability of the constraint.
        tries: The number of texts that were begun.
        effective: The equivalent number of independent texts: their number under rejection, the
            effective size of the weights before the last resampling under sequential Monte Carlo.
    """

    texts: tuple[WrittenTokens, ...]
    data: tuple[bytes, ...]
    method: Way
    log_mass: float
    tries: int
    effective: float


def sample_conditional(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: GivenConstraint | TokenMachine,
    count: int = 16,
    *,
    method: Way = "rejection",
    tries: int = 10_000,
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
        count: The number of texts.
        method: ``"rejection"`` (exact) or ``"smc"`` (sequential Monte Carlo).
        tries: The most texts that rejection begins.
        particles: The number of texts in sequential Monte Carlo, at least ``count``.
        max_tokens: The most tokens of a text, EOS included; longer texts are given up.
        seed: The seed of the random numbers.
        progress: See `explorer.decoding.probability.progress.Progress`.

    Returns:
        The texts. Under ``"smc"`` some may be equal because they are copies.

    Raises:
        ExplorerError: Fewer texts than asked for were kept; the message says how many.
        EmptyConstraint, IncompatibleVocabulary: As in `explorer.compile`.

    Example:
        >>> from explorer import choice, load_model
        >>> stops = choice([" New York.", " Boston."])
        >>> drawn = sample_conditional(load_model("tiny"), "The night train stops at", stops, 8)
        >>> drawn.data.count(b" Boston.") >= 6  # Under the mask it would be less than half.
        True
    """
    ways = 'one of "rejection" or "smc"'
    way = cast("Way", named_way("method", method, get_args(Way), ways))
    model, ids = opened(lm, prompt)
    rule = Rule.of(constraint, model.vocabulary, budget)
    count = whole_number("count", count, 1)
    seed = whole_number("seed", seed, 0, LAST_SEED)
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    if way == "smc":
        number = whole_number("particles", particles, count)
        return _smc(model, ids, rule, count, number, max_tokens, seed, progress)
    tries = whole_number("tries", tries, 1)
    return _rejection(model, ids, rule, count, tries, max_tokens, seed, progress)


def _rejection(
    lm: LanguageModel,
    ids: Sequence[int],
    rule: Rule,
    count: int,
    tries: int,
    max_tokens: int,
    seed: int,
    progress: Progress,
) -> ConditionalSample:
    kept: list[WrittenTokens] = []
    begun = accepted = 0
    with advancing(count, "texts", progress) as advance:
        while len(kept) < count and begun < tries:
            some = min(ROWS, tries - begun)
            swarm = Swarm(lm, ids, rule, some, seed=seed, stream=begun)
            begun += some
            for index in range(max_tokens):
                before = [one.log_weight for one in swarm.particles]
                going = swarm.step()
                rejected: list[int] = []
                for k, one in enumerate(swarm.particles):
                    # Each token is kept with a probability equal to its feasible mass.
                    gain = one.log_weight - before[k] if before[k] > -math.inf else 0.0
                    if gain < 0 and uniform(seed, _DECISIONS + one.stream, index) >= math.exp(gain):
                        rejected.append(k)
                swarm.drop(rejected)
                if not going:
                    break
            drawn = [
                one.written for one in swarm.particles if one.ended and one.log_weight > -math.inf
            ]
            accepted += len(drawn)
            advance(min(len(drawn), count - len(kept)))
            kept += drawn
    if len(kept) < count:
        raise ExplorerError(
            f"Rejection kept {len(kept)} of {begun:,} texts; {count} were asked for.",
            remedy='Ask for method="smc", for fewer texts, or for more tries.',
            evidence={"kept": len(kept), "tries": begun},
        )
    texts = tuple(kept[:count])
    data = tuple(one.data(lm.vocabulary) for one in texts)
    return ConditionalSample(
        texts, data, "rejection", math.log(accepted / begun), begun, float(count)
    )


def _smc(
    lm: LanguageModel,
    ids: Sequence[int],
    rule: Rule,
    count: int,
    particles: int,
    max_tokens: int,
    seed: int,
    progress: Progress,
) -> ConditionalSample:
    swarm = Swarm(lm, ids, rule, particles, seed=seed)
    with advancing(max_tokens, "tokens", progress) as advance:
        for index in range(max_tokens):
            going = swarm.step()
            advance(1)
            if not going:
                break
            if effective_size(swarm.weights()) < particles / 2:
                swarm.resample(uniform(seed, _SHIFTS, index))
    swarm.drop([k for k, one in enumerate(swarm.particles) if not one.ended])
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
    data = tuple(one.data(lm.vocabulary) for one in chosen)
    return ConditionalSample(tuple(chosen), data, "smc", log_mass, particles, effective)
