"""Computes the statistics of a trace from one row of logits and a mask.

The sampler works on the model's device in float32, exactly as in batched generation, so that it
draws the same token. The recorded statistics are then computed in float64 on the host: a sum over
131,072 float32 probabilities has too few digits left for a divergence of a thousandth of a bit.

Cost: a few passes over the logits in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.automata.machine import Bool
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.trace.records import Candidate, TokenDistribution
from explorer.errors import ExplorerError

Float64 = NDArray[np.float64]

_PLAIN: Final = Sampler(1.0)


@dataclass(frozen=True, eq=False)
class Measured:
    """The three full distributions of a position, and their statistics for a trace.

    Args:
        model, filtered, constrained: float64[W], log-probabilities.
        drawable: float32[W] on the model's device, the scores that the sampler draws from.
    """

    distribution: TokenDistribution
    model: Float64
    filtered: Float64
    constrained: Float64
    drawable: Tensor

    def rank(self, token: int) -> int:
        """The rank of a token in the model's own order, 1 for the likeliest."""
        own = self.model[token]
        return 1 + int((self.model > own).sum()) + int((self.model[:token] == own).sum())


def measure(logits: Tensor, allowed: Bool, sampler: Sampler, top_k: int) -> Measured:
    """Compute everything about a position that follows from its logits.

    Args:
        logits: float[W], on any device; not changed.
        allowed: bool[len(vocabulary)]; higher ids are masked.
        top_k: The number of likeliest tokens of each distribution to keep.

    Raises:
        ExplorerError: The logits hold NaN or +inf, or are -inf for every allowed token.
    """
    width = logits.shape[-1]
    mask = np.zeros(width, np.bool_)
    mask[: len(allowed)] = allowed[:width]
    raw = logits.to(torch.float32)
    on_device = torch.tensor(mask, device=logits.device)
    masked = raw.masked_fill(~on_device, -math.inf)
    drawable = sampler.drawable(masked)
    model = log_softmax(to_host(raw))
    _check(model, mask)
    log_z = _log_sum(model[mask])
    if sampler.greedy or sampler == _PLAIN:
        # Only the mask applies: the result is exact and needs no pass of the sampler.
        filtered = model
        constrained = np.where(mask, model - log_z, -math.inf)
    else:
        filtered = log_softmax(to_host(sampler.filtered(raw)))
        constrained = log_softmax(to_host(drawable))

    distinct = (model, constrained) if filtered is model else (model, filtered, constrained)
    picked = np.unique(np.concatenate([highest(scores, top_k) for scores in distinct]))
    order = picked[np.lexsort((picked, -model[picked]))]
    first = int(model.argmax())
    by_model, by_filters, by_constraint = (
        _short(scores[order]) for scores in (model, filtered, constrained)
    )
    distribution = TokenDistribution(
        candidates=tuple(
            map(
                Candidate, order.tolist(), mask[order].tolist(), by_model, by_filters, by_constraint
            )
        ),
        # Rounding may give a mass above 1.
        log_z=min(0.0, log_z),
        entropy_before=_bits(model, model),
        entropy_after=_bits(constrained, constrained),
        kl=max(0.0, _bits(constrained, model) - _bits(constrained, constrained)),
        num_drawable=int((constrained > -math.inf).sum()),
        first_choice=first,
        first_choice_log_prob=float(model[first]),
        intervention=not bool(mask[first]),
    )
    return Measured(distribution, model, filtered, constrained, drawable)


def to_host(scores: Tensor) -> Float64:
    """Scores in float64 on the host."""
    return scores.to("cpu", torch.float64).numpy()


def log_mass(scores: Float64, mask: Bool) -> float:
    """The logarithm of the feasible mass of log-probabilities; −inf if nothing is allowed."""
    kept = scores[mask]
    return _log_sum(kept) if (kept > -math.inf).any() else -math.inf


def _log_sum(scores: Float64) -> float:
    highest = float(scores.max())
    return highest + math.log(float(np.exp(scores - highest).sum()))


def log_softmax(scores: Float64) -> Float64:
    """The log-probabilities of logits; a row without a finite maximum is returned unchanged."""
    highest = scores.max()
    if not math.isfinite(highest):
        return scores  # `_check` refuses it.
    return scores - _log_sum(scores)


def _bits(weights: Float64, scores: Float64) -> float:
    """The cross-entropy of two distributions in bits, both given as log-probabilities."""
    kept = weights > -math.inf
    return float(-(np.exp(weights[kept]) * scores[kept]).sum() / math.log(2)) + 0.0


def highest(scores: Float64, k: int) -> NDArray[np.int64]:
    """The ids of the k highest scores above −inf, preferring the lowest of equals."""
    possible = np.flatnonzero(scores > -math.inf)
    k = min(k, len(possible))
    if k == 0:
        return possible
    among = scores[possible]
    least = np.partition(among, -k)[-k]
    above = possible[among > least]
    level = possible[among == least][: k - len(above)]
    return np.concatenate([above, level])


def _short(values: Float64) -> list[float]:
    """The values rounded to seven digits, the precision of float32, to shorten a file."""
    return [float(f"{value:.7g}") for value in values.tolist()]


def _check(model: Float64, mask: Bool) -> None:
    if np.isnan(model).any() or math.isinf(float(model.max())):
        raise ExplorerError(
            "The model's logits hold NaN or infinity, so they give no probabilities.",
            remedy="Check the weights and the dtype; float16 overflows where bfloat16 does not.",
            evidence={"width": len(model)},
        )
    if not (model[mask] > -math.inf).any():
        raise ExplorerError(
            "The model gives probability 0 to every token that is allowed here.",
            remedy="Check that the vocabulary is the model's, and where -inf logits come from.",
            evidence={"allowed": int(mask.sum())},
        )
