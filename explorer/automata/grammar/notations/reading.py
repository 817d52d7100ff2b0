"""The common part of the readers of all notations: the place in the text, alternatives, repeats.

A notation is a subclass of `GrammarReader` that says how a rule begins, what an atom is and what
lies between. The trees of the bodies have spans in the grammar's own text, so that carets,
highlighting and explanations point into it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from explorer.automata.regex import parse
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import char_set, character, complement
from explorer.automata.tree.nodes import (
    Branch,
    Call,
    Class,
    Concat,
    Deferred,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
)
from explorer.errors import GrammarError, RegexError

MOST_NESTED: Final = 150
"""How deep parentheses may be nested."""

NAME_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
"""The characters of the name of a rule."""

MOST_CHARACTERS: Final = 5_000_000
"""The longest grammar that is read."""


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """One rule.

    Args:
        name: Its name.
        start, end: The span of the name where it is defined.
        body: What it stands for.
    """

    name: str
    start: int
    end: int
    body: Node


class GrammarReader(ABC):
    """A grammar that is being read.

    Args:
        text: The grammar.

    Attributes:
        at: The place in it.
    """

    letters: str = NAME_LETTERS
    """The characters of a name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def wrong(
        self, reason: str, remedy: str = "", start: int | None = None, end: int | None = None
    ) -> GrammarError:
        """An error at a span; default the place."""
        start = self.at if start is None else start
        return GrammarError(reason, text=self.text, start=start, end=end, remedy=remedy)

    def sees(self, text: str) -> bool:
        """Whether a text comes next."""
        return self.text.startswith(text, self.at)

    def takes(self, text: str) -> bool:
        """Whether a text comes next; then it is read."""
        found = self.text.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def char_class(self, read: Callable[[], int]) -> Node:
        """``[...]``: characters, and ranges of them.

        Args:
            read: Reads one character, escapes included, and gives its code point.

        Raises:
            GrammarError: It does not end, or a range ends before it begins.
        """
        start = self.at
        self.at += 1
        negated = self.takes("^")
        ranges: list[tuple[int, int]] = []
        while not self.takes("]"):
            if self.at >= len(self.text):
                raise self.wrong("The class does not end", "Close it with ']'.", start)
            begin = self.at
            low = high = read()
            if self.sees("-") and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = read()
            if high < low:
                raise self.wrong(
                    "The range ends before it begins", "Swap its ends.", begin, self.at
                )
            ranges.append((low, high))
        chars = char_set(ranges)
        return Class(start, self.at, complement(chars) if negated else chars)

    def word(self) -> str:
        """The name that comes next; empty if there is none."""
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] in self.letters:
            self.at += 1
        return self.text[begin : self.at]

    # The expression of a rule

    def alternatives(self) -> Node:
        """Alternatives between bars."""
        begin = self.at
        options = [self.sequence()]
        while self.takes("|"):
            self.skip_lines()
            options.append(self.sequence())
        if len(options) == 1:
            return options[0]
        return Branch(begin, options[-1].end, tuple(options))

    def sequence(self) -> Node:
        """Pieces one after the other; none for the empty text."""
        begin = self.at
        items: list[Node] = []
        while (item := self.atom()) is not None:
            self.skip()
            items.append(self.repeated(item))
        if not items:
            return Empty(begin, begin)
        return items[0] if len(items) == 1 else Concat(items[0].start, items[-1].end, tuple(items))

    def repeated(self, item: Node) -> Node:
        """A piece with the quantifiers behind it."""
        while (bounds := self.quantifier(item)) is not None:
            if isinstance(item, Repeat | Empty) or not isinstance(item, Group):
                item = Group(item.start, item.end, item, None, None)
            minimum, maximum = bounds
            item = Repeat(item.start, self.at, item, minimum, maximum, False)
            self.skip()
        return item

    def quantifier(self, item: Node) -> tuple[int, int | None] | None:
        """The fewest and the most times, where a quantifier comes next."""
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.takes(sign):
                return bounds
        return None

    def braces(self) -> tuple[int, int | None]:
        """``{m}``, ``{m,}``, ``{,n}`` or ``{m,n}``."""
        begin = self.at
        self.at += 1
        end = self.text.find("}", self.at)
        inside = self.text[self.at : end] if end >= 0 else ""
        low, comma, high = (part.strip() for part in inside.partition(","))
        fine = all(part.isascii() and part.isdigit() for part in (low, high) if part)
        if end < 0 or not fine or not (low or high) or max(len(low), len(high)) > 9:
            raise self.wrong(
                "The braces hold no number of repetitions",
                "Write {3}, {3,} or {3,5}.", begin, end + 1 if end >= 0 else None,
            )  # fmt: skip
        self.at = end + 1
        fewest = int(low or 0)
        most = fewest if not comma else int(high) if high else None
        if most is not None and most < fewest:
            raise self.wrong("The most is below the fewest", "Swap the numbers.", begin, self.at)
        return fewest, most

    def group(self, close: str = ")") -> Node:
        """Read a group in parentheses; the opening one comes next."""
        begin = self.at
        self.at += 1
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self.wrong(
                f"Parentheses are nested more than {MOST_NESTED} deep",
                "Give the inner part a rule of its own.", begin,
            )  # fmt: skip
        self.skip()
        body = self.alternatives()
        self.depth -= 1
        if not self.takes(close):
            raise self.wrong(
                f"{close!r} is missing for this" if self.at >= len(self.text)
                else f"{self.text[self.at]!r} cannot stand here",
                f"Close it with {close!r}.",
                begin if self.at >= len(self.text) else None,
            )  # fmt: skip
        return Group(begin, self.at, body, None, None)

    def pattern(self, pattern: str, start: int, end: int, flags: str = "") -> Node:
        """A pattern of ours as one piece."""
        try:
            tree = parse(f"(?{flags}:{pattern})" if flags else pattern)
        except RegexError as error:
            at = start + 1 + max(error.start - (len(flags) + 3 if flags else 0), 0)
            remedy = error.remedy or "Write it as Python's re does."
            raise self.wrong(f"In the pattern: {error.reason}", remedy, at) from error
        if tree.over_tokens:
            raise self.wrong(
                "The pattern speaks about tokens, and a rule of a grammar reads texts",
                "Leave out (?P<TEXT_TOKEN>) and its like.", start, end,
            )  # fmt: skip
        whole = tree.whole()
        return Deferred(start, end, lambda meter: build(whole, meter))

    def slashed(self, flags: str = "") -> Node:
        """``/pattern/``, and flags behind it of those that are known."""
        start = self.at
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] not in "/\n":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if not self.sees("/"):
            raise self.wrong("The pattern does not end", "Close it with '/'.", start)
        inner = self.text[start + 1 : self.at].replace("\\/", "/")
        self.at += 1
        begin = self.at
        while flags and self.text[self.at : self.at + 1].isalpha():
            self.at += 1
        given = self.text[begin : self.at]
        if strange := given.strip(flags):
            raise self.wrong(
                f"The flag {strange!r} of a pattern is not known",
                f"Use {' '.join(flags)}.", begin, self.at,
            )  # fmt: skip
        return self.pattern(inner, start, self.at, given)

    def called(self, name: str, start: int) -> Node:
        """A call of a rule."""
        return Call(start, self.at, name)

    # What a notation says

    @abstractmethod
    def atom(self) -> Node | None:
        """The piece that comes next; ``None`` where a sequence ends."""

    @abstractmethod
    def skip(self) -> None:
        """Pass what lies between two pieces."""

    def skip_lines(self) -> None:
        """Pass what lies between rules, and after a bar."""
        self.skip()

    @abstractmethod
    def rules(self) -> list[WrittenRule]:
        """All rules."""


def letters_of(chars: list[tuple[str, int, int]], start: int, end: int) -> Node:
    """A text letter for letter.

    Args:
        chars: Each character with its span.
        start, end: The span of the whole, quotes included.
    """
    nodes = tuple(Literal(a, b, character(char)) for char, a, b in chars)
    if not nodes:
        return Empty(start, end)
    return nodes[0] if len(nodes) == 1 else Group(
        start, end, Concat(nodes[0].start, nodes[-1].end, nodes), None, None
    )  # fmt: skip
