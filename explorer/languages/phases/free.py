"""Free text: any text without some strings, text up to the first of some strings to be complete,
and text up to the leftmost of some strings.

All are exact over characters, whatever tokens write them: one token may hold the end of the text
and the beginning of what follows. Each is the difference of two small machines.

A *string* is a sequence of characters and control tokens: ``<|tool|>call``, where ``<|tool|>`` is a
token, is one control token and four characters. Of two strings that overlap, the one that begins
first is the leftmost. Of strings that begin at the same place each may end the text, even if one is
a prefix of the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final, Self, cast

from explorer.arguments import listed, plain, shown
from explorer.automata.control_letters import control_letters_but, control_letters_of
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import ANY, character
from explorer.automata.tree.nodes import (
    Branch,
    Class,
    Concat,
    Empty,
    Literal,
    Machine,
    Node,
    Repeat,
    Source,
    Subtract,
    Texts,
)
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.phases.control import Name
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

MOST_CHARACTERS: Final = 1000
"""The most characters of the strings together: their machine takes a quarter of a second."""

Marked = tuple[str | tuple[Name], ...]
"""A string: its characters one by one, and each control token in a tuple of one."""

_NOWHERE: Final = (0, 0)


class _OfStrings(Source):
    """A source given by some strings; its text has one on each line."""

    strings: tuple[str, ...]

    @property
    def text(self) -> str:
        """A string on each line."""
        return "\n".join(self.strings)

    def fields(self) -> dict[str, object]:
        """The strings."""
        return {"strings": list(self.strings)}

    @classmethod
    def of(cls, name: str, strings: object) -> Self:
        """The source of some strings; ``name`` is the argument that they were given as.

        Raises:
            ConstraintError: As for `checked_strings`.
        """
        return cls(checked_strings(name, strings))  # pyright: ignore[reportCallIssue]

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The strings that were saved."""
        return cls.of("strings", fields["strings"])

    @classmethod
    def read(cls, text: str) -> Self:
        """The source of a text with a string on each line; empty lines do not count."""
        return cls.of("strings", [line for line in text.split("\n") if line])


@register("any text")
@dataclass(frozen=True)
class AnyText(_OfStrings):
    """Any text in which none of some strings occurs."""

    kind: ClassVar[str] = "any_text"

    strings: tuple[str, ...]

    def lower(self) -> Node:
        """The machine that follows the longest beginning of a string that was just read."""
        return Machine(0, len(self.text), text_without(strings_of(self.strings)))

    def __str__(self) -> str:
        return f"any_text(excluding={list(self.strings)!r})" if self.strings else "any_text()"


@register("text until")
@dataclass(frozen=True)
class TextUntil(_OfStrings):
    """Any text up to and including the first of some strings to be complete."""

    kind: ClassVar[str] = "text_until"

    strings: tuple[str, ...]

    def lower(self) -> Node:
        """The machine that follows the longest beginning of a string that was just read."""
        return Machine(0, len(self.text), text_up_to_first(self.strings))

    @classmethod
    def of(cls, name: str, strings: object) -> Self:
        """The source of some strings, at least one.

        Raises:
            ConstraintError: As for `checked_strings`; or there is no string.
        """
        made = super().of(name, strings)
        if not made.strings:
            raise ConstraintError("There is no string to end the text.", remedy="Give one.")
        return made

    def __str__(self) -> str:
        return f"text_until({', '.join(map(repr, self.strings))})"


def checked_strings(name: str, given: object) -> tuple[str, ...]:
    """The given strings, checked, each once.

    Raises:
        ConstraintError: They are not a list of texts, or one is empty or not valid text.
    """
    if isinstance(given, str):
        given = plain(given)
        raise ConstraintError(
            f"{name}={given!r} would mean its single characters.",
            remedy=f"Give a list: {name}=[{given!r}].",
        )
    texts = [plain(each) for each in listed(name, given, "a list of texts", error=ConstraintError)]
    for text in texts:
        if not isinstance(text, str) or not text:
            raise ConstraintError(
                f"{name} has {shown(text)}, which is not a string with characters.",
                remedy="Give strings of at least one character.",
            )
        check_encodable(text)
    made = tuple(dict.fromkeys(cast("list[str]", texts)))
    check_lengths(made)
    return made


def check_lengths(strings: Iterable[str]) -> None:
    """Refuse strings that are longer together than their machine can follow in a moment.

    Raises:
        ConstraintError: They are.
    """
    if (length := sum(map(len, strings))) > MOST_CHARACTERS:
        raise ConstraintError(
            f"The strings to look for have {length:,} characters, more than {MOST_CHARACTERS:,}.",
            remedy="Give their beginnings: enough to tell them from other text.",
        )


