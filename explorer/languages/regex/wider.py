"""The replacements of a literal or class of a pattern that read more.

Tried, fewest characters first: the offending character added to the class (a literal becomes a
class of two); every remaining character of the text added; the literal or class made optional; the
rest of the text as an alternative to it. Whether a change helps is for the caller to find out.
"""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\v": "\\v"}
_RANGE: Final = re.compile(r"(\w)-(\w)")


def replacements(leaf: str, rest: str, verbose: bool) -> list[str]:
    """Propose replacements of a leaf of a pattern, the ones with the fewest characters first.

    Args:
        leaf: A literal, class or dot, as it was written.
        rest: The text that should be readable from there on.
        verbose: Whether white space must be escaped there.

    Example:
        >>> replacements("[a-c]", "d", False)[0]
        '[a-d]'
    """
    # A terminal is not a literal or class: it can only be made optional, or have an alternative.
    members = [] if leaf.startswith("(?P<") else [rest[:1], "".join(dict.fromkeys(rest))]
    found = [
        *(reading(leaf, characters) for characters in members),
        f"(?:{leaf}?)",
        f"(?:{leaf}|{''.join(c if c == ' ' and not verbose else _escaped(c) for c in rest)})",
    ]
    return sorted(dict.fromkeys(found), key=len)


def reading(leaf: str, characters: str) -> str:
    """A class or literal with some characters more."""
    for character in characters:
        leaf = _reaching(leaf, character) or _having(leaf, character)
    return leaf


def _reaching(leaf: str, character: str) -> str:
    """A class one of whose ranges ends beside a character, with that range a character longer."""
    plain = leaf.startswith("[") and not leaf.startswith("[^") and "\\" not in leaf
    if not plain or not character.isalnum():
        return ""
    for found in _RANGE.finditer(leaf):
        low, high = found.groups()
        if ord(character) in (ord(low) - 1, ord(high) + 1):
            ends = f"{min(low, character)}-{max(high, character)}"
            return leaf[: found.start()] + ends + leaf[found.end() :]
    return ""


def _having(leaf: str, character: str) -> str:
    """A class or literal with one character more."""
    added = _member(character)
    if leaf.startswith("[") and not leaf.startswith("[^"):
        if leaf[-2] != "-":
            return f"{leaf[:-1]}{added}]"
        # In front, where no hyphen can make a range of it; what came first there loses its place.
        body = leaf[1:]
        return f"[{added}{chr(92) if body[0] in ']-' else ''}{body}"
    if leaf.startswith("[") or leaf == ".":
        return f"(?:{leaf}|[{added}])"
    return f"[{leaf if len(leaf) > 1 else _member(leaf)}{added}]"


def _member(character: str) -> str:
    """A character as one would write it in a class."""
    return f"\\{character}" if character in "\\]^-[&~|#" else _NAMES.get(character, character)


def _escaped(character: str) -> str:
    """A character as one would write it in a pattern, in verbose ones too."""
    return _NAMES.get(character) or re.escape(character)
