"""The keywords of one subschema: their types are checked, and they are read as its draft says.

Equal subschemas become one object (`prepared`), so that each is built once. Real schemas repeat
themselves: a string of at most 255 characters, twenty times. The compiler knows a subschema by its
identity, so equal ones are made identical before it starts. Annotations (``title``,
``description``) are left out first, because they would make equal subschemas differ. A subschema
that has an address of its own, or an ``unevaluated...`` keyword, is never shared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, TypeGuard, cast

from explorer.automata.tree.nodes import MAX_REPEAT
from explorer.errors import UnsupportedSchema
from explorer.languages.schema.reading.subschemas import (
    DEFAULT_DRAFT,
    DRAFTS,
    Schema,
    Subschema,
)
from explorer.languages.schema.reading.text import pointer_to

_Check = Callable[[Any], bool]
Number = int | float | Decimal
"""A number of a schema: whole or an exact decimal if read from text, else possibly a float."""


def _is_schema(value: Any) -> bool:
    return isinstance(value, bool | dict)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_schema, cast("list[Any]", value)))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(n, str) for n in cast("list[Any]", value))


def is_number(value: object) -> TypeGuard[Number]:
    """Whether a value of a schema is a number."""
    return isinstance(value, Number) and not isinstance(value, bool)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, cast("dict[str, Any]", value).values()))


_SCHEMA: Final = (_is_schema, "a schema: an object, true or false")
_SCHEMAS: Final = (_is_schemas, "a list of schemas")
_NAMED: Final = (_is_mapping, "an object whose values are schemas")
_NUMBER: Final = (is_number, "a number")
_NAMES: Final = (_is_names, "a list of strings")
_TEXT: Final = (_is_text, "a string")

WELL_FORMED: Final[dict[str, tuple[_Check, str]]] = {
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _SCHEMAS),
    **dict.fromkeys(
        ("not", "if", "then", "else", "contains", "propertyNames", "additionalProperties",
         "unevaluatedProperties", "additionalItems", "unevaluatedItems"),
        _SCHEMA,
    ),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _NAMED),
    **dict.fromkeys(
        ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
         "minContains", "maxContains", "minProperties", "maxProperties"),
        _NUMBER,
    ),
    "multipleOf": (lambda value: is_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(("pattern", "format", "$ref", "$dynamicRef", "$recursiveRef"), _TEXT),
    # In draft 3 a member said by itself that it was required; no later draft reads that.
    "required": (lambda value: isinstance(value, bool) or _is_names(value), "a list of strings"),
    "enum": (_is_list, "a list of values"),
    "items": (lambda value: _is_schema(value) or _is_schemas(value), "a schema, or a list of them"),
    "type": (lambda value: _is_text(value) or _is_names(value), "a type, or a list of them"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    "dependentRequired": (
        lambda value: isinstance(value, dict)
        and all(map(_is_names, cast("dict[str, Any]", value).values())),
        "an object whose values are lists of names",
    ),
    "dependencies": (
        lambda value: isinstance(value, dict)
        and all(_is_schema(v) or _is_names(v) for v in cast("dict[str, Any]", value).values()),
        "an object whose values are schemas or lists of names",
    ),
}  # fmt: skip
"""The check and the description of the type of each keyword, in all drafts."""

_EXAMPLES: Final = {
    _SCHEMA[1]: '{"type": "string"}', _SCHEMAS[1]: '[{"type": "string"}, {"type": "null"}]',
    _NAMED[1]: '{"name": {"type": "string"}}', _NUMBER[1]: "3", _NAMES[1]: '["name"]',
    _TEXT[1]: '"..."', "a number above 0": "0.5", "a list of values": '["red", "green"]',
    "a schema, or a list of them": '{"type": "string"}', "a type, or a list of them": '"string"',
    "true or false": "true", "an object whose values are lists of names": '{"name": ["age"]}',
    "an object whose values are schemas or lists of names": '{"name": ["age"]}',
}  # fmt: skip
"""A value of each required type, as JSON."""


_HOLDING: Final = frozenset(
    ("$defs", "definitions", "dependencies", "items",
     *(word for word, kind in WELL_FORMED.items() if kind in (_SCHEMA, _SCHEMAS, _NAMED)))
)  # fmt: skip
"""The keywords that may hold subschemas."""

LEADING: Final = _HOLDING | {"$ref"}
"""The keywords that may lead to subschemas, but for dynamic references."""

_ADDRESSES: Final = frozenset(
    ("$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema")
)
"""Keywords that the ``referencing`` library reads; it reports the faults in them."""


def parts_of(schema: dict[str, Any]) -> Iterator[tuple[tuple[str] | tuple[str, str | int], Schema]]:
    """The subschemas in the keywords of a schema, each with its path.

    Malformed keywords are passed over.
    """
    if _HOLDING.isdisjoint(schema):
        return
    for keyword, value in schema.items():
        expected = WELL_FORMED.get(keyword)
        if keyword in ("$defs", "definitions", "dependencies") or expected is _NAMED:
            named = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
            for name, part in named.items():
                if _is_schema(part):
                    yield (keyword, name), part
        elif isinstance(value, list) and (expected is _SCHEMAS or keyword == "items"):
            for index, part in enumerate(cast("list[Any]", value)):
                if _is_schema(part):
                    yield (keyword, index), part
        elif (expected is _SCHEMA or keyword == "items") and _is_schema(value):
            yield (keyword,), cast("Schema", value)


def every_part(schema: Schema) -> Iterator[tuple[str, dict[str, Any], int]]:
    """The pointer, keywords and draft of each subschema that is an object, in order."""
    todo: list[tuple[str, Schema, int]] = [("", schema, DEFAULT_DRAFT)]
    while todo:
        pointer, here, draft = todo.pop()
        if isinstance(here, dict):
            draft = draft_of(here, draft)
            yield pointer, here, draft
            below = [(pointer + pointer_to(*path), part, draft) for path, part in parts_of(here)]
            todo += reversed(below)


def draft_of(schema: dict[str, Any], around: int) -> int:
    """The draft that a subschema names, or else the one around it."""
    dialect = schema.get("$schema")
    known = DRAFTS.get(dialect.rstrip("#")) if isinstance(dialect, str) else None
    return around if known is None else known[0]


class Checked(dict[str, Any]):
    """The keywords of a subschema that were checked, as those of a draft."""

    __slots__ = ("draft",)

    def __init__(self, draft: int) -> None:
        super().__init__()
        self.draft = draft


def check_well_formed(schema: dict[str, Any], pointer: str, draft: int) -> None:
    """Raise for a keyword of a wrong type in a subschema.

    Raises:
        UnsupportedSchema: A keyword does not have the required type.
    """
    if type(schema) is Checked and schema.draft == draft:
        return
    for keyword, value in schema.items():
        expected = WELL_FORMED.get(keyword)
        if expected is not None and not expected[0](value):
            shown = repr(value) if not isinstance(value, Decimal) else str(value)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
            raise UnsupportedSchema(
                f"{keyword} is {shown}, not {expected[1]}.",
                pointer=f"{pointer}/{keyword}",
                keyword=keyword,
                remedy=f'For example "{keyword}": {_EXAMPLES[expected[1]]}.',
            )
    if draft >= 2020 and isinstance(schema.get("items"), list):
        raise UnsupportedSchema(
            "items is a list; in draft 2020-12 it is one schema, and prefixItems is the list.",
            pointer=f"{pointer}/items", keyword="items",
            remedy="Write prefixItems for the list and items for what was additionalItems, or say "
            'that the schema is older: "$schema": "http://json-schema.org/draft-07/schema#".',
        )  # fmt: skip


def equal(a: object, b: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        left, right = cast("list[object]", a), cast("list[object]", b)
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(a, dict) and isinstance(b, dict):
        one, two = cast("dict[str, object]", a), cast("dict[str, object]", b)
        return one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    return a == b


def decimal(value: Number) -> Decimal:
    """A number of a schema, exactly as it is written."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


