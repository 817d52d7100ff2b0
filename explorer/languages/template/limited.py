"""The kind of source that is a part with a limit on its tokens: ``gen(..., max_tokens=32)``.

A token counts if it writes at least one byte of the part. So a token that crosses an edge of the
part counts too, a token that two parts share counts for both, and a token that is not text counts
as one. The number of tokens is not a property of the text, so the part is a machine over bytes *and
the ends of tokens* (`explorer.automata.tree.build`): the product of its own machine and a counter
of the stretches between two marks. Where a text can be divided into parts in several ways, the
limits hold for at least one of them.

Cost: the states of the part times the limit, before minimisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from explorer.arguments import whole_number
from explorer.automata.tree.nodes import Node, Source, TokenLimit
from explorer.errors import ConstraintError
from explorer.languages.regex.source import Regex
from explorer.languages.sources.aliases import Aliases
from explorer.languages.sources.choice import Choice
from explorer.languages.sources.registry import register
from explorer.languages.template.until import Until, UntilMatch

MOST_TOKENS: Final = 10_000
"""The largest limit; a part has a state for each token that is counted."""


@register("part with a token limit")
@dataclass(frozen=True)
class Limited(Source):
    """A part with a limit on the number of tokens that write it.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"aa", b"."], eos_ids=[3])
        >>> part = explorer.gen(regex="a+", max_tokens=2)
        >>> machine = explorer.compile(explorer.template("{x}.", x=part), vocab)
        >>> state = machine.step(machine.step(machine.start, 1), 0)
        >>> machine.allowed(state).tolist()
        [False, False, True, False]
    """

    kind: ClassVar[str] = "limited"
    plain_text: ClassVar[bool] = False

    part: Source
    most: int

    @property
    def over_tokens(self) -> bool:
        """True: the same text may be few tokens or many."""
        return True

    def lower(self) -> Node:
        """The syntax tree of the part, with a limit around it."""
        return TokenLimit(0, 0, replace(self.part.tree, child=0), self.most)

    def parse(self, data: bytes) -> object:
        """The value of the text for the part."""
        return self.part.parse(data)

    def fields(self) -> dict[str, object]:
        """The limit."""
        return {"max_tokens": self.most}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The limit and the part that were saved."""
        return cls.of(children[0], fields["max_tokens"])

    @classmethod
    def of(cls, part: Source, most: object) -> Self:
        """The source of a part with a limit, which is checked.

        Raises:
            ConstraintError: The limit is not a whole number from 1 to `MOST_TOKENS`.
        """
        return cls(part, whole_number("max_tokens", most, 1, MOST_TOKENS, error=ConstraintError))

    def spelled(self) -> str:
        """The Python call that makes this source."""
        match self.part:
            case Regex():
                given = f"regex={self.part.pattern!r}"
            case Until() | UntilMatch():
                given = str(self.part).removeprefix("gen(").removesuffix(")")
            case Choice(texts=texts):
                given = f"choices={list(texts)!r}"
            case Aliases():
                given = f"choices={self.part.spelled().removeprefix('choice(').removesuffix(')')}"
            case _:
                given = f"constraint={self.part.spelled()}"
        return f"gen({given}, max_tokens={self.most})"

    def __str__(self) -> str:
        return self.spelled()
