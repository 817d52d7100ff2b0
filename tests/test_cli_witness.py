"""``explorer witness``, called as a user calls it."""

from __future__ import annotations

import json

import pytest

from explorer import cli
from tests.test_cli import TOKENIZER

pytest.importorskip("xgrammar")

WORDS = ("witness", "--tokenizer", str(TOKENIZER))


def test_a_difference_is_status_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--regex", "a.b", "--prefix", "a", "--engine", "xgrammar"]) == 1
    shown = capsys.readouterr().out
    assert "xgrammar" in shown and "[dialect] xgrammar allows '\\n'" in shown


def test_agreement_is_status_zero_and_json_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--regex", "[a-c]+", "--engine", "xgrammar", "--json"]
    assert cli.main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["engine"] for each in told["engines"]] == ["explorer", "xgrammar"]
    assert told["disagreements"] == []


def test_a_walk_prints_the_differences(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--regex", "a.b", "--engine", "xgrammar", "--seconds", "1"]
    assert cli.main(words) == 1
    shown = capsys.readouterr().out
    assert "states along" in shown and "[dialect] xgrammar allows" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["witness", "--regex", "a"], "A tokenizer and a constraint are needed"),
        ([*WORDS, "--regex", "a", "--prefix", "a", "--seconds", "1"], "begins at the start"),
        ([*WORDS, "--regex", "a", "--prefix-ids", "x"], "not a list of ids"),
        ([*WORDS, "--constraint", "template", "template('{a}', a=gen(regex='a'))"], "cannot be"),
    ],
)
def test_what_cannot_be_asked_is_status_two(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    assert said in capsys.readouterr().err
