"""Runs of 100,000 tokens: a step of a long run costs what a step of a short one costs."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import pytest
import torch

import explorer
from explorer.decoding.models.model import Reading
from explorer.decoding.sampling.sampler import draw, row_parts
from explorer.decoding.stepping.tree import StepNode
from tests.evidence import calls_of

VOCABULARY = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab", b"c"], eos_ids=[4])


class Constant:
    """A model that gives the same logits after any ids, and counts how often it is asked."""

    name = "constant"
    vocabulary = VOCABULARY

    def __init__(self) -> None:
        self.asked: Counter[tuple[int, ...]] = Counter()

    def encode_prompt(self, prompt: object) -> tuple[int, ...]:
        return (3, 3)

    def read(self, tokens: Any) -> Reading:
        self.asked[tuple(tokens)] += 1
        return Reading(torch.tensor([0.1, 0.4, 0.2, 0.3, -5.0]))


def test_a_step_does_not_walk_the_line() -> None:
    """The number of times that a whole path is walked does not grow with its length."""
    session = explorer.Session(Constant(), explorer.regex("[abc]*"))
    assert calls_of(lambda: [session.step(token=k % 4) for k in range(200)], StepNode.line) <= 2


def test_a_line_that_was_copied_is_not_changed_by_going_on() -> None:
    session = explorer.Session.from_ids(VOCABULARY, None, [0, 1, 2])
    other = session.copy()
    before = session.trace
    session.step(token=3)
    assert (other.ids, before.ids, session.ids) == ((0, 1, 2), (0, 1, 2), (0, 1, 2, 3))


def bytes_per_token(count: int) -> float:
    """The memory of a run from elsewhere with its trace, for each token."""
    machine = explorer.compile(explorer.regex("[abc]*"), VOCABULARY)
    tracemalloc.start()
    try:
        session = explorer.Session.from_ids(VOCABULARY, machine, [k % 4 for k in range(count)])
        assert len(session.trace.steps) == count
        return tracemalloc.get_traced_memory()[0] / count
    finally:
        tracemalloc.stop()


def test_memory_is_linear_in_the_length() -> None:
    bytes_per_token(100)
    short, long = bytes_per_token(1_000), bytes_per_token(4_000)
    assert long < 1.25 * short and long < 2_500


@pytest.mark.long
def test_a_run_of_100_000_tokens() -> None:
    assert bytes_per_token(100_000) < 2_500


def test_many_rows_are_drawn_as_they_are_alone() -> None:
    """Rows are worked on in parts; each must get what it gets by itself."""
    rows = torch.randn(700, 3_000, generator=torch.Generator().manual_seed(2)).log_softmax(-1)
    rows[5] = -torch.inf
    numbers = torch.linspace(0, 0.999, 700)
    parts = row_parts(rows)
    assert len(parts) > 1 and sum(len(rows[part]) for part in parts) == 700
    alone = [int(draw(row, number)) for row, number in zip(rows, numbers, strict=True)]
    assert draw(rows, numbers).tolist() == alone and alone[5] == -1
