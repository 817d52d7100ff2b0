"""Shapes with parts (unions, sequences, mappings, calls of constructors), and the reader of types.

Types are read with `typing`, without pydantic. A recursive type is followed to a stated depth;
beyond it a part has no text, so an optional one is left out and a list is empty.
"""

from __future__ import annotations

import ast
import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NotRequired, Required, cast, get_args, get_origin

from explorer.automata.tree.nodes import Source
from explorer.languages.sources.algebra import Repetition
from explorer.languages.sources.choice import Choice
from explorer.languages.template.many import Many
from explorer.languages.template.source import Template
from explorer.languages.types.schema import type_name
from explorer.languages.types.shapes import (
    OtherShape,
    Shape,
    called,
    constants,
    either,
    exact_text,
    in_sequence,
    refused,
    scalar,
)


@dataclass(frozen=True)
class Either:
    """A union; the first alternative that fits a text gives its value.

    One without alternatives has no text: there a recursive type would exceed its depth.
    """

    options: tuple[Shape, ...]

    def source(self) -> Source | None:
        """The texts of all alternatives."""
        found = [source for each in self.options if (source := each.source()) is not None]
        return either(found) if found else None

    def value(self, node: ast.expr) -> object:
        """The value under the first alternative that it fits."""
        for option in self.options:
            try:
                return option.value(node)
            except OtherShape:
                continue
        raise OtherShape


_KINDS: Final[dict[str, tuple[str, str, str, Callable[[list[object]], object], type[ast.expr]]]] = {
    "list": ("[]", "[", "]", list[object], ast.List),
    "set": ("set()", "{", "}", set[object], ast.Set),
    "frozenset": ("frozenset()", "frozenset({", "})", frozenset[object], ast.Set),
    "tuple": ("()", "(", ")", tuple[object, ...], ast.Tuple),
}
"""Each kind without items, before and after items, its constructor, and what Python reads it as."""


@dataclass(frozen=True)
class Items:
    """A list, a set, or a tuple of any length.

    Args:
        kind: ``list``, ``set``, ``frozenset`` or ``tuple``.
    """

    kind: str
    item: Shape
    least: int
    most: int | None

    def source(self) -> Source | None:
        """Items between brackets, as ``repr`` writes them."""
        if self.kind in ("set", "frozenset") and (self.least or self.most is not None):
            raise refused(
                f"The length of a {self.kind} cannot be kept, as items may be equal",
                "Use a list, or leave the limits out.",
            )
        item = self.item.source()
        options: list[Source] = []
        if self.least == 0:
            options.append(exact_text(_KINDS[self.kind][0]))
        if item is not None and self.most != 0:
            if self.kind == "tuple":
                options += self._tuples(item)
            else:
                _, before, after, _, _ = _KINDS[self.kind]
                items = Many.of(item, max(self.least, 1), self.most, ", ")
                options.append(in_sequence(exact_text(before), items, exact_text(after)))
        return either(options) if options else None

    def _tuples(self, item: Source) -> list[Source]:
        found: list[Source] = []
        if self.least <= 1:
            found.append(in_sequence(exact_text("("), item, exact_text(",)")))
        if self.most is None or self.most > 1:
            items = Many.of(item, max(self.least, 2), self.most, ", ")
            found.append(in_sequence(exact_text("("), items, exact_text(")")))
        return found

    def value(self, node: ast.expr) -> object:
        """The items."""
        empty, _, _, make, wanted = _KINDS[self.kind]
        if self.kind in ("set", "frozenset") and ast.unparse(node) == empty:
            return make([])
        if self.kind == "frozenset":
            (node,) = called(node, "frozenset").args
        if not isinstance(node, wanted):
            raise OtherShape
        elements = cast("list[ast.expr]", cast("Any", node).elts)
        return make([self.item.value(each) for each in elements])


@dataclass(frozen=True)
class Fixed:
    """A tuple with a fixed number of items, each with its own shape."""

    items: tuple[Shape, ...]

    def source(self) -> Source | None:
        """Items between parentheses; a single one has a comma after it."""
        sources = [each.source() for each in self.items]
        if not sources:
            return exact_text("()")
        parts: list[Source] = [exact_text("(")]
        for k, source in enumerate(sources):
            if source is None:
                return None
            parts += [exact_text(", "), source] if k else [source]
        return in_sequence(*parts, exact_text(",)" if len(sources) == 1 else ")"))

    def value(self, node: ast.expr) -> object:
        """The items."""
        if not isinstance(node, ast.Tuple) or len(node.elts) != len(self.items):
            raise OtherShape
        return tuple(shape.value(each) for shape, each in zip(self.items, node.elts, strict=True))


@dataclass(frozen=True)
class Pairs:
    """A dict."""

    key: Shape
    item: Shape

    def source(self) -> Source | None:
        """Pairs between braces."""
        key, item = self.key.source(), self.item.source()
        if key is None or item is None:
            return exact_text("{}")
        pairs = Many.of(in_sequence(key, exact_text(": "), item), 0, None, ", ")
        return in_sequence(exact_text("{"), pairs, exact_text("}"))

    def value(self, node: ast.expr) -> object:
        """The dict; of equal keys the last one counts, as in Python."""
        if not isinstance(node, ast.Dict):
            raise OtherShape
        pairs = zip(node.keys, node.values, strict=True)
        return {self.key.value(_key(key)): self.item.value(item) for key, item in pairs}


