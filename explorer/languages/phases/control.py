"""Control tokens as letters: one control token, or any tokens but some.

A control token is a token that is not text: ``<|tool_call|>`` of a chat format, an image. It writes
nothing into the text, and no class of characters contains it. A machine reads its letter
(`explorer.automata.control_letters`), so a constraint may ask for it at any place.

A token is given by the tokenizer's name for it, or by its id. Whether the vocabulary has it is
checked when the constraint is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from explorer.arguments import instance, listed
from explorer.automata.control_letters import control_letters_but, control_letters_of
from explorer.automata.tree.charset import ANY
from explorer.automata.tree.nodes import Branch, Class, Machine, Node, Repeat, Source, Written
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

Name = str | int
"""A control token: its name, or its id."""


@register("control token")
@dataclass(frozen=True)
class ControlToken(Source):
    """One control token."""

    kind: ClassVar[str] = "token"

    token: Name

    @property
    def text(self) -> str:
        """The name or the id of the token."""
        return str(self.token)

    @property
    def control_tokens(self) -> tuple[Name, ...]:
        """The token itself."""
        return (self.token,)

    def lower(self) -> Node:
        """The machine of its letter."""
        machine = Machine(0, len(self.text), control_letters_of(frozenset({self.token})))
        return Written(0, len(self.text), machine, label=f"the token {shown_token(self.token)}")

    def fields(self) -> dict[str, object]:
        """The name or the id of the token."""
        return {"token": self.token}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The token that was saved."""
        return cls(loaded_name(fields["token"]))

    @classmethod
    def read(cls, text: str) -> Self:
        """The source of a name, or of an id in decimal digits."""
        text = text.strip()
        if not text:
            raise ConstraintError(
                "There is no token.", remedy="Write its name, such as <|im_start|>, or its id."
            )
        return cls(int(text) if text.isascii() and text.isdecimal() else checked_name(text))

    def __str__(self) -> str:
        return f"token({self.token!r})"


@register("any tokens")
@dataclass(frozen=True)
class AnyTokens(Source):
    """Any number of tokens, of text or not, but for some control tokens."""

    kind: ClassVar[str] = "any_tokens"

    excluding: tuple[Name, ...]

    @property
    def text(self) -> str:
        """An excluded token on each line."""
        return "\n".join(map(str, self.excluding))

    @property
    def control_tokens(self) -> tuple[Name, ...]:
        """The excluded control tokens."""
        return self.excluding

    def lower(self) -> Node:
        """Any sequence of characters and control letters."""
        end = len(self.text)
        others = Machine(0, end, control_letters_but(frozenset(self.excluding)))
        return Repeat(0, end, Branch(0, end, (Class(0, end, ANY), others)), 0, None, False)

    def fields(self) -> dict[str, object]:
        """The excluded tokens."""
        return {"excluding": list(self.excluding)}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The tokens that were saved."""
        saved = listed("excluding", fields["excluding"], "a list of tokens", error=DamagedFile)
        return cls(tuple(map(loaded_name, saved)))

    @classmethod
    def read(cls, text: str) -> Self:
        """An excluded token on each line."""
        lines = [line for line in text.split("\n") if line.strip()]
        return cls(tuple(ControlToken.read(line).token for line in lines))

    def __str__(self) -> str:
        return (
            f"any_tokens(excluding={list(self.excluding)!r})" if self.excluding else "any_tokens()"
        )


@register("other token")
@dataclass(frozen=True)
class OtherToken(AnyTokens):
    """One control token other than the excluded ones."""

    kind: ClassVar[str] = "other_token"
    plain_text: ClassVar[bool] = False

    def lower(self) -> Node:
        """The machine of all other letters."""
        return Machine(0, len(self.text), control_letters_but(frozenset(self.excluding)))

    def __str__(self) -> str:
        return (
            f"a control token but {list(self.excluding)!r}" if self.excluding else "a control token"
        )


def shown_token(token: Name) -> str:
    """A control token as written in a sentence."""
    return f"id {token}" if isinstance(token, int) else token


def checked_name(name: str) -> str:
    """A name that a letter can hold.

    Raises:
        ConstraintError: The name is empty, or holds half of a surrogate pair.
    """
    if not name:
        raise ConstraintError("The name of a control token is empty.", remedy="Give its id.")
    check_encodable(name)
    return name


def loaded_name(saved: object) -> Name:
    """A name or an id from a file.

    Raises:
        ConstraintError: The saved value is neither.
    """
    if isinstance(saved, int) and not isinstance(saved, bool) and saved >= 0:
        return saved
    return checked_name(instance("token", saved, str, "a name or an id", error=ConstraintError))
