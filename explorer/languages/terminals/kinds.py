"""The type of a terminal: its name, the form of its arguments, and the tree that it stands for.

In a pattern a terminal is a group with a registered name and its arguments in the place of the
body. Arguments are texts, not patterns: every character stands for itself except ``( ) | \\\\``,
which need a backslash; escapes such as ``\\n`` and ``\\u00e4`` work as in patterns. Arguments are
separated by bars. For some terminals the last argument is a pattern, bars included. Flags of the
pattern apply only to such an argument.
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
    """One argument of a terminal, with its span."""

    text: str
    start: int
    end: int


ErrorAt = Callable[[str, int, int, str], RegexError]
"""A function that makes an error of the pattern from reason, span and remedy."""


@dataclass(frozen=True, slots=True)
class TerminalGroup:
    """A terminal as it was written.

    Args:
        error: Makes the errors of the pattern around it.
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
        takes: The form of its arguments, such as ``text``.
        least, most: The fewest and the most texts that it takes; ``None`` for no limit.
        make: The pattern that it stands for, or a function that makes the tree of a group; every
            node has the span of the group.
        pattern: Whether a pattern follows the texts.
        closed: Whether the tree holds machines, which assertions cannot look into.
        over_tokens: Whether it speaks about tokens, so that a text alone does not decide.
        refusal: Gives the reason why a token fails, from its bytes and the offset of the failure,
            as a clause about "this token"; empty if there is none.
    """

    name: str
    takes: str
    least: int
    most: int | None
    make: str | Callable[[TerminalGroup], Node]
    pattern: bool = False
    closed: bool = False
    over_tokens: bool = False
    refusal: Callable[[bytes, int], str] | None = None

    @property
    def form(self) -> str:
        """The written form, such as ``(?P<SUBSTRING_OF>text)``."""
        return f"(?P<{self.name}>{self.takes})"


TERMINALS: Final[dict[str, Terminal]] = {}
"""Every terminal by the name of its group."""


def register_terminal(terminal: Terminal) -> None:
    """Make a terminal known to patterns.

    Raises:
        ExplorerError: Another terminal has this name.
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
