"""A name that is written twice is one member, as `json.loads` reads it."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import jsonschema
import pytest

import explorer
from explorer.errors import UnsatisfiableSchema

VOCABULARY = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
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
