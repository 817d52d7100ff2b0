"""Samplers: on the host, their randomness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import explorer
from explorer.decoding.sampling.on_host import drawn_allowed, host_step
from explorer.decoding.sampling.reference import Rows, reference_step
from explorer.decoding.sampling.sampler import Sampler, draw, philox, sampled_out, uniform, uniforms
from explorer.errors import ExplorerError
from explorer.tokens.masks.device import DeviceMasks
from explorer.tokens.words import pack
from tests.decoding.kernel_cases import machines, some_rows
from tests.evidence import examples

# The sampler against a list-based one written from the documentation, and against its laws.


Probabilities = list[float]

logit_rows = st.lists(
    # Few distinct values, so that ties are the rule; -inf is a masked token.
    st.sampled_from([-math.inf, -3.0, -1.0, 0.0, 0.5, 2.0]),
    min_size=1,
    max_size=12,
).filter(lambda row: max(row) > -math.inf)
samplers = st.builds(
    Sampler,
    temperature=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    top_k=st.none() | st.integers(1, 14),
    top_p=st.none() | st.sampled_from([0.05, 0.37, 0.81, 0.93, 1.0]),
    min_p=st.none() | st.sampled_from([0.0, 0.03, 0.33, 1.0]),
)


def by_the_book(sampler: Sampler, logits: list[float]) -> Probabilities:
    """The documented order, one token at a time, in Python floats."""
    if sampler.temperature == 0:
        return [float(i == logits.index(max(logits))) for i in range(len(logits))]
    weights = [math.exp((x - max(logits)) / sampler.temperature) for x in logits]
    probabilities = normalise(weights)

    def ranked() -> list[int]:
        return sorted(range(len(logits)), key=lambda i: (-probabilities[i], i))

    if sampler.top_k is not None:
        probabilities = keep(probabilities, ranked()[: sampler.top_k])
    if sampler.top_p is not None:
        total, kept = 0.0, []
        for i in ranked():
            if total >= sampler.top_p - 1e-9:
                break
            kept.append(i)
            total += probabilities[i]
        probabilities = keep(probabilities, kept)
    if sampler.min_p is not None:
        floor = sampler.min_p * max(probabilities) * (1 - 1e-6)
        probabilities = keep(probabilities, [i for i in ranked() if probabilities[i] >= floor])
    return probabilities


def normalise(weights: Probabilities) -> Probabilities:
    return [weight / sum(weights) for weight in weights]


def keep(probabilities: Probabilities, ids: list[int]) -> Probabilities:
    return normalise([p if i in ids else 0.0 for i, p in enumerate(probabilities)])


def holds(sampler: Sampler, logits: list[float], filtered: Callable[[Tensor], Tensor]) -> bool:
    ours = filtered(torch.tensor(logits, dtype=torch.float64)).exp().tolist()
    expected = by_the_book(sampler, logits)
    return all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(ours, expected, strict=True))


@given(samplers, logit_rows)
def test_filters_are_those_of_the_documentation(sampler: Sampler, logits: list[float]) -> None:
    assert holds(sampler, logits, sampler.filtered)


def test_the_oracle_notices_another_order() -> None:
    """Min-p before top-p keeps other tokens, and the comparison sees it."""
    # 0.5, 0.3, 0.15, 0.05: min-p first would keep two, of which top-p 0.6 keeps the first.
    sampler, logits = Sampler(top_p=0.6, min_p=0.4), torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    row = logits.double().tolist()
    assert holds(sampler, row, sampler.filtered)

    def min_p_first(given: Tensor) -> Tensor:
        return Sampler(top_p=0.6).filtered(Sampler(min_p=0.4).filtered(given))

    assert not holds(sampler, row, min_p_first)


@given(samplers, st.lists(logit_rows.filter(lambda r: len(r) > 3), min_size=2, max_size=5))
def test_a_batch_is_its_rows(sampler: Sampler, rows: list[list[float]]) -> None:
    width = min(len(row) for row in rows)
    batch = torch.tensor([row[:width] for row in rows])
    filtered = sampler.filtered(batch)
    for row, alone in zip(filtered, batch, strict=True):
        assert torch.equal(row, sampler.filtered(alone))


@given(logit_rows, st.floats(0, 1, exclude_max=True))
def test_a_draw_is_the_inverse_of_the_cdf(logits: list[float], u: float) -> None:
    log_probs = Sampler().filtered(torch.tensor(logits, dtype=torch.float64))
    token = int(draw(log_probs, torch.tensor(u, dtype=torch.float64)))
    probabilities = log_probs.exp().tolist()
    assert probabilities[token] > 0
    assert sum(probabilities[:token]) <= u + 1e-12
    assert u - 1e-12 <= sum(probabilities[: token + 1])


@pytest.mark.parametrize("u", [0.0, math.nextafter(1.0, 0.0), 1.0])
@pytest.mark.parametrize("width", [3, 1000, 131_072])
def test_the_ends_of_the_cdf_never_draw_an_impossible_token(u: float, width: int) -> None:
    torch.manual_seed(width)
    logits = torch.randn(4, width)
    logits[:, : width // 3] = -math.inf
    logits[:, -width // 3 :] = -math.inf
    filtered = Sampler().filtered(logits)
    tokens = draw(filtered, torch.full((4,), u, dtype=torch.float64))
    assert (filtered.gather(-1, tokens[:, None]) > -math.inf).all()


@pytest.mark.parametrize(
    "sampler", [Sampler(), Sampler(0.0), Sampler(top_k=2), Sampler(top_p=0.5), Sampler(min_p=0.5)]
)
def test_rows_without_a_choice_draw_nothing(sampler: Sampler) -> None:
    rows = torch.tensor(
        [
            [-math.inf, -math.inf, -math.inf],
            [0.0, math.nan, 1.0],
            [0.0, math.inf, 1.0],
            [0.0, -math.inf, -math.inf],
        ]
    )
    tokens = sampler.draw(sampler.filtered(rows), torch.full((4,), 0.5, dtype=torch.float64))
    assert tokens.tolist() == [-1, -1, -1, 0]
    assert (sampler.filtered(rows)[0] == -math.inf).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_greedy_takes_the_lowest_of_equals(dtype: torch.dtype) -> None:
    logits = torch.tensor([1.0, 3.0, 3.0, 2.0], dtype=dtype)
    assert Sampler(0.0).filtered(logits).exp().tolist() == [0.0, 1.0, 0.0, 0.0]


@given(samplers, logit_rows)
def test_sampled_out_is_exactly_what_filtered_removes(
    sampler: Sampler, logits: list[float]
) -> None:
    row = torch.tensor(logits)
    filtered = sampler.filtered(row)
    for token in range(len(logits)):
        reason = sampled_out(sampler, row, token)
        assert (reason is None) == (filtered[token].item() > -math.inf)
        if reason is not None and reason.by in ("top_k", "top_p", "greedy"):
            assert reason.rank > reason.threshold
        if reason is not None and reason.by == "min_p":
            assert reason.probability <= reason.threshold


def test_sampled_out_says_which_filter() -> None:
    row = torch.tensor([0.5, 0.3, 0.1, 0.06, 0.04]).log()
    sampler = Sampler(top_k=4, top_p=0.9, min_p=0.5)
    reasons = [sampled_out(sampler, row, token) for token in range(5)]
    assert [reason and reason.by for reason in reasons] == [None, None, "min_p", "top_p", "top_k"]
    found = [astuple(reason)[1:] for reason in reasons if reason is not None]
    # After top-p three tokens share the mass: 5/9, 3/9, 1/9; the floor is half of the first.
    assert found[0] == pytest.approx((3, 1 / 9, 5 / 18))
    assert found[1] == pytest.approx((4, 0.0625, 3))
    assert found[2] == pytest.approx((5, 0.04, 4))


EXTREMES = [1e-320, 1e-46, 1e-45, 1e-38, 3e38, 3.5e38, 1e308]


@pytest.mark.parametrize("temperature", EXTREMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize(
    "filters", [{}, {"top_k": 3}, {"top_p": 0.9}, {"top_p": 1e-320}, {"min_p": 0.5}]
)
def test_extreme_temperatures(
    temperature: float, dtype: torch.dtype, filters: dict[str, float]
) -> None:
    """A tiny one draws evenly among the likeliest, a huge one among all that is allowed."""
    sampler = Sampler(temperature, **filters)  # pyright: ignore[reportArgumentType]
    row = torch.tensor([1.0, 3.0, -math.inf, 3.0, -9.0, 2.5], dtype=dtype)
    possible = [1, 3] if temperature < 1 else [0, 1, 3, 4, 5]
    if temperature > 1 and "top_k" in filters:
        # All scores are so close to 0 that only wide floats still tell them apart.
        kept = sampler.filtered(row) > -math.inf
        assert kept.sum() == 3 and not kept[2]
        return
    if filters.get("top_p", 1.0) < 1:
        count = math.ceil(filters["top_p"] * len(possible) - 1e-9)
        kept = (sampler.filtered(row) > -math.inf).nonzero()[:, 0].tolist()
        assert len(kept) == max(1, count) and set(kept) <= set(possible)
        return
    probabilities = sampler.filtered(row).exp().tolist()
    expected = [1 / len(possible) if token in possible else 0.0 for token in range(6)]
    assert probabilities == pytest.approx(expected, abs=1e-6)


# The step on the host looks at allowed tokens alone and takes what the reference step takes.


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


# The generator against its authors' known answers, and the tensor form against the scalar one.


# counter, key, output: the known-answer vectors that Salmon et al. publish with Random123.
KNOWN_ANSWERS = [
    (
        "00000000 00000000 00000000 00000000",
        "00000000 00000000",
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    ),
    (
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
places = st.integers(0, 2**63 - 1)


def words(text: str) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in text.split())


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN_ANSWERS)
def test_known_answers(counter: str, key: str, output: str) -> None:
    assert philox(words(counter), words(key)) == words(output)  # pyright: ignore[reportArgumentType]


@given(st.integers(0, 2**64 - 1), st.lists(st.tuples(places, places), min_size=1, max_size=8))
def test_the_tensor_form_is_bit_identical(seed: int, pairs: list[tuple[int, int]]) -> None:
    streams, positions = torch.tensor(pairs).unbind(1)
    drawn = uniforms(seed, streams, positions)
    assert drawn.dtype == torch.float64
    assert drawn.tolist() == [uniform(seed, *pair) for pair in pairs]


@pytest.mark.gpu
def test_the_device_draws_the_same() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    streams, positions = torch.arange(1000), torch.arange(1000) * 7_919_000_003
    on_device = uniforms(2**63 + 5, streams.cuda(), positions.cuda())
    assert torch.equal(on_device.cpu(), uniforms(2**63 + 5, streams, positions))
