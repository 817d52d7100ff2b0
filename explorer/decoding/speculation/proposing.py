"""Proposals of several tokens at once: by a draft model, or from counts.

Leviathan, Kalman, Matias, "Fast inference from transformers via speculative decoding" (2023), and
Koo, Liu, He (2024), section 5.3: a constraint is a machine over token ids, so both models share one
machine and one cache of masks, and a rejection just returns to an earlier state.

*Counts* need no draft model. At many places of a structured text the next token is nearly always
the same: after ``{"`` the first name, after a name ``":``. So the tokens at each place of the
machine are counted; after a few texts the most frequent ones are proposed, several at a time, and
checked in one forward pass of the model (Beurer-Kellner, Fischer, Vechev 2024, section 3.6). The
texts are the same as without proposals up to rounding: in float32 a pass over several tokens
changes a logit by about 1e-5, so in about 1 of 10,000 draws a random number at the boundary of two
tokens draws the other one. A model loaded with ``dtype=torch.float64`` avoids this
(`tests/decoding/test_rounding.py`). A *place* is the state of the scanner and that of the parser:
the state of the byte machine if that is finite; for a machine with a stack, its state and the rule
to which it returns, because the whole stack differs at every depth. It costs one table look-up per
proposal.

A proposal at a place is computed once and kept, so that the tokens read ahead, the accepted ones
and the record agree even if counts change in between.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Final, Literal, Protocol, cast, get_args

import torch
from torch import Tensor

from explorer.arguments import flag, instance, named_way, real_number, whole_number, wrong
from explorer.decoding.models.arguments import checked_model
from explorer.decoding.models.model import LanguageModel, reading_of
from explorer.decoding.sampling.sampler import Sampler, drawn_token
from explorer.decoding.speculation.taking import PlaceNumbers, masked_logits, take
from explorer.decoding.stepping.rule import Rule
from explorer.decoding.trace.records import Proposal
from explorer.errors import ContextFull, ExplorerError
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE
from explorer.vocabulary import Vocabulary

Accept = Literal["same", "ratio"]
"""The way of acceptance: if the model draws the same token with the same random number, or by the
ratio of the two probabilities."""

MOST_AHEAD: Final = 64
"""The most tokens that are proposed before the model reads them."""


@dataclass(frozen=True, eq=False)
class Drafting:
    """A model that proposes tokens for another one.

    Either way of acceptance gives the same distribution of texts as without a draft, and with a
    greedy sampler the same text.

    ``"same"``: the draft draws with the random number that the model will use, and the proposal is
    accepted if both draw the same token. So the text is the one that the same seed gives without a
    draft, provided that the model computes the same logits in a pass of several tokens.

    ``"ratio"``: a proposal x is accepted with the probability min(1, p(x)/q(x)), where p is the
    distribution of the model and q that of the draft; after a rejection the token is drawn from
    max(0, p − q), normalised. The rate of acceptance, 1 − the total variation of p and q, is the
    highest possible.

    A draft does not always pay. A round costs one pass of the model and up to ``ahead`` of the
    draft, so it is faster only with more tokens per pass than 1 + ahead · (time of a draft pass /
    time of a model pass); `explorer.decoding.speculation.acceptance.measured_acceptance` measures
    the tokens per pass. With ``"tiny"`` and ``"tiny-draft"``, whose passes take 3.1 and 0.9 ms of
    CPU, the threshold is 2.2 at the default: a JSON record under a constraint reaches 3.3 and is
    generated 1.4 times as fast; the same prompt without a constraint reaches 1.0 and takes 1.7
    times as long.

    Args:
        model: The draft: any language model with the same vocabulary.
        ahead: The number of tokens proposed before the model reads them in one pass, 1 to 64.
        masked: Whether the draft is constrained too. If not, it may propose a token that is not
            allowed; that is rejected, and nothing after it is proposed.
        accept: ``"same"`` or ``"ratio"``.

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
    accept: Accept = "same"

    @property
    def name(self) -> str:
        """The name of the draft in a trace."""
        return self.model.name

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", checked_model(self.model))
        object.__setattr__(self, "ahead", whole_number("ahead", self.ahead, 1, MOST_AHEAD))
        flag("masked", self.masked)
        ways = 'a way to take proposals: "same" or "ratio"'
        accept = named_way("accept", self.accept, get_args(Accept), ways)
        object.__setattr__(self, "accept", accept)


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


