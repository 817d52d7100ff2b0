"""The type of a terminal: its name, the form of its arguments, and the tree that it stands for.

In a pattern a terminal is a group with one of the names below and its arguments where an ordinary
group has its body. Arguments are texts, not patterns: any character stands for itself but
``( ) | \\\\``, which a backslash comes before; escapes such as ``\\n`` and ``\\u00e4`` work as in
patterns. A bar stands between two arguments. Where the last argument is a pattern, it is read as
one, bars included. Flags of the pattern apply to an argument that is a pattern, and to no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from explorer.automata.tree.nodes import Node
from explorer.errors import ExplorerError, RegexError

_SYNTAX: Final = re.compile(r"[\\()|]")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument."""

    text: str
    start: int
    end: int


ErrorAt = Callable[[str, int, int, str], RegexError]
"""The error of a pattern: reason, span, remedy."""


@dataclass(frozen=True, slots=True)
class TerminalGroup:
    """A terminal as it was written.

    Args:
        error: Makes the errors of the pattern that it stands in.
    """

    name: str
    start: int
    end: int
    arguments: tuple[Argument, ...]
    error: ErrorAt
    item: Node | None = None

    def bad(self, reason: str, remedy: str, argument: Argument | None = None) -> RegexError:
        """The error for an argument; without one, for the whole group."""
        place = argument or self
        return self.error(reason, place.start, max(place.end, place.start + 1), remedy)


@dataclass(frozen=True, slots=True)
class Terminal:
    """One kind of terminal.

    Args:
        form: The group as one writes it, such as ``(?P<SUBSTRING_OF>text)``.
        least, most: How many texts it takes; ``None`` for any number.
        pattern: Whether a pattern follows the texts.
        make: The tree of a group; every node has the span of the group.
        closed: Whether the tree holds machines, which no assertion can look into.
        over_tokens: Whether it speaks about tokens, so that texts alone do not decide.
        refusal: From a token's bytes and the offset at which they fail to why they fail, as a
            clause about "this token"; empty where it cannot say.
    """

    name: str
    form: str
    least: int
    most: int | None
    make: Callable[[TerminalGroup], Node]
    pattern: bool = False
    closed: bool = False
    over_tokens: bool = False
    refusal: Callable[[bytes, int], str] | None = None


TERMINALS: Final[dict[str, Terminal]] = {}
"""Every terminal by the name of its group."""


def register_terminal(terminal: Terminal) -> None:
    """Make a terminal known to patterns.

    Raises:
        ExplorerError: There is another one of that name.
    """
    if TERMINALS.setdefault(terminal.name, terminal) is not terminal:
        raise ExplorerError(
            f"There is a terminal {terminal.name} already.", remedy="Choose another name."
        )


def as_argument(text: str) -> str:
    """A text as an argument of a terminal.

    Example:
        >>> print(as_argument("f(x) | y"))
        f\\(x\\) \\| y
    """
    return _SYNTAX.sub(r"\\\g<0>", text)
