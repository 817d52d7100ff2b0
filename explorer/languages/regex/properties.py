"""Unicode properties by name, as ``\\p{…}`` has them: general categories and scripts.

Categories are those of this Python's `unicodedata`; scripts, which it does not know, are in
`scripts.json`. Python's `re` has no properties, so what flags do is as in the library `regex`:
under IGNORECASE, ``Lu``, ``Ll`` and ``Lt`` are all letters with case; under ASCII, only ASCII
characters have a property, and case counts.

A name is written in any case, with or without underscores, hyphens and blanks (UAX #44, 5.9.3),
alone or behind ``gc=``, ``General_Category=``, ``sc=`` or ``Script=``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from itertools import accumulate, groupby, pairwise
from typing import Final

from explorer.automata.tree.charset import ANY, MAX_CODE_POINT, CharSet, char_set, complement
from explorer.languages.regex.tables import cached, integers

_CATEGORIES: Final = {
    "L": "Letter", "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter",
    "LC": "Cased_Letter", "Lm": "Modifier_Letter", "Lo": "Other_Letter", "M": "Mark",
    "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark", "Me": "Enclosing_Mark", "N": "Number",
    "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number", "P": "Punctuation",
    "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation", "Pf": "Final_Punctuation",
    "Po": "Other_Punctuation", "S": "Symbol", "Sm": "Math_Symbol", "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol", "So": "Other_Symbol", "Z": "Separator", "Zs": "Space_Separator",
    "Zl": "Line_Separator", "Zp": "Paragraph_Separator", "C": "Other", "Cc": "Control",
    "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use", "Cn": "Unassigned",
}  # fmt: skip
_TWO_LETTERS: Final = sorted(short for short in _CATEGORIES if short != "LC" and len(short) == 2)
_CASED: Final = ("Lu", "Ll", "Lt")
_OTHERS: Final = ("Any", "ASCII", "Assigned")


@cache
def scripts() -> Mapping[str, CharSet]:
    """The characters of each script in `scripts.json`, by the name of the script.

    Example:
        >>> ord("ж") in scripts()["Cyrillic"], ord("1") in scripts()["Common"]
        (True, True)
    """
    from importlib.resources import files

    text = files("explorer.languages.regex").joinpath("scripts.json").read_text("utf-8")
    steps: dict[str, list[int]] = json.loads(text)
    bounds = {name: list(accumulate(distances)) for name, distances in steps.items()}
    return {
        name: char_set(zip(ends[::2], ends[1::2], strict=True)) for name, ends in bounds.items()
    }


def _loose(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).casefold()


@cache
def _names() -> Mapping[str, Mapping[str, str]]:
    """The names after each prefix, in loose form, and the canonical name of each."""
    categories = {_loose(each): short for short, long in _CATEGORIES.items()
                  for each in (short, long)}  # fmt: skip
    of_scripts = {_loose(name): name for name in scripts()}
    alone = {_loose(name): name for name in _OTHERS} | of_scripts | categories
    return {
        "": alone, "gc": categories, "generalcategory": categories, "sc": of_scripts,
        "script": of_scripts,
    }  # fmt: skip


def known_property(written: str) -> str | None:
    """The canonical name of a property; ``None`` if it is unknown.

    Example:
        >>> known_property("uppercase letter"), known_property("sc=Greek"), known_property("Elvish")
        ('Lu', 'Greek', None)
    """
    kind, _, name = written.rpartition("=")
    return _names().get(_loose(kind), {}).get(_loose(name))


def property_remedy(written: str) -> str:
    """The remedy for an unknown property, which names the known ones."""
    known = {name for names in _names().values() for name in names.values()}
    known |= set(_CATEGORIES.values())
    close = get_close_matches(written.rpartition("=")[2].strip(), known, 1)
    return (f"Did you mean {close[0]}? " if close else "") + (
        r"There are general categories, such as \p{L} and \p{Lu}, scripts by their long names, "
        r"such as \p{Greek}, and \p{Any}, \p{ASCII} and \p{Assigned}."
    )


@cache
def _of_categories() -> Mapping[str, CharSet]:
    """The characters of each general category of two letters."""

    def derive() -> list[int]:
        of_each = map(unicodedata.category, map(chr, range(MAX_CODE_POINT + 1)))
        runs = [(short, sum(1 for _ in run)) for short, run in groupby(of_each)]
        begins = accumulate((length for _, length in runs), initial=0)
        return [n for (short, _), begin in zip(runs, begins, strict=False)
                for n in (begin, _TWO_LETTERS.index(short))]  # fmt: skip

    def check(saved: object) -> list[int]:
        table = integers(saved)
        begins = table[::2]
        fine = len(table) % 2 == 0 and begins[0] == 0 and all(a < b for a, b in pairwise(begins))
        if not fine or max(table[1::2]) >= len(_TWO_LETTERS):
            raise ValueError("not runs of categories")
        return table

    table = cached("general-categories", derive, check)
    ranges: dict[str, list[tuple[int, int]]] = {short: [] for short in _TWO_LETTERS}
    for begin, past, k in zip(
        table[::2], [*table[2::2], MAX_CODE_POINT + 1], table[1::2], strict=True
    ):
        ranges[_TWO_LETTERS[k]].append((begin, past - 1))
    return {short: char_set(pairs) for short, pairs in ranges.items()}


@cache
def property_set(name: str, flags: int) -> CharSet:
    """The characters of a property.

    Args:
        name: The canonical name, from `known_property`.
        flags: Flags of `re`; only ASCII and IGNORECASE matter.

    Example:
        >>> property_set("Nd", int(re.ASCII)).ranges
        ((48, 57),)
    """
    if name == "Any":
        return ANY
    if flags & re.ASCII:
        ranges = property_set(name, 0).ranges
        return char_set((low, min(high, 0x7F)) for low, high in ranges if low <= 0x7F)
    if name == "ASCII":
        return char_set([(0, 0x7F)])
    if name in scripts():
        return scripts()[name]
    of = _of_categories()
    if name == "Assigned":
        return complement(of["Cn"])
    if name == "LC" or (name in _CASED and flags & re.IGNORECASE):
        wanted = _CASED
    else:
        wanted = [short for short in of if short.startswith(name)]
    return char_set(pair for short in wanted for pair in of[short].ranges)
