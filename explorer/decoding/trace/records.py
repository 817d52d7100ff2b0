"""The parts of a trace: positions, the steps between them, and the statistics of a position.

*Position k* is after k tokens. It holds the state, the mask, and the distribution from which token
k + 1 is drawn. A *step* is one token, with who chose it and how likely it was. So n tokens have
n + 1 positions.

Three distributions are distinguished everywhere, always in this order:

``model``        the model's own probabilities, over all its logits;
``filtered``     after the sampler's temperature and filters, as if there were no constraint;
``constrained``  after the mask, then temperature and filters: the token is drawn from it.

Greedy decoding (temperature 0) just takes the likeliest token and has no distribution. Its
``filtered`` and ``constrained`` are those of temperature 1 without filters, so that they still show
the effect of the mask.

Units: log-probabilities are natural; entropy and divergence are in bits; times in milliseconds.
Times, cache use and notes describe how a step was computed, so comparisons ignore them.

Everything here is a value. Running totals (text, cumulative log-probability) are computed once,
when a position is made from the one before.

`measure` computes the statistics from one row of logits and a mask. The sampler works on the
model's device in float32, exactly as in batched generation, so that it draws the same token. The
recorded statistics are computed in float64 on the host, in a few passes over the logits: a sum over
131,072 float32 probabilities has too few digits left for a divergence of a thousandth of a bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.automata.machine import Bool
from explorer.decoding.sampling.sampler import Sampler
from explorer.errors import ExplorerError
from explorer.tokens.words import DONE

ChosenBy = Literal["sampler", "user", "given", "kept", "fed", "prefilled"]
"""The origin of a token: the sampler; the user; given ids (`Session.from_ids`); kept from before an
edit of the constraint or the prompt; fed by a tool or a user of the conversation (`Session.feed`);
or prefilled by the tokenizer for a forced text (``forced="prefill"``)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token at one position, in the three distributions.

    Args:
        allowed: Whether the mask (token budget included) allows it.
        model: The log-probability under the model.
        filtered: The log-probability after temperature and filters; -inf if a filter removed it.
        constrained: The log-probability under the constraint; -inf if the mask or a filter removed
            it.
    """

    token: int
    allowed: bool
    model: float
    filtered: float
    constrained: float


@dataclass(frozen=True, slots=True)
class Timing:
    """The milliseconds spent on a position.

    Args:
        model: From ids to logits.
        mask: From state to mask.
        sampling: For filters and recorded statistics.
    """

    model: float = 0.0
    mask: float = 0.0
    sampling: float = 0.0


@dataclass(frozen=True, slots=True)
class TokenDistribution:
    """The statistics of the model's distribution at one position, before and after the mask.

    Args:
        candidates: The union of the likeliest tokens of the three distributions, in the model's
            order.
        log_z: The natural logarithm of the feasible mass: the model's probability on allowed
            tokens.
        entropy_before: The entropy of the model's own distribution, in bits.
        entropy_after: The entropy of the constrained distribution, in bits.
        kl: The divergence of the constrained distribution from the model's, in bits. Without
            filters and at temperature 1 it is -log2 Z.
        num_drawable: The number of tokens that the mask and the filters leave.
        first_choice: The model's own likeliest token.
        first_choice_log_prob: Its log-probability under the model.
        intervention: Whether that token is masked.
        timing: The milliseconds spent.
        computed: The number of ids that the model had to read.
        note: The reason why cached ids were read again; empty if none were.
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
        """The candidate of an id, if it was kept."""
        return next((entry for entry in self.candidates if entry.token == token), None)

    def top(
        self, k: int, of: Literal["model", "filtered", "constrained"] = "model"
    ) -> tuple[Candidate, ...]:
        """The likeliest tokens of one distribution, of equals the lowest id first.

        Args:
            k: The most tokens to return; the session kept only `top_k`.
            of: The distribution.
        """
        possible = [entry for entry in self.candidates if getattr(entry, of) > -math.inf]
        return tuple(sorted(possible, key=lambda entry: (-getattr(entry, of), entry.token))[:k])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WrittenText:
    """The bytes of all tokens up to a position, sharing their beginning with other positions.

    As plain bytes, the texts of 5,000 positions would take 20 MB, growing quadratically. Here each
    position keeps the last few hundred bytes and a pointer to those before.

    Args:
        before: The bytes before ``tail``; ``None`` for none.
        tail: The last bytes.

    Example:
        >>> bytes(WrittenText().plus(b"foo").plus(b"d"))
        b'food'
    """

    before: WrittenText | None = None
    tail: bytes = b""

    def plus(self, data: bytes | None) -> WrittenText:
        """The bytes extended by those of one more token; ``None`` adds nothing."""
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
    """The position after k tokens; its mask is stored in the trace (`Trace.allowed`, `Trace.row`).

    Args:
        index: The number k of tokens before it.
        state: The state of the token machine, or a sentinel (`explorer.DONE`, ...).
        char_state: The corresponding state of the byte machine; -1 for a sentinel.
        written: The bytes of all tokens so far, without the prompt's.
        num_allowed: The number of ids that the mask allows, token budget included.
        over_budget: The number of ids that the token budget removed.
        log_prob_model: The cumulative log-probability of the tokens so far under the model; never
            NaN, but ``None`` if that of some step is not known.
        log_prob_constrained: The cumulative log-probability under the constraint.
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
        """The bytes of all tokens so far, without the prompt's."""
        return bytes(self.written)

    @property
    def text(self) -> str:
        """The text so far; half a character at its end shows as U+FFFD."""
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
    """The token that a draft proposed for a step.

    Args:
        log_prob: Its log-probability in the distribution from which it was proposed.
        accepted: Whether it was accepted.
    """

    token: int
    log_prob: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One token.

    Args:
        data: The bytes it writes; ``None`` if it writes none, like EOS.
        chosen_by: Its origin; see `ChosenBy`.
        before: The position at which it was chosen.
        log_prob_model: The log-probability under the model; ``None`` if not known.
        log_prob_filtered: The log-probability after temperature and filters; ``None`` if not known.
        log_prob_constrained: The log-probability under the constraint; ``None`` if not known, -inf
            if a user chose a token that a filter would have removed.
        rank: Its rank in the model's own order, from 1; ``None`` if not known.
        uniform: The deciding random number in [0, 1); ``None`` if none was used.
        proposal: The draft's proposal; ``None`` without one, and if the sampler did not choose.
        role: The role that wrote it, such as ``"tool"``, if it was fed; otherwise empty.
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
        """Whether it was the only token allowed."""
        return self.before.forced

    @property
    def intervention(self) -> bool:
        """Whether the model's own first choice was masked here."""
        distribution = self.before.distribution
        return distribution is not None and distribution.intervention

    @property
    def text(self) -> str:
        """Its text; half a character shows as U+FFFD."""
        return (self.data or b"").decode("utf-8", errors="replace")


