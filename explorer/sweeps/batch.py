"""Generates a batch of texts and measures what the constraint did to the model.

The loop is that of `explorer.decoding.batches.generate`, with the same masks, sampler and random
numbers, so the texts are those of `generate` and of a `Session` with the row's seed, provided that
the model computes the same logits for a batch. The measurements use logits that are computed
anyway and stay on the device until the end: the feasible mass Z, and whether the model's first
choice was masked.

Cost beyond `generate`: one more mask, and two passes over the logits in float64.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor

from explorer.decoding.batches.constrained_batch import ConstrainedBatch
from explorer.decoding.models.model import LanguageModel, call_model
from explorer.decoding.models.row_by_row import open_batch
from explorer.decoding.sampling.sampler import Drawing, Sampler
from explorer.decoding.stepping.rule import Rule
from explorer.tokens.words import FREE


@dataclass(frozen=True)
class MeasuredText:
    """One text of a batch; entry k of each list is about the choice of token k.

    Args:
        tokens: The ids, including the end of text if it was generated.
        finished: Whether the text ended by itself; otherwise it was cut off.
        planned: Whether the masks took ``max_tokens`` into account.
        log_probs_model: The log-probability of each token by the model alone.
        log_probs_constrained: The log-probability of each token under mask and sampler; a greedy
            sampler counts as the mask alone.
    """

    tokens: tuple[int, ...]
    finished: bool
    planned: bool
    log_probs_model: tuple[float, ...]
    log_probs_constrained: tuple[float, ...]
    log_masses: tuple[float, ...]
    intervened: tuple[bool, ...]
    seconds: float


def measured_batch(
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    rules: Sequence[Rule],
    sampler: Sampler,
    *,
    seed: int,
    max_tokens: int,
    masking_budget: bool | None,
) -> list[MeasuredText]:
    """Generate and measure a text for each prompt.

    Args:
        seed: The seed of the random numbers; each row draws from stream 0.
        masking_budget: As in `generate`.

    Raises:
        ExplorerError: As in `generate`.
    """
    begun = time.perf_counter()
    streams = [0] * len(prompts)
    reading = open_batch(model, prompts)
    logits = reading.logits
    drawing = Drawing(sampler, seed, max_tokens, masking_budget)
    batch = ConstrainedBatch(
        list(rules), model.vocabulary, drawing, streams=streams, device=logits.device
    )
    steps: list[_StepOfRows] = []
    while True:
        chosen = _choose(batch, logits)
        steps.append(chosen)
        states = batch.rows.states
        over = ((states != FREE) & (states < 0)).all()
        if len(steps) == max_tokens or bool(over):
            break
        # A finished row must give the model some id; the resulting logits are not used.
        following = chosen.tokens.clamp(min=0)
        logits = call_model(model, "step", lambda: reading.step(following))  # noqa: B023 - Asked now.
    batch.masks.check()
    texts = _texts(steps, batch, model)
    spent = time.perf_counter() - begun
    calls = max(1, sum(len(text.tokens) for text in texts))
    return [replace(text, seconds=spent * len(text.tokens) / calls) for text in texts]


@dataclass(frozen=True, eq=False)
class _StepOfRows:
    """The measurements of one step for all rows, on the device: int64[B], float64[B] or bool[B]."""

    tokens: Tensor
    model: Tensor
    constrained: Tensor
    log_mass: Tensor
    intervened: Tensor


def _choose(batch: ConstrainedBatch, logits: Tensor) -> _StepOfRows:
    rows = batch.rows
    masked = batch.masks.mask_(
        logits.float().clone(), rows.states, rows.constraint, rows.remaining, step=rows.positions
    )
    kept = masked if batch.sampler.greedy else batch.sampler.filtered(masked)
    model = logits.double().log_softmax(-1)
    constrained = kept.double().log_softmax(-1)
    first = model.argmax(-1)
    possible = masked > -math.inf
    log_mass = model.masked_fill(~possible, -math.inf).logsumexp(-1).clamp(max=0.0)
    tokens = batch.draw(logits)
    at = tokens.clamp(min=0)[:, None]
    return _StepOfRows(
        tokens,
        model.gather(-1, at)[:, 0],
        constrained.gather(-1, at)[:, 0],
        log_mass,
        ~possible.gather(-1, first[:, None])[:, 0],
    )


def _texts(
    steps: Sequence[_StepOfRows], batch: ConstrainedBatch, model: LanguageModel
) -> list[MeasuredText]:
    def columns(name: str) -> list[list[float]]:
        stacked = torch.stack([cast("Tensor", getattr(step, name)) for step in steps], dim=1)
        return cast("list[list[float]]", stacked.cpu().tolist())  # pyright: ignore[reportUnknownMemberType]

    tokens = [[int(token) for token in row] for row in columns("tokens")]
    scores = [columns(name) for name in ("model", "constrained", "log_mass")]
    intervened = columns("intervened")
    ends = set(model.vocabulary.eos_ids)
    texts: list[MeasuredText] = []
    for b, row in enumerate(tokens):
        free = batch.rules[b].machine.constraint is None
        length = next((k + 1 for k, token in enumerate(row) if token in ends), len(row))
        texts.append(
            MeasuredText(
                tokens=tuple(row[:length]),
                finished=row[length - 1] in ends,
                planned=batch.plans[b] and not free,
                log_probs_model=tuple(scores[0][b][:length]),
                log_probs_constrained=tuple(scores[1][b][:length]),
                log_masses=tuple(scores[2][b][:length]),
                intervened=tuple(bool(value) for value in intervened[b][:length]),
                seconds=0.0,
            )
        )
    return texts
