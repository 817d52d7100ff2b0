"""The reasons why a text of a JSON Schema does not go on: true, and at the right place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import explorer
from explorer.languages.schema.diagnosis.plain_json import rule_of_json
from tests.evidence import examples

LM = explorer.load_model("tiny")
ANY = explorer.json_schema(True, recursion="stack", whitespace="flexible")
NUMBERS: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
NEEDED: dict[str, Any] = {**NUMBERS, "required": ["a"]}
PAIR: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
    "additionalProperties": False,
}
COLOR: dict[str, Any] = {
    "type": "object", "properties": {"color": {"enum": ["red"]}}, "required": ["color"],
}  # fmt: skip
LISTS: dict[str, Any] = {
    "$ref": "#/$defs/l", "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}},
}  # fmt: skip
ONES: dict[str, Any] = {"type": "array", "contains": {"const": 1}}
NAME = "JSON, which has a name in double quotes or } here"
WORDS = "JSON, whose only words are true, false and null"
FLOAT = "the largest float, about 1.798e308, which no number exceeds in size"
FREE = "free_depth=3, the deepest that values nest"
COMPACT = 'whitespace="compact", which has no white space here'


def reason(schema: Any, text: str, **options: Any) -> str:
    """The part of a message that names what decides."""
    why = explorer.explain_text(explorer.json_schema(schema, **options), text)
    assert not why.allowed
    return why.message.partition(" Expected by ")[2].removesuffix(".")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{x", NAME), ("{1", NAME), ("{,", NAME), ('{"a":{x', NAME), ("[x", WORDS),
        ('{"a":1,x', "JSON, which has a name in double quotes here"),
        ('{"a"1', "JSON, which has a colon after a name"),
        ('{"a":1]', "JSON, which has , or } after a value"),
        ("[{}1", "JSON, which has , or ] after a value"),
        ("[1,]", "JSON, which has a value here"), ("[,", "JSON, which has a value or ] here"),
        ("[True", WORDS), ("[nul ", WORDS),
        ("[01", "JSON, which has no number that begins with 01"),
        ("[1.x", "JSON, which has no number that begins with 1.x"),
        ('["\\x', "JSON, which has no such escape"),
        ('["\\u12g', "JSON, which has four hexadecimal digits after \\u"),
        ('["a\n', "JSON, which writes this character as an escape"),
        ("{}x", "JSON, which has only the end of text after a value"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("schema", [True, {}], ids=["true", "empty"])
def test_what_json_refuses_is_told_by_its_rule(schema: Any, text: str, rule: str) -> None:
    assert reason(schema, text) == rule


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(-9, 9)
    | st.text('aé\\"\n{[,', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=6,
)


@given(VALUES, st.booleans(), st.data())
@settings(max_examples=examples(300))
def test_json_has_a_rule_exactly_for_what_it_refuses(
    value: Any, spaced: bool, data: st.DataObject
) -> None:
    """Compared with a machine that reads any JSON, which knows nothing of rules in words."""
    text = json.dumps(value, indent=1 if spaced else None, ensure_ascii=data.draw(st.booleans()))
    text = text.encode()[: data.draw(st.integers(0, len(text.encode())))]
    byte = data.draw(st.sampled_from(b" \n{}[],:\"\\u0159-+.eEtrfnlax'/\x01"))
    assume(text.decode(errors="ignore").encode() == text)
    here = ANY.machine.start
    for each in text:
        here = ANY.machine.step(here, each)
    is_free = byte in ANY.machine.expected(here)
    if byte in b" \n" and not is_free and (rule := rule_of_json(text, byte)):
        assert "words" in rule or "number" in rule or "escape" in rule or "hexadecimal" in rule
    elif byte not in b" \n":
        assert (rule_of_json(text, byte) == "") == is_free, text


@pytest.mark.parametrize(
    "options", [{}, {"recursion": "stack"}, {"whitespace": "pretty"}, {"property_order": "any"}]
)
@pytest.mark.parametrize("schema", [{"type": "object"}, {}, PAIR, {"type": "json_object"}])
def test_no_limit_is_named_that_does_not_decide(schema: Any, options: dict[str, Any]) -> None:
    assert reason(schema, "{x", **options) == NAME


@pytest.mark.parametrize(
    ("schema", "text", "options", "said"),
    [
        (True, "[[[[1", {"free_depth": 3}, FREE),
        (True, '{"a":{"a":{"a":{"a"', {"free_depth": 3}, FREE),
        (True, "[\n  [\n    [\n      [\n", {"whitespace": "pretty", "free_depth": 3}, FREE),
        (LISTS, "[[[[", {"max_depth": 2},
         "max_depth=2, with which references are followed 3 deep"),
        (True, "[" * 10, {"free_depth": 8}, "free_depth=8, the deepest that values nest"),
        ({"type": "array", "not": {"minItems": 1}}, "[1", {}, "/not"),
    ],
    ids=["arrays", "objects", "pretty", "references", "highest", "not"],
)  # fmt: skip
def test_a_limit_is_named_where_a_higher_one_would_allow_it(
    schema: Any, text: str, options: dict[str, Any], said: str
) -> None:
    assert reason(schema, text, **options) == said


@pytest.mark.parametrize(
    ("options", "text", "token", "place", "sentence"),
    [
        ({}, '{"a":', " ", COMPACT,
         "The model writes white space here, and this constraint has none."),
        ({"whitespace": "dumps"}, '{"a":', "1", 'whitespace="dumps", which has some white space',
         'The model writes no white space here, where whitespace="dumps" has some.'),
        ({"whitespace": "dumps"}, '{"a":', "\n", 'whitespace="dumps", which has other white space',
         'The model writes other white space here than whitespace="dumps" has.'),
        ({"whitespace": "dumps"}, "{", " ", 'whitespace="dumps", which has no white space here',
         'The model writes white space here, where whitespace="dumps" has none.'),
        ({"whitespace": "pretty"}, "{", '"', 'whitespace="pretty", which has some white space',
         'The model writes no white space here, where whitespace="pretty" has some.'),
        ({"whitespace_pattern": " ?"}, '{"a": ', " ", "whitespace_pattern=' ?', which has no more",
         "The model writes more white space here than whitespace_pattern=' ?' has."),
    ],
)  # fmt: skip
def test_white_space_is_told_as_it_is(
    options: dict[str, Any], text: str, token: str, place: str, sentence: str
) -> None:
    session = explorer.Session(LM, explorer.json_schema(NEEDED, **options), "x: ")
    for each in LM.vocabulary.encode(text) or ():
        session.step(token=each)
    why = session.explain(token)
    assert f"Expected by {place}" in why.message
    assert why.cause is not None
    assert why.cause.change.sentence == sentence
    assert explorer.explain_text(why.cause.constraint, text + token).stage != "constraint"


def test_white_space_is_no_reason_where_it_would_not_help() -> None:
    assert reason({"type": "integer", "minimum": 100}, "12 ") == (
        '/minimum and whitespace="compact" together'
    )
    assert reason({"enum": ["a b"]}, '"ac') == "/enum"
    deep = explorer.explain_text(
        explorer.json_schema(True, whitespace="pretty", free_depth=0), "[\n"
    )
    assert "free_depth=0" in deep.message
    assert deep.cause is not None and deep.cause.change.cause == "depth"


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"a":1}', '{"a":1} ', '{"a" :1}'])
def test_white_space_names_the_option_instead_of_a_keyword(text: str) -> None:
    assert reason(NUMBERS, text) == COMPACT


@pytest.mark.parametrize(
    ("schema", "text", "options", "said"),
    [
        (PAIR, '{"b":null,"b', {"property_order": "any"},
         '/additionalProperties, the name "b" came before'),
        (PAIR, '{"a":1,"a":2}', {},
         '/additionalProperties and /properties together, the name "a" came before'),
        (PAIR, '{"a":1,"b":null,"a":2}', {},
         '/additionalProperties and /properties together, the name "a" came before'),
        (PAIR, '{"b":null,"b":1}', {},
         '/additionalProperties and /properties together, the name "b" came before'),
        # A name of "required" comes once too.
        (COLOR, '{"color":"red","color":"red"}', {},
         '/properties and /required together, the name "color" came before'),
        ({"items": COLOR}, '[{"color":"red","color":', {}, '/items, the name "color" came before'),
        ({"allOf": [NUMBERS, {"properties": {"b": {}}}]}, '{"b":1,"b":', {},
         '/allOf/1/properties, the name "b" came before'),
        ({"properties": {"a": {}, "b": {}}, "additionalProperties": False}, '{"a":1,"\\u0061"',
         {"escapes": "any"},
         '/additionalProperties and /properties together, the name "a" came before'),
        ({"properties": {"": {}, "ä": {}, "z": {}}, "additionalProperties": False},
         '{"":1,"ä":1,"ä', {}, '/additionalProperties, the name "ä" came before'),
        # Another name that only begins like one that came before, and an order that decides.
        (PAIR, '{"b":null,"bb":1', {"property_order": "any"}, "/additionalProperties"),
        (PAIR, '{"b":null,"a":1}', {},
         'property_order="schema", where "any" takes every order'),
        ({**NUMBERS, "maxProperties": 1}, '{"a":1,"a":2', {},
         '/maxProperties and /properties together, the name "a" came before'),
    ],
)  # fmt: skip
def test_a_name_that_came_before_is_told(
    schema: Any, text: str, options: dict[str, Any], said: str
) -> None:
    assert reason(schema, text, **options) == said


def test_a_listed_name_that_came_before_is_no_unknown_property() -> None:
    session = explorer.Session(LM, explorer.json_schema(PAIR, property_order="any"), "x: ")
    for each in LM.vocabulary.encode('{"b":null,"') or ():
        session.step(token=each)
    cause = session.explain("b").cause
    assert cause is not None and cause.change.cause == "repeated property"
    other = explorer.explain_text(explorer.json_schema(PAIR), '{"a":1,"ax":2}')
    assert other.cause is not None and other.cause.change.cause == "unknown property"


@pytest.mark.parametrize(
    ("schema", "text", "said"),
    [
        ({**ONES, "minContains": 2}, "[1]", "/minContains"),
        ({**ONES, "minContains": 2, "maxContains": 3}, "[1,1,1,1]", "/maxContains"),
        ({**ONES, "maxContains": 1}, "[1,1,", "/maxContains"),
        ({**ONES, "maxContains": 1}, "[2]", "/contains/const"),
        ({**ONES, "minContains": 2}, "[x", WORDS),
        ({"type": "array", "minItems": 1}, "[,", "JSON, which has a value here"),
        ({"properties": {"a": False}}, '{"a":1}', "/properties/a"),
        ({"properties": {"a/b": False}}, '{"a/b":1}', "/properties/a~1b"),
        ({"patternProperties": {"^x": False}}, '{"xa', "/patternProperties/^x"),
        ({**PAIR, "properties": {"a": False}}, '{"a', "/additionalProperties"),
        ({"propertyNames": {"maxLength": 2, "pattern": "^a"}}, '{"abc', "/propertyNames/maxLength"),
        ({"propertyNames": {"maxLength": 2, "pattern": "^a"}}, '{"b', "/propertyNames/pattern"),
        (True, "1e400", FLOAT), ({"type": "number"}, "-1e309", FLOAT),
        ({"type": "integer"}, "1e400", FLOAT), ({"uniqueItems": True}, "[1e309", FLOAT),
        ({"exclusiveMaximum": 1e308}, "1e309", FLOAT), ({"maximum": 5}, "6", "/maximum"),
        ({"type": "string", "not": {"const": "a"}}, '"a"', "/not"),
        ({"type": "array", "uniqueItems": True}, "[1,x", WORDS),
    ],
)  # fmt: skip
def test_the_place_is_that_of_the_keyword_that_fails(schema: Any, text: str, said: str) -> None:
    assert reason(schema, text) == said


def test_the_headline_of_a_name_speaks_of_a_name() -> None:
    cause = explorer.explain_text(
        explorer.json_schema({"propertyNames": {"maxLength": 2}}), '{"abc'
    ).cause
    assert cause is not None
    assert str(cause) == (
        "The model writes a name that propertyNames does not allow (maxLength: 2). The schema "
        "allows it without /propertyNames/maxLength (line 3)."
    )
