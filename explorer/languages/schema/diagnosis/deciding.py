"""The keywords of a schema that decide what may come next in a text, or that leave no value.

Each keyword that applies at the spot is asked alone, as a small schema of its own. It decides if it
excludes a byte that JSON would allow there; or, where JSON itself excludes the byte, if it allows
less than JSON. The values of finished members and items make no difference, so they are replaced by
``0`` in the text (`Spot.outline`), and every member may be ``0``. Cost: a machine of a few states
per keyword, made when a person asks, and kept for the next question.

Where a schema allows no value (`conflict`), keywords are taken away one after the other, as long as
what is left still allows nothing. What remains is a smallest set: without any one of its keywords
there would be a value. Cost: one machine per keyword of the schema, made when somebody asks why.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Final, cast

from explorer.automata.machine import NO_ARC, ByteMachine, Dfa
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, UnsupportedSchema
from explorer.languages.schema.diagnosis.plain_json import names_before
from explorer.languages.schema.machine import compile_schema
from explorer.languages.schema.options import Order, SchemaOptions
from explorer.languages.schema.reading.subschemas import (
    BY_NAME,
    DRAFTS,
    REMARKS,
    Schema,
    Subschema,
    parts_of,
)
from explorer.languages.schema.reading.text import Spot, pointer_to
from explorer.languages.schema.values.places import Site
from explorer.memo import Kept

LIMITS: Final = Budget(states=50_000, seconds=10.0)
"""The budget for all keywords of one answer; a keyword that needs more is passed over."""

_ZERO: Final[dict[str, Any]] = {"enum": [0]}
_ENDS: Final = frozenset(b",]} \t\n\r")
_OF_VALUES: Final = (
    "const", "enum", "type", "format", "pattern", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
)  # fmt: skip
_OF_NAMES: Final = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_OF_MEMBERS: Final = (
    "required", "minProperties", "maxProperties", "dependentRequired", "properties",
    "patternProperties",
)  # fmt: skip
_OF_ITEMS: Final = ("minItems", "maxItems", "items", "additionalItems", "unevaluatedItems")
_HARD: Final = ("contains", "uniqueItems")
"""Keywords that an outline cannot decide; they are named where no other keyword decides."""


def deciding(spot: Spot, places: list[Site], byte: int | None, options: SchemaOptions) -> list[str]:
    """The JSON Pointers of the deciding keywords, of the value or else of its container.

    Args:
        byte: The byte that fails; ``None`` asks what must come before the text may end.
    """
    question = _Question(byte, options)
    outline = spot.outline
    if outline is not None and outline[:1] == b"{" and not outline.endswith(b":"):
        return question.members(places[-1], outline)  # Before or inside of a name.
    if byte == 0x5D and outline is not None and outline[:1] == b"[" and not spot.value:
        pointers = question.members(places[-2], outline)
        if pointers or not outline.endswith(b","):  # After a comma an item is missing.
            return pointers
    pointers = question.value(places[-1], spot.value)
    if not pointers and outline is not None and spot.is_finished:
        pointers = question.members(places[-2], outline + b"0")
    return pointers


def hard_to_decide(place: Site) -> list[str]:
    """The JSON Pointers of the keywords of an array that its outline cannot decide."""
    return [f"{sub.pointer}/{keyword}" for sub, keyword in _keywords(place, _HARD)]


def names_again(
    spot: Spot, place: Site, byte: int, rest: bytes, options: SchemaOptions
) -> tuple[list[str], str]:
    """The names that came before in the object, with a clause; none if they do not decide.

    They decide if the byte could follow in the same object without those members, in any order.

    Args:
        rest: What was written after the byte.
    """
    names, without_them = names_before(spot, bytes([byte]) + rest)
    any_order = replace(options, property_order="any")
    if not names or _Question(byte, any_order).members(place, without_them):
        return [], ""
    shown = " and ".join(json.dumps(name, ensure_ascii=False) for name in names)
    return names, f"the name{'s' * (len(names) > 1)} {shown} came before"


def _keywords_in(pointer: str) -> Iterator[tuple[str, str]]:
    """The keywords in a pointer, each with the pointer up to it; names of members are left out."""
    path, *rest = pointer.split("/")
    steps = iter(rest)
    for step in steps:
        path += f"/{step}"
        yield step, path
        if step in BY_NAME:
            path += f"/{next(steps, '')}"


def excluding(pointer: str) -> str:
    """The pointer of the ``not`` that a subschema is in; empty if it is not in one.

    Example:
        >>> excluding("/properties/not/not/type"), excluding("/properties/not")
        ('/properties/not/not', '')
    """
    return next((path for step, path in _keywords_in(pointer) if step == "not"), "")


def need_not_hold(pointer: str) -> bool:
    """Whether a subschema need not hold: it is below a ``not``, an ``if`` or a ``contains``."""
    return any(step in ("not", "if", "contains") for step, _ in _keywords_in(pointer))


class _Question:
    """The question what may follow a text, keyword by keyword.

    Args:
        byte: The byte that fails; ``None`` asks what must come before the text may end.
    """

    def __init__(self, byte: int | None, options: SchemaOptions) -> None:
        self._byte = byte
        self._options = SchemaOptions(
            property_order=options.property_order, formats=options.formats, strict=False,
            free_depth=0,
        )  # fmt: skip
        self._meter = Meter(LIMITS)

    def value(self, place: Site, text: bytes) -> list[str]:
        """The pointers of the keywords that decide inside of a scalar, or before a value."""
        ends = bool(text) and (self._byte is None or self._byte in _ENDS)
        return self._deciding(place, text, _alone, _OF_VALUES, ends=ends)

    def members(self, place: Site, outline: bytes) -> list[str]:
        """The pointers of the keywords that decide between the members or items of a container."""
        names = place.names

        def outlined(sub: Subschema, keyword: str) -> _Parts:
            return _outlined(sub, keyword, names)

        if outline[:1] == b"{":
            pointers = self._deciding(place, outline, outlined, _OF_NAMES)
            return pointers or self._deciding(place, outline, outlined, _OF_MEMBERS)
        return self._deciding(place, outline, outlined, _OF_ITEMS)

    def _deciding(
        self,
        place: Site,
        text: bytes,
        alone: Callable[[Subschema, str], _Parts],
        keywords: tuple[str, ...],
        *,
        ends: bool = False,
    ) -> list[str]:
        asked: dict[str, tuple[Subschema, dict[str, Any]]] = {}
        for sub, keyword in _keywords(place, keywords):
            for path, schema in alone(sub, keyword):
                asked[sub.pointer + pointer_to(*path)] = sub, schema

        def decides(schemas: list[tuple[Subschema, dict[str, Any]]]) -> bool:
            machine = self._machine(schemas)
            return machine is not None and _decides(
                machine, _any_json(self._options.property_order), text, self._byte, ends
            )

        deciding = [pointer for pointer, schema in asked.items() if decides([schema])]
        if not deciding and len(asked) > 1 and decides(list(asked.values())):
            # They decide only together: keep those without which the byte would be allowed.
            for pointer in asked:
                if not decides([schema for other, schema in asked.items() if other != pointer]):
                    deciding.append(pointer)
        return deciding

    def _machine(self, schemas: list[tuple[Subschema, dict[str, Any]]]) -> Dfa | None:
        """The machine of some keywords together; ``None`` where it cannot be made."""
        schema: dict[str, Any] = {"allOf": [schema for _, schema in schemas]}
        if len(schemas) == 1:
            schema = schemas[0][1]
        draft = next(
            address for address, (number, _) in DRAFTS.items() if number == schemas[0][0].draft
        )
        schema = {"$schema": draft, **schema}
        key = pickle.dumps(schema), self._options
        try:
            if (known := _MACHINES.get(key)) is None:
                known = compile_schema(schema, self._meter, self._options)[0]
                _MACHINES.put(key, known, known.table.nbytes)
            return known
        except (BudgetExceeded, UnsupportedSchema):
            return None


_MACHINES: Final = Kept[tuple[bytes, SchemaOptions], Dfa](most_bytes=8_000_000)
"""The machines of the last keywords that were asked, by their schema (which may hold decimals)."""


@cache
def _any_json(order: Order) -> Dfa:
    """JSON in which arrays and objects hold only scalars or empty containers."""
    return compile_schema({}, Meter(), SchemaOptions(property_order=order, free_depth=1))[0]


def _keywords(place: Site, keywords: tuple[str, ...]) -> Iterator[tuple[Subschema, str]]:
    """The given keywords in the subschemas of a place that must hold."""
    for sub in place.subschemas:
        if isinstance(sub.schema, dict) and not need_not_hold(sub.pointer):
            for keyword in keywords:
                if keyword in sub.schema:
                    yield sub, keyword


_Parts = Iterator[tuple[tuple[str, ...], dict[str, Any]]]
"""Small schemas, each with one keyword or a part of it, whose path in the subschema is given."""


def _alone(sub: Subschema, keyword: str) -> _Parts:
    """A schema with one keyword of a scalar; in draft 4 a bound also needs its ``exclusive…``."""
    schema = {keyword: sub.keyword(keyword)}
    partner = f"exclusive{keyword.capitalize()}"
    if keyword in ("minimum", "maximum") and sub.keyword(partner) is True:
        schema[partner] = True
    yield (keyword,), schema


def _outlined(sub: Subschema, keyword: str, names: tuple[str, ...]) -> _Parts:
    """Schemas with one keyword of a container in which all finished values are ``0``.

    Of ``properties`` and ``patternProperties`` each member that may not be there is asked alone,
    and so is each keyword of ``propertyNames``.
    """
    value = sub.keyword(keyword)
    if keyword in _OF_ITEMS:
        if not isinstance(value, bool | dict):
            yield (keyword,), {keyword: value}
        elif value is False:
            leading = sub.schemas_at("prefixItems") or sub.schemas_at("items")
            yield (keyword,), {"maxItems": len(leading)}
        return
    zeros = dict.fromkeys(names, _ZERO)
    open_object: dict[str, Any] = {"properties": zeros, "additionalProperties": _ZERO}
    match keyword:
        case "properties" | "patternProperties":
            if keyword == "properties":
                yield (keyword,), open_object
            for name in _forbidden(sub, keyword):
                given = {**zeros, name: False} if keyword == "properties" else {name: False}
                yield (keyword, name), {"additionalProperties": _ZERO, keyword: given}
        case "additionalProperties" | "unevaluatedProperties":
            if value is not False:
                return
            own = keyword == "additionalProperties"
            named = dict.fromkeys(sub.named_at("properties") if own else names, _ZERO)
            named |= dict.fromkeys(_forbidden(sub, "properties"), False)
            known = dict.fromkeys(sub.named_at("patternProperties"), _ZERO)
            yield (keyword,), {
                "properties": named, "patternProperties": known, "additionalProperties": False,
            }  # fmt: skip
        case "propertyNames" if isinstance(value, dict) and value and {*value} <= {*_OF_VALUES}:
            for single, wanted in cast("dict[str, Any]", value).items():
                yield (keyword, single), {**open_object, keyword: {single: wanted}}
        case _:
            yield (keyword,), {**open_object, keyword: value}


def _forbidden(sub: Subschema, keyword: str) -> list[str]:
    """The members of ``properties`` or ``patternProperties`` whose schema is ``false``."""
    return [name for name, part in sub.named_at(keyword).items() if part is False]


def _decides(machine: Dfa, free: Dfa, text: bytes, byte: int | None, ends: bool) -> bool:
    """Whether a machine excludes a byte that free JSON allows, or allows less where it refuses."""
    here, there = after_text(machine, text), after_text(free, text)
    if here == NO_ARC or there == NO_ARC:
        return here != there
    if ends or byte is None:
        if free.is_accepting(there):
            return not machine.is_accepting(here)
    elif free.step(there, byte) != NO_ARC:
        return machine.step(here, byte) == NO_ARC
    return _allowed(machine, here) < _allowed(free, there)


def _allowed(machine: Dfa, state: int) -> set[int | None]:
    """The bytes that may follow, and ``None`` where the text may end."""
    return {*machine.expected(state), *([None] if machine.is_accepting(state) else [])}


def after_text(machine: ByteMachine, text: bytes) -> int:
    """The state of a machine after a text; `NO_ARC` where no word begins so."""
    state = machine.start
    for byte in text:
        if state == NO_ARC:
            break
        state = machine.step(state, byte)
    return state


_CONTAINERS: Final = frozenset(
    ("properties", "patternProperties", "allOf", "anyOf", "oneOf", "items", "prefixItems", "$defs",
     "definitions", "$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "id", "$anchor",
     "$dynamicAnchor", "$vocabulary", "if", "then", "else", "dependentSchemas", "dependencies",
     *REMARKS)
)  # fmt: skip
"""Keywords that only lead to others, or say nothing about values."""

Path = tuple[str | int, ...]


def conflict(schema: Schema, is_empty: Callable[[Schema], bool]) -> tuple[str, ...]:
    """The JSON Pointers of keywords that leave nothing together, as few as possible.

    Args:
        is_empty: Tells whether a schema allows nothing; `BudgetExceeded` and `UnsupportedSchema`
            count as no.

    Returns:
        The pointers, in the order of the schema. Empty if the cause is unknown: there is no value
        even without all the keywords that can be taken away.

    Example:
        >>> conflict({"minimum": 3, "maximum": 2, "title": "none"}, lambda it: len(it) > 2)
        ('/minimum', '/maximum')
    """
    left = _removable(schema)
    kept: list[Path] = list(left)
    for path in reversed(left):
        less = [other for other in kept if other != path]
        try:
            if is_empty(_only(schema, left, less)):
                kept = less
        except (BudgetExceeded, UnsupportedSchema):
            continue
    return tuple(pointer_to(*path) for path in kept)


def endless_reference(schema: Schema, is_empty: Callable[[Schema], bool]) -> str:
    """The pointer of a reference to a schema around it, if the schema has values without it.

    Returns:
        The pointer; empty if there is no such reference.

    Example:
        >>> endless = {"properties": {"p": {"$ref": "#"}}, "required": ["p"]}
        >>> endless_reference(endless, lambda it: bool(it["properties"]["p"]))
        '/properties/p/$ref'
    """
    for path, here in _level_by_level(schema):
        target = here.get("$ref") if isinstance(here, dict) else None
        pointer = pointer_to(*path, "$ref")
        if isinstance(target, str) and target[:1] == "#" and pointer.startswith(f"{target[1:]}/"):
            with suppress(BudgetExceeded, UnsupportedSchema):
                if not is_empty(_only(schema, [(*path, "$ref")], [])):
                    return pointer
    return ""


def _level_by_level(
    schema: Schema, through: Container[str] | None = None
) -> Iterator[tuple[Path, Schema]]:
    """A schema and the subschemas in it, the outer ones first.

    Args:
        through: The keywords whose subschemas are wanted; ``None`` for all.
    """
    todo: list[tuple[Path, Schema]] = [((), schema)]
    for path, here in todo:  # The list grows while it is read.
        yield path, here
        for below, part in parts_of(here) if isinstance(here, dict) else ():
            if through is None or below[0] in through:
                todo.append(((*path, *below), part))


def _removable(schema: Schema) -> list[Path]:
    """The keywords that can be taken away; a subschema ``false`` counts as one."""
    paths: list[Path] = []
    for path, here in _level_by_level(schema, _CONTAINERS):
        if here is False:
            paths.append(path)
        elif isinstance(here, dict):
            paths += [(*path, keyword) for keyword in here if keyword not in _CONTAINERS]
    return list(dict.fromkeys(paths))


def _only(schema: Schema, every: list[Path], kept: list[Path]) -> Schema:
    """A schema with only some of its keywords."""
    gone = set(every) - set(kept)

    def copied(value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            named = bool(path) and path[-1] in BY_NAME
            return {
                name: copied(part, (*path, name))
                for name, part in cast("dict[str, Any]", value).items()
                if (*path, name) not in gone or (named and isinstance(part, bool))
            }
        if isinstance(value, list):
            parts = cast("list[Any]", value)
            return [copied(part, (*path, index)) for index, part in enumerate(parts)]
        return True if path in gone else value

    return copied(schema, ())
