"""Sets of values by the subschemas that hold of them, places in a value, and the depth of values.

A set (`Wanted`) is given by subschemas that hold and conjunctions that do not. A place (`Site`) is
every subschema that may apply there, in any case; from it come the names of members in their order.
Nested recursive references, and values that no schema describes, have a limited depth.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from explorer.automata.rules.pieces import components
from explorer.budget import Meter
from explorer.languages.schema.reading.cases import in_place
from explorer.languages.schema.reading.subschemas import (
    Schema,
    Subschema,
    check_well_formed,
    parts_of,
)

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
    return frozenset([(sub.key, sub.referenced) for sub in subs])


class Wanted:
    """A set of JSON values, given by the subschemas that hold of them and those that do not.

    Args:
        held: Subschemas that all hold.
        excluded: Conjunctions of which none holds.
    """

    __slots__ = ("excluded", "held", "key")

    def __init__(self, held: Conjunction = (), excluded: tuple[Conjunction, ...] = ()) -> None:
        self.held = held
        self.excluded = excluded
        self.key: tuple[frozenset[object], frozenset[frozenset[object]]]
        """The key that equal sets share."""
        self.key = key_of(held), frozenset(map(key_of, excluded))

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


class Placing(Protocol):
    """The services of `ValueSets` that places and depths use."""

    meter: Meter
    ordered: bool
    first: tuple[str, ...]

    def place(self, subschemas: Iterable[Subschema]) -> Site:
        """The place at which some subschemas apply."""
        ...

    def also_in_place(self, sub: Subschema) -> list[Subschema]:
        """The other subschemas that may apply to the same value as a subschema."""
        ...

    def whole(self, sub: Subschema) -> Subschema:
        """The subschema from which a plain one was made; itself if nothing was left out."""
        ...

    def matches(self, sub: Subschema, pattern: str, name: str) -> bool:
        """Whether a pattern is found in a name."""
        ...


class Site:
    """A place in the value: every subschema that may apply there, in any case."""

    def __init__(self, compiler: Placing, subschemas: Iterable[Subschema]) -> None:
        self._compiler = compiler
        known: dict[object, Subschema] = {}
        todo = [*subschemas][::-1]
        while todo:
            sub = todo.pop()
            compiler.meter.check_time("The machine of a schema")
            # Owners matter only to what a case says, not to where it may lead.
            sub = sub.alone()
            if sub.key in known or not isinstance(sub.schema, dict):
                continue
            check_well_formed(sub.schema, sub.pointer, sub.draft)
            known[sub.key] = sub
            todo += reversed(compiler.also_in_place(sub))
        self.subschemas: tuple[Subschema, ...] = tuple(known.values())
        self.key = frozenset(known)
        """The key that two equal places share."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The members that are named, in the order of the schema."""
        if not self._compiler.ordered:
            return self._declared
        names = [*self._compiler.first] if self.subschemas else list[str]()
        names += [name for sub in self.subschemas for name in sub.named_at("properties")]
        return tuple(dict.fromkeys((*names, *self._declared)))

    @cached_property
    def _declared(self) -> tuple[str, ...]:
        names: list[str] = []
        for sub in self.subschemas:
            for keyword in ("properties", "dependentSchemas", "dependencies"):
                if keyword in sub.words:
                    names += sub.named_at(keyword)
            names += sub.names_at("required")
            for keyword in ("dependentRequired", "dependencies"):
                if keyword in sub.words:
                    for name, needed in sub.needed_at(keyword).items():
                        names += [name, *needed]
        return tuple(dict.fromkeys(names))

    def member(self, name: str | None) -> Site:
        """The place of a member's value; the name ``None`` is for all members not listed."""
        below: list[Subschema] = []
        for sub, properties, patterns, others in self._described:
            if name is not None and name in properties:
                below.append(sub.below(properties[name], "properties", name))
            for pattern, part in patterns.items():
                if name is None or self._compiler.matches(sub, pattern, name):
                    below.append(sub.below(part, "patternProperties", pattern))
            below += others
        return self._compiler.place(below)

    @cached_property
    def _described(
        self,
    ) -> list[tuple[Subschema, dict[str, Schema], dict[str, Schema], list[Subschema]]]:
        """Each subschema with its schemas of members by name, by pattern, and for all others."""
        parts: list[tuple[Subschema, dict[str, Schema], dict[str, Schema], list[Subschema]]] = []
        for sub in self.subschemas:
            others = [
                sub.below(single, keyword)
                for keyword in ("additionalProperties", "unevaluatedProperties")
                if (single := sub.schema_at(keyword)) is not None
            ]
            named = sub.named_at("properties"), sub.named_at("patternProperties")
            parts.append((sub, *named, others))
        return parts

    @cached_property
    def item(self) -> Site:
        """The place of an item."""
        below: list[Subschema] = []
        for sub in self.subschemas:
            for keyword in ("prefixItems", "items"):
                parts = sub.schemas_at(keyword)
                below += [sub.below(each, keyword, k) for k, each in enumerate(parts)]
            for keyword in ("items", "additionalItems", "contains", "unevaluatedItems"):
                if (single := sub.schema_at(keyword)) is not None:
                    below.append(sub.below(single, keyword))
        return self._compiler.place(below)


