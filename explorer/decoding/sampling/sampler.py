"""From logits to one token: temperature, filters, and a draw by one uniform number.

The order is fixed: mask → temperature → top-k → top-p → min-p → draw. The mask comes first, so that
a filter chooses among allowed tokens: a top-k before the mask could remove every allowed token.
Each filter sees the renormalised probabilities left by the one before.

A sampler is a value and has no random state. `filtered` and `draw` are pure functions of tensors,
without host synchronisation, over any leading (batch) dimensions.

The uniform number is a function of (seed, stream, position): there is no state to carry, save or
rewind. A generator with a state would tie a draw to everything drawn before it, so that going back
and forth in a session, or decoding in another batch, would change what follows. A *stream* is one
sequence, such as a row of a batch. The number at a position is the counter-based generator Philox
4x32-10 at that point (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011, section 3.3): ten rounds of two 32 × 32 → 64-bit products. The key is the seed, the counter
is (position, stream), each as two 32-bit words, low word first. The first two words of output make
the 53 bits of a float64, all of them exact, so that the scalar and the tensor form agree bit for
bit. It is not meant for cryptography.

Ties are broken by the token id, the lower one first, in every filter and in the greedy choice, so
top-k keeps exactly k tokens and the result does not depend on the stability of a sort.

Cost: a few microseconds for one number, about eighty small tensor operations for any number of
them; one to four passes over the logits; top-p without top-k sorts them if the mass is spread over
many tokens (17 ms at 131,072 on one CPU core). Batches on the host pass only the allowed tokens
(`explorer.decoding.sampling.on_host`). There are no penalties and no bias: they change logits and
belong before the mask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.arguments import real_number, wrong
from explorer.errors import ExplorerError
from explorer.jit import jit
from explorer.tokens.masks.tensors import checked_tensor

PHILOX_MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
PHILOX_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS: Final = 10

_WORD: Final = 0xFFFFFFFF


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Four 32-bit words of Philox 4x32-10 for one counter and key.

    Example:
        >>> [f"{word:08x}" for word in philox((0, 0, 0, 0), (0, 0))]
        ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(PHILOX_ROUNDS):
        first, second = PHILOX_MULTIPLIERS[0] * c0, PHILOX_MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (
            (second >> 32) ^ c1 ^ k0,
            second & _WORD,
            (first >> 32) ^ c3 ^ k1,
            first & _WORD,
        )
        k0, k1 = (k0 + PHILOX_WEYL[0]) & _WORD, (k1 + PHILOX_WEYL[1]) & _WORD
    return c0, c1, c2, c3


def uniform(seed: int, stream: int, position: int) -> float:
    """The random number of one seed, stream and position.

    Args:
        seed: 0 to 2**64 - 1.
        stream: 0 to 2**63 - 1, such as the row of a batch.
        position: 0 to 2**63 - 1, the number of tokens before the one to draw.

    Returns:
        A multiple of 2**-53 in [0, 1).

    Raises:
        ExplorerError: A number is out of its range.

    Example:
        >>> uniform(0, 0, 0) == uniform(0, 0, 0) != uniform(0, 1, 0)
        True
    """
    for name, place in (("stream", stream), ("position", position)):
        if not 0 <= place < 2**63:
            raise ExplorerError(
                f"There is no random number at {name} {place}.",
                remedy=f"A {name} is 0 to 2**63 - 1.",
                evidence={name: place},
            )
    counter = (position & _WORD, position >> 32, stream & _WORD, stream >> 32)
    words = philox(counter, seed_words(seed))
    return ((words[0] >> 5) * 2.0**26 + (words[1] >> 6)) * 2.0**-53


def uniforms(seed: int, streams: Tensor, positions: Tensor) -> Tensor:
    """The random numbers of many streams and positions, on the tensors' device.

    Without host synchronisation and data-dependent shapes, so it can be captured in a CUDA graph.

    Args:
        seed: 0 to 2**64 - 1.
        streams: int64[...], 0 or more.
        positions: int64[...], 0 or more; broadcast against ``streams``.

    Returns:
        float64[...] in [0, 1), each equal to `uniform` of its stream and position.

    Raises:
        ExplorerError: The seed is out of range, or a tensor is not of integers.

    Example:
        >>> rows = torch.arange(3)
        >>> uniforms(7, rows, torch.tensor(5)).tolist() == [uniform(7, row, 5) for row in range(3)]
        True
    """
    k0, k1 = seed_words(seed)
    for name, tensor in (("streams", streams), ("positions", positions)):
        if tensor.dtype != torch.int64:
            raise ExplorerError(
                f"`{name}` is of {tensor.dtype}, not of int64.",
                remedy=f"Write {name}.to(torch.int64).",
                evidence={"name": name, "dtype": str(tensor.dtype)},
            )
    c0, c1 = positions & _WORD, (positions >> 32) & _WORD
    c2, c3 = streams & _WORD, (streams >> 32) & _WORD
    for _ in range(PHILOX_ROUNDS):
        # Signed products wrap modulo 2**64, so their bits equal those of unsigned products; the
        # mask after the arithmetic shift removes the copies of the sign bit.
        first, second = c0 * PHILOX_MULTIPLIERS[0], c2 * PHILOX_MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            ((second >> 32) & _WORD) ^ c1 ^ k0,
            second & _WORD,
            ((first >> 32) & _WORD) ^ c3 ^ k1,
            first & _WORD,
        )
        k0, k1 = (k0 + PHILOX_WEYL[0]) & _WORD, (k1 + PHILOX_WEYL[1]) & _WORD
    return ((c0 >> 5) * 2**26 + (c1 >> 6)).to(torch.float64) * 2.0**-53


def seed_words(seed: int) -> tuple[int, int]:
    """The Philox key of a seed: its low and its high 32 bits.

    Raises:
        ExplorerError: The seed is not a 64-bit number.
    """
    if not 0 <= seed < 2**64:
        raise ExplorerError(
            f"The seed {seed} is not a 64-bit number.",
            remedy="Take one of 0 to 2**64 - 1.",
            evidence={"seed": seed},
        )
    return seed & _WORD, seed >> 32


_LEAST: Final = float(torch.finfo(torch.float32).tiny)
_MOST: Final = float(torch.finfo(torch.float32).max)

_FEW: Final = 256
"""The number of highest scores that are tried before all are sorted."""

Filter = Literal["mask", "greedy", "top_k", "top_p", "min_p"]


_PART_NUMBERS: Final = 2**20
"""The number of float64 values that are processed at once on the host: 8 MB."""


@dataclass(frozen=True)
class Sampler:
    """The options for choosing a token from logits.

    Args:
        temperature: Divides the logits. 0 is greedy: the likeliest token, of equals the lowest id.
            A tiny one draws evenly among the likeliest tokens, a huge one among all allowed.
        top_k: Keep the k likeliest tokens.
        top_p: Keep the likeliest tokens until their probabilities sum to p; at least one.
        min_p: Keep the tokens with at least p times the probability of the likeliest.

    Raises:
        ExplorerError: A value is out of its range.

    Example:
        >>> logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
        >>> sampler = Sampler(temperature=0.5, top_k=2)
        >>> [f"{p:.2f}" for p in sampler.filtered(logits).exp().tolist()]
        ['0.88', '0.12', '0.00', '0.00']
        >>> sampler.draw(sampler.filtered(logits), torch.tensor(0.9, dtype=torch.float64)).item()
        1
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p", "min_p", "top_k"):
            given: object = getattr(self, name)
            if given is None and name != "temperature":
                continue
            remedy = f"Give {name} as a finite number."
            plain = real_number(f"A sampler's {name}", given, "a finite number", remedy=remedy)
            if math.isinf(plain):
                raise wrong(f"A sampler's {name}", given, "a finite number", remedy=remedy)
            # Plain Python numbers, so that a trace can be saved.
            exact = int(plain) if name == "top_k" and plain.is_integer() else plain
            object.__setattr__(self, name, exact)
        _check("temperature", self.temperature, self.temperature >= 0, "0 or more")
        if self.top_k is not None:
            _check("top_k", self.top_k, int(self.top_k) == self.top_k >= 1, "a whole number from 1")
        if self.top_p is not None:
            _check("top_p", self.top_p, 0 < self.top_p <= 1, "more than 0 and at most 1")
        if self.min_p is not None:
            _check("min_p", self.min_p, 0 <= self.min_p <= 1, "0 to 1")

    @property
    def greedy(self) -> bool:
        """Whether the choice is greedy and uses no random number."""
        return self.temperature == 0

    @property
    def divisor(self) -> float:
        """The divisor of the logits: the temperature, clamped to the range of single precision.

        There 1e-46 would become 0 and 1e308 infinite, and both would give NaN. Clamping changes
        nothing: beyond either bound, differences of logits are infinite or 0 anyway.
        """
        return min(max(self.temperature, _LEAST), _MOST)

    def filtered(self, logits: Tensor) -> Tensor:
        """The log-probabilities from which to draw.

        Args:
            logits: float[..., W], already masked: -inf for tokens that are not allowed.

        Returns:
            float32[..., W] (float64 for float64 logits), normalised log-probabilities, -inf for
            tokens that a filter or the mask removed. A row of -inf stays so; a row with NaN or +inf
            becomes NaN, from which `draw` draws nothing.
        """
        return _normalised(self.drawable(logits))

    def drawable(self, logits: Tensor) -> Tensor:
        """The scores from which to draw: `filtered` without normalisation.

        `draw` needs no normalisation, and every division would round. A draw from these scores
        depends only on the tokens that can be drawn: without the others, the same number draws the
        same token.

        Args:
            logits: As for `filtered`.

        Returns:
            As `filtered`, but the highest score of a row is 0.
        """
        scores = self._scaled(logits)
        if self.greedy:
            return scores
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            ranked = torch.topk(scores, self.top_k, dim=-1).values
            kept = torch.full_like(ranked[..., :1], self.top_k, dtype=torch.int64)
            scores = _keep_highest(scores, ranked, kept)
        else:
            ranked = None
        if self.top_p is not None and self.top_p < 1:
            # Summed in the order of ids, so that masked tokens do not affect rounding.
            wanted = scores.to(torch.float64).exp().cumsum(-1)[..., -1:] * self.top_p
            if ranked is None:
                ranked = _ranked(scores, wanted)
            scores = _keep_highest(scores, ranked, _nucleus(ranked, wanted))
        if self.min_p:
            floor = scores.amax(-1, keepdim=True) + math.log(self.min_p)
            scores = scores.masked_fill(scores < floor, -math.inf)
        return scores

    def draw(self, log_probs: Tensor, uniform: Tensor) -> Tensor:
        """Draw one token per row, by inverse CDF in the order of ids.

        The token is the first whose cumulative probability exceeds ``uniform`` times the row's sum.
        Sums are in float64, so the rounding error of a row is below 1e-13 even at 262,144 tokens.

        Args:
            log_probs: float[..., W], from `filtered`; they need not be normalised.
            uniform: float[...] in [0, 1).

        Returns:
            int64[...]: a token of positive probability, or -1 for a row that has none or holds NaN.
        """
        return draw(log_probs, uniform)

    def _scaled(self, logits: Tensor) -> Tensor:
        """Logits over temperature with maximum 0; for a greedy sampler only the choice remains."""
        _checked_scores("logits", logits)
        scores = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
        highest = scores.amax(-1, keepdim=True)
        # Shifting first prevents overflow at a small temperature. A row with nothing allowed has no
        # finite maximum; it is not shifted, which would give NaN.
        scores = scores - highest.masked_fill(highest == -math.inf, 0.0)
        if not self.greedy:
            return scores / self.divisor
        choice = torch.zeros_like(scores, dtype=torch.bool)
        choice.scatter_(-1, scores.argmax(-1, keepdim=True), True)
        return torch.where(choice | scores.isnan(), scores, -math.inf)


