"""A set of values, given by subschemas that hold and conjunctions that do not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from explorer.languages.schema.reading.subschemas import Subschema

Conjunction = tuple[Subschema, ...]
"""Subschemas that all hold."""


def conjunction(subs: Conjunction) -> Conjunction | None:
    """A conjunction with each subschema once and no ``true``; ``None`` if one is ``false``."""
    known: dict[object, Subschema] = {}
    for sub in subs:
        if sub.schema is False:
            return None
        if sub.schema is not True and sub.schema:
            known.setdefault((sub.key, sub.referenced), sub)
    return tuple(known.values())


def key_of(subs: Conjunction) -> frozenset[object]:
    """The key that equal conjunctions share."""
    return frozenset((sub.key, sub.referenced) for sub in subs)


@dataclass(frozen=True, eq=False)
class Wanted:
    """A set of JSON values, given by the subschemas that hold of them and those that do not.

    Args:
        held: Subschemas that all hold.
        excluded: Conjunctions of which none holds.
    """

    held: Conjunction = ()
    excluded: tuple[Conjunction, ...] = ()

    @cached_property
    def key(self) -> tuple[frozenset[object], frozenset[frozenset[object]]]:
        """The key that equal sets share."""
        return key_of(self.held), frozenset(map(key_of, self.excluded))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wanted) and self.key == other.key

    def also(self, subs: Conjunction) -> Wanted:
        """The values of this set that satisfy further subschemas."""
        return Wanted((*self.held, *subs), self.excluded)

    def but(self, subs: Conjunction) -> Wanted:
        """The values of this set that do not satisfy all of some subschemas."""
        return Wanted(self.held, (*self.excluded, subs))
