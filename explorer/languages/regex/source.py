"""The kind of source that is a pattern in the syntax of Python's ``re``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import ClassVar, Self

from explorer.arguments import check_whole_characters, instance, plain
from explorer.automata.tree.nodes import Empty, Group, Node, Source
from explorer.automata.tree.walking import walk
from explorer.budget import Meter
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.regex.parser import parse
from explorer.languages.regex.tree import Tree
from explorer.languages.regex.wider import replacements
from explorer.languages.sources.registry import register
from explorer.languages.terminals.known import TERMINALS


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
    def read(cls, text: str, meter: Meter | None = None) -> Self:
        """The pattern that was written; it is parsed at once, so that its errors come here.

        Args:
            text: The pattern.
            meter: Watches the reading; default a budget of its own.

        Raises:
            ConstraintError: It holds half of a surrogate pair, which no file could; the escape
                ``\\ud800`` is allowed, as in `re`, and matches no text.
        """
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

    def __str__(self) -> str:
        shown = self.pattern if len(self.pattern) <= 80 else f"{self.pattern[:77]}…"
        return f"regex({shown!r})"
