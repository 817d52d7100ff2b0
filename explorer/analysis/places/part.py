"""A part of a constraint and what it does at one place: what explanations name; and the question
that it answers: what comes next after a text, or why a byte does not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from explorer.alphabet import in_quotes
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import Source, Texts
from explorer.automata.tree.origin import Origin
from explorer.languages.written.configuration import LivePlace, open_rules
from explorer.tokens.walks.failing import run

MOST_TEXTS: Final = 4
"""The most texts of a choice that are named."""

Role = Literal["expects", "excludes", "combination", "state", "too_large", "token_limit"]


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """One place of a source.

    Args:
        source: The source that it was written in.
        start, end: Its span in the text of that source; ``None`` if it is not written there.
        text: As it was written: a piece of that text, or the texts of a choice that are alive.
        label: What the place is called beside its span, such as ``/properties/age``; may be empty.
        phases: The phases of the run that it is in, the outermost first.
    """

    source: Source
    start: int | None
    end: int | None
    text: str
    label: str = ""
    phases: tuple[str, ...] = ()

    @property
    def span(self) -> tuple[int, int] | None:
        """``(start, end)`` in characters of the source's text."""
        return None if self.start is None or self.end is None else (self.start, self.end)


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text of a source, and spans in it.

    Args:
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
        phases: The phases of the run that it is in, the outermost first; see `named_phases`.
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
    phases: tuple[str, ...] = ()

    @property
    def named_phases(self) -> tuple[tuple[str, ...], ...]:
        """The phases of its positions, each once; its own where it has none."""
        inside = [place.phases for place in self.positions] or [self.phases]
        return tuple(dict.fromkeys(phases for phases in inside if phases))

    @property
    def marked(self) -> tuple[MarkedText, ...]:
        """The texts that hold positions, each with their spans in it, in the order of the first.

        The parts of a template have texts of their own, so where a part may go on or end these are
        two: its own, and the template's.
        """
        by_source: dict[int, list[SourcePlace]] = {}
        for place in self.positions:
            if place.span is not None:
                by_source.setdefault(id(place.source), []).append(place)
        return tuple(
            MarkedText(places[0].source.text, tuple(p.span for p in places if p.span is not None))
            for places in by_source.values()
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


def source_places(places: Iterable[LivePlace], source: Source) -> tuple[SourcePlace, ...]:
    """The places of a configuration as places of sources, each once.

    Args:
        source: What was written, where nothing in the tree says so.
    """
    # The texts of a choice share their first letters, so some origins are one place.
    origins = {
        (id(each.source), id(each.node) if each.start == each.end else 0, each.start, each.end,
         each.before, each.label, each.phases): each
        for each in (place.origin for place in places)
    }  # fmt: skip
    return tuple(dict.fromkeys(_source_place(each, source) for each in origins.values()))


def _source_place(origin: Origin, source: Source) -> SourcePlace:
    source, start, end = origin.source or source, origin.start, origin.end
    if isinstance(origin.node, Texts):
        return SourcePlace(
            source, None, None, _alive(origin.node, origin.before), origin.label, origin.phases
        )
    if start == end:
        return SourcePlace(source, None, None, str(source), origin.label, origin.phases)
    return SourcePlace(source, start, end, source.text[start:end], origin.label, origin.phases)


@lru_cache(maxsize=64)
def _in_order(texts: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(sorted(text.encode() for text in texts))


def _alive(node: Texts, before: bytes) -> str:
    """The texts of a choice that begin so, in byte order."""
    data = _in_order(node.texts)
    low = high = bisect_left(data, before)
    while high < len(data) and data[high].startswith(before):
        high += 1
    shown = ", ".join(in_quotes(text.decode()) for text in data[low : min(high, low + MOST_TEXTS)])
    more = high - low - MOST_TEXTS
    return shown + (f", … {more:,} more" if more > 0 else "")


def expecting(
    places: Sequence[LivePlace], source: Source, path: tuple[int, ...]
) -> list[SourcePart]:
    """The parts that expect something: one for each rule, with the open rules beside the last.

    Args:
        places: The places at which the source goes on.
    """
    by_rule: dict[str, list[LivePlace]] = {}
    for place in places:
        by_rule.setdefault(place.rule, []).append(place)
    parts = [
        SourcePart("expects", source, path, source_places(group, source))
        for group in by_rule.values()
    ]
    if said := open_rules(places):
        parts[-1] = replace(parts[-1], note=said)
    return parts


def state_after(machine: ByteMachine, text: bytes) -> int:
    """The state of a machine after a text; `NO_ARC` where no word begins so."""
    if machine.start == NO_ARC:
        return NO_ARC
    return int(run(machine, machine.start, text)[-1])


@dataclass(frozen=True, slots=True)
class PlaceQuestion:
    """A question about one place of a text.

    Args:
        text: What was read; the beginning of some word.
        byte: The byte that fails there; ``None`` asks what must come before the text may end.
        begin: Where the character begins that the byte belongs to, at most ``len(text)``.
        only: Only the places that read one of these bytes; ``None`` for all.
        boundary: Where in the text a token surely begins; ``None`` if that is not known.
    """

    text: bytes
    byte: int | None
    begin: int
    only: bytes | None = None
    boundary: int | None = None

    def shifted(self, begin: int) -> PlaceQuestion:
        """The same question to a part that begins at an offset of the text."""
        known = self.boundary is not None and self.boundary >= begin
        return replace(
            self, text=self.text[begin:], begin=max(self.begin - begin, 0),
            boundary=self.boundary - begin if known and self.boundary is not None else None,
        )  # fmt: skip

    @property
    def begun(self) -> bytes:
        """The text without the bytes of a character that is not finished."""
        return self.text[: self.begin]

    def expected(self, machine: ByteMachine) -> bytes:
        """The bytes that a machine expects after it, of those that count."""
        expected = machine.expected(state_after(machine, self.begun))
        if self.only is None or self.begin != len(self.text):
            return expected
        return bytes(byte for byte in expected if byte in self.only)

    @property
    def longer(self) -> bytes:
        """The text with the byte."""
        return self.text if self.byte is None else self.text + bytes([self.byte])
