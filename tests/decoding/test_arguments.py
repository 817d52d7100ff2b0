"""Numbers as users give them, and a model's context as a limit of every path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explorer
from explorer.errors import ExplorerError

CAPITALS = explorer.regex(" (Paris|Rome)")
PROMPT = "The capital of France is"


def test_numpys_numbers_are_numbers(tmp_path: Path) -> None:
    lm = explorer.load_model("tiny")
    sampler = explorer.Sampler(np.float32(0.5), top_k=np.int64(3))  # type: ignore[arg-type]
    numbers: Any = {"seed": np.int64(3), "max_tokens": np.int64(4)}
    session = explorer.Session(lm, CAPITALS, PROMPT, sampler=sampler, **numbers)
    session.run()
    session.trace.save(tmp_path / "trace.json")
    assert explorer.Trace.load(tmp_path / "trace.json").text == session.text


@pytest.mark.parametrize(
    "wrong",
    [{"max_tokens": 2.5}, {"max_tokens": "5"}, {"seed": 1.5}, {"seed": -1}, {"seed": True},
     {"top_k": 1.5}, {"sampler": "greedy"}],
)  # fmt: skip
def test_what_is_no_number_is_refused_at_once(wrong: dict[str, object]) -> None:
    lm = explorer.load_model("tiny")
    with pytest.raises(ExplorerError, match=next(iter(wrong))):
        explorer.Session(lm, CAPITALS, PROMPT, **wrong)  # type: ignore[arg-type]
    if "top_k" not in wrong:
        with pytest.raises(ExplorerError, match=next(iter(wrong))):
            explorer.generate(lm, [PROMPT], CAPITALS, **wrong)  # type: ignore[arg-type]


def test_further_arguments_are_checked() -> None:
    lm = explorer.load_model("tiny")
    for streams in ([-1], [0.5]):
        with pytest.raises(ExplorerError, match="a stream"):
            explorer.generate(lm, [PROMPT], CAPITALS, streams=streams)  # type: ignore[arg-type]
    with pytest.raises(ExplorerError, match="seed"):
        explorer.Session(lm, CAPITALS, PROMPT).fork(seed=-1)
    with pytest.raises(ExplorerError, match="not a Sampler"):
        explorer.ConstraintLogitsProcessor(lm.vocabulary, CAPITALS, "greedy")  # type: ignore[arg-type]
    with pytest.raises(ExplorerError, match="temperature"):
        explorer.Sampler(temperature="a")  # type: ignore[arg-type]


def test_a_batch_does_not_run_past_the_context() -> None:
    lm = explorer.load_model("tiny")
    digits = explorer.regex("[0-9]{30,}")
    for run in (
        lambda: explorer.generate(lm, ["x " * 240], digits, max_tokens=60),
        lambda: explorer.Session(lm, digits, "x " * 240, max_tokens=60).run(),
    ):
        with pytest.raises(ExplorerError, match="reads at most 256"):
            run()


def test_a_full_context_loses_nothing(tmp_path: Path) -> None:
    session = explorer.Session(
        explorer.load_model("tiny"), explorer.regex("[0-9]{300,}"), "x " * 240
    )
    with pytest.raises(explorer.errors.ContextFull, match="reads at most 256"):
        session.run()
    trace = session.trace
    assert len(trace.steps) == session.index > 0 and trace.positions[-1].distribution is None
    assert trace.positions[-2].distribution is not None
    trace.save(tmp_path / "trace.json")
    assert explorer.Trace.load(tmp_path / "trace.json").text == session.text
    with pytest.raises(explorer.errors.ContextFull):
        session.step()
    session.back(2)
    session.step(token=session.trace.steps[-1].token)
