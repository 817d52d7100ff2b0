"""The definition of a decoding step, in torch's operations: mask, filters, draw, advance.

`explorer.decoding.sampling.on_host` does the same on the host with allowed tokens only; tests
compare the two. All decoding uses one of them, so that a batch, a session and a logits processor
draw the same tokens. This one runs on any device; on a GPU it can be captured in a CUDA graph
(about a hundred small operations, most of them for the random number), and nothing waits for the
host. With top-k only the k kept logits are drawn from, in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.decoding.sampling.sampler import Sampler, uniforms
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.needed import UNLIMITED
from explorer.tokens.words import DEAD, DONE


@dataclass(eq=False)
class Rows:
    """The states of the rows of a batch, advanced in place by each step.

    Args:
        states: int64[B], the state of each row's constraint, or a sentinel.
        constraint: int64[B], the number of each row's constraint.
        remaining: int64[B], the tokens that each row may still write; `UNLIMITED` for no limit.
        streams: int64[B], the stream of random numbers of each row.
        positions: int64[B], the number of tokens drawn in each row.
    """

    states: Tensor
    constraint: Tensor
    remaining: Tensor
    streams: Tensor
    positions: Tensor

    @classmethod
    def start(
        cls,
        states: list[int],
        constraint: list[int],
        streams: list[int],
        *,
        device: str | torch.device = "cpu",
        max_tokens: Sequence[int | None] | None = None,
    ) -> Rows:
        """The rows before their first token.

        Args:
            max_tokens: The token budget of each row, EOS included; ``None`` for no limit, for a row
                or for all.
        """

        def put(values: list[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.int64, device=device)

        zeros = [0] * len(states)
        limits = [UNLIMITED if m is None else m for m in max_tokens or [None] * len(states)]
        return cls(put(states), put(constraint), put(limits), put(streams), put(zeros))

    def on(self, device: str | torch.device) -> Rows:
        """A copy on a device."""
        parts = (self.states, self.constraint, self.remaining, self.streams, self.positions)
        return Rows(*(part.to(device, copy=True) for part in parts))


def reference_step(
    masks: DeviceMasks, sampler: Sampler, logits: Tensor, rows: Rows, seed: int
) -> Tensor:
    """Draw one token in each row and advance.

    Args:
        logits: float[B, W], masked in place.
        rows: The states of the rows, advanced in place by one token.

    Returns:
        int64[B]: the tokens. A row where nothing could be drawn gets -1, becomes `DEAD` and is
        noted in the error word. A `DONE` row gets EOS regardless of its logits.
    """
    masks.mask_(logits, rows.states, rows.constraint, rows.remaining, step=rows.positions)
    tokens, _ = chosen(masks, sampler, logits, rows, seed)
    following = masks.advance(rows.states, tokens, rows.constraint, step=rows.positions)
    move_on(rows, following)
    return tokens


def chosen(
    masks: DeviceMasks, sampler: Sampler, logits: Tensor, rows: Rows, seed: int
) -> tuple[Tensor, Tensor]:
    """Draw one token in each row, without advancing.

    Args:
        logits: float[B, W], masked; not changed.

    Returns:
        int64[B] as in `reference_step`, and the scores from which they were drawn: those of
        `Sampler.drawable`, for a greedy sampler the masked logits.
    """
    if sampler.greedy:
        scores = logits
        highest, token = logits.max(-1)
        drawn = torch.where(highest.isfinite(), token, -1)
    else:
        scores = sampler.drawable(logits)
        drawn = _drawn(sampler, scores, uniforms(seed, rows.streams, rows.positions))
    return torch.where(rows.states == DONE, masks.vocabulary.eos_ids[0], drawn), scores


def _drawn(sampler: Sampler, scores: Tensor, numbers: Tensor) -> Tensor:
    """The token of each row, −1 where there is none."""
    if sampler.top_k is None or sampler.top_k >= scores.shape[-1]:
        return sampler.draw(scores, numbers)
    # The tokens that were left out weigh nothing, so the draw is the same without them.
    kept = scores.topk(sampler.top_k).indices.sort(-1).values
    place = sampler.draw(scores.gather(-1, kept), numbers)
    return torch.where(place < 0, -1, kept.gather(-1, place.clamp(min=0)[:, None])[:, 0])


def move_on(rows: Rows, following: Tensor) -> None:
    """Store the states after a drawn token, and count the token; a dead row does not count.

    Args:
        rows: Changed in place.
        following: int64[B], the states after the token.
    """
    alive = (following != DEAD).to(torch.int64)
    rows.states.copy_(following)
    rows.positions.add_(alive)
    rows.remaining.sub_(alive)
