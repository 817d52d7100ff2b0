"""The schema in OpenAI's ``response_format``.

Three forms: ``{"type": "json_schema", "json_schema": {"name": …, "schema": {…}, "strict": true}}``,
the same with these members beside ``type`` (the ``text.format`` of newer interfaces), and
``{"type": "json_object"}``, any object. No JSON Schema has such a ``type``, so it is never one by
accident. ``strict`` says whether the service holds its model to the schema; here it always is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from explorer.arguments import shown
from explorer.errors import ConstraintError

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
        ConstraintError: It asks for any text, or a part of it is malformed; the message names the
            part by its JSON Pointer.

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
