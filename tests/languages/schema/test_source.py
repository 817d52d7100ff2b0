"""Sources of schemas."""

from __future__ import annotations

import json
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, Final, cast

import jsonschema
import pytest
import regex as regex_library
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.automata.machine import Dfa
from explorer.automata.words import words
from explorer.errors import UnsatisfiableSchema, UnsupportedSchema
from explorer.languages.schema.reading.text import spans_of, spot_of
from explorer.languages.schema.source import JsonSchema

# A schema as a kind of source: read, refused, explained, saved, stepped.


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
    "without it there is no limit)."
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
    said = explorer.json_schema(schema, property_order=order, free_depth=3).source.warnings()
    assert (FREE in said) is holds
    assert FREE not in explorer.json_schema(schema, property_order=order).source.warnings()


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


# A schema that nothing satisfies says which keywords exclude each other.


VOCABULARY = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


@pytest.mark.long
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


# A name that is written twice is one member, as `json.loads` reads it.


SCHEMAS: dict[str, Any] = {
    "enum": {"minProperties": 2, "propertyNames": {"enum": ["a", "b", "c"]}},
    "named too": {
        "minProperties": 2, "properties": {"a": {"const": 1}},
        "propertyNames": {"enum": ["a", "b"]},
    },
    "patterns": {
        "minProperties": 2, "patternProperties": {"^[ab]$": {"const": 1}, "^c$": {"const": 2}},
        "additionalProperties": False,
    },
    "required": {
        "minProperties": 3, "required": ["a"], "propertyNames": {"enum": ["a", "b", "c"]},
    },
    "at most": {
        "minProperties": 2, "maxProperties": 2, "propertyNames": {"enum": ["a", "b", "c"]},
    },
    "all of": {
        "allOf": [{"minProperties": 2}, {"propertyNames": {"pattern": "^[abc]$"}}],
    },
}  # fmt: skip


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_name_counts_once(name: str, order: Any) -> None:
    schema = {"type": "object", **SCHEMAS[name]}
    constraint = explorer.json_schema(schema, property_order=order, free_depth=0)
    validator = jsonschema.Draft202012Validator(schema)
    taken = 0
    for count in range(4):
        for names in product("abcd", repeat=count):
            text = "{" + ",".join(f'"{each}":{1 + (each == "c")}' for each in names) + "}"
            valid = validator.is_valid(json.loads(text))
            accepted = constraint.accepts(text)
            assert valid or not accepted, text
            sorted_names = order == "any" or list(names) == sorted(names)
            if valid and len(set(names)) == count and sorted_names:
                assert accepted, text
            taken += accepted
    assert taken


@pytest.mark.parametrize("order", ["schema", "any"])
def test_one_name_is_not_two(order: Any) -> None:
    schema = {"type": "object", "minProperties": 2, "propertyNames": {"const": "a"}}
    with pytest.raises(UnsatisfiableSchema) as raised:
        explorer.compile(explorer.json_schema(schema, property_order=order), VOCABULARY)
    assert raised.value.pointers == ("/type", "/minProperties", "/propertyNames")


# JSON without a schema: exactly the values that nest no deeper than they may.


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from([0.5, -2.25, 1.5e-7, 1e15]),
              st.text(st.characters(exclude_categories=("Cs",)))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text("ab", max_size=2), inner, max_size=2)
    ),
    max_leaves=8,
)  # fmt: skip


def nesting(value: Any) -> tuple[int, int]:
    """The deepest nesting of objects, and that of arrays."""
    if not isinstance(value, dict | list):
        return 0, 0
    inside = [nesting(each) for each in (value.values() if isinstance(value, dict) else value)]
    objects = max((each[0] for each in inside), default=0)
    arrays = max((each[1] for each in inside), default=0)
    return (objects + 1, arrays) if isinstance(value, dict) else (objects, arrays + 1)


@cache
def machine(objects: int, arrays: int, whitespace: Any = "flexible") -> Dfa:
    return explorer.json(objects, arrays, whitespace=whitespace).dfa


@given(VALUES, st.integers(0, 2), st.integers(0, 2), st.sampled_from([None, 1]))
def test_what_is_accepted_is_what_nests_so_deep(
    value: Any, objects: int, arrays: int, indent: int | None
) -> None:
    deepest = nesting(value)
    text = json.dumps(value, indent=indent).encode()
    fits = deepest[0] <= objects and deepest[1] <= arrays
    assert machine(objects, arrays).accepts(text) == fits