def added(total: float | None, more: float | None) -> float | None:
    """A cumulative log-probability after one more step; ``None`` if either is unknown."""
    return None if total is None or more is None else total + more


Float64 = NDArray[np.float64]

_PLAIN: Final = Sampler(1.0)


@dataclass(frozen=True, eq=False)
class Measured:
    """The three full distributions of a position, and their statistics for a trace.

    Args:
        model, filtered, constrained: float64[W], log-probabilities.
        drawable: float32[W] on the model's device, the scores that the sampler draws from.
    """

    distribution: TokenDistribution
    model: Float64
    filtered: Float64
    constrained: Float64
    drawable: Tensor

    def rank(self, token: int) -> int:
        """The rank of a token in the model's own order, 1 for the likeliest."""
        own = self.model[token]
        return 1 + int((self.model > own).sum()) + int((self.model[:token] == own).sum())


def measure(logits: Tensor, allowed: Bool, sampler: Sampler, top_k: int) -> Measured:
    """Compute everything about a position that follows from its logits.

    Args:
        logits: float[W], on any device; not changed.
        allowed: bool[len(vocabulary)]; higher ids are masked.
        top_k: The number of likeliest tokens of each distribution to keep.

    Raises:
        ExplorerError: The logits hold NaN or +inf, or are -inf for every allowed token.
    """
    width = logits.shape[-1]
    mask = np.zeros(width, np.bool_)
    mask[: len(allowed)] = allowed[:width]
    raw = logits.to(torch.float32)
    on_device = torch.tensor(mask, device=logits.device)
    masked = raw.masked_fill(~on_device, -math.inf)
    drawable = sampler.drawable(masked)
    model = log_softmax(to_host(raw))
    _check(model, mask)
    log_z = _log_sum(model[mask])
    if sampler.greedy or sampler == _PLAIN:
        # Only the mask applies: the result is exact and needs no pass of the sampler.
        filtered = model
        constrained = np.where(mask, model - log_z, -math.inf)
    else:
        filtered = log_softmax(to_host(sampler.filtered(raw)))
        constrained = log_softmax(to_host(drawable))

    distinct = (model, constrained) if filtered is model else (model, filtered, constrained)
    picked = np.unique(np.concatenate([highest(scores, top_k) for scores in distinct]))
    order = picked[np.lexsort((picked, -model[picked]))]
    first = int(model.argmax())
    by_model, by_filters, by_constraint = (
        _short(scores[order]) for scores in (model, filtered, constrained)
    )
    distribution = TokenDistribution(
        candidates=tuple(
            map(
                Candidate, order.tolist(), mask[order].tolist(), by_model, by_filters, by_constraint
            )
        ),
        # Rounding may give a mass above 1.
        log_z=min(0.0, log_z),
        entropy_before=_bits(model, model),
        entropy_after=_bits(constrained, constrained),
        kl=max(0.0, _bits(constrained, model) - _bits(constrained, constrained)),
        num_drawable=int((constrained > -math.inf).sum()),
        first_choice=first,
        first_choice_log_prob=float(model[first]),
        intervention=not bool(mask[first]),
    )
    return Measured(distribution, model, filtered, constrained, drawable)


