"""The JSON of the arrays that are open, read byte by byte, with the values that it holds so far.

A reading is a value: the open arrays and objects, the outermost first, and the scalar that is being
written. It expects JSON; the machine beside it sees to that. Values are compared as JSON Schema
compares them: numbers by what they amount to, strings by their characters, whatever their escapes,
objects regardless of the order of their members. So a value is told here by what all its spellings
share: a scalar by bytes (a string by a quote and its characters in UTF-8, a number by its digits
and a power of ten, a word by itself), an array by its items, and an object by its sorted members.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final, NamedTuple, cast

Value = bytes | tuple[Any, ...]
"""A value by what its spellings share: bytes, ``("[", item, …)`` or ``("{", (name, value), …)``."""

QUOTE, BACKSLASH, COMMA = 0x22, 0x5C, 0x2C
OPENING: Final = {0x5B: "[", 0x7B: "{"}
CLOSING: Final = frozenset(b"]}")
_OF_SCALARS: Final = frozenset(b"+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_COMPLETING: Final = b'"]}, \t\n\r'
_ESCAPED: Final = dict(zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True))
_NUMBER: Final = re.compile(rb"(-?)(\d*)\.?(\d*)(?:[eE]([+-]?)(\d*))?")
_NEEDLESS: Final = re.compile(rb"(?<=[eE])([+-]?)0+(?=\d)")
"""Zeros at the beginning of an exponent."""
_WHOLE: Final = re.compile(rb"-?[1-9]\d*")


class OpenValue(NamedTuple):
    """An array or object that has begun and not ended.

    Args:
        values: What it holds so far: an opening bracket, then items, or sorted members.
        name: The name of the member that is being written; ``None`` before it and in an array.
    """

    values: tuple[Any, ...]
    name: Value | None = None

    def holding(self, value: Value) -> OpenValue:
        """It with one more item, name or value of a member; a repeated name counts last."""
        if self.values[0] == "[":
            return OpenValue((*self.values, value))
        if self.name is None:
            return OpenValue(self.values, value)
        members = {**dict(self.values[1:]), self.name: value}
        return OpenValue(("{", *sorted(members.items())))


class OpenArrays(NamedTuple):
    """The open arrays and objects, and the scalar that is being written.

    Args:
        open: The outermost first; empty where nothing is read.
        text: The scalar so far, with its escapes resolved; empty outside of one.
        escape: The escape that is being written in a string, or half of a surrogate pair.
    """

    open: tuple[OpenValue, ...] = ()
    text: bytes = b""
    escape: bytes = b""

    @property
    def in_string(self) -> bool:
        """Whether a string is being written, or a name."""
        return self.text[:1] == b'"'

    @property
    def is_whole(self) -> bool:
        """Whether the scalar is a whole number that each further digit changes."""
        return _WHOLE.fullmatch(self.text) is not None

    def begins(self, level: int) -> bool:
        """Whether the next item of an open array has begun."""
        return bool(self.text) or level + 1 < len(self.open)


NOTHING: Final = OpenArrays()

Item = tuple[int, Value]
"""The level of an open array, and an item that has just been completed in it."""


def after(here: OpenArrays, byte: int) -> tuple[OpenArrays, list[Item]]:
    """The reading after a byte, and the items that it completes, in order.

    Where the outermost array ends, nothing is open any more.
    """
    items: list[Item] = []
    text = here.text
    if here.in_string:
        if byte != QUOTE or here.escape[-1:] == b"\\":
            return _in_string(here, byte), items
        text = _resolved(here.text, here.escape)
        return OpenArrays(_with(here.open, text, items)), items
    if text and byte in _OF_SCALARS:
        return OpenArrays(here.open, _NEEDLESS.sub(rb"\1", text + bytes((byte,)))), items
    opened = _with(here.open, common_form(text), items) if text else here.open
    if byte in OPENING:
        return OpenArrays((*opened, OpenValue((OPENING[byte],)))), items
    if byte in CLOSING and opened:
        opened = _with(opened[:-1], opened[-1].values, items)
    elif byte == QUOTE or byte in _OF_SCALARS:
        return OpenArrays(opened, bytes((byte,))), items
    return OpenArrays(opened), items


def _with(opened: tuple[OpenValue, ...], value: Value, items: list[Item]) -> tuple[OpenValue, ...]:
    """OpenValue arrays and objects with a value in the innermost one, which is noted as an item."""
    if not opened:
        return opened
    if opened[-1].values[0] == "[":
        items.append((len(opened) - 1, value))
    return (*opened[:-1], opened[-1].holding(value))


def _in_string(here: OpenArrays, byte: int) -> OpenArrays:
    """The reading after a byte inside of a string that does not end it."""
    opened, text, escape = here
    if byte == BACKSLASH and escape[-1:] != b"\\":
        return OpenArrays(opened, text, escape + b"\\")
    begun = escape.rfind(b"\\")
    if begun < 0:
        return OpenArrays(opened, text + bytes((byte,)))
    if len(escape) - begun == 6:  # Half of a pair, and no escape follows.
        return OpenArrays(opened, _resolved(text, escape) + bytes((byte,)))
    escape += bytes((byte,))
    if escape[begun + 1] != 0x75:
        text = _resolved(text, escape[:begun])
        return OpenArrays(opened, text + bytes((_ESCAPED.get(escape[begun + 1], byte),)))
    if len(escape) - begun < 6:
        return OpenArrays(opened, text, escape)
    code = int(escape[begun + 2 :], 16)
    if begun and not 0xDC00 <= code <= 0xDFFF:  # The half before it stands alone.
        text, escape = _resolved(text, escape[:begun]), escape[begun:]
    if 0xD800 <= code <= 0xDBFF:
        return OpenArrays(opened, text, escape)
    return OpenArrays(opened, _resolved(text, escape))


def _resolved(text: bytes, escape: bytes) -> bytes:
    """A string with whole ``\\u`` escapes after it, one of them or a pair."""
    codes = [int(each, 16) for each in escape.split(b"\\u")[1:]]
    if len(codes) == 2:
        codes = [0x10000 + ((codes[0] - 0xD800) << 10) + codes[1] - 0xDC00]
    return text + "".join(map(chr, codes)).encode(errors="surrogatepass")


def common_form(text: bytes) -> bytes:
    """The common form of all spellings of a scalar.

    Example:
        >>> common_form(b"-1.50E+01"), common_form(b"-0.0"), common_form(b"null")
        (b'-15e0', b'0', b'null')
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    sign, whole, decimals, direction, power = match.groups(b"")
    digits = (whole + decimals).lstrip(b"0")
    if not digits:
        return b"0"
    least = digits.rstrip(b"0")
    exponent = _number(direction + power) - len(decimals) + len(digits) - len(least)
    return b"%b%be%d" % (sign, least, exponent)


