"""The kind of source that is a Python type, written as constructor calls (Koo et al., 5.2)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from explorer.arguments import instance, whole_number
from explorer.automata.sources.algebra import Combination
from explorer.automata.sources.registry import register, register_reader
from explorer.automata.tree.nodes import Node, Source, Written
from explorer.automata.types.declared import declared
from explorer.automata.types.reading import Reader
from explorer.automata.types.schema import type_name
from explorer.automata.types.shapes import OtherShape, Shape
from explorer.errors import ConstraintError, DamagedFile, ExplorerError


@register("Python calls")
@dataclass(frozen=True)
class CallType(Combination):
    """A type whose values are written as Python would construct them.

    A text is never evaluated: its syntax tree is read, literals as literals, and the constructors
    of the type are called by this program. What a file or another process reads back knows the
    texts and the name, but not the type, and gives no value.

    Args:
        part: The texts, made of other kinds of sources.
        name: Of the type.
        declaration: The class statements that it was declared with; empty for a type of a module.
        shape: What the type is made of; ``None`` where it is not known.
    """

    kind: ClassVar[str] = "calls"

    part: Source
    name: str
    declaration: str = ""
    shape: Shape | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, described: object, max_depth: object = 3, *, declaration: str = "") -> Self:
        """The source of a type.

        Args:
            described: The type.
            declaration: What it was declared with.
            max_depth: How often a class may stand inside itself.

        Raises:
            ConstraintError: The type cannot be written exactly.
        """
        depth = whole_number("max_depth", max_depth, 0, 10, error=ConstraintError)
        try:
            shape = Reader(depth).shape(described)
            source = shape.source()
        except ExplorerError:
            raise
        except Exception as error:  # Hints that cannot be resolved, and code of the type's own.
            raise ConstraintError(
                f"The hints of {type_name(described)} cannot be read: {error}.",
                remedy="Define the types that they name at the top of a module.",
            ) from error
        if source is None:
            raise ConstraintError(
                f"{type_name(described)} has no finite value within max_depth={depth}.",
                remedy="Make the recursive field optional, or a list.",
            )
        return cls(source, type_name(described), declaration, shape)

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
        """The texts."""
        return (self.part,)

    def with_children(self, children: tuple[Source, ...]) -> Source:
        """Other texts of the same type."""
        return replace(self, part=children[0])

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The tree of the texts."""
        return trees[0]

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
        except Exception as error:  # What the type's own constructor raises, and Python's limits.
            raise ConstraintError(
                f"The text is Python for {self.name}, but its own checks refuse it: {error}",
                remedy="Say in the type's fields what its constructor checks.",
            ) from error

    def fields(self) -> dict[str, object]:
        """The name of the type, and its declaration."""
        found: dict[str, object] = {"name": self.name}
        return found | ({"declaration": self.declaration} if self.declaration else {})

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The texts that were saved, under the name of the type."""
        if len(children) != 1:
            raise DamagedFile(f"A saved type has {len(children)} parts, not one.")
        name = instance("name", fields["name"], str, "a str", error=DamagedFile)
        text = fields.get("declaration", "")
        text = instance("declaration", text, str, "a str", error=DamagedFile)
        shape = cls.read(text).shape if text else None
        return cls(children[0], name, text, shape)

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        return super().__getstate__() | {"shape": None}

    def spelled(self) -> str:
        """As Python writes it; a type that was not declared is named, which cannot be read back."""
        declared_as = f'from_type({self.declaration!r}, style="python")'
        return declared_as if self.declaration else str(self)

    def __str__(self) -> str:
        return f'from_type({self.name}, style="python")'


register_reader("Python calls", CallType.read)
