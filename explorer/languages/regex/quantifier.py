"""How often a quantifier repeats: ``*``, ``+``, ``?``, ``{2,5}``."""

from __future__ import annotations

import re
from typing import Final

from explorer.automata.tree.width import MAX_REPEAT

QUANTIFIER: Final = re.compile(r"[*+?]|\{(?!\})([0-9]*)(,?)([0-9]*)\}")
"""A quantifier without its mode; a brace that does not match is an ordinary character."""


class BadCount(Exception):
    """Counts that `re` refuses; the parser makes a `RegexError` of it.

    Args:
        reason: What is wrong.
        remedy: What to write instead.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


def counts(match: re.Match[str]) -> tuple[int, int | None]:
    """The least and the most repetitions; ``None`` for no end.

    Args:
        match: Of `QUANTIFIER`.

    Raises:
        BadCount: They are in the wrong order, or too large.

    Example:
        >>> [counts(match) for match in QUANTIFIER.finditer("*?{2,}{,3}{4}")]
        [(0, None), (0, 1), (2, None), (0, 3), (4, 4)]
    """
    symbol = match.group()
    if symbol == "*":
        return 0, None
    if symbol == "+":
        return 1, None
    if symbol == "?":
        return 0, 1
    low, comma, high = match.groups()
    minimum = _count(low) if low else 0
    if not comma:
        return minimum, minimum
    if not high:
        return minimum, None
    maximum = _count(high)
    if maximum < minimum:
        raise BadCount(
            "the least number of repetitions is above the most",
            remedy=f"Write {{{maximum},{minimum}}}.",
        )
    return minimum, maximum


def _count(digits: str) -> int:
    significant = digits.lstrip("0")
    if len(significant) > 10 or int(significant or "0") >= MAX_REPEAT:
        raise BadCount(
            "the number of repetitions is too large",
            remedy=f"It can be at most {MAX_REPEAT - 1}; leave it out for no limit.",
        )
    return int(significant or "0")
