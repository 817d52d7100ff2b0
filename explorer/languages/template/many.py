"""The kind of source that is one part several times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from explorer.arguments import instance, whole_number
from explorer.automata.machine import Dfa
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
from explorer.automata.tree.parts import NamedPart
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.phases.followed import stretches
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

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
        part = replace(self.part.tree, child=0, part=NamedPart("value"))
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
        """The parsed value of each repetition; from the left, each takes as much as it can."""
        if not (data or self.minimum):
            return []
        # More repetitions than bytes would be empty, so they are never needed.
        copies = max(self.minimum, 1 << (len(data) + 1).bit_length())
        return [self.part.parse(stretch) for stretch in stretches(self, data, copies)]

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
