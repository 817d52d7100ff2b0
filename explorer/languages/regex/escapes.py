"""Parsing of escapes and sets: the characters that a backslash or ``[...]`` stands for.

Two tables of rules for escapes, as in `re`: inside a set ``\\b`` is the backspace and ``\\1`` is
octal; outside ``\\b`` is a boundary and ``\\1`` a reference to a group. Octal needs three digits
there, or a zero in front. An unknown ASCII letter is an error, any other character stands for
itself. Beyond what `re` reads, ``\\p{L}``, ``\\P{L}`` and ``\\pL`` are Unicode properties
(`explorer.languages.regex.properties`), and ``\\z`` is the end of the text in every version.

Patterns repeat their sets, so parsed sets are cached by their text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from typing import Final

from explorer.arguments import shown
from explorer.automata.tree.charset import CharSet
from explorer.errors import RegexError
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
    """One parsed escape.

    Args:
        reference: The number of the group in a backreference.
    """

    end: int
    char: str | None = None
    category: Category | None = None
    anchor: str | None = None
    reference: int | None = None


def fault(pattern: str, reason: str, start: int, end: int | None, remedy: str) -> RegexError:
    """The error of a pattern; without an end, for one character."""
    return RegexError(reason, pattern=pattern, start=start, end=end, remedy=remedy)


# The meaning of letters that only other dialects know.
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
        RegexError: Wherever `re` raises, but for properties, ``\\z``, and references to groups that
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
        return _property(pattern, offset, letter)
    if letter in ANCHORS and not in_set:
        return Escape(end, anchor=letter)
    if letter in _CONTROL:
        return Escape(end, char=_CONTROL[letter])
    if letter in _HEX_DIGITS:
        return _hexadecimal(pattern, offset, _HEX_DIGITS[letter])
    if letter == "N":
        return _named(pattern, offset)
    if "0" <= letter <= "9":
        return _digits(pattern, offset, in_set=in_set)
    if letter.isascii() and letter.isalpha():
        meant = _MEANT.get(
            letter, f"Write {letter} for the letter, or \\\\{letter} for a backslash too."
        )
        raise fault(pattern, f"unknown escape \\{letter}", offset, end, meant)
    return Escape(end, char=letter)


def _hexadecimal(pattern: str, offset: int, count: int) -> Escape:
    first = offset + 2
    match = _HEX.match(pattern, first, first + count)
    digits = match.group() if match else ""
    end = first + len(digits)
    if len(digits) < count:
        raise fault(
            pattern,
            f"this escape takes {count} hexadecimal digits",
            offset,
            end,
            f"Fill up with zeros in front: {digits.zfill(count)}.",
        )
    value = int(digits, 16)
    if value > sys.maxunicode:
        raise fault(
            pattern, "there is no such code point", offset, end, "The last one is \\U0010FFFF."
        )
    return Escape(end, char=chr(value))


def _property(pattern: str, offset: int, letter: str) -> Escape:
    """Read ``{L}``, ``{^L}`` or ``L`` after ``\\p`` or ``\\P``."""
    match = _PROPERTY.match(pattern, offset + 2)
    if match is None:
        raise fault(
            pattern,
            rf"a property is written \{letter}{{...}}",
            offset,
            min(offset + 3, len(pattern)),
            rf"For example \{letter}{{L}} or \{letter}{{Greek}}.",
        )
    written = match[2] if match[4] is None else match[4]
    name = known_property(written)
    if name is None:
        reason = f"there is no property {shown(written)} here"
        raise fault(pattern, reason, offset, match.end(), property_remedy(written))
    negated = (letter == "P") != bool(match[1])
    return Escape(match.end(), category=f"{'P' if negated else 'p'}{{{name}}}")


def _named(pattern: str, offset: int) -> Escape:
    brace = offset + 2
    close = pattern.find("}", brace)
    if pattern[brace : brace + 1] != "{" or close < 0:
        raise fault(
            pattern,
            r"a named character is written \N{...}",
            offset,
            min(brace + 1, len(pattern)),
            r"For example \N{BULLET}.",
        )
    name = pattern[brace + 1 : close]
    try:
        char = unicodedata.lookup(name)
    except (KeyError, ValueError):
        char = ""
    if len(char) != 1:  # Named sequences of several characters are not characters.
        raise fault(
            pattern,
            f"there is no character named {name!r}",
            offset,
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
            raise fault(
                pattern,
                "an octal escape has digits from 0 to 7",
                offset,
                first + 1,
                f"Write {pattern[first]} for the digit.",
            )
        return _octal(pattern, digits, offset)
    if digits.startswith("0") or len(digits) == 3:
        return _octal(pattern, digits, offset)
    # Two digits at most make a reference, whatever follows.
    end = first + 1
    if pattern[end : end + 1] in tuple("0123456789"):
        end += 1
    return Escape(end, reference=int(pattern[first:end]))


def _octal(pattern: str, digits: str, offset: int) -> Escape:
    end = offset + 1 + len(digits)
    value = int(digits, 8)
    if value > 0o377:
        remedy = f"Write \\u{value:04x} for the character."
        raise fault(pattern, "an octal escape is at most 377", offset, end, remedy)
    return Escape(end, char=chr(value))


_SET: Final = re.compile(r"\[\^?\]?(?:[^\\\]]|\\.)*\]", re.DOTALL)
_known: Final[dict[tuple[str, int], CharSet]] = {}
_MOST_KNOWN: Final = 4096


def known_set(text: str, start: int, flags: int) -> tuple[CharSet, int] | None:
    """The cached result of `read_set`, or ``None``."""
    # The text up to the next bracket may be a cached set.
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
    """The set that begins at a bracket, and its end.

    Args:
        flags: Flags of `re` that hold there.

    Raises:
        RegexError: `re` would refuse it.

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
            raise _unclosed(text, start)
        if text[pos] == "]" and pos > first:
            break
        low_start = pos
        low, pos = _item(text, pos)
        if not text.startswith("-", pos):
            items.append(low)
            continue
        pos += 1
        if pos >= len(text):
            raise _unclosed(text, start)
        if text[pos] == "]":
            items.append(low)
            items.append((0x2D, 0x2D))
            break
        high, pos = _item(text, pos)
        if isinstance(low, str) or isinstance(high, str):
            raise fault(
                text,
                "a range goes from one character to another",
                low_start,
                pos,
                r"Write \- for the character.",
            )
        if high[0] < low[0]:
            raise fault(
                text,
                "this range ends before it begins",
                low_start,
                pos,
                r"Swap its ends, or write \- for the character.",
            )
        items.append((low[0], high[0]))
    chars = character_class(tuple(dict.fromkeys(items)), negated, flags)
    if len(_known) < _MOST_KNOWN:
        _known[text[start : pos + 1], flags & CLASS_FLAGS] = chars
    return chars, pos + 1


def _item(text: str, pos: int) -> tuple[ClassItem, int]:
    """One character or category of a set, and its end."""
    char = text[pos]
    if char != "\\":
        return (ord(char), ord(char)), pos + 1
    escape = read_escape(text, pos, in_set=True)
    if escape.category is not None:
        return escape.category, escape.end
    code_point = ord(escape.char or "")
    return (code_point, code_point), escape.end


def _unclosed(text: str, start: int) -> RegexError:
    return fault(
        text,
        "this set is not closed",
        start,
        None,
        r"Close it with ], or write \[ for the character. A ] right after the "
        "opening bracket is a character of the set.",
    )