TYPES: Final = ("null", "boolean", "number", "string", "array", "object")


def types_of(subs: tuple[Subschema, ...]) -> set[str]:
    """The types that some subschemas leave.

    Raises:
        UnsupportedSchema: A ``type`` is not known.
    """
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


def constants_of(subs: tuple[Subschema, ...]) -> list[object] | None:
    """The scalars that ``enum`` and ``const`` allow; ``None`` where neither lists only scalars."""
    left: list[object] | None = None
    for sub in subs:
        for keyword in ("const", "enum"):
            schema = cast("dict[str, Any]", sub.schema)
            if (keyword == "const" and sub.draft < 6) or keyword not in schema:
                continue
            given = [schema["const"]] if keyword == "const" else list(schema["enum"])
            if any(isinstance(value, dict | list) for value in given):
                continue
            left = given if left is None else [v for v in left if any(equal(v, g) for g in given)]
    return left


LARGEST_SIZE: Final = 2**64
"""The largest number of items or properties that a keyword may give, beyond every real text."""

LONGEST_STRING: Final = MAX_REPEAT - 1
"""The largest length of a string that a keyword may give: that of repeats in patterns."""


def size(sub: Subschema, keyword: str) -> int | None:
    """The size that a keyword gives; ``None`` if the keyword is missing."""
    value = sub.keyword(keyword)
    if not is_number(value):
        return None
    most = LONGEST_STRING if keyword.endswith("Length") else LARGEST_SIZE
    if value > most:
        digits = len(str(int(value)))
        written = f"{int(value):,}" if digits <= 24 else f"a number of {digits:,} digits"
        raise UnsupportedSchema(
            f"{keyword} is {written}; at most {most:,} is followed.",
            pointer=f"{sub.pointer}/{keyword}", keyword=keyword,
            remedy="Give a smaller size, or leave the keyword out.",
        )  # fmt: skip
    if value < 0 or value != int(value):
        raise UnsupportedSchema(
            f"{value} is not a size.", pointer=f"{sub.pointer}/{keyword}", keyword=keyword,
            remedy="Give a whole number, 0 or more.",
        )  # fmt: skip
    return int(value)


