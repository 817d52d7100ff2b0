"""Subschemas that surely have values and can be followed: decided without building a machine.

The machine of a value may be built when a text reaches it
(`explorer.languages.schema.values.spelled`) if building it can neither fail nor show that there are
no values. Both are decided here conservatively: a subschema that is not understood at a glance is
not certain, and its machine is built at once.

A subschema is *sound* if every keyword, in it and in all subschemas that it leads to, can be
followed. It is *certain* if some value of it is evident: a number between its bounds, an array that
may be empty, an object whose required members are certain themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, cast

from explorer.automata.tree.nodes import (
    Branch,
    Class,
    Concat,
    Dot,
    Empty,
    Group,
    Literal,
    Repeat,
    Written,
    walk,
    width,
)
from explorer.errors import RegexError, UnsupportedSchema
from explorer.languages.regex import UnsupportedSyntax, parse
from explorer.languages.schema.reading.cases import (
    IN_PLACE,
    TYPES,
    are_apart,
    decimal,
    told,
    types_given,
)
from explorer.languages.schema.reading.subschemas import (
    LEADING,
    REMARKS,
    WELL_FORMED,
    Schema,
    Subschema,
    check_well_formed,
    is_number,
    parts_of,
)
from explorer.languages.schema.text.ecma import searched, translated
from explorer.languages.schema.text.formats import FORMATS
from explorer.languages.schema.values.amounts import Numbers, can_divide
from explorer.languages.schema.values.places import Conjunction, Depth

DEEPEST: Final = 40
"""The most subschemas inside each other that are looked through."""

MOST_PATTERNS: Final = 5
"""The most patterns of ``patternProperties``; they overlap in at most 2 ** 5 ways, not too many."""

_FOLLOWED: Final = frozenset(
    ("type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties",
     "propertyNames", "minProperties", "maxProperties", "items", "prefixItems", "additionalItems",
     "minItems", "maxItems", "contains", "minContains", "maxContains", "uniqueItems", "minLength",
     "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
     "exclusiveMaximum", "multipleOf", "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then",
     "else", "dependentRequired", "dependentSchemas", "dependencies")
)  # fmt: skip
"""Keywords that can be followed, some of them only if `_is_followed` agrees."""

_SET_ASIDE: Final = REMARKS | {"$defs", "definitions", "$schema", "$comment"}

_SIZES: Final = (
    "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains",
    "minProperties", "maxProperties",
)  # fmt: skip
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

_ALWAYS_FOLLOWED: Final = (_FOLLOWED | _SET_ASIDE).difference(
    _SIZES, _BOUNDS,
    ("type", "enum", "const", "uniqueItems", "required", "multipleOf", "pattern",
     "patternProperties"),
)  # fmt: skip
"""Keywords that can be followed whatever they say."""

_SIMPLE: Final = (Concat, Branch, Group, Written, Repeat, Empty)

Inside = Callable[[Depth, Any, tuple[Subschema, ...]], Depth | None]
"""The depth inside a container (`explorer.languages.schema.values.places`)."""


class Certain:
    """Decides whether subschemas are sound and certain."""

    def __init__(self, inside: Inside, numbers: Callable[[Conjunction], Numbers]) -> None:
        self._inside = inside
        self._numbers = numbers
        self._sound: dict[object, bool] = {}
        self._certain: dict[object, bool] = {}

    def may_wait(self, sub: Subschema, depth: Depth) -> bool:
        """Whether the machine of a subschema may be built later."""
        return self.is_sound(sub) and self._is_certain(sub, depth)

    def _has_plain(self, sub: Subschema, schema: dict[str, Any], depth: Depth) -> bool:
        """Whether plain keywords surely allow a value."""
        types = types_given(schema.get("type"))
        return bool(
            types & {"null", "boolean"}
            or ("string" in types and _has_string(schema))
            or (types & {"number", "integer"} and self._numbers((sub,)))
            or ("array" in types and self._has_array(sub, schema, depth))
            or ("object" in types and self._has_object(sub, schema, depth))
        )

    def is_sound(self, sub: Subschema) -> bool:
        """Whether a subschema and all that it leads to can be followed."""
        key = sub.key
        known = self._sound.get(key)
        if known is None:
            met: set[object] = set()
            try:
                known = self._all_sound(sub, met, 0)
            except UnsupportedSchema:
                known = False
            # All subschemas that a sound one leads to are sound too.
            self._sound.update(dict.fromkeys(met if known else (key,), known))
        return known

    def _all_sound(self, sub: Subschema, met: set[object], level: int) -> bool:
        if not isinstance(sub.schema, dict) or sub.key in met or self._sound.get(sub.key):
            return True
        met.add(sub.key)
        if level > DEEPEST or self._sound.get(sub.key) is False or sub.owners:
            return False
        check_well_formed(sub.schema, sub.pointer, sub.draft)
        for word, value in sub.schema.items():
            if word not in _ALWAYS_FOLLOWED and not _is_followed(sub, word, value):
                return False
        if LEADING.isdisjoint(sub.schema):
            return True
        return all(self._all_sound(each, met, level + 1) for each in _led_to(sub))

    def _is_certain(self, sub: Subschema, depth: Depth) -> bool:
        """Whether a subschema surely has a value."""
        if not isinstance(sub.schema, dict):
            return sub.schema
        key = (sub.key, sub.referenced, depth)
        known = self._certain.get(key)
        if known is None:
            self._certain[key] = False  # A subschema that leads back to itself is not certain.
            try:
                known = self._certain[key] = self._has_value(sub, sub.schema, depth)
            except UnsupportedSchema:
                known = False
        return known

    def _has_value(self, sub: Subschema, schema: dict[str, Any], depth: Depth) -> bool:
        words = schema.keys() & WELL_FORMED.keys() | schema.keys() & {"const"}
        words -= _SET_ASIDE
        choices = words & IN_PLACE
        if choices:
            alone = len(words) == 1 or ("$ref" in words and sub.draft <= 7)
            return alone and self._has_choice(sub, schema, choices, depth)
        if "enum" in schema or "const" in schema:
            listed = schema["enum"] if "enum" in schema else [schema["const"]]
            return words <= {"type", "enum", "const"} and (
                len(words - {"type"}) == 1
                and sub.draft >= 6
                and any(
                    _is_of_type(value, types_given(schema.get("type")))
                    for value in cast("list[object]", listed)
                )
            )
        return self._has_plain(sub, schema, depth)

    def _has_choice(
        self, sub: Subschema, schema: dict[str, Any], choices: set[str], depth: Depth
    ) -> bool:
        if "$ref" in choices:
            return self._is_certain(sub.target(schema["$ref"], "$ref"), depth)
        word = choices.pop()
        if word not in ("anyOf", "oneOf", "allOf"):
            return False
        parts = [sub.below(part, word, index) for index, part in enumerate(sub.schemas_at(word))]
        if word == "allOf":
            return len(parts) == 1 and self._is_certain(parts[0], depth)
        certain = [k for k, each in enumerate(parts) if self._is_certain(each, depth)]
        if word == "anyOf":
            return bool(certain)
        known = [told([each]) for each in parts]
        return any(
            all(are_apart(known[k], other) for other in known if other is not known[k])
            for k in certain
        )

    def _has_array(self, sub: Subschema, schema: dict[str, Any], depth: Depth) -> bool:
        if schema.keys() & {"contains", "uniqueItems", "prefixItems"}:
            return False
        fewest, most = schema.get("minItems", 0), schema.get("maxItems")
        if not fewest:
            return most is None or most >= 0
        items = schema.get("items", True)
        below = self._inside(depth, "arrays", (sub,))
        if below is None or isinstance(items, list) or (most is not None and most < fewest):
            return False
        return self._is_certain(sub.below(cast("Schema", items), "items"), below)

    def _has_object(self, sub: Subschema, schema: dict[str, Any], depth: Depth) -> bool:
        if schema.keys() & {"propertyNames", "patternProperties"}:
            return False
        needed = schema.get("required")
        names = dict.fromkeys(cast("list[str]", needed) if isinstance(needed, list) else ())
        most = schema.get("maxProperties", len(names))
        if schema.get("minProperties", 0) > len(names) or most < len(names):
            return False
        if not names:
            return True
        below = self._inside(depth, "objects", (sub,))
        if below is None:
            return False
        properties = sub.named_at("properties")
        for name in names:
            part = properties.get(name, cast("Schema", schema.get("additionalProperties", True)))
            steps = ("properties", name) if name in properties else ("additionalProperties",)
            if any(0xD800 <= ord(char) <= 0xDFFF for char in name):
                return False
            if not self._is_certain(sub.below(part, *steps), below):
                return False
        return True


def is_small(schema: Schema) -> bool:
    """Whether the machine of a subschema is so small that building it later saves nothing."""
    if not isinstance(schema, dict):
        return False
    if "enum" in schema or "const" in schema:
        return True
    given = schema.get("type")
    return given in ("null", "boolean") and not schema.keys() & IN_PLACE


def _is_followed(sub: Subschema, word: str, value: Any) -> bool:
    """Whether a keyword can surely be followed, or constrains nothing."""
    if word in _SIZES:
        return is_number(value) and value >= 0 and value == int(value)
    if word in _BOUNDS:
        return isinstance(value, bool) or is_number(value)
    match word:
        case "type":
            return (isinstance(value, str) and value in TYPES) or TYPES.issuperset(value)
        case "enum":
            return not any(isinstance(each, dict | list) for each in value)
        case "const":
            return not isinstance(value, dict | list)
        case "uniqueItems":
            return value is False
        case "required":
            return isinstance(value, list)
        case "multipleOf":
            return is_number(value) and can_divide(decimal(value))
        case "pattern":
            return shortest(value) is not None
        case "patternProperties":
            return len(value) <= MOST_PATTERNS and all(shortest(p) is not None for p in value)
        case _:
            known = word in _FOLLOWED or word in _SET_ASIDE
            return known or (word not in WELL_FORMED and word[:1] != "$" and word != "id")


def _led_to(sub: Subschema) -> Iterator[Subschema]:
    """The subschemas that the keywords of one lead to, without its definitions."""
    schema = cast("dict[str, Any]", sub.schema)
    if isinstance(reference := schema.get("$ref"), str):
        yield sub.target(reference, "$ref")
    for path, part in parts_of(schema):
        if path[0] not in ("$defs", "definitions"):
            yield sub.below(part, *path)


def _is_of_type(value: object, types: frozenset[str]) -> bool:
    match value:
        case None:
            return "null" in types
        case bool():
            return "boolean" in types
        case int():
            return bool(types & {"number", "integer"})
        case float() | Decimal():
            return "number" in types
        case str():
            return "string" in types and not any(0xD800 <= ord(char) <= 0xDFFF for char in value)
        case _:
            return False


def _has_string(schema: dict[str, Any]) -> bool:
    fewest, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    lengths: list[int] = []
    if "pattern" in schema:
        word = shortest(schema["pattern"])
        lengths.append(-1 if word is None else word)
    if (name := schema.get("format")) in FORMATS:
        lengths.append(_shortest_of_format(name))
    if not lengths:
        return fewest <= most
    return len(lengths) == 1 and lengths[0] >= 0 and fewest <= lengths[0] <= most


@lru_cache(maxsize=256)
def shortest(pattern: str) -> int | None:
    """The length of the shortest text in which a pattern of a schema is found.

    ``None`` if the length is not evident: the pattern cannot be read, has assertions other than at
    its ends, or has sets without characters.
    """
    try:
        python = translated(pattern)
        inner = python.removeprefix("^")
        if inner.endswith(r"\Z") and not inner.endswith(r"\\Z"):
            inner = inner[:-2]
        parse(searched(python))
        return _shortest(inner)
    except (RegexError, UnsupportedSyntax, ValueError, IndexError):
        return None


@cache
def _shortest_of_format(name: str) -> int:
    word = _shortest(FORMATS[name])
    return -1 if word is None else word


def _shortest(pattern: str) -> int | None:
    root = parse(pattern).root
    for node in walk(root):
        if isinstance(node, Literal | Class | Dot):
            if not node.chars.ranges:
                return None
        elif not isinstance(node, _SIMPLE):
            return None
    return width(root)[0]
