"""Packed masks applied to logits, by compiled loops that read a mask word by word.

A word of a mask has one bit for each of 32 tokens. Where no bit is set, 32 times -inf are written
and the logits are not even read; where all are, 32 logits are copied. So a mask stays packed from
the machine to the logits, 16 kB at 131,072 tokens, and no array as wide as the vocabulary is made
in between. Cost at 131,072 float32 logits: 25 to 40 µs a row, the time that writing the row takes.

Logits are read as integers, bit for bit. So every type is treated alike, 16-bit floats need no
arithmetic, and unmasked logits keep their bits.

For logits on a device the words are uploaded, 16 kB a row. On a GPU with Triton a kernel reads them
and writes only what is masked; anywhere else plain torch does it, which is the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from sys import getrefcount
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.jit import jit
from explorer.tokens.masks.error_word import ints
from explorer.tokens.words import UInt32

AnyInt = np.signedinteger[Any]

MINUS_INFINITY: Final = {
    torch.float64: (torch.int64, np.int64(-(2**52))),
    torch.float32: (torch.int32, np.int32(-(2**23))),
    torch.bfloat16: (torch.int16, np.int16(-(2**7))),
    torch.float16: (torch.int16, np.int16(-(2**10))),
}
"""The types of logits that can be masked, each with the integer type through which a row is read,
and with -inf as such an integer: the sign bit, then all of the exponent."""

NOT_NUMBERS: Final = 1
"""A logit of an allowed token is NaN or +inf."""

IMPOSSIBLE: Final = 2
"""All logits of allowed tokens are -inf, or no token is allowed."""

_OWN_REFERENCES: Final = 3
_ALL: Final = np.uint32(0xFFFFFFFF)
_BIT: Final = np.uint32(1)


@jit
def _keep(bits: NDArray[AnyInt], words: UInt32, masked: AnyInt) -> None:
    """Write -inf where a token is not allowed, and past the mask."""
    width = bits.shape[0]
    whole = min(width >> 5, words.shape[0])
    for w in range(whole):
        word, first = words[w], 32 * w
        if word == 0:
            for k in range(first, first + 32):
                bits[k] = masked
        elif word != _ALL:
            for k in range(32):
                allowed = (word >> np.uint32(k)) & _BIT
                bits[first + k] = bits[first + k] if allowed else masked
    for k in range(32 * whole, width):
        w = k >> 5
        allowed = w < words.shape[0] and (words[w] >> np.uint32(k & 31)) & _BIT
        bits[k] = bits[k] if allowed else masked


@jit
def _kept(
    bits: NDArray[AnyInt], words: UInt32, result: NDArray[AnyInt], masked: AnyInt, infinity: AnyInt
) -> int:
    """Copy allowed logits and write -inf elsewhere; return the row's fault, 0 for none."""
    width = bits.shape[0]
    whole = min(width >> 5, words.shape[0])
    possible, broken = False, False  # Some logit is above -inf; some logit is NaN or +inf.
    for w in range(whole):
        word, first = words[w], 32 * w
        if word == 0:
            for k in range(first, first + 32):
                result[k] = masked
        elif word == _ALL:
            for k in range(first, first + 32):
                value = bits[k]
                result[k] = value
                possible |= value != masked
                broken |= (value >= infinity) | ((value > masked) & (value < 0))
        else:
            for k in range(32):
                allowed = (word >> np.uint32(k)) & _BIT
                value = bits[first + k] if allowed else masked
                result[first + k] = value
                possible |= value != masked
                broken |= (value >= infinity) | ((value > masked) & (value < 0))
    for k in range(32 * whole, width):
        w = k >> 5
        allowed = w < words.shape[0] and (words[w] >> np.uint32(k & 31)) & _BIT
        value = bits[k] if allowed else masked
        result[k] = value
        possible |= value != masked
        broken |= (value >= infinity) | ((value > masked) & (value < 0))
    if broken:
        return NOT_NUMBERS
    return 0 if possible else IMPOSSIBLE


def mask_rows_(logits: Tensor, rows: Sequence[UInt32]) -> None:
    """Write -inf, in place, where a token is not allowed.

    Args:
        logits: float[B, W] in the host's memory, of a type in `MINUS_INFINITY`; W may exceed the
            vocabulary, and everything past it is masked.
        rows: The packed mask of each row.
    """
    kind, masked = MINUS_INFINITY[logits.dtype]
    bits = logits.detach().view(kind).numpy()
    for row, words in zip(bits, rows, strict=True):
        _keep(row, words, masked)


