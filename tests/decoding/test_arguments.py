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


def test_a_model_may_be_named_and_a_constraint_left_out() -> None:
    lm, prompt = explorer.load_model("tiny"), "The capital of France is"
    assert explorer.Session("tiny", explorer.regex("[0-9]{4}"), prompt).lm is lm
    assert explorer.select("tiny", prompt, [" Paris", " Rome"]).best == " Paris"
    assert explorer.generate("tiny", prompt, max_tokens=3) == explorer.generate(
        lm, [prompt], [None], max_tokens=3
    )
    with pytest.raises(ExplorerError, match="There is no model 'tinny'"):
        explorer.Session("tinny", None)
