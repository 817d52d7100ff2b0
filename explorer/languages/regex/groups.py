"""Parsing of groups: everything that begins with a parenthesis, including inline flags.

`Groups` holds a pattern and the current position. Its subclass, the recursive descent in
`explorer.languages.regex.parser`, reads the body of a group in `alternatives`.

Constructions that no automaton can express are read and then refused with `UnsupportedSyntax`:
references back to a group, conditionals on a group and atomic groups.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from explorer.automata.tree.nodes import Assertion, AssertionKind, Group, Node
from explorer.automata.tree.walking import MAX_REPEAT, width
from explorer.budget import Meter
from explorer.errors import RegexError
from explorer.languages.regex.escapes import fault
from explorer.languages.regex.terminal_groups import made, read_arguments
from explorer.languages.terminals import TERMINALS
from explorer.languages.terminals.kinds import Terminal

_TEMPLATE: Final = 1
"""The flag ``t`` of `re` up to Python 3.12, which forbids every quantifier."""

LETTERS: Final = {
    "i": int(re.IGNORECASE),
    "L": int(re.LOCALE),
    "m": int(re.MULTILINE),
    "s": int(re.DOTALL),
    "x": int(re.VERBOSE),
    "a": int(re.ASCII),
    "u": int(re.UNICODE),
}
if sys.version_info < (3, 13):
    LETTERS["t"] = _TEMPLATE

TEMPLATE: Final = LETTERS.get("t", 0)
KINDS: Final = int(re.ASCII | re.LOCALE | re.UNICODE)
"""The flags for the kind of alphabet, which exclude each other."""


_FLAGS: Final = "Write (?i) at the start of the pattern, or (?i:...) and (?-i:...) around a part."


@dataclass(frozen=True, slots=True)
class InlineFlags:
    """The flags that a run of flag letters adds and removes.

    Args:
        added, removed: Flags of `re`.
        end: The end of the run: one past its ``)`` or ``:``.
        whole_pattern: Whether it ends in ``)``, and so applies to the whole pattern.
    """

    added: int
    removed: int
    end: int
    whole_pattern: bool


def read_flags(pattern: str, start: int) -> InlineFlags:
    """Read the letters after the ``(?`` at a place.

    Raises:
        RegexError: Wherever `re` raises.

    Example:
        >>> read_flags("(?i-s:a)", 0)
        InlineFlags(added=2, removed=16, end=6, whole_pattern=False)
    """
    added, offset = _letters(pattern, start, start + 2, ")-:", removing=False)
    stop = pattern[offset]
    if stop == ")":
        return InlineFlags(added, 0, offset + 1, True)
    if added & TEMPLATE:
        raise fault(pattern, "flag 't' is for the whole pattern only", start, offset, _FLAGS)
    removed = 0
    if stop == "-":
        removed, offset = _letters(pattern, start, offset + 1, ":", removing=True)
        if removed & TEMPLATE:
            raise fault(pattern, "flag 't' cannot be turned off", start, offset, _FLAGS)
        if added & removed:
            raise fault(pattern, "a flag is turned on and off", start, offset, _FLAGS)
    return InlineFlags(added, removed, offset + 1, False)


def _letters(
    pattern: str, start: int, offset: int, stops: str, *, removing: bool
) -> tuple[int, int]:
    """The flags up to the first stop, and the offset of the stop."""
    flags = 0
    first = offset
    while offset < len(pattern):
        letter = pattern[offset]
        if letter in stops and (offset > first or not removing):
            return flags, offset
        if letter not in LETTERS:
            reason = "unknown flag" if letter.isalpha() else f"expected a flag or one of {stops!r}"
            raise fault(pattern, reason, start, offset + 1, _FLAGS)
        flag = LETTERS[letter]
        if flag & KINDS and removing:
            raise fault(
                pattern, "flags 'a', 'u' and 'L' cannot be turned off", start, offset + 1, ""
            )
        if letter == "L":
            raise fault(pattern, "flag 'L' is for patterns of bytes", start, offset + 1, _FLAGS)
        flags |= flag
        if flag & KINDS and flags & KINDS != flag:
            raise fault(pattern, "flags 'a' and 'u' exclude each other", start, offset + 1, _FLAGS)
        offset += 1
    raise fault(pattern, f"the flags end without one of {stops!r}", start, offset + 1, _FLAGS)


MAX_NESTING: Final = 100
"""The most levels of nested groups, safe on every stack; `re` overflows at some depth."""

_MAX_LOOKBEHIND: Final = 2**32 - 1

# A backslash and the character after it are one unit everywhere, in comments too.
_COMMENT_GROUP: Final = re.compile(r"\(\?#(?:[^\\)]|\\.)*\)", re.DOTALL)


class UnsupportedSyntax(RegexError):
    """A pattern that `re` accepts but no finite automaton of whole matches can express."""


class Groups(ABC):
    """A pattern, the current position in it, and its groups so far.

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

    @abstractmethod
    def alternatives(self, flags: int) -> Node:
        """Read up to the end or a closing parenthesis."""

    def error(
        self, reason: str, start: int, end: int | None = None, remedy: str = ""
    ) -> RegexError:
        """An error of the pattern, with its span."""
        return RegexError(reason, pattern=self.text, start=start, end=end, remedy=remedy)

    def unsupported(self, reason: str, start: int, end: int, remedy: str) -> RegexError:
        """The error for a construction that no automaton can express."""
        return UnsupportedSyntax(reason, pattern=self.text, start=start, end=end, remedy=remedy)

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
        inline = read_flags(self.text, start)
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
                "this parenthesis is not closed", start, remedy=r"Write \( for the character."
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
        arguments, self.pos = read_arguments(self.text, begin, start, terminal, self.error)
        item = None
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
