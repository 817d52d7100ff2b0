"""Triton kernels that mask logits on a GPU: from tables, and from packed words of the host.

A program of the grid takes a block of one row: it reads the token class of each id, two bytes that
all rows of a constraint share and that stay in the second-level cache; the tokens that each class
needs, a few hundred numbers of the state's row that stay in the first-level cache; and stores -inf
where the budget is smaller. Logits are never read, and allowed ones are not written, so the kernel
moves less memory than an elementwise operation over the same logits.

The second kernel reads a word for 32 tokens and stores -inf where a bit is not set.

With ``TRITON_INTERPRET=1`` the same code runs on the CPU, block by block in numpy; the tests hold
it equal to the reference there, and on a GPU where there is one.
"""

# Triton has no types, and a kernel is not Python: its names are pointers and blocks. Only the
# launchers are called from outside, and they are annotated.
# pyright: basic, reportGeneralTypeIssues=false, reportArgumentType=false, reportIndexIssue=false
# pyright: reportOperatorIssue=false, reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from explorer.tokens import words as states
from explorer.tokens.masks import error_word, needed
from explorer.tokens.masks.tensors import Tables

FIRST_STATE = tl.constexpr(needed.FIRST_STATE)
DEAD_ROW = tl.constexpr(states.DEAD + needed.FIRST_STATE)
UNLIMITED = tl.constexpr(needed.UNLIMITED)
FORBIDDEN = tl.constexpr(needed.FORBIDDEN)
NOTHING_ALLOWED = tl.constexpr(error_word.NOTHING_ALLOWED)
NO_SUCH_STATE = tl.constexpr(error_word.NO_SUCH_STATE)

BLOCK = 4096


@triton.jit
def locate(state, which, num_constraints, num_rows, cell_start, row_start, num_classes):
    """A row's constraint, first cell and row number, made valid, and whether they were."""
    known = (which >= 0) & (which < num_constraints)
    which = tl.where(known, which, 0)
    row = state + FIRST_STATE
    known = known & (row >= 0) & (row < tl.load(num_rows + which))
    row = tl.where(known, row, DEAD_ROW)
    cell = tl.load(cell_start + which) + row * tl.load(num_classes + which)
    return which, cell, tl.load(row_start + which) + row, known


@triton.jit
def budget(remaining, batch_row, HAS_REMAINING: tl.constexpr):
    """The number of tokens that a row may still write, clamped to 0 … `UNLIMITED`."""
    left = tl.full([], UNLIMITED, tl.int64)
    if HAS_REMAINING:
        left = tl.minimum(tl.maximum(tl.load(remaining + batch_row).to(tl.int64), 0), UNLIMITED)
    return left


@triton.jit
def note(error, fault, batch_row, step, state):
    """Write the error word, if there is a fault and none was noted before."""
    if fault != 0:
        before = tl.atomic_cas(error, fault * 0, fault)
        tl.store(error + 1, batch_row, mask=before == 0)
        tl.store(error + 2, step, mask=before == 0)
        tl.store(error + 3, state, mask=before == 0)


@triton.jit(do_not_specialize=["step", "num_constraints"])
def mask_kernel(
    logits, logits_stride, width, states, constraints, remaining, step,
    token_class, token_class_stride, class_row, needed_cells, least, cell_start, row_start,
    num_rows, num_classes, num_constraints, error,
    HAS_REMAINING: tl.constexpr, STEP_IS_TENSOR: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Mask one block of one row."""
    batch_row = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    state = tl.load(states + batch_row).to(tl.int64)
    which, cell, row, known = locate(
        state, tl.load(constraints + batch_row).to(tl.int64), num_constraints,
        num_rows, cell_start, row_start, num_classes,
    )  # fmt: skip
    left = budget(remaining, batch_row, HAS_REMAINING)
    if block == 0:
        now = tl.load(step).to(tl.int64) if STEP_IS_TENSOR else step.to(tl.int64)
        nothing = tl.where(tl.load(least + row) > left, NOTHING_ALLOWED, 0)
        fault = tl.where(known, nothing, NO_SUCH_STATE).to(tl.int64)
        note(error, fault, batch_row, now, state)
    columns = block * BLOCK + tl.arange(0, BLOCK)
    inside = (columns < width) & (columns < token_class_stride)  # As many as there are ids.
    token_class += tl.load(class_row + which) * token_class_stride
    class_ = tl.load(token_class + columns, mask=inside, other=0).to(tl.int32)
    # The tables keep every class within its row; the mask is a second safeguard.
    inside &= (class_ >= 0) & (class_ < tl.load(num_classes + which))
    need = tl.load(needed_cells + cell + class_, mask=inside, other=FORBIDDEN)
    tl.store(
        logits + batch_row * logits_stride + columns,
        float("-inf"),
        mask=(columns < width) & (need > left),
    )


def launch_mask(
    tables: Tables,
    error: Tensor,
    logits: Tensor,
    states: Tensor,
    constraint: Tensor,
    remaining: Tensor | None,
    step: int | Tensor,
) -> Tensor:
    """Mask the logits of a batch in place.

    Args:
        tables: The tables.
        error: The error word.
        logits: [B, W] with adjacent columns.
        states, constraint: int64[B].
        remaining: int64[B] or None.
        step: A number, or int64[] on the device.
    """
    batch, width = logits.shape
    if batch == 0:
        return logits
    mask_kernel[(batch, triton.cdiv(width, BLOCK))](
        logits, logits.stride(0), width,
        states.contiguous(), constraint.contiguous(),
        states if remaining is None else remaining.contiguous(), step,
        tables.token_class, tables.token_class.stride(0), tables.class_row, tables.needed,
        tables.least, tables.cell_start, tables.row_start, tables.num_rows, tables.num_classes,
        len(tables.num_rows), error,
        HAS_REMAINING=remaining is not None, STEP_IS_TENSOR=isinstance(step, Tensor), BLOCK=BLOCK,
        num_warps=8, enable_fp_fusion=False,
    )  # fmt: skip
    return logits


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
    """
    batch, width = logits.shape
    if batch and width:
        words_kernel[(batch, triton.cdiv(width, BLOCK))](
            logits, logits.stride(0), width, words, words.stride(0), words.shape[1],
            BLOCK=BLOCK, num_warps=8,
        )  # fmt: skip
    return logits
