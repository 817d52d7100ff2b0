"""The keywords of a schema that constrain nothing, or less than they seem to.

A ``format`` that an implementation does not know is an annotation (draft 2020-12, validation,
section 7.2.1), and so is an unknown keyword. That follows the standard but surprises people, so a
remark says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final, cast

from explorer.languages.schema.reading.cases import IN_PLACE
from explorer.languages.schema.reading.subschemas import (
    BY_NAME,
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
     "markdownDescription", "enumDescriptions", "errorMessage", "externalDocs", "xml",
     "info", "paths", "servers")
) | REMARKS  # fmt: skip
_SAY_NOTHING: Final = {
    **dict.fromkeys(("contentEncoding", "contentMediaType", "contentSchema"),
                    "is a remark on what a string holds"),
    **dict.fromkeys(("nullable", "discriminator", "components"),
                    'belongs to OpenAPI 3.0 ("openapi": "3.0.3" at the top), not to JSON Schema'),
}  # fmt: skip
"""Keywords that look as if they constrained, and why they do not."""

_KEYWORDS: Final = tuple(sorted(WELL_FORMED.keys() | _OTHERS | _SAY_NOTHING.keys()))

MOST_REMARKS: Final = 30
"""How many remarks of one sort are made; the rest are counted."""

_CLOSE: Final = 0.8
"""The least similarity of two words, from 0 to 1, to take one for a misspelling of the other."""

Part = tuple[str, dict[str, Any], int]
"""The JSON Pointer, the keywords and the draft of a subschema."""

_NOTHING: Final = "so it constrains nothing."


def schema_remarks(schema: Schema, *, formats: bool) -> tuple[str, ...]:
    """One sentence for each thing in a schema that constrains nothing, or less than it seems to.

    Args:
        formats: Whether ``format`` constrains.

    Example:
        >>> for said in schema_remarks({"items": {"format": "hue"}, "requird": []}, formats=True):
        ...     print(said)
        The format 'hue' at /items/format is not known, so it constrains nothing.
        The keyword at /requird is not known, so it constrains nothing. Did you mean 'required'?
    """
    parts = list(every_part(schema))

    def said(remarks: Callable[[Part], Iterator[str]]) -> list[str]:
        return [sentence for part in parts for sentence in remarks(part)]

    def first(remarks: Callable[[Part], Iterator[str]]) -> list[str]:
        every = said(remarks)
        more = len(every) - MOST_REMARKS
        rest = [f"{more:,} more keywords constrain nothing."] if more > 0 else []
        return every[:MOST_REMARKS] + rest

    return (
        *(said(_unknown_formats) + said(_host_names) if formats else ()),
        *first(_unknown_keywords), *first(_outdated_keywords), *first(_silent_keywords),
        *first(_idle_keywords),
        *said(_miscounted_names),
        *(
            f"The reference at {pointer} leads back to itself, {_NOTHING}"
            for pointer in _empty_references(parts)
        ),
    )  # fmt: skip


def _unknown_formats(part: Part) -> Iterator[str]:
    pointer, here, _ = part
    name = here.get("format")
    if isinstance(name, str) and name not in FORMATS:
        known = "followed here" if name in NOT_FOLLOWED else "known"
        close = () if name in NOT_FOLLOWED else get_close_matches(name, FORMATS, 1, _CLOSE)
        yield f"The format {name!r} at {pointer}/format is not {known}, {_NOTHING}" + _meant(close)


def _host_names(part: Part) -> Iterator[str]:
    pointer, here, _ = part
    if here.get("format") == "hostname" and not here.keys() & {"enum", "const"}:
        yield (
            f"The format 'hostname' at {pointer}/format takes labels that encode others (xn--) "
            "only in names that the schema lists, because only a whole label tells what it encodes."
        )


def _unknown_keywords(part: Part) -> Iterator[str]:
    """Keywords that begin with ``x-`` are extensions on purpose."""
    pointer, here, _ = part
    for keyword in here:
        if keyword not in _KEYWORDS and not keyword.startswith("x-"):
            close = get_close_matches(keyword, _KEYWORDS, 1, _CLOSE)
            place = pointer + pointer_to(keyword)
            yield f"The keyword at {place} is not known, {_NOTHING}" + _meant(close)


def _meant(close: Sequence[str]) -> str:
    return f" Did you mean {close[0]!r}?" if close else ""


def _outdated_keywords(part: Part) -> Iterator[str]:
    """Keywords that have the form of another draft than the schema's."""
    pointer, here, draft = part
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
        yield f"The keyword at {pointer}/{keyword} is not {wanted}, {_NOTHING} {remedy}"
    if here.get("required") is True:
        yield (
            f"The keyword at {pointer}/required is true, as in draft 3, {_NOTHING} List the name "
            "under required of the object around it."
        )


def _silent_keywords(part: Part) -> Iterator[str]:
    pointer, here, draft = part
    for keyword, why in _SAY_NOTHING.items():
        if keyword in here and not (keyword == "components" and draft == 4):  # It is OpenAPI's.
            yield f"The keyword at {pointer}/{keyword} {why}, {_NOTHING}"