def bounds(subs: tuple[Subschema, ...], fewest: str, most: str) -> tuple[int, int | None]:
    """The largest of the lower bounds on a size, and the smallest of the upper bounds."""
    minimum, maximum = 0, None
    for sub in subs:
        minimum = max(minimum, size(sub, fewest) or 0)
        upper = size(sub, most)
        if upper is not None:
            maximum = upper if maximum is None else min(maximum, upper)
    return minimum, maximum


def anchored(python: str) -> str | None:
    """The inside of a pattern that is anchored at both ends; ``None`` for any other pattern."""
    if python.startswith("^") and python.endswith(r"\Z") and not python.endswith(r"\\Z"):
        inner = python[1:-2]
        if not re.search(r"[|^]|\\Z|\(\?", inner):
            return inner
    return None


def prefix_keyword(sub: Subschema) -> str:
    """The keyword that lists schemas for the first items, which depends on the draft."""
    return "prefixItems" if sub.draft >= 2020 else "items"


def prefix(sub: Subschema) -> list[Schema]:
    """The schemas of the first items, one for each index."""
    value = sub.keyword(prefix_keyword(sub))
    return cast("list[Schema]", value) if isinstance(value, list) else []


def rest_of_items(sub: Subschema) -> tuple[Schema, str] | None:
    """The schema of the items after the prefix, and its keyword; ``None`` if there is none."""
    items = sub.keyword("items")
    if isinstance(items, bool | dict):
        return cast("Schema", items), "items"
    additional = sub.keyword("additionalItems")
    if sub.draft < 2020 and isinstance(items, list) and isinstance(additional, bool | dict):
        return cast("Schema", additional), "additionalItems"
    return None


def evaluates_item(sub: Subschema, index: int, owner: int) -> bool:
    """Whether a subschema constrains the item at an index."""
    if index < len(prefix(sub)) or rest_of_items(sub) is not None:
        return True
    own = sub.keyword("unevaluatedItems")
    return own is not None and id(sub.schema) != owner


def has_contains(sub: Subschema) -> bool:
    """Whether a subschema has ``contains`` and its draft knows the keyword."""
    return sub.draft >= 6 and isinstance(sub.keyword("contains"), bool | dict)


def contains_bounds(sub: Subschema) -> tuple[int, int | None]:
    """The fewest and the most items that may satisfy ``contains``."""
    minimum = size(sub, "minContains") if sub.draft >= 2019 else None
    maximum = size(sub, "maxContains") if sub.draft >= 2019 else None
    return 1 if minimum is None else minimum, maximum


