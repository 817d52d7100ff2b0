"""The protocols that arrays, objects and places use to ask the compiler that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.languages.schema.building.values import Values
from explorer.languages.schema.reading.subschemas import Subschema

Order = Literal["schema", "any"]
"""In which order the members of an object are written."""

Recursion = Literal["unroll", "stack"]
"""How schemas that lead back to themselves are followed: to a depth, or on a stack."""


@dataclass(frozen=True, slots=True)
class Depth:
    """The depth that values may still go down.

    Args:
        recursion: How many more references of recursive schemas may be followed inside each other.
        objects, arrays: How deep objects and arrays may nest in a value that no schema describes.
        beyond: What a recursive schema says of values beyond its depth: nothing, so that they are
            allowed, or else that there are none. A set that is taken away from another one must
            not miss any value.
        numbers: How numbers are written: also with exponents (``"free"``), or only in the two
            spellings that can be compared (``"plain"``), or so in containers alone
            (``"inside"``). A container that is taken away from another one must hold each number
            that it holds in every spelling that the other one has.
    """

    recursion: int
    objects: int
    arrays: int
    total: int
    beyond: bool = False
    numbers: Literal["free", "inside", "plain"] = "free"

    def comparing(self) -> Depth:
        """The same depth where containers are compared with others by the numbers in them."""
        return replace(self, numbers="inside") if self.numbers == "free" else self

    def entered(self) -> Depth:
        """The same depth inside a container."""
        return replace(self, numbers="plain") if self.numbers == "inside" else self

    def flipped(self) -> Depth:
        """The same depth for a set that is taken away."""
        return replace(self, beyond=not self.beyond)


class Site(Protocol):
    """A place in a value; see `explorer.languages.schema.building.places.SchemaPlace`."""

    @property
    def subschemas(self) -> tuple[Subschema, ...]:
        """Everything that may apply there."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The members that are named, in order."""
        ...

    @property
    def item(self) -> Site:
        """The place of an item."""
        ...

    @property
    def key(self) -> frozenset[object]:
        """The key that two equal places share."""
        ...

    def member(self, name: str | None) -> Site:
        """The place of a member's value."""
        ...


MakeRest = Callable[[Meter], Dfa]
"""Makes the texts after some members of an object."""


class Rests(Protocol):
    """Marks for the rest of an object; see `explorer.languages.schema.building.waiting.Waiting`."""

    def rest(self, key: object, make: MakeRest, at_once: MakeRest) -> bytes:
        """The mark for what follows the members of a set, with two ways to make it."""
        ...


class Making(Protocol):
    """The compiler, as its parts see it."""

    ordered: bool
    meter: Meter

    @property
    def rests(self) -> Rests | None:
        """The places where the rest of an object may wait."""
        ...

    def place(self, subschemas: Iterable[Subschema]) -> Site:
        """The place where these apply from outside."""
        ...

    def also_in_place(self, sub: Subschema) -> list[Subschema]:
        """The other subschemas that may apply where a subschema does."""
        ...

    def whole(self, sub: Subschema) -> Subschema:
        """A subschema with the keywords that bring others in place, if it was taken out of one."""
        ...

    def pattern(self, sub: Subschema, pattern: str, keyword: str) -> Dfa | None:
        """The texts in which a pattern is found; ``None`` if it was ignored."""
        ...

    def matches(self, sub: Subschema, pattern: str, name: str) -> bool:
        """Whether a pattern is found in a name."""
        ...

    def values(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values:
        """The values that satisfy all of some subschemas."""
        ...

    def values_inside(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values:
        """The same of a member or an item that is not compared: a mark, where it may wait."""
        ...

    def told_apart(self, several: list[Values]) -> list[Values]:
        """The same sets, none of which is another one under two marks."""
        ...

    def text(self, values: Values) -> Dfa:
        """The compact texts of a set of values."""
        ...

    def refuse(self, sub: Subschema, keyword: str, reason: str, remedy: str) -> None:
        """Raise for a keyword that cannot be followed, or note it."""
        ...