def marked(text: str, names: Iterable[str]) -> Marked:
    """A text as a string, with the names of control tokens replaced by these tokens.

    Args:
        names: The names of control tokens; of several that fit, the longest is taken.

    Example:
        >>> marked("a<t>", ["<t>"])
        ('a', ('<t>',))
    """
    known = sorted(filter(None, names), key=len, reverse=True)
    if not known:
        return tuple(text)
    pieces = re.split(f"({'|'.join(map(re.escape, known))})", text)
    read: list[str | tuple[Name]] = []
    for k, piece in enumerate(pieces):
        read += [(piece,)] if k % 2 else piece
    return tuple(read)


def strings_of(texts: Iterable[str]) -> frozenset[Marked]:
    """Some texts as strings without control tokens."""
    return frozenset(tuple(text) for text in texts)


def shown_string(string: Marked) -> str:
    """A string as text, control tokens by their names."""
    return "".join(each if isinstance(each, str) else str(each[0]) for each in string)


def string_node(string: Marked, spans: tuple[tuple[int, int], ...] = ()) -> Node:
    """The syntax tree of a string.

    Args:
        spans: The span of each of its characters and tokens; empty for none.
    """
    at = spans or (_NOWHERE,) * len(string)
    nodes: tuple[Node, ...] = tuple(
        Literal(*at[k], character(each)) if isinstance(each, str)
        else Machine(*at[k], control_letters_of(frozenset(each)))
        for k, each in enumerate(string)
    )  # fmt: skip
    if len(nodes) < 2:
        return nodes[0] if nodes else Empty(0, 0)
    return Concat(at[0][0], at[-1][1], nodes)


def _free(strings: Iterable[Marked], every: bool) -> Node:
    """Any text around some strings, which may hold all control tokens, or those of the strings."""
    tokens: frozenset[Name] = frozenset(
        s[0] for string in strings for s in string if not isinstance(s, str)
    )
    text = Machine(0, 0, any_text())
    if not tokens and not every:
        return text
    letters = control_letters_but(frozenset[Name]()) if every else control_letters_of(tokens)
    symbol = Branch(0, 0, (Class(0, 0, ANY), Machine(0, 0, letters)))
    return Repeat(0, 0, symbol, 0, None, False)


def _one_of(strings: Iterable[Marked]) -> Node:
    """One of some strings."""
    given = sorted(strings, key=repr)
    texts = tuple(shown_string(each) for each in given if all(isinstance(s, str) for s in each))
    others = [string_node(each) for each in given if not all(isinstance(s, str) for s in each)]
    return Branch(0, 0, (*([Texts(0, 0, texts)] if texts else []), *others))


@lru_cache(maxsize=256)
def text_without(excluded: frozenset[Marked], every: bool = False) -> Dfa:
    """Any text in which none of some strings occurs.

    Args:
        every: Whether all control tokens may occur; those of the strings always may.

    Example:
        >>> machine = text_without(frozenset({tuple("ab")}))
        >>> machine.accepts(b"ba"), machine.accepts(b"cab")
        (True, False)
    """
    free = _free(excluded, every)
    if not excluded:
        return build(free, Meter())
    return build(Subtract(0, 0, free, Concat(0, 0, (free, _one_of(excluded), free))), Meter())


@lru_cache(maxsize=256)
def text_up_to(
    string: Marked, rivals: frozenset[Marked], excluded: frozenset[Marked],
    every: bool = False,
) -> Dfa:  # fmt: skip
    """Any text up to and including a string, if it is the leftmost of all rivals.

    Args:
        rivals: Strings that would end the text too: none of them begins earlier.
        excluded: Strings that must not occur before or inside the string.
        every: As in `text_without`.

    Example:
        >>> both = frozenset({tuple("ab"), tuple("b")})
        >>> machine = text_up_to(tuple("b"), both, frozenset())
        >>> machine.accepts(b"cb"), machine.accepts(b"ab")
        (True, False)
    """
    strings = frozenset((string, *rivals, *excluded))
    before: Node = Machine(0, 0, text_without(strings, every))
    # The beginnings of strings that this string would complete, and so begin earlier than it.
    begun = {
        each[:k] for each in strings for k in range(1, len(each))
        if each[k:] == string[: len(each) - k]
    }  # fmt: skip
    if begun:
        before = Subtract(0, 0, before, Concat(0, 0, (_free(strings, every), _one_of(begun))))
    whole = Concat(0, 0, (before, string_node(string)))
    if any(string[k : k + len(each)] == each for each in excluded for k in range(len(string))):
        return build(Subtract(0, 0, whole, whole), Meter())
    return build(whole, Meter())


@lru_cache(maxsize=256)
def text_up_to_first(strings: tuple[str, ...]) -> Dfa:
    """The machine of any text up to and including the first of some strings to be complete."""
    free = Machine(0, 0, any_text())
    return build(ended_early(Concat(0, 0, (free, Texts(0, 0, strings)))), Meter())


def ended_early(whole: Node) -> Node:
    """The texts of a node of which no proper prefix is such a text too."""
    some = Repeat(0, 0, Class(0, 0, ANY), 1, None, False)
    return Subtract(whole.start, whole.end, whole, Concat(0, 0, (whole, some)))
