"""A part of a constraint and what it does at one place: what explanations name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.analysis.places.positions import SourcePlace
from explorer.automata.machine import NO_ARC
from explorer.automata.tree.nodes import Source

Role = Literal["expects", "excludes", "combination", "state", "too_large", "token_limit"]


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text of a source, and spans in it.

    Args:
        text: The text.
        spans: ``(start, end)`` in its characters, each.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A part of the constraint and what it does here.

    Args:
        role: ``expects``: it must go on at its positions. ``excludes``: it forbids what its rival
            would allow. ``combination``: several parts together. ``state``: a machine without
            source. ``too_large``: it could not be laid out within limits.
            ``token_limit``: its text goes on so, but no more tokens may write it.
        source: The source that it was written in.
        path: The way to that source: the number of the child at each level.
        positions: The live places in it; for an excluding assertion, the assertion.
        words: Words as evidence: for ``excludes`` a word that it takes away, for ``combination``
            one word of each operand.
        state: For ``state``: the state of the machine.
        assertion: For an excluding assertion: what kind it is.
        note: For ``expects``: one more sentence, such as which rules of a grammar are open.
        operands: For ``combination``: what each operand was written as, in the order of ``words``.
        beside: For ``state``: whether another part forbids it as well, so that the reason is not
            this one alone.
        limit: For ``token_limit``: what the part is called, if it has a name, and the most tokens.
    """

    role: Role
    source: Source
    path: tuple[int, ...]
    positions: tuple[SourcePlace, ...] = ()
    words: tuple[bytes, ...] = ()
    state: int = NO_ARC
    assertion: str = ""
    operands: tuple[str, ...] = ()
    limit: tuple[str, int] = ("", 0)
    note: str = ""
    beside: bool = False

    @property
    def marked(self) -> tuple[MarkedText, ...]:
        """The texts that hold positions, each with their spans in it, in the order of the first.

        The parts of a template have texts of their own, so where a part may go on or end these are
        two: its own, and the template's.
        """
        found: dict[int, list[SourcePlace]] = {}
        for place in self.positions:
            if place.span is not None:
                found.setdefault(id(place.source), []).append(place)
        return tuple(
            MarkedText(places[0].source.text, tuple(p.span for p in places if p.span is not None))
            for places in found.values()
        )

    @property
    def pattern(self) -> str:
        """The text that holds all positions, where one source does; else empty."""
        marked = self.marked
        unmarked = any(place.span is None for place in self.positions)
        return marked[0].text if len(marked) == 1 and not unmarked else ""

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The spans of the positions in `pattern`; where that is empty, in the text of `source`."""
        one = bool(self.pattern)
        places = (place for place in self.positions if one or place.source == self.source)
        return tuple(place.span for place in places if place.span is not None)
