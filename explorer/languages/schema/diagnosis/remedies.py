"""The words for what decides, and the changes that let a text go on.

Each change is what the search has tested (`explorer.languages.schema.diagnosis.deciding`): the
schema without the keywords, or with a freer option. An everyday sentence says what is wrong, and a
remedy names the change. The caller still compiles the changed source with all that is around it.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from explorer.automata.tree.changes import Change
from explorer.automata.tree.nodes import Loop
from explorer.languages.schema.diagnosis.deciding import Deciding, Lifted, Question, freer
from explorer.languages.schema.diagnosis.keywords import (
    MISSING,
    schema_without,
    value_at,
    with_value,
)
from explorer.languages.schema.diagnosis.plain_json import NO_NAME, Name, names_of
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import BY_NAME, Schema, every_part
from explorer.languages.schema.reading.text import json_of, spot_of

LOOP_REMEDIES: Final[Mapping[Loop, str]] = MappingProxyType(
    {
        "space": 'Give whitespace="compact", which allows none between the tokens of JSON.',
        "number": 'Give the number a "minimum" and a "maximum", which end its digits before the '
        "point. No keyword ends the digits after the point or in the exponent, such as the zeros "
        "of 71.000; give max_tokens, which ends the run.",
        "string": 'Give the string a "maxLength".',
        "array": 'Give the array a "maxItems".',
        "object": 'Give the object "maxProperties", or "additionalProperties": false.',
        "repeat": "Bound the part that repeats, such as {1,40} for + in a pattern.",
    }
)
"""The remedy for each kind of text that is written without end."""


UNKNOWN_PROPERTY: Final = "unknown property"
"""The name of the cause where the model writes a property that the schema does not have."""
FORBIDDEN: Final = "forbidden property"

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
    "uniqueItems": ("repeated item", "The item came before, and items may come once."),
    "contains": ("missing item", "An item that the schema asks for is still missing."),
    "minContains": ("missing item", "Too few items are such as contains asks for."),
    "maxContains": ("too many items", "As many items as may are such as contains asks for."),
    "dependentRequired": (
        "required property", "A property is missing that another one asks for.",
    ),
    "not": ("excluded value", "The value is one that the schema excludes."),
    "anyOf": ("no branch", "The value fits none of the branches."),
    "oneOf": ("one branch", "The value does not fit exactly one of the branches."),
    "items": ("too many items", "The array may have no item here."),
    "additionalItems": ("too many items", "The array may have no item here."),
    "unevaluatedItems": ("too many items", "The array may have no item here."),
    "properties": ("repeated property", "The property came before, and may come once."),
}  # fmt: skip
"""The name of the cause and the sentence for each keyword."""


_OPTIONS: Final = {
    "whitespace": ("white space", "", 'whitespace="flexible" allows it.', "allow white space"),
    "property_order": (
        "order of properties",
        "The model writes the properties in another order than the schema lists them.",
        'property_order="any" allows every order.', "allow any order",
    ),
    "escapes": (
        "escapes",
        "The model writes an escape where the constraint asks for the character itself.",
        'escapes="any" allows escapes in every string.', "allow escapes",
    ),
    "free_depth": (
        "depth", "The model nests deeper than the limit.",
        "Without free_depth there is no limit.", "set no limit",
    ),
    "max_depth": (
        "depth", "The model nests deeper than the limit.", "max_depth={} allows it.",
        "allow one level more",
    ),
    "recursion": (
        "depth", "The model nests deeper than the limit.",
        'recursion="stack" sets no limit.', "set no limit",
    ),
}  # fmt: skip
"""For each option: the cause, the sentence, the remedy and the label."""

_SPACES: Final = {
    "no": "The model writes white space here, where {} has none.",
    "no more": "The model writes more white space here than {} has.",
    "other": "The model writes other white space here than {} has.",
    "some": "The model writes no white space here, where {} has some.",
}
_HAS: Final = re.compile("which has (no more|no|other|some) white space")
_BRANCH: Final = re.compile(r"/oneOf/([0-9]+)(?= |$)")
_NO_SPACES: Final = "The model writes white space here, and this constraint has none."
_KINDS: Final = {
    ord('"'): "a string", ord("{"): "an object", ord("["): "an array", ord("t"): "true",
    ord("f"): "false", ord("n"): "null", **dict.fromkeys(b"-0123456789", "a number"),
}  # fmt: skip
_TYPES: Final = {
    "integer": "a whole number", "object": "an object", "array": "an array", "null": "null",
    "number": "a number", "string": "a string", "boolean": "true or false",
}  # fmt: skip


_OF_MEMBERS: Final = (
    "properties", "required", "maxProperties", "additionalProperties", "unevaluatedProperties",
)  # fmt: skip


class Changed(NamedTuple):
    """A change in words, with the schema and the options that it leads to."""

    change: Change
    schema: Schema
    options: SchemaOptions


class _Worded(NamedTuple):
    cause: str
    sentence: str
    label: str
    missing: bool = False


def changes(
    search: Deciding, options: SchemaOptions, lifted: Lifted, asked: Question, clause: str,
    line_of: Mapping[str, int],
) -> Iterator[Changed]:  # fmt: skip
    """The changes that take away what decides, the smallest first.

    Args:
        clause: What decides besides the keyword, or in its place.
        line_of: The line of each pointer in the text of the schema; empty for a text of one line.
    """
    schema = search.schema
    whole = _whole_number(search, lifted, asked)
    if whole is not None:
        yield Changed(_FRACTION, whole, options)
    parts = [_of_keyword(schema, pointer, asked, clause) for pointer in lifted.pointers]
    unlisted = not _is_listed(schema, _new_name(asked).name)
    parts += [_of_option(options, name, clause, unlisted) for name, _ in lifted.options]
    if unlisted and lifted.pointers:  # The keyword has said that the schema has no such property.
        parts = [part if part.cause != "order of properties" else part._replace(sentence="")
                 for part in parts]  # fmt: skip
    remedies = [_remedy(name, unlisted).format(value) for name, value in lifted.options]
    if lifted.pointers:
        named = " and ".join(
            f"{pointer} (line {line_of[pointer]})" if pointer in line_of else pointer
            for pointer in lifted.pointers
        )
        freely = [_assigned(name, value) for name, value in lifted.options]
        also = f", and with {' and '.join(freely)}" if freely else ""
        remedies = [f"The schema allows it without {named}{also}."]
    yield Changed(
        Change(
            parts[0].cause,
            " ".join(dict.fromkeys(filter(None, (part.sentence for part in parts)))),
            " ".join(remedies),
            " and ".join(dict.fromkeys(part.label for part in parts)),
            all(part.missing for part in parts),
        ),
        schema_without(schema, lifted.pointers), freer(options, dict(lifted.options)),
    )  # fmt: skip


def _assigned(name: str, value: object) -> str:
    return f"{name}={json.dumps(value)}"


_FRACTION: Final = Change(
    "fraction of an integer", "The model writes a fraction or an exponent in an integer.",
    '"type": "number" allows it.', "allow fractions",
)  # fmt: skip


def _whole_number(search: Deciding, lifted: Lifted, asked: Question) -> Schema | None:
    """The schema with a number in place of a whole one, if that is enough."""
    for pointer in lifted.pointers if len(lifted.pointers) == 1 and not lifted.options else ():
        if pointer.endswith("/type") and value_at(search.schema, pointer) == "integer":
            changed = with_value(search.schema, pointer, "number")
            return changed if search.takes(changed, pointer, asked) else None
    return None


def _remedy(name: str, unlisted: bool) -> str:
    once = name == "property_order" and unlisted
    return 'property_order="any" allows it.' if once else _OPTIONS[name][2]


def _of_option(options: SchemaOptions, name: str, clause: str, unlisted: bool) -> _Worded:
    cause, sentence, _, label = _OPTIONS[name]
    if name == "property_order" and unlisted:
        sentence = (
            "The model writes a property that the schema does not list before those it lists."
        )
    if name == "whitespace":
        option = space_option(options)
        compact = option == 'whitespace="compact"'
        has = _HAS.search(clause)
        sentence = _NO_SPACES if compact else _SPACES[has[1] if has else "other"].format(option)
    return _Worded(cause, sentence, label)


def _is_listed(schema: Schema, begun: str) -> bool:
    """Whether a name that is begun may become one under ``properties``, somewhere in a schema."""
    return any(
        name.startswith(begun)
        for _, part, _ in every_part(schema)
        for name in cast("dict[str, object]", part.get("properties", {}))
    )


def _of_keyword(schema: Schema, pointer: str, asked: Question, clause: str) -> _Worded:
    *around, keyword = pointer.split("/")
    value = value_at(schema, pointer)
    if value is False and around[-1] in BY_NAME:
        name = keyword.replace("~1", "/").replace("~0", "~")
        return _Worded(FORBIDDEN, f"The schema forbids the property {name}.", f"allow {name}")
    if (again := names_again(asked)) and keyword in _OF_MEMBERS:
        sentence = f"The property {' or '.join(again)} came before, and comes once."
        return _Worded("repeated property", sentence, f"drop {keyword}")
    if keyword == "oneOf" and (several := _BRANCH.findall(clause)):
        shown = " and ".join(several)
        sentence = f"The value fits the branches {shown} of oneOf, and may fit one alone."
        return _Worded("one branch", sentence, "drop oneOf")
    of_a_name = "propertyNames" in around and around[-2:-1] != ["properties"]
    label = f"drop {keyword}"
    if of_a_name or keyword not in _OF_KEYWORDS:
        cause, sentence = _OF_KEYWORDS["propertyNames"] if of_a_name else ("keyword", "")
        sentence = sentence or f"The value is not what {keyword} asks for."
    else:
        cause, sentence = _OF_KEYWORDS[keyword]
    if exact := _exactly(keyword, value, asked):
        return _Worded(cause, exact, label, keyword in MISSING)
    if isinstance(value, bool | int | float | str) or hasattr(value, "as_tuple"):
        sentence = f"{sentence[:-1]} ({keyword}: {json_of(value)})."
    return _Worded(cause, sentence, label, keyword in MISSING)


def _exactly(keyword: str, value: object, asked: Question) -> str:
    """A sentence that names the property or the type; empty where the keyword's own is as good."""
    spot = spot_of(asked.text)
    if keyword == "required" and isinstance(value, list):
        met = {each.name for each in names_of((spot.outline or b"") + asked.offer) if not each.way}
        missing = [name for name in cast("list[str]", value) if name not in met]
        return _missing(missing) if met or (spot.outline or b"")[:1] == b"{" else ""
    if keyword == "dependentRequired" and isinstance(value, dict):
        met = {each.name for each in names_of(spot.outline or b"")}
        needed = cast("dict[str, list[str]]", value)
        for name, others in needed.items():
            missing = [other for other in others if other not in met]
            if name in met and missing:
                return f"The property {missing[0]} is missing. It is required beside {name}."
    if keyword in ("additionalProperties", "unevaluatedProperties"):
        new = _new_name(asked)
        if new.name and new.is_whole:
            return f"The schema has no property {new.name}, and no others are allowed."
    if (
        keyword in _HOLDS
        and isinstance(value, int | float | Decimal)
        and _suits(keyword, Decimal(str(value)), spot.value, asked.offer)
    ):
        return f"Under {keyword}, a number is written as Python writes it, and this one is not."
    if keyword == "type" and not spot.value and asked.offer[:1]:
        wanted = [value] if isinstance(value, str) else cast("list[str]", value)
        kind = _KINDS.get(asked.offer[0])
        names = " or ".join(_TYPES.get(each, each) for each in wanted)
        return f"The model writes {kind}, where the schema asks for {names}." if kind else ""
    return ""


