"""The parts of a trace: positions, and the steps between them.

*Position k* is after k tokens. It holds the state, the mask, and the distribution from which token
k + 1 is drawn. A *step* is one token: which, by whom it was chosen, and how likely it was. So n
tokens have n + 1 positions.

Three distributions are kept apart everywhere, and always in this order:

``model``        the model's own probabilities, over all its logits;
``filtered``     after the sampler's temperature and filters, as if there were no constraint;
``constrained``  after the mask, then temperature and filters: the one a token is drawn from.

Greedy decoding (temperature 0) has no distribution of its own, it only takes the likeliest. Its
``filtered`` and ``constrained`` are those of temperature 1 without filters, so that they still show
what the mask does.

Units: log-probabilities are natural; entropy and divergence are in bits; times in milliseconds.
Times, cache use and notes say how a step was made, not what it is: comparisons leave them out.

Everything here is a value. Sums (text, cumulative log-probability) are worked out once, when a
position is made from the one before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from explorer.tokens.words import DONE

ChosenBy = Literal["sampler", "user", "given", "kept", "fed", "prefilled"]
"""Who chose a token: the sampler; the user; a run from elsewhere (`Session.from_ids`); it was kept
from before the constraint or the prompt was edited; somebody else in the conversation
(`Session.feed`); or the tokenizer, for a text that the constraint forces (``forced="prefill"``)."""

CHOSEN_BY: Final[tuple[ChosenBy, ...]] = get_args(ChosenBy)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token at one position, in the three distributions.

    Args:
        allowed: Whether the mask (token budget included) allows it.
        model: Log-probability under the model.
        filtered: After temperature and filters; -inf if a filter removed it.
        constrained: Under the constraint; -inf if the mask or a filter removed it.
    """

    token: int
    allowed: bool
    model: float
    filtered: float
    constrained: float


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds spent on a position.

    Args:
        model: Reading: from ids to logits.
        mask: From state to mask.
        sampling: Filters, and everything that is recorded.
    """

    model: float = 0.0
    mask: float = 0.0
    sampling: float = 0.0


@dataclass(frozen=True, slots=True)
class TokenDistribution:
    """The model's distribution at one position, and what the mask makes of it.

    Args:
        candidates: The likeliest tokens of each of the three distributions, together, in the
            model's order.
        log_z: Natural logarithm of the feasible mass: the model's probability on allowed tokens.
        entropy_before: Of the model's own distribution, in bits.
        entropy_after: Of the constrained distribution, in bits.
        kl: Divergence of the constrained distribution from the model's, in bits. Without filters
            and at temperature 1 it is -log2 Z.
        num_drawable: How many tokens the mask and the filters leave.
        first_choice: The model's own likeliest token.
        first_choice_log_prob: Its log-probability under the model.
        intervention: Whether that token is masked.
        timing: Milliseconds.
        computed: How many ids the model had to read for it.
        note: Why it had to read more than one id although a cache was kept; empty if it did not.
    """

    candidates: tuple[Candidate, ...]
    log_z: float
    entropy_before: float
    entropy_after: float
    kl: float
    num_drawable: int
    first_choice: int
    first_choice_log_prob: float
    intervention: bool
    timing: Timing = field(default=Timing(), compare=False)
    computed: int = field(default=0, compare=False)
    note: str = field(default="", compare=False)

    @property
    def z(self) -> float:
        """The feasible mass: the model's probability on allowed tokens."""
        return math.exp(self.log_z)

    def candidate(self, token: int) -> Candidate | None:
        """The candidate of an id, if it is among those kept."""
        return next((entry for entry in self.candidates if entry.token == token), None)

    def top(
        self, k: int, of: Literal["model", "filtered", "constrained"] = "model"
    ) -> tuple[Candidate, ...]:
        """The likeliest tokens of one distribution, of equals the lowest id first.

        Args:
            k: How many at most; not more than the session kept (`top_k`).
            of: Which distribution.
        """
        possible = [entry for entry in self.candidates if getattr(entry, of) > -math.inf]
        return tuple(sorted(possible, key=lambda entry: (-getattr(entry, of), entry.token))[:k])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WrittenText:
    """The bytes of all tokens up to a position, sharing what stands before with other positions.

    As plain bytes, the texts of 5,000 positions took 20 MB, four times as much for twice the
    steps. Here each position keeps the last few hundred bytes, and a pointer to those before.

    Args:
        before: What stands before ``tail``; ``None`` for nothing.
        tail: The last bytes.

    Example:
        >>> bytes(WrittenText().plus(b"foo").plus(b"d"))
        b'food'
    """

    before: WrittenText | None = None
    tail: bytes = b""

    def plus(self, data: bytes | None) -> WrittenText:
        """These bytes and those of one more token; ``None`` for one that writes nothing."""
        if not data:
            return self
        if len(self.tail) + len(data) <= _TAIL_BYTES:
            return WrittenText(self.before, self.tail + data)
        return WrittenText(self, data)

    def __bytes__(self) -> bytes:
        parts: list[bytes] = []
        at: WrittenText | None = self
        while at is not None:
            parts.append(at.tail)
            at = at.before
        return b"".join(reversed(parts))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, WrittenText) and bytes(self) == bytes(other))

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return f"Written({bytes(self)!r})"

    def __reduce__(self) -> tuple[type[WrittenText], tuple[None, bytes]]:
        # A long chain of pointers would be too deep for pickle.
        return WrittenText, (None, bytes(self))