class TokenCounts:
    """Thread-safe counts of the tokens seen at each place of a machine.

    Args:
        machine: The token machine to which the places belong.

    Raises:
        ExplorerError: It is not a token machine.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> machine = explorer.compile(explorer.regex("(ab)+"), vocab)
        >>> counts = TokenCounts(machine)
        >>> for ids in ([2, 3], [2, 3], [0, 1, 3]):
        ...     counts.learn(ids)
        >>> counts.likeliest(machine.start)[0], round(counts.likeliest(machine.start)[1], 2)
        (2, 0.67)
    """

    def __init__(self, machine: TokenMachine) -> None:
        if not isinstance(machine, TokenMachine):  # pyright: ignore[reportUnnecessaryIsInstance] - A user may give anything.
            remedy = "Make it with explorer.compile(constraint, vocabulary)."
            raise wrong("machine", machine, "a token machine", remedy=remedy)
        self._machine = machine
        self._counts: dict[Hashable, Counter[int]] = {}
        self._lock = RLock()

    @property
    def machine(self) -> TokenMachine:
        """The token machine to which the places belong."""
        return self._machine

    def __len__(self) -> int:
        """The number of places with counts."""
        return len(self._counts)

    def add(self, state: int, token: int) -> None:
        """Count a token.

        Args:
            state: The state of the machine before the token.
        """
        with self._lock:
            self._counts.setdefault(self._place(state), Counter())[token] += 1

    def learn(self, ids: Iterable[int]) -> None:
        """Count the tokens of a text.

        Args:
            ids: The ids from the start; counting stops at the first that is not allowed.

        Raises:
            ExplorerError: An entry is not an id.
        """
        state: int | None = self._machine.start
        for token in ids:
            token = whole_number("token", token, 0)
            before, state = state, self._machine.step(state, token)
            if state is None:
                return
            self.add(before, token)
            if state == DONE:
                return

    def likeliest(self, state: int) -> tuple[int, float, int] | None:
        """The most frequent token at the place of a state.

        Returns:
            The token, its share, and the total count of the place; ``None`` for a new place.
        """
        with self._lock:
            counts = self._counts.get(self._place(state))
            if not counts:
                return None
            # Ties go to the lowest id, so that the order of counting does not matter.
            token = max(counts, key=lambda one: (counts[one], -one))
            return token, counts[token] / counts.total(), counts.total()

    def _place(self, state: int) -> Hashable:
        characters, here = self._machine.byte_machine, self._machine.byte_state(state)
        if characters is None or characters.stacks is None:
            return here
        stack = characters.stacks.symbols(here)
        if stack is not None:
            return stack[0], stack[1][:1]
        return frozenset(inner for inner, _ in characters.stacks.heads(here))


@dataclass(frozen=True, eq=False)
class Counting:
    """Proposals from counts, in place of a draft model: ``generate(..., draft=Counting(...))``.

    Args:
        counts: The counts, which are updated with each generated text.
        ahead: The number of tokens proposed before the model reads them in one pass, 0 to 64.
        least: The share of a place's count that a token needs to be proposed.
        seen: The count that a place needs before anything is proposed.
        draft: A second model that proposes if the counts do not.

    Raises:
        ExplorerError: An argument is invalid.

    Example:
        >>> import explorer
        >>> lm = explorer.load_model("tiny")
        >>> towns = explorer.compile(explorer.choice([" Paris.", " Rome."]), lm.vocabulary)
        >>> counting = Counting(TokenCounts(towns), seen=1)
        >>> for _ in range(2):
        ...     (text,) = explorer.generate(lm, "The capital of France is", towns, draft=counting)
        >>> text.text, text.proposed, text.accepted, text.passes
        (' Paris.', 3, 3, 1)
    """

    counts: TokenCounts
    ahead: int = 8
    least: float = 0.5
    seen: int = 3
    draft: Drafting | None = None

    def __post_init__(self) -> None:
        remedy = "Make them with TokenCounts(machine)."
        instance("counts", self.counts, TokenCounts, "counts of tokens", remedy=remedy)
        object.__setattr__(self, "ahead", whole_number("ahead", self.ahead, 0, MOST_AHEAD))
        object.__setattr__(self, "seen", whole_number("seen", self.seen, 1))
        least = real_number("least", self.least, "a share from 0 to 1")
        if not 0 <= least <= 1:
            raise wrong("least", self.least, "a share from 0 to 1")
        if self.draft is not None:
            instance("draft", self.draft, Drafting, "a Drafting")

    @property
    def name(self) -> str:
        """Its name in a trace."""
        return "counts" if self.draft is None else f"counts and {self.draft.name}"

    def guess(self, state: int) -> tuple[int, float] | None:
        """The token that the counts propose, and the logarithm of its share."""
        likeliest = self.counts.likeliest(state)
        if likeliest is None or likeliest[2] < self.seen or likeliest[1] < self.least:
            return None
        return likeliest[0], math.log(likeliest[1])

    def check_machine(self, machine: TokenMachine) -> None:
        """Refuse a machine other than that of the counts.

        Raises:
            ExplorerError: It is another machine, whose states mean other places.
        """
        if machine is not self.counts.machine:
            raise ExplorerError(
                "The counts are of another machine: their places mean something else here.",
                remedy="Compile the constraint once, and give that machine to TokenCounts and as "
                "the constraint.",
            )


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
