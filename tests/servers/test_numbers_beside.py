"""The server's log-probabilities beside the model's, and runs in the explorer."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

import explorer
from explorer import cli
from explorer.servers import read_runs, run_beside, session_of, verdict_of
from tests.servers.logs import FOLDER, log, runs, vocabulary
from widgets import Explorer
from widgets.cursor import Cursor


@pytest.fixture(scope="module")
def lm() -> Any:
    return explorer.load_model("tiny")


@pytest.mark.parametrize("name", ["vllm_chat.json", "tgi_generate.json"])
def test_numbers_under_the_mask_are_known_as_such(name: str, lm: Any) -> None:
    (run,) = read_runs(FOLDER / name)
    beside = run_beside(run, lm)
    assert beside.agrees == "constrained" and len(beside.rows) == len(run.tokens)
    # torch alone, with no session of ours: the model's number of the first token.
    logits = lm.read(run.prompt_ids).logits.double()
    first = beside.rows[0]
    assert first.model == pytest.approx(float(torch.log_softmax(logits, -1)[first.token]), abs=1e-4)
    assert first.model < first.constrained
    assert "those under the mask" in str(beside)


def test_numbers_before_the_mask_are_known_as_such(lm: Any) -> None:
    (run,) = read_runs(FOLDER / "openai_chat.json")
    beside = run_beside(run, lm)
    assert beside.agrees == "model" and len(beside.rows) == 6
    assert any("6 of the 9 tokens written are allowed." in note for note in beside.notes)


def test_numbers_of_another_prompt_agree_with_neither(lm: Any) -> None:
    other = log("openai_chat.json")
    other["request"]["messages"][0]["content"] = "A story about a dog."
    assert run_beside(runs(other)[0], lm).agrees == "neither"
    del other["response"]["choices"][0]["logprobs"]
    assert run_beside(runs(other)[0], lm).agrees == "unknown"


def test_the_command_line_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / "vllm_chat.json")
    assert cli.main(["why", "--run", path, "--model", "tiny", "--beside"]) == 0
    assert "are those under the mask" in capsys.readouterr().out
    assert cli.main(["why", "--run", path, "--model", "tiny", "--beside", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["agrees"] == "constrained"
    assert cli.main(["why", "--run", path, "--beside"]) == 2
    assert "--model NAME" in capsys.readouterr().err


def test_the_explorer_opens_a_run_without_and_with_its_model(lm: Any) -> None:
    (run,) = read_runs(FOLDER / "openai_chat.json")
    session = session_of(run, vocabulary())
    cursor = Cursor(session)
    view = Explorer(cursor=cursor)
    assert cursor.session.text == '{"name": "Ada", "age'
    cursor.jump(3)
    assert session.index == 3
    view.close()
    with_model = run_beside(run, lm).session
    view = Explorer(cursor=Cursor(with_model))
    assert with_model.trace.positions[0].distribution is not None
    view.close()
    # The trace that is saved keeps the rejected token and the server's numbers.
    trace = verdict_of(run, vocabulary()).session.trace
    assert trace.rejection is not None and trace.rejection.index == 6
    assert [step.log_prob_model for step in trace.steps] == [
        token.log_prob for token in run.tokens[:6]
    ]
