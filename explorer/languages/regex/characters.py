"""The small pieces of a pattern: escapes, sets, counts and flags; the characters they stand for.

*Escapes* have two tables of rules, as in `re`: inside a set ``\\b`` is the backspace and ``\\1`` is
octal; outside ``\\b`` is a boundary and ``\\1`` a reference to a group. Octal needs three digits
there, or a zero in front. An unknown ASCII letter is an error, any other character stands for
itself. Beyond what `re` reads, ``\\p{L}``, ``\\P{L}`` and ``\\pL`` are Unicode properties
(`explorer.languages.regex.properties`), and ``\\z`` is the end of the text in every version.

The *characters* of a class are exactly those of this Python's `re`. It is asked, not the standard:
a class is written as a pattern and run over the code points. So ``\\w`` is what `re` calls a word
character, and IGNORECASE has the extra pairs of `re` (``ſ`` and ``s``, Kelvin sign and ``k``), its
ASCII form, and its quirks. One quirk is worth knowing: in a set of several items a *cased*
character beyond U+FFFF is compared with the lower case of the text, so ``(?i)[𐐀x]`` does not match
``𐐀``, its own member, whereas ``(?i)𐐀`` does.

What keeps this cheap:

- Without IGNORECASE a class is a union of ranges; `re` is asked for ``\\w \\d \\s`` only, and only
  without the ASCII flag. That takes 30 ms once per machine (see `cached`), then 1 ms per process.
- With IGNORECASE only the 2,938 *cased* characters can behave differently from their plain
  membership; `re` is asked about those, in 0.1 ms per class.
- Every answer is kept in memory, and sets that were read are kept by their text, because patterns
  repeat them. Plain literals and ASCII classes ask nothing.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from explorer.arguments import shown
from explorer.automata.tree.charset import (
    MAX_CODE_POINT,
    CharSet,
    char_set,
    complement,
    intern_ranges,
    without,
)
from explorer.automata.tree.nodes import MAX_REPEAT
from explorer.errors import RegexError
from explorer.languages.regex.properties import known_property, property_remedy, property_set
from explorer.languages.regex.tables import cached, integers

Category = str
"""The letter of a category escape, one of ``dDsSwW``; or a property by its canonical name,
``p{L}`` or ``P{L}``."""

ClassItem = tuple[int, int] | Category
"""One item of a set: an inclusive range of code points (a character is a range of one), or a
category."""

CLASS_FLAGS: Final = int(re.ASCII | re.IGNORECASE)
"""The flags of `re` on which the meaning of a class depends."""

_ASCII: Final = {
    "d": char_set([(0x30, 0x39)]),
    "s": char_set([(0x09, 0x0D), (0x20, 0x20)]),
    "w": char_set([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
}


@lru_cache(maxsize=6)
def _unicode_category(letter: str) -> CharSet:
    def derive() -> list[int]:
        spans = (match.span() for match in re.finditer(rf"\{letter}+", _all_characters()))
        return [bound for low, past in spans for bound in (low, past - 1)]

    def check(found: object) -> list[int]:
        bounds = integers(found)
        if len(bounds) % 2 or any(a > b for a, b in pairwise(bounds)):
            raise ValueError("not ascending pairs")
        return bounds

    bounds = cached(f"category-{letter}", derive, check)
    return char_set(zip(bounds[::2], bounds[1::2], strict=True))


@lru_cache(maxsize=1)
def _cased() -> tuple[int, ...]:
    """Every code point that some case mapping changes or yields, ascending."""

    def derive() -> list[int]:
        found: set[str] = set()
        text = _all_characters()
        for first in range(0, len(text), 256):
            chunk = text[first : first + 256]
            # Most chunks hold no case at all: one comparison dismisses them.
            if not chunk == chunk.lower() == chunk.upper() == chunk.casefold():
                for char in chunk:
                    forms = {char, char.lower(), char.upper(), char.title(), char.casefold()}
                    if len(forms) > 1:
                        found.update(*forms)
        return sorted(map(ord, found))

    return tuple(cached("cased", derive, integers))


@lru_cache(maxsize=1)
def _cased_text() -> str:
    return "".join(map(chr, _cased()))


def _all_characters() -> str:
    points = np.arange(MAX_CODE_POINT + 1, dtype="<u4")
    return points.tobytes().decode("utf-32-le", "surrogatepass")


def category(letter: Category, flags: int) -> CharSet:
    """The characters of ``\\d``, ``\\s``, ``\\w``, a property or their negations.

    Args:
        flags: Flags of `re`; only ASCII matters, and IGNORECASE for letters with case.

    Example:
        >>> category("d", re.ASCII).ranges
        ((48, 57),)
        >>> ord("٣") in category("d", 0)
        True
    """
    if letter[0] in "pP":
        chars = property_set(letter[2:-1], flags & CLASS_FLAGS)
        return chars if letter[0] == "p" else complement(chars)
    if letter.isupper():
        return _negated_category(letter.lower(), bool(flags & re.ASCII))
    if flags & re.ASCII:
        return _ASCII[letter]
    return _unicode_category(letter)


@lru_cache(maxsize=6)
def _negated_category(letter: str, ascii_only: bool) -> CharSet:
    return complement(_ASCII[letter] if ascii_only else _unicode_category(letter))


class _Folded(dict[str, CharSet]):
    """The characters that match each single character under IGNORECASE, worked out on demand."""

    def __init__(self, flags: int) -> None:
        super().__init__()
        self._flags = flags

    def __missing__(self, char: str) -> CharSet:
        code_point = ord(char)
        made = character_class(((code_point, code_point),), False, self._flags)
        if len(self) < 65_536:
            self[char] = made
        return made


folded: Final = _Folded(re.IGNORECASE).__getitem__
"""The characters that match one given character under IGNORECASE."""

ascii_folded: Final = _Folded(re.IGNORECASE | re.ASCII).__getitem__
"""The characters that match one given character under IGNORECASE and ASCII."""


def character_class(items: tuple[ClassItem, ...], negated: bool, flags: int) -> CharSet:
    """The characters of a set ``[...]``.

    Args:
        items: The ranges and categories between the brackets, at least one.
        negated: Whether the set begins with ``^``.
        flags: Flags of `re`; only ASCII and IGNORECASE matter.

    Example:
        >>> kelvin_and_friends = character_class(((0x6B, 0x6B),), False, re.IGNORECASE)
        >>> [chr(low) for low, _ in kelvin_and_friends.ranges]
        ['K', 'k', 'K']
    """
    return _character_class(items, negated, flags & CLASS_FLAGS)


@lru_cache(maxsize=1024)
def _character_class(items: tuple[ClassItem, ...], negated: bool, flags: int) -> CharSet:
    # `re` knows no properties, so it is asked about the other items alone.
    properties = [each for each in items if isinstance(each, str) and each[0] in "pP"]
    asked = tuple(each for each in items if each not in properties)
    parts = [category(each, flags) if isinstance(each, str) else char_set([each]) for each in asked]
    chars = _united(parts)
    if flags & re.IGNORECASE and _case_can_matter(asked, flags):
        chars = _ask_about_cased(chars, asked, flags)
    if properties:
        chars = _united([chars, *(category(each, flags) for each in properties)])
    return complement(chars) if negated else chars


def _united(parts: Sequence[CharSet]) -> CharSet:
    return parts[0] if len(parts) == 1 else char_set(pair for each in parts for pair in each.ranges)


def _case_can_matter(items: tuple[ClassItem, ...], flags: int) -> bool:
    """Whether IGNORECASE can change a set; not if it has only ASCII characters without case.

    Categories alone never change under IGNORECASE: the two cases of a character are alike.
    """
    for item in items:
        if isinstance(item, str):
            continue
        low, high = item
        if high > 0x7F or (low <= 0x7A and high >= 0x61) or (low <= 0x5A and high >= 0x41):
            return True
    return False


def _ask_about_cased(plain: CharSet, items: tuple[ClassItem, ...], flags: int) -> CharSet:
    """Correct the plain membership of the cased characters by what `re` says about them."""
    # Escapes throughout: no character can be read as syntax, and `re` has nothing to warn about.
    written = "".join(
        f"\\{item}" if isinstance(item, str) else f"\\U{item[0]:08x}-\\U{item[1]:08x}"
        if item[0] != item[1] else f"\\U{item[0]:08x}"
        for item in items
    )  # fmt: skip
    pattern = re.compile(f"[{written}]", flags)
    matched = list(map(ord, pattern.findall(_cased_text())))
    # Merge: the plain ranges with the cased points cut out, then the matched ones put in.
    bounds = plain.bounds()
    cased = np.array(_cased(), np.int64)
    inside = np.searchsorted(bounds, cased, side="right") % 2 == 1
    removed = np.setdiff1d(cased[inside], np.array(matched, np.int64), assume_unique=True)
    if len(removed):
        plain = without(plain, char_set((int(point), int(point)) for point in removed))
    added = np.setdiff1d(np.array(matched, np.int64), cased[inside], assume_unique=True)
    if not len(added):
        return intern_ranges(plain.ranges)
    return char_set([*plain.ranges, *((int(point), int(point)) for point in added)])


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
    if in_set and not digits:
        raise fault(
            pattern,
            "an octal escape has digits from 0 to 7",
            offset,
            first + 1,
            f"Write {pattern[first]} for the digit.",
        )
    if in_set or digits.startswith("0") or len(digits) == 3:
        value, end = int(digits, 8), first + len(digits)
        if value > 0o377:
            remedy = f"Write \\u{value:04x} for the character."
            raise fault(pattern, "an octal escape is at most 377", offset, end, remedy)
        return Escape(end, char=chr(value))
    # Two digits at most make a reference, whatever follows.
    end = first + 1
    if pattern[end : end + 1] in tuple("0123456789"):
        end += 1
    return Escape(end, reference=int(pattern[first:end]))


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
            raise _reversed(text, start, low_start, pos)
        items.append((low[0], high[0]))
    chars = character_class(tuple(dict.fromkeys(items)), negated, flags)
    if len(_known) < _MOST_KNOWN:
        _known[text[start : pos + 1], flags & CLASS_FLAGS] = chars
    return chars, pos + 1


def _reversed(text: str, start: int, begin: int, end: int) -> RegexError:
    """The error about a range from a later to an earlier character, or an unclosed set."""
    counted = BRACES.search(text, start, begin + 1)
    if counted is not None:
        return fault(
            text,
            "this set is not closed",
            start,
            counted.start(),
            f"Write ] before {counted[0]}, or \\- for the character - in a set.",
        )
    if "]" not in text[end:]:
        return _unclosed(text, start)
    return fault(
        text,
        "this range ends before it begins",
        begin,
        end,
        r"Swap its ends, or write \- for the character.",
    )


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


BRACES: Final = re.compile(r"\{(?!\})([0-9]*)(,?)([0-9]*)\}")
"""A quantifier in braces; a brace that does not match is an ordinary character."""


def counts(match: re.Match[str]) -> tuple[int, int | None]:
    """The fewest and the most repetitions; ``None`` for no limit.

    Args:
        match: A match of `BRACES`.

    Raises:
        RegexError: They are in the wrong order, or too large.

    Example:
        >>> [counts(match) for match in BRACES.finditer("{2,}{,3}{4}")]
        [(2, None), (0, 3), (4, 4)]
    """
    low, comma, high = match.groups()
    minimum = _count(match, low) if low else 0
    if not comma:
        return minimum, minimum
    if not high:
        return minimum, None
    maximum = _count(match, high)
    if maximum < minimum:
        reason = "the least number of repetitions is above the most"
        raise fault(match.string, reason, *match.span(), f"Write {{{maximum},{minimum}}}.")
    return minimum, maximum


def _count(match: re.Match[str], digits: str) -> int:
    significant = digits.lstrip("0")
    if len(significant) > 10 or int(significant or "0") >= MAX_REPEAT:
        remedy = f"It can be at most {MAX_REPEAT - 1}; leave it out for no limit."
        raise fault(match.string, "the number of repetitions is too large", *match.span(), remedy)
    return int(significant or "0")


_TEMPLATE: Final = 1
"""The flag ``t`` of `re` up to Python 3.12, which forbids every quantifier."""

LETTERS: Final = {
    "i": int(re.IGNORECASE),
    "L": int(re.LOCALE),
    "m": int(re.MULTILINE),
    "s": int(re.DOTALL),
    "x": int(re.VERBOSE),
    "a": int(re.ASCII),
    "u": int(re.UNICODE),
}

if sys.version_info < (3, 13):
    LETTERS["t"] = _TEMPLATE

TEMPLATE: Final = LETTERS.get("t", 0)
KINDS: Final = int(re.ASCII | re.LOCALE | re.UNICODE)
"""The flags for the kind of alphabet, which exclude each other."""


_FLAGS: Final = "Write (?i) at the start of the pattern, or (?i:...) and (?-i:...) around a part."


def read_flags(pattern: str, start: int) -> tuple[int, int, int]:
    """Read the letters after the ``(?`` at a place.

    Returns:
        The flags of `re` that are added, those that are removed, and the end: one past the ``)``,
        if they apply to the whole pattern, or past the ``:``.

    Raises:
        RegexError: Wherever `re` raises.

    Example:
        >>> read_flags("(?i-s:a)", 0)
        (2, 16, 6)
    """
    added, offset = _letters(pattern, start, start + 2, ")-:", removing=False)
    stop = pattern[offset]
    if stop == ")":
        return added, 0, offset + 1
    if added & TEMPLATE:
        raise fault(pattern, "flag 't' is for the whole pattern only", start, offset, _FLAGS)
    removed = 0
    if stop == "-":
        removed, offset = _letters(pattern, start, offset + 1, ":", removing=True)
        if removed & TEMPLATE:
            raise fault(pattern, "flag 't' cannot be turned off", start, offset, _FLAGS)
        if added & removed:
            raise fault(pattern, "a flag is turned on and off", start, offset, _FLAGS)
    return added, removed, offset + 1


def _letters(
    pattern: str, start: int, offset: int, stops: str, *, removing: bool
) -> tuple[int, int]:
    """The flags up to the first stop, and the offset of the stop."""
    flags = 0
    first = offset
    while offset < len(pattern):
        letter = pattern[offset]
        if letter in stops and (offset > first or not removing):
            return flags, offset
        if letter not in LETTERS:
            reason = "unknown flag" if letter.isalpha() else f"expected a flag or one of {stops!r}"
            raise fault(pattern, reason, start, offset + 1, _FLAGS)
        flag = LETTERS[letter]
        if flag & KINDS and removing:
            raise fault(
                pattern, "flags 'a', 'u' and 'L' cannot be turned off", start, offset + 1, ""
            )
        if letter == "L":
            raise fault(pattern, "flag 'L' is for patterns of bytes", start, offset + 1, _FLAGS)
        flags |= flag
        if flag & KINDS and flags & KINDS != flag:
            raise fault(pattern, "flags 'a' and 'u' exclude each other", start, offset + 1, _FLAGS)
        offset += 1
    raise fault(pattern, f"the flags end without one of {stops!r}", start, offset + 1, _FLAGS)
