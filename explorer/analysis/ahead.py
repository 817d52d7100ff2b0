"""A look ahead: the probability that the constraint leaves the model after each likely next token.

A mask gives the tokens that may come next, and the model's probability those that it prefers.
Neither says what comes after. ``" New"`` may be likely because the model means ``" York"``, which
the constraint does not have; then nearly all of the model's probability is masked one step later.
The feasible mass after each of the likeliest allowed tokens shows that before a token is taken.

Cost: one forward pass for all of the tokens together (`EachLanguageModel`; other models read them
one by one), a mask for each, and a search for the shortest ending of each. No lock is held
meanwhile, so steps in other threads do not wait.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from explorer.analysis.characters.display import show_text
from explorer.analysis.verdict.background import background_of
from explorer.automata.machine import NO_ARC, Bool
from explorer.budget import Budget
from explorer.decoding.models.model import (
    BatchedLanguageModel,
    EachLanguageModel,
    LanguageModel,
    call_model,
    reading_of,
)
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.trace.records import Float64, highest, log_mass, log_softmax, to_host
from explorer.errors import BudgetExceeded, ContextFull, ExplorerError
from explorer.tokens.machine import is_free
from explorer.tokens.words import DONE, unpack

MOST: Final = 256
"""The most tokens in one look."""

NEAR: Final = 100
"""Endings of more tokens are not searched for, unless limits are given."""

ENDINGS: Final = Budget(states=NEAR, arcs=400_000)
"""Limits of each search for a shortest ending, unless others are given: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """An allowed token, and what the constraint leaves the model after it.

    Args:
        data: The bytes that it writes; ``None`` for the end of text and other control tokens.
        probability: The model's own probability of it here, between 0 and 1.
        mass: The feasible mass after it: the probability, between 0 and 1, that the model then
            gives to the allowed tokens together. ``None`` where no token can follow: the text
            ends with it, or the token budget, the context or the machine's limits are used up.
        wished: The id that the model then finds likeliest; ``None`` where ``mass`` is.
        wish_allowed: Whether that id is allowed then; ``False`` where there is none.
        complete: Whether the text may end after it.
        distance: The fewest tokens to the end of the text after it, EOS included; ``None`` where
            the machine does not know.
        ending: The bytes of the shortest way to a complete text after it; ``None`` where the
            search for it was given up.
    """

    token: int
    data: bytes | None
    probability: float
    mass: float | None
    wished: int | None
    wish_allowed: bool
    complete: bool
    distance: int | None
    ending: bytes | None

    def __str__(self) -> str:
        name = "end of text" if self.data is None else show_text(self.data)
        if self.mass is None:
            return f"{name} {self.probability:.1%}"
        return f"{name} {self.probability:.1%}, then {self.mass:.2g} of the probability is allowed"


@dataclass(frozen=True, slots=True)
class LookedFrom:
    """A place to look ahead from, as values, so that no lock is held during the look.

    Args:
        ids: The prompt's ids and all tokens since.
        state: The state of the token machine.
        allowed: bool[len(vocabulary)], the mask.
        model: float64[W], the model's log-probabilities.
        remaining: The token budget that the mask plans with, EOS included; ``None`` for no limit.
        last: Whether the next token is the last one of the token budget.
    """

    lm: LanguageModel
    rule: Rule
    ids: tuple[int, ...]
    index: int
    state: int
    allowed: Bool
    model: Float64
    remaining: int | None
    last: bool

    def likeliest(self, k: int, least: float = 0.0) -> list[int]:
        """The allowed ids that the model finds likeliest, the likeliest first.

        Args:
            least: The least probability of an id.
        """
        width = min(len(self.allowed), len(self.model))
        scores = np.where(self.allowed[:width], self.model[:width], -math.inf)
        ids = highest(scores, k)
        ids = ids[np.lexsort((ids, -scores[ids]))]
        return ids[np.exp(scores[ids]) >= least].tolist()

    def in_time(self, token: int) -> bool:
        """Whether the token budget removes nothing from the mask after an allowed id."""
        state = self.rule.step(self.state, token)
        if state is None or self.remaining is None:
            return state is not None
        return not self.rule.mask(state, self.remaining - 1).over_budget

    def look(
        self, tokens: Sequence[int], *, budget: Budget | None = None, endings: bool = True
    ) -> tuple[Ahead, ...]:
        """Look at what comes after each of some allowed ids, in one forward pass.

        Args:
            budget: Limits for each search for an ending; default `ENDINGS`.
            endings: Whether to search for endings.
        """
        states = [self.rule.step(self.state, token) for token in tokens]
        after = None if self.remaining is None else self.remaining - 1
        open_ones = [k for k, state in enumerate(states) if state != DONE and not self.last]
        rows = _rows(self.lm, self.ids, [tokens[k] for k in open_ones])
        read = dict(zip(open_ones, rows, strict=False))
        return tuple(
            self._ahead(token, state, read.get(k), after, budget, endings)
            for k, (token, state) in enumerate(zip(tokens, states, strict=True))
            if state is not None
        )

    def _ahead(
        self,
        token: int,
        state: int,
        logits: Tensor | None,
        remaining: int | None,
        budget: Budget | None,
        endings: bool,
    ) -> Ahead:
        rule, mass, wished, wish_allowed = self.rule, None, None, False
        if logits is not None:
            try:
                allowed = unpack(rule.words(state, remaining), len(rule.vocabulary))
            except BudgetExceeded:
                allowed = None  # The mask of a state that was never visited is too large.
            if allowed is not None:
                scores = log_softmax(to_host(logits))
                mask = np.zeros(len(scores), np.bool_)
                mask[: len(allowed)] = allowed[: len(scores)]
                mass = min(1.0, math.exp(log_mass(scores, mask)))
                wished = int(scores.argmax())
                wish_allowed = bool(mask[wished])
        distance = (rule.planned or rule.machine).distance_to_end(state)
        if budget is None and distance is not None and distance > NEAR:
            endings = False
        return Ahead(
            token=token,
            data=rule.vocabulary.tokens[token],
            probability=math.exp(float(self.model[token])),
            mass=mass,
            wished=wished,
            wish_allowed=wish_allowed,
            complete=state == DONE or rule.machine.is_final(state),
            distance=distance,
            ending=self._ending(state, budget) if endings else None,
        )

    def _ending(self, state: int, budget: Budget | None) -> bytes | None:
        machine = self.rule.machine
        if state == DONE or is_free(machine):
            return b""
        place = machine.byte_state(state)
        if place == NO_ARC:
            return None
        paths = background_of(machine).paths
        try:
            return machine.vocabulary.written(
                paths.completion(place, paths.meter(ENDINGS if budget is None else budget))
            )
        except BudgetExceeded:
            return None


def _rows(lm: LanguageModel, ids: tuple[int, ...], following: Sequence[int]) -> Sequence[Tensor]:
    """The logits after each of several next ids: float32[W] each; none if the context is full."""
    if not following:
        return ()
    texts = [(*ids, token) for token in following]
    try:
        if isinstance(lm, EachLanguageModel):
            each = lm
            return tuple(call_model(lm, "read_each", lambda: each.read_each(ids, following)))
        if isinstance(lm, BatchedLanguageModel):
            batched = lm
            return tuple(call_model(lm, "batch", lambda: batched.batch(texts)).logits)
        return [reading_of(lm, text).logits.to(torch.float32) for text in texts]
    except ContextFull:
        return ()


def no_model() -> ExplorerError:
    """The error for a look ahead in a run without a model."""
    return ExplorerError(
        "This run has no model, so nobody knows what it would want after a token.",
        remedy="Make a Session with a model.",
    )
