"""Reasons by their definition: what is named, taken away, lets the token through."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

import explorer
from explorer.errors import GrammarError
from tests.analysis.reasons import FAMILIES, Judged, SchemaReasons
from tests.evidence import examples

Schema = dict[str, Any]


@pytest.mark.parametrize("family", dict.fromkeys(FAMILIES), ids=lambda each: each.__name__)
def test_what_is_named_decides(family: Any) -> None:
    counted: Counter[Judged] = Counter()
    for seed in range(examples(10)):
        for asked in family(random.Random(seed), 20):
            counted[asked.judged] += 1
            assert asked.judged not in ("false", "loose"), str(asked)
    assert counted["right"] >= 0.98 * counted.total() > 0


def test_the_definition_objects_to_wrong_reasons() -> None:
    """Another keyword, one of two, one around the right one, JSON itself, and nothing."""
    oracle = SchemaReasons(
        {
            "type": "object",
            "properties": {"a": {"type": "integer", "maximum": 5}},
            "required": ["b"],
        }
    )
    both = "/properties/a/maximum and /required together"
    for text, label, judged in (
        (b'{"a":7}', "/required", "false"),
        (b'{"a":7}', "/properties/a/maximum", "false"),
        (b'{"a":7}', both, "right"),
        (b'{"a":1}', "/required", "right"),
        (b'{"a":1}', "/properties/a/maximum", "false"),
        (b'{"a":1}', "JSON, which has a value here", "false"),
        (b'{"a":1}', both, "loose"),
        (b'{"a":1}', "the whole schema", "unnamed"),
    ):
        assert oracle.judge([label], text, ends=False) == judged
    items = SchemaReasons({"items": {"maximum": 5}})
    assert items.judge(["/items"], b"[7]", ends=False) == "loose"
    assert items.judge(["/items/maximum"], b"[7]", ends=False) == "right"


VALUES: dict[str, tuple[Schema, str]] = {
    "array": ({"type": "array", "items": {"type": "string"}}, '["a"]'),
    "object": ({"type": "object", "properties": {"k": {"type": "integer"}}}, '{"k":1}'),
    "optional": ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null"),
    "one of": ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "1"),
}


def closed(**properties: Any) -> Schema:
    """An object with these properties and no others."""
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip


def reason(schema: Any, text: str, **options: Any) -> tuple[str, str]:
    """The place that a message names, and the everyday sentence."""
    why = explorer.explain_text(explorer.json_schema(schema, **options), text)
    assert not why.allowed
    place = why.message.partition("Expected by ")[2].removesuffix(".")
    return place, "" if why.cause is None else why.cause.change.sentence


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_is_complete_is_not_blamed(kind: str) -> None:
    value, written = VALUES[kind]
    cases: list[tuple[Schema, str, str, str]] = [
        (closed(o=value, z={"type": "integer"}), f'{{"o":{written}}}', "/required",
         "The property z is missing. It is required."),
        (closed(o=value), f'{{"o":{written},"x":1}}', "/additionalProperties",
         "The schema has no property x, and no others are allowed."),
        ({"type": "array", "items": value, "minItems": 2}, f"[{written}]", "/minItems",
         "The array has too few items to end here (minItems: 2)."),
        ({"type": "array", "items": value, "maxItems": 1}, f"[{written},{written}]", "/maxItems",
         "The array has as many items as it may (maxItems: 1)."),
        ({"type": "object", "additionalProperties": value, "minProperties": 2},
         f'{{"a":{written}}}', "/minProperties",
         "The object has too few properties to end here (minProperties: 2)."),
        ({"properties": {"a": value, "b": {}}, "dependentRequired": {"a": ["b"]}},
         f'{{"a":{written}}}', "/dependentRequired",
         "The property b is missing. It is required beside a."),
    ]  # fmt: skip
    for schema, text, place, sentence in cases:
        assert reason(schema, text) == (place, sentence)


NUMBER_OR_A: Schema = {
    "anyOf": [{"type": "number", "maximum": 5}, {"type": "string", "pattern": "^a"}]
}
ORDER: Schema = closed(order_id={"type": "integer"}, zip={"type": "string"})
TAGGED: Schema = {
    "oneOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ]
}
ENDS: Schema = {"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]}
IF: Schema = {
    "if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "text", "place", "sentence"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 5}, "6", "/maximum",
         "The number would be too large (maximum: 5)."),
        (closed(zip={"type": "integer"}, b={}), '{"zip":01234,"b":"x"}',
         "JSON, which has no number that begins with 01", ""),
        (closed(a={}), '{"a":1,}', "JSON, which has a name in double quotes here", ""),
        (NUMBER_OR_A, '"b"', "/anyOf/0/type, /anyOf/1/pattern", None),
        ({"type": "object", "unevaluatedProperties": False, "not": {"required": ["b"]}}, '{"',
         "/unevaluatedProperties", None),
        ({"propertyNames": {"maxLength": 1}, "not": {"required": ["a", "ab"]}}, '{":n',
         "/propertyNames/maxLength", None),
        ({"unevaluatedItems": False}, '["', "/unevaluatedItems",
         "The array may have no item here (unevaluatedItems: false)."),
        (IF, '{"a":1}', "/then/required", "The property b is missing. It is required."),
        (ORDER, '{"order_id":12,"zzz', '/additionalProperties and property_order="schema" together',
         None),
        ({"type": "integer", "maximum": 5}, '"a"', "/type",
         "The model writes a string, where the schema asks for a whole number."),
        ({"type": "integer", "maximum": 5}, "[", "/type",
         "The model writes an array, where the schema asks for a whole number."),
        ({"type": "string", "pattern": "^a", "maxLength": 2}, '"bcd"',
         "/maxLength and /pattern together", None),
        (TAGGED, '{"a":1,"b":2}', "/oneOf, of which /oneOf/0 and /oneOf/1 match",
         "The value fits the branches 0 and 1 of oneOf, and may fit one alone."),
        (ENDS, '"ab"', "/oneOf, of which /oneOf/0 and /oneOf/1 match",
         "The value fits the branches 0 and 1 of oneOf, and may fit one alone."),
        (closed(c={"type": "array", "items": {"type": "string"}, "maxItems": 0}), '{"c":["a"]}',
         "/properties/c/maxItems", "The array has as many items as it may (maxItems: 0)."),
        ({"type": "object", "properties": {"b": {}}, "required": ["a"]}, '{"b":1}', "/required",
         "The property a is missing. It is required."),
        ({"enum": ["a/b"]}, '"a\\/b"', 'escapes="free", where "any" takes every escape',
         "The model writes an escape where the constraint asks for the character itself."),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "[1,1]",
         "/uniqueItems, 1 came before", None),
    ],
)  # fmt: skip
def test_the_place_is_the_one_that_decides(
    schema: Any, text: str, place: str, sentence: str | None
) -> None:
    named, said = reason(schema, text)
    assert named == place
    assert sentence is None or said == sentence


@pytest.mark.parametrize("count", [10, 12])
def test_a_property_that_is_missing_in_any_order_is_named(count: int) -> None:
    names = [f"p{k}" for k in range(count)]
    text = json.dumps(dict.fromkeys(names[:-1], 1), separators=(",", ":"))
    schema = closed(**{name: {"type": "integer"} for name in names})
    said = reason(schema, text, property_order="any")
    assert said == ("/required", f"The property {names[-1]} is missing. It is required.")


def test_the_remedy_names_the_line_of_the_keyword_and_lets_the_text_through() -> None:
    why = explorer.explain_text(explorer.json_schema(ORDER), '{"order_id":12}')
    assert why.cause is not None
    assert str(why.cause) == (
        "The property zip is missing. It is required. The schema allows it without /required "
        "(line 11)."
    )
    assert why.cause.constraint.accepts('{"order_id":12}')


def test_an_escape_that_json_does_not_have_is_read_by_no_one() -> None:
    """The token crosses from a value to a name with an escape that is none."""
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}}
    place, _ = reason(schema, '{"b":{},\\u0061')
    assert place.startswith("JSON, which has a name in double quotes")


@pytest.mark.parametrize(
    ("text", "syntax", "remedy"),
    [
        ('root ::= "" | "(" root ")" | root root\n', "gbnf", 'as ("(" root ")")*'),
        ('start: "" | "(" start ")" | start start\n', "lark", 'as ("(" start ")")*'),
        ('root ::= root "a" | root | "b"\n', "gbnf", "Leave this alternative out"),
        ('root ::= e root f | "x"\ne ::= f f\nf ::= ""\n', "gbnf", "Leave ambiguous=False out."),
    ],
)
def test_a_remedy_of_a_circle_loses_no_text(text: str, syntax: Any, remedy: str) -> None:
    with pytest.raises(GrammarError) as raised:
        explorer.grammar(text, syntax=syntax, ambiguous=False)
    assert remedy in raised.value.remedy
    if "as (" in remedy:
        name, colon = ("root", "::=") if syntax == "gbnf" else ("start", ":")
        mended = explorer.grammar(f"{name} {colon} {remedy[3:]}\n", syntax=syntax)
        asked = explorer.grammar(text, syntax=syntax, ambiguous=True)
        for word in ("", "()", "()()", "(())()", ")(", "(()"):
            assert mended.accepts(word) == asked.accepts(word)
