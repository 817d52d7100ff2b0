"""The common part of the readers of all notations: the position, alternatives, repeats.

A notation is a subclass of `GrammarReader` that defines the beginning of a rule, atoms, and the
blanks and comments between them. Syntax trees have spans in the grammar's own text, so that carets,
highlighting and explanations point into it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, NamedTuple

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
    Source,
)
from explorer.budget import Meter
from explorer.errors import GrammarError, RegexError
from explorer.languages.regex import parse

MOST_NESTED: Final = 150
"""The deepest nesting of parentheses."""

LOOKS_LIKE: Final = {
    "gbnf": 'This looks like GBNF: give syntax="gbnf".',
    "lark": 'This looks like Lark: give syntax="lark".',
}
"""The remedy for a grammar in another notation."""

_REGEX: Final = re.compile(r'\(\s*"((?:[^"\\\n]|\\.)*)"\s*\)')
_CHARACTER: Final = re.compile(r'\\(["\\])|\\?.', re.DOTALL)

MOST_REPEATS: Final = 999_999_999
"""The largest number of repetitions that a quantifier may give."""

NAME_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
"""The characters of the name of a rule."""

MOST_CHARACTERS: Final = 5_000_000
"""The longest grammar that is read."""


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """One rule.

    Args:
        start, end: The span of the name in its definition.
        what: The notation's word for it: a rule, a terminal, an import.
        also: Further rules that it uses without calling them in its body.
    """

    name: str
    start: int
    end: int
    body: Node
    what: str = "rule"
    also: frozenset[str] = frozenset()


class Bodies(NamedTuple):
    """The rules that are followed.

    Args:
        rules: The bodies by name, each with the name of the rule that was written.
        apart: The names of rules that are not laid into their callers.
    """

    rules: dict[str, tuple[str, Node]]
    apart: frozenset[str] = frozenset()


class GrammarReader(ABC):
    """A grammar that is being read.

    Args:
        given: The sources embedded in the text as pieces; see the notation.

    Attributes:
        at: The position in the text.
        leaves: The sources that are pieces of the grammar.
        meter: The budget whose time is checked; set it before reading.
    """

    letters: str = NAME_LETTERS
    """The characters of a name."""

    start: str
    """The rule with which a text begins, unless the user names another one."""

    indent: int
    """The most columns of indentation."""

    sign: str
    """The sign between the name of a rule and its body."""

    strays: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """The reason and the remedy for some misplaced characters."""

    blanks: str = " \t"
    """The characters that may stand between pieces on a line."""

    comments: tuple[str, ...] = ("#",)
    """The signs that begin a comment, which goes to the end of its line."""

    def __init__(self, text: str, given: tuple[Source, ...] = ()) -> None:
        self.text = text
        self.given = given
        self.leaves: list[Source] = []
        self.at: int = 0
        self.depth = 0
        self.meter = Meter()

    @property
    def elsewhere(self) -> Mapping[str, str]:
        """The remedies for names that are known but not defined in the text."""
        return {}

    def wrong(
        self, reason: str, remedy: str = "", start: int | None = None, end: int | None = None
    ) -> GrammarError:
        """An error at a span, by default at the position."""
        start = self.at if start is None else start
        return GrammarError(reason, text=self.text, start=start, end=end, remedy=remedy)

    def look(self) -> None:
        """Check the time.

        Raises:
            BudgetExceeded: The time is up.
        """
        self.meter.check_time("Reading the grammar")

    def sees(self, text: str) -> bool:
        """Whether a text comes next."""
        return self.text.startswith(text, self.at)

    def takes(self, text: str) -> bool:
        """Whether a text comes next; if so, the position moves behind it."""
        comes = self.text.startswith(text, self.at)
        self.at += len(text) if comes else 0
        return comes

    def char_class(self, read: Callable[[], int]) -> Node:
        """Read a class ``[...]`` of characters and ranges.

        Args:
            read: Reads one character, escapes included, and gives its code point.

        Raises:
            GrammarError: The class does not end, or a range ends before it begins.
        """
        start = self.at
        self.at += 1
        negated = self.takes("^")
        ranges: list[tuple[int, int]] = []
        while not self.takes("]"):
            if self.at >= len(self.text):
                raise self.wrong("The class does not end", "Close it with ']'.", start)
            self.look()
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
        """A sequence of pieces; the empty text if there are none."""
        begin = self.at
        items: list[Node] = []
        while (item := self.atom()) is not None:
            self.look()
            self.skip()
            items.append(self.repeated(item))
        if not items:
            return Empty(begin, begin)
        return items[0] if len(items) == 1 else Concat(items[0].start, items[-1].end, tuple(items))

    def repeated(self, item: Node) -> Node:
        """A piece with the quantifiers after it."""
        while (bounds := self.quantifier(item)) is not None:
            if isinstance(item, Repeat | Empty) or not isinstance(item, Group):
                item = Group(item.start, item.end, item, None, None)
            minimum, maximum = bounds
            item = Repeat(item.start, self.at, item, minimum, maximum, False)
            self.skip()
        return item

    def quantifier(self, item: Node) -> tuple[int, int | None] | None:
        """The bounds of the quantifier that comes next; ``None`` if none does."""
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.takes(sign):
                return bounds
        return None

    def braces(self) -> tuple[int, int | None]:
        """Read ``{m}``, ``{m,}``, ``{,n}`` or ``{m,n}``; its bounds."""
        begin = self.at
        self.at += 1
        end, line = self.text.find("}", self.at), self.text.find("\n", self.at)
        if end < 0 or 0 <= line < end:
            raise self.wrong("The brace is not closed", "Close it: {3}, {3,} or {3,5}.", begin)
        low, comma, high = (part.strip() for part in self.text[self.at : end].partition(","))
        fine = all(part.isascii() and part.isdigit() for part in (low, high) if part)
        self.at = end + 1
        if not fine or not (low or high):
            raise self.wrong(
                "The braces hold no number of repetitions", "Write {3}, {3,} or {3,5}.", begin,
                self.at,
            )  # fmt: skip
        if max(len(low), len(high)) > len(str(MOST_REPEATS)):
            raise self.wrong(
                f"At most {MOST_REPEATS:,} repetitions can be asked for",
                "Write *, +, {3,} or {,3} for a number without a limit.", begin, self.at,
            )  # fmt: skip
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
        if self.depth > MOST_NESTED:  # The line that is shown is a wall of parentheses.
            raise self.wrong(
                f"Parentheses are nested more than {MOST_NESTED} deep; give the inner part a rule "
                "of its own", "Each level of nesting can be a rule.", begin,
            )  # fmt: skip
        self.skip()
        body = self.alternatives()
        if self.takes(close):
            self.depth -= 1
            return Group(begin, self.at, body, None, None)
        opened = self.text[begin]
        if self.at >= len(self.text):
            raise self.wrong(f"{close!r} is missing for this", f"Close it with {close!r}.", begin)
        if self.rule_begins():
            line = self.text.count("\n", 0, self.at) + 1
            raise self.wrong(
                f"This {opened!r} is not closed where its rule ends, in line {line}",
                f"Close it with {close!r}.", begin,
            )  # fmt: skip
        line, column = self.text.count("\n", 0, begin) + 1, begin - self.text.rfind("\n", 0, begin)
        raise self.stray(
            f"Close the {opened!r} of line {line}, column {column} with {close!r} first, or leave "
            "this out."
        )

    def stray(self, remedy: str) -> GrammarError:
        """The error for a character at the position that can neither continue nor end a rule."""
        char = self.text[self.at]
        if char in self.strays:
            reason, remedy = self.strays[char]
        elif char.isalnum() and not char.isascii():
            reason = f"{char!r} cannot be in the name of a rule"
            remedy = "Use English letters, digits, - and _ in names; write texts in quotes."
        elif char in ")]}" and not self.depth:
            reason, remedy = f"{char!r} cannot stand here: it closes nothing", "Leave it out."
        else:
            reason = f"{char!r} cannot stand here"
        return self.wrong(reason, remedy)

    def within_body(self, name: str) -> GrammarError:
        """The error for a sign of definition at the position: the rule before has not ended."""
        end = len(self.text[: self.at].rstrip())
        start = end
        while start and self.text[start - 1] in self.letters:
            start -= 1
        return self.wrong(
            f"The rule {self.text[start:end]!r} begins where the body of {name!r} goes on",
            'Begin each rule on a new line, and write "" for an empty body or alternative.',
            start, end,
        )  # fmt: skip

    def rule_begins(self) -> bool:
        """Whether the rule must end here, because the next one begins."""
        return self.sees(self.sign)

    def pattern(
        self, pattern: str, start: int, end: int, flags: str = "", places: Sequence[int] = ()
    ) -> Node:
        """A pattern in Python's syntax as one piece.

        Args:
            places: The positions of its characters, if they do not follow ``start`` one by one.
        """
        try:
            # Under the flag x a comment in the pattern goes to the end of its line.
            tree = parse(f"(?{flags}:{pattern}\n)" if "x" in flags else f"(?{flags}:{pattern})"
                         if flags else pattern)  # fmt: skip
        except RegexError as error:
            at = max(error.start - (len(flags) + 3 if flags else 0), 0)
            at = places[min(at, len(places) - 1)] if places else start + 1 + at
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
        """Read ``/pattern/`` and the flags after it, as far as they are known."""
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

    def repeated_group(self, close: str, most: int | None) -> Node:
        """Read a group whose brackets make it optional or repeated."""
        start, inner = self.at, self.group(close)
        return Repeat(start, self.at, inner, 0, most, False)

    def called(self, name: str, start: int) -> Node:
        """A call of a rule; or ``Regex("pattern")``, unless a rule is called Regex.

        In the quotes a backslash escapes a quote or a backslash, as in every text; before any other
        character it belongs to the pattern.
        """
        is_rule = name != "Regex" or re.search(rf"(?m)^[?!]?Regex\s*{self.sign}", self.text)
        if is_rule or not self.sees("("):
            return Call(start, self.at, name)
        written = _REGEX.match(self.text, self.at)
        if written is None:
            raise self.wrong("Regex takes one text", 'Write Regex("[0-9]+").', start, self.at + 1)
        self.at = written.end()
        pieces = [(each[1] or each[0], each.start()) for each in _CHARACTER.finditer(
            self.text, written.start(1), written.end(1))]  # fmt: skip
        pattern = "".join(text for text, _ in pieces)
        places = [place + k for text, place in pieces for k in range(len(text))]
        return self.pattern(pattern, start, self.at, places=places or [written.start(1)])

    def leaf(self, source: Source, start: int) -> Node:
        """A source as one piece of the grammar."""
        number = len(self.leaves)
        source = self.given[number] if number < len(self.given) else source
        self.leaves.append(source)
        return Group(start, self.at, replace(source.tree, child=number), None, None)

    # What a notation says

    @abstractmethod
    def atom(self) -> Node | None:
        """The piece that comes next; ``None`` where a sequence ends."""

    def skip(self) -> None:
        """Skip blanks and comments between two pieces; line breaks too within parentheses."""
        blanks = self.blanks + "\r\n" if self.depth else self.blanks
        while self.at < len(self.text):
            if self.text[self.at] in blanks:
                self.at += 1
            elif self.text.startswith(self.comments, self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def skip_lines(self) -> None:
        """Skip blanks, comments and line breaks between rules, and after a bar."""
        self.depth += 1
        self.skip()
        self.depth -= 1

    @abstractmethod
    def rules(self) -> list[WrittenRule]:
        """Read all rules."""

    def written(self, rules: Sequence[WrittenRule]) -> Bodies:
        """The bodies of checked rules."""
        return Bodies({rule.name: (rule.name, rule.body) for rule in rules})


def letters_of(chars: list[tuple[str, int, int]], start: int, end: int) -> Node:
    """A text letter for letter."""
    nodes = tuple(Literal(a, b, character(char)) for char, a, b in chars)
    if not nodes:
        return Empty(start, end)
    return nodes[0] if len(nodes) == 1 else Group(
        start, end, Concat(nodes[0].start, nodes[-1].end, nodes), None, None
    )  # fmt: skip
