"""The function for types: `from_type`."""

from __future__ import annotations

import functools
from inspect import isroutine
from typing import Any, Final, Literal, TypeVar, cast, get_args

from explorer.arguments import plain, wrong
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.source import OPTIONS, check_options
from explorer.languages.types.remarks import OF_A_FUNCTION
from explorer.languages.types.source import CallType, JsonType

Style = Literal["json", "python"]
"""The notation for the values of a type."""


def from_type(described: Any, *, style: Style = "json", **options: Any) -> Constraint:
    """The texts of the values of a Python type.

    Annotations written as strings (``x: "int"``, or all of them under ``from __future__ import
    annotations``) are evaluated, as `typing.get_type_hints` does, so a type is code like any other:
    give only types that you would run. A declaration in the editor, or in a saved file, is text; it
    is read and never run.

    Args:
        described: A pydantic model, a dataclass, a TypedDict, a NamedTuple, an Enum, a Literal, a
            union, a container, or a scalar such as ``datetime``, ``UUID`` and ``Decimal``; with
            constraints in ``Annotated``.
        style: ``"json"`` for JSON as pydantic reads it, with closed objects: no members but their
            own, unless ``model_config`` says ``extra="allow"`` or ``"ignore"``; ``"python"`` for
            constructor calls such as ``Point(x=3)``, with arguments in the order of the type.
        options: For JSON, ``whitespace``, ``property_order``, ``max_depth`` and the other options
            of `json_schema`; for Python, ``max_depth``, how often a class may be nested in itself
            (default 3).

    Returns:
        A constraint whose `Constraint.parse` gives an instance of the type. ``report.warnings`` of
        the compiled constraint names conditions that only Python code decides, such as a
        ``field_validator``; ``parse`` runs it.

    Raises:
        MissingDependency: Pydantic, which JSON needs, is not installed.
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
        raise wrong(
            "style", style, "a style", remedy='Write "json" or "python".', error=ConstraintError
        )
    _check_type(described)
    kind = JsonType if style == "json" else CallType
    known = OPTIONS if style == "json" else ("max_depth",)
    check_options(f'from_type(style="{style}")', options, known)
    return Constraint(kind.of(described, **options))


_NO_TYPES: Final[tuple[tuple[tuple[type, ...], str], ...]] = (
    (
        (functools.partial, functools.partialmethod, classmethod, staticmethod,
         type(functools.cache(len))),
        OF_A_FUNCTION,
    ),
    ((TypeVar,), "Give the type that the variable stands for."),
    (
        (dict, list, tuple, set, frozenset, bytes, int, float, complex),
        "Give a type such as list[int], dict[str, int], a dataclass or a TypedDict.",
    ),
)  # fmt: skip
"""Wrapped functions, and plain data in place of a type (``[int]``), with the remedies."""


def _check_type(described: object) -> None:
    """Refuse a function, a type variable and plain data."""
    for kinds, remedy in _NO_TYPES:
        if isinstance(described, kinds) or (remedy is OF_A_FUNCTION and isroutine(described)):
            given = cast("object", described)
            raise wrong("described", given, "a type", error=ConstraintError, remedy=remedy)
