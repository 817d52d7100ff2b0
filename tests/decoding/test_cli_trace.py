"""`explorer trace` prints each step and saves what it printed."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

import explorer
from explorer import cli
from explorer.cli import trace as command
from explorer.decoding.trace.trace import Trace, from_json
from tests.decoding.models import language_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model")
    made = language_model("llama")
    made.model.save_pretrained(path)
    made.tokenizer.save_pretrained(path)
    return str(path)


def trace(*words: str) -> int:
    top = argparse.ArgumentParser()
    command.add_parser(top.add_subparsers())
    arguments = top.parse_args(["trace", *words])
    return arguments.run(arguments)


def test_it_prints_each_step_and_saves_the_trace(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.json"
    pattern = "(yes|no), the [a-z]{1,9}"
    words = ["--model", folder, "--regex", pattern, "--prompt", "is it", "--max-tokens", "20",
             "--temperature", "1", "--top-k", "50", "--seed", "3", "--json", str(out)]  # fmt: skip
    assert trace(*words) == 0
    printed = capsys.readouterr().out
    saved = Trace.load(out)
    assert explorer.regex(pattern).accepts(saved.text)
    assert repr(saved.text) in printed and "matching" in printed
    lines = [line.split() for line in printed.splitlines()]
    assert [line[0] for line in lines if line and line[0].isdigit()] == [
        str(k) for k in range(len(saved))
    ]
    assert (saved.seed, saved.sampler.top_k, saved.max_tokens, saved.prompt) == (3, 50, 20, "is it")


def test_a_document_on_the_output_is_nothing_but_the_document(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--model", folder, "--choice", "yes", "--choice", "no", "--chat", "--json", "-"]
    assert trace(*words, "--prompt", "is it") == 0
    captured = capsys.readouterr()
    saved = from_json(captured.out.encode())
    assert saved.text in ("yes", "no")
    assert saved.prompt == ({"role": "user", "content": "is it"},)
    assert "mass Z" in captured.err


def test_text_that_is_cut_off_is_told_by_the_status(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--model", folder, "--regex", "[a-z]{30}", "--max-tokens", "3", "--no-masking-budget"]
    assert trace(*words) == 1
    assert "cut off by max_tokens" in capsys.readouterr().out
    assert trace("--model", folder, "--max-tokens", "2") in (0, 1)
    assert "no constraint" in capsys.readouterr().out


def test_a_lazy_run_writes_the_same_and_is_explained(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--model", folder, "--regex", "(yes|no), the [a-z]{1,9}", "--prompt", "is it",
             "--seed", "3", "--temperature", "1", "--no-masking-budget", "--json"]  # fmt: skip
    kinds = {"table": list[str](), "lazy": ["--lazy"]}
    runs = {kind: tmp_path / f"{kind}.json" for kind in kinds}
    for kind, more in kinds.items():
        trace(*words, str(runs[kind]), *more)
    table, lazy = Trace.load(runs["table"]), Trace.load(runs["lazy"])
    assert table.ids == lazy.ids and table.text == lazy.text
    for k in range(len(table.positions)):
        assert (table.allowed(k) == lazy.allowed(k)).all()
    # Asked again, the states of the saved run have other numbers; the answer is the same.
    capsys.readouterr()
    said: list[str] = []
    for kind, more in kinds.items():
        asked = ["why", str(runs[kind]), "--model", folder, "--step", "1", "--token", "x", "--all"]
        assert cli.main([*asked, *more]) == 1
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] and "expects" in said[0]


def test_a_trace_that_cannot_be_saved_is_not_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for out in (tmp_path, tmp_path / "none" / "run.json"):
        assert cli.main(["trace", "--choice", "yes", "--json", str(out)]) == 2
        told = capsys.readouterr()
        assert str(out) in told.err and "text" not in told.out
