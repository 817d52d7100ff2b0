"""A part of a constraint and its role at one place, as explanations name it; and the question
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
        source: The source that contains it.
        start, end: Its span in the text of that source; ``None`` if it is not written there.
        text: Its text: a piece of the source's text, or the matching texts of a choice.
        label: A name beside its span, such as ``/properties/age``; may be empty.
        phases: The phases of the run that contain it, the outermost first.
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
    """A part of the constraint and its role at one place.

    Args:
        role: ``expects``: it must go on at its positions. ``excludes``: it forbids what its rival
            would allow. ``combination``: several parts together. ``state``: a machine without
            source. ``too_large``: its layout exceeds the limits.
            ``token_limit``: its text would go on, but its limit on tokens is used up.
        source: The source that contains it.
        path: The path to that source: the number of the child at each level.
        positions: The live places in it; for an excluding assertion, the assertion.
        words: Words as evidence: for ``excludes`` a word that it forbids, for ``combination``
            one word of each operand.
        state: For ``state``: the state of the machine.
        assertion: For an excluding assertion: its kind.
        note: For ``expects``: one more sentence, such as the open rules of a grammar.
        operands: For ``combination``: the text of each operand, in the order of ``words``.
        phases: The phases of the run that contain it, the outermost first; see `named_phases`.
        beside: For ``state``: whether another part forbids it as well, so that this is not the
            only reason.
        limit: For ``token_limit``: the name of the part, if it has one, and the most tokens.
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
        """The distinct phases of its positions; its own if it has no positions."""
        inside = [place.phases for place in self.positions] or [self.phases]
        return tuple(dict.fromkeys(phases for phases in inside if phases))

    @property
    def marked(self) -> tuple[MarkedText, ...]:
        """The texts that contain positions, each with their spans, in the order of the first.

        The parts of a template have texts of their own, so where a part may go on or end there are
        two: its own and the template's.
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
        """The text that contains all positions, if they have one source; else empty."""
        marked = self.marked
        unmarked = any(place.span is None for place in self.positions)
        return marked[0].text if len(marked) == 1 and not unmarked else ""

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The spans of the positions in `pattern`; if that is empty, in the text of `source`."""
        one = bool(self.pattern)
        places = (place for place in self.positions if one or place.source == self.source)
        return tuple(place.span for place in places if place.span is not None)


def source_places(places: Iterable[LivePlace], source: Source) -> tuple[SourcePlace, ...]:
    """The distinct places in sources of a configuration's live places.

    Args:
        source: The source of places whose node names none.
    """
    # The texts of a choice share prefixes, so several origins may be one place.
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
    """The texts of a choice with a prefix, in byte order."""
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
    """The state of a machine after a text; `NO_ARC` where no word has this prefix."""
    if machine.start == NO_ARC:
        return NO_ARC
    return int(run(machine, machine.start, text)[-1])


@dataclass(frozen=True, slots=True)
class PlaceQuestion:
    """The question of what comes next after a text, or why a byte does not.

    Args:
        text: The text that was read, a prefix of some word.
        byte: The byte that fails after it; ``None`` asks what must come before the text may end.
        begin: The offset of the character that contains the byte, at most ``len(text)``.
        only: Count only places that read one of these bytes; ``None`` for all.
        boundary: An offset at which a token is known to begin; ``None`` without one.
    """

    text: bytes
    byte: int | None
    begin: int
    only: bytes | None = None
    boundary: int | None = None

    def shifted(self, begin: int) -> PlaceQuestion:
        """The same question for a part that begins at an offset of the text."""
        known = self.boundary is not None and self.boundary >= begin
        return replace(
            self, text=self.text[begin:], begin=max(self.begin - begin, 0),
            boundary=self.boundary - begin if known and self.boundary is not None else None,
        )  # fmt: skip

    @property
    def begun(self) -> bytes:
        """The text without an unfinished character at its end."""
        return self.text[: self.begin]

    def expected(self, machine: ByteMachine) -> bytes:
        """The bytes that a machine expects after the text, of those in ``only``."""
        expected = machine.expected(state_after(machine, self.begun))
        if self.only is None or self.begin != len(self.text):
            return expected
        return bytes(byte for byte in expected if byte in self.only)

    @property
    def longer(self) -> bytes:
        """The text with the byte."""
        return self.text if self.byte is None else self.text + bytes([self.byte])
