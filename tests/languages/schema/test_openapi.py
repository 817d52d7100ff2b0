"""Schemas of OpenAPI 3.0, beside the validator of draft 4 with OpenAPI's ``nullable``."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
import jsonschema.validators
import pytest

import explorer
from tests.evidence import few

VALUES: list[Any] = [None, 0, 3, 5, "", "ab", True, [], [None], [3], {}, {"a": None}, {"a": "x"}]


def type_of_openapi(validator: Any, types: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """The errors of ``type``: with ``nullable`` null is always of the type."""
    if instance is not None or schema.get("nullable") is not True:
        yield from jsonschema.Draft4Validator.VALIDATORS["type"](validator, types, instance, schema)


OpenApi: Any = jsonschema.validators.extend(jsonschema.Draft4Validator, {"type": type_of_openapi})


def random_schema(draw: random.Random, depth: int = 0) -> dict[str, Any]:
    """A schema of OpenAPI with ``nullable`` at some places."""
    kind = draw.choice(["integer", "string", "boolean", "array", "object", "$ref", "none"])
    if kind == "$ref":
        return {"$ref": "#/components/schemas/Shared"}
    schema: dict[str, Any] = {"example": {"type": "string", "nullable": True}}
    if kind != "none":
        schema["type"] = kind
    if draw.random() < 0.5:
        schema["nullable"] = draw.choice([True, False])
    if kind == "integer" and draw.random() < 0.5:
        schema |= {"minimum": 3, "exclusiveMinimum": draw.choice([True, False])}
    if kind == "array":
        schema["items"] = random_schema(draw, depth + 1) if depth < 2 else {"type": "integer"}
    if kind == "object" and depth < 2:
        schema["properties"] = {"a": random_schema(draw, depth + 1)}
        schema["discriminator"] = {"propertyName": "a"}
    if draw.random() < 0.2:
        schema["enum"] = draw.sample(VALUES, 4)
    return schema


def check(seed: int) -> None:
    draw = random.Random(seed)
    schema = {"openapi": "3.0.3", "components": {"schemas": {"Shared": {
        "type": "string", "nullable": draw.choice([True, False])
    }}}} | random_schema(draw)  # fmt: skip
    schema.pop("$ref", None)
    made = explorer.json_schema(schema)
    for value in VALUES:
        expected = OpenApi(schema).is_valid(value)
        assert made.accepts(json.dumps(value, separators=(",", ":"))) == expected, (schema, value)


@pytest.mark.parametrize("seed", few(range(1000), 60))
def test_nullable_adds_null_to_the_type(seed: int) -> None:
    check(seed)


def test_without_the_mark_it_is_json_schema_and_that_is_said() -> None:
    made = explorer.json_schema({"type": "string", "nullable": True})
    assert not made.accepts("null")
    (said,) = made.source.warnings()
    assert "/nullable" in said and "openapi" in said
    marked = explorer.json_schema({"openapi": "3.0.3", "type": "string", "nullable": True})
    assert marked.accepts("null") and marked.source.warnings() == ()
