"""Faults of a damaged document: each names its place, the value that stands there, and a remedy.

A place is a path such as ``positions[3].distribution.log_z``. `msgspec` names the place and the
type that was expected; what stands there is looked up here, and said in words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec

from explorer.errors import DamagedFile
from explorer.files import parse_json

_SHOWN: Final = 40
_MOST_VALUES: Final = 2**21
"""In larger documents a fault of form names the place only: to find the value takes memory."""

_AT: Final = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$\.?(.*)`)?", re.DOTALL)
_EXPECTED: Final = re.compile(r"Expected `(?P<kinds>[^`]*)`(?P<bounds>.*?)(, got `(?P<got>.*)`)?")
_FIELD: Final = re.compile(r"Object (?P<what>contains|missing).* field `(?P<key>.*)`")
_WORDS: Final[Mapping[str, str]] = {
    "int": "a whole number",
    "float": "a finite number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_KINDS: Final = {"dict": "object", "list": "array", "NoneType": "null"}
_UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class Faults:
    """The errors of one document."""

    file: str
    data: bytes

    def at(self, place: str, value: object, expected: str) -> DamagedFile:
        """The error for the value at a place.

        Args:
            place: Its path from the top; empty for the top itself.
        """
        shown = "" if value is _UNKNOWN else f"{value!r}, "
        if len(shown) > _SHOWN:
            shown = f"{shown[: _SHOWN - 3]}…, "
        return DamagedFile(
            f"{self.file}: {place or 'the document'} is {shown}not {expected}.",
            remedy="Save the trace again with this release, or take an undamaged copy.",
            evidence={"file": self.file, "place": place},
        )

    def check(self, holds: object, place: str, value: object, expected: str) -> None:
        """Raise the error for a value unless something holds."""
        if not holds:
            raise self.at(place, value, expected)

    def within(self, low: int, high: int, place: str, value: int | None) -> None:
        """Raise the error for a number that is not from ``low`` to ``high``, both included."""
        fits = value is not None and low <= value <= high
        self.check(fits, place, value, f"a whole number from {low} to {high}")

    def of_json(self) -> DamagedFile:
        """The error for a document that is not JSON at all; line and column are named."""
        place, reason = "the document", "it is not JSON"
        try:
            parse_json(self.data)
        except json.JSONDecodeError as error:
            place, reason = f"line {error.lineno}, column {error.colno}", error.msg
        except UnicodeDecodeError as error:
            place, reason = f"byte {error.start}", "not UTF-8"
        except ValueError as error:
            reason = str(error)
        return DamagedFile(
            f"{self.file}: {place}: {reason}.",
            remedy="Save it again; it may have broken off.",
            evidence={"file": self.file, "place": place},
        )

    def of_form(self, error: msgspec.ValidationError) -> DamagedFile:
        """The error for a value of another type, or out of its range."""
        what, place = cast("re.Match[str]", _AT.fullmatch(str(error))).groups("")
        try:
            top = parse_json(self.data, _MOST_VALUES)
        except ValueError:
            top = _UNKNOWN
        expected = _EXPECTED.fullmatch(what)
        before, unnamed, after = place.partition("[...]")
        if unnamed:  # Which key of an object with any keys is not said.
            entries = _value(top, before)
            entries = cast("dict[str, object]", entries) if isinstance(entries, dict) else {}
            kind = "object" if after or expected is None else expected["got"]
            keys = [key for key, entry in entries.items() if _kind(entry) == kind]
            place = ".".join([before, *keys[:1]]) + after
        if expected:
            kinds = [_WORDS.get(kind, kind) for kind in expected["kinds"].split(" | ")]
            bounds = expected["bounds"].replace(">=", "from").replace("<=", "up to")
            what = " or ".join(kinds) + bounds.replace("<", "below")
        elif (field := _FIELD.fullmatch(what)) and field["what"] == "missing":
            what = f"an object with a {field['key']!r}"
        elif field:
            place = f"{place}.{field['key']}".removeprefix(".")
            what = "a key that is known here"
        else:
            what = f"what may stand there ({what})"
        return self.at(place, _value(top, place), what)


def _kind(value: object) -> str:
    """The type of a JSON value as `msgspec` calls it."""
    name = type(value).__name__
    return _KINDS.get(name, name)


def _value(top: object, place: str) -> object:
    """The value at a place, if there is one."""
    value: Any = top
    for index, key in re.findall(r"\[(\d+)\]|([^.\[\]]+)", place):
        try:
            value = value[int(index) if index else key]
        except (KeyError, IndexError, TypeError):
            return _UNKNOWN
    return value
