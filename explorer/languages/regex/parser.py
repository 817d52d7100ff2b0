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
from typing import TYPE_CHECKING, Final

from explorer.arguments import plain, wrong
from explorer.automata.tree.assertions import without_edge_anchors
from explorer.automata.tree.charset import ANY, NOT_NEWLINE, CharSet, character
from explorer.automata.tree.layout import width
from explorer.automata.tree.nodes import (
    MAX_REPEAT,
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
    walk,
)
from explorer.budget import Meter
from explorer.errors import ConstraintError, RegexError
from explorer.languages.regex.characters import (
    BRACES,
    KINDS,
    TEMPLATE,
    ascii_folded,
    category,
    counts,
    folded,
    read_escape,
    read_flags,
    read_set,
)

if TYPE_CHECKING:
    from explorer.languages.terminals.kinds import Terminal


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
            >>> from explorer.automata.tree.nodes import walk
            >>> tree = parse("(?i)ab+")
            >>> [tree.source(node) for node in walk(tree.root)]
            ['(?i)ab+', 'a', 'b+', 'b']
        """
        return self.pattern[node.start : node.end]

    def whole(self) -> Node:
        """The root, with assertions that see nothing outside of the pattern."""
        root = self.root
        return Whole(root.start, root.end, root) if self.has_assertions else root


MAX_NESTING: Final = 100
"""The most levels of nested groups, safe on every stack; `re` overflows at some depth."""

_MAX_LOOKBEHIND: Final = 2**32 - 1

_COMMENT_GROUP: Final = re.compile(r"\(\?#(?:[^\\)]|\\.)*\)", re.DOTALL)


class UnsupportedSyntax(RegexError):
    """A pattern that `re` accepts but no finite automaton of whole matches can express."""


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


class _PatternParser:
    """The recursive descent: a pattern, the current position in it, and its groups so far.

    Args:
        flags: Flags of `re` for the whole of it; flags in the pattern are added to them.
    """

    __slots__ = (
        "asserts", "closed", "depth", "end", "flags", "lookbehind_groups", "meter", "names", "pos",
        "terminals", "text",
    )  # fmt: skip

    def __init__(self, text: str, flags: int, meter: Meter) -> None:
        self.text = text
        self.meter = meter
        self.pos: int = 0
        self.end = len(text)
        self.flags: int = flags
        self.closed = [True]  # Whether each group is closed. Group 0 is the whole.
        self.names: dict[str, int] = {}
        self.depth: int = 0
        self.lookbehind_groups: int | None = None
        self.asserts = False
        self.terminals: list[tuple[Terminal, int, int]] = []

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
        from explorer.languages.regex.terminal_groups import unlabelled

        return unlabelled(root)

    def error(
        self, reason: str, start: int, end: int | None = None, remedy: str = ""
    ) -> RegexError:
        """An error of the pattern, with its span."""
        return RegexError(reason, pattern=self.text, start=start, end=end, remedy=remedy)

    def unsupported(self, reason: str, start: int, end: int, remedy: str) -> RegexError:
        """The error for a construction that no automaton can express."""
        return UnsupportedSyntax(reason, pattern=self.text, start=start, end=end, remedy=remedy)

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
                chars, past = read_set(text, pos, flags)
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
            match = BRACES.match(self.text, start)
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

    # Groups: everything that begins with a parenthesis

    def group(self, flags: int, *, may_set_flags: bool) -> Node | None:
        """Read anything that begins with a parenthesis; ``None`` for comments and global flags."""
        text, start = self.text, self.pos
        if not text.startswith("(?", start):
            self.pos = start + 1
            return self.contents(flags, start, capturing=True)
        kind = text[start + 2 : start + 3]
        if kind == ":":
            self.pos = start + 3
            return self.contents(flags, start, capturing=False)
        if kind == "#":
            comment = _COMMENT_GROUP.match(text, start)
            if comment is None:
                raise self.error("this comment is not closed", start, start + 3)
            self.pos = comment.end()
            return None
        if kind == "P":
            return self.named_group(flags, start, start + 3)
        if kind == "<" and text[start + 3 : start + 4] not in ("=", "!"):
            return self.named_group(flags, start, start + 2)
        if kind in ("=", "!", "<"):
            return self.lookaround(flags, start)
        if kind == "(":
            raise self.conditional(start)
        if kind == ">":
            raise self.unsupported(
                "atomic groups have no automaton",
                start,
                start + 3,
                remedy="Write (?:...); what must not follow the group can be excluded by a "
                "lookahead (?!...).",
            )
        return self.flags_group(flags, start, may_set_flags=may_set_flags)

    def flags_group(self, flags: int, start: int, *, may_set_flags: bool) -> Node | None:
        """Read ``(?i)``, flags of the whole pattern, or ``(?i-s:...)``, flags of a part."""
        kind = self.text[start + 2 : start + 3]
        if kind != "-" and not kind.isalpha():
            raise self.error(
                f"(?{kind} begins no known group",
                start,
                start + 2 + len(kind),
                remedy=r"Write \( for the character, or (?: for a group that captures nothing.",
            )
        added, removed, self.pos = read_flags(self.text, start)
        if self.text[self.pos - 1] == ":":
            if added & KINDS:
                flags &= ~KINDS
            flags = (flags | added) & ~removed
            return self.contents(flags, start, capturing=False)
        if not may_set_flags:
            raise self.error(
                "flags of the whole pattern stand at its start",
                start,
                self.pos,
                remedy="Move them there, or write "
                f"{self.text[start : self.pos - 1]}:...) around the part that they are for.",
            )
        self.flags |= added
        return None

    def contents(
        self, flags: int, start: int, *, capturing: bool, name: str | None = None
    ) -> Group:
        """Read the body of a group and its closing parenthesis; ``start`` is where it opened."""
        number = None
        if capturing:
            number = len(self.closed)
            self.closed.append(False)
            if name is not None:
                self.names[name] = number
        body = self.inside(flags, start)
        if number is not None:
            self.closed[number] = True
        return Group(start, self.pos, body, number, name)

    def inside(self, flags: int, start: int) -> Node:
        """Read alternatives and the closing parenthesis after them."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.unsupported(
                f"groups are nested more than {MAX_NESTING} deep",
                start,
                start + 1,
                remedy="Leave out parentheses that are not needed.",
            )
        body = self.alternatives(flags)
        self.depth -= 1
        if self.pos >= self.end:
            raise self.error(
                "this parenthesis is not closed",
                start,
                remedy=r"Close it with ), or write \( for the character.",
            )
        self.pos += 1
        return body

    def named_group(self, flags: int, start: int, at: int) -> Node:
        """Read ``(?P<name>...)`` or ``(?<name>...)``; refuse ``(?P=name)``.

        Args:
            at: The place of the ``<``.
        """
        text = self.text
        mark = text[at : at + 1]
        if mark not in ("<", "="):
            raise self.error(
                f"(?P{mark} begins no known group",
                start,
                at + len(mark),
                remedy="A named group is written (?P<name>...).",
            )
        close = text.find(">" if mark == "<" else ")", at + 1)
        if close < 0:
            raise self.error("this group name is not closed", start, at + 1)
        name = text[at + 1 : close]
        if not name.isidentifier():
            raise self.error(
                f"{name!r} cannot be the name of a group",
                at + 1,
                close,
                remedy="A name is letters, digits and underscores, and begins with no digit.",
            )
        if mark == "=":
            if name not in self.names:
                raise self.error(f"there is no group {name!r} before this place", start, close + 1)
            raise self.reference(self.names[name], start, close + 1)
        from explorer.languages.terminals import TERMINALS  # Only patterns with names need it.

        terminal = TERMINALS.get(name)
        if terminal is not None:
            return self.terminal(terminal, flags, start, close + 1)
        if name in self.names:
            raise self.error(
                f"group {self.names[name]} has the name {name!r} already",
                at + 1,
                close,
                remedy="Choose another name.",
            )
        self.pos = close + 1
        return self.contents(flags, start, capturing=True, name=name)

    def terminal(self, terminal: Terminal, flags: int, start: int, begin: int) -> Node:
        """Read a terminal such as ``(?P<SUBSTRING_OF>text)``, with its arguments at ``begin``."""
        from explorer.languages.regex.terminal_groups import made, read_arguments

        arguments, self.pos = read_arguments(self.text, begin, start, terminal, self.error)
        item = parse(terminal.make).root if isinstance(terminal.make, str) else None
        if terminal.pattern and self.text[self.pos - 1] == "|" and len(arguments) == terminal.most:
            item = self.inside(flags, start)
        else:
            self.pos += 1
        self.terminals.append((terminal, start, self.pos))
        return made(terminal, start, self.pos, arguments, item, self.error)

    def lookaround(self, flags: int, start: int) -> Node:
        """Read ``(?=...)``, ``(?!...)``, ``(?<=...)`` or ``(?<!...)``."""
        behind = self.text.startswith("<", start + 2)
        sign = self.text[start + 2 + behind]
        self.pos = start + 3 + behind
        self.asserts = True
        outer = self.lookbehind_groups
        if behind and outer is None:
            self.lookbehind_groups = len(self.closed)
        body = self.inside(flags, start)
        self.lookbehind_groups = outer
        if behind:
            fewest, most = width(body)
            if fewest != most:
                raise self.error(
                    "a lookbehind must have one width, and this one can take "
                    f"{fewest} characters or {'any number' if most > MAX_REPEAT else most}",
                    start,
                    self.pos,
                    remedy=_lookbehind_remedy(sign == "!", most > MAX_REPEAT),
                )
            if fewest > _MAX_LOOKBEHIND:
                raise self.error("this lookbehind is too wide", start, self.pos)
        kind = AssertionKind.BEHIND if behind else AssertionKind.AHEAD
        return Assertion(start, self.pos, kind, negated=sign == "!", body=body)

    def conditional(self, start: int) -> RegexError:
        """The error for ``(?(1)yes|no)``: no such group, or not supported."""
        close = self.text.find(")", start + 3)
        name = self.text[start + 3 : close] if close >= 0 else ""
        known = name in self.names if name.isidentifier() else name.strip().isdecimal()
        if not known:
            return self.error(
                "a conditional needs the name or number of a group",
                start,
                close + 1 if close >= 0 else start + 3,
            )
        return self.unsupported(
            "a conditional on a group is beyond this automaton",
            start,
            close + 1,
            remedy="Write both cases as alternatives: (<)?a(?(1)>) is <a>|a.",
        )

    def reference(self, group: int, start: int, end: int) -> RegexError:
        """The error for a backreference: no such group, or not supported."""
        if group >= len(self.closed):
            return self.error(
                f"there is no group {group} before this place",
                start,
                end,
                remedy="Count the groups from 1 in the order of their opening parentheses; for a "
                r"character by its octal code write three digits, as in \012.",
            )
        if not self.closed[group]:
            return self.error(f"group {group} is still open here", start, end)
        if self.lookbehind_groups is not None and group >= self.lookbehind_groups:
            return self.error(f"group {group} belongs to the same lookbehind", start, end)
        return self.unsupported(
            "a reference back to a group is beyond finite automata",
            start,
            end,
            remedy="Write the cases out: (a|b)-\\1 is a-a|b-b.",
        )


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


def _lookbehind_remedy(negated: bool, unbounded: bool) -> str:
    """The remedy for a lookbehind of variable width."""
    if unbounded:
        return (
            "Bound the repetition, or say with a lookahead at an earlier place what the text "
            "before must be."
        )
    if negated:
        return "Write one lookbehind for each width, one after the other: (?<!ab)(?<!c)."
    return "Write one lookbehind for each width: (?:(?<=ab)|(?<=c))."
