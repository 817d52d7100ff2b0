"""The kind of source that is a machine from elsewhere: it has states, but no text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from explorer.arguments import instance
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Machine, Node, Source
from explorer.errors import DamagedFile
from explorer.languages.sources.registry import register


@register("machine")
@dataclass(frozen=True, eq=False)
class Imported(Source):
    """A machine from elsewhere.

    Args:
        origin: The function that imported it, such as ``from_fst``.
    """

    kind: ClassVar[str] = "imported"
    plain_text: ClassVar[bool] = False

    origin: str
    machine: Dfa = field(repr=False)

    def state_name(self, state: int) -> str:
        """Its number."""
        return f"its state {state}"

    def lower(self) -> Node:
        """The machine itself."""
        return Machine(0, 0, self.machine)

    def fields(self) -> dict[str, object]:
        """The machine's arrays."""
        return {
            "origin": self.origin,
            "symbol_class": self.machine.symbol_class.tolist(),
            "table": self.machine.table.tolist(),
            "accepting": self.machine.accepting.tolist(),
            "start": self.machine.start,
        }

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The machine that was saved, checked before anything runs it."""
        from explorer.automata.interchange.validate import checked_dfa  # Only files need it.

        machine = checked_dfa(
            fields["symbol_class"], fields["table"], fields["accepting"], fields["start"]
        )
        return cls(instance("origin", fields["origin"], str, "a str", error=DamagedFile), machine)

    def __str__(self) -> str:
        return f"{self.origin}({self.machine.num_states} states)"
