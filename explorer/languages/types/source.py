"""The kinds of sources that are Python types, as JSON or as constructor calls, and `from_type`.

Such a source contains another one, for the texts of its values, and knows the type by its name and
by the class statements that declared it. The type itself is never saved, because a file could then
name any code to import. A source that was read back parses as well as it can without the type.
(Constructor calls: Koo, Liu & He 2024, section 5.2.)
"""

from __future__ import annotations

import ast
import functools
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import isroutine
from typing import Any, ClassVar, Final, Literal, Self, TypeVar, cast, get_args

from explorer.arguments import instance, plain, shown, whole_number, wrong
from explorer.automata.tree.nodes import Node, Source, Written
from explorer.errors import ConstraintError, DamagedFile, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.reading.text import is_response_format
from explorer.languages.schema.source import OPTIONS, JsonSchema, check_options, json_schema
from explorer.languages.sources.algebra import Combination
from explorer.languages.sources.registry import register, register_reader
from explorer.languages.types.containers import Reader
from explorer.languages.types.declared import declared
from explorer.languages.types.remarks import OF_A_FUNCTION, checks_of
from explorer.languages.types.schema import adapter_of, is_type, schema_of, type_name, value_of
from explorer.languages.types.shapes import OtherShape, Shape


@dataclass(frozen=True)
class DescribedType(Combination):
    """A type as a source.

    Args:
        declaration: The class statements that it was declared with; empty for a type of a module.
        notes: Sentences on conditions of the type that its texts may not meet.
    """

    part: Source
    name: str
    declaration: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    @abstractmethod
    def of(cls, described: object, *, declaration: str = "") -> Self:
        """The source of a type.

        Raises:
            ConstraintError: The values of the type cannot be written exactly.
        """

    @abstractmethod
    def knowing(self, described: object) -> Self:
        """This source with the type itself, read from the declaration."""

    @classmethod
    def read(cls, text: str) -> Self:
        """The type that a text declares; see `explorer.languages.types.declared`."""
        return cls.of(declared(text), declaration=text)

    @property
    def text(self) -> str:
        """The declaration, or the short form if the type was not declared."""
        return self.declaration or str(self)

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The tree of the texts."""
        return trees[0]

    def fields(self) -> dict[str, object]:
        """The name of the type, its declaration and the notes."""
        found: dict[str, object] = {"name": self.name}
        if self.notes:
            found["notes"] = list(self.notes)
        return found | ({"declaration": self.declaration} if self.declaration else {})

    def warnings(self) -> tuple[str, ...]:
        """The notes, and the warnings of the source of the texts."""
        return self.notes + super().warnings()

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The texts that were saved, under the name of the type."""
        name = instance("name", fields["name"], str, "a str", error=DamagedFile)
        text: Any = fields.get("declaration", "")
        text = instance("declaration", text, str, "a str", error=DamagedFile)
        given: Any = fields.get("notes", [])
        listed = cast("list[object]", instance("notes", given, list, "a list", error=DamagedFile))
        notes = tuple(instance("notes", each, str, "a str", error=DamagedFile) for each in listed)
        saved = cls(children[0], name, text, notes)
        # A declaration is read and not run, so any file may hold one.
        return saved.knowing(declared(text)) if text else saved

    @abstractmethod
    def called(self, argument: str) -> str:
        """The Python call that makes this source from an argument."""

    def spelled(self) -> str:
        """The Python call; a type without a declaration is named, which cannot be read back."""
        return self.called(repr(self.declaration)) if self.declaration else str(self)

    def __str__(self) -> str:
        return self.called(self.name)


_CHANGED: Final = "Its schema was changed, so it differs from the schema of the type."


