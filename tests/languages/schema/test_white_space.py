"""White space between the tokens of JSON: that of `json.dumps`, and what a pattern says."""

from __future__ import annotations

import json
import random
import re
from itertools import islice
from typing import Any, Final

import pytest

import explorer
from explorer.automata.words import words
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.languages.schema.random_schemas import value
from tests.languages.schema.test_against_jsonschema import SCHEMAS, validator

OPEN: Final[dict[str, Any]] = {
    "type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {}}
}  # fmt: skip
NESTED: Final[dict[str, Any]] = {"a": [1, 2], "b": {"c": [], "d": [{}, {"e": None}]}}
TREE: Final[dict[str, Any]] = {
    "type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
    "additionalProperties": False,
}  # fmt: skip


def compact(given: Any) -> str:
    return json.dumps(given, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("name", SCHEMAS)
def test_dumps_is_what_python_writes(name: str) -> None:
    limits: Any = {"free_depth": 2, "recursion": "unroll"}
    usual = explorer.json_schema(SCHEMAS[name], **limits)
    spaced = explorer.json_schema(SCHEMAS[name], whitespace="dumps", **limits)
    for word in islice(words(usual.dfa), 100):
        given = json.loads(word)
        if compact(given).encode() == word:
            text = json.dumps(given, ensure_ascii=False)
            assert spaced.accepts(text), word
            assert spaced.accepts(word) == (text.encode() == word)
    for word in islice(words(spaced.dfa), 100):
        assert validator(name).is_valid(json.loads(word)), word


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("recursion", ["unroll", "stack"])
def test_dumps_at_every_depth(order: Any, recursion: Any) -> None:
    c = explorer.json_schema(
        OPEN, whitespace="dumps", property_order=order, recursion=recursion, free_depth=4
    )
    assert c.accepts(json.dumps(NESTED))
    for near in (
        compact(NESTED), json.dumps(NESTED, indent=2), json.dumps(NESTED) + " ",
        json.dumps(NESTED).replace(", ", ",", 1), json.dumps(NESTED).replace(": ", ":", 1),
        json.dumps(NESTED).replace("[]", "[ ]"), json.dumps(NESTED).replace(", ", " ,", 1),
    ):  # fmt: skip
        assert not c.accepts(near), near


def test_dumps_of_free_values() -> None:
    c = explorer.json_schema(True, whitespace="dumps", free_depth=3)
    draw = random.Random(5)
    for _ in range(300):
        given = value(draw, 3)
        text = json.dumps(given, ensure_ascii=False)
        assert c.accepts(text), text
        assert c.accepts(compact(given)) == (text == compact(given))


@pytest.mark.parametrize("pattern", ["[ ]?", r"[\n\t ]*", "", " ", r"(?:\n {0,4})?", r"\r\n|\t"])
@pytest.mark.parametrize("recursion", ["unroll", "stack"])
def test_a_pattern_says_what_stands_between_tokens(pattern: str, recursion: Any) -> None:
    c = explorer.json_schema(
        OPEN, whitespace_pattern=pattern, free_depth=4, property_order="any", recursion=recursion
    )
    draw = random.Random(7)
    blanks = ["", " ", "  ", "\n", "\t", "\n  ", "\n     ", "\r\n"]
    few = [each for each in blanks if re.fullmatch(pattern, each)]
    tokens = re.findall(r'"[^"]*"|[\[\]{},:]|\w+', compact(NESTED))
    judged = set[bool]()
    for _ in range(300):
        among = few if draw.random() < 0.8 else [draw.choice(few), draw.choice(blanks)]
        between = [draw.choice(among) for _ in tokens[1:]]
        text = tokens[0] + "".join(b + token for b, token in zip(between, tokens[1:], strict=True))
        allowed = all(re.fullmatch(pattern, each) for each in between)
        assert c.accepts(text) == allowed, text
        judged.add(allowed)
    assert judged == {True, False}
    assert not c.accepts(" " + compact(NESTED))


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_empty_pattern_is_compact_and_what_a_pattern_allows_is_valid(name: str) -> None:
    limits: Any = {"free_depth": 1, "recursion": "unroll"}
    usual = explorer.json_schema(SCHEMAS[name], **limits)
    empty = explorer.json_schema(SCHEMAS[name], whitespace_pattern="", **limits)
    assert empty.equivalent(usual)
    optional = explorer.json_schema(SCHEMAS[name], whitespace_pattern="[ ]?", **limits)
    dumps = explorer.json_schema(SCHEMAS[name], whitespace="dumps", **limits)
    for c in (usual, dumps):
        assert (c - optional).is_empty()
    for word in islice(words(optional.dfa), 100):
        assert validator(name).is_valid(json.loads(word)), word


def test_members_left_out_have_no_white_space_of_their_own() -> None:
    schema = {
        "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}},
        "type": "object", "additionalProperties": False,
    }  # fmt: skip
    c = explorer.json_schema(schema, whitespace_pattern=" ")
    assert c.accepts('{ "c" : 3 }')
    assert c.accepts('{ "a" : 1 , "c" : 3 }')
    assert c.accepts("{ }")
    for near in ('{  "c" : 3 }', '{"c" : 3 }', '{ "a" : 1 ,  "c" : 3 }', "{}", "{  }"):
        assert not c.accepts(near), near


def test_a_tree_on_a_stack_has_the_same_white_space() -> None:
    given: dict[str, Any] = {}
    for _ in range(30):
        given = {"left": given, "right": {}}
    dumps = explorer.json_schema(TREE, whitespace="dumps", recursion="stack")
    assert dumps.accepts(json.dumps(given))
    assert not dumps.accepts(compact(given))
    optional = explorer.json_schema(TREE, whitespace_pattern="[ ]?", recursion="stack")
    assert optional.accepts(json.dumps(given))
    assert optional.accepts(compact(given))
    assert not optional.accepts(json.dumps(given).replace(": ", ":  ", 1))


@pytest.mark.parametrize(
    "options",
    [{}, {"whitespace": "dumps"}, {"whitespace": "pretty"}, {"whitespace_pattern": "[ ]?"}],
)
def test_white_space_of_every_kind_is_relaxed_to_any(options: dict[str, Any]) -> None:
    given = explorer.json_schema({"type": "array", "items": {"type": "integer"}}, **options)
    text = "[1,\t2 ]"
    cause = explorer.explain_text(given, text).cause
    assert cause is not None and cause.change.label == "allow white space"
    freer = cause.constraint
    assert (given.accepts(text), freer.accepts(text)) == (False, True)
    assert "flexible" in freer.source.remark and "pattern" not in freer.source.remark
    assert source_from_dict(source_to_dict(freer.source)) == freer.source
