"""Every kind of constraint can be named on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest import CaptureFixture, MonkeyPatch

from explorer import cli
from explorer.decoding.models.tiny import FOLDER

SHOP = """
from dataclasses import dataclass
from typing import Literal

@dataclass
class Order:
    item: Literal["tea", "cake"]
    count: int = 1

    class Inside:
        pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop_of_tests.py").write_text(SHOP)
    (tmp_path / "lines.txt").write_text("yes\nno\n\n")
    (tmp_path / "names.json").write_text('{"Green": "Forest green", "Red": ["Brick", "Rust"]}')
    (tmp_path / "twice.json").write_text('{"a": "x", "a": "y"}')
    (tmp_path / "raises_of_tests.py").write_text("raise RuntimeError('no import')")
    (tmp_path / "leaves_of_tests.py").write_text("raise SystemExit(3)")
    (tmp_path / "schema.json").write_text('{"type": "integer", "minimum": 3}')
    return tmp_path


PART = ["--part", 'who=gen(choices=["Ann", "Bob"])']


@pytest.mark.parametrize(
    ("words", "prefix", "token", "status", "says"),
    [
        (["--template", "Hi {who}!", *PART], "Hi Ann", "?", 1, "expects '!'"),
        (["--template", "Hi {who}!", *PART], "Hi ", "Bo", 0, ""),
        (["--template", 'template("{x}.", x=gen(regex="[0-9]+"))'], "1", "x", 1, "part `x`"),
        (
            ["--template", 'template("{x}.", x=gen(regex="[0-9]+", max_tokens=1))'],
            "1",
            "2",
            1,
            "Part `x` may take at most 1 token",
        ),
        (["--choices", "lines.txt"], "y", "x", 1, "'yes'"),
        (["--choices", "names.json"], "For", "x", 1, "choice `Green`"),
        (["--type", "shop_of_tests:Order"], '{"item":"', "b", 1, "/properties/item"),
        (["--type", "shop_of_tests:Order", "--style", "python"], "Order(item='", "b", 1, "part"),
        (["--json-schema", "schema.json"], "", "x", 1, "/minimum"),
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
        ["--template", "Hi {who}!", *PART], ["--choices", "names.json"],
        ["--type", "shop_of_tests:Order"], ["--json-schema", "schema.json"], ["--choice", "yes"],
        ["--constraint", "template", 'template("{x}", x=many(regex("a"), 1))'],
    ],
)  # fmt: skip
def test_compile(words: list[str], capsys: CaptureFixture[str]) -> None:
    assert cli.main(["compile", "--tokenizer", str(FOLDER), "--json", *words]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["allowed_at_start"] and answer["pattern"]


def test_trace_writes_a_template(capsys: CaptureFixture[str]) -> None:
    words = ["trace", "--template", "Hi {who}!", *PART, "--prompt", "Hello", "--max-tokens", "20"]
    assert cli.main(words) == 0
    assert "'Hi Ann!'" in (out := capsys.readouterr().out) or "'Hi Bob!'" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--part", "x=regex('a')"], "--template, which is not given"),
        (["--regex", "a", "--part", "x=regex('a')"], "--template, which is not given"),
        (["--json-schema", "schema.json", "--style", "json"], "--type, which is not given"),
        (["--choice", "yes", "--recursion", "stack"], "--json-schema, which is not given"),
        (["--template", "{x}", "--part", "x"], "--part 'x' does not say"),
        (["--template", "{x}", "--part", "=regex('a')"], "does not say"),
        (["--type", "raises_of_tests:X"], "cannot be imported: RuntimeError: no import"),
        (["--type", "leaves_of_tests:X"], "cannot be imported: SystemExit: 3"),
        (["--choices", "twice.json"], "'a' is given twice"),
        (["--style", "python", "--choice", "a"], "--type, which is not given"),
        (["--template", "{x}"], "no part 'x'"),
        (["--template", "{x}", "--part", "x=open('f')"], "'open' is not a function"),
        (["--template", "{x}", "--part", "x=regex('a')", "--part", "x=regex('b')"], "twice"),
        (["--type", "Order"], "module:Class"),
        (["--type", "shop_of_tests:Missing"], "no type 'shop_of_tests:Missing'"),
        (["--type", "no_module_of_that_name:X"], "no type"),
        (["--type", "shop_of_tests:Order.Inside"], "cannot be written as JSON"),
        (["--choices", "shop_of_tests.py:"], "shop_of_tests.py:"),
    ],
)
def test_wrong_words_are_told(words: list[str], says: str, capsys: CaptureFixture[str]) -> None:
    asked = ["why", "--tokenizer", str(FOLDER), *words, "--token", "a"]
    assert cli.main(asked) == 2
    assert says in capsys.readouterr().err
