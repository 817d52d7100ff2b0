"""The keywords of a schema that leave no value together.

Keywords are taken away one after the other, as long as what is left still allows nothing. What
remains is a smallest set: without any one of its keywords there would be a value. Cost: one machine
per keyword of the schema, made when somebody asks why.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from typing import Final

from explorer.errors import BudgetExceeded, UnsupportedSchema
from explorer.languages.schema.diagnosis.keywords import schema_without, with_value
from explorer.languages.schema.reading.subschemas import REMARKS, Schema, parts_of
from explorer.languages.schema.reading.text import pointer_to

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
    kept, less = _removable(schema), schema
    for pointer, is_part in reversed(kept.items()):
        fewer = with_value(less, pointer, True) if is_part else schema_without(less, [pointer])
        with suppress(BudgetExceeded, UnsupportedSchema):
            if is_empty(fewer):
                kept, less = {each: kept[each] for each in kept if each != pointer}, fewer
    return tuple(kept)


def endless_reference(schema: Schema, is_empty: Callable[[Schema], bool]) -> str:
    """The pointer of a reference to a schema around it, if the schema has values without it.

    Returns:
        The pointer; empty if there is no such reference.

    Example:
        >>> endless = {"properties": {"p": {"$ref": "#"}}, "required": ["p"]}
        >>> endless_reference(endless, lambda it: bool(it["properties"]["p"]))
        '/properties/p/$ref'
    """
    for path, here in _level_by_level(schema):
        target = here.get("$ref") if isinstance(here, dict) else None
        pointer = pointer_to(*path, "$ref")
        if isinstance(target, str) and target[:1] == "#" and pointer.startswith(f"{target[1:]}/"):
            with suppress(BudgetExceeded, UnsupportedSchema):
                if not is_empty(schema_without(schema, [pointer])):
                    return pointer
    return ""


def _level_by_level(
    schema: Schema, through: Container[str] | None = None
) -> Iterator[tuple[Path, Schema]]:
    """A schema and the subschemas in it, the outer ones first.

    Args:
        through: The keywords whose subschemas are wanted; ``None`` for all.
    """
    todo: list[tuple[Path, Schema]] = [((), schema)]
    for path, here in todo:  # The list grows while it is read.
        yield path, here
        for below, part in parts_of(here) if isinstance(here, dict) else ():
            if through is None or below[0] in through:
                todo.append(((*path, *below), part))


def _removable(schema: Schema) -> dict[str, bool]:
    """The pointers of keywords that can be taken away; a subschema ``false``, for which the value
    is true, counts as one."""
    pointers: dict[str, bool] = {}
    for path, here in _level_by_level(schema, _CONTAINERS):
        if here is False:
            pointers[pointer_to(*path)] = True
        elif isinstance(here, dict):
            keywords = (pointer_to(*path, word) for word in here if word not in _CONTAINERS)
            pointers |= dict.fromkeys(keywords, False)
    return pointers
