"""Every kind of constraint can be named on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest import CaptureFixture, MonkeyPatch

from explorer import cli
from explorer.decoding.models.tiny import FOLDER


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text('{"type": "integer", "minimum": 3}')
    return tmp_path


NAMES = '{"Green": "Forest green", "Red": ["Brick", "Rust"]}'
GREETING = ["--constraint", "template", 'template("Hi {who}!", who=gen(choices=["Ann", "Bob"]))']
DIGIT = ["--constraint", "template", 'template("{x}.", x=gen(regex="[0-9]+", max_tokens=1))']


@pytest.mark.parametrize(
    ("words", "prefix", "token", "status", "says"),
    [
        (GREETING, "Hi Ann", "?", 1, "expects '!'"),
        (GREETING, "Hi ", "Bo", 0, ""),
        (DIGIT, "1", "2", 1, "Part `x` may take at most 1 token"),
        (["--constraint", "choices", "yes\nno"], "y", "x", 1, "'yes'"),
        (["--constraint", "choices with aliases", NAMES], "For", "x", 1, "choice `Green`"),
        (["--json-schema", "schema.json"], "", "0", 1, "/minimum"),
        (["--choice", "yes"], "y", "x", 1, "yes"),
    ],
)
@pytest.mark.parametrize("lazy", [[], ["--lazy"]])
def test_why(
    words: list[str], prefix: str, token: str, status: int, says: str, lazy: list[str],
    capsys: CaptureFixture[str],
) -> None:  # fmt: skip
    asked = ["why", "--tokenizer", str(FOLDER), *words, "--prefix", prefix, "--token", token, *lazy]
    assert cli.main(asked) == status, capsys.readouterr()
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        GREETING, ["--json-schema", "schema.json"], ["--choice", "yes"],
        ["--constraint", "template", 'template("{x}", x=many(regex("a"), 1))'],
    ],
)  # fmt: skip
def test_compile(words: list[str], capsys: CaptureFixture[str]) -> None:
    assert cli.main(["compile", "--tokenizer", str(FOLDER), "--json", *words]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["allowed_at_start"] and answer["pattern"]


def test_trace_writes_a_template(capsys: CaptureFixture[str]) -> None:
    words = ["trace", *GREETING, "--prompt", "Hello", "--max-tokens", "20"]
    assert cli.main(words) == 0
    assert "'Hi Ann!'" in (out := capsys.readouterr().out) or "'Hi Bob!'" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--choice", "yes", "--recursion", "stack"], "--json-schema, which is not given"),
        (["--constraint", "choices with aliases", '{"a": "x", "a": "y"}'], "'a' is given twice"),
        (["--constraint", "template", 'template("{x}")'], "no part 'x'"),
        (["--constraint", "template", 'template("{x}", x=open("f"))'], "'open' is not a function"),
        (["--constraint", "sonnet", "a"], "is not a kind of constraint"),
    ],
)
def test_wrong_words_are_told(words: list[str], says: str, capsys: CaptureFixture[str]) -> None:
    asked = ["why", "--tokenizer", str(FOLDER), *words, "--token", "a"]
    assert cli.main(asked) == 2
    assert says in capsys.readouterr().err
