"""A grammar some of whose terminals are constraints that have no form in GBNF.

Rules that are Python objects may hold a JSON Schema, an intersection, a machine from elsewhere. In
the text of the grammar, ``<1: JSON Schema>`` stands for the first of them; its own text and places
are those of the constraint, which is a child of the grammar as the parts of a union are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from explorer.arguments import flag, instance
from explorer.automata.tree.nodes import Group, Node, Source
from explorer.budget import Meter
from explorer.errors import DamagedFile, ExplorerError
from explorer.languages.grammar.notations.gbnf import GbnfReader
from explorer.languages.grammar.notations.reading import WrittenRule
from explorer.languages.grammar.source import GbnfGrammar
from explorer.languages.sources.registry import register

_MARK: Final = re.compile(r"<(\d{1,9}): [^>\n]*>")


class EmbeddingReader(GbnfReader):
    """A grammar in GBNF with constraints for some terminals.

    Args:
        text: The grammar.
        terminals: The constraints, the first for ``<1: ...>``.
    """

    def __init__(self, text: str, terminals: tuple[Source, ...]) -> None:
        super().__init__(text)
        self.terminals = terminals

    def atom(self) -> Node | None:
        """The piece that comes next."""
        found = _MARK.match(self.text, self.at)
        if found is None or not 1 <= int(found[1]) <= len(self.terminals):
            return super().atom()
        self.at = found.end()
        number = int(found[1]) - 1
        inner = replace(self.terminals[number].tree, child=number)
        return Group(found.start(), found.end(), inner, None, None)


@register("grammar with constraints")
@dataclass(frozen=True)
class EmbeddingGrammar(GbnfGrammar):
    """A grammar in GBNF with constraints for some terminals.

    Args:
        grammar, ambiguous: As of any grammar.
        terminals: The constraints.
    """

    kind: ClassVar[str] = "embedding-grammar"
    plain_text: ClassVar[bool] = False

    terminals: tuple[Source, ...] = ()

    @property
    def children(self) -> tuple[Source, ...]:
        """The constraints."""
        return self.terminals

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same rules around other constraints."""
        return replace(self, terminals=children)

    def written(self, meter: Meter) -> list[WrittenRule]:
        """The rules of the text, unchecked."""
        reader = EmbeddingReader(self.grammar, self.terminals)
        reader.meter = meter
        return reader.rules()

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The grammar that was saved, read again."""
        text = instance("grammar", fields["grammar"], str, "a str", error=DamagedFile)
        made = cls(text, flag("ambiguous", fields["ambiguous"]), children)
        try:
            return made.checked()
        except ExplorerError as error:
            raise DamagedFile(f"A saved grammar cannot be read: {error.message}") from error
