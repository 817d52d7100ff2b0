"""A phase: a part of a run that has a name, such as ``reasoning`` or ``tool get_weather``.

A phase changes nothing of the texts. Its name lies on everything that it lowers to, so that a
reason, a row of a trace and a figure can say in which phase it is. What begins it and what ends it,
such as ``<think>`` and ``</think>``, belong to the phase and not to its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from explorer.arguments import instance
from explorer.automata.tree.nodes import Concat, Node, Source, Written
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.sources.algebra import Combination
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

MOST_CHARACTERS: Final = 80
"""The longest name: it stands in sentences and above tokens."""


@register("phase")
@dataclass(frozen=True)
class Phase(Combination):
    """A constraint with a name.

    Args:
        begin, end: What stands before and after it within the phase; ``None`` for nothing.
        role: Who writes it; empty for the model.
    """

    kind: ClassVar[str] = "phase"

    name: str
    part: Source
    begin: Source | None = None
    end: Source | None = None
    role: str = ""

    @property
    def children(self) -> tuple[Source, ...]:
        """The beginning, the part and the end, as far as they are there."""
        return tuple(each for each in (self.begin, self.part, self.end) if each is not None)

    def with_children(self, children: tuple[Source, ...]) -> Self:
        """The same phase around others."""
        return type(self)(self.name, *_in_place(children, self.begin is not None), self.role)

    @property
    def phased(self) -> bool:
        """It has a name."""
        return True

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """All three in turn, under the name."""
        body: Node = trees[0] if len(trees) == 1 else Concat(0, 0, trees)
        return Written(0, 0, body, phase=self.name)

    def fields(self) -> dict[str, object]:
        """The name, whether something begins it, and who writes it if that is not the model."""
        named: dict[str, object] = {"name": self.name, "begins": self.begin is not None}
        return named | ({"role": self.role} if self.role else {})

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The phase that was saved."""
        begins = instance("begins", fields["begins"], bool, "True or False", error=DamagedFile)
        if not 1 + begins <= len(children) <= 2 + begins:
            raise DamagedFile(f"A saved phase has {len(children)} parts.")
        name = checked_phase_name(fields["name"])
        role = checked_phase_name(fields["role"]) if "role" in fields else ""
        return cls(name, *_in_place(children, begins), role)

    def spelled(self) -> str:
        """As Python writes it."""
        begin = "" if self.begin is None else f", begin={self.begin.spelled()}"
        end = "" if self.end is None else f", end={self.end.spelled()}"
        role = f", role={self.role!r}" if self.role else ""
        return f"phase({self.name!r}, {self.part.spelled()}{begin}{end}{role})"

    def __str__(self) -> str:
        return self.spelled()


def has_phases(source: Source) -> bool:
    """Whether a source is a `Phase`, or one stands in it: then its words are parsed by phase."""
    return isinstance(source, Phase) or any(map(has_phases, source.children))


def checked_phase_name(name: object, what: str = "name") -> str:
    """A name that can stand in a sentence and above tokens.

    Args:
        what: The argument that it was given for: ``name`` or ``role``.

    Raises:
        ConstraintError: It is not a text of one line with 1 to 80 characters.
    """
    whose, example = ("a phase", "reasoning") if what == "name" else ("who writes it", "user")
    remedy = f"Give it a name such as {example!r}."
    text = instance(what, name, str, f"the name of {whose}", error=ConstraintError, remedy=remedy)
    if not text.strip() or len(text.splitlines()) > 1 or len(text) > MOST_CHARACTERS:
        raise ConstraintError(
            f"{text[:MOST_CHARACTERS]!r} cannot be the name of {whose}: it must be one line of 1 "
            f"to {MOST_CHARACTERS} characters.",
            remedy=remedy,
        )
    check_encodable(text)
    return text


def _in_place(
    children: tuple[Source, ...], begins: bool
) -> tuple[Source, Source | None, Source | None]:
    """The part, then what begins and what ends it."""
    begin, part, *end = children if begins else (None, *children)
    assert part is not None
    return part, begin, end[0] if end else None