_TAIL_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class Position:
    """After k tokens, before the next. Its mask is the trace's (`Trace.allowed`, `Trace.row`).

    Args:
        index: k.
        state: Of the token machine, or a sentinel (`explorer.DONE`, ...).
        char_state: The state of the machine over bytes that it stands for; -1 for a sentinel.
        written: The bytes of all tokens so far, the prompt's not included.
        num_allowed: How many ids the mask allows, after the token budget.
        over_budget: How many ids the token budget removed.
        log_prob_model: Cumulative log-probability of the tokens so far under the model; never NaN:
            ``None`` if the number of some step is not known.
        log_prob_constrained: The same, under the constraint.
        distribution: ``None`` after the end of the text, and in a run without a model.
    """

    index: int
    state: int
    char_state: int
    written: WrittenText
    num_allowed: int
    over_budget: int
    log_prob_model: float | None
    log_prob_constrained: float | None
    distribution: TokenDistribution | None

    @property
    def data(self) -> bytes:
        """The bytes of all tokens so far, the prompt's not included."""
        return bytes(self.written)

    @property
    def text(self) -> str:
        """The text so far. Half a character at its end shows as U+FFFD."""
        return self.data.decode("utf-8", errors="replace")

    @property
    def forced(self) -> bool:
        """Whether exactly one id is allowed, so that the model has no choice."""
        return self.num_allowed == 1 and not self.finished

    @property
    def finished(self) -> bool:
        """Whether the text has ended."""
        return self.state == DONE


@dataclass(frozen=True, slots=True)
class Proposal:
    """The token that a second model proposed for a step.

    Args:
        log_prob: Under the distribution that it was drawn from.
        accepted: Whether it was taken.
    """

    token: int
    log_prob: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One token.

    Args:
        data: The bytes it writes; ``None`` if it writes none, as EOS does.
        chosen_by: Who chose it.
        before: The position it was chosen at.
        log_prob_model: Under the model; ``None`` if not known.
        log_prob_filtered: After temperature and filters; ``None`` if not known.
        log_prob_constrained: Under the constraint; ``None`` if not known, -inf if a user chose
            what a filter would have removed.
        rank: Its place in the model's own order, 1 for the first choice; ``None`` if not known.
        uniform: The random number that decided, in [0, 1); ``None`` where none did.
        proposal: What a draft proposed; ``None`` without one, and where the sampler did not choose.
        role: Who wrote it, where it was fed, such as ``"tool"``; else empty.
    """

    token: int
    data: bytes | None
    chosen_by: ChosenBy
    before: Position
    log_prob_model: float | None
    log_prob_filtered: float | None
    log_prob_constrained: float | None
    rank: int | None
    uniform: float | None
    proposal: Proposal | None = None
    role: str = ""

    @property
    def index(self) -> int:
        """The number of tokens before it."""
        return self.before.index

    @property
    def forced(self) -> bool:
        """Whether it was the only one allowed."""
        return self.before.forced

    @property
    def intervention(self) -> bool:
        """Whether the model's own first choice was masked here."""
        distribution = self.before.distribution
        return distribution is not None and distribution.intervention

    @property
    def text(self) -> str:
        """The text that it writes; half a character shows as U+FFFD."""
        return (self.data or b"").decode("utf-8", errors="replace")


def added(total: float | None, more: float | None) -> float | None:
    """Add one step to a cumulative log-probability; an unknown one stays unknown."""
    return None if total is None or more is None else total + more
