"""Packed masks on logits: bit by bit what a dense mask does, for every type, width and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.tokens.masks.packed import (
    IMPOSSIBLE,
    MINUS_INFINITY,
    NOT_NUMBERS,
    Results,
    mask_rows_,
    masked_on_device,
    masked_rows,
)
from explorer.tokens.words import pack
from tests.evidence import examples

ODD = [0.0, -0.0, 1.5, -1.5, 3e38, -3e38, 1e-45, torch.inf, -torch.inf, torch.nan, -torch.nan]


def dense(logits: torch.Tensor, masks: np.ndarray) -> torch.Tensor:
    """The oracle: one Boolean for each logit."""
    keep = torch.zeros(logits.shape, dtype=torch.bool)
    width = min(logits.shape[1], masks.shape[1])
    keep[:, :width] = torch.from_numpy(masks[:, :width])
    return logits.masked_fill(~keep, -torch.inf)


def bits(logits: torch.Tensor) -> list[list[int]]:
    """The very bits, so that NaN equals itself and -0 does not equal 0."""
    return logits.contiguous().view(MINUS_INFINITY[logits.dtype][0]).tolist()


def expected_fault(masked: torch.Tensor) -> int:
    if masked.isnan().any() or (masked == torch.inf).any():
        return NOT_NUMBERS
    return 0 if (masked > -torch.inf).any() else IMPOSSIBLE


@pytest.mark.parametrize("dtype", MINUS_INFINITY)
@given(data=st.data())
@settings(max_examples=examples(25))
def test_a_packed_mask_does_what_a_dense_one_does(dtype: torch.dtype, data: Any) -> None:
    tokens = data.draw(st.sampled_from([1, 31, 32, 33, 64, 95, 131]))
    width = data.draw(st.sampled_from([tokens, tokens + 1, tokens + 70]))
    count = data.draw(st.integers(1, 3))
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shares = draw.choice([0.0, 0.02, 0.5, 0.98, 1.0], (count, 1))
    masks = draw.random((count, tokens)) < shares
    masks[:, :32] |= draw.random((count, 1)) < 0.3  # Whole words too.
    logits = torch.from_numpy(draw.normal(size=(count, width))).to(dtype)
    for _ in range(data.draw(st.integers(0, 3))):
        row, column = int(draw.integers(count)), int(draw.integers(width))
        logits[row, column] = float(draw.choice(ODD))
    layout = data.draw(st.sampled_from(["plain", "transposed", "every other", "rows of more"]))
    given_logits = {
        "plain": logits.clone(),
        "transposed": logits.T.contiguous().T,
        "every other": logits.repeat_interleave(2, 1)[:, ::2],
        "rows of more": torch.cat([logits, logits], 1)[:, :width],
    }[layout]
    assert torch.equal(given_logits.isnan(), logits.isnan())
    before, rows = bits(given_logits), [pack(mask) for mask in masks]
    expected = dense(logits, masks)

    ours, faults = masked_rows(given_logits, rows)
    assert bits(ours) == bits(expected) and bits(given_logits) == before
    assert faults == [expected_fault(row) for row in expected]
    elsewhere, others = masked_on_device(given_logits, rows)
    assert bits(elsewhere) == bits(expected) and others == faults
    mask_rows_(given_logits, rows)
    assert bits(given_logits) == bits(expected)


def test_a_wrong_mask_is_seen() -> None:
    """The oracle above can fail: one bit of one mask changed is another result."""
    masks = np.ones((1, 40), np.bool_)
    words = pack(masks[0])
    words[1] ^= np.uint32(1)
    ours, _ = masked_rows(torch.zeros(1, 40), [words])
    assert not torch.equal(ours, dense(torch.zeros(1, 40), masks))


def test_memory_is_used_again_only_once_nobody_holds_it() -> None:
    results, rows = Results(), [pack(np.ones(64, np.bool_))] * 2

    def masked(value: float) -> torch.Tensor:
        return masked_rows(torch.full((2, 64), value), rows, results)[0]

    ways: dict[str, Any] = {
        "itself": lambda one: one,
        "a row": lambda one: one[1],
        "detached": lambda one: one.detach(),
        "as an array": lambda one: one.numpy()[0],
        "as another type": lambda one: one.view(torch.int32),
    }
    for name, way in ways.items():
        held = way(masked(1.0))
        before = torch.as_tensor(held).tolist()
        for value in (2.0, 3.0, 4.0):
            assert (masked(value) == value).all()
        assert torch.as_tensor(held).tolist() == before, name
    held = None
    places = set[int]()
    for value in (1.0, 2.0, 3.0, 4.0):
        last = masked(value)  # Held until the next is there, as a decoder does.
        places.add(last.data_ptr())
    assert len(places) <= 3
