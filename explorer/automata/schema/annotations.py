"""What a schema says that does not constrain: formats that nobody here knows.

A ``format`` that an implementation does not know is an annotation (draft 2020-12, validation,
section 7.2.1). That is right, and easily a surprise, so it is told.
"""

from __future__ import annotations

from explorer.automata.schema.formats import FORMATS
from explorer.automata.schema.keywords import parts_of
from explorer.automata.schema.subschemas import Schema, pointer_to


def unknown_formats(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The formats of a schema that are not known, each with its JSON Pointer, in order.

    Args:
        schema: The schema as Python data.

    Example:
        >>> unknown_formats({"items": {"format": "color"}, "contains": {"format": "date"}})
        (('/items/format', 'color'),)
    """
    found: list[tuple[str, str]] = []
    todo = [("", schema)]
    while todo:
        pointer, here = todo.pop()
        if not isinstance(here, dict):
            continue
        name = here.get("format")
        if isinstance(name, str) and name not in FORMATS:
            found.append((f"{pointer}/format", name))
        below = [(pointer + pointer_to(*path), part) for path, part in parts_of(here)]
        todo += reversed(below)
    return tuple(found)
