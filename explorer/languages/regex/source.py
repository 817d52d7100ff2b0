"""The kind of source that is a pattern in the syntax of Python's ``re``.

To suggest a repair, a literal or class of the pattern is replaced by one that reads more. The
replacements, shortest first: the offending character is added to the class (a literal becomes a
class of two); all remaining characters of the text are added; the literal or class becomes
optional; the rest of the text becomes an alternative to it. The caller finds out which one helps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import ClassVar, Final, Self

from explorer.arguments import check_whole_characters, instance, plain
from explorer.automata.tree.nodes import Empty, Group, Node, Source, walk
from explorer.budget import Meter
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.regex.characters import LETTERS
from explorer.languages.regex.parser import Tree, parse
from explorer.languages.sources.registry import register


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
        """The syntax tree of the pattern."""
        return self.parsed.whole()

    def warnings(self) -> tuple[str, ...]:
        """One sentence for each empty group that is named almost like a terminal."""
        said: list[str] = []
        for node in walk(self.parsed.root):
            if isinstance(node, Group) and node.name and isinstance(node.body, Empty):
                from explorer.languages.terminals import TERMINALS

                close = get_close_matches(node.name, TERMINALS, 1, 0.8)
                said += [
                    f"(?P<{node.name}>) is an empty group, not a terminal. Did you mean {each}?"
                    for each in close
                ]
        return tuple(said)

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The pattern that was saved, read again."""
        pattern = instance("pattern", fields["pattern"], str, "a str", error=DamagedFile)
        return cls.read(pattern)

    @classmethod
    def read(cls, text: str | re.Pattern[str], meter: Meter | None = None) -> Self:
        """The source of a pattern, which is parsed at once, so that errors are raised here.

        Args:
            text: The pattern. If `re` has compiled it, its flags are written in front.

        Raises:
            ConstraintError: The pattern holds half of a surrogate pair, which no file can hold;
                the escape ``\\ud800`` is allowed, as in `re`, and matches no text.
        """
        text = _with_flags(text) if isinstance(text, re.Pattern) else text
        tree = parse(text, meter=meter)
        text = plain(text)
        check_whole_characters("The pattern", text, error=ConstraintError)
        made = cls(text)
        vars(made)["parsed"] = tree  # Where `cached_property` keeps it.
        return made

    def wider(self, start: int, end: int, rest: str) -> tuple[str, ...]:
        """Replacements of a literal, class or dot that read more, or make it optional."""
        # Where white space is not read, it must be escaped; elsewhere that is harder to read.
        verbose = "(?" in self.pattern and "x" in self.pattern
        return tuple(replacements(self.pattern[start:end], rest, verbose))

    def spelled(self) -> str:
        """The Python call that makes this source."""
        return f"regex({self.pattern!r})"

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= 80 else f"{self.pattern[:77]}…"
        return f"regex({shown!r})"


def _with_flags(compiled: re.Pattern[str]) -> str:
    """The pattern of a compiled pattern, with its flags in front: ``(?i)a`` for ``re.I``."""
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
        rest: The text that should be readable from this leaf on.
        verbose: Whether white space must be escaped.

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
    """A class or literal with further characters added."""
    for character in characters:
        leaf = _reaching(leaf, character) or _having(leaf, character)
    return leaf


def _reaching(leaf: str, character: str) -> str:
    """A class with one of its ranges extended by a neighbouring character; empty if none is."""
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
    """A class or literal with one further character."""
    added = _member(character)
    if leaf.startswith("[") and not leaf.startswith("[^"):
        if leaf[-2] != "-":
            return f"{leaf[:-1]}{added}]"
        # Put it in front, so that the last hyphen makes no range with it; escape what was first.
        body = leaf[1:]
        return f"[{added}{chr(92) if body[0] in ']-' else ''}{body}"
    if leaf.startswith("[") or leaf == ".":
        return f"(?:{leaf}|[{added}])"
    return f"[{leaf if len(leaf) > 1 else _member(leaf)}{added}]"


def _member(character: str) -> str:
    """A character as it is written in a class."""
    return f"\\{character}" if character in "\\]^-[&~|#" else _NAMES.get(character, character)


def _escaped(character: str) -> str:
    """A character as it is written in a pattern, verbose or not."""
    return _NAMES.get(character) or re.escape(character)
