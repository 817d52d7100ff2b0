"""Python's regular expressions, read into a tree with spans.

Recursive descent, one method per level of the syntax: alternatives, a sequence, one piece of
it, a group. It accepts and rejects what `re.compile` of the running Python accepts and rejects
(for patterns of str); the tests hold the two equal on tables and on random patterns.
`re`'s own parser could not be used: its tree has no positions, it factors common prefixes out of
alternatives and it turns alternatives of single characters into sets.

Four constructions are read and then refused with `UnsupportedSyntax`: references back to a
group, conditionals on a group, atomic groups and possessive repeats. The first two go beyond
regular languages; the last two are regular only under `re`'s order of trying, which a language
of whole matches does not have. Groups nested more than `MAX_NESTING` deep are refused too.

Runs of ordinary characters are found by a compiled pattern and become nodes without a Python
loop; that keeps a pattern of 1,500 characters near a millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from explorer.arguments import wrong
from explorer.automata.regex.escapes import BadEscape, read_escape
from explorer.automata.regex.flags import KINDS, TEMPLATE, BadFlags, read_flags
from explorer.automata.regex.quantifier import QUANTIFIER, BadCount, counts
from explorer.automata.regex.sets import BadSet, read_set
from explorer.automata.regex.tree import Tree
from explorer.automata.regex.unicode_sets import (
    ascii_folded,
    category,
    folded,
)
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
)
from explorer.automata.tree.width import MAX_REPEAT, width
from explorer.budget import Meter
from explorer.errors import ConstraintError, RegexError

MAX_NESTING: Final = 100
"""Groups inside groups: a bound that holds on every stack, where `re` overflows at some depth."""

MAX_LENGTH: Final = 500_000
"""Characters of a pattern: about half a second of reading."""

STAGE: Final = "Reading the pattern"

_BYTES_PER_CHARACTER: Final = 250
_MANY: Final = 4096
"""How many pieces are read between two looks at the clock."""

_MAX_LOOKBEHIND: Final = 2**32 - 1

_ASCII: Final = int(re.ASCII)
_IGNORECASE: Final = int(re.IGNORECASE)
_MULTILINE: Final = int(re.MULTILINE)
_DOTALL: Final = int(re.DOTALL)
_VERBOSE: Final = int(re.VERBOSE)

# A backslash and the character after it are one unit everywhere, in comments too.
_PLAIN: Final = re.compile(r"[^\\.\[{()*+?^$|]+")
_PLAIN_VERBOSE: Final = re.compile(r"[^\\.\[{()*+?^$|# \t\n\r\v\f]+")
_IGNORED: Final = re.compile(r"(?:[ \t\n\r\v\f]+|#(?:[^\\\n]|\\.)*\n?)+", re.DOTALL)
_COMMENT_GROUP: Final = re.compile(r"\(\?#(?:[^\\)]|\\.)*\)", re.DOTALL)
_TRAILING_BACKSLASHES: Final = re.compile(r"\\*\Z")


class UnsupportedSyntax(RegexError):
    """A pattern that `re` takes but no finite automaton of whole matches can express."""


def parse(pattern: str, flags: int = 0, meter: Meter | None = None) -> Tree:
    """Read a pattern in Python's `re` syntax.

    Args:
        pattern: The source text.
        flags: Flags of `re`, as if they stood in front of the pattern.
        meter: Watches bytes and seconds; default a budget of its own.

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
        >>> try:
        ...     parse("a**")
        ... except RegexError as error:
        ...     print(error.start, error.remedy)
        2 Put a group around what is to be repeated again: (?:a*)*.
    """
    if not isinstance(pattern, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        remedy = "Decode it first: pattern.decode()." if isinstance(pattern, bytes) else ""
        raise wrong("pattern", pattern, "a str", remedy=remedy, error=ConstraintError)
    if len(pattern) > MAX_LENGTH:
        raise ConstraintError(
            f"The pattern has {len(pattern):,} characters; at most {MAX_LENGTH:,} are read.",
            remedy="Write a long list of texts as choice([...]), or put a constraint together "
            "from shorter patterns with | and +.",
            evidence={"length": len(pattern), "limit": MAX_LENGTH},
        )
    meter = meter or Meter()
    meter.check(STAGE, bytes=len(pattern) * _BYTES_PER_CHARACTER)
    return _Parser(pattern, int(flags), meter).tree()


class _Parser:
    """A pattern and how far it has been read."""

    __slots__ = (
        "asserts", "closed", "depth", "end", "flags", "lookbehind_groups", "meter", "names", "pos",
        "text",
    )  # fmt: skip

    def __init__(self, text: str, flags: int, meter: Meter) -> None:
        self.text = text
        self.meter = meter
        self.pos: int = 0
        self.end = len(text)
        self.flags: int = flags
        self.closed = [True]  # For each group: has its parenthesis closed? Group 0 is the whole.
        self.names: dict[str, int] = {}
        self.depth: int = 0
        self.lookbehind_groups: int | None = None
        self.asserts = False

    def error(
        self, reason: str, start: int, end: int | None = None, remedy: str = ""
    ) -> RegexError:
        return RegexError(reason, pattern=self.text, start=start, end=end, remedy=remedy)

    def unsupported(self, reason: str, start: int, end: int, remedy: str) -> RegexError:
        return UnsupportedSyntax(reason, pattern=self.text, start=start, end=end, remedy=remedy)

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
        return Tree(
            self.text,
            flags,
            root,
            MappingProxyType(self.names),
            len(self.closed) - 1,
            self.asserts,
        )

    # Alternatives and sequences

    def alternatives(self, flags: int) -> Node:
        """``a|b|c``, up to the end or a closing parenthesis."""
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
        """Pieces and their quantifiers, up to a bar, a closing parenthesis or the end."""
        text, end, start = self.text, self.end, self.pos
        items: list[Node] = []
        literal, plain = _readers(flags)
        pos = start
        look = _MANY
        while pos < end:
            if len(items) >= look:
                self.meter.check_time(STAGE)
                look = len(items) + _MANY
            run = plain.match(text, pos)
            if run is not None:
                past = run.end()
                chars = map(literal, text[pos:past])
                items.extend(map(Literal, range(pos, past), range(pos + 1, past + 1), chars))
                pos = past
                if pos == end:
                    break
            char = text[pos]
            if char == "|" or char == ")":
                break
            self.pos = pos
            if char == "\\":
                items.append(self.escape(flags))
            elif char == "[":
                items.append(self.char_class(flags))
            elif char == "(":
                piece = self.group(flags, may_set_flags=start_of_pattern and not items)
                if piece is not None:
                    items.append(piece)
                elif start_of_pattern and flags != self.flags:
                    flags = self.flags
                    literal, plain = _readers(flags)
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
            elif char in "*+?{":
                self.quantifier(items, flags)
            else:  # Only VERBOSE makes a character that is neither plain nor special.
                ignored = _IGNORED.match(text, pos)
                self.pos = end if ignored is None else ignored.end()
            pos = self.pos
        self.pos = pos
        if len(items) == 1:
            return items[0]
        return Concat(start, pos, tuple(items)) if items else Empty(start, pos)

    def quantifier(self, items: list[Node], flags: int) -> None:
        """Repeat the last piece. A brace that opens no quantifier matches itself."""
        start = self.pos
        match = QUANTIFIER.match(self.text, start)
        if match is None:  # re: a brace that begins no quantifier is an ordinary character.
            items.append(Literal(start, start + 1, character("{")))
            self.pos = start + 1
            return
        self.pos = match.end()
        try:
            minimum, maximum = counts(match)
        except BadCount as bad:
            raise self.error(bad.reason, start, self.pos, remedy=bad.remedy) from None
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
            written = self.text[body.start : body.end] + match.group()
            again = f"(?:{self.text[body.start : body.end]}){match.group()}"
            raise self.error(
                "a quantifier cannot follow a quantifier",
                start,
                self.pos,
                remedy="Put a group around what is to be repeated again"
                + (f": {again}." if len(written) < 40 else "."),
            )
        if flags & TEMPLATE and TEMPLATE:
            raise self.error("the flag 't' forbids quantifiers", start, self.pos)
        mode = self.text[self.pos : self.pos + 1]
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
        """A backslash and what belongs to it."""
        start = self.pos
        try:
            escape = read_escape(self.text, start, in_set=False)
        except BadEscape as bad:
            raise self.error(bad.reason, start, bad.end, remedy=bad.remedy) from None
        self.pos = escape.end
        if escape.char is not None:
            literal, _ = _readers(flags)
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

    def reference(self, group: int, start: int, end: int) -> RegexError:
        """The error for a reference back: a wrong one, or one that is not supported."""
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

    def char_class(self, flags: int) -> Node:
        """``[...]``: characters, ranges and categories."""
        start = self.pos
        try:
            chars, self.pos = read_set(self.text, start, flags)
        except BadSet as bad:
            raise self.error(bad.reason, bad.start, bad.end, remedy=bad.remedy) from None
        return Class(start, self.pos, chars)

    # Groups

    def group(self, flags: int, *, may_set_flags: bool) -> Node | None:
        """Anything that begins with a parenthesis; ``None`` for comments and global flags."""
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
            return self.named_group(flags, start)
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
        """``(?i)`` for the whole pattern, ``(?i-s:...)`` for a part."""
        kind = self.text[start + 2 : start + 3]
        if kind != "-" and not kind.isalpha():
            raise self.error(
                f"(?{kind} begins no known group",
                start,
                start + 2 + len(kind),
                remedy=r"Write \( for the character, or (?: for a group that captures nothing.",
            )
        try:
            inline = read_flags(self.text, start + 2)
        except BadFlags as bad:
            raise self.error(bad.reason, start, bad.offset + 1) from None
        self.pos = inline.end
        if not inline.whole_pattern:
            if inline.added & KINDS:
                flags &= ~KINDS
            flags = (flags | inline.added) & ~inline.removed
            return self.contents(flags, start, capturing=False)
        if not may_set_flags:
            raise self.error(
                "flags of the whole pattern stand at its start",
                start,
                inline.end,
                remedy="Move them there, or write "
                f"{self.text[start : inline.end - 1]}:...) around the part that they are for.",
            )
        self.flags |= inline.added
        return None

    def contents(
        self, flags: int, start: int, *, capturing: bool, name: str | None = None
    ) -> Group:
        """What stands in a group, and its closing parenthesis; ``start`` is where it opened."""
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
        """Alternatives up to a closing parenthesis, which is read too."""
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
                "this parenthesis is not closed", start, remedy=r"Write \( for the character."
            )
        self.pos += 1
        return body

    def named_group(self, flags: int, start: int) -> Node:
        """``(?P<name>...)``; and ``(?P=name)``, which is refused."""
        text = self.text
        mark = text[start + 3 : start + 4]
        if mark not in ("<", "="):
            raise self.error(
                f"(?P{mark} begins no known group",
                start,
                start + 3 + len(mark),
                remedy="A named group is written (?P<name>...).",
            )
        close = text.find(">" if mark == "<" else ")", start + 4)
        if close < 0:
            raise self.error("this group name is not closed", start, start + 4)
        name = text[start + 4 : close]
        if not name.isidentifier():
            raise self.error(
                f"{name!r} cannot be the name of a group",
                start + 4,
                close,
                remedy="A name is letters, digits and underscores, and begins with no digit.",
            )
        if mark == "=":
            if name not in self.names:
                raise self.error(f"there is no group {name!r} before this place", start, close + 1)
            raise self.reference(self.names[name], start, close + 1)
        if name in self.names:
            raise self.error(
                f"group {self.names[name]} has the name {name!r} already",
                start + 4,
                close,
                remedy="Choose another name.",
            )
        self.pos = close + 1
        return self.contents(flags, start, capturing=True, name=name)

    def lookaround(self, flags: int, start: int) -> Node:
        """``(?=...)``, ``(?!...)``, ``(?<=...)``, ``(?<!...)``."""
        behind = self.text.startswith("<", start + 2)
        sign_at = start + 2 + behind
        sign = self.text[sign_at : sign_at + 1]
        if sign not in ("=", "!"):
            raise self.error(
                f"(?<{sign} begins no known group",
                start,
                sign_at + len(sign),
                remedy="A named group is written (?P<name>...), a lookbehind (?<=...) or (?<!...).",
            )
        self.pos = sign_at + 1
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
        """The error for ``(?(1)yes|no)``: a wrong one, or one that is not supported."""
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


def _readers(flags: int) -> tuple[Callable[[str], CharSet], re.Pattern[str]]:
    """How a character becomes a set under these flags, and the pattern of runs without syntax."""
    if not flags & _IGNORECASE:
        literal = character
    elif flags & _ASCII:
        literal = ascii_folded
    else:
        literal = folded
    return literal, _PLAIN_VERBOSE if flags & _VERBOSE else _PLAIN


def _lookbehind_remedy(negated: bool, unbounded: bool) -> str:
    """What to write instead of a lookbehind without one width."""
    if unbounded:
        return (
            "Bound the repetition, or say with a lookahead at an earlier place what the text "
            "before must be."
        )
    if negated:
        return "Write one lookbehind for each width, one after the other: (?<!ab)(?<!c)."
    return "Write one lookbehind for each width: (?:(?<=ab)|(?<=c))."
