"""Opportunistic masking: the model's own choice first, a mask only if that is not allowed.

Checking one token is a single step of the machine, while a mask checks all tokens. So the model
chooses as if there were no constraint, and only on a miss a mask is computed and a token drawn
under it, with a random number of its own. (Beurer-Kellner, Fischer, Vechev 2024, section 3.5.)

The distribution is that of masking at every step. With Z the probability of the allowed tokens, an
allowed x is drawn with p(x) + (1 − Z)·p(x)/Z = p(x)/Z. A greedy sampler gives the same text as
masking.

It is also *minimally invasive* draw by draw (their definition 2.1): as long as the model's
unconstrained text is allowed, the same random numbers produce it. Masking at every step is not,
because one number is spread over fewer tokens than without the mask.

With a filter (top-k, top-p, min-p) the two are different distributions, so there must be none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import torch
from torch import Tensor

from explorer.arguments import whole_number
from explorer.budget import Budget
from explorer.decoding.models.arguments import (
    LAST_SEED,
    LAST_STREAM,
    MOST_TOKENS,
    checked_model,
    checked_sampler,
    prompt_ids,
)
from explorer.decoding.models.model import LanguageModel, LogitsStore, Prompt
from explorer.decoding.sampling.sampler import Sampler, drawn_token, masked_logits, uniform
from explorer.decoding.speculation.drafting import Draft, Drafts, DrawPlace, checked_draft
from explorer.decoding.stepping.rule import Rule
from explorer.errors import ContextFull, ExplorerError
from explorer.languages.constraint import GivenConstraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE

_MISSED: Final = 2**60
"""The offset of positions for the random numbers after a miss, which no text reaches."""

_LOGITS_BYTES: Final = 64_000_000


@dataclass(frozen=True)
class OwnFirstText:
    """A text, with the steps at which the constraint intervened.

    Args:
        tokens: The ids, including the end of the text if it was generated.
        pieces: The bytes of each token; empty for the end.
        log_probs: The natural log-probability of each token under the model.
        misses: Whether the model's own choice was not allowed, for each token.
        finished: Whether the text ended by itself.
        proposed: The number of tokens for which a draft made a proposal; 0 without a draft.
        accepted: The number of proposals that the model chose too.
        passes: The number of forward passes of the model.
    """

    tokens: tuple[int, ...]
    pieces: tuple[bytes, ...]
    log_probs: tuple[float, ...]
    misses: tuple[bool, ...]
    finished: bool
    proposed: int = field(default=0, compare=False)
    accepted: int = field(default=0, compare=False)
    passes: int = field(default=0, compare=False)

    @property
    def data(self) -> bytes:
        """The bytes of the text."""
        return b"".join(self.pieces)

    @property
    def text(self) -> str:
        """The text; half a character, at a cut, shows as U+FFFD."""
        return self.data.decode("utf-8", errors="replace")

    @property
    def hit_rate(self) -> float:
        """The share of steps that needed no mask; 1 without steps."""
        return 1 - sum(self.misses) / len(self.misses) if self.misses else 1.0


@dataclass(eq=False)
class _Growing:
    tokens: list[int] = field(default_factory=lambda: list[int]())
    log_probs: list[float] = field(default_factory=lambda: list[float]())
    misses: list[bool] = field(default_factory=lambda: list[bool]())
    proposed: int = 0
    accepted: int = 0
    passes: int = 0


def own_first(
    lm: LanguageModel,
    prompt: Prompt,
    constraint: GivenConstraint | TokenMachine | None,
    *,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008 - A frozen value.
    max_tokens: int = 64,
    seed: int = 0,
    stream: int = 0,
    draft: Draft = None,
    budget: Budget | None = None,
) -> OwnFirstText:
    """Generate a text, computing a mask only if the model's own choice is not allowed.

    Args:
        prompt: A text to continue, or messages.
        constraint: ``None`` for unconstrained text.
        sampler: A sampler without filters.
        max_tokens: The most tokens, EOS included; a longer text is cut off.
        seed, stream: The seed and the stream of the random numbers.
        draft: A model that proposes tokens, which ``lm`` reads in one pass; the text is the same as
            without it.

    Returns:
        The text, with its misses.

    Raises:
        ExplorerError: The sampler has a filter, or an argument is invalid.

    Example:
        >>> from explorer import choice, load_model
        >>> towns = choice([" Paris", " Rome"])
        >>> text = own_first(load_model("tiny"), "The capital of France is", towns)
        >>> text.text, text.misses[0]
        (' Paris', False)
    """
    lm = checked_model(lm)
    rule = Rule.of(constraint, lm.vocabulary, budget)
    max_tokens = whole_number("max_tokens", max_tokens, 1, MOST_TOKENS)
    whole_number("seed", seed, 0, LAST_SEED)
    whole_number("stream", stream, 0, LAST_STREAM)
    store = LogitsStore(lm, _LOGITS_BYTES)
    ids = prompt_ids(lm, prompt)
    sampler = without_filters(sampler)
    drafting = checked_draft(draft, lm)
    drafts = None if drafting is None else Drafts(drafting, rule, sampler)
    return followed(store, rule, ids, sampler, max_tokens, seed, stream, drafts)


def without_filters(sampler: object) -> Sampler:
    """The sampler, if it has only a temperature.

    Raises:
        ExplorerError: It has a filter, or is not a sampler.
    """
    plain = checked_sampler(sampler)
    if not plain.greedy and plain != Sampler(plain.temperature):
        raise ExplorerError(
            f"{plain} filters: before the mask it would keep other tokens than after it.",
            remedy="Give a sampler with a temperature only.",
            evidence={"sampler": str(plain)},
        )
    return plain


def followed(
    store: LogitsStore,
    rule: Rule,
    ids: Sequence[int],
    sampler: Sampler,
    max_tokens: int,
    seed: int,
    stream: int,
    drafts: Drafts | None = None,
) -> OwnFirstText:
    """The loop of `own_first`, with a store of logits that may be known already.

    Args:
        sampler, max_tokens, seed, stream: As in `own_first`, already checked.
    """
    text, state, path = _Growing(), rule.start, list(ids)
    while len(text.tokens) < max_tokens and state != DONE:
        place = len(text.tokens)
        here = DrawPlace(tuple(path), state, place, None, seed, stream)
        if here.ids not in store:
            text.passes += 1
            if drafts is not None:
                with suppress(ContextFull):  # Near the end of the context: one token at a time.
                    store.read_ahead(here.ids, drafts.run(here), "proposed")
        logits = store.read(here.ids).logits.to(torch.float32)
        token, after = choose_own(
            rule, state, logits, sampler, lambda place=place: uniform(seed, stream, place)
        )
        missed = after is None
        if missed:
            masked = masked_logits(logits, rule.mask(state, None).allowed)
            token = drawn_token(sampler.drawable(masked), uniform(seed, stream, place + _MISSED))
            after = rule.step(state, token) if token >= 0 else None
        if after is None:
            raise ExplorerError(
                "The sampler leaves nothing to draw.",
                remedy="Check the model's logits at this place: Session(...).logits().",
                evidence={"position": place, "state": state},
            )
        proposal = None if drafts is None else drafts.judged(here, token)
        if proposal is not None:
            text.proposed += 1
            text.accepted += proposal.accepted
        text.tokens.append(token)
        text.log_probs.append(float(logits.double().log_softmax(-1)[token]))
        text.misses.append(missed)
        path.append(token)
        if token in rule.vocabulary.eos_ids:
            break
        state = after
    known = rule.vocabulary.tokens
    pieces = tuple((known[t] or b"") if t < len(known) else b"" for t in text.tokens)
    ended = bool(text.tokens) and text.tokens[-1] in rule.vocabulary.eos_ids
    return OwnFirstText(
        tuple(text.tokens), pieces, tuple(text.log_probs), tuple(text.misses), ended,
        text.proposed, text.accepted, text.passes,
    )  # fmt: skip


def choose_own(
    rule: Rule, state: int, logits: Tensor, sampler: Sampler, number: Callable[[], float]
) -> tuple[int, int | None]:
    """The model's own choice, and the state after it; ``None`` if it is not allowed.

    Args:
        logits: float[W].
    """
    # Logits past the vocabulary are padding, which may never be chosen.
    scores = sampler.drawable(logits[: len(rule.vocabulary)])
    token = int(scores.argmax()) if sampler.greedy else drawn_token(scores, number())
    return token, rule.step(state, token) if token >= 0 else None
