"""What the kinds of sources that are Python types have in common, however values are written.

Such a source is made of another one, the texts of its values, and knows the type by its name and
by the class statements that declared it. The type itself is never saved: a file could name any code
to import. What is read back gives as much of a value as it can without it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from explorer.arguments import instance
from explorer.automata.tree.nodes import Node, Source, Written
from explorer.errors import DamagedFile
from explorer.languages.sources.algebra import Combination
from explorer.languages.types.declared import declared


@dataclass(frozen=True)
class DescribedType(Combination):
    """A type as a source.

    Args:
        part: The texts of its values.
        name: Of the type.
        declaration: The class statements that it was declared with; empty for a type of a module.
    """

    part: Source
    name: str
    declaration: str = ""

    @classmethod
    @abstractmethod
    def of(cls, described: object, *, declaration: str = "") -> Self:
        """The source of a type.

        Args:
            described: The type.
            declaration: What it was declared with.

        Raises:
            ConstraintError: Its values cannot be written exactly.
        """

    @abstractmethod
    def knowing(self, described: object) -> Self:
        """The same source with the type itself, which was read from the declaration.

        Args:
            described: The type.
        """

    @classmethod
    def read(cls, text: str) -> Self:
        """The type that a text declares; see `explorer.languages.types.declared`."""
        return cls.of(declared(text), declaration=text)

    @property
    def text(self) -> str:
        """The declaration, or the short form if the type was not declared."""
        return self.declaration or str(self)

    @property
    def children(self) -> tuple[Source, ...]:
        """The source of the texts."""
        return (self.part,)

    def with_children(self, children: tuple[Source, ...]) -> Source:
        """Other texts of the same type; a value that does not fit the type is refused later."""
        return replace(self, part=children[0])

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The tree of the texts."""
        return trees[0]

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
        text: Any = fields.get("declaration", "")
        text = instance("declaration", text, str, "a str", error=DamagedFile)
        saved = cls(children[0], name, text)
        # Read, not run: a declaration can be trusted with any file.
        return saved.knowing(declared(text)) if text else saved

    @abstractmethod
    def called(self, argument: str) -> str:
        """The call that makes the source, as Python writes it.

        Args:
            argument: What is given for the type.
        """

    def spelled(self) -> str:
        """As Python writes it; a type that was not declared is named, which cannot be read back."""
        return self.called(repr(self.declaration)) if self.declaration else str(self)

    def __str__(self) -> str:
        return self.called(self.name)
