"""The probability of a whole language under a model.

If the constraint has few token sequences, they are enumerated (`enumeration`) and the result is
exact. Otherwise importance sampling is used: texts are drawn under the mask, and the mean of their
weights p/q is an unbiased estimate of the mass. The weights lie between 0 and 1; the interval and
the effective sample size show how much they vary. A text longer than ``max_tokens`` counts as
outside the language. The probability of a part given the whole is the quotient of two masses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

import numpy as np

from explorer.arguments import flag, named_way, real_number, whole_number, wrong
from explorer.budget import Budget
from explorer.decoding.models.arguments import LAST_SEED, MOST_TOKENS
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.probability.enumeration import ROWS, all_texts, tree_size
from explorer.decoding.probability.particles import Swarm, effective_size
from explorer.decoding.probability.progress import Progress, advancing
from explorer.decoding.probability.written import Float64, WrittenTokens, log_sum, opened
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ExplorerError
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine

Method = Literal["auto", "exact", "sampling"]
"""The method for a sum over all texts."""

NODES: Final = 20_000
"""The most prefixes that are read for an exact answer."""

_SURE: Final = 1.96
"""Half the width of a 95% interval, in standard errors."""

_LEAST: Final = 4 * ROWS
"""The fewest draws from which their spread is estimated."""


@dataclass(frozen=True)
class ProbabilityMass:
    """The probability that a model's text is in a language.

    Args:
        value: The probability.
        log_value: Its natural logarithm, finite even if ``value`` underflows to 0.
        exact: Whether all texts were enumerated.
        interval: The 95% confidence interval; the value twice if exact.
        texts: The number of token sequences considered.
        effective: The effective sample size; equal to ``texts`` if exact.
        reached: Whether the interval is as narrow as requested.
        cut: The number of draws that exceeded ``max_tokens`` and counted as outside.
    """

    value: float
    log_value: float
    exact: bool
    interval: tuple[float, float]
    texts: int
    effective: float
    reached: bool
    cut: int = 0

    def __str__(self) -> str:
        if self.exact:
            return f"{self.value:.4g} (exact, {self.texts:,} token sequences)"
        low, high = self.interval
        return (
            f"{self.value:.4g} (95%: {low:.4g} to {high:.4g}; {self.texts:,} draws, as good as "
            f"{self.effective:,.0f} equal ones)"
        )


@dataclass(frozen=True)
class SumOptions:
    """The options of a sum over all texts; see `probability_mass`."""

    ends: bool
    method: Method
    error: float
    samples: int
    max_tokens: int
    nodes: int
    seed: int
    progress: Progress

    def checked(self) -> SumOptions:
        """The options, checked and converted to plain values.

        Raises:
            ExplorerError: An option is invalid.
        """
        ways = 'a way to find a sum: "auto", "exact" or "sampling"'
        least = "a number above 0"
        error = real_number("error", self.error, least)
        if not error > 0:
            raise wrong("error", error, least)
        return SumOptions(
            ends=flag("ends", self.ends),
            method=cast("Method", named_way("method", self.method, get_args(Method), ways)),
            error=error,
            samples=whole_number("samples", self.samples, 1),
            max_tokens=whole_number("max_tokens", self.max_tokens, 1, MOST_TOKENS),
            nodes=whole_number("nodes", self.nodes, 1),
            seed=whole_number("seed", self.seed, 0, LAST_SEED),
            progress=self.progress,
        )


@dataclass(frozen=True)
class Asked:
    """The checked arguments of a sum over all texts.

    Args:
        size: The number of prefixes to enumerate; ``None`` if the answer is sampled.
    """

    lm: LanguageModel
    ids: tuple[int, ...]
    rule: Rule
    options: SumOptions
    size: int | None

    @classmethod
    def of(
        cls,
        lm: object,
        prompt: object,
        constraint: object,
        options: SumOptions,
        budget: Budget | None,
    ) -> Asked:
        """Check the arguments of `probability_mass`, and count the prefixes.

        Raises:
            ExplorerError: An exact answer is asked for and there are too many prefixes, or an
                argument is invalid.
        """
        options = options.checked()
        model, ids = opened(lm, prompt)
        rule = Rule.of(constraint, model.vocabulary, budget)
        method, nodes = options.method, options.nodes
        size = None if method == "sampling" else tree_size(rule, nodes, options.ends)
        if method == "exact" and size is None:
            raise ExplorerError(
                f"The constraint has more than nodes={nodes:,} beginnings of token sequences, or "
                "infinitely many, so its mass is not enumerated.",
                remedy='Ask for method="sampling". If the texts are finitely many, a larger '
                "nodes=... or one spelling of each text, c.canonical(), also helps.",
                evidence={"nodes": nodes},
            )
        return cls(model, ids, rule, options, size)

    def texts(self) -> Iterator[WrittenTokens]:
        """All token sequences; only if ``size`` is known."""
        with advancing(self.size or 0, "prefixes", self.options.progress) as advance:
            yield from all_texts(
                self.lm, self.ids, self.rule, ends=self.options.ends, advance=advance
            )

    def draws(self) -> Iterator[list[WrittenTokens | None]]:
        """Texts drawn under the mask, in batches; ``None`` for each that was cut off."""
        with advancing(self.options.samples, "draws", self.options.progress) as advance:
            for begin in range(0, self.options.samples, ROWS):
                count = min(ROWS, self.options.samples - begin)
                swarm = Swarm(
                    self.lm, self.ids, self.rule, count,
                    seed=self.options.seed, stream=begin, ends=self.options.ends,
                )  # fmt: skip
                for _ in range(self.options.max_tokens):
                    if not swarm.step():
                        break
                advance(count)
                yield [one.written if one.ended else None for one in swarm.particles]


def probability_mass(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: GivenConstraint | TokenMachine,
    *,
    ends: bool = True,
    method: Method = "auto",
    error: float = 0.05,
    samples: int = 4096,
    max_tokens: int = 200,
    nodes: int = NODES,
    seed: int = 0,
    budget: Budget | None = None,
    progress: Progress = True,
) -> ProbabilityMass:
    """The probability that a model's text after a prompt is in a language.

    It is the sum over token sequences, in all spellings that the constraint allows; under
    ``c.canonical(tokenizer)`` each text counts by its one spelling.

    Args:
        lm: The model, unconstrained and at temperature 1.
        prompt: A text to continue, or messages.
        constraint: The language.
        ends: Whether the text must end after a word of the language (with EOS). If not, it suffices
            that the text begins with one.
        method: ``"exact"`` enumerates, ``"sampling"`` draws, ``"auto"`` enumerates if it can.
        error: The relative error at which drawing stops: half the width of the 95% interval over
            the value.
        samples: The most draws.
        max_tokens: The most tokens of a draw, EOS included.
        nodes: The most beginnings of token sequences to read for an exact answer.
        seed: The seed of the random numbers.
        budget: Limits for compiling the constraint.
        progress: See `Progress`.

    Returns:
        The mass, exact or with its interval. It prints as a sentence.

    Raises:
        ExplorerError: ``method="exact"`` and there are too many sequences.
        EmptyConstraint, IncompatibleVocabulary, BudgetExceeded: As in `explorer.compile`.

    Example:
        >>> from explorer import choice, load_model
        >>> lm = load_model("tiny")
        >>> cities = choice([" Paris", " Rome"])
        >>> mass = probability_mass(lm, "The capital of France is", cities, ends=False)
        >>> mass.exact, 0.99 < mass.value < 1
        (True, True)
    """
    options = SumOptions(ends, method, error, samples, max_tokens, nodes, seed, progress)
    asked = Asked.of(lm, prompt, constraint, options, budget)
    return _exact([one.log_prob for one in asked.texts()]) if asked.size else _sampled(asked)


def _exact(log_probs: list[float]) -> ProbabilityMass:
    log_value = min(0.0, log_sum(log_probs))
    value = math.exp(log_value)
    count = len(log_probs)
    return ProbabilityMass(value, log_value, True, (value, value), count, count, True)


def _sampled(asked: Asked) -> ProbabilityMass:
    """Estimate the mass from draws."""
    drawn: list[WrittenTokens | None] = []
    estimate = _estimate([], asked.options.error)
    for some in asked.draws():
        drawn += some
        estimate = _estimate(drawn, asked.options.error)
        if estimate.reached and estimate.texts >= _LEAST:
            break
    return estimate


def _estimate(draws: list[WrittenTokens | None], error: float) -> ProbabilityMass:
    """The mass and its interval from draws; log-weights are shifted to avoid underflow."""
    logs = [-math.inf if one is None else one.log_weight for one in draws]
    highest = max(logs, default=-math.inf)
    cut = sum(one is None for one in draws)
    if highest == -math.inf:
        return ProbabilityMass(0.0, -math.inf, False, (0.0, 1.0), len(logs), 0.0, False, cut)
    weights: Float64 = np.exp(np.array(logs) - highest)
    mean = float(weights.mean())
    spread = float(weights.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    scale = math.exp(highest)
    low, high = max(0.0, mean - _SURE * spread) * scale, (mean + _SURE * spread) * scale
    return ProbabilityMass(
        value=mean * scale,
        log_value=math.log(mean) + highest,
        exact=False,
        interval=(low, min(1.0, high)),
        texts=len(logs),
        effective=effective_size(weights),
        reached=_SURE * spread <= error * mean,
        cut=cut,
    )
