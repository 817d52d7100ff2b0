"""A common protocol for proposals by a draft model and by counts.

A proposal at a place is computed once and kept, so that the tokens read ahead, the accepted ones
and the record agree even if counts change in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import torch
from torch import Tensor

from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel, reading_of
from explorer.decoding.sampling.sampler import Sampler, drawn_token
from explorer.decoding.speculation.counting import Counting
from explorer.decoding.speculation.drafting import Draft, Drafting, checked_draft
from explorer.decoding.speculation.taking import PlaceNumbers, masked_logits, take
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.trace.records import Proposal
from explorer.errors import ContextFull, ExplorerError
from explorer.tokens.words import DONE

_KEPT: Final = 128
"""The number of cached proposals with distributions: two of the longest rounds."""


@dataclass(frozen=True, slots=True)
class DrawPlace:
    """A position at which a token is drawn, with everything that a proposal depends on.

    Args:
        remaining: The remaining token budget of the mask; ``None`` for no limit.
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
    """The proposals of a draft model, cached by place; not thread-safe, its owner holds a lock.

    The draft uses the same mask as the model at a place: both ask one `Rule`, whose machine caches
    the masks of its states. A rejected proposal leaves nothing to undo, because states are ints and
    key-values are looked up by their ids.
    """

    def __init__(self, drafting: Drafting, rule: Rule, sampler: Sampler) -> None:
        self.drafting = drafting
        self._rule = rule
        self._sampler = sampler
        self._kept: OrderedDict[DrawPlace, tuple[int, Tensor]] = OrderedDict()

    def proposal(self, place: DrawPlace) -> tuple[int, Tensor] | None:
        """The draft's token at a place, and the log-probabilities that it was drawn from.

        Returns:
            ``None`` if the text is longer than the draft can read.

        Raises:
            ExplorerError: The draft leaves nothing to draw.
        """
        known = self._kept.get(place)
        if known is not None:
            self._kept.move_to_end(place)
            return known
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
        """The consecutive tokens that the draft proposes from a place on.

        They stop before the end of the text, before a token that is not allowed, and when the
        draft's context is full.
        """
        run: list[int] = []
        ends = self._rule.vocabulary.eos_ids
        while len(run) < self.drafting.ahead:
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
            run.append(token)
            place = place.after(token, state)
        return tuple(run)

    def taken(
        self, place: DrawPlace, drawable: Tensor
    ) -> tuple[int, float | None, Proposal | None]:
        """The token at a place, distributed as the model draws, whatever the draft proposes.

        Args:
            drawable: float[W], the log-probabilities that the model draws from.

        Returns:
            The token, -1 if there is none; the deciding random number, ``None`` for a greedy
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


_KEPT_GUESSES: Final = 256
"""The number of cached proposals from counts, more than two of the longest rounds."""


class Proposer(Protocol):
    """A source of proposals for a loop that reads several tokens in one pass."""

    def run(self, place: DrawPlace) -> tuple[int, ...]:
        """The consecutive tokens that are proposed from a place on."""
        ...

    def taken(
        self, place: DrawPlace, drawable: Tensor
    ) -> tuple[int, float | None, Proposal | None]:
        """The token at a place, the deciding random number, and the proposal."""
        ...


Drafter = Drafting | Counting
"""The checked options of a source of proposals."""

AnyDraft = Draft | Counting
"""The type of the argument ``draft`` where counts are accepted too."""


def checked_drafter(draft: object, lm: LanguageModel) -> Drafter | None:
    """The caller's draft, checked.

    Args:
        draft: A `Counting`, a `Drafting`, a language model, or ``None``.

    Raises:
        ExplorerError: The draft has another type, or another vocabulary than the model.
    """
    if isinstance(draft, Counting):
        checked_draft(draft.draft, checked_model(lm))
        return draft
    return checked_draft(draft, lm)


def proposer_of(drafter: Drafter, rule: Rule, sampler: Sampler) -> Proposer:
    """The source of proposals for one run.

    Raises:
        ExplorerError: The counts are of another machine.
    """
    if isinstance(drafter, Counting):
        return CountedProposals(drafter, rule, sampler)
    return Drafts(drafter, rule, sampler)


class CountedProposals:
    """Proposals from counts, or from a draft at places with too few counts."""

    def __init__(self, counting: Counting, rule: Rule, sampler: Sampler) -> None:
        counting.check_machine(rule.machine)
        self._counting, self._rule, self._greedy = counting, rule, sampler.greedy
        self._drafts = None if counting.draft is None else Drafts(counting.draft, rule, sampler)
        self._kept: OrderedDict[DrawPlace, tuple[int, float] | None] = OrderedDict()

    def _guess(self, place: DrawPlace) -> tuple[int, float] | None:
        """The counts' proposal at a place, as it was when first asked for."""
        if place in self._kept:
            self._kept.move_to_end(place)
            return self._kept[place]
        guess = self._kept[place] = self._counting.guess(place.state)
        while len(self._kept) > _KEPT_GUESSES:
            self._kept.popitem(last=False)
        return guess

    def run(self, place: DrawPlace) -> tuple[int, ...]:
        """The consecutive tokens that are proposed from a place on, up to the end of the text."""
        run: list[int] = []
        ends = self._rule.vocabulary.eos_ids
        while len(run) < self._counting.ahead:
            guess = self._guess(place)
            made = guess[0] if guess is not None else self._drafted(place)
            state = None if made is None or made in ends else self._rule.step(place.state, made)
            if made is None or state is None or state == DONE:
                break
            run.append(made)
            place = place.after(made, state)
        return tuple(run)

    def _drafted(self, place: DrawPlace) -> int | None:
        made = None if self._drafts is None else self._drafts.proposal(place)
        return None if made is None else made[0]

    def taken(
        self, place: DrawPlace, drawable: Tensor
    ) -> tuple[int, float | None, Proposal | None]:
        """The token that the model draws at a place, and the proposal."""
        return self.judged(place, lambda: drawn_token(drawable, place.numbers.drawing), drawable)

    def judged(
        self, place: DrawPlace, draw: Callable[[], int], drawable: Tensor | None = None
    ) -> tuple[int, float | None, Proposal | None]:
        """The token of a caller's own draw at a place, and the proposal; the token is counted.

        Args:
            drawable: The model's log-probabilities, to accept a draft's proposal by its ratio.
        """
        guess = self._guess(place) if self._counting.ahead else None
        number = None if self._greedy else place.numbers.drawing
        if guess is None and self._drafts is not None and drawable is not None:
            token, number, proposal = self._drafts.taken(place, drawable)
        else:
            token = draw()
            proposal = None if guess is None else Proposal(guess[0], guess[1], token == guess[0])
        if token >= 0 and self._rule.step(place.state, token) is not None:
            self._counting.counts.add(place.state, token)
        return token, number, proposal
