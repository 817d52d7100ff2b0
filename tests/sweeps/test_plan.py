"""A plan adds up, and the command line runs a sweep and its report."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import explorer
from explorer.cli import main
from explorer.sweeps.plan import SweepPlan, plan
from tests.decoding.models import hash_model

EACH = {"reading": 0.03, "choosing": 0.01}
MADE = SweepPlan(8, {"opening": 5.0}, EACH, 0.002, 9.0, 800.0, 200.0, 1_000_000, (1, 4, 64))


def test_the_time_is_that_of_the_model() -> None:
    assert MADE.work == pytest.approx(0.04)
    assert MADE.most_workers == pytest.approx(20)
    assert MADE.seconds(1000, 4) == pytest.approx(5 + 1000 * 0.04 / 4)
    # From c / k workers on, more of them do not help.
    assert MADE.seconds(1000, 20) == MADE.seconds(1000, 10**6) == pytest.approx(5 + 1000 * 0.002)
    assert MADE.bound(19) == "the workers: reading"
    assert MADE.bound(20) == "the submitting process"
    said = str(MADE)
    assert "1,000,000 rows take" in said and "75.0%" in said


def test_a_plan_is_measured_on_a_sample_of_all_lengths() -> None:
    prompts = ["a" * (1 + k) for k in range(50)]
    made = plan(prompts, explorer.regex("[a-z]{1,3}"), hash_model(), sample=5, max_tokens=6)
    assert made.measured == 5 and made.tokens > 1
    assert all(value >= 0 for value in (*made.once.values(), *made.each.values()))
    assert made.asking > 0 and made.bytes_sent > 0 and made.bytes_kept > 0
    assert math.isfinite(made.seconds(10**6, 10))


def test_the_command_runs_a_sweep_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("The capital of France is\n\nThe capital of Italy is\n")
    folder = tmp_path / "runs"
    words = ["sweep", str(file), "--into", str(folder), "--choice", " Paris", "--choice", " Rome"]
    assert main(words) == 0
    assert "2 of 2 rows, 0 failed" in capsys.readouterr().out
    assert main([*words, "--temperature", "0", "--temperature", "1", "--seeds", "2"]) == 0
    assert "8 of 8 rows, 2 of them were there already" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "--output", str(page), "--worst", "0"]) == 0
    assert "8 of 8 rows are texts" not in page.read_text("utf-8")  # It is packed.
    assert str(page) in capsys.readouterr().out


def test_the_command_says_that_rows_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prompts.jsonl"
    chat = [{"role": "user", "content": "hi"}]
    file.write_text(f"{json.dumps('hi')}\n{json.dumps(chat)}\n")
    words = ["sweep", str(file), "--into", str(tmp_path / "runs"), "--regex", "[a-z]{30}"]
    assert main([*words, "--max-tokens", "2"]) == 1
    assert "2 of 2 rows, 2 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sweep", "no.txt", "--into", "runs"], "No such file"),
        (["sweep", "bad.jsonl", "--into", "runs"], "line 2 is not JSON"),
        (["sweep", "one.txt", "--into", "runs", "--dask", "x", "--processes", "1"], "Give one"),
        (["report", "none"], "holds no rows of a sweep"),
    ],
    ids=["missing", "damaged", "two places", "no sweep"],
)
def test_what_cannot_run_is_said(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_text('"a"\n{\n')
    (tmp_path / "one.txt").write_text("a\n")
    assert main(words) == 2
    assert said in capsys.readouterr().err
