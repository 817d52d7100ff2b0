"""Escapes and sets: the characters that a backslash or ``[...]`` stands for.

Two tables of rules for escapes, as in `re`: inside a set ``\\b`` is the backspace and ``\\1`` is
octal; outside ``\\b`` is a boundary and ``\\1`` a reference to a group. Octal needs three digits
there, or a zero in front. An unknown ASCII letter is an error, any other character stands for
itself. Beyond what `re` reads, ``\\p{L}``, ``\\P{L}`` and ``\\pL`` are Unicode properties
(`explorer.languages.regex.properties`), and ``\\z`` is the end of the text in every version.

Patterns repeat their sets, so one that was read once is known by its text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from typing import Final

from explorer.arguments import shown
from explorer.automata.tree.charset import CharSet
from explorer.languages.regex.properties import known_property, property_remedy
from explorer.languages.regex.unicode_sets import CLASS_FLAGS, Category, ClassItem, character_class

_CONTROL: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_HEX: Final = re.compile("[0-9a-fA-F]*")
_OCTAL: Final = re.compile("[0-7]{1,3}")

ANCHORS: Final = frozenset("AbBZz")
_PROPERTY: Final = re.compile(r"\{\s*(\^?)([^{}]*)\}|()([A-Za-z])")


@dataclass(frozen=True, slots=True)
class Escape:
    """One escape, read.

    Args:
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
    "z": r"The end of the text is not a character of a set.",
    "h": r"Blanks are [ \t].",
    "R": r"A line break is (?:\r\n|\n|\r).",
    "k": r"A reference back to a group is beyond finite automata; write the cases out.",
    "K": r"Use a lookbehind: (?<=...).",
    "G": r"Leave it out: a match always begins at the start of the text.",
}


def read_escape(pattern: str, offset: int, *, in_set: bool) -> Escape:
    """Read the escape whose backslash is at ``offset``; a character must follow it.

    Raises:
        BadEscape: Wherever `re` raises, but for properties, ``\\z``, and references to groups that
            do not exist.

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
        return Escape(end, category=letter)
    if letter in ("p", "P"):
        return _property(pattern, end, letter)
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


def _property(pattern: str, offset: int, letter: str) -> Escape:
    """``{L}``, ``{^L}`` or ``L`` behind ``\\p`` or ``\\P``."""
    match = _PROPERTY.match(pattern, offset)
    if match is None:
        raise BadEscape(
            rf"a property is written \{letter}{{...}}",
            min(offset + 1, len(pattern)),
            rf"For example \{letter}{{L}} or \{letter}{{Greek}}.",
        )
    written = match[2] if match[4] is None else match[4]
    name = known_property(written)
    if name is None:
        raise BadEscape(
            f"there is no property {shown(written)} here", match.end(), property_remedy(written)
        )
    negated = (letter == "P") != bool(match[1])
    return Escape(match.end(), category=f"{'P' if negated else 'p'}{{{name}}}")


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


_SET: Final = re.compile(r"\[\^?\]?(?:[^\\\]]|\\.)*\]", re.DOTALL)
_known: Final[dict[tuple[str, int], CharSet]] = {}
_MOST_KNOWN: Final = 4096


class BadSet(Exception):
    """A set that `re` refuses; the parser makes a `RegexError` of it.

    Args:
        start, end: Where, in characters of the pattern; no end for a single character.
    """

    def __init__(self, reason: str, start: int, end: int | None, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.end = end
        self.remedy = remedy


def known_set(text: str, start: int, flags: int) -> tuple[CharSet, int] | None:
    """As `read_set`, of a set that was read before; else ``None``."""
    # The text up to the next bracket is a set, or a set that has not been read yet.
    end = text.find("]", start + 2) + 1
    known = _known.get((text[start:end], flags & CLASS_FLAGS))
    if known is None:  # One with a bracket inside, such as an escaped one.
        written = _SET.match(text, start)
        if written is None:
            return None
        end = written.end()
        known = _known.get((written[0], flags & CLASS_FLAGS))
    return None if known is None else (known, end)


def read_set(text: str, start: int, flags: int) -> tuple[CharSet, int]:
    """The set that begins at a bracket, and where it ends.

    Args:
        flags: Flags of `re` that hold there.

    Raises:
        BadSet: `re` would refuse it.

    Example:
        >>> chars, end = read_set("x[a-c]y", 1, 0)
        >>> end
        6
    """
    known = known_set(text, start, flags)
    if known is not None:
        return known
    pos = start + 1
    negated = text.startswith("^", pos)
    pos += negated
    first = pos
    items: list[ClassItem] = []
    while True:
        if pos >= len(text):
            raise _unclosed(start)
        if text[pos] == "]" and pos > first:
            break
        low_start = pos
        low, pos = _item(text, pos)
        if not text.startswith("-", pos):
            items.append(low)
            continue
        pos += 1
        if pos >= len(text):
            raise _unclosed(start)
        if text[pos] == "]":
            items.append(low)
            items.append((0x2D, 0x2D))
            break
        high, pos = _item(text, pos)
        if isinstance(low, str) or isinstance(high, str):
            raise BadSet(
                "a range goes from one character to another",
                low_start,
                pos,
                remedy=r"Write \- for the character.",
            )
        if high[0] < low[0]:
            raise BadSet(
                "this range ends before it begins",
                low_start,
                pos,
                remedy=r"Swap its ends, or write \- for the character.",
            )
        items.append((low[0], high[0]))
    chars = character_class(tuple(dict.fromkeys(items)), negated, flags)
    if len(_known) < _MOST_KNOWN:
        _known[text[start : pos + 1], flags & CLASS_FLAGS] = chars
    return chars, pos + 1


def _item(text: str, pos: int) -> tuple[ClassItem, int]:
    """One character or category of a set, and where it ends."""
    char = text[pos]
    if char != "\\":
        return (ord(char), ord(char)), pos + 1
    try:
        escape = read_escape(text, pos, in_set=True)
    except BadEscape as bad:
        raise BadSet(bad.reason, pos, bad.end, bad.remedy) from None
    if escape.category is not None:
        return escape.category, escape.end
    code_point = ord(escape.char or "")
    return (code_point, code_point), escape.end


def _unclosed(start: int) -> BadSet:
    return BadSet(
        "this set is not closed",
        start,
        None,
        remedy=r"Close it with ], or write \[ for the character. A ] right after the "
        "opening bracket is a character of the set.",
    )
