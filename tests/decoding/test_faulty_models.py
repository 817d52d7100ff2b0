"""Models and arguments that are not what they should be: one clear error each, never another's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
import torch

import explorer
from explorer.analysis.session import Session
from explorer.decoding.batches.generate import generate
from explorer.decoding.models.model import Reading
from explorer.errors import ExplorerError
from tests.decoding.models import HashModel, hash_model

CONSTRAINT = explorer.regex("[a-zé, ]{8,}")


class Faulty(HashModel):
    """A model that answers rightly for some ids, and then something else."""

    def __init__(self, answer: Callable[[torch.Tensor], Any]) -> None:
        super().__init__(hash_model().vocabulary)
        self._answer = answer

    def read(self, tokens: Sequence[int]) -> Reading:
        logits = super().read(tokens).logits
        return self._answer(logits) if len(tokens) > 3 else Reading(logits)


def fail(_: torch.Tensor) -> Reading:
    raise ZeroDivisionError("no layers\nat all")


FAULTS: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "raises": (fail, r"`read` of the model 'hash' raised ZeroDivisionError: no layers\. "),
    "NaN": (lambda logits: Reading(logits * torch.nan), "NaN"),
    "one NaN": (lambda logits: Reading(logits.index_fill(0, torch.tensor([1]), torch.nan)), "NaN"),
    "infinity": (lambda logits: Reading(logits + torch.inf), "inf"),
    "nothing": (lambda logits: Reading(logits - torch.inf), "NaN|probability 0"),
    "narrow": (lambda logits: Reading(logits[:9]), "gives 9 logits, but its vocabulary has "),
    "no width": (lambda logits: Reading(logits[:0]), r"shape \[0\]"),
    "a matrix": (lambda logits: Reading(logits[None]), r"shape \[1, \d+\]"),
    "a number": (lambda logits: Reading(logits.sum()), r"shape \[\]"),
    "whole numbers": (lambda logits: Reading(logits.long()), "torch.int64"),
    "an array": (lambda logits: Reading(cast("torch.Tensor", logits.numpy())), "not a tensor"),
    "a tensor": (lambda logits: logits, "not a Reading"),
    "no answer": (lambda _: None, "not a Reading"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_model_is_told_and_the_run_stays_where_it_was(fault: str) -> None:
    answer, said = FAULTS[fault]
    session = Session(Faulty(answer), CONSTRAINT, "xx", sampler=explorer.Sampler(1.0))
    with pytest.raises(ExplorerError, match=said):
        session.run(max_tokens=6)
    before = session.index
    with pytest.raises(ExplorerError, match=said):
        session.step()
    assert session.index == before
    with pytest.raises(ExplorerError, match=said):
        generate(Faulty(answer), ["xx", "x"], CONSTRAINT, explorer.Sampler(1.0), 20)


def test_the_cause_is_kept_and_an_interrupt_is_not_an_error() -> None:
    with pytest.raises(ExplorerError) as caught:
        generate(Faulty(fail), ["xx"], CONSTRAINT)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def interrupt(_: torch.Tensor) -> Reading:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(Faulty(interrupt), ["xx"], CONSTRAINT)


def test_rows_of_one_model_are_equally_wide() -> None:
    class Uneven(HashModel):
        def read(self, tokens: Sequence[int]) -> Reading:
            return Reading(torch.zeros(30 + len(tokens)))

    with pytest.raises(ExplorerError, match="rows of "):
        generate(Uneven(hash_model().vocabulary), ["x", "xx"], CONSTRAINT)
