"""The error for a schema whose addresses cannot be read, with its place.

The ``referencing`` library reads the addresses in every subschema before any keyword is checked,
and its errors name no place. Only after such an error this walk looks for the place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from explorer.errors import UnsupportedSchema

_ONE: Final = (
    "not", "if", "then", "else", "contains", "propertyNames", "items", "additionalItems",
    "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LIST: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_TEXTS: Final = ("$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor")


def malformed_address(schema: Any, draft: int) -> UnsupportedSchema:
    """The error of a schema whose addresses cannot be read.

    Example:
        >>> malformed_address({"properties": {"a": {"$id": 5}}}, 2020).pointer
        '/properties/a/$id'
    """
    for path, keyword, value, wanted in _faults(schema, (), draft):
        return UnsupportedSchema(
            f"{keyword} is {value!r:.80}, not {wanted}.",
            pointer="".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path),
            keyword=keyword,
            remedy="Write the value that the keyword asks for, or leave the keyword out.",
        )
    return UnsupportedSchema(
        "An address in the schema cannot be read.",
        pointer="",
        keyword="$id",
        remedy="Look for $id, $ref and $anchor whose values are not addresses.",
    )


def _faults(
    schema: Any, path: tuple[str, ...], draft: int
) -> Iterator[tuple[tuple[str, ...], str, Any, str]]:
    """The malformed values at and below a schema: path, keyword, value, and what was expected."""
    wanted = "a schema: an object" + (" in draft 4" if draft == 4 else ", true or false")
    rest = [(schema, path, path[-1] if path else "schema")]
    while rest:
        part, place, keyword = rest.pop()
        if isinstance(part, bool) and draft > 4:
            continue
        if not isinstance(part, dict):
            yield place, keyword, part, wanted
            continue
        held = cast("dict[str, Any]", part)
        for name in (*_TEXTS, *(("id",) if draft == 4 else ())):
            if name in held and not isinstance(held[name], str):
                yield (*place, name), name, held[name], "a string"
        for name in _ONE:
            # Draft 4 allows true and false only in these two places.
            switch = isinstance(held.get(name), bool) and name.startswith("additional")
            if name in held and not isinstance(held[name], list) and not switch:
                rest.append((held[name], (*place, name), name))
        for name in _LIST:
            if isinstance(held.get(name), list):
                entries = enumerate(cast("list[Any]", held[name]))
                rest += [(entry, (*place, name, str(at)), name) for at, entry in entries]
        for name in _NAMED:
            if isinstance(held.get(name), dict):
                entries = cast("dict[str, Any]", held[name]).items()
                rest += [(entry, (*place, name, key), name) for key, entry in entries]
            elif name in held:
                yield (*place, name), name, held[name], "an object whose values are schemas"
