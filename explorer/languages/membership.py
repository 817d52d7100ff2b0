"""The texts of a source: whether a text is one, and the machine that is asked.

A text is in an intersection exactly if it is in both parts. So nobody has to know whether the
whole has any words, which of two grammars together nobody can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from explorer.automata.discovered.discover import discover, small_or_discovered
from explorer.automata.machine import ByteMachine
from explorer.automata.tree.build import build_over_tokens, texts_are_those_of, texts_of
from explorer.automata.tree.nodes import Source
from explorer.automata.valid_utf8 import any_text
from explorer.automata.words import accepts
from explorer.budget import Meter
from explorer.errors import NotRegular


def built_or_discovered(
    build: Callable[[Meter], ByteMachine], meter: Meter, source: Source
) -> ByteMachine:
    """A closed machine, or where rules recurse the machine that discovers its states.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    try:
        return build(meter)
    except NotRegular:
        return discover(source.tree, meter.budget, meter)


@dataclass(frozen=True)
class Membership:
    """The texts of a source; its machine is made when it is first asked, and kept.

    Example:
        >>> from explorer import regex
        >>> Membership((regex("a*") & regex("..")).source).has(b"aa")
        True
    """

    source: Source

    @cached_property
    def machine(self) -> ByteMachine:
        """The machine of the texts: closed where it is small, else one that is discovered.

        Where a part speaks about tokens, its texts are those that can be cut into tokens somehow.
        """
        tree = self.source.tree
        if self.source.over_tokens and not texts_are_those_of(tree):
            meter = Meter()
            return texts_of(build_over_tokens(tree, meter), meter)
        return small_or_discovered(tree)

    @cached_property
    def _parts(self) -> dict[int, Membership]:
        return {id(child): Membership(child) for child in self.source.children}

    def __getstate__(self) -> dict[str, object]:
        """All but the parts, which are known by identities that a copy does not share."""
        return {name: value for name, value in vars(self).items() if name != "_parts"}

    def has(self, text: bytes) -> bool:
        """Whether a text is a word of the source."""
        if not self.source.over_tokens:
            told = self.source.by_parts(lambda child: self._parts[id(child)].has(text))
            if told is not None:
                return told and any_text().accepts(text)
        return accepts(self.machine, text)
