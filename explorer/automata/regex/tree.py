"""A pattern as a tree whose every node knows the text that it was written as.

Carets, highlighting and explanations need the place of each piece, which CPython's own tree
does not keep; so the nodes here carry the *span* ``start:end`` in characters of the pattern.
Flags are resolved: a `Literal` under IGNORECASE holds all characters that it matches, a
``\\b`` the word characters it goes by, and ``^`` is one of two kinds. Nothing else is changed or
merged: the tree is what was written, one `Literal` for each character.

Groups are kept, also those that capture nothing, because they are what a reader sees. A match
is always of the whole text, so laziness and captures make no difference to the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from explorer.automata.regex.charset import CharSet


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing at all: an empty alternative, an empty group, an empty pattern."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Literal:
    """One character of the pattern, however it is written (``a``, ``\\x61``, ``\\N{BULLET}``).

    Args:
        start, end: Its span.
        chars: What it matches: itself, or with IGNORECASE all its cases.
    """

    start: int
    end: int
    chars: CharSet


@dataclass(frozen=True, slots=True)
class Class:
    """A set ``[...]`` or a category escape such as ``\\d``.

    Args:
        start, end: Its span.
        chars: The characters that it matches.
    """

    start: int
    end: int
    chars: CharSet


@dataclass(frozen=True, slots=True)
class Dot:
    """The dot: any character, or any but the newline.

    Args:
        start, end: Its span.
        chars: The characters that it matches.
    """

    start: int
    end: int
    chars: CharSet


@dataclass(frozen=True, slots=True)
class Concat:
    """Pieces one after the other; at least two."""

    start: int
    end: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Alternatives between bars; at least two."""

    start: int
    end: int
    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A piece and its quantifier.

    Args:
        start, end: Its span, from the piece to the end of the quantifier.
        body: The piece.
        minimum: The fewest repetitions.
        maximum: The most repetitions; ``None`` for no limit.
        lazy: Whether the quantifier ends in ``?``.
    """

    start: int
    end: int
    body: Node
    minimum: int
    maximum: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses.

    Args:
        start, end: Its span, parentheses included.
        body: What stands between them.
        number: The number of a capturing group, else ``None``.
        name: The name of a named group, else ``None``.
    """

    start: int
    end: int
    body: Node
    number: int | None
    name: str | None


class AssertionKind(Enum):
    """What an assertion asks about its place in the text."""

    TEXT_START = "text start"
    """``\\A``, and ``^`` without MULTILINE."""
    LINE_START = "line start"
    """``^`` with MULTILINE."""
    TEXT_END = "text end"
    """``\\Z``."""
    FINAL_LINE_END = "end, or before a final newline"
    """``$`` without MULTILINE."""
    LINE_END = "line end"
    """``$`` with MULTILINE."""
    BOUNDARY = "word boundary"
    """``\\b``; negated, ``\\B``."""
    AHEAD = "lookahead"
    """``(?=...)``; negated, ``(?!...)``."""
    BEHIND = "lookbehind"
    """``(?<=...)``; negated, ``(?<!...)``."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on a place in the text that reads nothing.

    Args:
        start, end: Its span.
        kind: What it asks.
        negated: Whether the place must *not* be so.
        body: The pattern to look for; for the two lookaround kinds only.
        word: The word characters; for boundaries only.
    """

    start: int
    end: int
    kind: AssertionKind
    negated: bool = False
    body: Node | None = None
    word: CharSet | None = None


Node = Empty | Literal | Class | Dot | Concat | Branch | Repeat | Group | Assertion
Leaf = Literal | Class | Dot


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole pattern.

    Args:
        pattern: The source text.
        flags: The flags of `re` in force at the top, those in the pattern included.
        root: The outermost node.
        group_names: The number of each named group.
        num_groups: How many groups capture.
        has_assertions: Whether any assertion occurs.
    """

    pattern: str
    flags: int
    root: Node
    group_names: Mapping[str, int]
    num_groups: int
    has_assertions: bool

    def source(self, node: Node) -> str:
        """What a node was written as.

        Example:
            >>> from explorer.automata.regex import parse
            >>> tree = parse("(?i)ab+")
            >>> [tree.source(node) for node in walk(tree.root)]
            ['(?i)ab+', 'a', 'b+', 'b']
        """
        return self.pattern[node.start : node.end]


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    match node:
        case Concat():
            return node.items
        case Branch():
            return node.options
        case Repeat() | Group():
            return (node.body,)
        case Assertion():
            return () if node.body is None else (node.body,)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the pattern."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))
