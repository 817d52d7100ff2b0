"""The parser of Python's regular expressions, which makes a tree with spans.

Recursive descent, one method per level of the syntax: alternatives, a sequence, one piece of
it, a group. It accepts and rejects what `re.compile` of the running Python accepts and rejects
(for patterns of str); the tests hold the two equal on tables and on random patterns. Three things
more are read, which people bring from other engines: Unicode properties (``\\p{L}``), ``(?<n>...)``
for ``(?P<n>...)``, and ``\\z`` for ``\\Z``.
`re`'s own parser could not be used: its tree has no positions, it factors common prefixes out of
alternatives and it turns alternatives of single characters into sets.

Four constructions are read and then refused with `UnsupportedSyntax`: references back to a
group, conditionals on a group, atomic groups and possessive repeats. The first two go beyond
regular languages; the last two are regular only under `re`'s order of trying, which a language
of whole matches does not have. Groups nested more than `MAX_NESTING` deep are refused too.

Long runs of ordinary characters become nodes without a Python loop; a pattern of 1,500 characters
takes about a millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from explorer.arguments import plain, wrong
from explorer.automata.tree.assertions import without_edge_anchors
from explorer.automata.tree.charset import ANY, NOT_NEWLINE, CharSet, character
from explorer.automata.tree.nodes import (
    Assertion,
    AssertionKind,
    Branch,
    Class,
    Concat,
    Dot,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
    Whole,
)
from explorer.automata.tree.walking import MAX_REPEAT, walk
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.regex.escapes import fault, known_set, read_escape, read_set
from explorer.languages.regex.groups import TEMPLATE, Groups
from explorer.languages.regex.terminal_groups import unlabelled
from explorer.languages.regex.unicode_sets import (
    ascii_folded,
    category,
    folded,
)


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree of a whole pattern.

    Args:
        flags: The flags of `re` in force at the top, those in the pattern included.
        root: The outermost node.
        has_assertions: Whether any assertion occurs.
        over_tokens: Whether a terminal speaks about tokens.
    """

    pattern: str
    flags: int
    root: Node
    group_names: Mapping[str, int]
    num_groups: int
    has_assertions: bool
    over_tokens: bool = False

    def source(self, node: Node) -> str:
        """The text of a node in the pattern.

        Example:
            >>> from explorer.languages.regex import parse
            >>> from explorer.automata.tree.walking import walk
            >>> tree = parse("(?i)ab+")
            >>> [tree.source(node) for node in walk(tree.root)]
            ['(?i)ab+', 'a', 'b+', 'b']
        """
        return self.pattern[node.start : node.end]

    def whole(self) -> Node:
        """The root, with assertions that see nothing outside of the pattern."""
        root = self.root
        return Whole(root.start, root.end, root) if self.has_assertions else root


QUANTIFIER: Final = re.compile(r"[*+?]|\{(?!\})([0-9]*)(,?)([0-9]*)\}")
"""A quantifier without its mode; a brace that does not match is an ordinary character."""