def to_host(scores: Tensor) -> Float64:
    """Scores in float64 on the host."""
    return scores.to("cpu", torch.float64).numpy()


def log_mass(scores: Float64, mask: Bool) -> float:
    """The logarithm of the feasible mass of log-probabilities; −inf if nothing is allowed."""
    kept = scores[mask]
    return _log_sum(kept) if (kept > -math.inf).any() else -math.inf


def _log_sum(scores: Float64) -> float:
    highest = float(scores.max())
    return highest + math.log(float(np.exp(scores - highest).sum()))


def log_softmax(scores: Float64) -> Float64:
    """The log-probabilities of logits; a row without a finite maximum is returned unchanged."""
    highest = scores.max()
    if not math.isfinite(highest):
        return scores  # `_check` refuses it.
    return scores - _log_sum(scores)


def _bits(weights: Float64, scores: Float64) -> float:
    """The cross-entropy of two distributions in bits, both given as log-probabilities."""
    kept = weights > -math.inf
    return float(-(np.exp(weights[kept]) * scores[kept]).sum() / math.log(2)) + 0.0


def highest(scores: Float64, k: int) -> NDArray[np.int64]:
    """The ids of the k highest scores above −inf, preferring the lowest of equals."""
    possible = np.flatnonzero(scores > -math.inf)
    k = min(k, len(possible))
    if k == 0:
        return possible
    among = scores[possible]
    least = np.partition(among, -k)[-k]
    above = possible[among > least]
    level = possible[among == least][: k - len(above)]
    return np.concatenate([above, level])


def _short(values: Float64) -> list[float]:
    """The values rounded to seven digits, the precision of float32, to shorten a file."""
    return [float(f"{value:.7g}") for value in values.tolist()]


def _check(model: Float64, mask: Bool) -> None:
    if np.isnan(model).any() or math.isinf(float(model.max())):
        raise ExplorerError(
            "The model's logits hold NaN or infinity, so they give no probabilities.",
            remedy="Check the weights and the dtype; float16 overflows where bfloat16 does not.",
            evidence={"width": len(model)},
        )
    if not (model[mask] > -math.inf).any():
        raise ExplorerError(
            "The model gives probability 0 to every token that is allowed here.",
            remedy="Check that the vocabulary is the model's, and where -inf logits come from.",
            evidence={"allowed": int(mask.sum())},
        )
