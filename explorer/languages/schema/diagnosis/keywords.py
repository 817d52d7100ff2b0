"""The keywords of a schema by their JSON Pointers, and the schema without some of them.

A subschema is never changed: what lies on the way to a change is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from explorer.languages.schema.reading.subschemas import (
    WELL_FORMED,
    Schema,
    every_part,
    parts_of,
)
from explorer.languages.schema.reading.text import pointer_to

CONSTRAINING: Final = WELL_FORMED.keys() | {"const", "exclusiveMinimum", "exclusiveMaximum"}
MISSING: Final = frozenset(
    ("required", "dependentRequired", "minProperties", "minLength", "minItems", "minContains",
     "contains")
)  # fmt: skip
"""The keywords that ask for something before the end."""
REFERENCES: Final = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))


def keywords_of(here: dict[str, Any], pointer: str) -> Iterator[tuple[str, bool]]:
    """The keywords of a subschema: the pointer, and whether it holds subschemas.

    A subschema ``false`` inside of one that holds some counts as a keyword, and so do those of
    ``propertyNames``, which are about the same text.
    """
    parts: dict[str, list[tuple[tuple[str | int, ...], Schema]]] = {}
    for path, part in parts_of(here):
        parts.setdefault(path[0], []).append((path, part))
    for keyword in here:
        below = pointer + pointer_to(keyword)
        if keyword not in CONSTRAINING:
            continue
        held = parts.get(keyword, [])
        if keyword == "propertyNames" and isinstance(here[keyword], dict):
            inside = keywords_inside(here, pointer_to(keyword), pointer)
            yield from ((inner, False) for inner in inside)
        for path, part in held:
            if part is False and len(path) > 1:
                yield pointer + pointer_to(*path), False
        holds = any(isinstance(part, dict) or len(path) > 1 for path, part in held)
        yield below, holds or keyword in REFERENCES


REFUSING: Final = frozenset(("not", "if", "oneOf", "contains"))


def may_refuse(pointer: str) -> bool:
    """Whether fewer texts may be taken without a keyword, because of one that it is inside of."""
    return not REFUSING.isdisjoint(pointer.split("/")[:-1])


def every_keyword(schema: Schema) -> Iterator[str]:
    """The pointers of all keywords of a schema, the inner ones first."""
    for pointer, here, _ in reversed([*every_part(schema)]):
        yield from (below for below, _ in keywords_of(here, pointer))


def keywords_inside(schema: Schema, pointer: str, before: str = "") -> Iterator[str]:
    """The pointers of the keywords inside of the keyword at a pointer, the inner ones first."""
    held = value_at(schema, pointer)
    keyword = pointer.rpartition("/")[2]
    if isinstance(held, list | dict):
        around: dict[str, Any] = {keyword: held}
        inner: list[tuple[str, dict[str, Any]]] = []
        for path, part in parts_of(around):
            if isinstance(part, dict):
                start = before + pointer + pointer_to(*path[1:])
                inner += [(start + below, here) for below, here, _ in every_part(part)]
        for below, here in reversed(inner):
            yield from (each for each, _ in keywords_of(here, below))


def schema_without(schema: Schema, pointers: Iterable[str]) -> Schema:
    """A schema without the keywords at some JSON Pointers; one of a list becomes ``true``.

    Only what lies on the way is copied.

    Example:
        >>> schema_without({"items": {"minimum": 1, "maximum": 2}}, ["/items/minimum"])
        {'items': {'maximum': 2}}
    """
    tree: dict[str, Any] = {}
    for pointer in sorted(pointers, key=len, reverse=True):  # The outer one wins.
        *around, last = _steps(pointer)
        here = tree
        for step in around:
            here = here.setdefault(step, {})
        here[last] = {}
    return _less(schema, tree) if tree else schema


def _less(value: Any, gone: dict[str, Any]) -> Any:
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [
            item if str(k) not in gone
            else True if not gone[str(k)] else _less(item, gone[str(k)])
            for k, item in enumerate(items)
        ]  # fmt: skip
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    return {
        name: part if name not in gone else _less(part, gone[name])
        for name, part in members.items()
        if gone.get(name) != {}
    }


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def value_at(schema: object, pointer: str) -> object:
    """The value at a JSON Pointer; ``None`` if there is none."""
    for step in _steps(pointer):
        if isinstance(schema, list):
            items = cast("list[object]", schema)
            schema = items[int(step)] if step.isdigit() and int(step) < len(items) else None
        elif isinstance(schema, dict):
            schema = cast("dict[str, object]", schema).get(step)
        else:
            return None
    return schema


def with_value(schema: Schema, pointer: str, value: object) -> Schema:
    """The schema with another value at a JSON Pointer."""
    return cast("Schema", _put(schema, _steps(pointer), value))


def _put(value: Any, steps: list[str], new: object) -> Any:
    """A value with another one at a path, copied on the way."""
    if not steps:
        return new
    step, *rest = steps
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_put(each, rest, new) if str(k) == step else each for k, each in enumerate(items)]
    members = cast("dict[str, Any]", value)
    return {**members, step: _put(members[step], rest, new)}