@pytest.mark.parametrize("whitespace", ["compact", "pretty", "flexible"])
def test_what_is_written_is_json(whitespace: Any) -> None:
    for word in islice(words(machine(1, 1, whitespace)), 300):
        assert nesting(json.loads(word))[0] <= 1


def test_a_limit_that_is_wrong_is_found() -> None:
    value = {"a": {"b": 1}}
    assert nesting(value) == (2, 0)
    assert machine(2, 0).accepts(json.dumps(value).encode())
    assert not machine(1, 2).accepts(json.dumps(value).encode())


# Depth limits leave values out; they never let a value in that the schema excludes.


LISTS: dict[str, Any] = {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}
TREES: dict[str, Any] = {
    "t": {
        "type": "object",
        "properties": {"c": {"$ref": "#/$defs/t"}},
        "additionalProperties": False,
        "anyOf": [{"required": ["c"]}, {"maxProperties": 0}],
    }
}
NESTED = {"type": "array", "items": {"type": "array", "items": {"type": "array"}}}
SCHEMAS_OF_DEPTHS: dict[str, dict[str, Any]] = {
    "not a list": {"$defs": LISTS, "not": {"$ref": "#/$defs/l"}},
    "nested, not a list": {"$defs": LISTS, **NESTED, "not": {"$ref": "#/$defs/l"}},
    "not not a list": {"$defs": LISTS, "not": {"not": {"$ref": "#/$defs/l"}}},
    "one of": {"$defs": LISTS, "oneOf": [{"$ref": "#/$defs/l"}, NESTED]},
    "if a list": {"$defs": LISTS, "if": {"$ref": "#/$defs/l"}, "then": False},
    "at most one list": {
        "$defs": LISTS, "type": "array", "items": {}, "contains": {"$ref": "#/$defs/l"},
        "maxContains": 1,
    },
    "at most one value": {
        "type": "array", "items": NESTED, "contains": {}, "maxContains": 1, "minContains": 0,
    },
    "tree with a choice": {"$defs": TREES, "$ref": "#/$defs/t"},
    "not a tree": {"$defs": TREES, "type": "object", "not": {"$ref": "#/$defs/t"}},
}  # fmt: skip


def values(depth: int) -> list[object]:
    """Arrays and objects of a few shapes, and a number."""
    if depth == 0:
        return [1, []]
    inner = values(depth - 1)
    pairs: list[object] = [list(pair) for pair in product(inner[:4], repeat=2)]
    return [1, [], {}, *([each] for each in inner), *({"c": each} for each in inner), *pairs]


@pytest.mark.parametrize("max_depth", [1, 4])
@pytest.mark.parametrize("name", SCHEMAS_OF_DEPTHS)
def test_what_is_accepted_is_valid(name: str, max_depth: int) -> None:
    """Every accepted value is one that jsonschema accepts, and at some depth there are some."""
    schema = SCHEMAS_OF_DEPTHS[name]
    constraint = explorer.json_schema(schema, max_depth=max_depth)
    validator = jsonschema.Draft202012Validator(schema)
    accepted = [
        value for value in values(4) if constraint.accepts(json.dumps(value, separators=(",", ":")))
    ]
    assert accepted or max_depth == 1
    assert [value for value in accepted if not validator.is_valid(cast("Any", value))] == []


def test_a_tree_beside_a_choice_is_followed_to_its_depth() -> None:
    """A reference is recursive also where a choice stands beside the member that leads back."""
    constraint = explorer.json_schema(SCHEMAS_OF_DEPTHS["tree with a choice"], max_depth=2)
    texts = ["{}", '{"c":{}}', '{"c":{"c":{}}}', '{"c":{"c":{"c":{}}}}']
    assert [constraint.accepts(text) for text in texts] == [True, True, True, False]


@pytest.mark.parametrize("excluded", [{}, True, {"not": False}], ids=["empty", "true", "double"])
def test_nothing_is_left_of_everything(excluded: Any) -> None:
    """The values that a schema without keywords excludes are all there are."""
    constraint = explorer.json_schema({"not": excluded})
    assert not constraint.accepts("[[[[1]]]]")
    with pytest.raises(UnsatisfiableSchema):
        explorer.compile(constraint, explorer.Vocabulary.from_bytes([b"1", None], eos_ids=[1]))


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


def test_json_is_parsed_as_data() -> None:
    assert explorer.json(1, 1).parse('{"a":[1.5,null]}') == {"a": [1.5, None]}
