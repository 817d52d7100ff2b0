"""From two distributions and a proposal to a token, as pure functions of random numbers.

Three numbers belong to a place: one for the proposal, one for taking it, one for the token that
stands in for a rejected one. Each is `explorer.decoding.sampling.randomness.uniform` of its
place, so what is drawn depends on the place alone: not on how many tokens were proposed at once,
nor on the way by which one came there.

The law: for every p and q the token is distributed as p. With the rejected mass R = Σ max(0, p − q)
and r = max(0, p − q)/R,
P(x) = q(x)·min(1, p(x)/q(x)) + R·r(x) = min(p, q) + max(0, p − q) = p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from explorer.automata.machine import Bool
from explorer.decoding.sampling.randomness import uniform
from explorer.decoding.sampling.sampler import drawn_token

_PROPOSING: Final = 2**62
_TAKING: Final = 2**61
"""Positions of random numbers that no text reaches."""


@dataclass(frozen=True, slots=True)
class PlaceNumbers:
    """The random numbers of a place, each in [0, 1).

    Args:
        drawing: Decides the model's own draw; the one of a run without a draft.
    """

    proposing: float
    taking: float
    drawing: float

    @classmethod
    def at(cls, seed: int, stream: int, position: int) -> PlaceNumbers:
        """Those of a place; see `uniform`."""
        return cls(
            uniform(seed, stream, position + _PROPOSING),
            uniform(seed, stream, position + _TAKING),
            uniform(seed, stream, position),
        )


def masked_logits(logits: Tensor, allowed: Bool) -> Tensor:
    """Logits, -inf where nothing is allowed.

    Args:
        logits: float[W], left as they are.
        allowed: bool[V], what may come next; ids from there on may not.
    """
    mask = torch.zeros(len(logits), dtype=torch.bool)
    host = allowed[: len(mask)].copy()
    mask[: len(host)] = torch.from_numpy(host)  # pyright: ignore[reportUnknownMemberType]
    return logits.masked_fill(~mask.to(logits.device), -torch.inf)


def take(p: Tensor, q: Tensor, proposed: int, numbers: PlaceNumbers) -> tuple[int, float]:
    """The token in place of a proposal, distributed as p where the proposal is as q.

    Args:
        p: float[W], the log-probabilities that the model draws from; they need not sum to 1.
        q: float[V], those that the draft drew from.

    Returns:
        The token, -1 where p has none; and the random number that decided.

    Example:
        >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.8, 0.2]).log()
        >>> take(p, q, 0, PlaceNumbers(0.0, 0.6, 0.9))  # 0.5/0.8 = 0.625: taken.
        (0, 0.6)
        >>> take(p, q, 0, PlaceNumbers(0.0, 0.7, 0.9))  # Rejected; only 1 has more under p.
        (1, 0.9)
    """
    own, other = _probabilities(p), _widened(_probabilities(q.to(p.device)), len(p))
    weight = own[proposed] if proposed < len(own) else 0.0
    if numbers.taking * float(other[proposed]) < float(weight):
        return proposed, numbers.taking
    rest = (own - other[: len(own)]).clamp(min=0)
    # A rejection at equal weights is one of rounding.
    left = rest.log() if float(rest.sum()) > 0 else p
    return drawn_token(left, numbers.drawing), numbers.drawing


def overlap(p: Tensor, q: Tensor) -> float:
    """The probability that a proposal from q is taken: 1 − the total variation of p and q.

    Example:
        >>> round(overlap(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.8, 0.2]).log()), 3)
        0.7
    """
    own, other = _probabilities(p), _widened(_probabilities(q.to(p.device)), len(p))
    return float(torch.minimum(own, other[: len(own)]).sum())


def _probabilities(log_probs: Tensor) -> Tensor:
    return log_probs.to(torch.float64).softmax(-1)


def _widened(probabilities: Tensor, width: int) -> Tensor:
    """At least so many entries, as two models of one vocabulary may be padded differently."""
    more = width - len(probabilities)
    return torch.nn.functional.pad(probabilities, (0, more)) if more > 0 else probabilities
