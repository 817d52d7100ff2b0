"""A phase: a named part of a run, such as ``reasoning`` or ``tool get_weather``.

A phase does not change the texts. Its name marks the whole tree that it lowers to, so that a
reason, a row of a trace and a figure can name the phase. Its beginning and its end, such as
``<think>`` and ``</think>``, belong to the phase but not to its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from explorer.arguments import instance
from explorer.automata.tree.nodes import Concat, Node, Source, Written
from explorer.automata.tree.parts import NamedPart
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.sources.algebra import Combination
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

MOST_CHARACTERS: Final = 80
"""The longest name, since it is shown in sentences and above tokens."""


@register("phase")
@dataclass(frozen=True)
class Phase(Combination):
    """A constraint with a name.

    Args:
        begin, end: The sources before and after the part within the phase; ``None`` for none.
        role: The writer of the phase; empty for the model.
    """

    kind: ClassVar[str] = "phase"

    name: str
    begin: Source | None
    part: Source
    end: Source | None = None
    role: str = ""

    @property
    def phased(self) -> bool:
        """True: it is a phase."""
        return True

    def combined(self, trees: tuple[Written, ...]) -> Node:
        """The beginning, the part and the end in sequence, under the name."""
        parts = list(trees)
        place = 0 if self.begin is None else 1
        parts[place] = replace(parts[place], part=NamedPart("content", source=self.part))
        body: Node = parts[0] if len(parts) == 1 else Concat(0, 0, tuple(parts))
        return Written(0, 0, body, part=NamedPart("phase", self.name, self.role))

    def fields(self) -> dict[str, object]:
        """The name, whether there is a beginning, and the role if it is not the model."""
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
        begin, part, *end = children if begins else (None, *children)
        assert part is not None
        return cls(name, begin, part, end[0] if end else None, role)

    def spelled(self) -> str:
        """The Python call that makes this source."""
        begin = "" if self.begin is None else f", begin={self.begin.spelled()}"
        end = "" if self.end is None else f", end={self.end.spelled()}"
        role = f", role={self.role!r}" if self.role else ""
        return f"phase({self.name!r}, {self.part.spelled()}{begin}{end}{role})"

    def __str__(self) -> str:
        return self.spelled()


def has_phases(source: Source) -> bool:
    """Whether a source is or contains a `Phase`, so that its words are parsed by phase."""
    return isinstance(source, Phase) or any(map(has_phases, source.children))


def checked_phase_name(name: object, what: str = "name") -> str:
    """A name, checked to fit in a sentence and above tokens.

    Args:
        what: The argument that is checked: ``name`` or ``role``.

    Raises:
        ConstraintError: The name is not a text of one line with 1 to 80 characters.
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
