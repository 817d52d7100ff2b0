"""After any history of forks and crops a cache gives the same logits as a fresh reading."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from transformers.cache_utils import DynamicCache

from explorer.decoding.models.huggingface import ENTRIES, KeyValues
from tests.decoding.models import KINDS, LINEAR, WITHOUT_CACHE, language_model

TOLERANCE = 1e-5
BATCH = 1e-4  # Padding changes the order of sums, and mamba's logits reach 12.


def fresh(model: Any, tokens: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model.model(torch.tensor([tokens]), use_cache=False).logits[0, -1].float()


def paths(seed: int, count: int) -> list[list[int]]:
    """Requests as a session makes them: one token more, some back, a jump, a fork."""
    rng = random.Random(seed)
    seen: list[list[int]] = [[rng.randrange(400) for _ in range(5)]]
    for _ in range(count):
        base = seen[-1] if rng.random() < 0.6 else rng.choice(seen)
        if rng.random() < 0.3:
            base = base[: rng.randrange(1, len(base) + 1)]
        seen.append(base + [rng.randrange(400) for _ in range(rng.choice([0, 1, 1, 1, 3]))])
    return seen


@pytest.mark.parametrize("kind", [*KINDS, LINEAR])
def test_any_history_reads_as_a_fresh_model_does(kind: str) -> None:
    model = language_model(kind)
    reused = 0
    for tokens in paths(1, 60):
        reading = model.read(tokens)
        reused += len(tokens) - reading.computed
        assert torch.allclose(reading.logits, fresh(model, tokens), rtol=0, atol=TOLERANCE)
    assert reused > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_reads_one_token_and_a_step_back_reads_one(kind: str) -> None:
    model = language_model(kind)
    text = [9, 8, 7, 6, 5, 4, 3, 9, 8, 7, 6, 5]
    model.read(text[:3])
    assert [model.read(text[:n]).computed for n in range(4, 13)] == [1] * 9
    for length in range(11, 0, -1):
        reading = model.read(text[:length])
        assert (reading.computed, reading.note) == (1, "")
        assert torch.allclose(reading.logits, fresh(model, text[:length]), rtol=0, atol=TOLERANCE)
    # A branch deep in the window's past, then one still deeper.
    for length in (8, 5, 2):
        branch = [*text[:length], 77]
        reading = model.read(branch)
        assert (reading.computed, reading.note) == (1, "")
        assert torch.allclose(reading.logits, fresh(model, branch), rtol=0, atol=TOLERANCE)


def test_linear_attention_reads_again_and_says_so() -> None:
    model = language_model(LINEAR)
    text = [3, 1, 4, 1, 5, 9, 2, 6]
    model.read(text)
    reading = model.read([*text[:4], 30])
    assert "linear attention" in reading.note
    assert reading.computed == 5
    assert model.read([*text, 40]).computed == 1


def test_the_store_is_bounded() -> None:
    model = language_model("llama")
    store = KeyValues(lambda: DynamicCache(config=model.model.config))
    for k in range(3 * ENTRIES):
        tokens = [k, k + 1, k + 2]
        start = store.start(tokens)
        with torch.no_grad():
            model.model(torch.tensor([tokens[start.length :]]), past_key_values=start.cache)
        store.keep(tokens, start.cache, start.floor)
    assert len(store) == ENTRIES


@pytest.mark.parametrize("kind", WITHOUT_CACHE)
def test_a_model_without_key_values_reads_from_the_beginning_and_says_so(kind: str) -> None:
    model = language_model(kind)
    for tokens in paths(2, 12):
        reading = model.read(tokens)
        assert reading.computed == len(tokens) and "no key-values" in reading.note
        assert torch.allclose(reading.logits, fresh(model, tokens), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("kind", [*KINDS, LINEAR, *WITHOUT_CACHE])
def test_a_batch_of_uneven_rows_equals_one_by_one(kind: str) -> None:
    model = language_model(kind)
    prompts = [[5], [7, 8, 9, 10, 11, 12, 13, 14, 15], [3, 4, 5]]
    batch = model.batch(prompts)
    rows = [list(prompt) for prompt in prompts]
    for k in range(5):
        for row, logits in zip(rows, batch.logits, strict=True):
            assert torch.allclose(logits, fresh(model, row), rtol=0, atol=BATCH)
        tokens = torch.tensor([20 + k, 30 + k, 40 + k])
        assert batch.step(tokens) is batch.logits
        for row, token in zip(rows, tokens.tolist(), strict=True):
            row.append(token)
