"""A draft model proposes several tokens at once, which the model then reads in one pass.

Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding" (2023), and
Koo, Liu, He (2024), section 5.3: a constraint is a machine over token ids, so both models share one
machine and one cache of masks, and a rejection just returns to an earlier state.

The texts are the same as without proposals up to rounding: in float32 a pass over several tokens
changes a logit by about 1e-5, so in about 1 of 10,000 draws a random number at the boundary of two
tokens draws the other one. A model loaded with ``dtype=torch.float64`` avoids this
(`tests/decoding/test_rounding.py`).

A proposal at a place is computed once and kept, so that the tokens read ahead, the accepted ones
and the record agree.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import torch

from explorer.arguments import flag, whole_number, wrong
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel, reading_of
from explorer.decoding.sampling.sampler import Sampler, drawn_token, masked_logits, uniform
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.trace.records import Proposal
from explorer.errors import ContextFull, ExplorerError
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary

MOST_AHEAD: Final = 64
"""The most tokens that are proposed before the model reads them."""


@dataclass(frozen=True, eq=False)
class Drafting:
    """A model that proposes tokens for another one.

    The draft draws with the random number that the model will use, and the proposal is accepted if
    both draw the same token. So the text is the one that the same seed gives without a draft,
    provided that the model computes the same logits in a pass of several tokens.

    A draft does not always pay. A round costs one pass of the model and up to ``ahead`` of the
    draft, so it is faster only with more tokens per pass than 1 + ahead · (time of a draft pass /
    time of a model pass); `Generation.passes` has the passes of a text, `proposed` and `accepted`
    the proposals. With ``"tiny"`` and ``"tiny-draft"``, whose passes take 3.1 and 0.9 ms of
    CPU, the threshold is 2.2 at the default: a JSON record under a constraint reaches 3.3 and is
    generated 1.4 times as fast; the same prompt without a constraint reaches 1.0 and takes 1.7
    times as long.

    Args:
        model: The draft: any language model with the same vocabulary. Where its `read` raises
            `ContextFull`, it proposes nothing.
        ahead: The number of tokens proposed before the model reads them in one pass, 1 to 64.
        masked: Whether the draft is constrained too. If not, it may propose a token that is not
            allowed; that is rejected, and nothing after it is proposed.

    Raises:
        ExplorerError: An argument is invalid.

    Example:
        >>> from explorer import choice, load_model, Session
        >>> lm = load_model("tiny")
        >>> session = Session(lm, choice([" Paris", " Rome"]), "The capital of France is",
        ...                   draft=Drafting(lm, ahead=2))  # A model agrees with itself.
        >>> step = session.step()
        >>> step.text, step.proposal.accepted
        (' Paris', True)
    """

    model: LanguageModel
    ahead: int = 4
    masked: bool = True

    @property
    def name(self) -> str:
        """The name of the draft in a trace."""
        return self.model.name

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", checked_model(self.model))
        object.__setattr__(self, "ahead", whole_number("ahead", self.ahead, 1, MOST_AHEAD))
        flag("masked", self.masked)


Draft = Drafting | LanguageModel | None
"""The type of the argument ``draft``."""


def checked_draft(draft: object, lm: LanguageModel) -> Drafting | None:
    """The caller's draft; a language model is wrapped in a `Drafting` with its defaults.

    Raises:
        ExplorerError: It is not a draft, or has another vocabulary.
    """
    if draft is None:
        return None
    if not isinstance(draft, Drafting):
        try:
            draft = Drafting(cast("LanguageModel", draft))
        except ExplorerError as error:
            remedy = 'Give one, such as load_model("tiny-draft"), or None.'
            raise wrong("draft", draft, "a language model", remedy=remedy) from error
    own, other = draft.model.vocabulary, lm.vocabulary
    if own is not other and _text(own) != _text(other):
        raise ExplorerError(
            f"The draft {draft.model.name!r} has another vocabulary than {lm.name!r}: the same "
            "ids would mean other text.",
            remedy="Give a draft with the same tokenizer and the same ends of text.",
            evidence={"draft": own.fingerprint, "model": other.fingerprint},
        )
    return draft


def _text(vocabulary: Vocabulary) -> tuple[Sequence[bytes | None], tuple[int, ...]]:
    """The tokens without trailing ids that are not text, and the ends of text.

    The number of trailing ids depends on the width of a model's logits.
    """
    tokens = vocabulary.tokens
    end = len(tokens)
    while end and tokens[end - 1] is None:
        end -= 1
    return tokens[:end], vocabulary.eos_ids


_KEPT: Final = 256
"""The number of cached proposals, more than two of the longest rounds."""


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
    def number(self) -> float:
        """The random number of this place, in [0, 1)."""
        return uniform(self.seed, self.stream, self.index)


class Drafts:
    """The proposals of a draft model, cached by place; not thread-safe, its owner holds a lock.

    The draft uses the same mask as the model at a place: both ask one `Rule`, whose machine caches
    the masks of its states. A rejected proposal leaves nothing to undo, because states are ints and
    key-values are looked up by their ids.
    """

    def __init__(self, drafting: Drafting, rule: Rule, sampler: Sampler) -> None:
        self._drafting = drafting
        self._rule = rule
        self._sampler = sampler
        self._kept: OrderedDict[DrawPlace, tuple[int, float]] = OrderedDict()

    def proposal(self, place: DrawPlace) -> tuple[int, float] | None:
        """The draft's token at a place, and the log-probability that it was drawn with.

        Returns:
            ``None`` if the draft cannot read the text.

        Raises:
            ExplorerError: The draft leaves nothing to draw.
        """
        known = self._kept.get(place)
        if known is not None:
            self._kept.move_to_end(place)
            return known
        drafting = self._drafting
        try:
            logits = reading_of(drafting.model, place.ids).logits.to(torch.float32)
        except ContextFull:
            return None
        if drafting.masked:
            logits = masked_logits(logits, self._rule.mask(place.state, place.remaining).allowed)
        scores = self._sampler.drawable(logits)
        token = drawn_token(scores, place.number)
        if token < 0:
            raise ExplorerError(
                f"The draft {drafting.model.name!r} leaves nothing to draw.",
                remedy="Check its weights; NaN and infinity give no probabilities.",
                evidence={"position": place.index, "state": place.state},
            )
        log_prob = min(0.0, float(scores[token] - scores.logsumexp(-1)))
        self._kept[place] = token, log_prob
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return token, log_prob

    def run(self, place: DrawPlace) -> tuple[int, ...]:
        """The consecutive tokens that the draft proposes from a place on.

        They stop before the end of the text, before a token that is not allowed, and where the
        draft proposes nothing.
        """
        run: list[int] = []
        ends = self._rule.vocabulary.eos_ids
        while len(run) < self._drafting.ahead:
            made = self.proposal(place)
            if made is None or made[0] in ends:
                break
            state = self._rule.step(place.state, made[0])
            if state is None or state == DONE:
                break
            run.append(made[0])
            place = place.after(made[0], state)
        return tuple(run)

    def judged(self, place: DrawPlace, token: int) -> Proposal | None:
        """The draft's proposal at a place, beside the token that the model draws there."""
        made = self.proposal(place)
        return None if made is None else Proposal(made[0], made[1], made[0] == token)
