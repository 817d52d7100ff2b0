"""The proposals of the second model at a place: a function of the place, worked out once.

The mask of the draft is the one that the model is given at the same place: both ask one `Rule`,
whose machine keeps the masks of its states. A rejected proposal leaves nothing to undo, because
states are ints, and key-values are found again by their ids.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from explorer.decoding.models.arguments import reading_of
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.drafting import Drafting
from explorer.decoding.speculation.taking import PlaceNumbers, drawn_token, masked_logits, take
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.trace.records import Proposal
from explorer.errors import ContextFull, ExplorerError
from explorer.tokens.states import DONE

_KEPT: Final = 128
"""Proposals that are remembered with their distributions: two rounds of the longest kind."""


@dataclass(frozen=True, slots=True)
class DrawPlace:
    """Where a token is drawn, with everything that a proposal depends on.

    Args:
        ids: The prompt's ids and all since.
        state: Of the constraint.
        index: How many tokens were written.
        remaining: Tokens that the mask may still plan with; ``None`` for no limit.
        seed, stream: Of the random numbers.
    """

    ids: tuple[int, ...]
    state: int
    index: int
    remaining: int | None
    seed: int
    stream: int

    def after(self, token: int, state: int) -> DrawPlace:
        """The place after one more token."""
        left = None if self.remaining is None else self.remaining - 1
        return DrawPlace((*self.ids, token), state, self.index + 1, left, self.seed, self.stream)

    @property
    def numbers(self) -> PlaceNumbers:
        """The random numbers of this place."""
        return PlaceNumbers.at(self.seed, self.stream, self.index)


class Drafts:
    """Proposals by their places. Its owner holds a lock.

    Args:
        drafting: The draft and how its proposals are taken.
        rule: The constraint.
        sampler: How both models choose.
    """

    def __init__(self, drafting: Drafting, rule: Rule, sampler: Sampler) -> None:
        self.drafting = drafting
        self._rule = rule
        self._sampler = sampler
        self._kept: OrderedDict[DrawPlace, tuple[int, Tensor]] = OrderedDict()

    def proposal(self, place: DrawPlace) -> tuple[int, Tensor] | None:
        """The draft's token at a place, and the log-probabilities that it was drawn from.

        Args:
            place: Where.

        Returns:
            Both; ``None`` where the text is longer than the draft can read.

        Raises:
            ExplorerError: The draft leaves nothing to draw.
        """
        found = self._kept.get(place)
        if found is not None:
            self._kept.move_to_end(place)
            return found
        drafting = self.drafting
        try:
            logits = reading_of(drafting.model, place.ids).logits.to(torch.float32)
        except ContextFull:
            return None
        if drafting.masked:
            logits = masked_logits(logits, self._rule.mask(place.state, place.remaining).allowed)
        scores = self._sampler.drawable(logits)
        numbers = place.numbers
        same = drafting.accept == "same"
        token = drawn_token(scores, numbers.drawing if same else numbers.proposing)
        if token < 0:
            raise ExplorerError(
                f"The draft {drafting.model.name!r} leaves nothing to draw.",
                remedy="Check its weights; NaN and infinity give no probabilities.",
                evidence={"position": place.index, "state": place.state},
            )
        self._kept[place] = (token, scores)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return token, scores

    def run(self, place: DrawPlace) -> tuple[int, ...]:
        """The tokens that the draft proposes from a place on, one after the other.

        It ends before the end of the text, before a token that is not allowed, and where the draft
        can read no more.

        Args:
            place: Where.
        """
        found: list[int] = []
        ends = self._rule.vocabulary.eos_ids
        while len(found) < self.drafting.ahead:
            made = self.proposal(place)
            if made is None:
                break
            token = made[0]
            allowed = self._rule.mask(place.state, place.remaining).allowed
            if token in ends or token >= len(allowed) or not allowed[token]:
                break
            state = self._rule.step(place.state, token)
            if state is None or state == DONE:
                break
            found.append(token)
            place = place.after(token, state)
        return tuple(found)

    def taken(
        self, place: DrawPlace, drawable: Tensor
    ) -> tuple[int, float | None, Proposal | None]:
        """The token at a place, whatever the draft proposes distributed as the model draws.

        Args:
            place: Where.
            drawable: float[W], the log-probabilities that the model draws from.

        Returns:
            The token, -1 where there is none; the random number that decided, ``None`` of a greedy
            sampler; and the proposal, if there is one.
        """
        made, numbers = self.proposal(place), place.numbers
        greedy = self._sampler.greedy
        if made is None:
            return drawn_token(drawable, numbers.drawing), None if greedy else numbers.drawing, None
        proposed, scores = made
        if self.drafting.accept == "same":
            token, number = drawn_token(drawable, numbers.drawing), numbers.drawing
        else:
            token, number = take(drawable, scores, proposed, numbers)
        log_prob = min(0.0, float(scores[proposed] - scores.logsumexp(-1)))
        proposal = Proposal(proposed, log_prob, token == proposed)
        return token, None if greedy else number, proposal
