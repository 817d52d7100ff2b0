"""`explorer invasiveness` prints what the functions find; its exit status says what holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import cli
from explorer.analysis.invasiveness import invasiveness
from explorer.analysis.invasiveness.schemes import TEMPLATES
from explorer.tokens.schemes.lookahead import lookahead_machine
from explorer.tokens.schemes.terminals import TerminalGrammar

GRAMMAR: dict[str, Any] = {
    "terminals": {
        "open": r"\{", "close": r"\}", "colon": ":", "comma": ",", "space": " +",
        "string": r'"[^"\\\n]*"', "number": "-?[0-9]+",
    },
    "rules": {
        "object": [["open", "members", "close"]],
        "members": [["member"], ["members", "comma", "ws", "member"]],
        "member": [["string", "colon", "ws", "number"]],
        "ws": [[], ["space"]],
    },
}  # fmt: skip
SUM = "Write the sum of 3 and 8 as JSON."


@pytest.fixture
def terminals(tmp_path: Path) -> str:
    path = tmp_path / "object.json"
    path.write_text(json.dumps(GRAMMAR), "utf-8")
    return str(path)


def test_schemes_are_compared(terminals: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["invasiveness", "--terminals", terminals, "--chat", "--prompt", SUM]
    assert cli.main([*words, "--max-tokens", "20", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["k = 0", "k = 1", "k = 2", "ours"]
    lm = explorer.load_model("tiny")
    rules = {name: tuple(map(tuple, ways)) for name, ways in GRAMMAR["rules"].items()}
    grammar = TerminalGrammar(GRAMMAR["terminals"], rules)
    prompt = [{"role": "user", "content": SUM}]
    for name, machine in (("ours", None), ("k = 0", lookahead_machine(grammar, lm.vocabulary, 0))):
        (pair,) = invasiveness(lm, prompt, grammar.constraint, machine=machine, max_tokens=20)
        (row,) = told[name]
        assert (row["free"], row["constrained"]) == (pair.free.text, pair.constrained.text)
        assert (row["violation"], row["outcome"]) == (pair.violation, pair.outcome)
    assert told["ours"][0]["violation"] is None and told["k = 0"][0]["violation"] == 0
    assert told["ours"][0]["bridges"] > 3 and told["k = 0"][0]["bridges"] == 0
    assert cli.main([*words, "--max-tokens", "20"]) == 0
    said = capsys.readouterr().out
    assert "which is valid" in said and "1 prompt × 1" in said
    assert said.count("free") == 1  # The model's own text is the same for every scheme.
    assert [line.split()[0] for line in said.splitlines()[-3:]] == ["k", "k", "ours"]


def test_a_pattern_and_several_prompts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["invasiveness", "--regex", " (Paris|Rome)", "--seeds", "2", "--temperature", "1"]
    prompts = ["--prompt", "The capital of France is", "--prompt", "The capital of Italy is"]
    assert cli.main([*words, *prompts]) == 0
    said = capsys.readouterr().out
    assert "2 prompts × 2" in said and said.count("constrained") == 4
    assert "nan" not in said and "goes on" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "does not hold a grammar over terminals"),
        ('{"terminals": {"a": "a"}, "rules": {"S": [["b"]]}}', "uses 'b', which is not defined"),
        ('{"terminals": {"a": "a"}, "rules": {"S": [3]}}', "not a list of alternatives"),
    ],
    ids=["broken", "list", "unknown", "number"],
)
def test_a_file_that_is_no_grammar(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "g.json"
    path.write_text(text, "utf-8")
    assert cli.main(["invasiveness", "--terminals", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_one_constraint_is_given(capsys: pytest.CaptureFixture[str], terminals: str) -> None:
    assert cli.main(["invasiveness"]) == 2
    assert "No constraint is given" in capsys.readouterr().err
    assert cli.main(["invasiveness", "--regex", "a", "--terminals", terminals]) == 2
    assert "Two constraints are given" in capsys.readouterr().err


def test_templates_are_compared(terminals: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Alone, and beside a grammar over terminals; the schemes are those of the engine."""
    form = ["--template", '{{"a": {x}, "b": {y}, "sum": {z}}}']
    form += [word for name in "xyz" for word in ("--part", f'{name}=gen(regex="[0-9]+")')]
    words = ["invasiveness", *form, "--chat", "--prompt", SUM, "--max-tokens", "20"]
    assert cli.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["ours", *TEMPLATES]
    assert {rows[0]["constrained"] for rows in told.values()} >= {told["ours"][0]["free"]}
    assert told["flexible template"][0]["violation"] is not None  # The model's own `": "` is lost.
    assert cli.main([*words, "--terminals", terminals]) == 0
    said = capsys.readouterr().out
    assert [name for name in ("k = 0", *TEMPLATES) if name not in said] == []
