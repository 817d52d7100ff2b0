"""The generator against its authors' known answers, and the tensor form against the scalar one."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from explorer.decoding.sampling.sampler import philox, uniform, uniforms

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


def test_the_numbers_are_uniform_and_uncorrelated() -> None:
    grid = uniforms(1, torch.arange(300)[:, None], torch.arange(300))
    assert grid.min() >= 0 and grid.max() < 1
    # 90,000 numbers in 100 bins: chi-square of 99 degrees, five standard deviations wide.
    counts = torch.histc(grid, 100, 0, 1)
    assert abs(((counts - 900) ** 2 / 900).sum().item() - 99) < 5 * (2 * 99) ** 0.5
    for a, b in ((grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1])):
        assert abs(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1]) < 0.02
    assert grid.unique().numel() == grid.numel()
