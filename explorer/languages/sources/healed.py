"""The kind of source that begins inside the prompt's last token (token healing).

A prompt that ends in the middle of a word, ``"https:"``, is tokenized as nothing that a model has
read would be: ``"://"`` is a token of its own. So the last token is taken back, and the constraint
begins with its text, in whatever tokens the model prefers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from explorer.arguments import instance
from explorer.automata.tree.letters import letters
from explorer.automata.tree.nodes import Concat, Node, Source, Written
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.sources.algebra import Combination
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register


@register("healed")
@dataclass(frozen=True)
class Healed(Combination):
    """The end of a prompt, and then a constraint.

    Args:
        prefix: The text of the token that was taken back.
        part: What comes after it.
    """

    kind: ClassVar[str] = "healed"

    prefix: str
    part: Source

    @property
    def children(self) -> tuple[Source, ...]:
        """The source of the text after the prompt."""
        return (self.part,)

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same end of a prompt before something else."""
        return replace(self, part=children[0])

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """Both in turn; the prompt's end is called so."""
        before = letters(self.prefix, lambda _: (0, 0))
        named = Written(0, 0, before, label="the end of the prompt")
        return Concat(0, 0, (named, trees[0]))

    def parse(self, text: str) -> object:
        """The value of the text after the prompt."""
        return self.part.parse(text.removeprefix(self.prefix))

    def fields(self) -> dict[str, object]:
        """The end of the prompt."""
        return {"prefix": self.prefix}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The end of the prompt and the part that were saved."""
        if len(children) != 1:
            raise DamagedFile(f"A saved healed constraint has {len(children)} parts, not one.")
        prefix = instance("prefix", fields["prefix"], str, "a str", error=DamagedFile)
        try:
            check_encodable(prefix)
        except ConstraintError as error:
            raise DamagedFile(f"A saved prefix cannot be read: {error.message}") from error
        return cls(prefix, children[0])

    def __str__(self) -> str:
        return f"({self.prefix!r} of the prompt + {self.part})"
