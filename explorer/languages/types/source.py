"""The kind of source that is a Python type, written as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.registry import register, register_reader
from explorer.languages.types.described import DescribedType
from explorer.languages.types.schema import adapter_of, schema_of, type_name, value_of


@register("Python type")
@dataclass(frozen=True)
class JsonType(DescribedType):
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

    def parse(self, text: str) -> object:
        """An instance of the type; plain data where the type is not known."""
        if self.adapter is None:
            return self.part.parse(text)
        return value_of(self.described, self.adapter, text)

    def knowing(self, described: object) -> Self:
        """The same schema with the type, and what makes values of it."""
        return replace(self, described=described, adapter=adapter_of(described))

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        state = super().__getstate__()
        return state | {"described": None, "adapter": None}

    def called(self, argument: str) -> str:
        """``from_type`` with the type."""
        return f"from_type({argument})"


register_reader("Python type", JsonType.read)
