"""The kind of source that is any text before a stop appears.

A text is in the language if a stop that is written after it is the first stop. So the text after
the part decides nothing, and there is only one way to divide the whole text. With the stop
``"\\n\\n"``, the text ``"a\\n"`` is not in the language, because the first stop would then begin
inside of the text.

The machine is that of Knuth, Morris and Pratt: a state for each beginning of the stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final, Self, cast

from explorer.arguments import listed, wrong
from explorer.automata.construction.operations import intersection
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import Deferred, Node, Source
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

LONGEST_STOP: Final = 1000
"""The most bytes of a stop; its machine has a state for each."""


@register("text until a stop")
@dataclass(frozen=True)
class Until(Source):
    """Any text before one of some stops.

    Example:
        >>> from explorer.languages.constraint import Constraint
        >>> Constraint(Until(("END",))).accepts("ENEN"), Constraint(Until(("END",))).accepts("xEND")
        (True, False)
    """

    kind: ClassVar[str] = "until"
    plain_text: ClassVar[bool] = False

    stops: tuple[str, ...]

    def lower(self) -> Node:
        """One machine."""
        return Deferred(0, len(self.text), self._build, self._locate)

    def _build(self, meter: Meter) -> Dfa:
        machine = any_text()
        for stop in self.stops:
            machine = intersection(machine, before_stop(stop.encode(), meter), meter)
        return machine

    def _locate(self, data: bytes, byte: int | None = None) -> tuple[tuple[int, int, str], ...]:
        return ((0, len(self.text), ""),)

    def fields(self) -> dict[str, object]:
        """The stops."""
        return {"stops": list(self.stops)}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The stops that were saved."""
        return cls.of(fields["stops"])

    @classmethod
    def of(cls, stops: object) -> Self:
        """The stops that a user gave: a text, or several.

        Raises:
            ConstraintError: There is no stop, or a stop is empty, too long or not a text.
        """
        given = (
            [stops]
            if isinstance(stops, str)
            else listed("stop", stops, "a text or texts", error=ConstraintError)
        )
        for stop in given:
            if not isinstance(stop, str) or not stop:
                raise wrong("stop", stop, "a text of at least one character", error=ConstraintError)
            check_encodable(stop)
            if len(stop.encode()) > LONGEST_STOP:
                raise ConstraintError(
                    f"A stop has {len(stop.encode()):,} bytes; at most {LONGEST_STOP:,} are read.",
                    remedy="Use its beginning.",
                )
        if not given:
            raise ConstraintError("There is no stop.", remedy='Give one, such as stop="\\n".')
        return cls(tuple(dict.fromkeys(cast("list[str]", given))))

    def __str__(self) -> str:
        one = self.stops[0] if len(self.stops) == 1 else list(self.stops)
        return f"gen(stop={one!r})"


def before_stop(stop: bytes, meter: Meter) -> Dfa:
    """The byte strings after which a stop is the first one."""
    # fallback[k]: the longest beginning of the stop that ends the first k bytes of it, and is not
    # all of them.
    fallback = [0] * (len(stop) + 1)
    for k in range(1, len(stop)):
        length = fallback[k]
        while length and stop[k] != stop[length]:
            length = fallback[length]
        fallback[k + 1] = length + (stop[k] == stop[length])

    def after(read: int, byte: int) -> int:
        while read and stop[read] != byte:
            read = fallback[read]
        return read + (stop[read] == byte)

    def is_last(read: int) -> bool:
        """Whether the stop written here is the first one."""
        for byte in stop[:-1]:
            read = after(read, byte)
            if read == len(stop):
                return False
        return True

    sketch = Sketch(meter)
    states = [sketch.state() for _ in stop]
    symbols = sorted(set(stop))
    edges = [-1, *symbols, 256]
    for read, state in enumerate(states):
        for low, high in pairwise(edges):
            if high - low > 1:
                sketch.interval(state, low + 1, high - 1, states[0])
        for byte in symbols:
            target = after(read, byte)
            if target < len(stop):
                sketch.byte(state, byte, states[target])
    return sketch.finish(states[0], [states[read] for read in range(len(stop)) if is_last(read)])
