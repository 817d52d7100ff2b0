"""Models and arguments that are not what they should be: one clear error each, never another's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
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


class Raising:
    """Whatever is made of it, it raises."""

    def __repr__(self) -> str:
        raise ZeroDivisionError

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    def __index__(self) -> int:
        raise ZeroDivisionError

    def __float__(self) -> float:
        raise ZeroDivisionError


def broken_iterator() -> Any:
    yield 1
    raise ZeroDivisionError


ODD: list[Callable[[], Any]] = [
    lambda: np.zeros(()),
    lambda: np.array("a"),
    lambda: np.zeros((2, 2)),
    lambda: torch.zeros(()),
    lambda: torch.zeros((2, 2)),
    lambda: torch.zeros((), device="meta"),
    broken_iterator,
    Raising,
    lambda: [Raising()],
    object,
]
CALLS: dict[str, Callable[[Any], object]] = {
    "generate(model)": lambda odd: generate(odd, ["x"], None),
    "generate(prompts)": lambda odd: generate(hash_model(), odd, None),
    "generate(prompt)": lambda odd: generate(hash_model(), [odd], None),
    "generate(constraints)": lambda odd: generate(hash_model(), ["x"], odd),
    "generate(constraint)": lambda odd: generate(hash_model(), ["x"], [odd]),
    "generate(sampler)": lambda odd: generate(hash_model(), ["x"], None, odd),
    "generate(streams)": lambda odd: generate(hash_model(), ["x"] * 9, None, streams=odd),
    "generate(flag)": lambda odd: generate(hash_model(), ["x"], None, masking_budget=odd),
    "processor(vocabulary)": lambda odd: explorer.ConstraintLogitsProcessor(odd, None),
    "processor(constraints)": lambda odd: explorer.ConstraintLogitsProcessor(
        hash_model().vocabulary, odd
    ),
    "processor(sampler)": lambda odd: explorer.ConstraintLogitsProcessor(
        hash_model().vocabulary, None, odd
    ),
    "processor(streams)": lambda odd: explorer.ConstraintLogitsProcessor(
        hash_model().vocabulary, None, explorer.Sampler(), streams=odd
    ),
    "processor(ids)": lambda odd: explorer.ConstraintLogitsProcessor(hash_model().vocabulary, None)(
        odd, torch.zeros(1, 29)
    ),
    "processor(scores)": lambda odd: explorer.ConstraintLogitsProcessor(
        hash_model().vocabulary, None
    )(torch.zeros(1, 3, dtype=torch.int64), odd),
    "filtered": lambda odd: explorer.Sampler().filtered(odd),
    "draw": lambda odd: explorer.Sampler().draw(odd, torch.tensor(0.5)),
    "draw by": lambda odd: explorer.Sampler().draw(torch.zeros(3), odd),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("odd", range(len(ODD)))
def test_odd_arguments_are_refused_in_our_words(call: str, odd: int) -> None:
    try:
        CALLS[call](ODD[odd]())
    except ExplorerError as error:
        assert str(error)
