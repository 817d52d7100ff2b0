"""The kind of source that is any text before a pattern first matches.

A text is in the language if a match of the pattern that is written after it is the first one: it
begins where the text ends, and no match begins before. So for a pattern that is one text, the
language is that of `explorer.languages.template.until`. What looks beyond the match, such as
``\\b`` or a lookahead, would depend on the text around, and is refused.

The machine's states are sets of states of the pattern's machine: the matches that have begun and
not ended. A word of the pattern along which none of them ends shows that the text may stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

from explorer.arguments import instance
from explorer.automata.construction.operations import intersection
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Deferred, Node, Source
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.regex.source import Regex
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.sources.registry import register

STAGE = "The text before a match"


@register("text until a match")
@dataclass(frozen=True)
class UntilMatch(Source):
    """Any text before a pattern first matches.

    Example:
        >>> from explorer import gen
        >>> sentence = gen(stop_regex="[.!?] ?")
        >>> sentence.accepts("3,5 or so"), sentence.accepts("Well. So")
        (True, False)
    """

    kind: ClassVar[str] = "until match"
    plain_text: ClassVar[bool] = False

    stop: Regex

    def lower(self) -> Node:
        """One machine."""
        return Deferred(0, len(self.text), self._build, self._locate)

    def _build(self, meter: Meter) -> Dfa:
        return intersection(any_text(), before_match(build(self.stop.tree, meter), meter), meter)

    def _locate(self, data: bytes, byte: int | None = None) -> tuple[tuple[int, int, str], ...]:
        return ((0, len(self.text), ""),)

    def fields(self) -> dict[str, object]:
        """A mapping without further fields."""
        return {}

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The pattern that was saved."""
        return cls.of(instance("stop", children[0], Regex, "a pattern"))

    @classmethod
    def of(cls, stop: Regex) -> Self:
        """The pattern that a user gave.

        Raises:
            ConstraintError: The pattern looks at the text around, matches nothing or the empty
                text, or speaks about tokens.
        """
        if stop.over_tokens or stop.parsed.has_assertions:
            about = "tokens" if stop.over_tokens else "the text around it"
            raise ConstraintError(
                f"The pattern of stop_regex is about {about}: {stop}.",
                remedy="Write what is read at the stop itself, such as [.!?] or \\\\n\\\\n.",
            )
        machine = build(stop.tree, Meter())
        if machine.start == NO_ARC or machine.accepting[machine.start]:
            matches = "no text" if machine.start == NO_ARC else "the empty text"
            raise ConstraintError(
                f"The pattern of stop_regex matches {matches}: {stop}.",
                remedy="Give one whose matches have at least one character, such as [.!?]+.",
            )
        return cls(stop)

    def __str__(self) -> str:
        return f"gen(stop_regex={self.stop.pattern!r})"


def before_match(stop: Dfa, meter: Meter) -> Dfa:
    """The byte strings after which a word of a machine is its first match.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    arcs, accepting = stop.table.tolist(), stop.accepting.tolist()
    classes = stop.symbol_class.tolist()
    symbols = sorted(set(classes))

    def read(begun: frozenset[int], symbol: int) -> frozenset[int] | None:
        """The matches after a byte; ``None`` where one of them ends."""
        after = frozenset(arcs[state][symbol] for state in begun) - {NO_ARC}
        return None if any(accepting[state] for state in after) else after

    def may_end(begun: frozenset[int]) -> bool:
        """Whether some word of the machine can follow in which no earlier match ends."""
        waiting = [(stop.start, begun)]
        seen = set(waiting)
        while waiting:
            state, others = waiting.pop()
            meter.check(STAGE, states=len(seen))
            for symbol in symbols:
                target, after = arcs[state][symbol], read(others, symbol)
                if target == NO_ARC or after is None or (target, after) in seen:
                    continue
                if accepting[target]:
                    return True
                seen.add((target, after))
                waiting.append((target, after))
        return False

    sketch = Sketch(meter)
    start: frozenset[int] = frozenset()
    known = {start: sketch.state()}
    waiting = [start]
    cuts = [0, *(k for k in range(1, 256) if classes[k] != classes[k - 1]), 256]
    while waiting:
        begun = waiting.pop()
        meter.check(STAGE, states=len(known))
        for low, past in pairwise(cuts):
            after = read(begun | {stop.start}, classes[low])
            if after is None:
                continue
            if after not in known:
                known[after] = sketch.state()
                waiting.append(after)
            sketch.interval(known[begun], low, past - 1, known[after])
    return sketch.finish(known[start], [state for begun, state in known.items() if may_end(begun)])
