"""JSON Schema as a machine over compact JSON text.

A schema is worked out place by place. What applies to a place is a conjunction of subschemas; its
cases (`explorer.languages.schema.reading.cases`) are turned into sets of values (`values`), type by
type, and joined; what must not hold is taken away. Members of objects and arrays are places of
their own.

In the order of the schema, the members of an object are written as its ``properties`` are, and
others after them. That order belongs to the place, not to one subschema, so that intersection and
difference of two schemas at one place speak of the same texts.

Open values (anything goes) and recursion are followed to a stated depth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NoReturn, Protocol, cast

from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.errors import UnsupportedSchema
from explorer.languages.schema.building.arrays import array_texts
from explorer.languages.schema.building.certain import KINDS, Certain, is_small
from explorer.languages.schema.building.deepening import Deepening
from explorer.languages.schema.building.making import Depth, Site
from explorer.languages.schema.building.members import object_texts
from explorer.languages.schema.building.places import SchemaPlace
from explorer.languages.schema.building.scalars import Scalars
from explorer.languages.schema.building.values import MarkedTexts, Values, empty
from explorer.languages.schema.building.waiting import Made, Waiting
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.cases import Case, Expansion, in_place
from explorer.languages.schema.reading.keywords import equal, speaks_of_numbers
from explorer.languages.schema.reading.subschemas import Schema, Subschema
from explorer.languages.schema.text import strings
from explorer.languages.schema.text.exponents import every_of

MOST_PARTS: Final = 64
"""The most kinds of names that the patterns of ``patternProperties`` may divide names into."""

MOST_KEPT_STATES: Final = 20_000
"""The largest machine of any value that is kept for later schemas."""

_OPEN: Final[dict[tuple[bool, Depth], tuple[Values, Dfa]]] = {}

TYPES: Final = ("null", "boolean", "number", "string", "array", "object")


class Calls(MarkedTexts, Protocol):
    """Makes values that are calls of rules; see `explorer.languages.schema.building.recursion`."""

    def mark(
        self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth, meter: Meter
    ) -> Values:
        """The set whose only text is the mark of a rule: equal values have one."""
        ...

    def refuse(self, subschemas: tuple[Subschema, ...]) -> NoReturn:
        """Say that values of some subschemas are compared, and cannot be."""
        ...


class Compiler:
    """From subschemas to sets of values; everything is worked out once.

    Args:
        options: How schemas are followed; where they are not strict, what cannot be followed is
            noted in `ignored`.
        marks: Whether strings with long bounds are marks
            (`explorer.languages.schema.text.counting`).
        waits: Whether values may wait until a text comes to them
            (`explorer.languages.schema.building.waiting`).
        called: Given where values that recurse are calls
            (`explorer.languages.schema.building.recursion`).
    """

    def __init__(
        self, options: SchemaOptions, meter: Meter, *, marks: bool = False, waits: bool = False,
        called: Calls | None = None,
    ) -> None:  # fmt: skip
        self.ordered = options.property_order == "schema"
        self.meter = meter
        self.ignored: list[UnsupportedSchema] = []
        self._strict = options.strict
        self._made: dict[object, Schema] = {}
        self._expansion = Expansion(self._made, self._look)
        self._values: dict[object, Values] = {}
        self._begun: set[object] = set()
        self._places: dict[object, Site] = {}
        self._scalars = Scalars(
            meter, assert_formats=options.formats, marks=marks, refuse=self.refuse
        )
        self._called = called
        self._deepening = Deepening(self, endless=called is not None)
        self._certain = Certain(self._deepening.inside)
        self.waiting = (
            Waiting(self._later, spaces=options.spaces, escapes=options.escapes) if waits else None
        )
        self._texts: dict[int, tuple[Values, Dfa]] = {}
        self._bared: dict[int, tuple[Values, Values]] = {}
        self._open: dict[Depth, Values] = {}

    def watch(self, meter: Meter) -> None:
        """From here on another meter counts."""
        self.meter = self._scalars.meter = meter

    def _look(self, listed: int) -> None:
        self.meter.check("The machine of a schema", arcs=listed)

    @property
    def rests(self) -> Waiting | None:
        """The places where the rest of an object in any order may wait."""
        return self.waiting

    # Places.

    def place(self, subschemas: Iterable[Subschema]) -> Site:
        """The place where these apply from outside."""
        subs = tuple(subschemas)
        key = tuple(sub.key for sub in subs)
        if key not in self._places:
            made: Site = SchemaPlace(self, subs)
            self._places[key] = made
        return self._places[key]

    def also_in_place(self, sub: Subschema) -> list[Subschema]:
        """The other subschemas that may apply there; constants count by their structure."""
        subschemas = list(in_place(sub))
        made = self._expansion
        for choices in chain(made.constants(sub), made.dependencies(sub, sub.below)):
            for held, _ in choices:
                subschemas += held
        return subschemas

    # Values.

    def values(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values:
        """The values that satisfy all of some subschemas."""
        self.meter.check_time("The machine of a schema")
        if self._called is not None and depth.beyond:  # On a stack nothing is beyond.
            depth = depth.flipped()
        subschemas = tuple(sub for sub in subschemas if sub.schema is not True and sub.schema != {})
        if not subschemas and not place.subschemas:
            return self._open_values(depth)
        key = (frozenset((sub.key, sub.referenced) for sub in subschemas), place.key, depth)
        known = self._values.get(key)
        if known is None:
            if self._called is not None and key in self._begun:
                self._called.refuse(subschemas)
            self._begun.add(key)
            try:
                known = self._values[key] = self._of_cases(subschemas, place, depth)
            finally:
                self._begun.discard(key)
        return known

    def values_inside(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values:
        """The values of a member or an item that is not compared: a mark, where it may wait."""
        if self._called is not None and self._deepening.comes_back(subschemas):
            depth = depth.flipped() if depth.beyond else depth
            return self._called.mark(subschemas, place, depth, self.meter)
        if self.waiting is None:
            return self.values(subschemas, place, depth)
        subs = tuple(sub for sub in subschemas if sub.schema is not True and sub.schema != {})
        may_wait = not depth.beyond and (
            not subs
            or (
                len(subs) == 1
                and not is_small(subs[0].schema)
                and self._certain.may_wait(subs[0], depth)
            )
        )
        marked = self.waiting.mark(subs, place, depth) if may_wait else None
        return self.values(subs, place, depth) if marked is None else marked

    def told_apart(self, several: list[Values]) -> list[Values]:
        """The same sets, those made at once of which another one may be the same under two marks.

        The machine of names tells two names apart only if what may follow differs, and where it
        does not, a name may be spelled in every way. So sets that may be equal cannot wait.
        """
        waiting = self.waiting
        if waiting is None or len(several) < 2:
            return several
        made = [waiting.made_of(values) for values in several]
        kinds = [
            self._kinds(values, made_of) for values, made_of in zip(several, made, strict=True)
        ]
        alike: set[int] = set()
        for j, (certain, possible) in enumerate(kinds):
            for i, (before, possible_before) in enumerate(kinds[:j]):
                differ = certain - possible_before or before - possible
                if several[i] is not several[j] and not differ:
                    alike |= {i, j}
        return [
            self._bare(several[k] if made_of is None else self.values(*made_of))
            if k in alike else several[k]
            for k, made_of in enumerate(made)
        ]  # fmt: skip

    def _bare(self, values: Values) -> Values:
        """The same set without marks of values inside; equal ones are one."""
        known = self._bared.get(id(values))
        if known is None:
            known = self._bared[id(values)] = (values, values.without_values(self.meter))
        return known[1]

    def _kinds(self, values: Values, made: Made | None) -> tuple[frozenset[str], frozenset[str]]:
        if made is None:
            return values.kinds(), values.kinds()
        subs, _, depth = made
        return self._certain.kinds(subs[0], depth) if subs else (KINDS, KINDS)

    def _later(
        self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth, meter: Meter
    ) -> Dfa:
        """The texts of what waited; from here on this meter counts."""
        self.watch(meter)
        return self.text(self.values(subschemas, place, depth))

    def _of_cases(self, subschemas: tuple[Subschema, ...], place: Site, depth: Depth) -> Values:
        joined: list[Values] = [empty()]
        for case in self._expansion.cases(subschemas):
            compares = any(speaks_of_numbers(sub.schema) for sub in case.excluded)
            here = depth.comparing() if compares else depth
            values = self._plain(case, place, here)
            for sub in case.met:
                if values.is_empty():
                    break
                both = self.values((*case.plain, sub), place, here)
                values = values.meet(both, self.meter)
            for sub in case.excluded:
                if values.is_empty():
                    break
                taken = (*case.plain, *case.met, sub)
                both = self.values(taken, place, here.flipped())
                values = values.minus(both, self.meter)
            joined.append(values)
        # In pairs, and the pairs in pairs: one after the other would be quadratic.
        while len(joined) > 1:
            self.meter.check_time("The machine of a schema")
            pairs = zip(joined[::2], joined[1::2], strict=False)
            left = joined[len(joined) & ~1 :]
            joined = [*(one.join(other, self.meter) for one, other in pairs), *left]
        return joined[0]

    def text(self, values: Values) -> Dfa:
        """The compact texts of a set of values."""
        known = self._texts.get(id(values))
        if known is None:
            known = self._texts[id(values)] = (values, values.text(self.meter))
        return known[1]

    def _open_values(self, depth: Depth) -> Values:
        """Any value; what no compiler's marks are in is kept for all of them."""
        depth = replace(depth, recursion=0, beyond=False)
        if depth in self._open:
            return self._open[depth]
        key = self.ordered, depth
        values, text = _OPEN.get(key, (None, None)) if self.waiting is None else (None, None)
        if values is None or text is None:
            values = self._plain(Case((), (), ()), self.place(()), depth)
            text = self.text(values)
            if self.waiting is None and text.num_states <= MOST_KEPT_STATES:
                _OPEN[key] = values, text
        self._texts[id(values)] = values, text
        self._open[depth] = values
        return values

    def _plain(self, case: Case, place: Site, depth: Depth) -> Values:
        subs = case.plain
        types = self._types(subs)
        scalars = self._constants(subs)
        word_list: list[str] = []
        if "null" in types and (scalars is None or any(value is None for value in scalars)):
            word_list.append("null")
        if "boolean" in types:
            for value, word in ((True, "true"), (False, "false")):
                if scalars is None or any(each is value for each in scalars):
                    word_list.append(word)
        number = string = array = members = strings.nothing()
        at_once = None
        if "number" in types or "integer" in types:
            number = self._scalars.number(subs, scalars, integer="number" not in types)
        if "string" in types:
            string = self._scalars.string(subs, scalars)
        kept = self._deepening.followed(depth, subs)
        if "array" in types and scalars is None:
            below = self._deepening.inside(depth, "arrays", kept)
            array = array_texts(self, kept, place, below)
        if "object" in types and scalars is None:
            below = self._deepening.inside(depth, "objects", kept)
            members, at_once = object_texts(self, kept, place, below)
        marked = self.waiting or self._called
        return Values(
            frozenset(word_list),
            number,
            string,
            array,
            members,
            marked,
            every_of(number),
            at_once,
            depth.numbers == "plain",
        )

    def _types(self, subs: tuple[Subschema, ...]) -> set[str]:
        types = {*TYPES, "integer"}
        for sub in subs:
            given = sub.keyword("type")
            if given is None:
                continue
            wanted = {given} if isinstance(given, str) else set(cast("list[str]", given))
            if unknown := wanted - {*TYPES, "integer"}:
                raise UnsupportedSchema(
                    f"{sorted(map(str, unknown))[0]!r} is not a type.",
                    pointer=sub.pointer + "/type", keyword="type",
                    remedy=f"The types are {', '.join(TYPES)} and integer.",
                )  # fmt: skip
            if "number" in wanted:
                wanted.add("integer")
            types &= wanted
        return types

    def _constants(self, subs: tuple[Subschema, ...]) -> list[object] | None:
        """The values that ``enum`` and ``const`` leave; ``None`` if neither is given.

        Arrays and objects among them were made into cases before.
        """
        left: list[object] | None = None
        for sub in subs:
            for keyword in ("const", "enum"):
                if keyword == "const" and sub.draft < 6:
                    continue
                schema = cast("dict[str, Any]", sub.schema)
                if keyword not in schema:
                    continue
                given = [schema["const"]] if keyword == "const" else list(schema["enum"])
                if any(isinstance(value, dict | list) for value in given):
                    continue
                left = (
                    given if left is None else [v for v in left if any(equal(v, g) for g in given)]
                )
        return left

    def whole(self, sub: Subschema) -> Subschema:
        """A subschema with the keywords that bring others in place, if it was taken out of one."""
        return self._expansion.whole(sub)

    def pattern(self, sub: Subschema, pattern: str, keyword: str) -> Dfa | None:
        """The texts in which a pattern is found; ``None`` if it was ignored."""
        return self._scalars.pattern(sub, pattern, keyword)

    def matches(self, sub: Subschema, pattern: str, name: str) -> bool:
        """Whether a pattern is found in a name."""
        return self._scalars.matches(sub, pattern, name)

    def refuse(self, sub: Subschema, keyword: str, reason: str, remedy: str) -> None:
        """Raise for a keyword that cannot be followed, or note it.

        Raises:
            UnsupportedSchema: The compiler is strict.
        """
        error = UnsupportedSchema(
            reason, pointer=f"{sub.pointer}/{keyword}", keyword=keyword,
            remedy=remedy or "Leave the keyword out, or give strict=False to ignore it.",
        )  # fmt: skip
        if self._strict:
            raise error
        self.ignored.append(error)
