"""Schemas that are made to hurt: each is compiled within its budget, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.errors import BudgetExceeded, ConstraintError, UnsupportedSchema

LIMITS = explorer.Budget(states=5_000, bytes=500_000_000, seconds=5)


def nested(levels: int, keyword: str) -> Any:
    schema: Any = {"type": "null"}
    for _ in range(levels):
        around = {
            "items": schema, "properties": {"a": schema}, "allOf": [schema], "not": schema,
            "anyOf": [schema, {"type": "string"}], "if": {"if": schema, "then": False},
        }[keyword]  # fmt: skip
        schema = around if keyword == "if" else {keyword: around}
    return schema


@pytest.mark.parametrize("keyword", ["items", "properties", "allOf", "not", "anyOf"])
@pytest.mark.parametrize("levels", [300, 1_000])
def test_deep_schemas_end_in_a_named_error_or_a_machine(keyword: str, levels: int) -> None:
    try:
        explorer.json_schema(nested(levels, keyword), free_depth=1).within(LIMITS)
    except (BudgetExceeded, UnsupportedSchema, ConstraintError) as error:
        assert error.remedy


def test_too_deep_is_said() -> None:
    with pytest.raises(UnsupportedSchema, match="nested too deep"):
        explorer.json_schema(nested(300, "items"), free_depth=1).within(LIMITS)
    with pytest.raises(ConstraintError, match="nests too deep"):
        explorer.json_schema(nested(1_000, "items"))


def ring(length: int) -> Any:
    steps = {
        f"d{k}": {"properties": {"a": {"$ref": f"#/$defs/d{(k + 1) % length}"}},
                  "additionalProperties": False, "type": "object"}
        for k in range(length)
    }  # fmt: skip
    return {"$defs": steps, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    ("schema", "order"),
    [
        (ring(2), "schema"),
        (ring(30), "schema"),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"items": {"$ref": "#"}}]},
                    "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}, "schema"),
        ({"$defs": {f"d{k}": {"properties": {"l": {"$ref": f"#/$defs/d{k + 1}"},
                                             "r": {"$ref": f"#/$defs/d{k + 1}"}}}
                    for k in range(60)} | {"d60": {"type": "null"}}, "$ref": "#/$defs/d0"},
         "schema"),
        ({"properties": {f"p{k}": {"type": "string"} for k in range(10_000)}}, "schema"),
        ({"properties": {f"p{k}": {"type": "string"} for k in range(10_000)}}, "any"),
        ({"required": [f"p{k}" for k in range(40)]}, "any"),
        ({"pattern": "(a|b)*a(a|b){25}"}, "schema"),
        ({"pattern": "(((a{1,50}){1,50}){1,50}){1,50}"}, "schema"),
        ({"patternProperties": {f"{k}.*{k + 1}": True for k in range(12)}}, "schema"),
        ({"oneOf": [{"properties": {f"p{k}": {"minimum": k}}} for k in range(60)]}, "schema"),
        ({"enum": [[k, {"a": [k]}] for k in range(3_000)]}, "schema"),
        ({"type": "string", "maxLength": 10**9}, "schema"),
        ({"type": "integer", "minimum": 10**400, "multipleOf": 19_997}, "schema"),
        ({"allOf": [{"anyOf": [{"minimum": k}, {"maximum": -k}]} for k in range(40)]}, "schema"),
        ({"minItems": 10**6}, "schema"),
    ],
    ids=["a ring of 2", "a ring of 30", "a ring in place", "two references each", "10,000 members",
         "10,000 in any order", "40 required in any order", "pattern", "nested repeats",
         "overlapping patterns", "60 branches", "3,000 constants", "length", "digits", "40 choices",
         "a million items"],
)  # fmt: skip
def test_it_stays_within_its_limits(schema: Any, order: Any) -> None:
    constraint = explorer.json_schema(schema, property_order=order, free_depth=1)
    try:
        machine = constraint.within(LIMITS).dfa
    except (BudgetExceeded, UnsupportedSchema) as error:
        assert error.remedy
    else:
        assert machine.num_states <= LIMITS.states


DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def test_the_switches_of_draft_4_are_read() -> None:
    schema = {"$schema": DRAFT_4, "type": "object", "additionalProperties": False}
    assert explorer.json_schema(schema).accepts("{}")
    assert not explorer.json_schema(schema).accepts('{"a":1}')
