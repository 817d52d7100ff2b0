"""The places of a constraint at which some bytes can be read, in words: "in the argument city of
get_weather" and the like.

The states of its machine over bytes are searched, each with a text that leads to it, and grouped by
the name of the place where that text stops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from explorer.analysis.places.spans import SourcePlace, live_places
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, ExplorerError
from explorer.languages.constraint import Constraint
from explorer.languages.engines.source import EngineSchema
from explorer.languages.phases.structural import StructuralTag
from explorer.languages.schema.reading.text import spot_of
from explorer.languages.schema.source import JsonSchema

MOST_STATES: Final = 4_000
MOST_TEXT: Final = 400
MOST_PLACES: Final = 6


@dataclass(frozen=True)
class PlaceOfToken:
    """A place of the constraint, and an example of the text that leads to it."""

    name: str
    example: str

    def __str__(self) -> str:
        return f"{self.name} ({f'after {self.example}' if self.example else 'at the start'})"


class TextsOfStates:
    """The states of a constraint over bytes, each with a text that leads to it.

    A state that several tools share has a text for each of them.
    """

    def __init__(self, constraint: Constraint, budget: Budget | None) -> None:
        self.source = constraint.source
        self.machine: ByteMachine = constraint.discover(Meter(budget))
        self.whole = True
        names = self.source.names if isinstance(self.source, StructuralTag) else ()
        tools = [name[5:].encode() for _, name in names if name.startswith("tool ")]
        self.states: dict[tuple[int, bytes], bytes] = {(self.machine.start, b""): b""}
        waiting = list(self.states) if self.machine.start != NO_ARC else []
        try:
            for state, tool in waiting:  # The list grows while it is read.
                text = self.states[state, tool]
                for byte in _different(self.machine, state) if len(text) <= MOST_TEXT else ():
                    longer = text + bytes([byte])
                    last = next(filter(longer.endswith, tools), tool)
                    after = (self.machine.step(state, byte), last)
                    if self.states.setdefault(after, longer) is longer:
                        waiting.append(after)
                if len(self.states) > MOST_STATES:
                    self.whole = False
                    return
        except BudgetExceeded:
            self.whole = False

    def where(
        self, data: bytes | None
    ) -> tuple[tuple[PlaceOfToken, ...], tuple[PlaceOfToken, ...]]:
        """The places at which some bytes can be read, and the others.

        Args:
            data: The bytes; ``None`` for the end of the text.
        """
        sides: dict[bool, dict[str, PlaceOfToken]] = {True: {}, False: {}}
        for (state, tool), text in self.states.items():
            here = state
            for byte in data or b"":
                here = self.machine.step(here, byte) if here != NO_ARC else NO_ARC
            if data is None and here != NO_ARC and not self.machine.is_accepting(state):
                here = NO_ARC
            side = sides[here != NO_ARC]
            if _is_text(text) and len(side) <= MOST_PLACES:
                at_end = data is None and here != NO_ARC
                name = "where the text is complete" if at_end else self._name(text, tool.decode())
                example = text[-40:].decode(errors="replace").replace("\n", "\\n")
                side.setdefault(name, PlaceOfToken(name, example))
        taken, refused = sides[True], sides[False]
        others = tuple(place for name, place in refused.items() if name not in taken)
        return tuple(taken.values())[:MOST_PLACES], others[:MOST_PLACES]

    def _name(self, text: bytes, tool: str) -> str:
        """The name of the place at which a text stops.

        Args:
            tool: The tool whose name came last in the text.
        """
        if isinstance(self.source, JsonSchema | EngineSchema):
            return _json_place(text)
        try:
            places = live_places(self.source, text)
        except ExplorerError:
            return "at the end"
        phases = {place.phases[-1] for place in places if place.phases}
        called = sorted(name[5:] for name in phases if name.startswith("tool "))
        if len(called) > 1:
            return "in the name of a tool"
        # Places inside a schema have no phase: the name in the markup before says which tool it is.
        inside = tool if any(place.label and not place.phases for place in places) else ""
        names = [_place_of(place, "".join(called) or inside, bool(called)) for place in places]
        return " or ".join(dict.fromkeys(names[:2])) or "at the end"


def _is_text(data: bytes) -> bool:
    """Whether some bytes are whole characters, or hold a control token."""
    return b"\xf8" in data or "\ufffd" not in data.decode(errors="replace")


def _different(machine: ByteMachine, state: int) -> Iterator[int]:
    """One byte of each readable class, with letters first."""
    seen: set[int] = set()
    for byte in sorted(machine.expected(state), key=lambda byte: (not 97 <= byte <= 122, byte)):
        kind = int(machine.symbol_class[byte])
        if kind not in seen:
            seen.add(kind)
            yield byte


def _place_of(place: SourcePlace, tool: str, markup: bool) -> str:
    """The name of a place in a source: its phase, and the part of it.

    Args:
        tool: The tool whose call it is in; empty outside of calls.
        markup: Whether it is in the markup of the call.
    """
    label = place.label or ""
    if tool:
        argument = re.match(r"/properties/([^/]+)", label)
        part = f"argument {argument[1]}" if argument else "arguments"
        return f"in the {'markup' if markup and not label else part} of {tool}"
    if place.phases:
        return f"in the phase {place.phases[-1]}, {label or 'in free text'}"
    if label or place.text.lstrip().startswith('"'):
        return label or "outside of calls"
    return f"at {place.text[:30]}" if place.text.strip() else "in free text"


def _json_place(text: bytes) -> str:
    """The place at which a JSON text stops, in words."""
    spot = spot_of(text)
    names = [str(step) for _, step in spot.steps]
    if "" in names:  # The shortest name of a member that the schema does not list.
        return "in a value that the schema does not describe"
    at = " at " + "".join(f"/{step}" for step in names) if names else ""
    if spot.value.startswith(b'"') and not spot.is_finished:
        return f"inside the string{at}"
    if spot.value and not spot.is_finished:
        return f"inside a number or a word{at}"
    if spot.outline is not None and spot.outline.rpartition(b",")[2].count(b'"') % 2:
        return f"inside a name{at}"
    return f"between the tokens of JSON{at}"
