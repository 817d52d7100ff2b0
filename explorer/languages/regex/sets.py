"""``[...]`` in a pattern: characters, ranges and categories, as a set of characters.

Patterns repeat their sets, so one that was read once is known by its text.
"""

from __future__ import annotations

import re
from typing import Final

from explorer.automata.tree.charset import CharSet
from explorer.languages.regex.escapes import BadEscape, read_escape
from explorer.languages.regex.unicode_sets import CLASS_FLAGS, ClassItem, character_class

_SET: Final = re.compile(r"\[\^?\]?(?:[^\\\]]|\\.)*\]", re.DOTALL)
_known: Final[dict[tuple[str, int], CharSet]] = {}
_MOST_KNOWN: Final = 4096


class BadSet(Exception):
    """A set that `re` refuses; the parser makes a `RegexError` of it.

    Args:
        reason: What is wrong.
        start, end: Where, in characters of the pattern; no end for a single character.
        remedy: What to write instead.
    """

    def __init__(self, reason: str, start: int, end: int | None, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.end = end
        self.remedy = remedy


def known_set(text: str, start: int, flags: int) -> tuple[CharSet, int] | None:
    """As `read_set`, of a set that was read before; else ``None``."""
    # What stands up to the next bracket is a set, or no set that anybody has read.
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
        text: The pattern.
        start: Where the opening bracket stands.
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
