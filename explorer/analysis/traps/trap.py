"""A trap: something that makes decoding go wrong although every mask is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "whitespace_loop",
    "endless",
    "shared_first_token",
    "byte_by_byte",
    "visited_only",
    "tiny_mass",
    "greedy_trap",
    "prompt_boundary",
    "unlikely_end",
]


@dataclass(frozen=True)
class Trap:
    """One thing that may go wrong.

    Args:
        kind: The kind of trap; see the module.
        message: The description, in a sentence or two.
        remedy: What could be done.
        state: The token state it is about, if one.
        position: The position of the trace it is about, if one.
        evidence: Values that show it.
    """

    kind: Kind
    message: str
    remedy: str
    state: int | None = None
    position: int | None = None
    evidence: Mapping[str, object] = field(default_factory=dict[str, object])

    def __str__(self) -> str:
        where = "" if self.position is None else f"at position {self.position}: "
        return f"{where}{self.message} {self.remedy}"

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "kind": self.kind, "message": self.message, "remedy": self.remedy,
            "state": self.state, "position": self.position, "evidence": dict(self.evidence),
        }  # fmt: skip
