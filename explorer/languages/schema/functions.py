"""The functions for JSON: with a schema, without a schema, and the sizes of a schema's parts.

A schema may also be given as OpenAI's ``response_format``, in three forms: ``{"type":
"json_schema", "json_schema": {"name": …, "schema": {…}, "strict": true}}``, the same with these
members beside ``type`` (the ``text.format`` of newer interfaces), and ``{"type": "json_object"}``,
any object. No JSON Schema has such a ``type``, so the two cannot be confused. ``strict`` says
whether the service holds its model to the schema; here the schema always holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from inspect import signature
from os import PathLike
from typing import Any, Final, cast

from explorer.arguments import plain, shown
from explorer.budget import Budget
from explorer.errors import ConstraintError, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.schema.diagnosis.profiling import Profile, profile_of
from explorer.languages.schema.free import FreeJson
from explorer.languages.schema.options import Order, Recursion
from explorer.languages.schema.reading.text import read_schema
from explorer.languages.schema.source import JsonSchema
from explorer.languages.schema.text.strings import EscapesOf, Whitespace
from explorer.languages.types.schema import is_type, type_name
from explorer.languages.types.source import JsonType

_FORMS: Final = ("json_schema", "json_object", "text")
_MEMBERS: Final = ("name", "schema", "strict", "description")
_NAME: Final = re.compile("[A-Za-z0-9_-]{1,64}")
_REMEDY: Final = (
    'Write {"type": "json_schema", "json_schema": {"name": "answer", "schema": {...}, '
    '"strict": true}}.'
)


def is_response_format(given: object) -> bool:
    """Whether data has the ``type`` of a ``response_format``, which no JSON Schema has.

    Example:
        >>> is_response_format({"type": "json_object"}), is_response_format({"type": "object"})
        (True, False)
    """
    if not isinstance(given, Mapping):
        return False
    kind = cast("Mapping[str, object]", given).get("type")
    return isinstance(kind, str) and kind in _FORMS


def requested_schema(given: Mapping[str, object]) -> object:
    """The JSON Schema that a ``response_format`` asks for.

    Raises:
        ConstraintError: The format asks for any text, or a part of it is malformed; the message
            names the part by its JSON Pointer.

    Example:
        >>> asked = {"name": "n", "schema": {"type": "integer"}, "strict": True}
        >>> requested_schema({"type": "json_schema", "json_schema": asked})
        {'type': 'integer'}
    """
    kind = given["type"]
    if kind == "json_schema":
        if "json_schema" not in given and "schema" in given:
            members = {name: part for name, part in given.items() if name != "type"}
            return _schema(members, "")
        _only(given, ("type", "json_schema"), "")
        inner = _part(given, "json_schema", "", Mapping, "an object")
        return _schema(cast("Mapping[str, object]", inner), "/json_schema")
    if kind == "json_object":
        _only(given, ("type",), "")
        return {"type": "object"}
    raise ConstraintError(
        'The response_format {"type": "text"} asks for any text, which is not JSON.',
        remedy='Leave the constraint out, or write regex("(?s).*").',
        evidence={"pointer": "/type"},
    )


def _schema(members: Mapping[str, object], pointer: str) -> object:
    _only(members, _MEMBERS, pointer)
    name = _part(members, "name", pointer, str, "a text")
    if not _NAME.fullmatch(cast("str", name)):
        reason = f"{shown(name)} is not 1 to 64 letters, digits, underscores and hyphens"
        raise _malformed(f"{pointer}/name", reason)
    for optional, kind, what in (("strict", bool, "true or false"), ("description", str, "a text")):
        if members.get(optional) is not None:
            _part(members, optional, pointer, kind, what)
    return _part(members, "schema", pointer, Mapping, "an object")


def _part(
    owner: Mapping[str, object], name: str, pointer: str, kind: type[Any], what: str
) -> object:
    if name not in owner:
        raise _malformed(f"{pointer}/{name}", "it is missing")
    part = owner[name]
    if not isinstance(part, kind):
        raise _malformed(f"{pointer}/{name}", f"{shown(part)} is not {what}")
    return part


def _only(owner: Mapping[str, object], known: tuple[str, ...], pointer: str) -> None:
    for name in owner:
        if name not in known:
            names = ", ".join(known)
            raise _malformed(f"{pointer}/{name}", f"there is no such member; there are {names}")


def _malformed(pointer: str, reason: str) -> ConstraintError:
    return ConstraintError(
        f"The response_format is malformed at {pointer}: {reason}.",
        remedy=_REMEDY,
        evidence={"pointer": pointer, "reason": reason},
    )


def json_schema(
    schema: Mapping[str, object] | bool | str | type[Any],
    *,
    whitespace: Whitespace = "compact",
    property_order: Order = "schema",
    strict: bool = True,
    formats: bool = True,
    max_depth: int | None = None,
    free_depth: int = 3,
    recursion: Recursion = "auto",
    folder: str | PathLike[str] | None = None,
    escapes: EscapesOf = "free",
    whitespace_pattern: str | None = None,
) -> Constraint:
    """The JSON texts of the values that a JSON Schema allows.

    Drafts 4, 6, 7, 2019-09 and 2020-12, taken from ``$schema``; the last is the default.
    ``dependencies`` is followed in every draft.

    Numbers that no keyword bounds have every spelling of JSON (``1E+2``) up to 1.797…e308, the
    largest that a float holds; whole ones plain digits (``12``, ``12.0``) and exponents of 0 to
    99 after them (``12e3``). All other numbers, under bounds, ``multipleOf``, ``enum``, ``const``
    or ``not``, are written as Python and JavaScript write them, and a little more freely: plain
    (``-12.50``, also with ``e0``), small (``1.5e-07``: one digit before the point, at most three
    in the exponent but for zeros before them), or large (``1.5e+22``: at most 16 digits after the
    point, an exponent from 16 on). So what ``json.dumps`` writes is taken. Integers of draft 4 are
    digits only, and a ``multipleOf`` of thousands of remainders has no large spelling.

    A string may always be written as ``json.dumps(ensure_ascii=False)`` writes it. ``escapes`` says
    where other spellings are allowed too, alike for values and names, whether they are listed
    (``enum``, ``const``, ``properties``), bounded, under a ``pattern``, or left over
    (``additionalProperties``). With ``"free"`` every escape is allowed from the place on from which
    any text may follow: in all of an unconstrained string, after the beginning that a pattern asks
    for or that distinguishes a name from those listed, and after ``minLength`` characters; so never
    in a listed text or one with a maximal length. With ``"any"`` every escape is allowed
    everywhere.

    ``minProperties``, and ``maxProperties`` that must not hold, count a name that is written
    twice as two members, unless there are at most twelve names beside ``properties``; where this
    happens stands in ``report.warnings`` of the compiled constraint.

    Args:
        schema: The schema as Python data or as JSON text; or OpenAI's ``response_format``, whose
            ``{"type": "json_object"}`` is any object; or a pydantic model, a dataclass or another
            type, which `explorer.from_type` reads.
        whitespace: ``"compact"`` for none, ``"dumps"`` for that of plain `json.dumps` (``", "``
            and ``": "``), ``"pretty"`` for ``json.dumps(indent=2)``, ``"flexible"`` for any between
            tokens and around the text.
        property_order: ``"schema"`` writes the members of an object in the order of its
            ``properties``, others after them; ``"any"`` in every order.
        strict: Whether a keyword that no automaton can follow exactly is an error. Otherwise it is
            ignored, and ``report.warnings`` of the compiled constraint names it.
        formats: Whether ``format`` constrains, or is an annotation, as the drafts allow. A host
            name with labels that encode others (``xn--``) is judged by what they encode where the
            schema lists it (``enum``, ``const``, ``properties``), and not written elsewhere; leap
            seconds may have an offset of whole quarters of an hour.
        max_depth: How often a reference of a recursive schema is followed again inside the first
            one: references are followed ``max_depth + 1`` deep. If given, the schema is unrolled;
            without it, an unrolled schema has 5.
        free_depth: How deep arrays and objects nest in a value that the schema does not describe.
            On a stack they nest without limit.
        recursion: ``"unroll"`` builds a finite machine to ``max_depth``; ``"stack"`` a machine
            with a stack (a push-down automaton), without a limit; ``"auto"`` takes a stack where
            references lead back and ``max_depth`` is not given. ``report.decisions`` of the
            compiled constraint says which was taken, and ``report.warnings`` names each limit.
        folder: A folder of schemas that references may name, by their path in it or their ``$id``.
            Nothing is fetched.
        escapes: ``"any"`` allows ``\\uXXXX`` for every character in names and all strings, at
            several times the states; ``"free"`` only where any text may follow.
        whitespace_pattern: A pattern of the white space between two tokens of JSON, in place of
            ``whitespace``: ``"[ ]?"``, ``r"[\\n\\t ]*"``. As in Outlines it is allowed before and
            after every bracket, comma, colon and name, not around the text.

    Raises:
        ConstraintError: ``whitespace_pattern`` matches nothing, or something that is not white
            space of JSON; the schema is not JSON, or a part of a ``response_format`` is malformed.
        UnsupportedSchema: When the machine is built: a keyword cannot be followed exactly.

    Example:
        >>> age = {"type": "integer", "minimum": 0}
        >>> person = {"properties": {"age": age}, "required": ["age"], "type": "object"}
        >>> c = json_schema(person)
        >>> c.accepts('{"age":7}'), c.accepts('{"age":-7}')
        (True, False)
    """
    options: dict[str, Any] = {
        "whitespace": whitespace, "property_order": property_order, "strict": strict,
        "formats": formats, "max_depth": max_depth, "free_depth": free_depth,
        "recursion": recursion, "escapes": escapes, "whitespace_pattern": whitespace_pattern,
    }  # fmt: skip
    if not is_type(schema):
        return Constraint(JsonSchema.of(_asked(schema), folder, **options))
    if folder is not None:
        raise ConstraintError(
            f"A folder of schemas does not go with the type {type_name(schema)}.",
            remedy="Leave folder out.",
        )
    return Constraint(JsonType.of(schema, **options))


def _asked(schema: object) -> object:
    """The schema inside a ``response_format``; anything else is returned unchanged."""
    given = schema = plain(schema)
    if isinstance(schema, str) and '"type"' in schema:
        with suppress(ExplorerError):  # Text that is not JSON is refused later, with its place.
            given = read_schema(plain(schema).removeprefix("\ufeff"))
    if is_response_format(given):
        return requested_schema(cast("Mapping[str, object]", given))
    return schema


def json(
    max_object_depth: int = 3, max_array_depth: int = 3, *, whitespace: Whitespace = "compact"
) -> Constraint:
    """Every JSON text whose objects and arrays nest no deeper than two limits; no schema.

    Args:
        max_object_depth: How many objects may nest inside each other; 0 for no object.
        max_array_depth: How many arrays may nest inside each other; 0 for no array. The machine
            grows with the number of ways in which both can nest.
        whitespace: As in `json_schema`.

    Raises:
        ConstraintError: A limit is not a whole number from 0 to 50.
        BudgetExceeded: When the machine is built: the limits are too large.

    Source:
        Koo, Liu, He 2024, section 5.1.

    Example:
        >>> flat = json(max_object_depth=1, max_array_depth=0)
        >>> flat.accepts('{"a":1}'), flat.accepts('{"a":{}}'), flat.accepts("[]")
        (True, False, False)
    """
    return Constraint(FreeJson(max_object_depth, max_array_depth, whitespace))


def profile(
    schema: Mapping[str, object] | bool | str, budget: Budget | None = None, **options: Any
) -> Profile:
    """States, arcs and milliseconds of each subschema, to find what makes a schema too large.

    Args:
        schema: As in `json_schema`.
        budget: The limits for each subschema. A subschema that needs more is listed as such, and
            those around it are still tried.
        **options: Those of `json_schema`.

    Returns:
        The sizes; printed, a table with the largest first; ``figure()`` is the data of a treemap.

    Raises:
        ConstraintError: There is no such option, or one of the errors of `json_schema`.

    Example:
        >>> sizes = profile({"items": {"enum": ["red", "green"]}})
        >>> [(row.pointer, row.states) for row in sizes.rows][1]
        ('/items', 10)
    """
    known = [name for name in signature(json_schema).parameters if name != "schema"]
    if unknown := [name for name in options if name not in known]:
        raise ConstraintError(
            f"profile has no option {unknown[0]!r}.",
            remedy=f"Leave it out; the options are {', '.join(known)}.",
            evidence={"option": unknown[0]},
        )
    constraint = json_schema(schema, **options)
    if not isinstance(constraint.source, JsonSchema):
        raise ConstraintError(
            f"profile measures a JSON Schema; {type_name(schema)} is a type.",
            remedy="Give its schema, such as Model.model_json_schema().",
        )
    return profile_of(constraint.source, budget)
