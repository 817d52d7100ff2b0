"""Smaller schemas: a keyword or a member goes, a list gets shorter, a part stands for the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from explorer.languages.schema.reading.text import json_of
from explorer.witnesses.readings.variants import changed, subschemas_of

_PARTS: Final = frozenset(
    {"properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$defs"}
)


def smaller_schemas(schema: Any) -> Iterator[Any]:
    """The schemas that are one reduction smaller, the boldest first.

    Args:
        schema: As Python data.

    Example:
        >>> [*smaller_schemas({"type": "integer", "minimum": 3})]
        [{'minimum': 3}, {'type': 'integer'}]
    """
    if not isinstance(schema, dict):
        return
    places = list(subschemas_of(schema))
    for path, part in places:
        if path:  # A part for the whole, with the definitions that it may need.
            shared = cast("dict[str, Any]", schema).get("$defs")
            yield part if shared is None else {**part, "$defs": shared}
    for path, part in places:
        for keyword, value in part.items():
            if keyword != "x-guidance":
                yield changed(schema, path, lambda target, k=keyword: target.pop(k))
            if isinstance(value, list) and len(cast("list[Any]", value)) > 1:
                for k in range(len(cast("list[Any]", value))):
                    yield changed(schema, path, lambda t, w=keyword, k=k: t[w].pop(k))
            if keyword in ("properties", "patternProperties", "$defs") and isinstance(value, dict):
                for name in cast("dict[str, Any]", value):
                    yield changed(schema, path, lambda t, w=keyword, n=name: _drop(t, w, n))
            if isinstance(value, str) and keyword == "pattern":
                from explorer.errors import ExplorerError
                from explorer.languages.regex.parser import parse
                from explorer.witnesses.shrinking.patterns import smaller_patterns

                try:
                    tree = parse(value)
                except ExplorerError:
                    continue
                for text in smaller_patterns(tree):
                    yield changed(schema, path, lambda t, p=text: t.update(pattern=p))


def _drop(target: dict[str, Any], keyword: str, name: str) -> None:
    target[keyword].pop(name)
    required = target.get("required")
    if keyword == "properties" and isinstance(required, list) and name in required:
        cast("list[Any]", required).remove(name)


def size_of_schema(schema: Any) -> int:
    """The length of a schema as JSON.

    Args:
        schema: As Python data.
    """
    return len(json_of(schema))