@register("Python type")
@dataclass(frozen=True)
class JsonType(DescribedType):
    """A type whose values are written as JSON.

    After it is read back from a file, or in another process, it knows the schema and the name but
    not the type. `parse` then gives the result of `json.loads`.

    Args:
        declaration: The class statements that it was declared with; empty for a type of a module.
        described: The type itself; ``None`` where it is not known.
    """

    kind: ClassVar[str] = "type"

    described: object = field(default=None, compare=False, repr=False)
    adapter: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, described: object, *, declaration: str = "", **options: Any) -> Self:
        """The source of a type.

        Args:
            options: The options of `JsonSchema`.

        Raises:
            MissingDependency: Pydantic is not installed.
            ConstraintError: The type cannot be written as JSON exactly.
        """
        adapter = adapter_of(described)
        schema, notes = schema_of(described, adapter)
        part = JsonSchema.of(schema, **options)
        return cls(part, type_name(described), declaration, notes, described, adapter)

    def parse(self, data: bytes) -> object:
        """An instance of the type; plain data if the type is not known."""
        if self.adapter is None:
            return self.part.parse(data)
        return value_of(self.described, self.adapter, data.decode())

    def knowing(self, described: object) -> Self:
        """This source with the type and its pydantic adapter."""
        return replace(self, described=described, adapter=adapter_of(described))

    @property
    def remark(self) -> str:
        """The options that differ from the defaults, and whether the schema was changed."""
        changed = "its schema was changed" if _CHANGED in self.notes else ""
        return ", ".join(filter(None, [self.part.remark, changed]))

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The type with another schema; a note says that it was changed."""
        made = super().with_children(children)
        same = children[0].text == self.part.text or _CHANGED in self.notes
        return made if same else replace(made, notes=(*self.notes, _CHANGED))

    def edited(self, text: str) -> Self | None:
        """The source of another declaration, with the options of this schema."""
        options = cast(JsonSchema, self.part).options
        made = self.read(text)
        part = replace(cast(JsonSchema, made.part), options=options)
        return None if part == made.part else replace(made, part=part)

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        state = super().__getstate__()
        return state | {"described": None, "adapter": None}

    def called(self, argument: str) -> str:
        """``from_type`` with the type."""
        return f"from_type({argument})"


register_reader("Python type", JsonType.read)


@register("Python calls")
@dataclass(frozen=True)
class CallType(DescribedType):
    """A type whose values are written as Python would construct them.

    A text is never evaluated: its syntax tree is read, literals as literals, and only the
    constructors of the type are called. After it is read back from a file, or in another process,
    it knows the texts and the name but not the type, and gives no values.

    Args:
        declaration: The class statements that it was declared with; empty for a type of a module.
        shape: The shape of the type; ``None`` if the type is not known.
    """

    kind: ClassVar[str] = "calls"

    shape: Shape | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, described: object, max_depth: object = 3, *, declaration: str = "") -> Self:
        """The source of a type.

        Raises:
            ConstraintError: The type cannot be written exactly.
        """
        depth = whole_number("max_depth", max_depth, 0, 10, error=ConstraintError)
        try:
            shape = Reader(depth).shape(described)
            source = shape.source()
        except ExplorerError:
            raise
        except Exception as error:  # From hints that cannot be resolved, or the type's own code.
            raise ConstraintError(
                f"The hints of {type_name(described)} cannot be read: {error}.",
                remedy="Define the types that they name at the top of a module.",
            ) from error
        if source is None:
            raise ConstraintError(
                f"{type_name(described)} has no finite value within max_depth={depth}.",
                remedy="Make the recursive field optional, or a list.",
            )
        return cls(source, type_name(described), declaration, checks_of(described), shape)

    def parse(self, data: bytes) -> object:
        """An instance of the type."""
        if self.shape is None:
            raise ConstraintError(
                f"The type {self.name} is not known here: a file holds its texts, not its code.",
                remedy='Parse with from_type(T, style="python").',
            )
        try:
            return self.shape.value(ast.parse(data.decode(), mode="eval").body)
        except OtherShape as error:
            raise ConstraintError(
                f"The text is not a value of {self.name}.", remedy="Report it with the type."
            ) from error
        except ExplorerError:
            raise
        except Exception as error:  # From the type's own constructor, or Python's limits.
            raise ConstraintError(
                f"The text is Python for {self.name}, but its own checks refuse it: {error}",
                remedy="Say in the type's fields what its constructor checks.",
            ) from error

    def knowing(self, described: object) -> Self:
        """This source with the shape of the type."""
        return replace(self, shape=self.of(described).shape)

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        return super().__getstate__() | {"shape": None}

    def called(self, argument: str) -> str:
        """``from_type`` with the type."""
        return f'from_type({argument}, style="python")'


register_reader("Python calls", CallType.read)


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


def as_constraint(given: object) -> Constraint:
    """The constraint that a user's argument stands for, as all functions take one.

    Args:
        given: A constraint; or what `json_schema` takes for one without doubt: a pydantic model, a
            dataclass or another type, or OpenAI's ``response_format``.

    Raises:
        ConstraintError: It is anything else; a string could mean a pattern or a text.

    Example:
        >>> as_constraint(bool)
        from_type(bool)
    """
    if isinstance(given, Constraint):
        return given
    if is_type(given) or is_response_format(given):
        return json_schema(cast("type[Any]", given))
    if isinstance(given, str):
        raise ConstraintError(
            f"constraint is {shown(plain(given))} (str), not a constraint: it could be a pattern "
            "or a text.",
            remedy="Write regex(...) or literal(...).",
            evidence={"constraint": given},
        )
    remedy = "Give regex(...), choice([...]), json_schema(...), or a type such as a pydantic model."
    if isinstance(given, Mapping):
        given = cast("Mapping[object, object]", given)
        remedy = "Write json_schema(...) if it is a JSON Schema, or choice(...) if it names texts."
    raise wrong("constraint", given, "a constraint", remedy=remedy, error=ConstraintError)


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
