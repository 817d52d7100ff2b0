"""Remarks on conditions of a type that its texts may not meet, as ``report.warnings``.

A validator is Python code, which no automaton can follow: a text that the constraint accepts may
still be refused when it is parsed. Pydantic's core schema names the functions that it calls; nearly
all of those of pydantic itself belong to types whose texts are described exactly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import getclosurevars
from typing import Any, Final, cast

from explorer.languages.types.decimals import power_of_ten

OF_A_FUNCTION: Final = (
    "Give the type of what the function returns, such as "
    'typing.get_type_hints(f)["return"], or a dataclass of its parameters.'
)
"""The remedy for a function given in place of a type."""

_WHEN: Final = "so parse() may refuse a text that is accepted"


_INEXACT: Final = frozenset(("ByteSize._validate", "import_string"))
"""The validators of pydantic for types whose texts are not described exactly."""


def checks_of(described: object) -> tuple[str, ...]:
    """The remarks on the checks of a type whose texts are read without pydantic's schema.

    Args:
        described: A type; one that pydantic did not make has no such checks.
    """
    core: Any = getattr(described, "__pydantic_core_schema__", None)
    return left_out(core) if isinstance(core, Mapping) else ()


def left_out(core: Any) -> tuple[str, ...]:
    """The sentences on what a core schema of pydantic asks for beyond its JSON Schema.

    Args:
        core: Nested mappings and lists; each is visited once.
    """
    sentences: list[str] = []
    met: set[int] = set()
    todo: list[tuple[Any, str]] = [(core, "")]
    while todo:
        here, field = todo.pop()
        if id(here) in met:
            continue
        met.add(id(here))
        if isinstance(here, list | tuple):
            todo += [(each, field) for each in reversed(cast("list[Any]", here))]
        elif isinstance(here, Mapping):
            schema = cast("Mapping[str, Any]", here)
            sentences += _remarks(schema, field)
            todo += reversed(list(_below(schema, field)))
    return tuple(dict.fromkeys(sentences))


def _below(schema: Mapping[str, Any], field: str) -> Iterator[tuple[Any, str]]:
    """The parts of a part of a core schema, each with the field it belongs to."""
    for key, part in schema.items():
        if key == "fields" and isinstance(part, Mapping):
            yield from ((each, name) for name, each in cast("Mapping[str, Any]", part).items())
        elif key not in ("metadata", "serialization", "function", "default"):
            yield part, field


def _remarks(schema: Mapping[str, Any], field: str) -> Iterator[str]:
    kind = schema.get("type")
    if isinstance(kind, str) and kind.startswith("function-"):
        function = cast("Mapping[str, Any]", schema["function"])["function"]
        while isinstance(function, partial):
            function = cast("Any", function).func
        predicate = _predicate(function)
        if predicate is not None or not _is_of_pydantic(function):
            name = _named(predicate or function)
            yield f"The validator {name}{_of(field)} is Python code, {_WHEN}."
    if kind in ("url", "multi-host-url"):
        yield f"A URL{_of(field)} is read more strictly than its format says, {_WHEN}."
    if kind == "tagged-union" and callable(schema.get("discriminator")):
        yield (
            f"The discriminator {_named(schema['discriminator'])}{_of(field)} is Python code, "
            f"{_WHEN}."
        )
    step = schema.get("multiple_of")
    if kind == "decimal" and step is not None and power_of_ten(step) is None:
        yield (
            f"A Decimal{_of(field)} with multiple_of={step} is written as a number; as a text it "
            "is not accepted."
        )


def _of(field: str) -> str:
    return f" of the field {field!r}" if field else ""


def _named(function: Any) -> str:
    name: str = getattr(function, "__qualname__", "") or type(function).__qualname__
    return name.rpartition("<locals>.")[2]


def _predicate(function: Any) -> Any:
    """The user's function that pydantic calls for a `Predicate` or `Not` of `annotated_types`."""
    if _named(function) != "val_func" or not _is_of_pydantic(function):
        return None
    annotation = getclosurevars(function).nonlocals.get("annotation")
    return getattr(annotation, "func", function)


def _is_of_pydantic(function: Any) -> bool:
    if _named(function) in _INEXACT:
        return False
    module = str(getattr(function, "__module__", None) or "").partition(".")[0]
    return module.startswith("pydantic") or module in sys.stdlib_module_names
