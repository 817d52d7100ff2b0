"""Generates a text by speculative decoding, without a record.

In each round the draft proposes some tokens, the model reads them all in one pass, and its
distributions decide token by token. The first rejection ends the round; the model has already read
all tokens before it. States are ints and key-values are looked up by ids, so nothing is undone.

The rows of a batch would accept different numbers of tokens, so each text is generated separately.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import torch
from torch import Tensor

from explorer.decoding.models.model import LanguageModel, LogitsStore
from explorer.decoding.sampling.sampler import Drawing, drawn_token, masked_logits
from explorer.decoding.speculation.drafting import Drafting, Drafts, DrawPlace
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ContextFull, ExplorerError
from explorer.tokens.words import DONE

_LOGITS_BYTES: Final = 64_000_000
"""The memory for logits, enough for the longest round at 131,072 tokens."""


@dataclass(eq=False)
class GrowingText:
    """A text during generation.

    Args:
        model, constrained: The log-probability of each token under the model, and under mask and
            sampler, as far as they are known; empty if not wanted.
        pending: The tokens that the model has not read yet, where runs of them are read together.
        forced: The number of tokens that were taken without asking the model.
        proposed: The number of proposals at positions that were reached.
    """

    tokens: list[int] = field(default_factory=lambda: list[int]())
    model: list[float] = field(default_factory=lambda: list[float]())
    constrained: list[float] = field(default_factory=lambda: list[float]())
    pending: list[int] = field(default_factory=lambda: list[int]())
    ended: bool = False
    forced: int = 0
    proposed: int = 0
    accepted: int = 0
    passes: int = 0


def speculated(
    lm: LanguageModel,
    drafting: Drafting,
    rule: Rule,
    prompt_ids: tuple[int, ...],
    drawing: Drawing,
    *,
    stream: int,
    log_probs: bool,
) -> GrowingText:
    """Generate one text.

    Raises:
        ExplorerError: Nothing is left to draw, or the text is too long for the model.
    """
    text = GrowingText()
    sampler, max_tokens = drawing.sampler, drawing.max_tokens
    drafts = Drafts(drafting, rule, sampler)
    store = LogitsStore(lm, _LOGITS_BYTES)
    remaining = max_tokens if drawing.masking_budget else None
    place = DrawPlace(prompt_ids, rule.start, 0, remaining, drawing.seed, stream)
    while True:
        if place.ids not in store:
            with suppress(ContextFull):  # Near the end of the context: one token at a time.
                store.read_ahead(place.ids, drafts.run(place), "proposed")
            text.passes += 1
        logits = store.read(place.ids).logits.to(torch.float32)
        masked = masked_logits(logits, rule.mask(place.state, place.remaining).allowed)
        drawable = sampler.drawable(masked)
        token = drawn_token(drawable, place.number)
        proposal = drafts.judged(place, token)
        state = rule.step(place.state, token) if token >= 0 else None
        if state is None:
            raise ExplorerError(
                "The sampler leaves nothing to draw.",
                remedy="Check the model's logits at this place: Session(...).logits().",
                evidence={"position": place.index, "state": place.state},
            )
        if proposal is not None:
            text.proposed += 1
            text.accepted += proposal.accepted
        text.tokens.append(token)
        if log_probs:
            text.model.append(_log_prob(logits, token))
            text.constrained.append(_log_prob(masked if sampler.greedy else drawable, token))
        if state == DONE or token in rule.vocabulary.eos_ids or len(text.tokens) == max_tokens:
            return text
        place = place.after(token, state)


def _log_prob(scores: Tensor, token: int) -> float:
    return float(scores.double().log_softmax(-1)[token])
