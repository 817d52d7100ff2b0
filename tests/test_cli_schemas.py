"""JSON Schemas on the command line: compiled, profiled, asked about, traced, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer import cli
from explorer.cli import demo

Capture = pytest.CaptureFixture[str]
TOKENIZER = str(demo.shipped_tokenizer())
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 18, "maximum": 99}},
    "required": ["age"],
    "additionalProperties": False,
}


@pytest.fixture
def person(tmp_path: Path) -> str:
    path = tmp_path / "person.json"
    path.write_text(json.dumps(PERSON, indent=2))
    return str(path)


@pytest.mark.parametrize("lazy", [[], ["--lazy"]])
def test_a_schema_is_compiled(person: str, lazy: list[str], capsys: Capture) -> None:
    words = ["compile", "--json-schema", person, "--tokenizer", TOKENIZER, "--json", *lazy]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["report"]["kind"] == ("lazy" if lazy else "table")


def test_the_keyword_is_named(person: str, capsys: Capture) -> None:
    words = ["why", "--json-schema", person, "--tokenizer", TOKENIZER, "--prefix", '{"age":']
    assert cli.main([*words, "--token=-"]) == 1
    assert "/properties/age/minimum" in capsys.readouterr().out


def test_a_schema_is_traced(person: str, capsys: Capture) -> None:
    assert cli.main(["trace", "--json-schema", person, "--max-tokens", "12"]) == 0
    assert "age" in capsys.readouterr().out


def test_sizes_are_told_by_pointer(person: str, capsys: Capture) -> None:
    assert cli.main(["profile", person]) == 0
    assert "  /properties/age" in capsys.readouterr().out
    assert cli.main(["profile", person, "--json", "--any-order"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["pointer"] for row in rows] == ["", "/properties/age", "/additionalProperties"]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ('{"type": "integer",\n "minimum": "3"}', ' "minimum": "3"}\n ^^^^^^^^^^^^^^'),
        ('{"minimum": 3,\n "maximum": 2, "type": "number"}', '{"minimum": 3,\n ^^^^^^^^^^^^'),
        ('{"type":\n object}', " object}\n ^"),
    ],
    ids=["keyword", "conflict", "not JSON"],
)
def test_what_is_wrong_is_shown(schema: str, says: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "schema.json"
    path.write_text(schema)
    for words in (
        ["compile", "--tokenizer", TOKENIZER],
        ["why", "--tokenizer", TOKENIZER, "--token=x"],
    ):
        assert cli.main([words[0], "--json-schema", str(path), *words[1:]]) == 2
        assert says in capsys.readouterr().err
