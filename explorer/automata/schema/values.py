"""A set of JSON values, by type: what a schema means before it is written as text.

The texts of different types begin with different bytes, so a set of values is a record of seven
sets that never meet, and each operation is done type by type. That keeps the machines small: the
difference of two object schemas never looks at a number.

Strings are kept as languages of the text they stand for, numbers as languages of their spelling,
arrays and objects as languages of their compact text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from explorer.automata import operations
from explorer.automata.machine import Dfa
from explorer.automata.product import difference, intersection
from explorer.automata.schema.counting import has_marks, written_as_json, written_as_text
from explorer.automata.schema.strings import among, literals, nothing
from explorer.budget import Meter

_Operation = Callable[[Dfa, Dfa, Meter], Dfa]
_PARTS: Final = ("number", "string", "array", "object")


@dataclass(frozen=True, eq=False)
class Values:
    """A set of JSON values.

    Args:
        words: Which of ``null``, ``true`` and ``false`` are in it.
        number: The spellings of its numbers.
        string: The texts of its strings, without quotes and escapes.
        array, object: The compact texts of its arrays and objects.
    """

    words: frozenset[str]
    number: Dfa
    string: Dfa
    array: Dfa
    object: Dfa

    def is_empty(self) -> bool:
        """Whether the set has no values."""
        return not self.words and all(getattr(self, part).num_states == 0 for part in _PARTS)

    def unmarked(self, meter: Meter) -> Values:
        """The same set without marks, so that it can be compared with another one."""
        if not any(has_marks(part) for part in (self.string, self.array, self.object)):
            return self
        return replace(
            self,
            string=written_as_text(self.string, meter),
            array=written_as_json(self.array, meter),
            object=written_as_json(self.object, meter),
        )

    def meet(self, other: Values, meter: Meter) -> Values:
        """The values of both."""
        if other is not self:
            self, other = self.unmarked(meter), other.unmarked(meter)
        return self._combined(other, self.words & other.words, _meet, meter)

    def join(self, other: Values, meter: Meter) -> Values:
        """The values of either."""
        return self._combined(other, self.words | other.words, _join, meter)

    def minus(self, other: Values, meter: Meter) -> Values:
        """The values of this set that the other does not have."""
        if other is not self:
            self, other = self.unmarked(meter), other.unmarked(meter)
        return self._combined(other, self.words - other.words, _minus, meter)

    def _combined(
        self, other: Values, words: frozenset[str], combine: _Operation, meter: Meter
    ) -> Values:
        parts = [combine(getattr(self, part), getattr(other, part), meter) for part in _PARTS]
        return Values(words, *parts)

    def text(self, meter: Meter) -> Dfa:
        """The compact texts of all its values, as one minimal machine."""
        parts = [self.number, self.array, self.object]
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