def counts(match: re.Match[str]) -> tuple[int, int | None]:
    """The fewest and the most repetitions; ``None`` for no limit.

    Args:
        match: A match of `QUANTIFIER`.

    Raises:
        RegexError: They are in the wrong order, or too large.

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
    minimum = _count(match, low) if low else 0
    if not comma:
        return minimum, minimum
    if not high:
        return minimum, None
    maximum = _count(match, high)
    if maximum < minimum:
        reason = "the least number of repetitions is above the most"
        raise fault(match.string, reason, *match.span(), f"Write {{{maximum},{minimum}}}.")
    return minimum, maximum


def _count(match: re.Match[str], digits: str) -> int:
    significant = digits.lstrip("0")
    if len(significant) > 10 or int(significant or "0") >= MAX_REPEAT:
        remedy = f"It can be at most {MAX_REPEAT - 1}; leave it out for no limit."
        raise fault(match.string, "the number of repetitions is too large", *match.span(), remedy)
    return int(significant or "0")


MAX_LENGTH: Final = 500_000
"""The most characters of a pattern, which take about half a second to parse."""

STAGE: Final = "Reading the pattern"

_BYTES_PER_CHARACTER: Final = 250
_MANY: Final = 4096
"""The number of pieces read between two looks at the clock."""

_ASCII: Final = int(re.ASCII)
_IGNORECASE: Final = int(re.IGNORECASE)
_MULTILINE: Final = int(re.MULTILINE)
_DOTALL: Final = int(re.DOTALL)
_VERBOSE: Final = int(re.VERBOSE)

# A backslash and the character after it are one unit everywhere, in comments too.
_PLAIN: Final = re.compile(r"[^\\.\[{()*+?^$|]+")
_SYNTAX: Final = frozenset("\\.[{()*+?^$|")
_PLAIN_VERBOSE: Final = re.compile(r"[^\\.\[{()*+?^$|# \t\n\r\v\f]+")
_SYNTAX_VERBOSE: Final = _SYNTAX | frozenset("# \t\n\r\v\f")
_SIMPLE: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_PLAIN_PIECES: Final = frozenset((Literal, Class, Dot, Group))
"""The kinds of pieces that may always be repeated."""
_IGNORED: Final = re.compile(r"(?:[ \t\n\r\v\f]+|#(?:[^\\\n]|\\.)*\n?)+", re.DOTALL)
_TRAILING_BACKSLASHES: Final = re.compile(r"\\*\Z")


def parse(pattern: str, flags: int = 0, meter: Meter | None = None) -> Tree:
    """Read a pattern in Python's `re` syntax.

    Args:
        flags: Flags of `re`, as if they stood in front of the pattern.

    Returns:
        The tree of what was written.

    Raises:
        RegexError: `re` would refuse the pattern too, or (`UnsupportedSyntax`) it uses a
            construction that no automaton can express. The error holds the span.
        BudgetExceeded: A limit was reached.
        ConstraintError: The pattern is not a str, or has more than `MAX_LENGTH` characters.

    Example:
        >>> parse("a|[bc]+").root.end
        7
        >>> from explorer.errors import RegexError
        >>> try:
        ...     parse("a**")
        ... except RegexError as error:
        ...     print(error.start, error.remedy)
        2 Put a group around what is to be repeated again: (?:a*)*.
    """
    if not isinstance(pattern, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        remedy = "Decode it first: pattern.decode()." if isinstance(pattern, bytes) else ""
        raise wrong("pattern", pattern, "a str", remedy=remedy, error=ConstraintError)
    pattern = plain(pattern)
    if len(pattern) > MAX_LENGTH:
        raise ConstraintError(
            f"The pattern has {len(pattern):,} characters; at most {MAX_LENGTH:,} are read.",
            remedy="Write a long list of texts as choice([...]), or put a constraint together "
            "from shorter patterns with | and +.",
            evidence={"length": len(pattern), "limit": MAX_LENGTH},
        )
    meter = meter or Meter()
    meter.check(STAGE, bytes=len(pattern) * _BYTES_PER_CHARACTER)
    return _PatternParser(pattern, int(flags), meter).tree()


class _PatternParser(Groups):
    """The recursive descent over alternatives, sequences and single pieces."""

    __slots__ = ()

    def tree(self) -> Tree:
        if self.flags & re.LOCALE:
            raise self.error("the flag LOCALE is for patterns of bytes", 0, remedy="Leave it out.")
        backslashes = _TRAILING_BACKSLASHES.search(self.text)
        if backslashes and len(backslashes.group()) % 2:
            raise self.error(
                "the pattern ends in the middle of an escape",
                self.end - 1,
                remedy=r"Write \\ for a backslash.",
            )
        root = self.alternatives(self.flags)
        if self.pos < self.end:
            raise self.error(
                "this parenthesis closes nothing", self.pos, remedy=r"Write \) for the character."
            )
        if self.flags & _ASCII and self.flags & re.UNICODE:
            raise self.error(
                "the flags ASCII and UNICODE exclude each other", 0, remedy="Keep one of them."
            )
        flags = self.flags if self.flags & _ASCII else self.flags | int(re.UNICODE)
        if self.terminals and self.asserts:
            root = self.beside_assertions(root)
        return Tree(
            self.text,
            flags,
            root,
            MappingProxyType(self.names),
            len(self.closed) - 1,
            self.asserts,
            any(terminal.over_tokens for terminal, *_ in self.terminals),
        )

    def beside_assertions(self, root: Node) -> Node:
        """Check a pattern with terminals and assertions, after removing anchors at its edges."""
        root = without_edge_anchors(root, self.meter)
        self.asserts = any(isinstance(node, Assertion) for node in walk(root))
        if not self.asserts:
            return root
        for terminal, start, end in self.terminals:
            if terminal.closed:
                raise self.unsupported(
                    f"{terminal.name} cannot stand in a pattern with assertions",
                    start,
                    end,
                    remedy="Write two patterns and combine them: regex(...) & regex(...), or "
                    "regex(...) + regex(...).",
                )
        return unlabelled(root)

    # Alternatives and sequences

    def alternatives(self, flags: int) -> Node:
        """Read ``a|b|c``, up to the end or a closing parenthesis."""
        start = self.pos
        outermost = self.depth == 0
        options = [self.sequence(flags, start_of_pattern=outermost)]
        while self.pos < self.end and self.text[self.pos] == "|":
            self.pos += 1
            # Flags of the whole pattern may have been set in the first alternative.
            options.append(self.sequence(self.flags if outermost else flags))
            if len(options) % _MANY == 0:
                self.meter.check_time(STAGE)
        if len(options) == 1:
            return options[0]
        return Branch(start, self.pos, tuple(options))

    def sequence(self, flags: int, *, start_of_pattern: bool = False) -> Node:
        """Read pieces and their quantifiers up to a bar, a closing parenthesis or the end."""
        text, end, start = self.text, self.end, self.pos
        items: list[Node] = []
        literal, plain, syntax = _readers(flags)
        append = items.append
        pos = start
        look = _MANY
        while pos < end:
            if len(items) >= look:
                self.meter.check_time(STAGE)
                look = len(items) + _MANY
            char = text[pos]
            if char not in syntax:
                past = pos + 1
                if past == end or text[past] in syntax:
                    append(Literal(pos, past, literal(char)))
                else:
                    run = plain.match(text, past)
                    past = past if run is None else run.end()
                    chars = map(literal, text[pos:past])
                    items.extend(map(Literal, range(pos, past), range(pos + 1, past + 1), chars))
                pos = past
                continue
            if char == "|" or char == ")":
                break
            self.pos = pos
            if char == "[":
                known = known_set(text, pos, flags)
                if known is None:
                    append(self.char_class(flags))
                else:  # As `char_class` would, in half the time.
                    chars, past = known
                    append(Class(pos, past, chars))
                    pos = past
                    continue
            elif char in _SIMPLE or char == "{":
                past = pos + 1
                if (
                    char != "{"
                    and items
                    and type(items[-1]) in _PLAIN_PIECES
                    and (past == end or text[past] not in "?+")
                    and not flags & TEMPLATE
                ):  # As `quantifier` would.
                    minimum, maximum = _SIMPLE[char]
                    body = items[-1]
                    items[-1] = Repeat(body.start, past, body, minimum, maximum, False)
                    pos = past
                    continue
                else:
                    self.quantifier(items, flags, char)
            elif char == "\\":
                append(self.escape(flags))
            elif char == "(":
                piece = self.group(flags, may_set_flags=start_of_pattern and not items)
                if piece is not None:
                    append(piece)
                elif start_of_pattern and flags != self.flags:
                    flags = self.flags
                    literal, plain, syntax = _readers(flags)
            elif char == ".":
                items.append(Dot(pos, pos + 1, ANY if flags & _DOTALL else NOT_NEWLINE))
                self.pos = pos + 1
            elif char == "^":
                multiline = flags & _MULTILINE
                kind = AssertionKind.LINE_START if multiline else AssertionKind.TEXT_START
                items.append(self.anchor(kind, pos, pos + 1))
            elif char == "$":
                multiline = flags & _MULTILINE
                kind = AssertionKind.LINE_END if multiline else AssertionKind.FINAL_LINE_END
                items.append(self.anchor(kind, pos, pos + 1))
            else:  # Only VERBOSE makes a character that is neither plain nor special.
                ignored = _IGNORED.match(text, pos)
                self.pos = end if ignored is None else ignored.end()
            pos = self.pos
        self.pos = pos
        if len(items) == 1:
            return items[0]
        return Concat(start, pos, tuple(items)) if items else Empty(start, pos)

    def quantifier(self, items: list[Node], flags: int, char: str) -> None:
        """Repeat the last piece. A brace that opens no quantifier matches itself."""
        start = self.pos
        simple = _SIMPLE.get(char)
        if simple is not None:
            self.pos = start + 1
            minimum, maximum = simple
        else:
            match = QUANTIFIER.match(self.text, start)
            if match is None:  # re: a brace that begins no quantifier is an ordinary character.
                items.append(Literal(start, start + 1, character("{")))
                self.pos = start + 1
                return
            self.pos = match.end()
            minimum, maximum = counts(match)
        body = items[-1] if items else None
        if body is None or (isinstance(body, Assertion) and body.body is None):
            raise self.error(
                "there is nothing to repeat",
                start,
                self.pos,
                remedy="Put something to repeat before it, "
                f"or write \\{self.text[start]} for the character.",
            )
        if isinstance(body, Repeat):
            quantifier = self.text[start : self.pos]
            written = self.text[body.start : body.end] + quantifier
            again = f"(?:{self.text[body.start : body.end]}){quantifier}"
            raise self.error(
                "a quantifier cannot follow a quantifier",
                start,
                self.pos,
                remedy="Put a group around what is to be repeated again"
                + (f": {again}." if len(written) < 40 else "."),
            )
        if flags & TEMPLATE and TEMPLATE:
            raise self.error("the flag 't' forbids quantifiers", start, self.pos)
        mode = self.text[self.pos] if self.pos < self.end else ""
        if mode == "+":
            raise self.unsupported(
                "possessive repeats have no automaton",
                start,
                self.pos + 1,
                remedy="Leave out the last +; what must not follow the repetition can be "
                "excluded by a lookahead, as in a+(?!a).",
            )
        if mode == "?":
            self.pos += 1
        items[-1] = Repeat(body.start, self.pos, body, minimum, maximum, mode == "?")

    # Single pieces

    def anchor(self, kind: AssertionKind, start: int, end: int, negated: bool = False) -> Assertion:
        self.asserts = True
        self.pos = end
        return Assertion(start, end, kind, negated)

    def escape(self, flags: int) -> Node:
        """Read an escape."""
        start = self.pos
        escape = read_escape(self.text, start, in_set=False)
        self.pos = escape.end
        if escape.char is not None:
            literal = _readers(flags)[0]
            return Literal(start, escape.end, literal(escape.char))
        if escape.category is not None:
            return Class(start, escape.end, category(escape.category, flags))
        if escape.reference is not None:
            raise self.reference(escape.reference, start, escape.end)
        if escape.anchor == "A":
            return self.anchor(AssertionKind.TEXT_START, start, escape.end)
        if escape.anchor in ("b", "B"):
            self.asserts = True
            word = category("w", flags)
            negated = escape.anchor == "B"
            return Assertion(start, escape.end, AssertionKind.BOUNDARY, negated=negated, word=word)
        return self.anchor(AssertionKind.TEXT_END, start, escape.end)

    def char_class(self, flags: int) -> Node:
        """Read ``[...]`` with characters, ranges and categories."""
        start = self.pos
        chars, self.pos = read_set(self.text, start, flags)
        return Class(start, self.pos, chars)


def _readers(
    flags: int,
) -> tuple[Callable[[str], CharSet], re.Pattern[str], frozenset[str]]:
    """The sets of characters, the plain runs and the syntax characters under some flags."""
    if not flags & _IGNORECASE:
        literal = character
    elif flags & _ASCII:
        literal = ascii_folded
    else:
        literal = folded
    if flags & _VERBOSE:
        return literal, _PLAIN_VERBOSE, _SYNTAX_VERBOSE
    return literal, _PLAIN, _SYNTAX
