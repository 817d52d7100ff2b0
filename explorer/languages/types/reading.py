"""From Python types to shapes: what `typing` can tell, without pydantic.

A recursive type is followed to a stated depth; beyond it a part has no text (`NoText`), so an
optional one is left out and a list is empty.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, Required, cast, get_args, get_origin

from explorer.languages.types.containers import (
    Either,
    Fixed,
    Items,
    NoText,
    Pairs,
    Part,
    Record,
)
from explorer.languages.types.scalars import constants, scalar
from explorer.languages.types.schema import type_name
from explorer.languages.types.shapes import Shape, refused

_LIMITS: Final = (
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern",
)  # fmt: skip
_SEQUENCES: Final[dict[object, str]] = {list: "list", set: "set", frozenset: "frozenset"}


class Reader:
    """Reads types; knows how deep it is in each class.

    Args:
        max_depth: How often a class may stand inside itself.
    """

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._inside: dict[object, int] = {}

    def shape(self, described: object, limits: Mapping[str, Any] | None = None) -> Shape:
        """The shape of a type.

        Args:
            described: The type.
            limits: Of the field that it stands in.

        Raises:
            ConstraintError: It cannot be written exactly.
        """
        limits = limits or {}
        origin, arguments = get_origin(described), get_args(described)
        if origin is Annotated:
            return self.shape(arguments[0], {**limits, **_limits(arguments[1:])})
        if origin in (Required, NotRequired):
            return self.shape(arguments[0], limits)
        if origin is Literal:
            return constants(arguments)
        if origin in (typing.Union, types.UnionType):
            return Either(tuple(self.shape(each, limits) for each in arguments))
        found = scalar(described, limits)
        if found is not None:
            return found
        if described in _SEQUENCES or origin in _SEQUENCES:
            kind = _SEQUENCES[origin or described]
            return Items(kind, self._item(arguments, described), *_length(limits))
        if described is tuple or origin is tuple:
            if len(arguments) == 2 and arguments[1] is Ellipsis:
                return Items("tuple", self.shape(arguments[0]), *_length(limits))
            return Fixed(tuple(self.shape(each) for each in arguments if each != ()))
        if described is dict or origin is dict:
            if len(arguments) != 2 or limits:
                raise refused(
                    f"The items of {type_name(described)} are not known exactly",
                    "Write dict[str, int] with the types of keys and values, without limits.",
                )
            return Pairs(self.shape(arguments[0]), self.shape(arguments[1]))
        if isinstance(described, type):
            return self._class(described)
        raise refused(
            f"{type_name(described)} cannot be written as Python",
            "Use dataclasses, pydantic models, NamedTuple, TypedDict, Enum, Literal, containers "
            "and the types of the standard library.",
        )

    def _item(self, arguments: tuple[object, ...], described: object) -> Shape:
        if len(arguments) != 1:
            raise refused(
                f"The items of {type_name(described)} are not known",
                "Write list[int], for example.",
            )
        return self.shape(arguments[0])

    def _class(self, described: type) -> Shape:
        if self._inside.get(described, 0) > self._max_depth:
            return NoText()
        self._inside[described] = self._inside.get(described, 0) + 1
        try:
            return self._record(described)
        finally:
            self._inside[described] -= 1

    def _record(self, described: type) -> Shape:
        hints = typing.get_type_hints(described, include_extras=True)
        name = described.__name__
        make = cast("Callable[..., Any]", described)
        if typing.is_typeddict(described) or type(described).__name__ == "_TypedDictMeta":
            required = cast("frozenset[str]", cast("Any", described).__required_keys__)
            # Hints that were written as text say Required only now.
            said: dict[object, bool] = {Required: True, NotRequired: False}
            parts = [
                (key, hint, said.get(get_origin(hint), key in required))
                for key, hint in hints.items()
            ]
            return Record("", self._parts(parts), dict)
        if dataclasses.is_dataclass(described):
            missing = dataclasses.MISSING
            parts = [
                (each.name, hints[each.name],
                 each.default is missing and each.default_factory is missing)
                for each in dataclasses.fields(described) if each.init
            ]  # fmt: skip
            return Record(name, self._parts(parts), make)
        own: Mapping[str, Any] = cast("type[Any]", described).__dict__
        if issubclass(described, tuple) and "_fields" in own:
            defaults = cast("dict[str, object]", own["_field_defaults"])
            parts = [(key, hint, key not in defaults) for key, hint in hints.items()]
            return Record(name, self._parts(parts), make)
        if "__pydantic_fields__" in own:
            fields = cast("dict[str, Any]", own["__pydantic_fields__"])
            made: list[Part] = []
            for key, field in fields.items():
                limits = _limits(tuple(field.metadata))
                called = field.validation_alias if isinstance(field.validation_alias, str) else key
                shape = self.shape(field.annotation, limits)
                made.append(Part(called, shape, bool(field.is_required())))
            return Record(name, tuple(made), make)
        raise refused(
            f"{name} does not say which texts its values are written as",
            "Use str, int, float, bool, None, a container of those, Literal, an Enum, a dataclass, "
            "a NamedTuple or a pydantic model.",
        )

    def _parts(self, given: list[tuple[str, object, bool]]) -> tuple[Part, ...]:
        return tuple(Part(name, self.shape(hint), required) for name, hint, required in given)


def _limits(metadata: tuple[object, ...]) -> dict[str, Any]:
    """The constraints in the metadata of a field, by the names that the libraries share.

    ``annotated_types`` and pydantic are optional, so their classes are told by their attributes.
    """
    found: dict[str, Any] = {}
    for each in metadata:
        nested = getattr(each, "metadata", None)
        if isinstance(nested, list):  # pydantic's Field(...) inside of Annotated.
            found |= _limits(tuple(cast("list[object]", nested)))
        for name in _LIMITS:
            value = getattr(each, name, None)
            if value is not None:
                found[name] = value
    return found


def _length(limits: Mapping[str, Any]) -> tuple[int, int | None]:
    return limits.get("min_length", 0), limits.get("max_length")
