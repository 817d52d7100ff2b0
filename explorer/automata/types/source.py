"""The kind of source that is a Python type, written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from explorer.arguments import instance
from explorer.automata.schema.source import JsonSchema
from explorer.automata.sources.algebra import Combination
from explorer.automata.sources.registry import register, register_reader
from explorer.automata.tree.nodes import Node, Source, Written
from explorer.automata.types.declared import declared
from explorer.automata.types.schema import adapter_of, schema_of, type_name, value_of
from explorer.errors import DamagedFile


@register("Python type")
@dataclass(frozen=True)
class JsonType(Combination):
    """A type whose values are written as JSON.

    What a file or another process reads back knows the schema and the name, not the type: a file
    could name any code to import. `parse` then gives what `json.loads` gives.

    Args:
        part: Its JSON Schema.
        name: Of the type.
        declaration: The class statements that it was declared with; empty for a type of a module.
        described: The type itself; ``None`` where it is not known.
    """

    kind: ClassVar[str] = "type"

    part: Source
    name: str
    declaration: str = ""
    described: object = field(default=None, compare=False, repr=False)
    adapter: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, described: object, *, declaration: str = "", **options: Any) -> Self:
        """The source of a type.

        Args:
            described: The type.
            declaration: What it was declared with.
            options: As `JsonSchema` has them.

        Raises:
            MissingDependency: Pydantic is not installed.
            ConstraintError: The type cannot be written as JSON exactly.
        """
        adapter = adapter_of(described)
        schema = JsonSchema.of(schema_of(described, adapter), **options)
        return cls(schema, type_name(described), declaration, described, adapter)

    @classmethod
    def read(cls, text: str) -> Self:
        """The type that a text declares; see `explorer.automata.types.declared`."""
        return cls.of(declared(text), declaration=text)

    @property
    def text(self) -> str:
        """The declaration, or the short form if the type was not declared."""
        return self.declaration or str(self)

    @property
    def children(self) -> tuple[Source, ...]:
        """The JSON Schema."""
        return (self.part,)

    def with_children(self, children: tuple[Source, ...]) -> Source:
        """Another schema for the same type, which refuses values that do not fit it."""
        return replace(self, part=children[0])

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The schema's own tree."""
        return trees[0]

    def parse(self, text: str) -> object:
        """An instance of the type; plain data where the type is not known."""
        if self.adapter is None:
            return self.part.parse(text)
        return value_of(self.described, self.adapter, text)

    def fields(self) -> dict[str, object]:
        """The name of the type, and its declaration."""
        found: dict[str, object] = {"name": self.name}
        return found | ({"declaration": self.declaration} if self.declaration else {})

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The schema that was saved, under the name of the type."""
        if len(children) != 1:
            raise DamagedFile(f"A saved type has {len(children)} schemas, not one.")
        name = instance("name", fields["name"], str, "a str", error=DamagedFile)
        text = fields.get("declaration", "")
        text = instance("declaration", text, str, "a str", error=DamagedFile)
        if not text:
            return cls(children[0], name)
        described = declared(text)  # Read, not run: it can be trusted with any file.
        return cls(children[0], name, text, described, adapter_of(described))

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        state = super().__getstate__()
        return state | {"described": None, "adapter": None}

    def spelled(self) -> str:
        """As Python writes it; a type that was not declared is named, which cannot be read back."""
        return f"from_type({self.declaration!r})" if self.declaration else str(self)

    def __str__(self) -> str:
        return f"from_type({self.name})"


register_reader("Python type", JsonType.read)
