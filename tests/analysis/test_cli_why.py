"""``explorer why``: the exit status, the words and the JSON."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

import explorer
from explorer.cli.why import add_parser
from explorer.errors import ExplorerError


def why(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["why", *words])
    status: int = arguments.run(arguments)
    return status


DIGITS = ("--model", "tiny", "--regex", "[0-9]+-[0-9]{2}")


def test_masked_is_one_and_allowed_is_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert why(*DIGITS, "--prefix", "12", "--token", "x") == 1
    assert "'x' (id " in (shown := capsys.readouterr().out) and "expects '-' or 0-9" in shown
    assert "^^^^^ ^" in shown
    assert why(*DIGITS, "--prefix", "12", "--token", "-") == 0
    assert "is allowed after '12'" in capsys.readouterr().out


def test_ids_in_and_json_out(capsys: pytest.CaptureFixture[str]) -> None:
    vocabulary = explorer.Vocabulary.from_file(
        Path(explorer.__file__).parent / "decoding" / "models" / "tiny"
    )
    one, x = vocabulary.ids_of(b"1")[0], vocabulary.ids_of(b"x")[0]
    assert why(*DIGITS, "--prefix-ids", f"{one},{one}", "--token-id", str(x), "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["stage"] == "constraint" and answer["text"] == "11" and answer["token"] == x
    assert why(*DIGITS, "--token-id", "999999", "--json") == 1
    assert json.loads(capsys.readouterr().out)["stage"] == "beyond_vocabulary"
    assert why(*DIGITS, "--all", "--json") == 0
    groups = json.loads(capsys.readouterr().out)["reasons"]
    assert sum(g["count"] for g in groups["groups"]) + groups["allowed"] == len(vocabulary)


def test_a_choice_and_groups_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", "tiny", "--choice", "yes", "--choice", "no", "--token", "maybe", "--all")
    assert why(*words) == 1
    shown = capsys.readouterr().out
    assert "Still open: 'no', 'yes'" in shown and "ids are allowed" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*DIGITS, "--prefix", "1x", "--token", "1"), "The constraint rejects the prefix"),
        ((*DIGITS, "--prefix-ids", "1,nine", "--token", "1"), "is not a list of ids"),
        ((*DIGITS, "--prefix-ids", "0", "--token", "1"), "The prefix cannot be written"),
        (DIGITS, "No token is asked about"),
        ((*DIGITS, "--step", "3", "--token", "1"), "--step asks about a saved trace"),
        (("t.json", "--prefix", "a", "--token", "1"), "A trace has its own text"),
        ((*DIGITS, "--token", ""), "An empty text is not a token"),
        (("--regex", "a", "--token", "a"), "A tokenizer and a constraint are needed"),
        (("--model", "tiny", "--token", "a"), "A tokenizer and a constraint are needed"),
        (("--tokenizer", "/nowhere/at/all", "--regex", "a", "--token", "a"), "nowhere"),
    ],
)
def test_what_cannot_be_asked_is_an_error(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        why(*words)


def test_a_saved_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = explorer.load_model("tiny")
    constraint = explorer.regex(r"(Paris|London)\.?")
    session = explorer.Session(model, constraint, "The capital of France is", max_tokens=6)
    session.run()
    path = tmp_path / "trace.json"
    session.trace.save(path)
    assert why(str(path), "--step", "1", "--token", "London") == 1
    shown = capsys.readouterr().out
    assert "It was allowed at position 0, where 'Paris' was chosen." in shown
    assert why(str(path), "--step", "0", "--token-id", str(session.trace.ids[0])) == 0
    with pytest.raises(ExplorerError, match="no position 99"):
        why(str(path), "--step", "99", "--token", "a")
    with pytest.raises(ExplorerError, match="its own constraint"):
        why(str(path), "--regex", "a", "--token", "a")


def test_a_saved_trace_of_an_unknown_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"\xff"], eos_ids=[3])
    session = explorer.Session.from_ids(vocabulary, explorer.regex("ab"), [0, 1, 3])
    path = tmp_path / "trace.json"
    session.trace.save(path)
    assert why(str(path), "--step", "1", "--token", "a") == 1
    assert "expects b" in capsys.readouterr().out
    assert why(str(path), "--step", "1", "--token", "b") == 0
    with pytest.raises(ExplorerError, match="mentions no token 'z'"):
        why(str(path), "--token", "z")
    with pytest.raises(ExplorerError, match="whole vocabulary"):
        why(str(path), "--all")


def test_a_tokenizer_file_needs_no_torch() -> None:
    script = (
        "import argparse, sys\n"
        "from explorer.cli.why import add_parser\n"
        "parser = argparse.ArgumentParser()\n"
        "add_parser(parser.add_subparsers())\n"
        "words = ['why', '--model', 'tiny', '--regex', '[0-9]+', '--token', 'x']\n"
        "arguments = parser.parse_args(words)\n"
        "status = arguments.run(arguments)\n"
        "assert not {'torch', 'transformers'} & set(sys.modules), 'heavy'\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