class Results:
    """A pool of memory for one caller's results, reused once nobody holds a result.

    A batch of 32 rows takes 16 MB at 131,072 float32 logits, and allocating that at every step can
    take ten times as long as writing it. A decoding loop holds the result of a step until the next
    one is there, so two blocks take turns; a caller that keeps all results gets new memory each
    time.

    Example:
        >>> results = Results()
        >>> held = results.empty((1, 2), np.int32)
        >>> view, other = held[:, 1:], results.empty((1, 2), np.int32)
        >>> np.shares_memory(held, other)
        False
    """

    def __init__(self) -> None:
        self._pieces: list[NDArray[Any]] = []

    def empty(self, shape: tuple[int, ...], kind: type[AnyInt] | np.dtype[AnyInt]) -> NDArray[Any]:
        """An array that nobody else holds, with arbitrary content.

        Args:
            shape: Its shape.
            kind: Its type.
        """
        for piece in self._pieces:
            # The list, the loop and `getrefcount` each hold a reference. A tensor made of the block
            # holds one as long as any view of the tensor lives.
            free = getrefcount(piece) <= _OWN_REFERENCES
            if free and piece.shape == shape and piece.dtype == kind:
                return piece
        piece = np.empty(shape, kind)
        self._pieces = [*self._pieces[-1:], piece]
        return piece


def masked_rows(
    logits: Tensor, rows: Sequence[UInt32], results: Results | None = None
) -> tuple[Tensor, list[int]]:
    """New logits with -inf where a token is not allowed.

    Args:
        logits: As in `mask_rows_`; they are not changed.
        rows: The packed mask of each row.
        results: The pool for the result; default: new memory.

    Returns:
        float[B, W] of the same type; and the fault of each row, 0 for none.

    Example:
        >>> from explorer.tokens.words import pack
        >>> logits = torch.tensor([[1.0, 2.0, torch.nan], [1.0, -torch.inf, 3.0]])
        >>> masked_rows(logits, [pack(np.array([True, False])), pack(np.array([False, True]))])
        (tensor([[1., -inf, -inf],
                [-inf, -inf, -inf]]), [0, 2])
    """
    kind, masked = MINUS_INFINITY[logits.dtype]
    infinity = masked & np.iinfo(masked.dtype).max
    bits = logits.detach().contiguous().view(kind).numpy()
    result = (results or Results()).empty(bits.shape, bits.dtype)
    faults = [
        _kept(row, words, to, masked, infinity)
        for row, words, to in zip(bits, rows, result, strict=True)
    ]
    return torch.from_numpy(result).view(logits.dtype), faults  # pyright: ignore[reportUnknownMemberType]


def unpacked(words: Tensor, width: int) -> Tensor:
    """Packed masks unpacked to one entry per token, on their device.

    Args:
        words: int32[B, n].
        width: The number of columns, at most 32 n.

    Returns:
        bool[B, width].

    Example:
        >>> unpacked(torch.tensor([[5]], dtype=torch.int32), 4).tolist()
        [[True, False, True, False]]
    """
    shifts = torch.arange(32, dtype=torch.int32, device=words.device)
    bits = (words[:, :, None] >> shifts) & 1
    return bits.reshape(len(words), -1)[:, :width].to(torch.bool)


def mask_on_device_(logits: Tensor, words: Tensor) -> Tensor:
    """Write -inf, in place, where a token is not allowed, on any device.

    Args:
        logits: float[B, W] with adjacent columns.
        words: int32[B, n], the packed mask of each row, on the same device.
    """
    if logits.device.type == "cuda" and find_spec("triton") is not None:
        from explorer.tokens.masks.kernels import launch_words

        return launch_words(logits, words)
    return logits.copy_(masked_reference(logits, words))


def uploaded(rows: Sequence[UInt32], device: torch.device) -> Tensor:
    """Packed masks of equal length, on a device: int32[B, n]."""
    packed = np.array(rows, np.uint32).view(np.int32)
    return sent(torch.from_numpy(packed), device)  # pyright: ignore[reportUnknownMemberType]


def sent(numbers: Tensor, device: torch.device) -> Tensor:
    """Numbers of the host on a device, without waiting for what the device still has to do."""
    if device.type == "cuda":
        numbers = numbers.pin_memory()
    return numbers.to(device, non_blocking=True)


def masked_on_device(logits: Tensor, rows: Sequence[UInt32]) -> tuple[Tensor, list[int]]:
    """`masked_rows` for logits on any device. Waits for the device."""
    words = uploaded(rows, logits.device)
    masked = mask_on_device_(logits.clone(memory_format=torch.contiguous_format), words)
    highest = masked.detach().amax(-1)
    broken = highest.isnan() | (highest == torch.inf)
    fault = torch.where(highest == -torch.inf, IMPOSSIBLE, torch.where(broken, NOT_NUMBERS, 0))
    return masked, ints(fault)


def masked_reference(logits: Tensor, words: Tensor) -> Tensor:
    """New logits with -inf where a token is not allowed, in plain torch.

    Args:
        logits: float[B, W].
        words: int32[B, n] on the same device.
    """
    covered = min(logits.shape[1], 32 * words.shape[1])
    keep = torch.zeros(logits.shape, dtype=torch.bool, device=logits.device)
    keep[:, :covered] = unpacked(words, covered)
    return logits.masked_fill(~keep, -torch.inf)
