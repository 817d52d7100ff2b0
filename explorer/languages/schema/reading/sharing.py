"""Equal subschemas become one object, so that each is built once.

Real schemas say the same thing in many places: a string of at most 255 characters, twenty times.
The compiler knows a subschema by its identity, so equal ones are made identical before it starts.
What only remarks (``title``, ``description``) is left out first, because it would keep equal
subschemas apart. A subschema that has an address of its own, or that asks which of its neighbours
have evaluated something, is never shared.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Final, cast

from explorer.languages.schema.reading.keywords import parts_of
from explorer.languages.schema.reading.subschemas import Schema

REMARKS: Final = frozenset(
    ("title", "description", "$comment", "default", "examples", "deprecated", "readOnly",
     "writeOnly")
)  # fmt: skip
"""Keywords that say nothing about values."""

_APART: Final = frozenset(
    ("$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary",
     "unevaluatedProperties", "unevaluatedItems")
)  # fmt: skip


def shared(schema: Schema) -> Schema:
    """The same schema, equal subschemas being the same object.

    Example:
        >>> both = shared({"properties": {"a": {"type": "null"}, "b": {"type": "null"}}})
        >>> both["properties"]["a"] is both["properties"]["b"]
        True
    """
    made: dict[int, Schema] = {}
    known: dict[object, Schema] = {}
    for here, parts in reversed(list(_every(schema))):
        paths = {path: made[id(part)] for path, part in parts if id(part) in made}
        copy = _with_parts(here, paths)
        made[id(here)] = known.setdefault(_content(here, copy, paths), copy)
    return made.get(id(schema), schema)


_Path = tuple[str] | tuple[str, str | int]


def _every(schema: Schema) -> Iterator[tuple[dict[str, Any], list[tuple[_Path, Schema]]]]:
    """A schema and the subschemas in it, each before those inside of it, and which those are."""
    todo: list[Schema] = [schema]
    seen: set[int] = set()
    while todo:
        here = todo.pop()
        if isinstance(here, dict) and id(here) not in seen:
            seen.add(id(here))
            parts = list(parts_of(here))
            yield here, parts
            todo += [part for _, part in parts]


def _with_parts(here: dict[str, Any], parts: dict[_Path, Schema]) -> dict[str, Any]:
    """A copy without remarks, its subschemas replaced by what was made of them."""
    copy: dict[str, Any] = {
        keyword: value
        for keyword, value in here.items()
        # A reference may lead into what is an object.
        if keyword not in REMARKS or isinstance(value, dict | list)
    }
    for path, part in parts.items():
        keyword = path[0]
        if len(path) == 1:
            copy[keyword] = part
        else:
            if copy[keyword] is here[keyword]:
                copy[keyword] = here[keyword].copy()
            copy[keyword][path[1]] = part
    return copy


def _content(here: dict[str, Any], copy: dict[str, Any], paths: Collection[_Path]) -> object:
    """A key that two subschemas share exactly if they say the same in the same order."""
    if not _APART.isdisjoint(here):
        return id(here)
    if not paths:
        try:
            return _text(sorted(copy.items()))
        except RecursionError:
            return id(here)
    content: list[object] = []
    for keyword in sorted(copy):
        value: object = copy[keyword]
        itself = id(copy[keyword])
        entries: list[tuple[object, object]] = []
        if isinstance(value, dict):
            entries = list(cast("dict[object, object]", value).items())
        elif isinstance(value, list):
            entries = list(enumerate(cast("list[object]", value)))
        try:
            if (keyword,) in paths:
                content.append((keyword, itself))
            elif any((keyword, name) in paths for name, _ in entries):
                inside = [
                    (name, id(part) if (keyword, name) in paths else _text(part))
                    for name, part in entries
                ]
                content.append((keyword, tuple(inside)))
            else:
                content.append((keyword, _text(cast("object", value))))
        except RecursionError:
            return id(here)
    return tuple(content)


def _digits(number: object) -> object:
    """A number as no member of a schema is: no text holds half of a surrogate pair."""
    return {"\ud800": str(number)}


_text: Final = json.JSONEncoder(default=_digits).encode
"""The same text for the same data, down to the digits of its numbers."""
