"""The kind of source that is one part several times, and the division of a text into its pieces.

A text that is divided is a word of the concatenated pieces. Where more than one division is
possible, **each piece in turn, from the left, takes the longest stretch with which the rest still
fits**. This is what greedy quantifiers do, and it depends on nothing but the text and the pieces.

Each piece is a machine. One pass from the end of the text finds the places at which a piece may
begin so that the rest fits; one pass from the beginning then takes the longest stretches. The worst
case takes length × states of a piece steps in numpy; for a machine that discovers its states, as
that of a grammar does, length² steps in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final, Self

import numpy as np

from explorer.arguments import instance, whole_number
from explorer.automata.discovered.discover import small_or_discovered
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import (
    Branch,
    Concat,
    Deferred,
    Empty,
    Node,
    Repeat,
    Rules,
    Source,
    Written,
    letters,
    walk,
)
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

Piece = bytes | ByteMachine
"""A fixed text, or the machine of a generated part."""

MOST: Final = 10_000
"""The largest number of repetitions that is counted."""


MOST_NESTED: Final = 4
"""The most repetitions inside each other that are written out; each writes its part twice."""


def nesting(source: Source) -> int:
    """The depth of nested `Many` in a source.

    Example:
        >>> from explorer.languages.sources.choice import Choice
        >>> nesting(Many.of(Many.of(Choice.of(["a"]), 0, None, ","), 0, None, ";"))
        2
    """
    known: dict[int, int] = {}

    def depth(here: Source) -> int:
        if id(here) not in known:
            below = max(map(depth, here.children), default=0)
            known[id(here)] = below + isinstance(here, Many)
        return known[id(here)]

    return depth(source)


@register("many")
@dataclass(frozen=True)
class Many(Source):
    """A part several times.

    Args:
        maximum: The most times; ``None`` for no limit.
    """

    kind: ClassVar[str] = "many"
    plain_text: ClassVar[bool] = False

    part: Source
    minimum: int
    maximum: int | None
    separator: str

    def lower(self) -> Node:
        """The part, then the separator and the part repeated."""
        part = replace(self.part.tree, child=0)
        if self.maximum == 0:
            return Empty(0, 0)
        between = letters(self.separator, lambda _: (0, 0))
        fewest = max(self.minimum - 1, 0)
        most = None if self.maximum is None else self.maximum - 1
        later = part if nesting(self.part) < MOST_NESTED else self._built(part)
        again = Repeat(0, 0, Concat(0, 0, (between, later)), fewest, most, False)
        # Where two or more are needed, the first one is also written out beside this part.
        some = Concat(0, 0, (later if self.minimum > 1 else part, again))
        return some if self.minimum else Branch(0, 0, (some, Empty(0, 0)))

    def _built(self, part: Written) -> Written:
        """The part as a machine that is built once, because each level would double the tree.

        A part that speaks about tokens, or holds a grammar, is returned unchanged.
        """
        if self.part.over_tokens or any(isinstance(each, Rules) for each in walk(part)):
            return part
        known: list[Dfa] = []

        def make(meter: Meter) -> Dfa:
            if not known:
                known.append(build(part, meter))
            return known[0]

        return replace(part, body=Deferred(part.start, part.end, make))

    def parse(self, data: bytes) -> list[object]:
        """The parsed value of each repetition; see `stretches` for the division."""
        return [self.part.parse(stretch) for stretch in self.stretches(data)]

    def stretches(self, data: bytes) -> list[bytes]:
        """The bytes of each repetition; from the left, each takes as much as it can."""
        ends = self._ends(data)
        separator = self.separator.encode()
        parts: list[bytes] = []
        place = 0
        while not (place == len(data) and len(parts) >= self.minimum):
            begin = place + (len(separator) if parts else 0)
            place = longest(self._machine, data, begin, ends[min(len(parts) + 1, len(ends) - 1)])
            parts.append(data[begin:place])
        return parts

    def _ends(self, data: bytes) -> list[Bool]:
        """The places where the part may end for the k-th time; the last entry is for the rest."""
        separator = self.separator.encode()
        at_end = np.zeros(len(data) + 1, np.bool_)
        at_end[len(data)] = True
        if self.maximum is None:
            ends, fewest = [beginnings(self._more, data, at_end)], self.minimum
        else:
            # More repetitions than bytes would be empty, so they are never needed.
            ends, fewest = [at_end], max(self.minimum, min(self.maximum, len(data) + 1))
        for count in range(fewest - 1, -1, -1):
            begin = beginnings(self._machine, data, ends[0])
            here = beginnings(separator, data, begin) if count else begin
            ends.insert(0, here | at_end if count >= self.minimum else here)
        return ends

    @cached_property
    def _machine(self) -> ByteMachine:
        """The machine of the part."""
        return small_or_discovered(self.part.tree)

    @cached_property
    def _more(self) -> ByteMachine:
        """The machine of any number of further parts, each after a separator."""
        between = letters(self.separator, lambda _: (0, 0))
        part = self.part.tree
        return small_or_discovered(Repeat(0, 0, Concat(0, 0, (between, part)), 0, None, False))

    def fields(self) -> dict[str, object]:
        """The bounds of the repetition, and the separator."""
        return {"min": self.minimum, "max": self.maximum, "separator": self.separator}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The repetition of the part that was saved."""
        return cls.of(children[0], fields["min"], fields["max"], fields["separator"])

    @classmethod
    def of(cls, part: Source, minimum: object, maximum: object, separator: object) -> Self:
        """The source of a repetition, with checked arguments.

        Raises:
            ConstraintError: A number is not usable, or the separator is not a text.
        """
        fewest = whole_number("min", minimum, 0, MOST, error=ConstraintError)
        most = None
        if maximum is not None:
            most = whole_number("max", maximum, 0, MOST, error=ConstraintError)
            if most < fewest:
                raise ConstraintError(
                    f"max is {most}, which is less than min, {fewest}.",
                    remedy="Give a max of at least min, or None for no limit.",
                )
        between = instance("separator", separator, str, "a text", error=ConstraintError)
        check_encodable(between)
        return cls(part, fewest, most, between)

    def spelled(self) -> str:
        """The Python call that makes this source."""
        most = "" if self.maximum is None else f", max={self.maximum}"
        between = f", separator={self.separator!r}" if self.separator else ""
        return f"many({self.part.spelled()}, min={self.minimum}{most}{between})"

    def __str__(self) -> str:
        return self.spelled()


