"""Judges subschemas at a glance: can a machine surely be built, is there surely a string?

The machine of a value may be built when a text reaches it
(`explorer.languages.schema.values.spelled`) if building it cannot fail. A subschema is *sound* if
every keyword, in it and in all subschemas that it leads to, can be followed: then building it
cannot fail. It is judged conservatively: where that is not understood, the machine is built at
once. So that a large pattern need not be built to see whether there is a value, the length of a
shortest string is read from the pattern.
"""

from __future__ import annotations

import math
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

MOST_PATTERNS: Final = 5
"""The most patterns of ``patternProperties``; they overlap in at most 2 ** 5 ways, not too many."""

_SET_ASIDE: Final = REMARKS | {"$defs", "definitions", "$schema", "$comment"}

_SIZES: Final = frozenset(
    ("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains",
     "minProperties", "maxProperties")
)  # fmt: skip

_LOOKED_AT: Final = _SIZES | {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "type", "enum",
    "const", "uniqueItems", "required", "pattern", "patternProperties", "unevaluatedItems",
    "unevaluatedProperties", "$dynamicRef", "$recursiveRef",
}  # fmt: skip
_ALWAYS_FOLLOWED: Final = (WELL_FORMED.keys() | _SET_ASIDE) - _LOOKED_AT
"""Keywords that can be followed whatever they say."""

_BESIDE_TEXTS: Final = IN_PLACE | {"enum", "const"}

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
                known = not sub.owners and self._all_sound(sub, met)
            except UnsupportedSchema:
                known = False
            # All subschemas that a sound one leads to are sound too.
            self._known.update(dict.fromkeys(met if known else (key,), known))
        return known

    def _all_sound(self, first: Subschema, met: dict[int, None]) -> bool:
        """Whether all is sound that a subschema leads to."""
        waiting: list[tuple[Subschema, Schema]] = [(first, first.schema)]
        for sub, schema in waiting:  # The list grows while it is read.
            if not isinstance(schema, dict) or id(schema) in met:
                continue
            known = self._known.get(id(schema))
            if known is False:
                return False
            if known:
                continue
            met[id(schema)] = None
            check_well_formed(schema, sub.pointer, sub.draft)
            for word, value in schema.items():
                if word not in _ALWAYS_FOLLOWED and not _is_followed(word, value):
                    return False
            if LEADING.isdisjoint(schema):
                continue
            reference = schema.get("$ref")
            if isinstance(reference, str):
                target = sub.target(reference, "$ref")
                waiting.append((target, target.schema))
            waiting += [
                (sub, part) for path, part in parts_of(schema)
                if path[0] not in ("$defs", "definitions")
            ]  # fmt: skip
        return True


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
            return len(value) <= MOST_PATTERNS and all(shortest(each) is not None for each in value)
        case _:
            return word not in WELL_FORMED and word[:1] != "$" and word != "id"


def has_text(sub: Subschema) -> bool:
    """Whether a subschema evidently has a string, so that its pattern need not be built to see."""
    schema = sub.schema
    if not isinstance(schema, dict) or sub.referenced or not _BESIDE_TEXTS.isdisjoint(schema):
        return False
    if "string" not in types_given(schema.get("type")):
        return False
    pattern, name = schema.get("pattern"), schema.get("format")
    if (pattern is None) == (name not in FORMATS):
        return False  # Plain strings are quickly built, and of two machines less is evident.
    length = _shortest_of_format(cast("str", name)) if pattern is None else shortest(pattern)
    if length is None:
        return False
    return schema.get("minLength", 0) <= length <= schema.get("maxLength", math.inf)


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
def _shortest_of_format(name: str) -> int | None:
    return _shortest(FORMATS[name])


def _shortest(pattern: str) -> int | None:
    root = parse(pattern).root
    for node in walk(root):
        if isinstance(node, Literal | Class | Dot):
            if not node.chars.ranges:
                return None
        elif not isinstance(node, _SIMPLE):
            return None
    return width(root)[0]
