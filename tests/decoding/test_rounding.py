"""Why a text with proposals may differ from the one without: rounding, and nothing else.

A pass over several tokens adds in another order than passes over one. In float32 that moves a logit
by about 1e-5, so a random number on the border of two tokens may draw the other one. In float64 the
logits are the same to the last digit that is kept, whatever was read, cropped and forked before: so
the store of key-values is not what differs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

import explorer
from explorer import Sampler
from explorer.decoding.models.huggingface import HuggingFaceModel
from explorer.decoding.speculation.counts import TokenCounts
from explorer.decoding.speculation.drafting import Drafting
from explorer.decoding.speculation.own_first import own_first

PROMPT = "Write a JSON record of a person on one line.\n"


def model(dtype: torch.dtype) -> HuggingFaceModel:
    found = explorer.load_model("tiny", dtype=dtype)
    assert isinstance(found, HuggingFaceModel)
    return found


def pairs(dtype: torch.dtype, reads: int) -> Iterator[tuple[tuple[int, ...], Tensor, Tensor]]:
    """Paths, each with its logits from a model that has read and cropped much, by several tokens in
    one pass, and from one that reads it afresh."""
    used, rng = model(dtype), random.Random(5)
    base = used.encode_prompt(PROMPT)
    path = list(base)
    for _ in range(reads):
        del path[len(base) + rng.randrange(len(path) - len(base) + 1) :]  # Crop, now and then all.
        path += [rng.randrange(5, 4000) for _ in range(rng.randint(1, 9))]
        del path[100:]
        count = rng.randint(1, min(9, len(path)))
        rows = used.read_run(path, count)
        k = rng.randrange(count)
        whole = tuple(path[: len(path) - count + 1 + k])
        ids = torch.tensor([whole])
        with torch.no_grad():
            fresh = used.model(input_ids=ids, use_cache=False).logits[0, -1].float()
        yield whole, rows[k].logits, fresh


@pytest.mark.long
def test_in_float64_no_pass_differs_from_another() -> None:
    for path, used, fresh in pairs(torch.float64, 150):
        assert torch.equal(used, fresh), path


def test_in_float64_texts_with_counts_are_those_without_after_much_else() -> None:
    lm = model(torch.float64)
    machine = explorer.compile(explorer.regex('[{"a-z: ,}0-9]{6,14}'), lm.vocabulary)
    counts = TokenCounts(lm, PROMPT, machine, least=0.05, seen=1)
    proposed = 0
    for seed in range(12):
        plain = own_first(lm, PROMPT, machine, sampler=Sampler(1.0), max_tokens=12, seed=seed)
        quick = own_first(
            lm, PROMPT, machine, sampler=Sampler(1.0), max_tokens=12, seed=seed,
            draft=Drafting(counts, 8, masked=False),
        )  # fmt: skip
        counts.learn(quick.tokens)
        assert quick.tokens == plain.tokens
        assert quick.log_probs == plain.log_probs
        proposed += quick.proposed
    assert proposed > 20
