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
