"""The characters that a class of a pattern matches, exactly as in this Python's `re`.

`re` itself is asked, not the standard: a class is written as a pattern and run over the code
points. So ``\\w`` is what `re` calls a word character, and IGNORECASE has the extra pairs of `re`
(``ſ`` and ``s``, Kelvin sign and ``k``), its ASCII form, and its quirks. One quirk is worth
knowing: in a set of several items a *cased* character beyond U+FFFF is compared with the lower
case of the text, so ``(?i)[𐐀x]`` does not match ``𐐀``, its own member, whereas ``(?i)𐐀`` does.

What keeps this cheap:

- Without IGNORECASE a class is a union of ranges; `re` is asked for ``\\w \\d \\s`` only, and only
  without the ASCII flag. That takes 30 ms once per machine (see `cached`), then 1 ms per process.
- With IGNORECASE only the 2,938 *cased* characters can behave differently from their plain
  membership; `re` is asked about those, in 0.1 ms per class.
- Every answer is kept in memory. Plain literals and ASCII classes ask nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from explorer.automata.tree.charset import (
    MAX_CODE_POINT,
    CharSet,
    char_set,
    character,
    complement,
    intern_ranges,
    without,
)
from explorer.languages.regex.properties import property_set
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
    if len(items) == 1 and not negated and not flags & re.IGNORECASE:
        item = items[0]
        if isinstance(item, str):
            return category(item, flags)
        if item[0] == item[1]:
            return character(chr(item[0]))
    ranges: list[tuple[int, int]] = []
    if flags & re.IGNORECASE and any(isinstance(each, str) and each[0] in "pP" for each in items):
        # `re` knows no properties, so it is asked about the other items alone.
        others = tuple(each for each in items if isinstance(each, tuple) or each[0] not in "pP")
        if others:
            ranges.extend(_character_class(others, False, flags).ranges)
        for each in items:
            if isinstance(each, str) and each not in others:
                ranges.extend(category(each, flags).ranges)
        plain = char_set(ranges)
        return complement(plain) if negated else plain
    for item in items:
        if isinstance(item, str):
            ranges.extend(category(item, flags).ranges)
        else:
            ranges.append(item)
    plain = char_set(ranges)
    if negated:
        plain = complement(plain)
    if flags & re.IGNORECASE and _case_can_matter(items, flags):
        return _ask_about_cased(plain, items, negated, flags)
    return plain


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


def _ask_about_cased(
    plain: CharSet, items: tuple[ClassItem, ...], negated: bool, flags: int
) -> CharSet:
    """Correct the plain membership of the cased characters by what `re` says about them."""
    # Escapes throughout: no character can be read as syntax, and `re` has nothing to warn about.
    written = "".join(
        f"\\{item}" if isinstance(item, str) else f"\\U{item[0]:08x}-\\U{item[1]:08x}"
        if item[0] != item[1] else f"\\U{item[0]:08x}"
        for item in items
    )  # fmt: skip
    pattern = re.compile(f"[{'^' if negated else ''}{written}]", flags)
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
