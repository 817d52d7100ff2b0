"""No output of a command is an instruction to the terminal."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from explorer import cli

HOSTILE = "\x1b]0;pwn\x07\x9b2J\u202e\x7f"


def controls(text: str) -> set[str]:
    """The characters of a text that a terminal may not treat as text."""
    return {
        c
        for c in text
        if (unicodedata.category(c) == "Cc" and c not in "\n\t")
        or unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF")
    }


@pytest.mark.parametrize("options", [[], ["--all"]], ids=["one", "all"])
def test_hostile_characters_are_escaped(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["why", "--model", "tiny", "--regex", f"[a-z]+{HOSTILE[:1]}", "--token", "1", *options]
    cli.main(words)
    told = capsys.readouterr()
    assert told.out and not controls(told.out) and not controls(told.err)


def test_the_repair_of_a_pattern_is_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "log.json"
    choice = {"text": HOSTILE, "finish_reason": HOSTILE}
    response = {"model": "tiny", "choices": [choice]}
    file.write_text(json.dumps({"request": {"guided_regex": "[a-z]+"}, "response": response}))
    assert cli.main(["why", "--run", str(file)]) == 1
    told = capsys.readouterr().out
    assert r"in place of [a-z]" in told and r"\x1b" in told
    assert not controls(told)


def test_errors_are_escaped_and_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["compile", "--tokenizer", f"no{HOSTILE}", "--regex", "a"])
    told = capsys.readouterr()
    assert "no" in told.err and not controls(told.err)
    cli.main(["why", "--model", "tiny", "--token", "1", "--regex", f"a{HOSTILE}("])
    told = capsys.readouterr()
    assert not controls(told.out) and not controls(told.err)
    cli.main(["why", "--model", "tiny", "--regex", "a\x85\u2028", "--token", "1", "--json"])
    told = capsys.readouterr().out
    assert json.loads(told) and not controls(told)
