"""The rules that hold at a spot of a JSON text whatever its schema says.

JSON's own grammar (RFC 8259) may refuse the byte whatever the schema says, a number may be larger
than every float, and an object may hold the name already. Each is told as a clause that goes on
after "Expected by".
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from explorer.languages.schema.reading.text import Spot, Step, is_whole, spot_of, steps_to, tokens

BLANK: Final = b" \t\n\r"
"""The white space of JSON."""

LARGEST: Final = "the largest float, about 1.798e308, which no number exceeds in size"
"""The clause for a number that a float cannot hold."""

_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_OF_NUMBERS: Final = b"+-.0123456789eE"
_ESCAPED: Final = b'"\\/bfnrtu'
_HEXADECIMAL: Final = b"0123456789abcdefABCDEF"
_NUMBER_BEGUN: Final = re.compile(
    rb"-|-?(?:0|[1-9][0-9]*)(?:\.[0-9]*|(?:\.[0-9]+)?(?:[eE](?:[+-]?[0-9]*))?)"
)
_UNICODE: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u[0-9a-fA-F]{0,3}\Z")
"""An escape of four digits that has begun and not ended."""
_WORDS: Final = (b"true", b"false", b"null")
UNCLOSED: Final = "JSON, which has a double quote at the end of a string"
"""The rule by which a text may not end inside a string."""
_ONLY_WORDS: Final = "JSON, whose only words are true, false and null"


def in_text(spot: Spot) -> bool:
    """Whether a string or a name has begun and not ended."""
    if spot.value:
        return spot.value[:1] == b'"' and not spot.is_finished
    return not [NO_NAME, *names_of(spot.outline or b"")][-1].is_whole


def exceeds_floats(data: bytes, byte: int | None) -> bool:
    """Whether a byte makes a number larger than the largest float.

    Example:
        >>> exceeds_floats(b"[1e30", ord("9")), exceeds_floats(b"1e30", ord("8"))
        (True, False)
    """
    if byte is None or data[-1:] not in _OF_NUMBERS:
        return False
    number = spot_of(data).value + bytes([byte])
    return _NUMBER.fullmatch(number) is not None and math.isinf(float(number))


def rule_of_json(data: bytes, byte: int, *, may_close: bool = True) -> str:
    """The rule of JSON by which a text does not go on with a byte; empty if it may.

    Args:
        may_close: Whether an array or object that has just been opened may be empty.

    Example:
        >>> rule_of_json(b"{", ord("x")), rule_of_json(b"{", ord('"'))
        ('JSON, which has a name in double quotes or } here', '')
    """
    spot = spot_of(data)
    longer = spot.value + bytes([byte])
    if in_text(spot):
        return _rule_of_text(spot.value or spot.outline or b"", byte)
    if spot.value[:1].isalpha() and spot.value not in _WORDS:
        return "" if any(word.startswith(longer) for word in _WORDS) else _ONLY_WORDS
    is_open = bool(spot.value) and data[-1:] in _OF_NUMBERS
    if is_open and (byte in _OF_NUMBERS or not _NUMBER.fullmatch(spot.value)):
        number = longer.decode(errors="backslashreplace")
        goes_on = _NUMBER_BEGUN.fullmatch(longer)
        return "" if goes_on else f"JSON, which has no number that begins with {number}"
    # An option says where white space is.
    return "" if byte in BLANK else _rule_between(spot, byte, may_close)


def rule_of_end(data: bytes) -> str:
    """The rule of JSON by which a text may not end, if it may not whatever its schema says."""
    spot = spot_of(data)
    if in_text(spot):
        return UNCLOSED
    if spot.value[:1].isalpha() and spot.value not in _WORDS:
        return _ONLY_WORDS
    if spot.value and data[-1:] in _OF_NUMBERS and not _NUMBER.fullmatch(spot.value):
        return f"JSON, which has no number {spot.value.decode()}"
    if spot.outline is not None:
        return (
            "JSON, which has } at the end of an object"
            if spot.outline[:1] == b"{"
            else ("JSON, which has ] at the end of an array")
        )
    return "" if spot.is_finished else "JSON, which has a value here"


def _rule_of_text(text: bytes, byte: int) -> str:
    """The rule of JSON inside a string or a name."""
    slashes = len(text) - len(text.rstrip(b"\\"))
    if slashes % 2:
        return "" if byte in _ESCAPED else "JSON, which has no such escape"
    if _UNICODE.search(text):
        return "" if byte in _HEXADECIMAL else "JSON, which has four hexadecimal digits after \\u"
    return "JSON, which writes this character as an escape" if byte < 0x20 else ""


def _rule_between(spot: Spot, byte: int, may_close: bool) -> str:
    """The rule of JSON before and after a value, a name, a comma or a colon."""
    outline = spot.outline or b""
    is_object = outline[:1] == b"{"
    if spot.is_finished:
        after = ("," + ("}" if is_object else "]")) if outline else ""
        shown = f"{after[0]} or {after[1]}" if after else "only the end of text"
        return "" if after and byte in after.encode() else f"JSON, which has {shown} after a value"
    if is_object and not outline.endswith(b":"):
        if outline.endswith(b'"'):
            return "" if byte == ord(":") else "JSON, which has a colon after a name"
        first = outline == b"{"
        allowed = b'"}' if first else b'"'
        other = " or }" * (first and may_close)
        return "" if byte in allowed else f"JSON, which has a name in double quotes{other} here"
    if byte in b'"-0123456789[{tfn' or (byte == ord("]") and outline == b"["):
        return ""
    if bytes([byte]).isalpha():
        return _ONLY_WORDS
    return f"JSON, which has a value{' or ]' * (outline == b'[' and may_close)} here"


class Name(NamedTuple):
    """A name in the beginning of a JSON text.

    Args:
        way: The way to its object.
        end: Where it ends, in characters of the text.
        is_whole: Whether it has ended, so that it is not the beginning of a name.
    """

    name: str
    way: tuple[Step, ...] = ()
    end: int = 0
    is_whole: bool = True


NO_NAME: Final = Name("")


def names_of(text: bytes) -> list[Name]:
    """The names in the beginning of a JSON text.

    Example:
        >>> [(each.name, each.is_whole) for each in names_of(b'{"a":{"b":1},"a')]
        [('a', True), ('b', True), ('a', False)]
    """
    names: list[Name] = []
    for token, start, stack in tokens(text.decode(errors="replace")):
        if stack and stack[-1].awaits_name and token[0] == '"':
            name = stack[-1].key if is_whole(token) else token[1:]
            way = steps_to(stack[:-1])
            names.append(Name(name, way, start + len(token), is_whole(token)))
    return names


def is_between_members(spot: Spot) -> bool:
    """Whether a name or the end of an object comes next, or a name has begun."""
    outline = spot.outline or b""
    return outline[:1] == b"{" and outline[-1:] != b":" and not spot.value
