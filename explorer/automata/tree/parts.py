"""A named part of a tree, and the meaning of the text that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["phase", "content", "tag", "rule", "text", "value", "turn", "name"]


class Parses(Protocol):
    """A source that gives the value of a text."""

    def parse(self, data: bytes) -> object:
        """The value of a text."""
        ...


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A part of a text.

    Args:
        kind: A ``phase`` or its ``content``; in a structural tag a ``tag``, a ``rule`` of a
            dispatch, free ``text``, or a ``turn`` of something that repeats; a ``value``, which is
            not divided further; the ``name`` of a parameter.
        name: The name of a phase, a tag or a parameter.
        role: The writer of a phase; empty for the model.
        source: The source that parses the text; ``None`` where the value is the text itself.
        behind: The characters at the end of free text that belong to the tag behind it.
    """

    kind: Kind
    name: str = ""
    role: str = ""
    source: Parses | None = None
    behind: int = 0

    @property
    def phases(self) -> tuple[str, ...]:
        """Its name, if reasons, traces and figures show it."""
        return (self.name,) if self.kind in ("phase", "tag") else ()
