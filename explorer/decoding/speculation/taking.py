"""The rule that accepts or replaces a proposal, as pure functions of random numbers.

Three random numbers belong to a place: one for the proposal, one for its acceptance, one for the
replacement of a rejected token. Each is `explorer.decoding.sampling.sampler.uniform` of its
place, so a draw depends on the place alone: not on the number of tokens proposed at once, nor on
the path to the place.

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
from explorer.decoding.sampling.sampler import drawn_token, uniform

_PROPOSING: Final = 2**62
_TAKING: Final = 2**61
"""The offset of positions for further random numbers, which no text reaches."""


@dataclass(frozen=True, slots=True)
class PlaceNumbers:
    """The random numbers of a place, each in [0, 1).

    Args:
        drawing: The number of the model's own draw, the same as in a run without a draft.
    """

    proposing: float
    taking: float
    drawing: float

    @classmethod
    def at(cls, seed: int, stream: int, position: int) -> PlaceNumbers:
        """The random numbers of a place; see `uniform`."""
        return cls(
            uniform(seed, stream, position + _PROPOSING),
            uniform(seed, stream, position + _TAKING),
            uniform(seed, stream, position),
        )


def masked_logits(logits: Tensor, allowed: Bool) -> Tensor:
    """Logits with -inf for tokens that are not allowed.

    Args:
        logits: float[W], not changed.
        allowed: bool[V], the mask; ids from V on are not allowed.
    """
    mask = torch.zeros(len(logits), dtype=torch.bool)
    host = allowed[: len(mask)].copy()
    mask[: len(host)] = torch.from_numpy(host)  # pyright: ignore[reportUnknownMemberType]
    return logits.masked_fill(~mask.to(logits.device), -torch.inf)


def take(p: Tensor, q: Tensor, proposed: int, numbers: PlaceNumbers) -> tuple[int, float]:
    """Accept a proposal or draw its replacement, distributed as p if the proposal is as q.

    Args:
        p: float[W], the log-probabilities of the model; they need not be normalised.
        q: float[V], the log-probabilities of the draft.

    Returns:
        The token, -1 if p has none; and the deciding random number.

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
    # If nothing is left, the rejection was an effect of rounding.
    left = rest.log() if float(rest.sum()) > 0 else p
    return drawn_token(left, numbers.drawing), numbers.drawing


def overlap(p: Tensor, q: Tensor) -> float:
    """The probability that a proposal from q is accepted: 1 − the total variation of p and q.

    Example:
        >>> round(overlap(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.8, 0.2]).log()), 3)
        0.7
    """
    own, other = _probabilities(p), _widened(_probabilities(q.to(p.device)), len(p))
    return float(torch.minimum(own, other[: len(own)]).sum())


def _probabilities(log_probs: Tensor) -> Tensor:
    return log_probs.to(torch.float64).softmax(-1)


def _widened(probabilities: Tensor, width: int) -> Tensor:
    """Probabilities padded with 0 to a width, because models may pad one vocabulary differently."""
    more = width - len(probabilities)
    return torch.nn.functional.pad(probabilities, (0, more)) if more > 0 else probabilities
