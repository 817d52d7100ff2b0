"""Whole schemas against the ``jsonschema`` library: random instances, and texts of the machine."""

from __future__ import annotations

import json
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator

import explorer
from explorer.automata.machine import Dfa
from explorer.automata.words import words
from explorer.budget import Meter
from explorer.languages.schema.machine import compile_schema
from explorer.languages.schema.options import SchemaOptions
from tests.languages.schema.corpora import depth

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"

NAMES = ("a", "b", "c", "name")

FILE: Final = Path(__file__).parents[2] / "data" / "schemas.json"
SCHEMAS: Final[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["keywords"]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.sampled_from([0.5, 2.0, 2.5, -1.5]),
    st.sampled_from(["", "a", "b", "name", 'q"\\', "é", "zz", "abc"]),
)
INSTANCES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)


@cache
def machine_of(name: str, order: Any) -> Dfa:
    machine, _ = compile_schema(
        SCHEMAS[name],
        Meter(),
        SchemaOptions(property_order=order, whitespace="flexible", max_depth=4, free_depth=4),
    )
    return machine


def validator(name: str) -> Validator:
    return Draft202012Validator(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
@given(data=st.data())
def test_the_same_instances_are_valid(name: str, data: st.DataObject) -> None:
    instance: Any = data.draw(INSTANCES.filter(lambda value: depth(value) <= 3))
    text = json.dumps(instance, ensure_ascii=data.draw(st.booleans()))
    assert machine_of(name, "any").accepts(text.encode()) == validator(name).is_valid(instance)
    # In the order of the schema fewer texts are written, and none that is not valid.
    assert not machine_of(name, "schema").accepts(text.encode()) or validator(name).is_valid(
        instance
    )


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("whitespace", ["compact", "pretty", "flexible"])
def test_what_is_written_is_valid(name: str, whitespace: Any) -> None:
    machine, _ = compile_schema(SCHEMAS[name], Meter(), SchemaOptions(whitespace, free_depth=2))
    checked = 0
    for word in islice(words(machine), 200):
        value = json.loads(word)
        assert validator(name).is_valid(value), word
        if whitespace == "pretty":
            assert json.loads(json.dumps(value, indent=2, ensure_ascii=False)) == value
        checked += 1
    assert checked >= 3


@pytest.mark.parametrize(
    ("schema", "validator_class", "instances"),
    [
        ({"$schema": DRAFT4, "minimum": 2, "exclusiveMinimum": True},
         Draft4Validator, [1, 2, 2.5, 3]),
        ({"$schema": DRAFT7,
          "items": [{"type": "integer"}], "additionalItems": {"type": "string"}},
         Draft7Validator, [[1], [1, "a"], [1, 2], ["a"], []]),
        ({"$schema": DRAFT7, "dependencies": {"a": ["b"]}},
         Draft7Validator, [{"a": 1}, {"a": 1, "b": 2}, {"b": 2}, 3]),
        ({"$schema": DRAFT7,
          "$ref": "#/definitions/x", "minimum": 5, "definitions": {"x": {"type": "integer"}}},
         Draft7Validator, [1, 7, "a"]),
    ],
    ids=["draft 4", "items of draft 7", "dependencies", "a reference alone"],
)  # fmt: skip
def test_an_older_draft_is_read_as_one(
    schema: Any, validator_class: Any, instances: list[Any]
) -> None:
    machine, _ = compile_schema(schema, Meter(), SchemaOptions("flexible", "any", free_depth=3))
    for instance in instances:
        expected = validator_class(schema).is_valid(instance)
        assert machine.accepts(json.dumps(instance).encode()) == expected, instance


@pytest.mark.parametrize(
    "then",
    [{"items": True}, {"prefixItems": [True]}, {"contains": {"const": 1}}, {"$ref": "#/$defs/d"}],
    ids=["items", "prefixItems", "contains", "$ref"],
)
@pytest.mark.parametrize("referred", [False, True], ids=["here", "behind a reference"])
def test_what_depends_on_a_member_evaluates_no_item(then: Any, referred: bool) -> None:
    depending = {"dependentSchemas": {"c": then}}
    schema: dict[str, Any] = {
        "$defs": {"d": {"items": True}, "whole": depending}, "unevaluatedItems": False,
        **({"$ref": "#/$defs/whole"} if referred else depending),
    }  # fmt: skip
    machine, _ = compile_schema(schema, Meter(), SchemaOptions("flexible", "any", free_depth=3))
    for instance in ([1], [1, 2], [], {"c": [1]}, {"c": 2}, {"d": [1]}, 1):
        expected = Draft202012Validator(schema).is_valid(instance)
        assert machine.accepts(json.dumps(instance).encode()) == expected, instance


def test_escapes_of_free_strings_are_values_alike() -> None:
    machine, _ = compile_schema({"type": "string"}, Meter())
    for text in (r'"\u0061"', r'"\ud83d\ude00"', r'"\/"', r'"\u00e9\n"', '"é"', '"😀"'):
        assert machine.accepts(text.encode()), text
    for text in (r'"\ud83d"', r'"\ude00"', r'"\u00e"', r'"\x41"', '"\n"', '"'):
        assert not machine.accepts(text.encode()), text


def test_a_difference_would_be_found() -> None:
    weaker, _ = compile_schema({"type": "object"}, Meter(), SchemaOptions("flexible", free_depth=1))
    assert weaker.accepts(b'{"b": 1}') != validator("closed object").is_valid({"b": 1})


DRAFTS = {
    "http://json-schema.org/draft-04/schema#": jsonschema.Draft4Validator,
    "http://json-schema.org/draft-06/schema#": jsonschema.Draft6Validator,
    "http://json-schema.org/draft-07/schema#": jsonschema.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema.Draft201909Validator,
}
LISTED: list[Any] = [
    {"enum": [[None], [[1], 2], {"a": [1]}, "x"]},
    {"not": {"enum": [[None], {"a": [1]}]}},
    {"uniqueItems": True, "type": "array", "items": {"enum": ["x", [1], None]}, "maxItems": 2},
    {"uniqueItems": True, "type": "array", "items": {"type": "boolean"}},
    {"oneOf": [{"enum": [[], [1]]}, {"type": "array", "maxItems": 0}, {"enum": [{"a": []}]}]},
]
WRITTEN: list[Any] = [
    [], [None], [1], [3], [[1], 2], [[2], 2], [None, None], [True, True], [True, False],
    ["x", "x"], ["x", [1]], [[1], [1]], [1, 2], "x", None, {}, {"a": [1]}, {"a": [2]}, {"a": []},
]  # fmt: skip


@pytest.mark.parametrize("schema", LISTED, ids=str)
@pytest.mark.parametrize("draft", DRAFTS)
def test_listed_values_in_older_drafts(draft: str, schema: dict[str, Any]) -> None:
    """A keyword that stands for others is rewritten in the keywords of its draft."""
    whole = {"$schema": draft, **schema}
    made, oracle = explorer.json_schema(whole), DRAFTS[draft](whole)
    for value in WRITTEN:
        text = json.dumps(value, separators=(",", ":"))
        assert made.accepts(text) == oracle.is_valid(value), value
