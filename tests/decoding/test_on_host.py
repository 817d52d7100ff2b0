"""The step on the host looks at allowed tokens alone and takes what the reference step takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.decoding.sampling.on_host import drawn_allowed, host_step
from explorer.decoding.sampling.reference import Rows, reference_step
from explorer.decoding.sampling.sampler import Sampler, draw
from explorer.errors import ExplorerError
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.words import pack
from tests.decoding.kernel_cases import machines, some_rows
from tests.evidence import examples

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
SAMPLERS = [
    Sampler(),
    Sampler(0.0),
    Sampler(0.7),
    Sampler(top_k=1),
    Sampler(1.3, top_k=3),
    Sampler(top_k=40),
    Sampler(top_p=0.5),
    Sampler(0.5, top_p=0.93),
    Sampler(min_p=0.2),
    Sampler(min_p=1.0),
    Sampler(1.7, top_k=5, top_p=0.8, min_p=0.1),
    Sampler(1e-46),
    Sampler(1e308),
    Sampler(top_p=1e-320),
]


def copy(rows: Rows) -> Rows:
    return Rows(**{name: value.clone() for name, value in vars(rows).items()})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ties", [False, True])
def test_steps_equal_the_reference(dtype: torch.dtype, ties: bool) -> None:
    """Every state and sentinel, budgets, broken logits, all samplers: the same to the bit."""
    dfas = machines()
    for seed, sampler in enumerate(SAMPLERS):
        masks, twin = DeviceMasks(dfas), DeviceMasks(dfas)
        rows = some_rows(dfas, "cpu")
        torch.manual_seed(seed)
        logits = 3 * torch.randn(len(rows.states), 70)
        logits = (logits.round() if ties else logits).to(dtype)
        logits[5::40] = torch.nan
        logits[9::40, 7] = torch.inf
        logits[13::40] = -torch.inf
        logits[::4, 3] = -torch.inf
        before, other = logits.clone(), copy(rows)
        ours = host_step(masks, sampler, logits, rows, seed)
        theirs = reference_step(twin, sampler, logits.clone(), other, seed)
        assert ours.tolist() == theirs.tolist(), sampler
        for name in ("states", "positions", "remaining"):
            assert torch.equal(getattr(rows, name), getattr(other, name)), (sampler, name)
        assert masks.error.word.tolist() == twin.error.word.tolist()
        assert torch.equal(logits.nan_to_num(7.0), before.nan_to_num(7.0))
        assert (ours >= 0).any()


@given(data=st.data())
@settings(max_examples=examples(60))
def test_masked_tokens_change_no_draw(data: Any) -> None:
    """The draw among allowed tokens is that from the whole row, wherever the masked ones stand."""
    width = data.draw(st.sampled_from([1, 31, 64, 97, 5_000]))
    source = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    mask = source.random(width) < data.draw(st.sampled_from([0.01, 0.3, 0.97, 1.0]))
    spread = data.draw(st.sampled_from([0.0, 1.0, 20.0]))
    dtype = data.draw(st.sampled_from(DTYPES))
    logits = torch.from_numpy(spread * source.normal(size=width)).to(dtype)
    sampler = data.draw(st.sampled_from(SAMPLERS))
    number = torch.tensor(data.draw(st.floats(0, 1, exclude_max=True)), dtype=torch.float64)
    masked = logits.masked_fill(~torch.from_numpy(mask), -torch.inf)
    expected = int(draw(sampler.drawable(masked), number))
    assert drawn_allowed(sampler, logits, pack(mask), number) == expected


def test_what_is_drawn_from_a_machine_without_a_table() -> None:
    vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    for lazy in (False, True):
        masks = DeviceMasks([explorer.compile(explorer.regex("(ab)*"), vocab, lazy=lazy)])
        rows = Rows.start([0], [0], [0])
        with pytest.raises(ExplorerError, match="columns"):
            host_step(masks, Sampler(), torch.zeros(1, 2), rows, 0)
        tokens = [int(host_step(masks, Sampler(0.0), torch.tensor([[0.0, 1, 2, 0]]), rows, 0))]
        tokens += [int(host_step(masks, Sampler(0.0), torch.tensor([[0.0, 1, 0, 2]]), rows, 0))]
        assert tokens == [2, 3] and rows.states.tolist() == [explorer.DONE]
