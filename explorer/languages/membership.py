"""Whether a text is a word, asked of the parts of a combination, each by itself.

A text is in an intersection exactly if it is in both parts. So nobody has to know whether the
whole has any words, which of two grammars together nobody can.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from explorer.automata.discovered.discover import discover, small_or_discovered
from explorer.automata.machine import ByteMachine
from explorer.automata.tree.nodes import Source
from explorer.automata.words import accepts
from explorer.budget import Meter
from explorer.errors import NotRegular
from explorer.languages.sources.abilities import DecidesByParts


def built_or_discovered(
    build: Callable[[Meter], ByteMachine], meter: Meter, source: Source
) -> ByteMachine:
    """A closed machine, or where rules recurse the machine that discovers its states.

    Args:
        build: Builds the closed one.
        meter: The limits for either.
        source: The same constraint.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    try:
        return build(meter)
    except NotRegular:
        return discover(source.tree, meter.budget, meter)


class Membership:
    """The texts of a source, each looked up in the machines of its parts.

    Args:
        source: The source; its machines are made when the first text is looked up.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @classmethod
    def of_parts(cls, source: Source) -> Membership | None:
        """The texts of a combination; ``None`` for a source that its own machine answers for."""
        by_parts = isinstance(source, DecidesByParts) and not source.over_tokens
        return cls(source) if by_parts else None

    @cached_property
    def _parts(self) -> tuple[Membership, ...]:
        return tuple(map(Membership, self._source.children))

    @cached_property
    def _machine(self) -> ByteMachine:
        return small_or_discovered(self._source.tree)

    def has(self, text: bytes) -> bool:
        """Whether a text is a word of the source.

        Example:
            >>> from explorer import regex
            >>> Membership((regex("a*") & regex("..")).source).has(b"aa")
            True
        """
        if isinstance(self._source, DecidesByParts):
            return self._source.has(text, [part.has(text) for part in self._parts])
        return accepts(self._machine, text)