class Depth(NamedTuple):
    """The depth to which values may still nest.

    Args:
        recursion: How many more references of recursive schemas may be followed inside each other.
        free: How deep arrays and objects may nest in a value that no schema describes; ``None`` for
            no limit.
    """

    recursion: int
    free: int | None


class Deepening:
    """The depth that is left inside arrays and objects."""

    def __init__(self, making: Placing, *, endless: bool = False) -> None:
        self._making = making
        self._endless = endless
        self._recursive: dict[object, bool] = {}

    def inside(self, depth: Depth, subs: tuple[Subschema, ...]) -> Depth | None:
        """The depth inside a container; ``None`` if nothing may be inside."""
        if self._endless and subs:
            return depth
        if any(sub.referenced and self._is_recursive(sub) for sub in subs):
            if depth.recursion == 0:
                return None
            return depth._replace(recursion=depth.recursion - 1)
        if depth.free is None or any(sub.schema for sub in subs):
            return depth
        return depth._replace(free=depth.free - 1) if depth.free else None

    def leads_back(self, sub: Subschema) -> bool:
        """Whether a subschema leads to a recursive one."""
        self._is_recursive(sub)
        return any(self._recursive.values())

    @property
    def known(self) -> int:
        """The number of subschemas whose recursion is decided."""
        return len(self._recursive)

    def comes_back(self, subs: tuple[Subschema, ...]) -> bool:
        """Whether some reference among these subschemas leads to a recursive schema."""
        seen: set[object] = set()
        todo = list(subs)
        while todo:
            sub = todo.pop()
            self._making.meter.check_time("The machine of a schema")
            if sub.key in seen or not isinstance(sub.schema, dict):
                continue
            seen.add(sub.key)
            if sub.referenced and self._is_recursive(sub):
                return True
            todo += in_place(sub)
        return False

    def _is_recursive(self, sub: Subschema) -> bool:
        """Whether a value of a subschema may hold a value of the same subschema."""
        sub = self._making.whole(sub)
        key = _key(sub)
        if key not in self._recursive:
            self._explore(sub)
        return self._recursive[key]

    def _explore(self, first: Subschema) -> None:
        """Decide in one walk whether a subschema and all that it leads to are recursive.

        A subschema is recursive if it lies on a cycle with a step into a value, that is, if its
        strongly connected component has such a step inside. Subschemas decided before lead only to
        decided ones, so no cycle joins them with new ones.
        """
        number: dict[object, int] = {_key(first): 0}
        waiting = [first]
        following: list[list[int]] = []
        inward: list[list[int]] = []
        for sub in waiting:  # The list grows while it is read.
            self._making.meter.check("The machine of a schema", states=len(waiting))
            if isinstance(sub.schema, dict):
                check_well_formed(sub.schema, sub.pointer, sub.draft)
            steps: list[list[int]] = []
            for targets in (self._making.also_in_place(sub), _inside(sub)):
                steps.append([])
                for target in targets:
                    key = _key(target)
                    if key in self._recursive or not isinstance(target.schema, dict):
                        continue
                    if key not in number:
                        number[key] = len(waiting)
                        waiting.append(target)
                    steps[-1].append(number[key])
            following.append(steps[0] + steps[1])
            inward.append(steps[1])
        keys = list(number)
        component = [0] * len(keys)
        circles = components(following)
        for name, circle in enumerate(circles):
            for one in circle:
                component[one] = name
        for circle in circles:
            closed = any(component[to] == component[one] for one in circle for to in inward[one])
            for one in circle:
                self._recursive[keys[one]] = closed


def _key(sub: Subschema) -> tuple[int, str]:
    return id(sub.schema), sub.key[1]


_INSIDE: Final = frozenset(
    ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties",
     "prefixItems", "items", "additionalItems", "contains", "unevaluatedItems")
)  # fmt: skip
"""The keywords whose subschemas are about members and items."""


def _inside(sub: Subschema) -> list[Subschema]:
    """The subschemas of the members and items of a subschema."""
    schema = sub.schema
    if not isinstance(schema, dict):
        return []
    return [sub.below(part, *path) for path, part in parts_of(schema) if path[0] in _INSIDE]
