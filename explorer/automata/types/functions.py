"""The function for types: `from_type`."""

from __future__ import annotations

import inspect
from typing import Any, Final, Literal, get_args

from explorer.arguments import plain, wrong
from explorer.automata.constraint import Constraint
from explorer.automata.schema.functions import json_schema
from explorer.automata.types.calls import CallType
from explorer.automata.types.source import JsonType
from explorer.errors import ConstraintError

Style = Literal["json", "python"]
"""How the values of a type are written."""


def from_type(described: Any, *, style: Style = "json", **options: Any) -> Constraint:
    """The texts of the values of a Python type.

    Args:
        described: A pydantic model, a dataclass, a TypedDict, a NamedTuple, an Enum, a Literal, a
            union, a container, or a scalar such as ``datetime``, ``UUID`` and ``Decimal``; with
            constraints in ``Annotated``.
        style: ``"json"`` writes JSON, as pydantic's JSON Schema of the type has it; ``"python"``
            constructor calls such as ``Point(x=3)``, with arguments in the order of the type.
        options: For JSON, ``whitespace``, ``property_order``, ``max_depth`` and others as
            `json_schema` has them; for Python, ``max_depth``, how often a class may stand inside
            itself (default 3).

    Returns:
        A constraint whose `Constraint.parse` gives an instance of the type.

    Raises:
        MissingDependency: JSON needs pydantic, and it is not installed.
        ConstraintError: A part of the type cannot be followed exactly.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> from_type(Point).parse('{"x":3}')
        Point(x=3, y=0)
        >>> from_type(list[Point], style="python").parse("[Point(x=3), Point(x=1, y=2)]")
        [Point(x=3, y=0), Point(x=1, y=2)]
    """
    style = plain(style)
    if not isinstance(style, str) or style not in get_args(Style):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong("style", style, 'a style: "json" or "python"', error=ConstraintError)
    kind = JsonType if style == "json" else CallType
    known = _OPTIONS if style == "json" else ("max_depth",)
    if unknown := [name for name in options if name not in known]:
        where = 'It is an option of style="json"' if unknown[0] in _OPTIONS else "Leave it out"
        raise ConstraintError(
            f'from_type(style="{style}") has no option {unknown[0]!r}.',
            remedy=f"{where}; the options are {', '.join(known)}.",
        )
    return Constraint(kind.of(described, **options))


_OPTIONS: Final = tuple(
    name for name in inspect.signature(json_schema).parameters if name != "schema"
)
