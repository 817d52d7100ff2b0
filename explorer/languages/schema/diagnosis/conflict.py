"""Why a schema allows no value: the keywords that exclude each other.

Keywords are taken away one after the other, as long as what is left still allows nothing. What
remains is a smallest set: without any one of its keywords there would be a value. Cost: one machine
per keyword of the schema, made when somebody asks why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from explorer.errors import BudgetExceeded, UnsupportedSchema
from explorer.languages.schema.reading.keywords import REMARKS, parts_of
from explorer.languages.schema.reading.subschemas import Schema, pointer_to

_CONTAINERS: Final = frozenset(
    ("properties", "patternProperties", "allOf", "anyOf", "oneOf", "items", "prefixItems", "$defs",
     "definitions", "$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "id", "$anchor",
     "$dynamicAnchor", "$vocabulary", "if", "then", "else", "dependentSchemas", "dependencies",
     *REMARKS)
)  # fmt: skip
"""Keywords that only lead to others, or say nothing about values."""

Path = tuple[str | int, ...]


def conflict(schema: Schema, is_empty: Callable[[Schema], bool]) -> tuple[str, ...]:
    """The JSON Pointers of keywords that leave nothing together, as few as possible.

    Args:
        is_empty: Tells whether a schema allows nothing; `BudgetExceeded` and `UnsupportedSchema`
            count as no.

    Returns:
        The pointers, in the order of the schema. Empty if the cause is unknown: there is no value
        even without all the keywords that can be taken away.

    Example:
        >>> conflict({"minimum": 3, "maximum": 2, "title": "none"}, lambda it: len(it) > 2)
        ('/minimum', '/maximum')
    """
    left = _keywords(schema)
    kept: list[Path] = list(left)
    for path in reversed(left):
        less = [other for other in kept if other != path]
        try:
            if is_empty(_only(schema, left, less)):
                kept = less
        except (BudgetExceeded, UnsupportedSchema):
            continue
    return tuple(pointer_to(*path) for path in kept)


def endless_reference(schema: Schema, is_empty: Callable[[Schema], bool]) -> str:
    """The pointer of a reference to a schema around it, if the schema has values without it.

    Returns:
        The pointer; empty if there is no such reference.

    Example:
        >>> endless = {"properties": {"p": {"$ref": "#"}}, "required": ["p"]}
        >>> endless_reference(endless, lambda it: bool(it["properties"]["p"]))
        '/properties/p/$ref'
    """
    every = _references(schema)
    for path, target in every:
        pointer = pointer_to(*path)
        if pointer.startswith(f"{target}/"):
            try:
                if not is_empty(_only(schema, [path], [])):
                    return pointer
            except (BudgetExceeded, UnsupportedSchema):
                continue
    return ""


def _references(schema: Schema) -> list[tuple[Path, str]]:
    """The references into the schema itself: where each stands, and the pointer that it names."""
    conflicts: list[tuple[Path, str]] = []
    todo: list[tuple[Path, Schema]] = [((), schema)]
    while todo:
        path, here = todo.pop(0)
        if isinstance(here, dict):
            named = here.get("$ref")
            if isinstance(named, str) and named.startswith("#"):
                conflicts.append(((*path, "$ref"), named[1:]))
            todo += [((*path, *below), part) for below, part in parts_of(here)]
    return conflicts


def _keywords(schema: Schema) -> list[Path]:
    """The keywords that can be taken away; a subschema ``false`` counts as one."""
    paths: list[Path] = []
    todo: list[tuple[Path, Schema]] = [((), schema)]
    while todo:
        path, here = todo.pop(0)
        if here is False:
            paths.append(path)
        if not isinstance(here, dict):
            continue
        paths += [(*path, keyword) for keyword in here if keyword not in _CONTAINERS]
        for below, part in parts_of(here):
            if below[0] in _CONTAINERS:
                todo.append(((*path, *below), part))
    return list(dict.fromkeys(paths))


def _only(schema: Schema, every: list[Path], kept: list[Path]) -> Schema:
    """A schema with only some of its keywords."""
    gone = set(every) - set(kept)

    def copied(value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            entries = cast("dict[str, Any]", value).items()
            return {
                name: copied(part, (*path, name))
                for name, part in entries
                if (*path, name) not in gone or (isinstance(part, bool) and _is_place(path))
            }
        if isinstance(value, list):
            parts = cast("list[Any]", value)
            return [copied(part, (*path, index)) for index, part in enumerate(parts)]
        return True if path in gone else value

    return copied(schema, ())


def _is_place(path: Path) -> bool:
    """Whether the object at a path maps names to subschemas, so that its keys are not keywords."""
    return bool(path) and path[-1] in ("properties", "patternProperties", "$defs", "definitions")