_HOLDS: Final[dict[str, Callable[[Decimal, Decimal], bool]]] = {
    "minimum": operator.ge, "exclusiveMinimum": operator.gt, "maximum": operator.le,
    "exclusiveMaximum": operator.lt, "multipleOf": lambda number, step: not number % step,
}  # fmt: skip
_DIGITS: Final = re.compile(rb"[-+.0-9eE]*")


def _suits(keyword: str, value: Decimal, begun: bytes, offer: bytes) -> bool:
    """Whether the number that is written is one that a keyword allows, so that its form is not."""
    more = _DIGITS.match(offer)
    written = begun + (more.group() if more else b"")
    try:
        return _HOLDS[keyword](Decimal(written.decode()), value)
    except (ArithmeticError, ValueError):
        return False


def _new_name(asked: Question) -> Name:
    """The name that an offer begins or goes on with, or that the text ends with."""
    end = len(asked.text.decode(errors="replace"))
    return next((each for each in names_of(asked.longer) if each.end >= end), NO_NAME)


def names_again(asked: Question) -> list[str]:
    """The name of an object that came before and is begun once more, as it is written."""
    new = _new_name(asked)
    alike = dict.fromkeys(
        each.name
        for each in names_of(asked.longer)
        if each.way == new.way and each.end < new.end
        and (each.name == new.name if new.is_whole else each.name.startswith(new.name))
    )  # fmt: skip
    if not new.name or len(alike) > 1:
        return []  # They are only begun alike.
    return [json.dumps(name, ensure_ascii=False) for name in alike]


def _missing(names: list[str]) -> str:
    if len(names) == 1:
        return f"The property {names[0]} is missing. It is required."
    *others, last = names or [""]
    shown = f"{', '.join(others)} and {last}" if others else last
    return f"The properties {shown} are missing. They are required." if names else ""


def space_option(options: SchemaOptions) -> str:
    """The option that says where white space stands, as it is written in a call."""
    if options.whitespace_pattern is not None:
        return f"whitespace_pattern={options.whitespace_pattern!r}"
    return f'whitespace="{options.whitespace}"'
