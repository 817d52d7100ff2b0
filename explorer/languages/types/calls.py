"""The kind of source that is a Python type, written as constructor calls (Koo et al., 5.2)."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from explorer.arguments import whole_number
from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.sources.registry import register, register_reader
from explorer.languages.types.described import DescribedType
from explorer.languages.types.reading import Reader
from explorer.languages.types.schema import type_name
from explorer.languages.types.shapes import OtherShape, Shape


@register("Python calls")
@dataclass(frozen=True)
class CallType(DescribedType):
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

    def knowing(self, described: object) -> Self:
        """The same texts with the shapes of the type."""
        return replace(self, shape=self.of(described).shape)

    def __getstate__(self) -> dict[str, object]:
        """The fields without the type, which a process that compiles may not be able to import."""
        return super().__getstate__() | {"shape": None}

    def called(self, argument: str) -> str:
        """``from_type`` with the type."""
        return f'from_type({argument}, style="python")'


register_reader("Python calls", CallType.read)