REMARKS: Final = frozenset(
    ("title", "description", "$comment", "default", "examples", "deprecated", "readOnly",
     "writeOnly")
)  # fmt: skip
"""Annotations: keywords that do not constrain values."""

_APART: Final = frozenset(
    ("$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary",
     "unevaluatedProperties", "unevaluatedItems")
)  # fmt: skip


def prepared(schema: Schema) -> tuple[Schema, bool]:
    """The schema checked, with equal subschemas made the same object.

    Returns:
        The schema, and whether some subschema may have an address of its own.

    Raises:
        UnsupportedSchema: A keyword does not have the required type.

    Example:
        >>> both, _ = prepared({"properties": {"a": {"type": "null"}, "b": {"type": "null"}}})
        >>> both["properties"]["a"] is both["properties"]["b"]
        True
    """
    sharing = _Sharing()
    try:
        return sharing.of(schema, DEFAULT_DRAFT), sharing.addressed
    except UnsupportedSchema:  # The pointer is worked out only now.
        for pointer, here, draft in every_part(schema):
            check_well_formed(here, pointer, draft)
        raise


_ONE: Final = 1
_LIST: Final = 2
_EACH: Final = 3

_HOLDS: Final = {
    **{word: _ONE for word, kind in WELL_FORMED.items() if kind is _SCHEMA},
    **{word: _LIST for word, kind in WELL_FORMED.items() if kind is _SCHEMAS},
    **dict.fromkeys(("$defs", "definitions", "dependencies"), _EACH),
    **{word: _EACH for word, kind in WELL_FORMED.items() if kind is _NAMED},
}  # fmt: skip
"""The subschemas in the keywords that hold some, but for ``items``: one, a list, or by name."""


class _Sharing:
    """Copies of subschemas without annotations; equal ones are one object."""

    def __init__(self) -> None:
        self.addressed = False
        self._made: dict[int, Checked] = {}
        self._known: dict[object, Checked] = {}

    def of(self, here: Schema, draft: int) -> Schema:
        """The shared copy of a subschema.

        Raises:
            UnsupportedSchema: A keyword does not have the required type.
        """
        if not isinstance(here, dict):
            return here
        made = self._made.get(id(here))
        if made is not None:
            return made
        if "$schema" in here:
            draft = draft_of(here, draft)
        self.addressed = self.addressed or not _ADDRESSES.isdisjoint(here)
        copy = Checked(draft)
        content: list[tuple[str, object]] = []
        for keyword, value in here.items():
            expected = WELL_FORMED.get(keyword)
            if expected is None:
                # A reference may lead into an object or a list.
                if keyword in REMARKS and not isinstance(value, dict | list):
                    continue
            elif not expected[0](value):
                check_well_formed(here, "", draft)
            holds = _HOLDS.get(keyword)
            if keyword == "items":
                holds = _LIST if isinstance(value, list) else _ONE
            elif keyword in ("$defs", "definitions") and not _is_mapping(value):
                self.addressed = True  # The library reports the fault.
            held, said = self._held(value, holds, draft)
            copy[keyword] = held
            content.append((keyword, said))
        if draft >= 2020 and isinstance(here.get("items"), list):
            check_well_formed(here, "", draft)
        key = id(here) if not _APART.isdisjoint(here) else frozenset(content)
        made = self._made[id(here)] = self._known.setdefault(key, copy)
        return made

    def _held(self, value: Any, holds: int | None, draft: int) -> tuple[object, object]:
        """The value of a keyword with the shared subschemas in it, and what tells it apart."""
        if holds is _ONE:
            part = self.of(value, draft)
            return part, id(part)
        if holds is _EACH and isinstance(value, dict):
            named: dict[str, object] = {
                name: self.of(part, draft) if _is_schema(part) else part
                for name, part in cast("dict[str, Any]", value).items()
            }
            return named, tuple(
                (name, id(part) if type(part) is Checked else _said(part))
                for name, part in named.items()
            )
        if holds is _LIST and isinstance(value, list):
            parts = [self.of(part, draft) for part in cast("list[Schema]", value)]
            return parts, tuple(map(id, parts))
        return value, _said(value)


def _said(value: object) -> object:
    """A key that two values of a keyword share exactly if they have the same content."""
    if type(value) is str:
        return value, None  # Not the number that would be shown so.
    try:
        return repr(value)
    except RecursionError:
        return id(value)
