"""The members of an object: which names there may be, and what each may hold."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any, Final, cast

from explorer.automata.construction.operations import difference, intersection
from explorer.automata.machine import Dfa
from explorer.automata.valid_utf8 import any_text
from explorer.automata.words import is_finite, words
from explorer.errors import UnsupportedSchema
from explorer.languages.schema.building.making import Depth, Making, Site
from explorer.languages.schema.building.objects import MOST_TRACKED, ObjectSketch
from explorer.languages.schema.building.values import AtOnce, Values
from explorer.languages.schema.reading.keywords import bounds
from explorer.languages.schema.reading.subschemas import Schema, Subschema
from explorer.languages.schema.text import strings
from explorer.languages.schema.text.counting import written_as_text

MOST_PARTS: Final = 64
"""The most kinds of names that the patterns of ``patternProperties`` may divide names into."""

MISCOUNTED: Final = 2
"""So many other names are counted that one which comes twice may be taken for two."""


def object_texts(
    making: Making, subs: tuple[Subschema, ...], place: Site, below: Depth | None
) -> tuple[Dfa, AtOnce | None]:
    """The compact texts of the objects that some keyword mappings allow; and, where marks for
    sets of members are in them, how to make them without.

    Args:
        below: How much deeper its members may go; ``None`` if no member is allowed.
    """
    minimum, maximum = bounds(subs, "minProperties", "maxProperties")
    required: dict[str, None] = {}
    for sub in subs:
        needed = sub.keyword("required")
        for name in cast("list[str]", needed) if isinstance(needed, list) else ():
            required.setdefault(name)
    if below is None:
        maximum = 0
    minimum = max(minimum, len(required))
    if maximum is not None and maximum < minimum:
        return strings.nothing(), None
    named: dict[str, Values] = {}
    others: list[tuple[Dfa, Values]] = []
    if below is not None:
        allowed = _names_allowed(making, subs, place, below)
        for name in place.names:
            data = name.encode(errors="surrogatepass")
            if not any(0xD800 <= ord(char) <= 0xDFFF for char in name) and (
                allowed is None or allowed.accepts(data)
            ):
                values = _member_values(making, subs, name, None, place, below)
                if not values.is_empty():
                    named[name] = values
        others = _others(making, subs, place, below, allowed)
    # Where other names are counted, the same one twice must not count as two.
    once = minimum >= len(required) + MISCOUNTED and _are_few([names for names, _ in others])
    if once:
        others = [
            (strings.among([word.decode()], making.meter), values)
            for names, values in others
            for word in words(names)
        ]
    if any(name not in named for name in required):
        return strings.nothing(), None
    # Behind the last name stands the same as behind one that is not named.
    last = next((name for name in reversed(place.names) if name in named), None)
    values = [each for _, each in others] + ([named[last]] if last is not None else [])
    values = making.told_apart(values)
    others = [(text, each) for (text, _), each in zip(others, values, strict=False)]
    if last is not None:
        named[last] = values[-1]
    sketch = ObjectSketch(
        making, place.names, named, others, set(required), minimum, maximum, once=once
    )
    return sketch.dfa(), sketch.at_once if sketch.waits else None


def _are_few(kinds: list[Dfa]) -> bool:
    """Whether there are so few names that a machine can remember which of them came."""
    if not all(map(is_finite, kinds)):
        return False
    every = chain.from_iterable(map(words, kinds))
    return 1 <= sum(1 for _ in islice(every, MOST_TRACKED + 1)) <= MOST_TRACKED


def _names_allowed(
    making: Making, subs: tuple[Subschema, ...], place: Site, depth: Depth
) -> Dfa | None:
    allowed: Dfa | None = None
    for sub in subs:
        names = sub.keyword("propertyNames")
        if isinstance(names, bool | dict) and sub.draft >= 6:
            part = sub.below(cast("Schema", names), "propertyNames")
            texts = making.values((part,), making.place((part,)), depth).string
            texts = written_as_text(texts, making.meter)
            allowed = texts if allowed is None else intersection(allowed, texts, making.meter)
    return allowed


def _others(
    making: Making, subs: tuple[Subschema, ...], place: Site, depth: Depth, allowed: Dfa | None
) -> list[tuple[Dfa, Values]]:
    """The members that are not named, by the patterns that their names match."""
    patterns: dict[str, Dfa] = {}
    for sub in subs:
        for pattern in sub.named_at("patternProperties"):
            machine = making.pattern(sub, pattern, "patternProperties")
            if machine is not None:
                patterns[pattern] = machine
    unmatched = _member_values(making, subs, None, frozenset(), place, depth)
    if not patterns and unmatched.is_empty():
        return []
    names = any_text() if allowed is None else allowed
    if place.names:
        names = difference(names, strings.among(list(place.names), making.meter), making.meter)
    parts: list[tuple[Dfa, frozenset[str]]] = [(names, frozenset())]
    for pattern, machine in patterns.items():
        split: list[tuple[Dfa, frozenset[str]]] = []
        for part, matched in parts:
            split.append((intersection(part, machine, making.meter), matched | {pattern}))
            split.append((difference(part, machine, making.meter), matched))
        parts = [item for item in split if item[0].num_states]
        if len(parts) > MOST_PARTS:
            raise UnsupportedSchema(
                "The patterns of patternProperties overlap in too many ways.",
                pointer=subs[0].pointer, keyword="patternProperties",
                remedy="Use fewer patterns, or patterns that exclude each other.",
            )  # fmt: skip
    result: list[tuple[Dfa, Values]] = []
    for part, matched in parts:
        if part.num_states:
            values = _member_values(making, subs, None, matched, place, depth)
            if not values.is_empty():
                result.append((part, values))
    return result


def _member_values(
    making: Making, subs: tuple[Subschema, ...], name: str | None, matched: frozenset[str] | None,
    place: Site, depth: Depth,
) -> Values:  # fmt: skip
    """The values of a member: by its name, or by the patterns that its name matches."""
    applying: list[Subschema] = []
    evaluated_by: list[Subschema] = []
    left: dict[int, Subschema] = {}
    for sub in subs:
        schema = cast("dict[str, Any]", sub.schema)
        known = False
        if name is not None and name in schema.get("properties", {}):
            applying.append(sub.below(schema["properties"][name], "properties", name))
            known = True
        for pattern, part in schema.get("patternProperties", {}).items():
            hit = (
                pattern in matched
                if matched is not None
                else making.matches(sub, pattern, cast("str", name))
            )
            if hit:
                applying.append(sub.below(part, "patternProperties", pattern))
                known = True
        additional = schema.get("additionalProperties")
        if isinstance(additional, bool | dict) and not known:
            part = cast("Schema", additional)
            applying.append(sub.below(part, "additionalProperties"))
            known = True
        if known:
            evaluated_by.append(sub)
        if sub.draft >= 2019 and "unevaluatedProperties" in schema:
            left[id(schema)] = sub
    for owner, sub in left.items():
        inside = [each for each in subs if each is not sub and owner in each.owners]
        done = any(each is sub or owner in each.owners for each in evaluated_by)
        # A nested unevaluatedProperties evaluates whatever is left.
        done = done or any(id(each.schema) in left for each in inside)
        if not done:
            part = cast("Schema", sub.keyword("unevaluatedProperties"))
            applying.append(sub.below(part, "unevaluatedProperties"))
    return making.values_inside(tuple(applying), place.member(name), depth)
