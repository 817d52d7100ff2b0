"""The distortion by masking of a model's distribution over the texts of a constraint.

The model's distribution, given that the text is allowed, is p(x)/p(C). Decoding under the mask
draws x with the probability q(x), the product of locally renormalised steps. The two agree exactly
if the product of feasible masses is the same for all texts. Their distance is the total variation:
the largest difference in the probability of any set of texts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from explorer.budget import Budget
from explorer.decoding.models.model import LanguageModel, Prompt
from explorer.decoding.probability.mass import NODES, Asked, Method, SumOptions
from explorer.decoding.probability.progress import Progress
from explorer.decoding.probability.written import WrittenTokens, log_sum
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine


@dataclass(frozen=True, slots=True)
class TextShare:
    """The probabilities of one text in both distributions.

    Args:
        data: The text, in bytes.
        model: Its unconstrained probability under the model, including the end of the text.
        conditional: Its probability under the model given the constraint.
        masked: Its probability when decoding under the mask.
    """

    data: bytes
    model: float
    conditional: float
    masked: float

    @property
    def text(self) -> str:
        """The text; half a character shows as U+FFFD."""
        return self.data.decode("utf-8", errors="replace")


@dataclass(frozen=True)
class Distortion:
    """The distribution under masking compared with the model's own, given the constraint.

    Args:
        shares: The texts, the likeliest under the model first; for a sample, the drawn texts with
            the probabilities of their drawn spellings.
        total_variation: The distance of the two distributions over token sequences, estimated if
            sampled.
        total_variation_texts: Their distance over texts regardless of spelling, which is at most as
            large; ``None`` if sampled.
        log_mass: The log-probability of the constraint under the model.
        exact: Whether all texts were enumerated.
        sequences: The number of token sequences considered.
    """

    shares: tuple[TextShare, ...]
    total_variation: float
    total_variation_texts: float | None
    log_mass: float
    exact: bool
    sequences: int

    def __str__(self) -> str:
        lines = [f"{'text':<24}{'given C':>10}{'masked':>10}"]
        for share in self.shares[:20]:
            lines.append(f"{share.text!r:<24}{share.conditional:>10.4f}{share.masked:>10.4f}")
        if len(self.shares) > 20:
            lines.append(f"and {len(self.shares) - 20:,} more")
        sure = "" if self.exact else " (estimated)"
        return "\n".join([*lines, f"total variation {self.total_variation:.4f}{sure}"])


def masking_distortion(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: GivenConstraint | TokenMachine,
    *,
    method: Method = "auto",
    samples: int = 4096,
    max_tokens: int = 200,
    nodes: int = NODES,
    seed: int = 0,
    budget: Budget | None = None,
    progress: Progress = True,
) -> Distortion:
    """Compare decoding under a mask with the model's own distribution given the constraint.

    Args:
        lm, prompt, constraint, method, samples, max_tokens, nodes, seed, budget, progress: As in
            `explorer.decoding.probability.mass.probability_mass`.

    Returns:
        Both distributions and their total variation. It prints as a table.

    Raises:
        ExplorerError: As in `probability_mass`.

    Example:
        >>> from explorer import choice, load_model
        >>> stops = choice([" New York.", " Boston."])
        >>> found = masking_distortion(load_model("tiny"), "The night train stops at", stops)
        >>> likely = found.shares[0]  # Masking prefers the other one: " New" is a likely token.
        >>> likely.text, likely.conditional > 0.9, likely.masked < 0.5
        (' Boston.', True, True)
    """
    options = SumOptions(True, method, 1e-9, samples, max_tokens, nodes, seed, progress)
    asked = Asked.of(lm, prompt, constraint, options, budget)
    samples = asked.options.samples
    if asked.size:
        texts = list(asked.texts())
        log_mass = log_sum([one.log_prob for one in texts])
        own = np.exp(np.array([one.log_prob for one in texts]) - log_mass)
        masked = np.exp(np.array([one.log_masked for one in texts]))
        apart = 0.5 * float(np.abs(own - masked).sum())
        shares = _shares(asked, texts, log_mass)
        by_text = 0.5 * math.fsum(abs(share.conditional - share.masked) for share in shares)
        return Distortion(shares, apart, by_text, log_mass, True, len(texts))
    draws = [one for some in asked.draws() for one in some if one is not None]
    log_mass = log_sum([one.log_weight for one in draws]) - math.log(samples)
    ratios = np.exp(np.array([one.log_weight for one in draws]) - log_mass)
    # Half the mean of |p/(q Z) - 1| over draws of q; a draw that was cut has p = 0.
    lost = samples - len(draws)
    apart = 0.5 * (float(np.abs(ratios - 1).sum()) + lost) / samples
    different = list({one.tokens: one for one in draws}.values())
    return Distortion(_shares(asked, different, log_mass), apart, None, log_mass, False, len(draws))


def _shares(asked: Asked, texts: list[WrittenTokens], log_mass: float) -> tuple[TextShare, ...]:
    """The texts, each with its probabilities summed over its spellings."""
    spelled: dict[bytes, list[WrittenTokens]] = {}
    for one in texts:
        spelled.setdefault(one.data(asked.lm.vocabulary), []).append(one)
    shares = [
        TextShare(
            data,
            math.exp(log_sum([one.log_prob for one in some])),
            math.exp(log_sum([one.log_prob for one in some]) - log_mass),
            math.exp(log_sum([one.log_masked for one in some])),
        )
        for data, some in spelled.items()
    ]
    return tuple(sorted(shares, key=lambda share: (-share.conditional, share.data)))
