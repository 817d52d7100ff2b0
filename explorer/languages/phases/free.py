"""Free text: any text without some strings, and text up to the first of some strings.

Both are exact over characters, whatever tokens write them: one token may hold the end of the text
and the beginning of what follows. Neither contains a control token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self, cast

from explorer.arguments import listed, plain, shown
from explorer.automata.machine import Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import ANY
from explorer.automata.tree.nodes import (
    Class,
    Concat,
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
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register


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
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The strings that were saved."""
        return cls(checked_strings("strings", fields["strings"]))  # pyright: ignore[reportCallIssue]

    @classmethod
    def read(cls, text: str) -> Self:
        """The source of a text with a string on each line; empty lines do not count."""
        lines = [line for line in text.split("\n") if line]
        return cls(checked_strings("strings", lines))  # pyright: ignore[reportCallIssue]


@register("any text")
@dataclass(frozen=True)
class AnyText(_OfStrings):
    """Any text in which none of some strings occurs."""

    kind: ClassVar[str] = "any_text"

    strings: tuple[str, ...]

    def lower(self) -> Node:
        """The machine that follows the longest beginning of a string that was just read."""
        return Machine(0, len(self.text), text_without_any(self.strings))

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
    def read(cls, text: str) -> Self:
        """The source of a text with a string on each line, at least one."""
        return cls(_some(super().read(text).strings))

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The strings that were saved, one at least."""
        return cls(_some(super().load(fields, children).strings))

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
    return tuple(dict.fromkeys(cast("list[str]", texts)))


def _some(strings: tuple[str, ...]) -> tuple[str, ...]:
    if not strings:
        raise ConstraintError("There is no string to end the text.", remedy="Give one.")
    return strings


def text_until_source(strings: object) -> TextUntil:
    """The source of text up to the first of some strings.

    Raises:
        ConstraintError: As for `checked_strings`; or there is no string.
    """
    return TextUntil(_some(checked_strings("end", strings)))


@lru_cache(maxsize=256)
def text_without_any(strings: tuple[str, ...]) -> Dfa:
    """The machine of any text in which none of some strings occurs."""
    free = Machine(0, 0, any_text())
    holding = Concat(0, 0, (free, Texts(0, 0, strings), free))
    return build(Subtract(0, 0, free, holding), Meter()) if strings else any_text()


@lru_cache(maxsize=256)
def text_up_to_first(strings: tuple[str, ...]) -> Dfa:
    """The machine of any text up to and including the first of some strings to be complete."""
    free = Machine(0, 0, any_text())
    return build(ended_early(Concat(0, 0, (free, Texts(0, 0, strings)))), Meter())


def ended_early(whole: Node) -> Node:
    """The texts of a node of which no proper prefix is such a text too."""
    some = Repeat(0, 0, Class(0, 0, ANY), 1, None, False)
    return Subtract(whole.start, whole.end, whole, Concat(0, 0, (whole, some)))
