"""A set of JSON values, by type: what a schema means before it is written as text.

The texts of different types begin with different bytes, so a set of values is a record of seven
sets that never meet, and each operation is done type by type. That keeps the machines small: the
difference of two object schemas never looks at a number.

Strings are kept as languages of the text they stand for, numbers as languages of two spellings,
arrays and objects as languages of their compact text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from explorer.automata.construction import operations
from explorer.automata.construction.operations import difference, intersection
from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.languages.schema.text.counting import (
    has_marks,
    same_marks,
    without_values,
    written_as_json,
    written_as_text,
)
from explorer.languages.schema.text.exponents import Every, with_exponents
from explorer.languages.schema.text.strings import among, literals, nothing

_Operation = Callable[[Dfa, Dfa, Meter], Dfa]
AtOnce = Callable[[Meter], Dfa]
"""Makes a machine in another way."""

_PARTS: Final = ("number", "string", "array", "object")


class MarkedTexts(Protocol):
    """The texts behind marks of values; see `explorer.languages.schema.building.waiting.Waiting`.

    Attributes:
        finite: Whether every mark can be written out.
    """

    finite: bool

    def bare(self, number: int, meter: Meter) -> Dfa:
        """The compact texts of a mark, by its number, without marks of values."""
        ...


@dataclass(frozen=True, eq=False)
class Values:
    """A set of JSON values.

    Args:
        marked: What the marks of values in them stand for; ``None`` if there are none.
        every: Whether all numbers, or all whole ones, are in it. Then it also has their spellings
            with exponents, which no machine compares.
        at_once: Makes the objects without marks for sets of members, where such marks are in them.
        plain: Whether numbers are written without exponents, as the set is compared with others.
    """

    words: frozenset[str]
    number: Dfa
    string: Dfa
    array: Dfa
    object: Dfa
    marked: MarkedTexts | None = None
    every: frozenset[Every] = frozenset()
    at_once: AtOnce | None = None
    plain: bool = False

    def is_empty(self) -> bool:
        """Whether the set has no values."""
        return not self.words and all(getattr(self, part).num_states == 0 for part in _PARTS)

    def kinds(self) -> frozenset[str]:
        """The types of its values."""
        kinds = {part for part in _PARTS if getattr(self, part).num_states}
        kinds |= {"null"} & self.words
        return frozenset(kinds | ({"boolean"} if self.words - {"null"} else set()))

    def unmarked(self, meter: Meter) -> Values:
        """The same set without marks, so that it can be compared with another one."""
        parts = {part: self._unmarked(part, meter) for part in _PARTS}
        if all(parts[p] is getattr(self, p) for p in _PARTS):
            return self
        return replace(self, **parts, at_once=None)

    def _unmarked(self, part: str, meter: Meter) -> Dfa:
        machine = self._drawn(part, meter)
        if part == "number" or not has_marks(machine):
            return machine
        if part == "string":
            return written_as_text(machine, meter)
        return written_as_json(self._without(machine, meter), meter)

    def without_values(self, meter: Meter) -> Values:
        """The same set without marks of values; those of strings stay."""
        array, members = (
            self._without(self._drawn(part, meter), meter) for part in ("array", "object")
        )
        return replace(self, array=array, object=members, at_once=None)

    def _drawn(self, part: str, meter: Meter) -> Dfa:
        """A part without marks for sets of members, as far as that is known."""
        if part == "object" and self.at_once is not None:
            return self.at_once(meter)
        machine: Dfa = getattr(self, part)
        return machine

    def _without(self, machine: Dfa, meter: Meter) -> Dfa:
        if (marked := self.marked) is None:
            return machine
        return without_values(machine, meter, lambda number: marked.bare(number, meter))

    def meet(self, other: Values, meter: Meter) -> Values:
        """The values of both."""
        every = self.every & other.every
        return self._combined(other, self.words & other.words, every, _meet, meter, compares=True)

    def join(self, other: Values, meter: Meter) -> Values:
        """The values of either."""
        every = self.every | other.every
        return self._combined(other, self.words | other.words, every, _join, meter)

    def minus(self, other: Values, meter: Meter) -> Values:
        """The values of this set that the other does not have."""
        every: frozenset[Every] = frozenset() if other.number.num_states else self.every
        return self._combined(other, self.words - other.words, every, _minus, meter, compares=True)

    def _combined(
        self, other: Values, words: frozenset[str], every: frozenset[Every], combine: _Operation,
        meter: Meter, *, compares: bool = False,
    ) -> Values:  # fmt: skip
        parts: list[Dfa] = []
        for part in _PARTS:
            one, two = getattr(self, part), getattr(other, part)
            # Where one side is empty nothing is compared, and marks may stay.
            both = one is not two and one.num_states and two.num_states
            if compares and both and not self._by_letters(part, other, meter):
                one, two = self._unmarked(part, meter), other._unmarked(part, meter)
            parts.append(combine(one, two, meter))
        return Values(
            words, *parts, marked=self.marked or other.marked, every=every,
            plain=self.plain or other.plain,
        )  # fmt: skip

    def _by_letters(self, part: str, other: Values, meter: Meter) -> bool:
        """Whether values that cannot be written out need not be."""
        one, two = getattr(self, part), getattr(other, part)
        marked = self.marked or other.marked
        if marked is None or marked.finite or not (has_marks(one) or has_marks(two)):
            return False
        return part in ("array", "object") and same_marks(one, two, meter)

    def text(self, meter: Meter) -> Dfa:
        """The compact texts of all its values, as one minimal machine."""
        number = self.number if self.plain else with_exponents(self.number, self.every, meter)
        parts = [number, self.array, self.object]
        if self.string.num_states:
            parts.append(literals(self.string, meter))
        if self.words:
            parts.append(among(sorted(self.words), meter))
        parts = [part for part in parts if part.num_states]
        if len(parts) < 2:
            return parts[0] if parts else nothing()
        return operations.union(parts, meter)


def _meet(a: Dfa, b: Dfa, meter: Meter) -> Dfa:
    if a is b or a.num_states == 0:
        return a
    return b if b.num_states == 0 else intersection(a, b, meter)


def _join(a: Dfa, b: Dfa, meter: Meter) -> Dfa:
    if a is b or b.num_states == 0:
        return a
    return b if a.num_states == 0 else operations.union([a, b], meter)


def _minus(a: Dfa, b: Dfa, meter: Meter) -> Dfa:
    if a is b:
        return nothing()
    return a if a.num_states == 0 or b.num_states == 0 else difference(a, b, meter)


def empty() -> Values:
    """The set without values."""
    return Values(frozenset(), nothing(), nothing(), nothing(), nothing())
