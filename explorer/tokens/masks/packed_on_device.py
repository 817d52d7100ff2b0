"""Packed masks and logits on a device: one upload of 16 kB a row, then one launch.

The same as `explorer.tokens.masks.packed` does on the host, for logits that lie elsewhere. On a GPU
with Triton a kernel reads the words and writes only what is masked; anywhere else plain torch does
it, which is the reference, and unpacks the words on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

import numpy as np
import torch
from torch import Tensor

from explorer.tokens.masks.error_word import ints
from explorer.tokens.masks.packed import IMPOSSIBLE, NOT_NUMBERS
from explorer.tokens.words import UInt32

_BITS: Final = 32


def unpacked(words: Tensor, width: int) -> Tensor:
    """Packed masks as one entry per token, on their device.

    Args:
        words: int32[B, n].
        width: How many columns to give, at most 32 n.

    Returns:
        bool[B, width].

    Example:
        >>> unpacked(torch.tensor([[5]], dtype=torch.int32), 4).tolist()
        [[True, False, True, False]]
    """
    shifts = torch.arange(_BITS, dtype=torch.int32, device=words.device)
    bits = (words[:, :, None] >> shifts) & 1
    return bits.reshape(len(words), -1)[:, :width].to(torch.bool)


def masked_on_device(logits: Tensor, rows: Sequence[UInt32]) -> tuple[Tensor, list[int]]:
    """New logits with -inf where a token is not allowed. Waits for the device.

    Args:
        logits: float[B, W] on any device; left as they are.
        rows: The packed mask of each row, in the host's memory, all equally long.

    Returns:
        float[B, W]; and the fault of each row, as `explorer.tokens.masks.packed` names them.
    """
    packed = np.array(rows, np.uint32).view(np.int32)
    words = torch.from_numpy(packed).to(logits.device)  # pyright: ignore[reportUnknownMemberType]
    if logits.device.type == "cuda" and find_spec("triton") is not None:
        from explorer.tokens.masks.words_kernel import launch_words

        masked = launch_words(logits.clone(memory_format=torch.contiguous_format), words)
    else:
        masked = masked_reference(logits, words)
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
    covered = min(logits.shape[1], _BITS * words.shape[1])
    keep = torch.zeros(logits.shape, dtype=torch.bool, device=logits.device)
    keep[:, :covered] = unpacked(words, covered)
    return logits.masked_fill(~keep, -torch.inf)
