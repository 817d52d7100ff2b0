"""A trap: something that makes decoding go wrong although every mask is right.

Traps of one kind with one remedy are one trap in several places. The remedy names the keyword of a
schema (`maxLength`, `maxItems`), the bounds of a pattern, or the rule of a grammar.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast

from explorer.analysis.characters.display import show_text
from explorer.arguments import counted

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
    """One trap, with its evidence and a remedy.

    Args:
        kind: The kind of trap; see the module.
        message: The description, in a sentence or two.
        remedy: What could be done.
        state: The token state concerned, if any.
        position: The position of the trace concerned, if any.
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


PLACES: Final = 8
"""The most places that the message of a group names."""

_ENDLESS: Final[Mapping[str, str]] = {
    "number": "The digits of a number have no limit",
    "string": "A string has no limit to its length",
    "array": "An array has no limit to its items",
    "object": "An object has no limit to its members",
    "repeat": "A part repeats without limit",
}


def grouped_traps(traps: Iterable[Trap]) -> tuple[Trap, ...]:
    """Group the traps of the same kind and remedy.

    Returns:
        One trap for each group, in the order of their first. A group of one is that trap.
        The evidence of a larger one is that of its first, with their number ``traps``,
        ``places``, their names where they have one, and all ``states``.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(128)], eos_ids=[128])
        >>> texts = {"name": {"type": "string"}, "mail": {"type": "string"}}
        >>> person = {"type": "object", "properties": texts, "required": ["name", "mail"]}
        >>> closed = explorer.json_schema(person | {"additionalProperties": False})
        >>> from explorer.analysis.traps import machine_traps
        >>> for trap in grouped_traps(machine_traps(explorer.compile(closed, vocab))):
        ...     print(trap)
        A string has no limit to its length, in 2 places: name, mail. Give the string a "maxLength".
    """
    groups: dict[tuple[str, str, int | None], list[Trap]] = {}
    for trap in traps:
        groups.setdefault((trap.kind, trap.remedy, trap.position), []).append(trap)
    return tuple(one[0] if len(one) == 1 else _group(one) for one in groups.values())


def _group(traps: list[Trap]) -> Trap:
    first = traps[0]
    places = tuple(dict.fromkeys(place for place in map(_place, traps) if place))
    named = ", ".join(places[:PLACES]) + (", …" if len(places) > PLACES else "")
    size = counted(len(places) or len(traps), "place")
    what = first.evidence.get("what")
    if first.kind == "endless" and isinstance(what, str):
        message = f"{_ENDLESS[what]}, in {size}{f': {named}' if named else ''}."
    else:
        message = f"{first.message} This holds in {size}{f': {named}' if named else ''}."
    states = [state for trap in traps for state in _states(trap)]
    evidence = {**first.evidence, "traps": len(traps), "places": places}
    if states:
        evidence["states"] = tuple(dict.fromkeys(states))
    return replace(first, message=message, evidence=evidence)


def _states(trap: Trap) -> tuple[int, ...]:
    states = trap.evidence.get("states")
    if isinstance(states, tuple):
        return cast("tuple[int, ...]", states)
    return () if trap.state is None else (trap.state,)


def _place(trap: Trap) -> str:
    """The name of the place that a trap is about."""
    for name in ("where", "character"):
        value = trap.evidence.get(name)
        if isinstance(value, str) and value:
            return value
    texts, text = trap.evidence.get("texts"), trap.evidence.get("text")
    if isinstance(texts, tuple):
        return " / ".join(map(str, cast("tuple[object, ...]", texts)[:2]))
    return f"after {show_text(text, 24)}" if isinstance(text, bytes) and text else ""