def _key(node: ast.expr | None) -> ast.expr:
    if node is None:  # Two stars.
        raise OtherShape
    return node


@dataclass(frozen=True)
class Part:
    """A named part of a record.

    Args:
        required: Whether the part must be given.
    """

    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True)
class Record:
    """A call of a constructor with named arguments, or a dict with given keys."""

    name: str
    parts: tuple[Part, ...]
    make: Callable[..., Any]

    def source(self) -> Source | None:
        """The parts in order; a part with a default may be missing."""
        before, after = (f"{self.name}(", ")") if self.name else ("{", "}")
        made: list[tuple[Source, bool]] = []
        for part in self.parts:
            source = part.shape.source()
            if source is not None:
                made.append((self._named(part.name, source), part.required))
            elif part.required:
                return None
        body = _from_first(made)
        return (
            exact_text(before + after)
            if body is None
            else in_sequence(exact_text(before), body, exact_text(after))
        )

    def _named(self, name: str, source: Source) -> Source:
        if self.name:
            return Template.of((f"{name}=", ""), (name,), {name: source})
        label = name if name.isidentifier() else "value"
        keys = Choice.of([f"{name!r}: ", f'"{name}": '])
        return in_sequence(keys, Template.of(("", ""), (label,), {label: source}))

    def value(self, node: ast.expr) -> object:
        """The value that the constructor makes of the parts."""
        nodes: dict[str, ast.expr] = {}
        if self.name:
            call = called(node, self.name)
            nodes = {str(each.arg): each.value for each in call.keywords}
        elif isinstance(node, ast.Dict):
            for key, item in zip(node.keys, node.values, strict=True):
                if not isinstance(key, ast.Constant):
                    raise OtherShape
                nodes[str(key.value)] = item
        else:
            raise OtherShape
        shapes = {part.name: part for part in self.parts}
        if not nodes.keys() <= shapes.keys() or any(
            part.required and part.name not in nodes for part in self.parts
        ):
            raise OtherShape
        return self.make(**{name: shapes[name].shape.value(each) for name, each in nodes.items()})


def _from_first(parts: Sequence[tuple[Source, bool]]) -> Source | None:
    """Parts with commas between them; optional parts may be missing."""
    if not parts:
        return None
    (first, required), rest = parts[0], parts[1:]
    after: list[Source] = []
    for part, needed in rest:
        more = in_sequence(exact_text(", "), part)
        after.append(more if needed else Repetition(more, 0, 1))
    with_first = in_sequence(first, *after)
    if required:
        return with_first
    without = _from_first(rest)
    return either([with_first, exact_text("") if without is None else without])


_LIMITS: Final = (
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern",
)  # fmt: skip
_SEQUENCES: Final[dict[object, str]] = {list: "list", set: "set", frozenset: "frozenset"}


class Reader:
    """Reads types into shapes, counting how deep it is inside each class."""

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._inside: dict[object, int] = {}

    def shape(self, described: object, limits: Mapping[str, Any] | None = None) -> Shape:
        """The shape of a type.

        Raises:
            ConstraintError: The type cannot be written exactly.
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
            return Either(())
        self._inside[described] = self._inside.get(described, 0) + 1
        try:
            return self._record(described)
        finally:
            self._inside[described] -= 1

    def _record(self, described: type) -> Shape:
        hints = typing.get_type_hints(described, include_extras=True)
        name = described.__name__
        make = cast("Callable[..., Any]", described)
        own: Mapping[str, Any] = cast("type[Any]", described).__dict__
        parts: list[tuple[str, Any, bool]]
        if typing.is_typeddict(described) or type(described).__name__ == "_TypedDictMeta":
            name, make = "", dict
            required = cast("frozenset[str]", cast("Any", described).__required_keys__)
            # Hints written as strings show Required only once they are evaluated.
            said: dict[object, bool] = {Required: True, NotRequired: False}
            parts = [
                (key, hint, said.get(get_origin(hint), key in required))
                for key, hint in hints.items()
            ]
        elif dataclasses.is_dataclass(described):
            missing = dataclasses.MISSING
            parts = [
                (each.name, hints[each.name],
                 each.default is missing and each.default_factory is missing)
                for each in dataclasses.fields(described) if each.init
            ]  # fmt: skip
        elif issubclass(described, tuple) and "_fields" in own:
            defaults = cast("dict[str, object]", own["_field_defaults"])
            parts = [(key, hint, key not in defaults) for key, hint in hints.items()]
        elif "__pydantic_fields__" in own:
            annotated: Any = Annotated
            parts = [
                (
                    field.validation_alias if isinstance(field.validation_alias, str) else key,
                    annotated[(field.annotation, *field.metadata)]
                    if field.metadata else field.annotation,
                    bool(field.is_required()),
                )
                for key, field in cast("dict[str, Any]", own["__pydantic_fields__"]).items()
            ]  # fmt: skip
        else:
            raise refused(
                f"{name} does not say which texts its values are written as",
                "Use str, int, float, bool, None, a container of those, Literal, an Enum, a "
                "dataclass, a NamedTuple or a pydantic model.",
            )
        shaped = (Part(key, self.shape(hint), required) for key, hint, required in parts)
        return Record(name, tuple(shaped), make)


def _limits(metadata: tuple[object, ...]) -> dict[str, Any]:
    """The constraints in the metadata of a field, by the names that the libraries share.

    ``annotated_types`` and pydantic are optional, so attributes are read and not classes.
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
