"""The keywords of a schema that constrain nothing, or less than they seem to.

A ``format`` that an implementation does not know is an annotation (draft 2020-12, validation,
section 7.2.1), and so is an unknown keyword. That follows the standard but surprises people, so a
remark says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final, cast

from explorer.languages.schema.diagnosis.deciding import need_not_hold
from explorer.languages.schema.reading.cases import IN_PLACE
from explorer.languages.schema.reading.subschemas import (
    REMARKS,
    WELL_FORMED,
    Schema,
    every_part,
    is_number,
    parts_of,
)
from explorer.languages.schema.reading.text import pointer_to
from explorer.languages.schema.text.formats import FORMATS
from explorer.languages.schema.values.containers import MISCOUNTED, MOST_TRACKED

NOT_FOLLOWED: Final = frozenset(("regex", "idn-hostname", "idn-email"))
"""Formats of the drafts that are not followed."""

_OTHERS: Final = frozenset(
    ("$schema", "$id", "id", "$anchor", "$defs", "definitions", "$dynamicAnchor", "$vocabulary",
     "$recursiveAnchor", "const", "exclusiveMinimum", "exclusiveMaximum", "$async", "example",
     "markdownDescription", "enumDescriptions", "errorMessage", "externalDocs")
) | REMARKS  # fmt: skip
_SAY_NOTHING: Final = {
    **dict.fromkeys(("contentEncoding", "contentMediaType", "contentSchema"),
                    "is a remark on what a string holds"),
    **dict.fromkeys(("nullable", "discriminator"), "belongs to OpenAPI, not to JSON Schema"),
}  # fmt: skip
"""Keywords that look as if they constrained, and why they do not."""

_KEYWORDS: Final = tuple(sorted(WELL_FORMED.keys() | _OTHERS | _SAY_NOTHING.keys()))

MOST_REMARKS: Final = 30
"""How many remarks of one sort are made; the rest are counted."""

_CLOSE: Final = 0.8
"""The least similarity of two words, from 0 to 1, to take one for a misspelling of the other."""


def unknown_formats(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The formats of a schema that are not followed, each with its JSON Pointer, in order.

    Example:
        >>> unknown_formats({"items": {"format": "color"}, "contains": {"format": "date"}})
        (('/items/format', 'color'),)
    """
    return tuple(
        (f"{pointer}/format", name)
        for pointer, here, _ in every_part(schema)
        if isinstance(name := here.get("format"), str) and name not in FORMATS
    )


