"""The kinds of sources that are Python types: written as JSON, or as constructor calls.

Such a source contains another one, for the texts of its values, and knows the type by its name and
by the class statements that declared it. The type itself is never saved, because a file could then
name any code to import. A source that was read back parses as well as it can without the type.
(Constructor calls: Koo, Liu & He 2024, section 5.2.)
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Self, cast

from explorer.arguments import instance, whole_number
from explorer.automata.tree.nodes import Node, Source, Written
from explorer.errors import ConstraintError, DamagedFile, ExplorerError
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.algebra import Combination
from explorer.languages.sources.registry import register, register_reader
from explorer.languages.types.containers import Reader
from explorer.languages.types.declared import declared
from explorer.languages.types.remarks import checks_of
from explorer.languages.types.schema import adapter_of, schema_of, type_name, value_of
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

    def parse(self, text: str) -> object:
        """An instance of the type; plain data if the type is not known."""
        if self.adapter is None:
            return self.part.parse(text)
        return value_of(self.described, self.adapter, text)

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

    def parse(self, text: str) -> object:
        """An instance of the type."""
        if self.shape is None:
            raise ConstraintError(
                f"The type {self.name} is not known here: a file holds its texts, not its code.",
                remedy='Parse with from_type(T, style="python").',
            )
        try:
            return self.shape.value(ast.parse(text, mode="eval").body)
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
