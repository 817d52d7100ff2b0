"""Subschemas judged at a glance, without building a machine.

The machine of a value may be built when a text reaches it
(`explorer.languages.schema.values.spelled`) if building it can neither fail nor show that there are
no values. A subschema is *sound* if every keyword, in it and in all subschemas that it leads to,
can be followed: then building it cannot fail. A value of it is *evident* if its plain keywords show
one: a text of some length, an array that may be empty, an object whose required members have
evident values. Both are judged conservatively: where soundness is not understood, the machine is
built at once; where no value is evident, values are searched for
(`explorer.languages.schema.values.sets`).
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, cast

from explorer.automata.tree.layout import width
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
)
from explorer.errors import RegexError, UnsupportedSchema
from explorer.languages.regex import UnsupportedSyntax, parse
from explorer.languages.schema.reading.cases import IN_PLACE, TYPES, decimal, types_given
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
from explorer.languages.schema.text.ecma import inside_of, searched, translated
from explorer.languages.schema.text.formats import FORMATS
from explorer.languages.schema.values.amounts import can_divide

DEEPEST: Final = 40
"""The most subschemas inside each other that are looked through."""

MOST_PATTERNS: Final = 5
"""The most patterns of ``patternProperties``; they overlap in at most 2 ** 5 ways, not too many."""

_SET_ASIDE: Final = REMARKS | {"$defs", "definitions", "$schema", "$comment"}

_RULES: Final = WELL_FORMED.keys() | {"const"}
"""The keywords that constrain values."""

_SIZES: Final = frozenset(
    ("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains",
     "minProperties", "maxProperties")
)  # fmt: skip
_FURTHER_BOUNDS: Final = frozenset(("exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_BEYOND_ITEMS: Final = frozenset(("contains", "uniqueItems", "prefixItems", "unevaluatedItems"))
_BEYOND_MEMBERS: Final = frozenset(("propertyNames", "patternProperties", "unevaluatedProperties"))

_LOOKED_AT: Final = _SIZES | _FURTHER_BOUNDS | {
    "minimum", "maximum", "type", "enum", "const", "uniqueItems", "required", "pattern",
    "patternProperties", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef",
    "$recursiveRef",
}  # fmt: skip
_ALWAYS_FOLLOWED: Final = (_RULES | _SET_ASIDE) - _LOOKED_AT
"""Keywords that can be followed whatever they say."""

_SIMPLE: Final = (Concat, Branch, Group, Written, Repeat, Empty)


class Soundness:
    """Decides whether subschemas are sound; what was decided is kept."""

    def __init__(self) -> None:
        self._known: dict[int, bool] = {}

    def of(self, sub: Subschema) -> bool:
        """Whether a subschema and all that it leads to can be followed."""
        if not isinstance(sub.schema, dict):
            return True
        key = id(sub.schema)
        known = self._known.get(key)
        if known is None or sub.owners:
            met: dict[int, None] = {}
            try:
                known = not sub.owners and self._all_sound(sub, sub.schema, met, 0)
            except UnsupportedSchema:
                known = False
            # All subschemas that a sound one leads to are sound too.
            self._known.update(dict.fromkeys(met if known else (key,), known))
        return known

    def _all_sound(self, sub: Subschema, schema: Schema, met: dict[int, None], level: int) -> bool:
        """Whether all is sound that some keywords inside a subschema lead to."""
        if not isinstance(schema, dict) or id(schema) in met:
            return True
        known = self._known.get(id(schema))
        if known is not None:
            return known
        met[id(schema)] = None
        if level > DEEPEST:
            return False
        check_well_formed(schema, sub.pointer, sub.draft)
        for word, value in schema.items():
            if word not in _ALWAYS_FOLLOWED and not _is_followed(word, value):
                return False
        if LEADING.isdisjoint(schema):
            return True
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = sub.target(reference, "$ref")
            if not self._all_sound(target, target.schema, met, level + 1):
                return False
        for path, part in parts_of(schema):
            if path[0] not in ("$defs", "definitions") and not self._all_sound(
                sub, part, met, level + 1
            ):
                return False
        return True


def has_evident_value(sub: Subschema) -> bool:
    """Whether a subschema that no reference led to evidently has a value."""
    return not sub.referenced and _is_evident(sub.schema, sub.draft)


def _is_evident(schema: Schema, draft: int) -> bool:
    if not isinstance(schema, dict):
        return schema
    if not IN_PLACE.isdisjoint(schema):
        alone = schema.keys() & _RULES == {"anyOf"}
        return alone and any(_is_evident(part, draft) for part in schema["anyOf"])
    types = types_given(schema.get("type"))
    if "enum" in schema or "const" in schema:
        alone = len(schema.keys() & _RULES - {"type"}) == 1
        listed = schema["enum"] if "enum" in schema else [schema["const"]]
        return alone and draft >= 6 and any(_is_of_type(value, types) for value in listed)
    return bool(
        types & {"null", "boolean"}
        or (types & {"number", "integer"} and _has_number(schema))
        or ("string" in types and _has_string(schema))
        or ("array" in types and _has_array(schema, draft))
        or ("object" in types and _has_object(schema, draft))
    )


def _has_number(schema: dict[str, Any]) -> bool:
    if not _FURTHER_BOUNDS.isdisjoint(schema):
        return False
    low, high = schema.get("minimum"), schema.get("maximum")
    return low is None or high is None or math.ceil(low) <= high


def _has_array(schema: dict[str, Any], draft: int) -> bool:
    if not _BEYOND_ITEMS.isdisjoint(schema):
        return False
    fewest, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    items = schema.get("items", True)
    return most >= fewest and (
        not fewest or (not isinstance(items, list) and _is_evident(items, draft))
    )


def _has_object(schema: dict[str, Any], draft: int) -> bool:
    if not _BEYOND_MEMBERS.isdisjoint(schema):
        return False
    needed = schema.get("required")
    names = dict.fromkeys(cast("list[str]", needed) if isinstance(needed, list) else ())
    if not schema.get("minProperties", 0) <= len(names) <= schema.get("maxProperties", math.inf):
        return False
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    return all(
        _is_evident(properties.get(name, others), draft) and _is_written(name) for name in names
    )


def _is_written(text: str) -> bool:
    """Whether a text holds no half of a surrogate pair."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def is_small(schema: Schema) -> bool:
    """Whether the machine of a subschema is so small that building it later saves nothing."""
    if not isinstance(schema, dict):
        return False
    if "enum" in schema or "const" in schema:
        return True
    given = schema.get("type")
    return given in ("null", "boolean") and not schema.keys() & IN_PLACE


def _is_followed(word: str, value: Any) -> bool:
    """Whether a keyword can surely be followed, or constrains nothing."""
    if word == "type":
        return (isinstance(value, str) and value in TYPES) or TYPES.issuperset(value)
    if word in _SIZES:
        return is_number(value) and value >= 0 and value == int(value)
    match word:
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return isinstance(value, bool) or is_number(value)
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
            return word not in WELL_FORMED and word[:1] != "$" and word != "id"


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
            return "string" in types and _is_written(value)
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
        parse(searched(python))
        return _shortest((inside_of(python) or (False, python, False))[1])
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
