"""Packed masks on a GPU as one Triton launch, for masks that the host works out.

A program of the grid takes a block of one row, reads a word for 32 tokens and stores -inf where a
bit is not set. Logits are not read. With ``TRITON_INTERPRET=1`` the same code runs on the CPU.
"""

# Triton has no types, and a kernel is not Python: its names are pointers and blocks. Only
# `launch_words` is called from outside, and it is annotated.
# pyright: basic, reportGeneralTypeIssues=false, reportArgumentType=false, reportIndexIssue=false
# pyright: reportOperatorIssue=false, reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096


@triton.jit
def words_kernel(
    logits, logits_stride, width, words, words_stride, num_words, BLOCK: tl.constexpr
):  # fmt: skip
    """Mask one block of one row by packed words."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < width
    place = columns >> 5
    word = tl.load(words + row * words_stride + place, mask=inside & (place < num_words), other=0)
    allowed = (word >> (columns & 31)) & 1
    tl.store(
        logits + row * logits_stride + columns, float("-inf"), mask=inside & (allowed == 0)
    )  # fmt: skip


def launch_words(logits: Tensor, words: Tensor) -> Tensor:
    """Mask the logits of a batch in place by packed words.

    Args:
        logits: [B, W] with adjacent columns.
        words: int32[B, n] on the same device; everything past them is masked.

    Returns:
        ``logits``.
    """
    batch, width = logits.shape
    if batch and width:
        words_kernel[(batch, triton.cdiv(width, BLOCK))](
            logits, logits.stride(0), width, words, words.stride(0), words.shape[1],
            BLOCK=BLOCK, num_warps=8,
        )  # fmt: skip
    return logits
