"""A faster `reference_step` for the host, which looks only at allowed tokens.

A mask is packed (`explorer.tokens.words`), and most masks allow few tokens. A compiled loop gathers
the logits of the allowed tokens from a row, in the order of their ids; sampler and draw then work
on those, and the index of the drawn entry is mapped back to a token. Masked tokens have the weight
0, so the same number draws the same token as from the whole row: sums are made in the order of ids,
and adding 0 changes nothing. A greedy sampler compares the logits in place.

Cost at 131,072 float32 logits: 20 µs per row for a greedy sampler; otherwise 60 µs if few tokens
are allowed and 1 ms if nearly all are. The logits are not changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.decoding.sampling.reference import Rows, move_on
from explorer.decoding.sampling.sampler import Sampler, uniforms
from explorer.jit import jit
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.error_word import ints
from explorer.tokens.masks.packed import MINUS_INFINITY, AnyInt
from explorer.tokens.words import DONE, UInt32

_ALL = np.uint32(0xFFFFFFFF)
_BIT = np.uint32(1)


@jit
def _gather(bits: NDArray[AnyInt], words: UInt32, result: NDArray[AnyInt]) -> int:
    """Copy the allowed logits to the front of the result; return their number."""
    count = 0
    for w in range(min((bits.shape[0] + 31) >> 5, words.shape[0])):
        word, first = words[w], 32 * w
        if word == _ALL and first + 32 <= bits.shape[0]:
            for k in range(32):
                result[count + k] = bits[first + k]
            count += 32
        elif word:
            for k in range(min(32, bits.shape[0] - first)):
                if (word >> np.uint32(k)) & _BIT:
                    result[count] = bits[first + k]
                    count += 1
    return count


@jit
def _likeliest(bits: NDArray[AnyInt], words: UInt32, masked: AnyInt, infinity: AnyInt) -> int:
    """The allowed token with the highest logit, of equals the lowest id.

    It is -1 if a logit is NaN or +inf, or all are -inf.
    """
    token = -1
    lowest = -np.int64(infinity)  # The order of -inf.
    highest = lowest
    for w in range(min((bits.shape[0] + 31) >> 5, words.shape[0])):
        word, first = words[w], 32 * w
        if not word:
            continue
        size = min(32, bits.shape[0] - first)
        best, broken = lowest, False
        for k in range(size):
            allowed = (word >> np.uint32(k)) & _BIT
            value = np.int64(bits[first + k]) if allowed else np.int64(masked)
            broken |= (value >= infinity) | ((value > masked) & (value < 0))
            # Negative floats are ordered opposite to their bits as integers; 0 and -0 are equal.
            best = max(best, value if value >= 0 else masked - infinity - value)
        if broken:
            return -1
        if best > highest:
            highest = best
            for k in range(size - 1, -1, -1):
                value = np.int64(bits[first + k])
                same = (value if value >= 0 else masked - infinity - value) == best
                if same and (word >> np.uint32(k)) & _BIT:
                    token = first + k
    return token


@jit
def _nth(words: UInt32, n: int) -> int:
    """The n-th allowed id of a mask, counted from 0."""
    for w in range(words.shape[0]):
        word, first = words[w], 32 * w
        while word:
            if word & _BIT:
                if n == 0:
                    return first
                n -= 1
            word >>= _BIT
            first += 1
    return -1


def drawn_allowed(sampler: Sampler, logits: Tensor, words: UInt32, number: Tensor) -> int:
    """The token that a uniform number draws among the allowed ones.

    Args:
        logits: float[W] in host memory; not changed.
        words: The packed mask.
        number: float64[] in [0, 1); ignored by a greedy sampler.

    Returns:
        A token id; -1 if an allowed logit is NaN or +inf, or all are -inf.

    Example:
        >>> from explorer.tokens.words import pack
        >>> mask = pack(np.array([True, False, True]))
        >>> drawn_allowed(Sampler(0.0), torch.tensor([1.0, 9.0, 2.0]), mask, torch.tensor(0.0))
        2
    """
    kind, masked = MINUS_INFINITY[logits.dtype]
    bits: NDArray[Any] = logits.detach().contiguous().view(kind).numpy()
    if sampler.greedy:
        return _likeliest(bits, words, masked, masked & np.iinfo(masked.dtype).max)
    allowed = torch.empty_like(logits)
    count = _gather(bits, words, allowed.view(kind).numpy())
    if not count:
        return -1
    scores = sampler.drawable(allowed[:count])
    if sampler.top_k is None and sampler.top_p is None and sampler.min_p is None:
        place = int(sampler.draw(scores, number))
    else:  # The filters leave few scores; NaN stays among them, and then nothing is drawn.
        left = (scores != -torch.inf).nonzero()[:, 0]
        place = int(sampler.draw(scores[left], number)) if len(left) else -1
        place = int(left[place]) if place >= 0 else -1
    return place if place < 0 else _nth(words, place)


def host_step(
    masks: DeviceMasks, sampler: Sampler, logits: Tensor, rows: Rows, seed: int
) -> Tensor:
    """Run `explorer.decoding.sampling.reference.reference_step` on the host.

    Args:
        logits: float[B, W]; not changed.
        rows: The states of the rows, advanced in place.

    Returns:
        int64[B]: the tokens, -1 in rows where nothing could be drawn.
    """
    masks.check_logits(logits, rows.states)
    words = masks.packed_rows(rows.states, rows.constraint, rows.remaining, step=rows.positions)
    numbers = torch.zeros(len(words), dtype=torch.float64)
    if not sampler.greedy:
        numbers = uniforms(seed, rows.streams, rows.positions)
    ended = masks.vocabulary.eos_ids[0]
    drawn = [
        ended if state == DONE else drawn_allowed(sampler, row, mask, number)
        for state, row, mask, number in zip(ints(rows.states), logits, words, numbers, strict=True)
    ]
    tokens = torch.tensor(drawn, dtype=torch.int64)
    following = masks.advance(rows.states, tokens, rows.constraint, step=rows.positions)
    move_on(rows, following)
    return tokens
