"""The report of a compilation: milliseconds and sizes, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from explorer.tokens.lost import Lost


@dataclass(frozen=True)
class Report:
    """Times and sizes of one `compile`.

    Args:
        milliseconds: Wall-clock milliseconds per stage, in the order of the pipeline:
            ``character_fsa``, ``vocabulary_trie`` (about 0 once the vocabulary has been used),
            ``composition``, ``trimming``, ``packing``.
        character_states: States of the character FSA.
        byte_classes: The classes of bytes that the character FSA distinguishes.
        reached_states: Character states that some token sequence reaches.
        token_states: States of the token DFA.
        token_classes: Token classes, the dead class and the EOS class included.
        live_tokens: Ids that some state allows, EOS included.
        stuck_states: Reached character states that this vocabulary cannot finish; trimmed.
        bytes_held: Bytes of the finished tables.
        method: How the machines were composed: ``"functions"``, ``"rows"`` or ``"pynini"``;
            ``"lazy"`` and ``"free"`` if they were not. The names of filters follow, as in
            ``"functions, then canonical"``: a filter composes nothing.
        find_lost: Computes `lost`. Figures of all states are 0 where a machine does not know them.
        kind: The kind of machine: ``"table"``, ``"lazy"``, ``"canonical"`` or ``"free"``.
        reason: Why `compile` chose this kind, as a sentence; empty where it was asked for.
        byte_machine: The machine over bytes: ``"closed"``, with all states known, or
            ``"discovered"``, one that discovers its states while it is used. The figures of the
            latter are those at the end of the compilation.
        find_warnings: Computes `warnings`.
        find_decisions: Computes `decisions`.
    """

    milliseconds: dict[str, float]
    character_states: int
    byte_classes: int
    reached_states: int
    token_states: int
    token_classes: int
    live_tokens: int
    stuck_states: int
    bytes_held: int
    method: str
    find_lost: Callable[[], Lost] = field(repr=False, compare=False)
    kind: str = "table"
    reason: str = ""
    byte_machine: str = "closed"
    find_warnings: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)
    find_decisions: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """The parts of the constraint that the machine leaves out, a sentence each.

        Computed on first use; see ``strict=False`` of `explorer.json_schema`.
        """
        return self.find_warnings()

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """The decisions taken where the constraint leaves a choice, a sentence each.

        Of a JSON Schema: the order of members, white space, escapes, undescribed values, recursive
        references, and each keyword that is ignored. Empty for a machine that was read back from a
        file, and for constraints without a choice.
        """
        return self.find_decisions()

    @cached_property
    def lost(self) -> Lost:
        """The character states and arcs that this vocabulary cannot write.

        Empty where every live byte is a token, which is known at once. Otherwise they are computed
        on first use, by one walk of the vocabulary per token state.
        """
        return self.find_lost()

    @property
    def total_milliseconds(self) -> float:
        """The sum over all stages."""
        return sum(self.milliseconds.values())

    def to_dict(self) -> dict[str, object]:
        """A plain mapping for JSON."""
        values = {name: getattr(self, name) for name in FIGURES}
        return {
            **values,
            "kind": self.kind,
            "reason": self.reason,
            "byte_machine": self.byte_machine,
            "warnings": list(self.warnings),
            "decisions": list(self.decisions),
            "total_milliseconds": self.total_milliseconds,
        }

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {value:.2f}" for name, value in self.milliseconds.items())
        stuck = (
            f"; {self.stuck_states} character states cannot be finished with this vocabulary"
            if self.stuck_states
            else ""
        )
        if self.kind != "table":
            met = " met" if self.byte_machine == "discovered" else ""
            return (
                f"{self.character_states} character states{met} over {self.byte_classes} byte "
                f"classes; "
                f"{self.kind}: rows are worked out as they are visited; "
                f"{self.total_milliseconds:.2f} ms ({stages})"
                + (f"; {self.reason}" if self.reason else "")
            )
        return (
            f"{self.character_states} character states over {self.byte_classes} byte classes → "
            f"{self.token_states} token states, {self.token_classes} token classes, "
            f"{self.live_tokens:,} live tokens, {self.bytes_held / 1024:,.0f} kB; "
            f"{self.total_milliseconds:.2f} ms ({stages}){stuck}"
        )


FIGURES = tuple(
    name
    for name in Report.__dataclass_fields__
    if name
    not in ("find_lost", "find_warnings", "find_decisions", "kind", "reason", "byte_machine")
)
"""The fields of a `Report` that are figures; a file of a table keeps these and the warnings."""
