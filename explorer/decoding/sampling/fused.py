"""A decoding step as one Triton launch, equal to `reference_step`: mask, filters, draw, advance.

At batch size 1 a step of many small operations spends its time on launches. Here one program of the
grid handles a whole row and passes over its logits several times; after the first pass they come
from the second-level cache (262 kB for 131,072 in bfloat16). Only the token, the state and the
counters are written; the logits are not changed.

The whole sampler is in the launch, without sorting:

- The score of a token is its distance below the highest, divided by the temperature. It is never
  positive, so the bits of its absolute value, read as an integer, order the tokens by likelihood.
  The k-th likeliest is found by bisection over these integers in 31 counting passes.
- Top-p bisects in the same way for the last score before which the mass is still below p.
- Ties at either threshold are kept up to the limit, the lowest ids first; a running count over the
  row decides, so ties are cut as in the reference.
- Min-p is a comparison. The draw adds up the mass in float64 and stops at u times the sum; u is the
  Philox number for the row's position (`explorer.decoding.sampling.sampler`).

So a step has 4 passes without filters, and 31 more each for top-k and top-p. The launch gives the
reference's tokens except for two unavoidable effects of rounding: weights are exponentials, which
differ in the last bit between compilers, so a u within about 1e-6 of the boundary between two
tokens may fall on the other side; and a nucleus that ends within that distance of p may be one
token longer.

Float64 logits and logits without adjacent columns are not supported; `decode_step` passes those to
the reference, and everything on a device without Triton. With ``TRITON_INTERPRET=1`` the kernel
runs on the CPU in numpy; it is tested so on machines without a GPU.
"""

# Triton has no types, and a kernel is not Python: its names are pointers and blocks. Only
# `decode_step` and `launch_step` are called from outside, and they are annotated.
# pyright: basic, reportGeneralTypeIssues=false, reportArgumentType=false, reportIndexIssue=false
# pyright: reportOperatorIssue=false, reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from explorer.decoding.sampling import reference
from explorer.decoding.sampling.reference import Rows
from explorer.decoding.sampling.sampler import Sampler, seed_words
from explorer.tokens import words as states
from explorer.tokens.masks import error_word
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.masks.kernels import (
    NO_SUCH_STATE,
    NOTHING_ALLOWED,
    locate,
    needed_by,
    note,
)

DEAD = tl.constexpr(states.DEAD)
DONE = tl.constexpr(states.DONE)
NOTHING_TO_DRAW = tl.constexpr(error_word.NOTHING_TO_DRAW)
IMPOSSIBLE = tl.constexpr(0x7F800000)
"""The key of a score of -inf: the bits of +inf, larger than every other key."""

BLOCK = 4096


@triton.jit
def _allowed_logits(
    columns, left, covered, logits, token_class, classes, needed_cells,
):  # fmt: skip
    """The logits of a block as float32, -inf for masked tokens."""
    need = needed_by(columns, covered, token_class, classes, needed_cells)
    return tl.load(logits + columns, mask=need <= left, other=float("-inf")).to(tl.float32)


@triton.jit
def _keys(values, highest, temperature):
    """The integer keys that order scores, 0 for the likeliest, and the weights in float64."""
    below = tl.abs(tl.div_rn(values - highest, temperature))
    # A masked logit, or one that the model set to -inf, comes last.
    below = tl.where(values == float("-inf"), float("inf"), below)
    return below.to(tl.int32, bitcast=True), tl.exp(-below).to(tl.float64)


@triton.jit
def _kept(key, last, places, level, min_below):
    """Flags of the tokens in a block that the filters keep, and of those at the threshold."""
    equal = (key == last).to(tl.int32)
    keep = (key < last) | ((equal > 0) & (level + tl.cumsum(equal, 0) <= places))
    return keep & (key.to(tl.float32, bitcast=True) <= min_below), equal


