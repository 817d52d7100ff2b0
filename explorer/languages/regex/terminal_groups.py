"""Terminals in a pattern: the arguments of a specially named group, read as texts.

This module knows only how arguments are written: texts with escapes, a bar between two, a closing
parenthesis after the last. The meaning of the names is in `explorer.languages.terminals`.
"""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import structs

from explorer.automata.tree.nodes import Empty, Group, Node, Written, children, with_children
from explorer.errors import RegexError
from explorer.languages.regex.characters import read_escape
from explorer.languages.terminals.kinds import Argument, ErrorAt, Terminal, TerminalGroup

_PLAIN: Final = re.compile(r"[^\\()|]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_arguments(
    text: str, pos: int, start: int, terminal: Terminal, error: ErrorAt
) -> tuple[list[Argument], int]:
    """Read the arguments of a terminal, which are texts.

    Returns:
        The texts, and where reading stopped: at the closing parenthesis, or, where a pattern
        follows, after the last bar.

    Raises:
        RegexError: An argument cannot be read.
    """
    arguments: list[Argument] = []
    pieces: list[str] = []
    begin = pos
    while pos < len(text):
        plain = _PLAIN.match(text, pos)
        if plain is not None:
            if wrong := _SURROGATE.search(text, pos, plain.end()):
                raise _no_character(error, wrong.start(), wrong.end())
            pieces.append(plain.group())
            pos = plain.end()
            continue
        char = text[pos]
        if char == "\\":
            piece, pos = _escape(text, pos, error)
            pieces.append(piece)
            continue
        if char == "(":
            raise error(
                f"a parenthesis inside {terminal.name} needs a backslash",
                pos,
                pos + 1,
                r"Write \( for the character; explorer.terminals.escape(text) does it for a text.",
            )
        arguments.append(Argument("".join(pieces), begin, pos))
        if char == ")" or (terminal.pattern and len(arguments) == terminal.most):
            return arguments, pos + (char == "|")
        pieces, pos = [], pos + 1
        begin = pos
    remedy = r"Close it with ), or write \( for the character."
    raise error("this parenthesis is not closed", start, start + 1, remedy)


def _escape(text: str, pos: int, error: ErrorAt) -> tuple[str, int]:
    escape = read_escape(text, pos, in_set=True)
    if escape.char is None:
        raise error(
            f"an argument is a text, and {text[pos : escape.end]} stands for many characters",
            pos,
            escape.end,
            f"Write \\\\{text[pos + 1 : escape.end]} for a backslash and a letter.",
        )
    if _SURROGATE.match(escape.char):
        raise _no_character(error, pos, escape.end)
    return escape.char, escape.end


def _no_character(error: ErrorAt, start: int, end: int) -> RegexError:
    return error(
        "half of a surrogate pair is not a character",
        start,
        end,
        "Write the character that the pair stands for.",
    )


def made(
    terminal: Terminal,
    start: int,
    end: int,
    arguments: list[Argument],
    item: Node | None,
    error: ErrorAt,
) -> Written:
    """The syntax tree of a terminal, with its name as the label of the place.

    Raises:
        RegexError: The arguments are too few, too many or not what the terminal takes.
    """
    name, most = terminal.name, terminal.most
    if most == 0:
        if len(arguments) > 1 or arguments[0].text:
            raise error(
                f"{name} takes no argument",
                arguments[0].start,
                arguments[-1].end,
                f"Write {terminal.form}; an ordinary group needs another name.",
            )
        arguments = []
    if len(arguments) == 1 and not arguments[0].text and terminal.least == 0:
        arguments = []
    if most is not None and len(arguments) > most:
        bar = arguments[most].start - 1
        raise error(
            f"{name} takes {'one argument' if most == 1 else f'{most} arguments'}",
            bar,
            bar + 1,
            rf"Write \| for the character; the form is {terminal.form}.",
        )
    if len(arguments) < terminal.least or (terminal.pattern and item is None):
        raise error(f"{name} needs more arguments", start, end, f"The form is {terminal.form}.")
    if isinstance(terminal.make, str):
        body = _placed(item or Empty(start, end), start, end)
    else:
        body = terminal.make(TerminalGroup(name, start, end, tuple(arguments), error, item))
    return Written(start, end, body, None, name)


def _placed(node: Node, start: int, end: int) -> Node:
    """The tree of a pattern with one span for all its nodes."""
    below = tuple(_placed(each, start, end) for each in children(node))
    made: Any = with_children(node, below)
    return structs.replace(made, start=start, end=end)


def unlabelled(node: Node) -> Node:
    """The pattern with each terminal as a plain group, which assertions can look into."""
    node = with_children(node, tuple(map(unlabelled, children(node))))
    return Group(node.start, node.end, node.body, None, None) if isinstance(node, Written) else node