def _number(digits: bytes) -> int:
    """The number of an exponent, as far as one can matter: no text is as long as larger ones."""
    if len(digits) > 1000:
        return int(digits[:1000])
    return int(digits) if digits[-1:].isdigit() else 0


def could_become(here: OpenArrays, level: int, value: Value) -> bool:
    """Whether what has begun at a level may still become a value; it may be said too often.

    Args:
        level: The level of an array or object inside of an open array; that of the scalar is one
            more than that of what is open.
    """
    if level == len(here.open):
        return isinstance(value, bytes) and _scalar_could_become(here, value)
    values, name = here.open[level]
    if isinstance(value, bytes) or value[0] != values[0]:
        return False
    goes_on = here.begins(level)
    if values[0] == "[":
        count = len(values)
        if value[:count] != values:
            return False
        return not goes_on or (count < len(value) and could_become(here, level + 1, value[count]))
    members: dict[Any, Any] = dict(value[1:])
    if any(members.get(known) != held for known, held in values[1:]):
        return False
    if name is None:
        return not goes_on or any(_scalar_could_become(here, each) for each in members)
    return name in members and (not goes_on or could_become(here, level + 1, members[name]))


def _scalar_could_become(here: OpenArrays, value: bytes) -> bool:
    text = here.text
    if here.in_string:
        return value.startswith(text) and (not here.escape or len(value) > len(text))
    match = _NUMBER.fullmatch(text)
    if match is None:
        return value.startswith(text)
    wanted = _NUMBER.fullmatch(value)
    if wanted is None:
        return False
    sign, whole, decimals, _, _ = match.groups(b"")
    digits, least = (whole + decimals).lstrip(b"0"), wanted[2].lstrip(b"0")
    if not digits:  # Zero so far, and minus zero is zero.
        return sign == wanted[1] or not least
    if sign != wanted[1] or digits[len(least) :].strip(b"0"):
        return False
    return digits[: len(least)] == least[: len(digits)]


def repeated_item(data: bytes, byte: int | None) -> tuple[int, str] | None:
    """The item that a byte after the beginning of a JSON text completes though it came before.

    Returns:
        The level of its array among what is open, and the item as JSON; ``None`` if there is none.

    Example:
        >>> repeated_item(b'{"a":[1,1.0', ord(",")), repeated_item(b"[1,2", ord("]"))
        ((1, '1'), None)
    """
    here = NOTHING
    for each in data:
        here, _ = after(here, each)
    if byte is not None and byte in _COMPLETING:
        for level, item in after(here, byte)[1]:
            if item in here.open[level].values[1:]:
                return level, _as_json(item)
    return None


def _as_json(value: Value) -> str:
    if isinstance(value, tuple):
        kind, *parts = value
        if kind == "[":
            return f"[{','.join(map(_as_json, parts))}]"
        members = cast("list[tuple[bytes, Value]]", parts)
        return f"{{{','.join(f'{_as_json(name)}:{_as_json(held)}' for name, held in members)}}}"
    text = value.decode(errors="surrogatepass")
    if text[:1] == '"':
        return json.dumps(text[1:], ensure_ascii=False)
    return f"{Decimal(text):f}" if text[:1] in "-0123456789" and len(text) < 20 else text