def unknown_keywords(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The unknown keywords of a schema: the JSON Pointer, and a similar known keyword or "".

    Keywords that begin with ``x-`` are extensions on purpose and are not listed.

    Example:
        >>> unknown_keywords({"requird": ["a"], "divisibleBy": 3, "x-order": 3})
        (('/requird', 'required'), ('/divisibleBy', ''))
    """
    notes: list[tuple[str, str]] = []
    for pointer, here, _ in every_part(schema):
        for keyword in here:
            if keyword in _KEYWORDS or keyword.startswith("x-"):
                continue
            close = get_close_matches(keyword, _KEYWORDS, 1, _CLOSE)
            notes.append((pointer + pointer_to(keyword), close[0] if close else ""))
    return tuple(notes)


def outdated_keywords(schema: Schema) -> tuple[str, ...]:
    """Sentences on keywords that have the form of another draft than the schema's.

    Example:
        >>> outdated_keywords({"minimum": 3, "exclusiveMinimum": True})[0][:48]
        'The keyword at /exclusiveMinimum is not a number'
        >>> outdated_keywords({"minimum": 3, "exclusiveMinimum": False})
        ()
    """
    said: list[str] = []
    for pointer, here, draft in every_part(schema):
        for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            value = here.get(keyword, False)
            if value is False or (value is True if draft == 4 else is_number(value)):
                continue
            wanted, remedy = (
                ("true or false, as in draft 4", "Name a later draft in $schema.")
                if draft == 4
                else ("a number, as from draft 6 on", "Write the bound there, or name draft 4 in "
                      "$schema.")
            )  # fmt: skip
            said.append(
                f"The keyword at {pointer}/{keyword} is not {wanted}, so it constrains nothing. "
                + remedy
            )
        if here.get("required") is True:
            said.append(
                f"The keyword at {pointer}/required is true, as in draft 3, so it constrains "
                "nothing. List the name under required of the object around it."
            )
    return tuple(said)


_REFUSING: Final = frozenset(("not", "if", "oneOf", "contains"))
"""The keywords below which a schema may be required not to hold."""


def miscounted_names(schema: Schema) -> tuple[str, ...]:
    """The JSON Pointers of the keywords that count a name written twice as two members.

    They are ``minProperties``, and ``maxProperties`` where it must not hold.

    Example:
        >>> miscounted_names({"minProperties": 2})
        ('/minProperties',)
        >>> miscounted_names({"minProperties": 2, "propertyNames": {"enum": ["a", "b", "c"]}})
        ()
        >>> miscounted_names({"not": {"maxProperties": 1}})
        ('/not/maxProperties',)
    """
    pointers: list[str] = []
    for pointer, here, _ in every_part(schema):
        fewest = here.get("minProperties", 0)
        needed = here.get("required")
        required = len(set(cast("list[Any]", needed))) if isinstance(needed, list) else 0
        many = is_number(fewest) and fewest >= required + MISCOUNTED
        refused = "maxProperties" in here and not _REFUSING.isdisjoint(pointer.split("/"))
        if (many or refused) and not _names_are_few(here):
            pointers += [f"{pointer}/minProperties"] * many + [f"{pointer}/maxProperties"] * refused
    return tuple(pointers)


def empty_references(schema: Schema) -> tuple[str, ...]:
    """The JSON Pointers of references that lead back to themselves before anything is said.

    Example:
        >>> empty_references({"allOf": [{"$ref": "#"}]})
        ('/allOf/0/$ref',)
        >>> empty_references({"properties": {"a": {"$ref": "#"}}})
        ()
    """
    known = {pointer: here for pointer, here, _ in every_part(schema)}
    pointers: list[str] = []
    for pointer, here in known.items():
        if not isinstance(here.get("$ref"), str):
            continue
        seen: set[str] = set()
        todo = [here["$ref"][1:]]
        while todo:
            target = todo.pop()
            if target in seen or target not in known:
                continue
            seen.add(target)
            at = known[target]
            if isinstance(reference := at.get("$ref"), str):
                todo.append(reference[1:])
            todo += [f"{target}/allOf/{k}" for k in range(len(at.get("allOf", ())))]
        if pointer in seen:
            pointers.append(f"{pointer}/$ref")
    return tuple(pointers)


_BRANCHES: Final = frozenset(("allOf", "anyOf", "oneOf", "then", "else"))
"""Keywords whose subschemas may leave out the type, because it is given beside them."""


def leaves_free(schema: Schema) -> bool:
    """Whether some array or object may hold values that the schema does not describe.

    Each subschema is looked at alone, so values that only a neighbour describes count as free.

    Example:
        >>> leaves_free({"type": "object"}), leaves_free({"items": {"type": "string"}})
        (True, True)
        >>> leaves_free({"type": "array", "items": {"type": "string"}})
        False
    """
    if not isinstance(schema, dict):
        return schema
    for pointer, here, draft in every_part(schema):
        if need_not_hold(pointer):
            continue
        says = here.keys() & WELL_FORMED.keys() | here.keys() & {"const"}
        if not says and not here.keys() & {"$defs", "definitions"}:
            return True
        if says & {"enum", "const"} or here.get("not") == {}:
            continue
        given = here.get("type")
        types = {given} if isinstance(given, str) else set(cast("list[str]", given or ()))
        branch = not _BRANCHES.isdisjoint(pointer.split("/")[-2:])
        if not types and not says & IN_PLACE and not branch:
            types = {"object", "array"}
        closes = ("additionalProperties", "unevaluatedProperties")
        if "object" in types and not says.intersection(closes) and here.get("maxProperties") != 0:
            return True
        ends = ("items", "additionalItems", "unevaluatedItems") if draft >= 2020 else ("items",)
        listed = isinstance(here.get("items"), list) and "additionalItems" not in here
        open_end = listed or not says.intersection(ends)
        if "array" in types and open_end and here.get("maxItems") != 0:
            return True
        if any(
            part is True and path[0] not in ("$defs", "definitions", "if")
            for path, part in parts_of(here)
        ):
            return True
    return False


def _names_are_few(here: dict[str, Any]) -> bool:
    names = here.get("propertyNames")
    if isinstance(names, dict):
        given = cast("dict[str, Any]", names)
        listed = given.get("enum")
        few = isinstance(listed, list) and len(cast("list[Any]", listed)) <= MOST_TRACKED
        return few or "const" in given
    closed = here.get("additionalProperties", here.get("unevaluatedProperties"))
    return closed is False and not here.get("patternProperties")


def schema_remarks(schema: Schema, *, formats: bool) -> tuple[str, ...]:
    """One sentence for each thing in a schema that constrains nothing, or less than it seems to."""
    said: list[str] = []
    nothing = "so it constrains nothing."
    for pointer, name in unknown_formats(schema) if formats else ():
        known = "followed here" if name in NOT_FOLLOWED else "known"
        close = () if name in NOT_FOLLOWED else get_close_matches(name, FORMATS, 1, _CLOSE)
        said.append(
            f"The format {name!r} at {pointer} is not {known}, {nothing}"
            + (f" Did you mean {close[0]!r}?" if close else "")
        )
    said += [
        f"The format 'hostname' at {pointer}/format takes labels that encode others (xn--) only in "
        "names that the schema lists, because only a whole label tells what it encodes."
        for pointer, here, _ in (every_part(schema) if formats else ())
        if here.get("format") == "hostname" and not here.keys() & {"enum", "const"}
    ]
    said += _first(
        f"The keyword at {pointer} is not known, {nothing}"
        + (f" Did you mean {close!r}?" if close else "")
        for pointer, close in unknown_keywords(schema)
    )
    said += _first(outdated_keywords(schema))
    said += _first(
        f"The keyword at {pointer + pointer_to(keyword)} {why}, {nothing}"
        for pointer, here, _ in every_part(schema)
        for keyword, why in _SAY_NOTHING.items()
        if keyword in here
    )
    said += [
        f"{pointer} counts a name that is written twice as two members where there are more than "
        f"{MOST_TRACKED} other names."
        for pointer in miscounted_names(schema)
    ]
    said += [
        f"The reference at {pointer} leads back to itself, {nothing}"
        for pointer in empty_references(schema)
    ]
    return tuple(said)


def _first(sentences: Iterable[str]) -> list[str]:
    every = list(sentences)
    more = len(every) - MOST_REMARKS
    shown = every[:MOST_REMARKS]
    return [*shown, f"{more:,} more keywords constrain nothing."] if more > 0 else shown