def beginnings(piece: Piece, data: bytes, ends: Bool) -> Bool:
    """The places where a piece may begin so that it ends at a permitted place.

    Args:
        ends: bool[n + 1], the places where the piece may end.

    Returns:
        bool[n + 1], the places where it may begin.
    """
    begins = np.zeros(len(data) + 1, np.bool_)
    if isinstance(piece, bytes):
        last = len(data) - len(piece)
        for place in range(last + 1):
            begins[place] = ends[place + len(piece)] and data.startswith(piece, place)
        return begins
    if piece.start == NO_ARC:
        return begins
    closed = piece.closed
    if closed is None:  # It discovers its states, so each place is tried.
        for place in range(len(data) + 1):
            end = longest(piece, data, place, ends)
            begins[place] = end > place or (piece.is_accepting(piece.start) and ends[place])
        return begins
    finishing = np.zeros(closed.num_states, np.bool_)
    for place in range(len(data), -1, -1):
        if place < len(data):
            targets = closed.table[:, closed.symbol_class[data[place]]]
            finishing = (targets != NO_ARC) & finishing[targets]
        if ends[place]:
            finishing = finishing | closed.accepting
        begins[place] = finishing[closed.start]
    return begins


def longest(piece: Piece, data: bytes, start: int, ends: Bool) -> int:
    """The furthest permitted place at which a piece that begins at ``start`` ends.

    Args:
        piece, data, ends: As in `beginnings`.
        start: A place from `beginnings`.
    """
    if isinstance(piece, bytes):
        return start + len(piece)
    furthest, state = start, piece.start
    for place in range(start, len(data) + 1):
        if piece.is_accepting(state) and ends[place]:
            furthest = place
        if place == len(data):
            break
        state = piece.step(state, data[place])
        if state == NO_ARC:
            break
    return furthest


def split(pieces: Sequence[Piece], data: bytes) -> list[bytes]:
    """The stretches of a text that belong to each of some pieces.

    Args:
        data: A word of the concatenated pieces.

    Example:
        >>> from explorer import regex
        >>> word = regex("[a-z ]+").dfa
        >>> split([word, b" ", word], b"a b c")
        [b'a b', b' ', b'c']
    """
    at_end = np.zeros(len(data) + 1, np.bool_)
    at_end[len(data)] = True
    ends = [at_end]
    for piece in reversed(pieces[1:]):
        ends.append(beginnings(piece, data, ends[-1]))
    ends.reverse()
    stretches: list[bytes] = []
    start = 0
    for piece, possible in zip(pieces, ends, strict=True):
        end = longest(piece, data, start, possible)
        stretches.append(data[start:end])
        start = end
    return stretches
