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


def test_an_embedded_tokenizer_has_a_name(person: str, capsys: Capture) -> None:
    words = ["compile", "--json-schema", person, "--tokenizer", "tiny", "--json"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 4_000


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
    assert cli.main(["profile", person, "--json", "--property-order", "any"]) == 0
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


def test_free_depth_and_escapes_are_options_too(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text('{"type": "array"}')
    words = ["--json-schema", str(path), "--tokenizer", TOKENIZER]
    why = ["why", *words, "--prefix", "[[[", "--token=["]
    assert cli.main(why) == 0 and cli.main([*why, "--free-depth", "1"]) == 1
    path.write_text('{"enum": ["a"]}')
    why = ["why", *words, "--prefix", '"', "--token=\\"]
    assert cli.main(why) == 1 and cli.main([*why, "--escapes", "any"]) == 0
    assert cli.main(["compile", *words, "--escapes", "any", "--free-depth", "0"]) == 0


def test_what_cannot_be_followed_is_ignored_when_asked(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "string", "pattern": "(?<=a*)b"}')
    words = ["compile", "--json-schema", str(path), "--tokenizer", TOKENIZER]
    assert cli.main(words) == 2
    assert "--no-strict" in capsys.readouterr().err
    assert cli.main([*words, "--no-strict"]) == 0
    assert "/pattern" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["compile", "--json-schema"], ["profile"]])
def test_a_schema_in_place_of_its_file(command: list[str], capsys: Capture) -> None:
    tokenizer = ["--tokenizer", TOKENIZER] if command[0] == "compile" else []
    assert cli.main([*command, '{"type": "integer"}', *tokenizer]) == 2
    assert "--constraint 'JSON Schema'" in capsys.readouterr().err


def test_options_of_a_schema_need_one(capsys: Capture) -> None:
    words = ["compile", "--regex", "a", "--property-order", "any", "--tokenizer", TOKENIZER]
    assert cli.main(words) == 2
    assert "--property-order says more about --json-schema" in capsys.readouterr().err


def test_a_schema_is_refused_before_the_model_is_loaded(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "strin"}')
    assert cli.main(["trace", "--json-schema", str(path), "--model", "no such model"]) == 2
    assert "'strin' is not a type" in capsys.readouterr().err
