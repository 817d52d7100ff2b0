"""The kind of source that is a pattern in the syntax of Python's ``re``.

A literal or class of it can be replaced by one that reads more. Tried, fewest characters first: the
offending character added to the class (a literal becomes a class of two); every remaining character
of the text added; the literal or class made optional; the rest of the text as an alternative to it.
Whether a change helps is for the caller to find out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import ClassVar, Final, Self

from explorer.arguments import check_whole_characters, instance, plain
from explorer.automata.tree.nodes import Empty, Group, Node, Source
from explorer.automata.tree.walking import walk
from explorer.budget import Meter
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.regex.groups import LETTERS
from explorer.languages.regex.parser import Tree, parse
from explorer.languages.sources.registry import register
from explorer.languages.terminals import TERMINALS


@register("regex")
@dataclass(frozen=True)
class Regex(Source):
    """A pattern; the whole text must match it."""

    kind: ClassVar[str] = "regex"

    pattern: str

    @cached_property
    def parsed(self) -> Tree:
        """The parsed pattern; every node knows its span in the pattern."""
        return parse(self.pattern)

    @property
    def text(self) -> str:
        """The pattern."""
        return self.pattern

    @property
    def over_tokens(self) -> bool:
        """Whether a terminal of the pattern speaks about tokens."""
        return self.parsed.over_tokens

    def lower(self) -> Node:
        """The pattern's own tree."""
        return self.parsed.whole()

    def warnings(self) -> tuple[str, ...]:
        """One sentence for each empty group that is named almost like a terminal."""
        said: list[str] = []
        for node in walk(self.parsed.root):
            if isinstance(node, Group) and node.name and isinstance(node.body, Empty):
                close = get_close_matches(node.name, TERMINALS, 1, 0.8)
                said += [
                    f"(?P<{node.name}>) is an empty group, not a terminal. Did you mean {each}?"
                    for each in close
                ]
        return tuple(said)

    def fields(self) -> dict[str, object]:
        """The pattern."""
        return {"pattern": self.pattern}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The pattern that was saved, read again."""
        pattern = instance("pattern", fields["pattern"], str, "a str", error=DamagedFile)
        return cls.read(pattern)

    @classmethod
    def read(cls, text: str | re.Pattern[str], meter: Meter | None = None) -> Self:
        """The pattern that was written; it is parsed at once, so that its errors come here.

        Args:
            text: The pattern; of one that `re` has compiled the flags are written in front.

        Raises:
            ConstraintError: It holds half of a surrogate pair, which no file could; the escape
                ``\\ud800`` is allowed, as in `re`, and matches no text.
        """
        text = _with_flags(text) if isinstance(text, re.Pattern) else text
        tree = parse(text, meter=meter)
        text = plain(text)
        check_whole_characters("The pattern", text, error=ConstraintError)
        made = cls(text)
        vars(made)["parsed"] = tree  # Where `cached_property` keeps it.
        return made

    def wider(self, start: int, end: int, rest: str) -> tuple[str, ...]:
        """A literal, class or dot that reads more, or that need not be read."""
        # Where white space is not read, it must be escaped; elsewhere that is harder to read.
        verbose = "(?" in self.pattern and "x" in self.pattern
        return tuple(replacements(self.pattern[start:end], rest, verbose))

    def spelled(self) -> str:
        """The call that makes it."""
        return f"regex({self.pattern!r})"

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= 80 else f"{self.pattern[:77]}…"
        return f"regex({shown!r})"


def _with_flags(compiled: re.Pattern[str]) -> str:
    """The pattern of a compiled one, its flags in front of it: ``(?i)a`` for ``re.I``."""
    letters = "".join(
        letter for letter, flag in LETTERS.items() if letter not in "uL" and compiled.flags & flag
    )
    flags = f"(?{letters})"
    given = compiled.pattern
    if not letters or not isinstance(given, str) or given.startswith(flags):  # pyright: ignore[reportUnnecessaryIsInstance] - Bytes are refused by the parser.
        return given
    return flags + given


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
    members = [] if leaf.startswith(("(?P<", "(?<")) else [rest[:1], "".join(dict.fromkeys(rest))]
    proposed = [
        *(reading(leaf, characters) for characters in members),
        f"(?:{leaf}?)",
        f"(?:{leaf}|{''.join(c if c == ' ' and not verbose else _escaped(c) for c in rest)})",
    ]
    return sorted(dict.fromkeys(proposed), key=len)


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
    for bounds in _RANGE.finditer(leaf):
        low, high = bounds.groups()
        if ord(character) in (ord(low) - 1, ord(high) + 1):
            ends = f"{min(low, character)}-{max(high, character)}"
            return leaf[: bounds.start()] + ends + leaf[bounds.end() :]
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
