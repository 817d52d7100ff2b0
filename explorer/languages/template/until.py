"""The kinds of sources that are any text before a stop: a fixed text, or a match of a pattern.

A text is in the language if a stop written after it is the first stop of both together: no stop
begins inside the text. So the text after the part makes no difference, and there is only one way to
divide the whole text. With the stop ``"\\n\\n"``, the text ``"a\\n"`` is not in the language,
because the first stop would begin inside the text. Assertions of a pattern, such as ``\\b`` or a
lookahead, would depend on the surrounding text and are refused.

For fixed stops, these are the texts without a stop that, for some stop, do not end with a beginning
which that stop would complete. For a pattern, they are those that some word of the pattern can
follow in which no match begins earlier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, cast

import numpy as np

from explorer.arguments import instance, listed, wrong
from explorer.automata.construction.minimize import minimize
from explorer.automata.construction.operations import dfa_to_nfa, difference, intersection, union
from explorer.automata.construction.subset import minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Nfa
from explorer.automata.tree.build import build
from explorer.automata.tree.nodes import Concat, Deferred, Machine, Node, Source, Texts
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import ConstraintError
from explorer.languages.phases.free import strings_of, text_without
from explorer.languages.regex.source import Regex
from explorer.languages.sources.choice import check_encodable
from explorer.languages.sources.registry import register

MARK: Final = 0xFF
"""The byte that stands between a text and a match; no text has it."""

_NO_MOVES: Final = np.empty((0, 2), np.int32)

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
        """One machine, built later."""
        return Deferred(0, len(self.text), self.machine)

    def machine(self, meter: Meter) -> Dfa:
        """The texts without a stop after which some stop is the first one."""
        free = text_without(strings_of(self.stops))
        ways: list[Dfa] = []
        for stop in self.stops:
            # The beginnings of stops that this one would complete, so that they come sooner.
            begun = {
                each[:k] for each in self.stops for k in range(1, len(each))
                if stop.startswith(each[k:])
            }  # fmt: skip
            if not begun:
                return free
            ending = Concat(0, 0, (Machine(0, 0, any_text()), Texts(0, 0, tuple(begun))))
            ways.append(difference(free, build(ending, meter), meter))
        return union(ways, meter)

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The stops that were saved."""
        return cls.of(fields["stops"])

    @classmethod
    def of(cls, stops: object) -> Self:
        """The source of one stop or several, which are checked.

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
        """One machine, built later."""
        return Deferred(0, len(self.text), self.machine)

    def machine(self, meter: Meter) -> Dfa:
        """The texts before a match."""
        return intersection(any_text(), before_match(build(self.stop.tree, meter), meter), meter)

    @classmethod
    def load(cls, fields: Mapping[str, object], children: tuple[Source, ...]) -> Self:
        """The pattern that was saved."""
        return cls.of(instance("stop", children[0], Regex, "a pattern"))

    @classmethod
    def of(cls, stop: Regex) -> Self:
        """The source of a pattern, which is checked.

        Raises:
            ConstraintError: The pattern has assertions, matches nothing or the empty text, or
                speaks about tokens.
        """
        if stop.over_tokens or stop.parsed.has_assertions:
            about = "tokens" if stop.over_tokens else "the text around it"
            raise ConstraintError(
                f"The pattern of stop_regex is about {about}: {stop}.",
                remedy="Write what is read at the stop itself, such as [.!?] or \\n\\n.",
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

    They are read with a mark behind them: what is left of all byte strings, a mark and a word, once
    those are taken away in which a match begins before the mark.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    word = dfa_to_nfa(stop)
    n, ends, over = word.num_states, word.accepting, 2 * word.num_states + 1

    def shifted(arcs: Int32, source: int, target: int) -> Int32:
        return arcs + np.array([source, 0, 0, target], np.int32)

    def machine(arcs: Sequence[Any], moves: Any, accepting: Int32) -> Dfa:
        rows = np.vstack([(0, 0, MARK - 1, 0), *arcs]).astype(np.int32)
        return minimal_dfa(Nfa(over + 1, 0, rows, np.array(moves, np.int32), accepting), meter)

    # State 0 reads anything, and `over` does when a match has ended; from 1 on a match is read that
    # begins before the mark, and from n + 1 on the rest of a match behind the mark.
    behind = shifted(word.arcs, n + 1, n + 1)
    first = word.arcs[word.arcs[:, 0] == word.start]
    begun = [shifted(first, -word.start, 1), shifted(word.arcs, 1, 1)]
    marks = [(1 + k, MARK, MARK, n + 1 + k) for k in range(n)]
    ended = [(end + k, over) for end in ends.tolist() for k in (1, n + 1)]
    earlier = machine(
        [*begun, *marks, behind, (over, 0, MARK, over)], ended, np.array([over], np.int32)
    )
    all_marked = machine([(0, MARK, MARK, n + 1 + word.start), behind], _NO_MOVES, ends + n + 1)
    marked = difference(all_marked, earlier, meter)
    if marked.start == NO_ARC:
        return marked
    table, mark = marked.table.copy(), marked.symbol_class[MARK]
    accepting = table[:, mark] != NO_ARC
    table[:, mark] = NO_ARC
    return minimize(Dfa(marked.symbol_class, table, accepting, marked.start), meter)
