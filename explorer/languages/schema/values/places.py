"""Places in a value: the subschemas that may apply there, in any case."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

from explorer.budget import Meter
from explorer.languages.schema.reading.keywords import check_well_formed
from explorer.languages.schema.reading.subschemas import Schema, Subschema


class Placing(Protocol):
    """The services of `ValueSets` that places and depths use."""

    meter: Meter
    ordered: bool

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
            sub = Subschema(sub.schema, sub.resolver, sub.pointer, sub.draft)
            if sub.key in known or not isinstance(sub.schema, dict):
                continue
            check_well_formed(sub.schema, sub.pointer, sub.draft)
            known[sub.key] = sub
            todo += reversed(compiler.also_in_place(sub))
        self.subschemas: tuple[Subschema, ...] = tuple(known.values())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The members that are named, in the order of the schema."""
        names: dict[str, None] = {}
        if not self._compiler.ordered:
            return self._declared
        for sub in self.subschemas:
            for name in sub.named_at("properties"):
                names.setdefault(name)
        for name in self._declared:
            names.setdefault(name)
        return tuple(names)

    @cached_property
    def _declared(self) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for sub in self.subschemas:
            named = [*sub.named_at("properties"), *sub.named_at("dependentSchemas")]
            named += [*sub.named_at("dependencies"), *sub.names_at("required")]
            for keyword in ("dependentRequired", "dependencies"):
                for name, needed in sub.needed_at(keyword).items():
                    named += [name, *needed]
            for name in named:
                names.setdefault(name)
        return tuple(names)

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

    @cached_property
    def key(self) -> frozenset[object]:
        """The key that two equal places share."""
        return frozenset(sub.key for sub in self.subschemas)
