"""Depth limits leave values out; they never let a value in that the schema excludes."""

import json
from itertools import product
from typing import Any, cast

import jsonschema
import pytest

import explorer
from explorer.errors import UnsatisfiableSchema

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
SCHEMAS: dict[str, dict[str, Any]] = {
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
@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_accepted_is_valid(name: str, max_depth: int) -> None:
    """Every accepted value is one that jsonschema accepts, and at some depth there are some."""
    schema = SCHEMAS[name]
    constraint = explorer.json_schema(schema, max_depth=max_depth)
    validator = jsonschema.Draft202012Validator(schema)
    accepted = [
        value for value in values(4) if constraint.accepts(json.dumps(value, separators=(",", ":")))
    ]
    assert accepted or max_depth == 1
    assert [value for value in accepted if not validator.is_valid(cast("Any", value))] == []


def test_a_tree_beside_a_choice_is_followed_to_its_depth() -> None:
    """A reference is recursive also where a choice stands beside the member that leads back."""
    constraint = explorer.json_schema(SCHEMAS["tree with a choice"], max_depth=2)
    texts = ["{}", '{"c":{}}', '{"c":{"c":{}}}', '{"c":{"c":{"c":{}}}}']
    assert [constraint.accepts(text) for text in texts] == [True, True, True, False]


@pytest.mark.parametrize("excluded", [{}, True, {"not": False}], ids=["empty", "true", "double"])
def test_nothing_is_left_of_everything(excluded: Any) -> None:
    """The values that a schema without keywords excludes are all there are."""
    constraint = explorer.json_schema({"not": excluded})
    assert not constraint.accepts("[[[[1]]]]")
    with pytest.raises(UnsatisfiableSchema):
        explorer.compile(constraint, explorer.Vocabulary.from_bytes([b"1", None], eos_ids=[1]))
