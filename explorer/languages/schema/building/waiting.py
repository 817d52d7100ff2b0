"""Values that wait until a text comes to them.

A machine that discovers its states needs the value of a member when a text has read its name. So
the value is a *mark* (`explorer.languages.schema.text.counting`) while the machine of the object is
made, and the mark becomes a part of the tree that is laid out late. What was eager stays exact:
where a mark is compared, or stands beside other texts, it is written out.

Which values may wait is decided without their machine
(`explorer.languages.schema.building.certain`): nothing may be wrong with them, and they must have
at least one text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.machine import Dfa
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Deferred, Node, Outline
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.languages.schema.building.making import Depth, MakeRest, Site
from explorer.languages.schema.building.values import Values
from explorer.languages.schema.reading.subschemas import Subschema
from explorer.languages.schema.text.counting import (
    outlined,
    settled,
    value_mark,
    value_word,
    without_values,
)
from explorer.languages.schema.text.spelling import EscapesOf, character_in, respelled
from explorer.languages.schema.text.strings import nothing

STAGE: Final = "Subschemas inside each other"

MOST_WAITING: Final = 64**4
"""How many values may wait in one schema; later ones are made at once."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Makes the rest of an object: with marks in it, or at once."""

    make: MakeRest
    at_once: MakeRest


Made = tuple[tuple[Subschema, ...], Site, Depth]
Maker = Callable[[tuple[Subschema, ...], Site, Depth, Meter], Dfa]
"""From what applies at a place to the compact texts of the values; they may hold marks."""


class Waiting:
    """The values that wait, by number."""

    finite = True

    def __init__(self, make: Maker, *, spaces: bool, escapes: EscapesOf = "free") -> None:
        self._make = make
        self._spaces = spaces
        self._escapes: EscapesOf = escapes
        self._numbers: dict[object, int] = {}
        self._made: list[Made | Rest] = []
        self._marks: dict[int, Values] = {}
        self._by_identity: dict[int, int] = {}
        self._bare: dict[int, Dfa] = {}
        self._outlines: dict[int, Outline] = {}

    def mark(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values | None:
        """The mark that stands for the values of a place: equal ones have one mark.

        Returns:
            A set whose only text is the mark; ``None`` where there are too many.
        """
        key = (frozenset((sub.key, sub.referenced) for sub in subschemas), place.key, depth)
        number = self._numbers.get(key)
        if number is None:
            number = len(self._numbers)
            if number == MOST_WAITING:
                return None
            none = nothing()
            machine = value_mark(number)
            marked = Values(frozenset(), none, none, none, machine, self)
            self._made[number:] = [(subschemas, place, depth)]
            self._marks[number] = marked
            self._by_identity[id(marked)] = number
            self._numbers[key] = number  # Last: before it an interrupt leaves nothing behind.
        return self._marks[number]

    def rest(self, key: object, make: MakeRest, at_once: MakeRest) -> bytes:
        """The mark for the rest of an object, after the members of a set.

        Raises:
            BudgetExceeded: There are too many.
        """
        number = self._numbers.get(key)
        if number is None:
            number = len(self._numbers)
            if number >= MOST_WAITING:
                raise BudgetExceeded("states", limit=MOST_WAITING, reached=number, stage=STAGE)
            self._made[number:] = [Rest(make, at_once)]
            self._numbers[key] = number
        return value_word(number)

    def made_of(self, values: Values) -> Made | None:
        """The values that a mark stands for, as they were given; ``None`` for other values."""
        number = self._number_of(values)
        made = None if number is None else self._made[number]
        return None if isinstance(made, Rest) else made

    def _number_of(self, values: Values) -> int | None:
        number = self._by_identity.get(id(values))
        # Beside a mark that an interrupt left unfinished, its address may be another value's.
        return number if number is not None and self._marks.get(number) is values else None

    def outline_of(self, values: Values, meter: Meter) -> Outline | None:
        """The tree of what a mark stands for; ``None`` for values that are not a mark."""
        number = self._number_of(values)
        return None if number is None else self._outline_of(number, meter)

    def texts(self, number: int, meter: Meter) -> Dfa:
        """The compact texts of a number; marks may be in them."""
        made = self._made[number]
        return made.make(meter) if isinstance(made, Rest) else self._make(*made, meter)

    def _stands_alone(self, number: int) -> bool:
        """Whether a mark may stand beside other texts: the rest of an object is not a value."""
        return isinstance(self._made[number], Rest)

    def bare(self, number: int, meter: Meter) -> Dfa:
        """The compact texts of a number, without marks of values; those of strings may be left."""
        known = self._bare.get(number)
        if known is None:
            made = self._made[number]
            machine = made.at_once(meter) if isinstance(made, Rest) else self.texts(number, meter)
            known = without_values(machine, meter, lambda inner: self.bare(inner, meter))
            self._bare[number] = known
        return known

    def settled(self, machine: Dfa, meter: Meter) -> Dfa:
        """A machine without marks beside other texts."""
        return settled(machine, meter, lambda number: self.bare(number, meter), self._stands_alone)

    def outline(self, machine: Dfa, meter: Meter) -> Outline:
        """The tree of a machine that is settled: what waits is a late part of it."""
        nfa = respelled(machine, meter, spaces=self._spaces, escapes=self._escapes)
        return outlined(machine, nfa, self._part, character_in(self._escapes))

    def _part(self, number: int) -> Node:
        return Deferred(
            0, 0, make=lambda meter: self._closed(number, meter),
            outline=lambda meter: self._outline_of(number, meter), is_late=True,
        )  # fmt: skip

    def _outline_of(self, number: int, meter: Meter) -> Outline:
        known = self._outlines.get(number)
        if known is None:
            try:
                machine = self.settled(self.texts(number, meter), meter)
            except RecursionError as error:
                most = sys.getrecursionlimit()
                raise BudgetExceeded("states", limit=most, reached=most + 1, stage=STAGE) from error
            known = self._outlines[number] = self.outline(machine, meter)
        return known

    def _closed(self, number: int, meter: Meter) -> Dfa:
        return minimal_dfa(lay_out(self._part(number), meter).nfa, meter)
