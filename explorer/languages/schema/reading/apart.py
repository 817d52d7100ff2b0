"""A proof that two subschemas have no value in common, from their keywords alone.

Objects of different kinds usually differ in a tag: a member that one of them requires and for which
both list values, none of them shared. Then ``oneOf`` means the same as ``anyOf``, and no machines
have to be compared. A proof holds at every depth; without one, they may still be disjoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, cast

from explorer.languages.schema.reading.keywords import decimal
from explorer.languages.schema.reading.subschemas import Subschema

TYPES: Final = frozenset(("null", "boolean", "number", "integer", "string", "array", "object"))

_OBJECT: Final = frozenset(("object",))

MOST_LEVELS: Final = 3
"""The deepest member that is looked at as a tag."""
MOST_PARTS: Final = 32
"""The most subschemas of one value that are looked at."""


@dataclass(frozen=True, slots=True)
class Told:
    """Facts that surely hold of the values of a conjunction.

    Args:
        values: The scalars that ``enum`` and ``const`` allow, each with its type; ``None`` where
            neither lists scalars alone.
    """

    types: frozenset[str]
    values: frozenset[tuple[str, object]] | None
    required: frozenset[str]
    members: dict[str, list[Subschema]] = field(compare=False)
    _of_members: dict[str, Told] = field(
        default_factory=dict[str, "Told"], compare=False, repr=False
    )

    def of_member(self, name: str) -> Told:
        """The facts about a member's value, worked out once."""
        if name not in self._of_members:
            self._of_members[name] = told(self.members[name])
        return self._of_members[name]


def told(subschemas: list[Subschema]) -> Told:
    """Facts that surely hold of the values that satisfy all of some subschemas.

    Raises:
        UnsupportedSchema: A reference leads nowhere.
    """
    types, values = TYPES, None
    required: set[str] = set()
    members: dict[str, list[Subschema]] = {}
    for sub in _together(subschemas):
        if not isinstance(sub.schema, dict):
            if sub.schema is False:
                types = frozenset[str]()
            continue
        types &= _types(sub.schema.get("type"))
        for keyword in ("const", "enum"):
            if (listed := _listed(sub, keyword)) is not None:
                values = listed if values is None else values & listed
        needed = sub.schema.get("required")
        if isinstance(needed, list):
            required.update(n for n in cast("list[object]", needed) if isinstance(n, str))
        for name, part in sub.named_at("properties").items():
            members.setdefault(name, []).append(sub.below(part, "properties", name))
    return Told(types, values, frozenset(required), members)


def are_apart(one: Told, other: Told, levels: int = MOST_LEVELS) -> bool:
    """Whether it can be proved that no value satisfies both.

    Raises:
        UnsupportedSchema: A reference of a member leads nowhere.
    """
    types = one.types & other.types
    if not types:
        return True
    left = one.values
    if left is None or other.values is None:
        left = other.values if left is None else left
    else:
        left &= other.values
    if left is not None and not any(_is_one(value, types) for value in left):
        return True
    if types != _OBJECT or levels == 0:  # Only objects have members to compare.
        return False
    for name in one.members.keys() & other.members.keys() & (one.required | other.required):
        if are_apart(one.of_member(name), other.of_member(name), levels - 1):
            return True
    return False


def has_a_tag(known: list[Told]) -> bool:
    """Whether the objects share a required member whose listed values are all different.

    If so, every two of them are apart; this is faster than `are_apart` of all pairs.

    Raises:
        UnsupportedSchema: A reference of a member leads nowhere.
    """
    if not known or any(each.types != _OBJECT for each in known):
        return False
    for name in known[0].members:
        if not all(name in each.members and name in each.required for each in known):
            continue
        tags = [each.of_member(name).values for each in known]
        listed = [tag for tag in tags if tag is not None]
        if len(listed) == len(tags) and sum(map(len, listed)) == len(set[object]().union(*listed)):
            return True
    return False


def _together(subschemas: list[Subschema]) -> Iterator[Subschema]:
    """The subschemas, and those that surely apply to the same value."""
    todo, seen = [*subschemas], set[object]()
    while todo and len(seen) < MOST_PARTS:
        sub = todo.pop()
        if sub.key in seen:
            continue
        seen.add(sub.key)
        reference = sub.keyword("$ref")
        if isinstance(reference, str):
            todo.append(sub.target(reference, "$ref"))
            if sub.draft <= 7:
                continue
        yield sub
        todo += [sub.below(part, "allOf", k) for k, part in enumerate(sub.schemas_at("allOf"))]


def _types(given: object) -> frozenset[str]:
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list):
        return TYPES
    named = {each for each in cast("list[object]", given) if isinstance(each, str)}
    return frozenset(named | {"integer"} if "number" in named else named)


def _listed(sub: Subschema, keyword: str) -> frozenset[tuple[str, object]] | None:
    """The scalars that a keyword lists; ``None`` where it is missing or lists other values too."""
    schema = sub.schema
    if not isinstance(schema, dict) or keyword not in schema:
        return None
    if keyword == "const" and sub.draft < 6:
        return None
    given = [schema["const"]] if keyword == "const" else schema["enum"]
    if not isinstance(given, list):
        return None
    facts: set[tuple[str, object]] = set()
    for value in cast("list[object]", given):
        match value:
            case None:
                facts.add(("null", None))
            case bool():
                facts.add(("boolean", value))
            case str():
                facts.add(("string", value))
            case int() | float():
                facts.add(("number", decimal(value)))
            case _:
                return None
    return frozenset(facts)


def _is_one(value: tuple[str, object], types: frozenset[str]) -> bool:
    """Whether a scalar is of one of some types."""
    kind, number = value
    if isinstance(number, Decimal) and number == number.to_integral_value():
        return "integer" in types
    return kind in types