@triton.jit(do_not_specialize=["seed_low", "seed_high", "top_k", "top_p", "eos", "num_constraints"])
def step_kernel(
    logits, logits_stride, covered, states, constraints, remaining, streams, positions, tokens,
    token_class, token_class_stride, needed_cells, targets, least, cell_start, row_start, num_rows,
    num_classes, num_constraints, error, eos, seed_low, seed_high,
    temperature, top_k, top_p, min_below,
    GREEDY: tl.constexpr, TOP_K: tl.constexpr, TOP_P: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Draw the token of one row and advance the row."""
    batch_row = tl.program_id(0).to(tl.int64)
    state = tl.load(states + batch_row)
    which, cell, row, known = locate(
        state, tl.load(constraints + batch_row), num_constraints,
        num_rows, cell_start, row_start, num_classes,
    )  # fmt: skip
    budget = tl.load(remaining + batch_row)
    left = tl.minimum(tl.maximum(budget, 0), 2147483646)
    position = tl.load(positions + batch_row)
    stream = tl.load(streams + batch_row)
    classes = tl.load(num_classes + which)
    logits += batch_row * logits_stride
    token_class += which * token_class_stride
    needed_cells += cell
    lanes = tl.arange(0, BLOCK)

    highest = tl.full([], float("-inf"), tl.float32)
    broken = tl.full([], 0, tl.int32)
    for start in range(0, covered, BLOCK):
        values = _allowed_logits(
            start + lanes, left, covered, logits, token_class, classes, needed_cells
        )
        bad = (values != values) | (values == float("inf"))
        broken += tl.sum(bad.to(tl.int32), 0)
        highest = tl.maximum(highest, tl.max(tl.where(bad, float("-inf"), values), 0))

    token = tl.full([], -1, tl.int32)
    if GREEDY:
        drawn = tl.full([], 2147483647, tl.int32)
        for start in range(0, covered, BLOCK):
            values = _allowed_logits(
                start + lanes, left, covered, logits, token_class, classes, needed_cells
            )
            first = tl.where((values == highest) & (values > float("-inf")), start + lanes, drawn)
            drawn = tl.minimum(drawn, tl.min(first, 0))
        token = tl.where(drawn == 2147483647, -1, drawn)
    else:
        # Kept: keys below `last`, and the first `places` of those equal to it.
        last = tl.full([], IMPOSSIBLE, tl.int32)
        places = tl.full([], 2147483647, tl.int32)
        if TOP_K:
            low = tl.full([], 0, tl.int32)
            high = tl.full([], IMPOSSIBLE, tl.int32)
            for _ in range(31):
                middle = low + ((high - low) >> 1)
                count = tl.full([], 0, tl.int32)
                for start in range(0, covered, BLOCK):
                    values = _allowed_logits(
                        start + lanes, left, covered, logits, token_class, classes, needed_cells
                    )
                    key, _weight = _keys(values, highest, temperature)
                    count += tl.sum((key <= middle).to(tl.int32), 0)
                enough = count >= top_k
                high = tl.where(enough, middle, high)
                low = tl.where(enough, low, tl.minimum(middle + 1, high))
            last = low
            above = tl.full([], 0, tl.int32)
            for start in range(0, covered, BLOCK):
                values = _allowed_logits(
                    start + lanes, left, covered, logits, token_class, classes, needed_cells
                )
                key, _weight = _keys(values, highest, temperature)
                above += tl.sum((key < last).to(tl.int32), 0)
            places = top_k - above
        if TOP_P:
            mass = tl.full([], 0.0, tl.float64)
            level = tl.full([], 0, tl.int32)
            for start in range(0, covered, BLOCK):
                values = _allowed_logits(
                    start + lanes, left, covered, logits, token_class, classes, needed_cells
                )
                key, weight = _keys(values, highest, temperature)
                mass += tl.sum(tl.where(key < last, weight, 0.0), 0)
                level += tl.sum((key == last).to(tl.int32), 0)
            each = tl.exp(-last.to(tl.float32, bitcast=True)).to(tl.float64)
            wanted = (mass + tl.minimum(level, places).to(tl.float64) * each) * (
                top_p.to(tl.float64) * 1.1102230246251565e-16
            )
            # Find the largest key before which the mass is below the wanted mass.
            low = tl.full([], 0, tl.int32)
            high = last
            before = tl.full([], 0.0, tl.float64)
            for _ in range(31):
                middle = high - ((high - low) >> 1)
                mass = tl.full([], 0.0, tl.float64)
                for start in range(0, covered, BLOCK):
                    values = _allowed_logits(
                        start + lanes, left, covered, logits, token_class, classes, needed_cells
                    )
                    key, weight = _keys(values, highest, temperature)
                    mass += tl.sum(tl.where(key < middle, weight, 0.0), 0)
                short = mass < wanted
                low = tl.where(short, middle, low)
                before = tl.where(short, mass, before)
                high = tl.where(short, high, tl.maximum(middle - 1, low))
            each = tl.exp(-low.to(tl.float32, bitcast=True)).to(tl.float64)
            room = tl.where(each > 0, (wanted - before) / tl.where(each > 0, each, 1.0), 2.0**30)
            room = tl.ceil(tl.minimum(room, 2.0**30)).to(tl.int32)
            places = tl.where(low == last, tl.minimum(places, room), room)
            last = low

        total = tl.full([], 0.0, tl.float64)
        level = tl.full([], 0, tl.int32)
        for start in range(0, covered, BLOCK):
            values = _allowed_logits(
                start + lanes, left, covered, logits, token_class, classes, needed_cells
            )
            key, weight = _keys(values, highest, temperature)
            keep, equal = _kept(key, last, places, level, min_below)
            total += tl.sum(tl.where(keep, weight, 0.0), 0)
            level += tl.sum(equal, 0)

        w0, w1, _w2, _w3 = tl.philox(
            (seed_high.to(tl.uint64) << 32) | (seed_low.to(tl.uint64) & 0xFFFFFFFF),
            (position & 0xFFFFFFFF).to(tl.uint32), (position >> 32).to(tl.uint32),
            (stream & 0xFFFFFFFF).to(tl.uint32), (stream >> 32).to(tl.uint32),
        )  # fmt: skip
        bits = (w0 >> 5).to(tl.int64) * 67108864 + (w1 >> 6).to(tl.int64)
        wanted = bits.to(tl.float64) * 1.1102230246251565e-16 * total

        drawn = tl.full([], 2147483647, tl.int32)
        final = tl.full([], -1, tl.int32)
        level = tl.full([], 0, tl.int32)
        mass = tl.full([], 0.0, tl.float64)
        for start in range(0, covered, BLOCK):
            values = _allowed_logits(
                start + lanes, left, covered, logits, token_class, classes, needed_cells
            )
            key, weight = _keys(values, highest, temperature)
            keep, equal = _kept(key, last, places, level, min_below)
            weight = tl.where(keep, weight, 0.0)
            reached = (mass + tl.cumsum(weight, 0) > wanted) & (weight > 0)
            drawn = tl.minimum(drawn, tl.min(tl.where(reached, start + lanes, 2147483647), 0))
            final = tl.maximum(final, tl.max(tl.where(weight > 0, start + lanes, -1), 0))
            level += tl.sum(equal, 0)
            mass += tl.sum(weight, 0)
        token = tl.where(drawn == 2147483647, final, drawn)

    token = tl.where((broken > 0) | (highest == float("-inf")), -1, token)
    # A text that has ended continues with EOS, whatever the model says.
    token = tl.where(known & (state == DONE), eos, token).to(tl.int64)
    class_ = tl.load(token_class + tl.maximum(token, 0)).to(tl.int64)
    following = tl.load(targets + cell + class_).to(tl.int64)
    following = tl.where((token < 0) | (known == 0), DEAD, following)

    nothing = tl.load(least + row) > left
    fault = tl.where((following == DEAD) & (state != DEAD), NOTHING_TO_DRAW, 0)
    fault = tl.where(nothing, NOTHING_ALLOWED, fault)
    fault = tl.where(known, fault, NO_SUCH_STATE)
    note(error, fault.to(tl.int64), batch_row, position, state)

    alive = (following != DEAD).to(tl.int64)
    tl.store(tokens + batch_row, token)
    tl.store(states + batch_row, following)
    tl.store(positions + batch_row, position + alive)
    tl.store(remaining + batch_row, budget - alive)


def launch_step(
    masks: DeviceMasks, sampler: Sampler, logits: Tensor, rows: Rows, seed: int
) -> Tensor:
    """Run `reference_step` in one launch, without changing the logits.

    Args:
        logits: float16, bfloat16 or float32[B, W] with adjacent columns.
        rows: The states of the rows, advanced in place.

    Returns:
        int64[B]: the tokens, -1 in rows where nothing could be drawn.
    """
    tokens, tables = torch.empty_like(rows.states), masks.tables
    low, high = seed_words(seed)
    step_kernel[(len(logits),)](
        logits, logits.stride(0), min(logits.shape[1], tables.token_class.shape[1]),
        rows.states, rows.constraint, rows.remaining, rows.streams, rows.positions, tokens,
        tables.token_class, tables.token_class.stride(0), tables.needed, tables.target,
        tables.least, tables.cell_start, tables.row_start, tables.num_rows, tables.num_classes,
        len(tables.num_rows),
        masks.error.word, masks.vocabulary.eos_ids[0], low, high,
        # Float arguments of a kernel have single precision. The reference compares the mass with a
        # double, so p is passed as an integer; it compares scores in float32, so the bound of min-p
        # may be rounded.
        1.0 if sampler.greedy else sampler.divisor, min(sampler.top_k or 0, 2**30),
        max(1, round((sampler.top_p or 1.0) * 2**53)),
        -math.log(sampler.min_p) if sampler.min_p else math.inf,
        GREEDY=sampler.greedy,
        TOP_K=sampler.top_k is not None,
        TOP_P=sampler.top_p is not None and sampler.top_p < 1,
        BLOCK=BLOCK,
        num_warps=16,
        enable_fp_fusion=False,
    )  # fmt: skip
    return tokens


def decode_step(
    masks: DeviceMasks, sampler: Sampler, logits: Tensor, rows: Rows, seed: int
) -> Tensor:
    """Run `reference_step`, in one launch if the kernel supports the logits.

    Args:
        logits: float[B, W]; masked in place if the reference runs.
        rows: The states of the rows, advanced in place.

    Returns:
        int64[B]: the tokens.
    """
    if logits.dtype == torch.float64 or logits.stride(1) != 1 or masks.asks_host:
        return reference.reference_step(masks, sampler, logits, rows, seed)
    masks.check_logits(logits, rows.states)
    return launch_step(masks, sampler, logits, rows, seed)
