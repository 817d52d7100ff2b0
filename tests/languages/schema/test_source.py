"""A schema as a kind of source: read, refused, explained, saved, stepped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import regex as regex_library

import explorer
from explorer.errors import BudgetExceeded, ConstraintError, UnsupportedSchema
from explorer.languages.schema.reading.text import spans_of, spot_of
from explorer.languages.schema.source import JsonSchema

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}},
    },
    "required": ["age"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "expected", "label"),
    [
        ('{"age":-7}', "0", "/properties/age/minimum"),
        ('{"name":5', "'\"'", "/properties/name/type"),
        ('{"age":1,"tags":["blue"]}', "g or r", "/properties/tags/items/enum"),
        # Others come last, so without the order they would still have to wait.
        ('{"nam":', "e", '/additionalProperties and property_order="schema" together'),
    ],
)
def test_the_part_of_the_schema_is_named(text: str, expected: str, label: str) -> None:
    found = explorer.explain_text(explorer.json_schema(PERSON), text)
    assert not found.allowed
    assert f"expects {expected}; " in found.message
    assert f"Expected by {label}" in found.message
    named = found.to_dict()["parts"]
    assert {place["label"] for part in named for place in part["positions"]} == {label}  # type: ignore[index,union-attr]


MEMBER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]"},
        "age": {"type": "integer", "minimum": 18, "maximum": 120, "multipleOf": 2},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "minItems": 1,
                 "maxItems": 2},
        "day": {"type": "string", "format": "date"},
        "home": {"$ref": "#/$defs/home"},
        "either": {"anyOf": [{"const": 1}, {"type": "string"}]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
    "$defs": {"home": {"properties": {"not": {"exclusiveMinimum": 3}}, "maxProperties": 1}},
}  # fmt: skip
ONE = '{"name":"ab","age":20'


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("x", ["JSON, whose only words are true, false and null"]),
        ("[", ["/type"]),
        ("{}", ["/required"]),
        ('{"name":"ab"}', ["/required"]),
        # In the order of the schema the name has to come first.
        ('{"age', ["/required", 'property_order="schema", where "any" takes every order']),
        ('{"name":"5', ["/properties/name/pattern"]),
        ('{"name":"a"', ["/properties/name/minLength"]),
        ('{"name":"a', ["JSON, which has a double quote at the end of a string"]),
        ('{"name":"abcde', ["/properties/name/maxLength"]),
        ('{"name":"ab","age":-', ["/properties/age/minimum"]),
        ('{"name":"ab","age":17,',
         ["/properties/age/minimum and /properties/age/multipleOf together"] * 2),
        ('{"name":"ab","age":124', ["/properties/age/maximum"]),
        ('{"name":"ab","age":19}', ["/properties/age/multipleOf"]),
        (ONE + ',"zzz', ["/additionalProperties"]),
        (ONE + ',"tags":[]', ["/properties/tags/minItems"]),
        (ONE + ',"tags":["blue', ["/properties/tags/items/enum"]),
        (ONE + ',"tags":["red","red",', ["/properties/tags/maxItems"]),
        (ONE + ',"day":"2020-13', ["/properties/day/format"]),
        (ONE + ',"home":{"not":3}', ["/$defs/home/properties/not/exclusiveMinimum"]),
        (ONE + ',"home":{"a":[{}],"b', ["/$defs/home/maxProperties"]),
        (ONE + ',"either":2', ["/properties/either/anyOf/0/const",
                               "/properties/either/anyOf/1/type"]),
    ],
)  # fmt: skip
def test_the_keywords_that_decide_are_named(text: str, labels: list[str]) -> None:
    why = explorer.explain_text(explorer.json_schema(MEMBER), text)
    assert not why.allowed
    named = why.to_dict()["parts"]
    assert [place["label"] for part in named for place in part["positions"]] == labels  # type: ignore[index,union-attr]
    spans = spans_of(why.parts[0].source.text)
    pointers = [label for label in labels if label.startswith("/") and " " not in label]
    assert why.spans[: len(pointers)] == tuple(spans[label] for label in pointers)


@pytest.mark.parametrize(
    ("schema", "text", "label"),
    [
        ({"contains": {"const": 1}}, "[2]", "/contains/const"),
        ({"type": "array", "items": {"enum": ["a", True]}, "uniqueItems": True},
         '["a","a"]', "/uniqueItems"),
        ({"type": "array", "prefixItems": [{"const": 1}], "items": False}, "[1,", "/items"),
        ({"propertyNames": {"maxLength": 2}}, '{"abc', "/propertyNames/maxLength"),
        ({"minProperties": 2}, '{"a":1}', "/minProperties"),
        ({"dependentRequired": {"a": ["b"]}}, '{"a":1}', "/dependentRequired"),
        ({"not": {"const": 1}}, "1", "/not"),
        ({"enum": [1, "a", {"b": 2}]}, '{"b":3', "/enum"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 2,
          "exclusiveMinimum": True}, "2", "/minimum"),
    ],
)  # fmt: skip
def test_a_keyword_of_its_kind_is_named(schema: Any, text: str, label: str) -> None:
    why = explorer.explain_text(explorer.json_schema(schema, free_depth=1), text)
    assert not why.allowed
    named = why.to_dict()["parts"]
    assert [place["label"] for part in named for place in part["positions"]] == [label]  # type: ignore[index,union-attr]


def test_a_machine_is_explained_in_closed_and_lazy_form() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    constraint = explorer.json_schema(PERSON)
    for lazy in (False, True):
        machine = explorer.compile(constraint, vocabulary, lazy=lazy)
        state = machine.start
        for byte in b'{"age":':
            following = machine.step(state, byte)
            assert following is not None
            state = following
        why = explorer.explain(machine, state, ord("x"), text=b'{"age":')
        assert "Expected by JSON, whose only words" in why.message
        why = explorer.explain(machine, state, ord("n"), text=b'{"age":')
        assert "/properties/age/type" in why.message


def test_a_session_writes_valid_json() -> None:
    lm = explorer.load_model("tiny")
    session = explorer.Session(lm, explorer.json_schema(PERSON), "JSON: ", max_tokens=60)
    value = json.loads(session.run(max_tokens=60).text)
    assert isinstance(value["age"], int)


def test_a_list_of_items_says_what_the_draft_has() -> None:
    """Older drafts have it; also the sizes of a schema with it are refused by name."""
    items = {"items": [{"type": "integer"}]}
    with pytest.raises(UnsupportedSchema, match="Write prefixItems for the list"):
        explorer.profile(items)
    older = {"$schema": "http://json-schema.org/draft-07/schema#", **items}
    assert not explorer.json_schema(older).accepts('["a"]')
    assert [row.pointer for row in explorer.profile(older).rows] == ["", "/items/0"]


def test_what_is_ignored_is_kept() -> None:
    source = JsonSchema.of({"type": "array", "uniqueItems": True}, strict=False)
    assert [error.keyword for error in source.ignored()] == ["uniqueItems"]
    assert explorer.json_schema({"uniqueItems": True}, strict=False).accepts("[1,1]")


SHADES = {
    "type": "object", "enum": [{"format": "data"}, {"shade": "red"}],
    "properties": {
        "shade": {"type": "string", "format": "color"}, "on": {"format": "date"},
        "format": {"anyOf": [{"format": "regex"}, {"type": "null"}]},
    },
}  # fmt: skip
FREE = (
    "Values that the schema does not describe nest at most 3 deep (free_depth=3; "
    'recursion="stack" sets no limit).'
)
UNKNOWN = (
    "The format 'color' at /properties/shade/format is not known, so it constrains nothing.",
    "The format 'regex' at /properties/format/anyOf/0/format is not followed here, so it "
    "constrains nothing.",
)


def remarks(constraint: explorer.Constraint) -> tuple[str, ...]:
    """Remarks on keywords; limits of depth come before them."""
    return tuple(each for each in constraint.source.warnings() if each != FREE)


def test_a_format_that_is_not_known_is_told_and_kept(tmp_path: Path) -> None:
    constraint = explorer.json_schema(SHADES)
    assert remarks(constraint) == UNKNOWN
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    both = explorer.template("{x}", x=constraint)
    for one, lazy in ((constraint, False), (constraint, True), (both, None)):
        assert explorer.compile(one, vocabulary, lazy=lazy).report.warnings == UNKNOWN
    table = explorer.compile(constraint, vocabulary)
    table.save(tmp_path / "table")
    assert explorer.TokenDFA.load(tmp_path / "table", vocabulary).report.warnings == UNKNOWN
    assert remarks(explorer.json_schema(SHADES, formats=False)) == ()


def old(draft: int, **keywords: Any) -> dict[str, Any]:
    """A schema of a draft before 2019."""
    named = {"$schema": f"http://json-schema.org/draft-0{draft}/schema#"}
    return {**named, **keywords, "definitions": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"requird": ["a"]}, "/requird is not known, so it constrains nothing. Did you mean 'requ"),
        ({"items": {"minlength": 2}}, "/items/minlength is not known, so it constrains nothing. D"),
        ({"properties": {"a": {"additionalproperties": False}}}, "'additionalProperties'?"),
        ({"divisibleBy": 3}, "The keyword at /divisibleBy is not known, so it constrains nothing."),
        ({"items": {"nullable": True}}, "/items/nullable belongs to OpenAPI, not to JSON Schema, "),
        ({"contentEncoding": "base64"}, "is a remark on what a string holds, so it constrains no"),
        ({"minProperties": 2}, "/minProperties counts a name that is written twice as two members"),
        ({"format": "datetime"}, "/format is not known, so it constrains nothing. Did you mean 'd"),
        ({"minimum": 3, "exclusiveMinimum": True}, "/exclusiveMinimum is not a number, as from d"),
        ({"exclusiveMaximum": "9"}, "/exclusiveMaximum is not a number, as from draft 6 on, so it"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": 3},
            "/exclusiveMinimum is not true or false, as in draft 4, so it constrains nothing.",
        ),
        ({"items": {"required": True}}, "The keyword at /items/required is true, as in draft 3, "),
        (old(7, items={"$ref": "#/definitions/a", "minimum": 5}), "/items/minimum stands beside $"),
        (old(7, prefixItems=[{"type": "null"}]), "at /prefixItems is not in draft 7, so it constr"),
        (old(7, unevaluatedItems=False), "/unevaluatedItems is not in draft 7, so it constrains n"),
        (old(7, additionalItems=False), "/additionalItems stands without a list of items, so it c"),
        (old(6, **{"if": {"const": 1}}), "at /if is not in draft 6, so it constrains nothing. Nam"),
        (old(4, const=3), "The keyword at /const is not in draft 4, so it constrains nothing."),
        (old(4, contains={"type": "null"}), "The keyword at /contains is not in draft 4, so it c"),
        (old(4, propertyNames={"minLength": 1}), "/propertyNames is not in draft 4, so it constr"),
        ({"additionalItems": False}, "/additionalItems is not in draft 2020-12, so it constrains"),
        ({"then": {"minimum": 3}}, "The keyword at /then stands without if, so it constrains not"),
        ({"else": {"minimum": 3}}, "The keyword at /else stands without if, so it constrains not"),
        ({"minContains": 2}, "/minContains stands without contains, so it constrains nothing."),
        ({"items": {"maxContains": 2}}, "/items/maxContains stands without contains, so it const"),
        ({"not": {"format": "regex"}}, "The format 'regex' at /not/format is not followed here"),
        ({"not": {"maxProperties": 1}}, "/not/maxProperties counts a name that is written twice"),
        ({"allOf": [{"$ref": "#"}]}, "The reference at /allOf/0/$ref leads back to itself"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)  # fmt: skip
def test_what_says_less_than_it_seems_is_told(schema: Any, sentence: str) -> None:
    (said,) = remarks(explorer.json_schema(schema))
    assert sentence in said


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"requird": {"x-order": 1, "example": 3}}},
        {"$comment": "", "examples": [], "markdownDescription": "", "errorMessage": "no"},
        {"minProperties": 1}, {"minProperties": 2, "required": ["a"]}, {"required": False},
        {"exclusiveMinimum": 3}, {"minimum": 3, "exclusiveMinimum": False},
        {"minProperties": 3, "additionalProperties": False, "properties": {"a": {}, "b": {}}},
        {"minProperties": 2, "propertyNames": {"enum": ["a", "b", "c"]}},
        {"properties": {"a": {"$ref": "#"}}, "type": "object"},
        old(7, items=[{"type": "null"}], additionalItems=False),
        old(7, **{"$ref": "#/definitions/a", "title": "A"}), old(7, additionalItems=True),
        {"$ref": "#/$defs/a", "minimum": 5, "$defs": {"a": {"type": "number"}}},
        {"if": {"minimum": 3}, "else": {"maximum": 1}, "contains": {"const": 1}, "minContains": 2},
        {"properties": {"const": {}, "then": {}}},
    ],
    ids=["names", "remarks", "one", "needed", "required", "bound", "no bound", "closed", "listed",
         "inside", "tail", "alone", "any tail", "beside", "with partners", "named as keywords"],
)  # fmt: skip
def test_what_says_what_it_seems_to_is_not_told(schema: Any) -> None:
    assert remarks(explorer.json_schema(schema)) == ()


@pytest.mark.parametrize("below", [[], ["properties", "a"]])
def test_a_condition_that_decides_nothing_is_read(below: list[str]) -> None:
    condition: dict[str, Any] = {"type": "strin"}
    for step in reversed(below):
        condition = {step: condition}
    constraint = explorer.json_schema({"type": "object", "if": condition})
    with pytest.raises(UnsupportedSchema, match="'strin' is not a type") as caught:
        constraint.accepts("{}")
    assert caught.value.pointer == "/" + "/".join(["if", *below, "type"])


@pytest.mark.parametrize(
    ("schema", "first", "second"),
    [
        ({"required": ["a"]}, '{"a":2,"c":1}', '{"c":1,"a":2}'),
        ({"properties": {"b": {}}, "required": ["a", "b"]}, '{"b":3,"a":2}', '{"a":2,"b":3}'),
        ({"properties": {"b": {}}, "required": ["a"]}, '{"a":2,"c":1}', '{"c":1,"a":2}'),
        ({"dependentRequired": {"x": ["y"]}}, '{"x":2,"y":1,"c":1}', '{"c":1,"x":2,"y":1}'),
        ({"dependentSchemas": {"x": {"properties": {"z": {}}}}}, '{"z":1,"x":2}', '{"x":2,"z":1}'),
    ],
)  # fmt: skip
def test_names_that_only_other_keywords_give_follow_the_properties(
    schema: Any, first: str, second: str
) -> None:
    assert explorer.json_schema(schema).accepts(first)
    assert not explorer.json_schema(schema).accepts(second)
    assert explorer.json_schema(schema, property_order="any").accepts(second)


NAMED: Final = {"type": "object", "properties": {"a": {"type": "null"}}}
PAIR: Final = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}


@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        (PAIR, True), ({**PAIR, "maxItems": 3}, True), ({**PAIR, "maxItems": 2}, False),
        ({**PAIR, "type": ["array", "object"], "maxItems": 2}, True),
        (NAMED, True), ({**NAMED, "propertyNames": {"enum": ["a"]}}, False),
        ({**NAMED, "propertyNames": {"enum": ["a", "b"]}}, True),
        ({**NAMED, "maxProperties": 1}, True),
        ({**NAMED, "maxProperties": 1, "required": ["a"]}, False),
        ({"type": "object", "allOf": [{"additionalProperties": {"type": "string"}}]}, False),
        ({"type": "object", "allOf": [{"additionalProperties": {"type": "array"}}]}, True),
        ({"type": "object", "patternProperties": {"^a": True}, "propertyNames": {"const": "a"},
          "maxProperties": 0}, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_limit_is_told_where_a_text_may_meet_it(schema: Any, holds: bool, order: Any) -> None:
    said = explorer.json_schema(schema, property_order=order).source.warnings()
    assert (FREE in said) is holds


def test_a_folder_answers_references_and_nothing_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "age.json").write_text('{"$id": "http://example.com/age", "minimum": 0}')
    for reference in ("age.json", "http://example.com/age"):
        constraint = explorer.json_schema({"$ref": reference}, folder=tmp_path)
        assert constraint.accepts("3") and not constraint.accepts("-3")
    with pytest.raises(UnsupportedSchema, match="nothing is fetched"):
        explorer.json_schema({"$ref": "http://example.com/age"}).accepts("3")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    ],
    ids=["itself", "all of itself", "a ring", "any of itself"],
)
def test_references_in_a_ring_end(schema: Any) -> None:
    assert explorer.json_schema(schema, free_depth=1).accepts("null")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {f"p{k}": {"type": "string"} for k in range(10_000)}},
        {"required": [f"p{k}" for k in range(40)]},
        {"pattern": "(a|b)*a(a|b){25}"},
        {"type": "string", "maxLength": 10**7},
        {"allOf": [{"anyOf": [{"minimum": k}, {"maximum": -k}]} for k in range(40)]},
        {"minItems": 10**6},
        {"multipleOf": 19_999},
    ],
    ids=["properties", "order", "pattern", "length", "branches", "items", "remainders"],
)
def test_a_hostile_schema_stays_within_its_limits(schema: Any) -> None:
    constraint = explorer.json_schema(
        schema, property_order="any" if "required" in schema else "schema"
    )
    limits = explorer.Budget(states=30_000, bytes=500_000_000, seconds=20)
    try:
        constraint.within(limits)
    except (BudgetExceeded, UnsupportedSchema) as error:
        assert error.remedy


@pytest.mark.parametrize(
    ("written", "of_library"),
    [
        (r"\p{Letter}", r"\p{L}"), (r"\P{Lu}", r"\P{Lu}"), (r"[\p{gc=Nd}x]", r"[\p{Nd}x]"),
        (r"\p{digit}", r"\p{Nd}"), (r"\p{punct}", r"\p{P}"), (r"[^\P{sc=Latin}]", r"\p{Latin}"),
        (r"\p{Script=Greek}", r"\p{Greek}"), (r"\p{Script_Extensions=Han}", r"\p{Han}"),
        (r"(?<a>\p{Any})", r"(?s:.)"), (r"[\S]", r"[^\s\ufeff]"), (r"[\W]", r"[^0-9A-Za-z_]"),
    ],
)  # fmt: skip
def test_a_property_in_a_pattern_is_that_of_unicode(written: str, of_library: str) -> None:
    constraint = explorer.json_schema({"type": "string", "pattern": f"^{written}$"})
    for character in "aZªßжΩʹ1٣x_-!\u00a0\ufeff 好ー\u0301😀":
        expected = regex_library.fullmatch(of_library, character) is not None
        assert constraint.accepts(f'"{character}"') == expected, character


def test_a_schema_that_nests_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(100_000):
        schema = {"items": schema}
    with pytest.raises((ConstraintError, BudgetExceeded, UnsupportedSchema)):
        explorer.json_schema(schema).within(explorer.Budget(seconds=20))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("[", (("item", 0),)),
        ('{"a\\"b": [1, 2', (("member", 'a"b'), ("item", 1))),
        ('{"a": {"b": 1}, "c": ', (("member", "c"),)),
        ('{"a": "x{[', (("member", "a"),)),
        ("[[], {}, ", (("item", 2),)),
    ],
)
def test_a_text_leads_to_its_place(text: str, steps: Any) -> None:
    assert spot_of(text.encode()).steps == steps


def test_every_value_of_a_schema_has_its_span() -> None:
    text = json.dumps(PERSON, indent=2)
    spans = spans_of(text)
    assert text[slice(*spans["/properties/age/minimum"])] == '"minimum": 0'
    assert text[slice(*spans["/required/0"])] == '"age"'
    assert json.loads(text[slice(*spans[""])]) == PERSON


def test_many_unknown_keywords_are_counted() -> None:
    said = remarks(explorer.json_schema({f"own{k:03}": k for k in range(100)}))
    assert len(said) == 31 and said[-1] == "70 more keywords constrain nothing."
