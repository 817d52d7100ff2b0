"""The command line runs a sweep and its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli import main


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
    assert main(["report", str(folder), "--output", str(page)]) == 0
    assert "8 of 8 rows are texts" in page.read_text("utf-8")
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
