"""A schema that nothing satisfies says which keywords exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.errors import EmptyConstraint, UnsatisfiableSchema

VOCABULARY = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


@pytest.mark.parametrize(
    ("schema", "pointers"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 2}, ["/minimum", "/maximum", "/type"]),
        ({"type": "string", "minLength": 3, "maxLength": 2}, ["/minLength", "/maxLength", "/type"]),
        ({"type": "string", "pattern": "^a", "enum": ["b"]}, ["/pattern", "/enum"]),
        ({"type": "string", "format": "date", "maxLength": 9}, ["/format", "/maxLength", "/type"]),
        ({"type": "integer", "const": "a"}, ["/type", "/const"]),
        ({"enum": []}, ["/enum"]),
        (
            {"allOf": [{"type": "string"}, {"properties": {"a": True}}, {"type": "null"}]},
            ["/allOf/0/type", "/allOf/2/type"],
        ),
        (
            {"type": "object", "required": ["a"], "additionalProperties": False,
             "properties": {"b": {"type": "null"}}},
            ["/required", "/additionalProperties", "/type"],
        ),
        (
            {"type": "object", "required": ["a"], "minProperties": 0,
             "properties": {"a": {"type": "number", "minimum": 5, "maximum": 3}}},
            ["/properties/a/minimum", "/properties/a/maximum", "/type", "/required",
             "/properties/a/type"],
        ),
        ({"type": "array", "minItems": 1, "items": False}, ["/minItems", "/items", "/type"]),
        (False, [""]),
    ],
)  # fmt: skip
def test_the_keywords_that_exclude_each_other_are_named(schema: Any, pointers: list[str]) -> None:
    for lazy in (False, True):
        with pytest.raises(UnsatisfiableSchema) as raised:
            explorer.compile(explorer.json_schema(schema), VOCABULARY, lazy=lazy)
        assert raised.value.evidence["pointers"] == pointers


def test_the_place_is_shown() -> None:
    constraint = explorer.json_schema({"type": "integer", "minimum": 3, "maximum": 2})
    with pytest.raises(EmptyConstraint) as raised:
        explorer.compile(constraint, VOCABULARY)
    assert str(raised.value) == (
        "No value satisfies the schema: /minimum and /maximum exclude each other, given /type.\n"
        '  "minimum": 3,\n'
        "  ^^^^^^^^^^^^\n"
        "Change one of them."
    )


def test_a_smallest_set_is_one() -> None:
    """Without any one of the keywords that are named there is a value: the definition itself."""
    schema: dict[str, Any] = {
        "type": "string", "minLength": 4, "pattern": "^a*$", "maxLength": 6, "format": "date",
        "title": "none",
    }  # fmt: skip
    with pytest.raises(UnsatisfiableSchema) as raised:
        explorer.compile(explorer.json_schema(schema), VOCABULARY)
    names = [pointer[1:] for pointer in raised.value.pointers]
    assert explorer.json_schema({name: schema[name] for name in names}).is_empty()
    for name in names:
        less = {other: schema[other] for other in names if other != name}
        assert not explorer.json_schema(less).is_empty(), name


def test_other_constraints_are_empty_as_before() -> None:
    with pytest.raises(EmptyConstraint, match="has no word"):
        explorer.compile(explorer.regex("a") & explorer.regex("b"), VOCABULARY)


def test_equal_alternatives_exclude_each_other_because_of_one_of() -> None:
    text = {"type": "string"}
    with pytest.raises(UnsatisfiableSchema, match="because oneOf takes a value of exactly one"):
        explorer.compile(explorer.json_schema({"oneOf": [text, text]}), VOCABULARY)
    with pytest.raises(UnsatisfiableSchema) as raised:
        explorer.compile(explorer.json_schema({"type": "integer", "const": "a"}), VOCABULARY)
    assert "oneOf" not in str(raised.value)
