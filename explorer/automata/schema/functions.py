"""JSON without a schema, and the sizes of a schema's parts; schemas are `json_schema`'s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from explorer.automata.constraint import Constraint, json_schema
from explorer.automata.schema.free import FreeJson
from explorer.automata.schema.profiling import Profile, profile_of
from explorer.automata.schema.source import JsonSchema
from explorer.automata.schema.spelling import Whitespace
from explorer.budget import Budget


def json(
    max_object_depth: int = 3, max_array_depth: int = 3, *, whitespace: Whitespace = "compact"
) -> Constraint:
    """Every JSON text whose objects and arrays nest no deeper than they may; no schema.

    Args:
        max_object_depth: How many objects may stand inside each other; 0 for no object.
        max_array_depth: How many arrays may. The machine grows with the number of ways in which
            both can nest.
        whitespace: As in `json_schema`.

    Raises:
        ConstraintError: A limit is not a whole number from 0 to 50.
        BudgetExceeded: When the machine is built: the limits are too large.

    Source:
        Koo, Liu, He 2024, section 5.1.

    Example:
        >>> flat = json(max_object_depth=1, max_array_depth=0)
        >>> flat.accepts('{"a":1}'), flat.accepts('{"a":{}}'), flat.accepts("[]")
        (True, False, False)
    """
    return Constraint(FreeJson(max_object_depth, max_array_depth, whitespace))


def profile(
    schema: Mapping[str, object] | bool | str, budget: Budget | None = None, **options: Any
) -> Profile:
    """States, arcs and milliseconds of each subschema, where "the schema is too large" comes from.

    Args:
        schema: As in `json_schema`.
        budget: For each subschema; one that needs more is named, and those around it are tried.
        **options: Those of `json_schema`.

    Returns:
        Printed, a table, the largest first; ``figure()`` is the data of a treemap.

    Example:
        >>> sizes = profile({"items": {"enum": ["red", "green"]}})
        >>> [(row.pointer, row.states) for row in sizes.rows][1]
        ('/items', 12)
    """
    constraint = json_schema(schema, **options)
    return profile_of(cast("JsonSchema", constraint.source), budget)
