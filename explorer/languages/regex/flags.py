"""Inline flags ``(?ims-x:...)``: which flags may stand where, and how they combine."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Final

_TEMPLATE: Final = 1
"""The flag ``t`` that `re` knew up to Python 3.12: it forbids every quantifier."""

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
"""The flags that exclude each other: what an alphabet is."""


@dataclass(frozen=True, slots=True)
class InlineFlags:
    """The flags that a run of flag letters adds and removes.

    Args:
        added, removed: Flags of `re`.
        end: Where the run ends: one past its ``)`` or ``:``.
        whole_pattern: Whether it ended in ``)``, and so is about the whole pattern.
    """

    added: int
    removed: int
    end: int
    whole_pattern: bool


class BadFlags(Exception):
    """Flags that `re` does not take: the reason, and the offset where it shows."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def read_flags(pattern: str, offset: int) -> InlineFlags:
    """Read the letters after ``(?``.

    Args:
        pattern: The whole pattern.
        offset: Where the letters, or a minus, begin.

    Raises:
        BadFlags: Wherever `re` raises.

    Example:
        >>> read_flags("(?i-s:a)", 2)
        InlineFlags(added=2, removed=16, end=6, whole_pattern=False)
    """
    added, offset = _letters(pattern, offset, ")-:", removing=False)
    stop = pattern[offset]
    if stop == ")":
        return InlineFlags(added, 0, offset + 1, True)
    if added & TEMPLATE:
        raise BadFlags("flag 't' is for the whole pattern only", offset - 1)
    removed = 0
    if stop == "-":
        removed, offset = _letters(pattern, offset + 1, ":", removing=True)
        if removed & TEMPLATE:
            raise BadFlags("flag 't' cannot be turned off", offset - 1)
        if added & removed:
            raise BadFlags("a flag is turned on and off", offset - 1)
    return InlineFlags(added, removed, offset + 1, False)


def _letters(pattern: str, offset: int, stops: str, *, removing: bool) -> tuple[int, int]:
    """The flags up to the first stop, and where that stop is."""
    flags = 0
    first = offset
    while offset < len(pattern):
        letter = pattern[offset]
        if letter in stops and (offset > first or not removing):
            return flags, offset
        if letter not in LETTERS:
            reason = "unknown flag" if letter.isalpha() else f"expected a flag or one of {stops!r}"
            raise BadFlags(reason, offset)
        flag = LETTERS[letter]
        if flag & KINDS and removing:
            raise BadFlags("flags 'a', 'u' and 'L' cannot be turned off", offset)
        if letter == "L":
            raise BadFlags("flag 'L' is for patterns of bytes", offset)
        flags |= flag
        if flag & KINDS and flags & KINDS != flag:
            raise BadFlags("flags 'a' and 'u' exclude each other", offset)
        offset += 1
    raise BadFlags(f"the flags end without one of {stops!r}", offset)
