"""Whoever proposes tokens for a model to check: a second model, or counts; one protocol.

A proposal at a place is worked out once and kept, so that what was read ahead, what is judged and
what a trace says are the same, also where counts learn in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from torch import Tensor

from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel
from explorer.decoding.sampling.sampler import Sampler
from explorer.decoding.speculation.counting import Counting
from explorer.decoding.speculation.drafting import Draft, Drafting, checked_draft
from explorer.decoding.speculation.drafts import Drafts, DrawPlace
from explorer.decoding.speculation.taking import drawn_token
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.trace.records import Proposal
from explorer.tokens.states import DONE

_KEPT: Final = 256
"""Proposals that are remembered: two rounds of the longest kind, and more."""


class Proposer(Protocol):
    """What a loop that reads several tokens in one pass asks."""

    def run(self, place: DrawPlace) -> tuple[int, ...]:
        """The tokens that are proposed from a place on."""
        ...

    def taken(
        self, place: DrawPlace, drawable: Tensor
    ) -> tuple[int, float | None, Proposal | None]:
        """The token at a place, the random number that decided, and the proposal."""
        ...


Drafter = Drafting | Counting
"""What was asked to propose."""

AnyDraft = Draft | Counting
"""What a caller gives as ``draft``."""


def checked_drafter(draft: object, lm: LanguageModel) -> Drafter | None:
    """What a caller gave as ``draft``.

    Args:
        draft: A `Counting`, a `Drafting`, a language model, or ``None``.
        lm: The model that it proposes for.

    Raises:
        ExplorerError: It is something else, or has another vocabulary.
    """
    if isinstance(draft, Counting):
        checked_draft(draft.draft, checked_model(lm))
        return draft
    return checked_draft(draft, lm)


def proposer_of(drafter: Drafter, rule: Rule, sampler: Sampler) -> Proposer:
    """The proposals of one run.

    Args:
        drafter: What proposes.
        rule: The constraint.
        sampler: How the model chooses.

    Raises:
        ExplorerError: The counts are of another machine.
    """
    if isinstance(drafter, Counting):
        return CountedProposals(drafter, rule, sampler)
    return Drafts(drafter, rule, sampler)


class CountedProposals:
    """Proposals from counts, at places where they know enough; else from a draft, if there is one.

    Args:
        counting: The counts.
        rule: The constraint.
        sampler: How the model chooses.
    """

    def __init__(self, counting: Counting, rule: Rule, sampler: Sampler) -> None:
        counting.check_machine(rule.machine)
        self._counting, self._rule, self._greedy = counting, rule, sampler.greedy
        self._drafts = None if counting.draft is None else Drafts(counting.draft, rule, sampler)
        self._kept: OrderedDict[DrawPlace, tuple[int, float] | None] = OrderedDict()

    def _guess(self, place: DrawPlace) -> tuple[int, float] | None:
        """The counts' proposal at a place, kept from when it was first asked for."""
        if place in self._kept:
            self._kept.move_to_end(place)
            return self._kept[place]
        found = self._kept[place] = self._counting.guess(place.state)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found

    def run(self, place: DrawPlace) -> tuple[int, ...]:
        """The tokens that are proposed from a place on, up to the end of the text."""
        found: list[int] = []
        ends = self._rule.vocabulary.eos_ids
        while len(found) < self._counting.ahead:
            guess = self._guess(place)
            made = guess[0] if guess is not None else self._drafted(place)
            state = None if made is None or made in ends else self._rule.step(place.state, made)
            if made is None or state is None or state == DONE:
                break
            found.append(made)
            place = place.after(made, state)
        return tuple(found)

    def _drafted(self, place: DrawPlace) -> int | None:
        made = None if self._drafts is None else self._drafts.proposal(place)
        return None if made is None else made[0]

    def taken(
        self, place: DrawPlace, drawable: Tensor
    ) -> tuple[int, float | None, Proposal | None]:
        """The token that the model draws here, and what was proposed."""
        return self.judged(place, lambda: drawn_token(drawable, place.numbers.drawing), drawable)

    def judged(
        self, place: DrawPlace, draw: Callable[[], int], drawable: Tensor | None = None
    ) -> tuple[int, float | None, Proposal | None]:
        """The same with a draw of the caller's.

        Args:
            place: Where.
            draw: Draws the token.
            drawable: What a draft's proposal is judged with, where it may be judged by its ratio.
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
