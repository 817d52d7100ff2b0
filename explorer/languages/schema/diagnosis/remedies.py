"""The changes to a schema or its options that allow more, and the remedies for endless text.

A change is only proposed here. The caller (`explorer.analysis.places.widening`) compiles the
changed schema and checks whether it allows what was forbidden, so a proposal may be wrong; the
first one that helps is the cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, cast

from explorer.automata.tree.changes import Change
from explorer.automata.tree.nodes import Loop
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import Schema

LOOP_REMEDIES: Final[Mapping[Loop, str]] = MappingProxyType(
    {
        "space": 'Give whitespace="compact", which allows none between the tokens of JSON.',
        "number": 'Give the number a "minimum" and a "maximum", which end a whole number. No '
        'keyword ends the digits of a "type": "number" after its point or in its exponent; give '
        "max_tokens, which ends the run.",
        "string": 'Give the string a "maxLength".',
        "array": 'Give the array a "maxItems".',
        "object": 'Give the object "maxProperties", or "additionalProperties": false.',
        "repeat": "Bound the part that repeats, such as {1,40} for + in a pattern.",
    }
)
"""The remedy for each kind of text that is written without end."""


UNKNOWN_PROPERTY: Final = "unknown property"
"""The name of the cause where the model writes a property that the schema does not have."""

_OPTIONS: Final = (
    ("whitespace", "flexible", Change(
        "white space", "The white space here is not that of the constraint.",
        'whitespace="flexible" allows it.', "allow white space",
    )),
    ("property_order", "any", Change(
        "order of properties",
        "The model writes the properties in another order than the schema lists them.",
        'property_order="any" allows every order.', "allow any order",
    )),
    ("escapes", "any", Change(
        "escapes",
        "The model writes an escape, such as json.dumps writes with ensure_ascii=True, and this "
        "string is constrained.",
        'escapes="any" allows escapes in every string.', "allow escapes",
    )),
)  # fmt: skip
"""For each option: its name, its freest value, and the change."""

_SPACES: Final = (
    ("which has no white space here", "The model writes white space here, where {} has none."),
    ("which has no more white space here", "The model writes more white space here than {} has."),
    ("which has other white space here", "The model writes other white space here than {} has."),
    ("which has some white space here", "The model writes no white space here, where {} has some."),
)
"""The end of a clause on white space (`explorer.languages.schema.diagnosis.reasons`), and the
sentence that says the same."""

_NO_SPACES: Final = "The model writes white space here, and this constraint has none."


_OF_KEYWORDS: Final[dict[str, tuple[str, str]]] = {
    "additionalProperties": (
        UNKNOWN_PROPERTY, "The model writes a property that the schema does not have.",
    ),
    "unevaluatedProperties": (
        UNKNOWN_PROPERTY, "The model writes a property that the schema does not have.",
    ),
    "propertyNames": (
        UNKNOWN_PROPERTY, "The model writes a name that propertyNames does not allow.",
    ),
    "required": (
        "required property", "A property that the schema requires is still missing.",
    ),
    "minProperties": ("too few properties", "The object has too few properties to end here."),
    "maxProperties": ("too many properties", "The object has as many properties as it may."),
    "maxLength": ("length of a string", "The string is as long as it may be."),
    "minLength": ("length of a string", "The string is too short to end here."),
    "maxItems": ("length of an array", "The array has as many items as it may."),
    "minItems": ("length of an array", "The array has too few items to end here."),
    "maximum": ("range of a number", "The number would be too large."),
    "exclusiveMaximum": ("range of a number", "The number would be too large."),
    "minimum": ("range of a number", "The number would be too small."),
    "exclusiveMinimum": ("range of a number", "The number would be too small."),
    "multipleOf": ("multiple of a number", "The number would not be a multiple of the step."),
    "enum": ("listed values", "The model writes a value that is not in the list."),
    "const": ("listed values", "The model writes another value than the one that is asked for."),
    "pattern": ("pattern", "The string would not match the pattern."),
    "format": ("format", "The string would not have the format."),
    "type": ("type", "The model writes a value of another type."),
}  # fmt: skip
"""The name of the cause and the sentence for each keyword."""


_FRACTION: Final = Change(
    "fraction of an integer", "The model writes a fraction or an exponent in an integer.",
    '"type": "number" allows it.', "allow fractions",
)  # fmt: skip

MISSING: Final = frozenset({"required", "minProperties", "minLength", "minItems"})
"""The keywords that ask for something before the end."""


def relaxed_options(
    options: SchemaOptions, labels: Sequence[str] = ()
) -> Iterator[tuple[Change, SchemaOptions]]:
    """The options with one changed to allow more, the most usual cause first.

    Args:
        labels: The labels of the deciding places, which say what is wrong with white space.
    """
    for name, freest, change in _OPTIONS:
        if getattr(options, name) != freest:
            changed: dict[str, Any] = {name: freest}
            if name == "whitespace":
                sentence = _of_white_space(options, labels)
                if labels and not sentence:
                    continue  # Something else decides.
                changed["whitespace_pattern"] = None  # The pattern would override the option.
                change = replace(change, sentence=sentence or change.sentence)
            yield change, replace(options, **changed)


def space_option(options: SchemaOptions) -> str:
    """The option that says where white space stands, as it is written in a call."""
    if options.whitespace_pattern is not None:
        return f"whitespace_pattern={options.whitespace_pattern!r}"
    return f'whitespace="{options.whitespace}"'


def _of_white_space(options: SchemaOptions, labels: Sequence[str]) -> str:
    """The sentence on the white space that a label speaks of; empty if none does."""
    option = space_option(options)
    for clause, sentence in _SPACES:
        if any(f"{option}, {clause}" in label for label in labels):
            compact = option == 'whitespace="compact"'
            return _NO_SPACES if compact else sentence.format(option)
    return ""


def relaxed_keywords(schema: Schema, pointers: Sequence[str]) -> Iterator[tuple[Change, Schema]]:
    """The schema without one of the deciding keywords, for each that may be dropped.

    Args:
        pointers: JSON Pointers of the keywords; those without a known change are passed over.
    """
    for pointer in pointers:
        *around, keyword = pointer.split("/")
        place = _at(schema, around[1:])
        if place is None or keyword not in _OF_KEYWORDS or keyword not in place:
            continue
        value = place[keyword]
        if keyword == "type" and value == "integer":
            whole = deepcopy(schema)
            (_at(whole, around[1:]) or {})[keyword] = "number"
            yield _FRACTION, whole
        changed = without_keyword(schema, pointer) or {}
        of_a_name = around[-1:] == ["propertyNames"] and around[-2:-1] != ["properties"]
        cause, sentence = _OF_KEYWORDS["propertyNames" if of_a_name else keyword]
        short = isinstance(value, bool | int | float | str)
        said = f" ({keyword}: {json.dumps(value)})" if short else ""
        remedy = f"The schema allows it without {pointer}."
        missing = keyword in MISSING
        yield Change(cause, f"{sentence[:-1]}{said}.", remedy, f"drop {keyword}", missing), changed


def without_keyword(schema: Schema, pointer: str) -> Schema | None:
    """The schema without the keyword at a JSON Pointer; ``None`` if it is not there.

    Example:
        >>> without_keyword({"items": {"minimum": 1, "maximum": 2}}, "/items/minimum")
        {'items': {'maximum': 2}}
    """
    *around, keyword = pointer.split("/")
    changed = deepcopy(schema)
    place = _at(changed, around[1:])
    if place is None or keyword not in place:
        return None
    del place[keyword]
    return changed


def _at(schema: object, steps: Sequence[str]) -> dict[str, Any] | None:
    """The object at a JSON Pointer, itself and not a copy; ``None`` if there is no object."""
    for step in steps:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list):
            items = cast("list[object]", schema)
            schema = items[int(key)] if key.isdigit() and int(key) < len(items) else None
        elif isinstance(schema, dict):
            schema = cast("dict[str, object]", schema).get(key)
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else None