@dataclass(frozen=True)
class Drawing:
    """The options that determine the draws of some texts, besides constraints and streams.

    Args:
        max_tokens: The token budget of each text, EOS included; ``None`` for no limit.
        masking_budget: Whether the budget is part of the mask; ``None`` for yes if the machine
            knows how many tokens its texts still need.
    """

    sampler: Sampler
    seed: int
    max_tokens: int | None
    masking_budget: bool | None


def _checked_scores(name: str, scores: object) -> None:
    wanted = "a tensor, float[..., W] with W of 1 or more"
    if not isinstance(scores, Tensor) or not scores.dim() or not scores.shape[-1]:
        raise wrong(name, scores, wanted)


def draw(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """Draw one token per row; see `Sampler.draw`.

    Example:
        >>> rows = torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]).log()
        >>> draw(rows, torch.tensor([0.5, 0.5])).tolist()
        [2, -1]
    """
    _checked_scores("log_probs", log_probs)
    checked_tensor("uniform", uniform, "a tensor, float[...], in [0, 1)")
    if uniform.device.type != log_probs.device.type:
        raise ExplorerError(
            f"uniform is on {uniform.device}, log_probs on {log_probs.device}.",
            remedy="Put both on one device.",
            evidence={"uniform": str(uniform.device), "log_probs": str(log_probs.device)},
        )
    try:
        torch.broadcast_shapes(uniform.shape, log_probs.shape[:-1])  # pyright: ignore[reportUnknownMemberType]
    except RuntimeError as error:
        raise wrong("uniform", uniform, "a tensor with a number for each row") from error
    if log_probs.dim() == 2 and uniform.shape == log_probs.shape[:1]:
        # Several copies of thousands of rows in float64 would take more memory than the model.
        parts = row_parts(log_probs)
        return torch.cat([_drawn(log_probs[part], uniform[part]) for part in parts])
    return _drawn(log_probs, uniform)


def masked_logits(logits: Tensor, allowed: NDArray[np.bool_]) -> Tensor:
    """Logits with -inf for tokens that are not allowed.

    Args:
        logits: float[W], not changed.
        allowed: bool[V], the mask; ids from V on are not allowed.
    """
    mask = torch.zeros(len(logits), dtype=torch.bool)
    host = allowed[: len(mask)].copy()
    mask[: len(host)] = torch.from_numpy(host)  # pyright: ignore[reportUnknownMemberType]
    return logits.masked_fill(~mask.to(logits.device), -torch.inf)


def drawn_token(log_probs: Tensor, number: float) -> int:
    """The token that a uniform number draws from one row; -1 if there is none.

    Args:
        log_probs: float[W]; they need not be normalised.
        number: In [0, 1).
    """
    place = torch.tensor(number, dtype=torch.float64, device=log_probs.device)
    return int(_drawn(log_probs, place))


def _drawn(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """Draw one token per row, without splitting the rows into parts."""
    width = log_probs.shape[-1]
    weights = log_probs.detach().to(torch.float64).exp()
    if weights.device.type == "cpu":
        shape = (weights[..., 0] * uniform).shape  # The broadcast shape.
        numbers = uniform.detach().to(torch.float64).expand(shape).reshape(-1)
        rows = weights.expand(*shape, width).reshape(-1, width)
        tokens = np.empty(len(numbers), np.int64)
        _pick(rows.numpy(), numbers.numpy(), tokens)
        return torch.from_numpy(tokens).reshape(shape)  # pyright: ignore[reportUnknownMemberType]
    cumulative = weights.cumsum(-1)
    total = cumulative[..., -1:]
    ids = torch.arange(width, device=log_probs.device)
    # A parallel sum may rise where the weight is 0, so the weight is checked too; if rounding
    # leaves no cumulative sum above the target, the last token of positive weight is taken.
    target = uniform.to(torch.float64).unsqueeze(-1) * total
    possible = weights > 0
    first = torch.where((cumulative > target) & possible, ids, width).amin(-1)
    last = torch.where(possible, ids, -1).amax(-1)
    drawn = torch.where(first < width, first, last)
    return torch.where(total.squeeze(-1).isfinite(), drawn, -1)


@jit
def _pick(
    weights: NDArray[np.float64], numbers: NDArray[np.float64], tokens: NDArray[np.int64]
) -> None:  # fmt: skip
    """Draw one token in each row, summing in the order of ids."""
    for row in range(weights.shape[0]):
        total = 0.0
        for k in range(weights.shape[1]):
            total += weights[row, k]
        tokens[row] = -1
        if not np.isfinite(total):
            continue
        target, cumulative = numbers[row] * total, 0.0
        for k in range(weights.shape[1]):
            weight = weights[row, k]
            cumulative += weight
            if weight > 0:
                tokens[row] = k
                if cumulative > target:
                    break


def row_parts(rows: Tensor) -> list[slice]:
    """Slices of rows that are small enough to process at once in float64 on the host.

    Args:
        rows: float[B, W].

    Returns:
        A single slice if the rows are few or on another device.

    Example:
        >>> row_parts(torch.zeros(600, 4096))
        [slice(0, 256, None), slice(256, 512, None), slice(512, 768, None)]
    """
    count = max(1, rows.shape[0])
    size = max(1, _PART_NUMBERS // rows.shape[1]) if rows.device.type == "cpu" else count
    return [slice(first, first + size) for first in range(0, count, size)]


@dataclass(frozen=True)
class SampledOut:
    """The reason why a sampler never draws a token, in the units of the filter that removed it.

    Args:
        by: The first filter, in the documented order, that removed the token.
        rank: The token's rank among those that reached the filter, from 1; 0 if it was masked.
        probability: The token's probability among those that reached the filter.
        threshold: The threshold of the filter: the rank k for ``top_k``, the largest kept rank for
            ``top_p``, the smallest kept probability for ``min_p``, rank 1 for ``greedy``, and 0 for
            ``mask``.
    """

    by: Filter
    rank: int
    probability: float
    threshold: float


def sampled_out(sampler: Sampler, logits: Tensor, token: int) -> SampledOut | None:
    """The reason why a sampler never draws a token; ``None`` if it could be drawn.

    Args:
        logits: float[W], already masked.
        token: A token id below W.

    Raises:
        ExplorerError: ``logits`` is not one row, or the token is outside it.

    Example:
        >>> sampled_out(Sampler(top_k=1), torch.tensor([0.0, 0.0]), 1)
        SampledOut(by='top_k', rank=2, probability=0.5, threshold=1)
    """
    if logits.dim() != 1 or not 0 <= token < logits.shape[0]:
        raise ExplorerError(
            f"There is no token {token} in logits of shape {list(logits.shape)}.",
            remedy="Give one row of logits, and an id below its length.",
            evidence={"token": token, "shape": list(logits.shape)},
        )
    if logits[token] == -math.inf:
        return SampledOut("mask", rank=0, probability=0.0, threshold=0.0)
    # Each stage applies one more filter, so the first stage that removes the token names it.
    temperature = sampler.temperature or 1.0
    stages: list[tuple[Filter, Sampler]]
    if sampler.greedy:
        stages = [("greedy", Sampler(0.0))]
    else:
        stages = [
            ("top_k", Sampler(temperature, sampler.top_k)),
            ("top_p", Sampler(temperature, sampler.top_k, sampler.top_p)),
            ("min_p", sampler),
        ]
    before = Sampler(temperature).filtered(logits)
    for name, stage in stages:
        after = stage.filtered(logits)
        if after[token] == -math.inf:
            higher = (before > before[token]).sum() + (before[:token] == before[token]).sum()
            if name == "min_p":
                threshold = float(before.amax().exp()) * (sampler.min_p or 0.0)
            else:
                threshold = int((after > -math.inf).sum())
            return SampledOut(name, int(higher) + 1, float(before[token].exp()), threshold)
        before = after
    return None


def _ranked(scores: Tensor, wanted: Tensor) -> Tensor:
    """The scores in descending order: all, or as many as contain the nucleus.

    For one row on the host a few highest are tried first, which is ten times as fast as sorting.

    Args:
        scores: float[..., W].
        wanted: float64[..., 1], the mass of the nucleus.
    """
    width, count = scores.shape[-1], _FEW
    while scores.device.type == "cpu" and scores.dim() == 1 and 8 * count < width:
        ranked = scores.topk(count).values
        if ranked.to(torch.float64).exp().cumsum(-1)[-1] >= wanted:
            return ranked
        count *= 8
    return scores.sort(dim=-1, descending=True).values


def _nucleus(ranked: Tensor, wanted: Tensor) -> Tensor:
    """The number of highest scores whose mass reaches ``wanted``; int64[..., 1], at least 1."""
    # The highest score is 0. Without a division, equal weights are exactly equal, and a nucleus
    # that ends between them is exact.
    weights = ranked.to(torch.float64).exp()
    before = weights.cumsum(-1) - weights
    return (before < wanted).sum(-1, keepdim=True).clamp(min=1)


def _keep_highest(scores: Tensor, ranked: Tensor, count: Tensor) -> Tensor:
    """The ``count`` highest scores, of equals the lowest ids; -inf elsewhere.

    Args:
        scores: float[..., W].
        ranked: float[..., K], its highest values, highest first, K at least ``count``.
        count: int64[..., 1].
    """
    last = ranked.gather(-1, count - 1)
    above = scores > last
    level = scores == last
    places = count - above.sum(-1, keepdim=True)
    # NaN is neither above nor level; it is kept, so that a faulty row does not look empty.
    keep = above | (level & (level.cumsum(-1) <= places)) | scores.isnan()
    return torch.where(keep, scores, -math.inf)


def _normalised(scores: Tensor) -> Tensor:
    """Normalised log-probabilities; a row of -inf stays so."""
    total = scores.logsumexp(-1, keepdim=True)
    return scores - total.masked_fill(total == -math.inf, 0.0)


def _check(name: str, value: float, holds: bool, what: str) -> None:
    if not holds:
        raise ExplorerError(
            f"A sampler's {name} is {what}, not {value!r}.",
            remedy=f"Give {name} as {what}.",
            evidence={name: value},
        )
