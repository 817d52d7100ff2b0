"""The kinds of sources that are Python types, as JSON or as constructor calls, and `from_type`.

Such a source contains another one, for the texts of its values, and knows the type by its name. The
type itself is never saved, because a file could then name any code to import. A source that was
read back parses as well as it can without the type.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, NewType, Self, TypeVar, cast, get_args

from explorer.arguments import instance, plain, shown, whole_number, wrong
from explorer.automata.tree.nodes import Node, Source, Written
from explorer.errors import ConstraintError, DamagedFile, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.reading.text import is_response_format
from explorer.languages.schema.source import OPTIONS, JsonSchema, check_options, json_schema
from explorer.languages.sources.algebra import Combination
from explorer.languages.sources.registry import register
from explorer.languages.types import calls
from explorer.languages.types.schema import adapter_of, is_type, schema_of, type_name, value_of


@dataclass(frozen=True)
class DescribedType(Combination):
    """A type as a source."""

    part: Source
    name: str

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The tree of the texts."""
        return trees[0]

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The texts that were saved, under the name of the type."""
        return cls(children[0], instance("name", fields["name"], str, "a str", error=DamagedFile))


@register("Python type")
@dataclass(frozen=True)
class JsonType(DescribedType):
    """A type whose values are written as JSON.

    After it is read back from a file, or in another process, it knows the schema and the name but
    not the type. `parse` then gives the result of `json.loads`.

    Args:
        changed: Whether the schema is another one than that of the type.
        described: The type itself, with its adapter; ``None`` where it is not known.
    """

    kind: ClassVar[str] = "type"

    changed: bool = False
    described: object = field(default=None, compare=False, repr=False)
    adapter: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, described: object, **options: Any) -> Self:
        """The source of a type.

        Args:
            options: The options of `JsonSchema`.

        Raises:
            MissingDependency: Pydantic is not installed.
            ConstraintError: The type cannot be written as JSON.
        """
        adapter = adapter_of(described)
        part = JsonSchema.of(schema_of(described, adapter), **options)
        return cls(part, type_name(described), described=described, adapter=adapter)

    def parse(self, data: bytes) -> object:
        """An instance of the type; plain data if the type is not known."""
        if self.adapter is None:
            return self.part.parse(data)
        return value_of(self.described, self.adapter, data.decode())

    def fields(self) -> dict[str, object]:
        """The name of the type."""
        saved: dict[str, object] = {"name": self.name}
        return saved | ({"changed": True} if self.changed else {})

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The texts that were saved, under the name of the type."""
        return replace(super().load(fields, children), changed="changed" in fields)

    @property
    def remark(self) -> str:
        """The options that differ from the defaults, and whether the schema was changed."""
        changed = "its schema was changed" if self.changed else ""
        return ", ".join(filter(None, [self.part.remark, changed]))

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The type with another schema."""
        changed = self.changed or children[0].text != self.part.text
        return replace(super().with_children(children), changed=changed)

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        return super().__getstate__() | {"described": None, "adapter": None}

    def __str__(self) -> str:
        return f"from_type({self.name})"


@register("Python calls")
@dataclass(frozen=True)
class CallType(DescribedType):
    """A type whose values are written as Python would construct them.

    After it is read back from a file, or in another process, it knows the texts and the name but
    not the type, and gives no values.

    Args:
        names: The classes that a text may call; ``None`` if the type is not known.
    """

    kind: ClassVar[str] = "calls"

    names: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, described: object, max_depth: object = 3) -> Self:
        """The source of a type.

        Raises:
            ConstraintError: The type cannot be written exactly.
        """
        depth = whole_number("max_depth", max_depth, 0, 10, error=ConstraintError)
        reader = calls.Calls(depth)
        try:
            source = reader.texts(described)
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
        return cls(source, type_name(described), reader.names)

    def fields(self) -> dict[str, object]:
        """The name of the type."""
        return {"name": self.name}

    def parse(self, data: bytes) -> object:
        """An instance of the type."""
        if self.names is None:
            raise ConstraintError(
                f"The type {self.name} is not known here: a file holds its texts, not its code.",
                remedy='Parse with from_type(T, style="python").',
            )
        try:
            return calls.constructed(ast.parse(data.decode(), mode="eval").body, self.names)
        except Exception as error:  # From the type's own constructor, or Python's limits.
            raise ConstraintError(
                f"The text is Python for {self.name}, but its own checks refuse it: {error}",
                remedy="Say in the type's fields what its constructor checks.",
            ) from error

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        return super().__getstate__() | {"names": None}

    def __str__(self) -> str:
        return f'from_type({self.name}, style="python")'


Style = Literal["json", "python"]
"""The notation for the values of a type."""


def from_type(described: Any, *, style: Style = "json", **options: Any) -> Constraint:
    """The texts of the values of a Python type.

    Annotations written as strings (``x: "int"``, or all of them under ``from __future__ import
    annotations``) are evaluated, as `typing.get_type_hints` does, so a type is code like any other:
    give only types that you would run.

    Args:
        described: For JSON, anything that pydantic writes a JSON Schema of: a pydantic model, a
            dataclass, a TypedDict, a NamedTuple, an Enum, a Literal, a union, a container, or a
            scalar such as ``datetime``, ``UUID`` and ``Decimal``; with constraints in
            ``Annotated``. For Python calls, classes with fields, enumerations, lists, tuples,
            dicts, literals and plain scalars.
        style: ``"json"`` for JSON as pydantic's schema describes it, with closed objects: no
            members but their own, unless ``model_config`` says ``extra="allow"``; ``"python"`` for
            constructor calls such as ``Point(x=3)``, with arguments in the order of the type.
        options: For JSON, ``whitespace``, ``property_order``, ``max_depth`` and the other options
            of `json_schema`; for Python, ``max_depth``, how often a class may be nested in itself
            (default 3).

    Returns:
        A constraint whose `Constraint.parse` gives an instance of the type, and runs the checks
        that are Python code, such as a ``field_validator``.

    Raises:
        MissingDependency: Pydantic, which JSON needs, is not installed.
        ConstraintError: A part of the type cannot be written.

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
    if isinstance(style, str) and style in get_args(Style):  # pyright: ignore[reportUnnecessaryIsInstance]
        known = OPTIONS if style == "json" else ("max_depth",)
        check_options(f'from_type(style="{style}")', options, known)
    return Constraint(typed(described, style=style, **options))


def typed(described: object, *, style: object = "json", **options: Any) -> JsonType | CallType:
    """The source of a type; the arguments are those of `from_type`.

    Raises:
        MissingDependency: Pydantic is not installed.
        ConstraintError: The style is not one of two, or the type cannot be written.
    """
    style = plain(style)
    if not isinstance(style, str) or style not in get_args(Style):
        raise wrong(
            "style", style, "a style", remedy='Write "json" or "python".', error=ConstraintError
        )
    is_function = callable(described) and not (is_type(described) or isinstance(described, NewType))
    if is_function or isinstance(described, _DATA):
        given = cast("object", described)
        raise wrong(
            "described", given, "a type", error=ConstraintError,
            remedy="Give a type such as list[int], a dataclass or a TypedDict; for a function, the "
            'type of what it returns: typing.get_type_hints(f)["return"].',
        )  # fmt: skip
    kind = JsonType if style == "json" else CallType
    return kind.of(described, **options)


_DATA: Final = (dict, list, tuple, set, frozenset, bytes, int, float, complex, TypeVar)
"""Plain data, and a variable, in place of a type: ``[int]``."""


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