_SINCE: Final = {
    **dict.fromkeys(("const", "contains", "propertyNames"), 6),
    **dict.fromkeys(("if", "then", "else"), 7),
    **dict.fromkeys(
        ("minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties"), 2019
    ),
    "prefixItems": 2020,
}  # fmt: skip
"""The draft from which on a keyword is followed."""
_PARTNERS: Final = {
    "then": "if", "else": "if", "minContains": "contains", "maxContains": "contains",
}  # fmt: skip
"""Keywords that say nothing without another one."""
_MAY_BE_IDLE: Final = _SINCE.keys() | {"additionalItems", "$ref"}
_CONSTRAINING: Final = frozenset(WELL_FORMED) | {"const", "exclusiveMinimum", "exclusiveMaximum"}


def _idle_keywords(part: Part) -> Iterator[str]:
    """Keywords that the schema's draft does not have, or that need another one beside them."""
    pointer, here, draft = part
    if _MAY_BE_IDLE.isdisjoint(here):
        return
    if draft <= 7 and isinstance(here.get("$ref"), str):
        for keyword in here:
            if keyword in _CONSTRAINING and keyword != "$ref":
                yield (
                    f"The keyword at {pointer}/{keyword} stands beside $ref, and {_draft(draft)} "
                    f"follows $ref alone, {_NOTHING} Put both into an allOf, or name draft 2019-09 "
                    "in $schema."
                )
        return
    for keyword, value in here.items():
        if keyword not in _MAY_BE_IDLE or value is True or value == {}:
            continue
        since, partner = _SINCE.get(keyword, 0), _PARTNERS.get(keyword)
        why = remedy = ""
        if since > draft:
            why = f"is not in {_draft(draft)}"
            remedy = f"Name {_draft(since)} in $schema."
        elif partner is not None and partner not in here:
            why, remedy = f"stands without {partner}", f"Give {partner}, or leave it out."
        elif keyword == "additionalItems" and draft >= 2020:
            why, remedy = (
                f"is not in {_draft(draft)}",
                "Write items for the items after prefixItems.",
            )
        elif keyword == "additionalItems" and not isinstance(here.get("items"), list):
            why, remedy = "stands without a list of items", "Write items instead."
        if why:
            yield f"The keyword at {pointer}/{keyword} {why}, {_NOTHING} {remedy}"


def _draft(number: int) -> str:
    return "draft " + {2019: "2019-09", 2020: "2020-12"}.get(number, str(number))


_REFUSING: Final = frozenset(("not", "if", "oneOf", "contains"))
"""The keywords below which a schema may be required not to hold."""


def _miscounted_names(part: Part) -> Iterator[str]:
    """The keywords that count a name written twice as two members.

    They are ``minProperties``, and ``maxProperties`` where it must not hold.
    """
    pointer, here, _ = part
    fewest = here.get("minProperties", 0)
    needed = here.get("required")
    required = len(set(cast("list[Any]", needed))) if isinstance(needed, list) else 0
    many = is_number(fewest) and fewest >= required + MISCOUNTED
    refused = "maxProperties" in here and not _REFUSING.isdisjoint(pointer.split("/"))
    for keyword, counts in (("minProperties", many), ("maxProperties", refused)):
        if counts and not _names_are_few(here):
            yield (
                f"{pointer}/{keyword} counts a name that is written twice as two members where "
                f"there are more than {MOST_TRACKED} other names."
            )


def _names_are_few(here: dict[str, Any]) -> bool:
    names = here.get("propertyNames")
    if isinstance(names, dict):
        given = cast("dict[str, Any]", names)
        listed = given.get("enum")
        few = isinstance(listed, list) and len(cast("list[Any]", listed)) <= MOST_TRACKED
        return few or "const" in given
    closed = here.get("additionalProperties", here.get("unevaluatedProperties"))
    return closed is False and not here.get("patternProperties")


def _empty_references(parts: list[Part]) -> Iterator[str]:
    """The pointers of references that lead back to themselves before anything is said."""
    known = {pointer: here for pointer, here, _ in parts}
    for pointer, here in known.items():
        seen: set[str] = set()
        todo = [here["$ref"][1:]] if isinstance(here.get("$ref"), str) else []
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
            yield f"{pointer}/$ref"


def _keywords_in(pointer: str) -> Iterator[tuple[str, str]]:
    """The keywords in a pointer, each with the pointer up to it; names of members are left out."""
    path, *rest = pointer.split("/")
    steps = iter(rest)
    for step in steps:
        path += f"/{step}"
        yield step, path
        if step in BY_NAME:
            path += f"/{next(steps, '')}"


def _need_not_hold(pointer: str) -> bool:
    """Whether a subschema need not hold: it is below a ``not``, an ``if`` or a ``contains``."""
    return any(step in ("not", "if", "contains") for step, _ in _keywords_in(pointer))


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
        if _need_not_hold(pointer):
            continue
        says = here.keys() & WELL_FORMED.keys() | here.keys() & {"const"}
        if not says and not here.keys() & {"$defs", "definitions"}:
            return True
        if says & {"enum", "const"} or here.get("not") == {}:
            continue
        given = here.get("type")
        listed_types = cast("list[object]", given) if isinstance(given, list) else [given]
        types = {each for each in listed_types if isinstance(each, str)}
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
