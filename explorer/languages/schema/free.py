"""JSON without a schema, to a stated depth (Koo et al. 2024, section 5.1).

JSON nests without end, so no finite machine reads all of it. With a limit on how deep objects and
on how deep arrays nest inside each other it is regular: a value with ``o`` objects and ``a`` arrays
left is a scalar, an object of values with ``o - 1`` and ``a`` left, or an array of values with
``o`` and ``a - 1``. The machine has a copy of the scalars for each order in which objects and
arrays can nest, so its size grows as the number of those orders.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from explorer.arguments import whole_number
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.source import json_schema
from explorer.languages.schema.text.strings import Whitespace

DEEPEST = 50
"""The deepest limit that can be given; what a budget allows is far less."""


def json(
    max_object_depth: int = 3, max_array_depth: int = 3, *, whitespace: Whitespace = "compact"
) -> Constraint:
    """Every JSON text whose objects and arrays nest no deeper than two limits; no schema.

    Args:
        max_object_depth: How many objects may nest inside each other; 0 for no object.
        max_array_depth: How many arrays may nest inside each other; 0 for no array. The machine
            grows with the number of ways in which both can nest.
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
    most_objects = whole_number(
        "max_object_depth", max_object_depth, 0, DEEPEST, error=ConstraintError
    )
    most_arrays = whole_number(
        "max_array_depth", max_array_depth, 0, DEEPEST, error=ConstraintError
    )
    values: dict[str, Any] = {}
    for objects, arrays in product(range(most_objects + 1), range(most_arrays + 1)):
        value: dict[str, Any] = {"type": ["null", "boolean", "number", "string"]}
        if objects:
            value["type"].append("object")
            value["additionalProperties"] = {"$ref": f"#/$defs/{objects - 1},{arrays}"}
        if arrays:
            value["type"].append("array")
            value["items"] = {"$ref": f"#/$defs/{objects},{arrays - 1}"}
        values[f"{objects},{arrays}"] = value
    schema = {"$ref": f"#/$defs/{most_objects},{most_arrays}", "$defs": values}
    return json_schema(schema, whitespace=whitespace)
