"""Random JSON Schemas of the keywords that servers' engines read, and of those that they do not."""

from __future__ import annotations

from random import Random
from typing import Any

_NAMES = ("a", "b", "ab", "name", "é", 'q"')
_PATTERNS = ("[0-9]+", "^a", "b$", "^(?:ab|c)*$", "a.c", "[^a]{1,3}", "\\w+", "x?y*")
_FORMATS = ("date", "time", "uuid", "ipv4", "email", "date-time", "unknown")
_VALUES: tuple[Any, ...] = (
    1, 2, -3, 1.5, "a", "é", "a/b", 'x"y', "", True, None, {"a": [1]}, [], 10**20, 0.1,
)  # fmt: skip


def random_schema(chance: Random, depth: int = 3) -> Any:
    """A random schema; mostly sound, some of which an engine refuses."""
    kind = chance.choice(_KINDS if depth else _LEAVES)
    return kind(chance, depth - 1)


def _integer(chance: Random, depth: int) -> Any:
    schema: dict[str, Any] = {"type": "integer"}
    if chance.random() < 0.4:
        schema[chance.choice(("minimum", "exclusiveMinimum"))] = chance.randint(-30, 20)
    if chance.random() < 0.4:
        schema[chance.choice(("maximum", "exclusiveMaximum"))] = chance.randint(21, 1200)
    if chance.random() < 0.15:
        schema["multipleOf"] = chance.choice((2, 3, 5, 7))
    return schema


def _number(chance: Random, depth: int) -> Any:
    schema: dict[str, Any] = {"type": "number"}
    if chance.random() < 0.4:
        schema[chance.choice(("minimum", "exclusiveMinimum"))] = chance.choice(
            (-2.5, -1, 0, 0.25, 3)
        )
    if chance.random() < 0.4:
        schema[chance.choice(("maximum", "exclusiveMaximum"))] = chance.choice((4, 7.5, 10, 123.25))
    return schema


def _string(chance: Random, depth: int) -> Any:
    schema: dict[str, Any] = {"type": "string"}
    if chance.random() < 0.3:
        schema["pattern"] = chance.choice(_PATTERNS)
    if chance.random() < 0.15:
        schema["format"] = chance.choice(_FORMATS)
    if chance.random() < 0.25:
        schema["minLength"] = chance.randint(0, 2)
    if chance.random() < 0.25:
        schema["maxLength"] = chance.randint(2, 4)
    return schema


def _word(chance: Random, depth: int) -> Any:
    return {"type": chance.choice(("boolean", "null"))}


def _enum(chance: Random, depth: int) -> Any:
    if chance.random() < 0.3:
        return {"const": chance.choice(_VALUES)}
    return {"enum": chance.sample(_VALUES, chance.randint(1, 4))}


def _free(chance: Random, depth: int) -> Any:
    return chance.choice(({}, {}, True, {"title": "t"}, {"minLength": 2}, {"type": "object"},
                          {"type": "array"}))  # fmt: skip


def _types(chance: Random, depth: int) -> Any:
    types = chance.sample(("integer", "string", "null", "boolean", "number"), chance.randint(1, 3))
    return {**_string(chance, depth), **_integer(chance, depth), "type": types}


def _array(chance: Random, depth: int) -> Any:
    schema: dict[str, Any] = {"type": "array"}
    if chance.random() < 0.8:
        schema["items"] = random_schema(chance, depth)
    if chance.random() < 0.25:
        schema["prefixItems"] = [random_schema(chance, depth) for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.3:
        schema["minItems"] = chance.randint(0, 2)
    if chance.random() < 0.3:
        schema["maxItems"] = chance.randint(2, 4)
    return schema


def _object(chance: Random, depth: int) -> Any:
    schema: dict[str, Any] = {"type": "object"}
    names = chance.sample(_NAMES, chance.randint(0, 3))
    if names:
        schema["properties"] = {name: random_schema(chance, depth) for name in names}
    if chance.random() < 0.6:
        schema["required"] = chance.sample(names, chance.randint(0, len(names)))
    if chance.random() < 0.3:
        schema["additionalProperties"] = chance.choice((True, False, {"type": "integer"}))
    if chance.random() < 0.1:
        schema["patternProperties"] = {chance.choice(_PATTERNS): random_schema(chance, 0)}
    if chance.random() < 0.1:
        schema["minProperties"] = chance.randint(0, 2)
    if chance.random() < 0.1:
        schema["maxProperties"] = chance.randint(1, 3)
    return schema


def _union(chance: Random, depth: int) -> Any:
    keyword = chance.choice(("anyOf", "anyOf", "oneOf"))
    return {keyword: [random_schema(chance, depth) for _ in range(chance.randint(1, 3))]}


def _reference(chance: Random, depth: int) -> Any:
    return {"$ref": "#/$defs/one"}


_LEAVES = (_integer, _number, _string, _string, _word, _enum, _free, _types)
_KINDS = (*_LEAVES, _array, _array, _object, _object, _object, _union)


def whole_schema(seed: int) -> Any:
    """A random schema, sometimes with a definition that its parts refer to."""
    chance = Random(seed)
    schema = random_schema(chance)
    if isinstance(schema, dict) and chance.random() < 0.15:
        part = chance.choice((random_schema(chance, 1), {"type": "object", "properties": {
            "next": {"$ref": "#/$defs/one"}, "v": {"type": "integer"}}}))  # fmt: skip
        return {"type": "object", "properties": {"r": _reference(chance, 0), "s": schema},
                "required": ["r"], "$defs": {"one": part}}  # fmt: skip
    return schema
