"""One decoding step in plain torch: mask, filters, draw, advance. The definition of the step.

`explorer.decoding.sampling.fused` does the same in one launch, and
`explorer.decoding.sampling.on_host` on the host with allowed tokens alone. Both are held equal to
this. Everything that decodes takes its step from one of the three, so that a batch, a session and a
logits processor draw the same tokens. Runs on any device; on a GPU it can be captured in a CUDA
graph (about a hundred small operations, most of them the random number), and nothing waits for the
host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.decoding.sampling.randomness import uniforms
from explorer.decoding.sampling.sampler import Sampler
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.needed import UNLIMITED
from explorer.tokens.words import DEAD, DONE


@dataclass(eq=False)
class Rows:
    """The places of the rows of a batch; the steps change them in place.

    Args:
        states: int64[B], states of the row's constraint, or sentinels.
        constraint: int64[B], which constraint each row follows.
        remaining: int64[B], how many tokens each row may still write; `UNLIMITED` for no limit.
        streams: int64[B], each row's stream of random numbers.
        positions: int64[B], how many tokens each row has drawn.
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
        """Rows before their first token.

        Args:
            max_tokens: How many tokens each row may write, EOS included; ``None``, for a row or
                for all: no limit.
        """

        def put(values: list[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.int64, device=device)

        zeros = [0] * len(states)
        limits = [UNLIMITED if m is None else m for m in max_tokens or [None] * len(states)]
        return cls(put(states), put(constraint), put(limits), put(streams), put(zeros))


def reference_step(
    masks: DeviceMasks, sampler: Sampler, logits: Tensor, rows: Rows, seed: int
) -> Tensor:
    """Draw one token in each row and advance.

    Args:
        logits: float[B, W], masked in place.
        rows: Where each row stands; every member but the streams is moved on by one token.

    Returns:
        int64[B]: the tokens. -1 in a row where nothing could be drawn, which is noted in the error
        word and becomes `DEAD`. A row that is `DONE` gives EOS without looking at its logits.
    """
    masks.mask_(logits, rows.states, rows.constraint, rows.remaining, step=rows.positions)
    drawn = sampler.draw(sampler.drawable(logits), uniforms(seed, rows.streams, rows.positions))
    tokens = torch.where(rows.states == DONE, masks.vocabulary.eos_ids[0], drawn)
    following = masks.advance(rows.states, tokens, rows.constraint, step=rows.positions)
    move_on(rows, following)
    return tokens


def move_on(rows: Rows, following: Tensor) -> None:
    """Count the token that was drawn; a dead row stays where it is.

    Args:
        rows: Changed in place.
        following: int64[B], the states after the token.
    """
    alive = (following != DEAD).to(torch.int64)
    rows.states.copy_(following)
    rows.positions.add_(alive)
    rows.remaining.sub_(alive)
