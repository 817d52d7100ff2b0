"""Escapes: what a backslash and the characters after it stand for.

Two tables of rules, as in `re`: inside a set ``\\b`` is the backspace and ``\\1`` is octal; outside
``\\b`` is a boundary and ``\\1`` a reference to a group. Octal needs three digits there, or a zero
in front. An unknown ASCII letter is an error, any other character stands for itself.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from typing import Final, cast

from explorer.languages.regex.unicode_sets import Category

_CONTROL: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_HEX: Final = re.compile("[0-9a-fA-F]*")
_OCTAL: Final = re.compile("[0-7]{1,3}")

ANCHORS: Final = frozenset("AbBZz") if sys.version_info >= (3, 14) else frozenset("AbBZ")


@dataclass(frozen=True, slots=True)
class Escape:
    """One escape, read.

    Args:
        end: One past its last character in the pattern.
        char: The character that it stands for, or
        category: the letter of its category, or
        anchor: the letter of its anchor, or
        reference: the number of the group that it refers back to.
    """

    end: int
    char: str | None = None
    category: Category | None = None
    anchor: str | None = None
    reference: int | None = None


class BadEscape(Exception):
    """An escape that `re` does not know: the reason, where it ends, and what to write instead."""

    def __init__(self, reason: str, end: int, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.end = end
        self.remedy = remedy


# What people mean by letters that other dialects know.
_MEANT = {
    "p": r"Python's re has no Unicode properties: letters are [^\W\d_], digits \d.",
    "P": r"Python's re has no Unicode properties: what is not a letter is [\W\d_].",
    "z": r"The end of the text is \Z.",
    "h": r"Blanks are [ \t].",
    "R": r"A line break is (?:\r\n|\n|\r).",
    "K": r"Use a lookbehind: (?<=...).",
    "G": r"Leave it out: a match always begins at the start of the text.",
}


def read_escape(pattern: str, offset: int, *, in_set: bool) -> Escape:
    """Read the escape whose backslash is at ``offset``; a character must follow it.

    Raises:
        BadEscape: Wherever `re` raises, but for references to groups that do not exist.

    Example:
        >>> read_escape(r"\\x41", 0, in_set=False).char
        'A'
        >>> read_escape(r"\\101", 0, in_set=False).char
        'A'
        >>> read_escape(r"\\10", 0, in_set=False).reference
        10
    """
    letter = pattern[offset + 1]
    end = offset + 2
    if letter in "dDsSwW":
        return Escape(end, category=cast(Category, letter))
    if letter in ANCHORS and not in_set:
        return Escape(end, anchor=letter)
    if letter in _CONTROL:
        return Escape(end, char=_CONTROL[letter])
    if letter in _HEX_DIGITS:
        return _hexadecimal(pattern, end, _HEX_DIGITS[letter])
    if letter == "N":
        return _named(pattern, end)
    if "0" <= letter <= "9":
        return _digits(pattern, offset, in_set=in_set)
    if letter.isascii() and letter.isalpha():
        meant = _MEANT.get(
            letter, f"Write {letter} for the letter, or \\\\{letter} for a backslash too."
        )
        raise BadEscape(f"unknown escape \\{letter}", end, meant)
    return Escape(end, char=letter)


def _hexadecimal(pattern: str, offset: int, count: int) -> Escape:
    match = _HEX.match(pattern, offset, offset + count)
    digits = match.group() if match else ""
    end = offset + len(digits)
    if len(digits) < count:
        raise BadEscape(
            f"this escape takes {count} hexadecimal digits",
            end,
            f"Fill up with zeros in front: {digits.zfill(count)}.",
        )
    value = int(digits, 16)
    if value > sys.maxunicode:
        raise BadEscape("there is no such code point", end, "The last one is \\U0010FFFF.")
    return Escape(end, char=chr(value))


def _named(pattern: str, offset: int) -> Escape:
    close = pattern.find("}", offset)
    if pattern[offset : offset + 1] != "{" or close < 0:
        raise BadEscape(
            r"a named character is written \N{...}",
            min(offset + 1, len(pattern)),
            r"For example \N{BULLET}.",
        )
    name = pattern[offset + 1 : close]
    try:
        char = unicodedata.lookup(name)
    except (KeyError, ValueError):
        char = ""
    if len(char) != 1:  # Named sequences of several characters are not characters.
        raise BadEscape(
            f"there is no character named {name!r}",
            close + 1,
            r"Names are the Unicode Standard's, as in \N{BULLET}; or write its code, as in \u2022.",
        )
    return Escape(close + 1, char=char)


def _digits(pattern: str, offset: int, *, in_set: bool) -> Escape:
    first = offset + 1
    octal = _OCTAL.match(pattern, first)
    digits = octal.group() if octal else ""
    if in_set:
        if not digits:
            raise BadEscape(
                "an octal escape has digits from 0 to 7",
                first + 1,
                f"Write {pattern[first]} for the digit.",
            )
        return _octal(digits, first)
    if digits.startswith("0") or len(digits) == 3:
        return _octal(digits, first)
    # Two digits at most make a reference, whatever follows.
    end = first + 1
    if pattern[end : end + 1] in tuple("0123456789"):
        end += 1
    return Escape(end, reference=int(pattern[first:end]))


def _octal(digits: str, first: int) -> Escape:
    end = first + len(digits)
    value = int(digits, 8)
    if value > 0o377:
        raise BadEscape(
            "an octal escape is at most 377", end, f"Write \\u{value:04x} for the character."
        )
    return Escape(end, char=chr(value))
