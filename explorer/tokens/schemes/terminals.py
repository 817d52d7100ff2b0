"""A grammar over terminals: a regex for each terminal, rules over their names, and a parser.

Systems that know a lexer and a parser see texts in this way. The same language as a constraint of
this library, over characters, is `TerminalGrammar.constraint`.

The parser is Earley's (1970), over terminals: a *chart* stands for the terminals so far, and says
which may come next. Charts are numbered as they are met; the grammar may be ambiguous and
left-recursive. A rule that has no words is refused, so every chart can go on to a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from explorer.automata.machine import Dfa
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.grammar.functions import grammar

Alternatives = tuple[tuple[str, ...], ...]

_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_Item = tuple[str, int, int, int]
"""A rule, the number of its alternative, the number of symbols read, and the chart of its start."""


@dataclass(frozen=True)
class TerminalGrammar:
    """A grammar whose rules are written over terminals, each of which is a regex.

    Args:
        terminals: The pattern of each terminal; none matches the empty text.
        rules: The alternatives of each rule, each a tuple of names of terminals and rules; texts
            begin with the first rule.

    Raises:
        ConstraintError: A name is unknown or used twice, a rule has no words, or a terminal
            matches the empty text.

    Example:
        >>> sums = TerminalGrammar(
        ...     {"plus": r"\\+", "int": "[1-9][0-9]*|0+"},
        ...     {"E": (("E", "plus", "E"), ("int",))})
        >>> sums.constraint.accepts("12+0"), sums.constraint.accepts("12+")
        (True, False)
    """

    terminals: Mapping[str, str]
    rules: Mapping[str, Alternatives]
    _charts: list[_Chart] = field(
        default_factory=lambda: list[_Chart](), init=False, repr=False, compare=False
    )
    _following: dict[tuple[int, str], int | None] = field(
        default_factory=lambda: dict[tuple[int, str], int | None](),
        init=False, repr=False, compare=False,
    )  # fmt: skip

    def __post_init__(self) -> None:
        names = [*self.terminals, *self.rules]
        for name in names:
            if not _NAME.fullmatch(name) or names.count(name) > 1:
                raise ConstraintError(
                    f"{name!r} is not a name that stands for one terminal or one rule.",
                    remedy="Use letters, digits and underscores, and each name once.",
                )
        if not self.rules:
            raise ConstraintError("A grammar needs a rule.", remedy="Give at least one.")
        for rule, alternatives in self.rules.items():
            unknown = [s for option in alternatives for s in option if s not in names]
            if unknown:
                raise ConstraintError(
                    f"The rule {rule!r} uses {unknown[0]!r}, which is not defined.",
                    remedy="Define it as a terminal or as a rule.",
                    evidence={"rule": rule, "name": unknown[0]},
                )
        for rule in self.rules.keys() - self._productive():
            raise ConstraintError(
                f"The rule {rule!r} has no words: every alternative needs itself.",
                remedy="Give it an alternative that ends.",
                evidence={"rule": rule},
            )
        for name in self.terminals:
            if self.machines[name].is_accepting(self.machines[name].start):
                raise ConstraintError(
                    f"The terminal {name!r} matches the empty text.",
                    remedy="Make it optional in the rules instead.",
                    evidence={"terminal": name},
                )

    @cached_property
    def machines(self) -> Mapping[str, Dfa]:
        """The minimal machine of each terminal."""
        return {name: regex(pattern).dfa for name, pattern in self.terminals.items()}

    @cached_property
    def constraint(self) -> Constraint:
        """The language over characters, without borders of terminals."""

        def option(symbols: tuple[str, ...]) -> str:
            return " ".join(short[symbol] for symbol in symbols)

        short = {name: f"r{k}_{name.lower()}" for k, name in enumerate(self.rules)}
        short |= {name: f"T{k}_{name.upper()}" for k, name in enumerate(self.terminals)}
        root = next(iter(self.rules))
        lines = [f"start: {short[root]}"]
        for name, alternatives in self.rules.items():
            lines.append(f"{short[name]}: {' | '.join(map(option, alternatives))}")
        for name, pattern in self.terminals.items():
            lines.append(f"{short[name]}: /{pattern.replace('/', chr(92) + '/')}/")
        return grammar("\n".join(lines) + "\n", "lark", ambiguous=True)

    @property
    def first_chart(self) -> int:
        """The chart before the first terminal."""
        if not self._charts:
            root = next(iter(self.rules))
            begun = {(root, k, 0, 0) for k in range(len(self.rules[root]))}
            self._charts.append(self._closed(None, begun))
        return 0

    def expected(self, chart: int) -> frozenset[str]:
        """The terminals that a chart expects next.

        Args:
            chart: A number that `first_chart` or `after` gave.
        """
        return self._charts[chart].expected

    def after(self, chart: int, terminal: str) -> int | None:
        """The chart after one more terminal; ``None`` where the terminal is not expected."""
        key = (chart, terminal)
        if key not in self._following:
            here = self._charts[chart]
            if terminal not in here.expected:
                self._following[key] = None
            else:
                moved = {
                    (rule, k, dot + 1, origin)
                    for rule, k, dot, origin in here.items
                    if self._next(rule, k, dot) == terminal
                }
                self._charts.append(self._closed(here, moved))
                self._following[key] = len(self._charts) - 1
        return self._following[key]

    def complete(self, chart: int) -> bool:
        """Whether the terminals up to a chart are a whole text."""
        root = next(iter(self.rules))
        return any(
            rule == root and origin == 0 and dot == len(self.rules[rule][k])
            for rule, k, dot, origin in self._charts[chart].items
        )

    @cached_property
    def adjacent(self) -> Mapping[str, frozenset[str]]:
        """The terminals that may follow each terminal in some text."""
        firsts, lasts = self._edges(0), self._edges(-1)
        following: dict[str, set[str]] = {name: set() for name in self.terminals}
        for alternatives in self.rules.values():
            for symbols in alternatives:
                for i, left in enumerate(symbols):
                    for right in symbols[i + 1 :]:
                        for last in lasts[left]:
                            following[last] |= firsts[right]
                        if right not in self._empty:
                            break
        return {name: frozenset(after) for name, after in following.items()}

    def _edges(self, end: int) -> dict[str, set[str]]:
        """The terminals with which each symbol can begin (0) or end (-1)."""
        edges: dict[str, set[str]] = {name: {name} for name in self.terminals}
        edges |= {name: set() for name in self.rules}
        while True:
            before = sum(map(len, edges.values()))
            for name, alternatives in self.rules.items():
                for symbols in alternatives:
                    for symbol in symbols if end == 0 else symbols[::-1]:
                        edges[name] |= edges[symbol]
                        if symbol not in self._empty:
                            break
            if sum(map(len, edges.values())) == before:
                return edges

    @cached_property
    def _empty(self) -> frozenset[str]:
        empty: set[str] = set()
        while True:
            more = {
                name
                for name, alternatives in self.rules.items()
                if name not in empty and any(empty.issuperset(option) for option in alternatives)
            }
            if not more:
                return frozenset(empty)
            empty |= more

    def _productive(self) -> set[str]:
        known = set(self.terminals)
        while True:
            more = {
                name
                for name, alternatives in self.rules.items()
                if name not in known and any(known.issuperset(option) for option in alternatives)
            }
            if not more:
                return known & self.rules.keys()
            known |= more

    def _next(self, rule: str, option: int, dot: int) -> str | None:
        symbols = self.rules[rule][option]
        return symbols[dot] if dot < len(symbols) else None

    def _closed(self, before: _Chart | None, items: set[_Item]) -> _Chart:
        """The closure of items under prediction and completion."""
        place = 0 if before is None else before.place + 1
        path = [] if before is None else before.path()
        closed, waiting = set(items), list(items)
        while waiting:
            rule, option, dot, origin = waiting.pop()
            symbol = self._next(rule, option, dot)
            new: set[_Item] = set()
            if symbol is None:
                there = closed if origin == place else path[origin].items
                new = {
                    (name, k, at + 1, began)
                    for name, k, at, began in there
                    if self._next(name, k, at) == rule
                }
            elif symbol in self.rules:
                new = {(symbol, k, 0, place) for k in range(len(self.rules[symbol]))}
                if symbol in self._empty:
                    new.add((rule, option, dot + 1, origin))
            waiting += new - closed
            closed |= new
        reads = {self._next(rule, option, dot) for rule, option, dot, _ in closed}
        expected = frozenset(symbol for symbol in reads if symbol in self.terminals)
        return _Chart(place, before, frozenset(closed), frozenset(s for s in expected if s))


@dataclass(frozen=True, slots=True, eq=False)
class _Chart:
    """The items of Earley's parser after some terminals."""

    place: int
    before: _Chart | None
    items: frozenset[_Item]
    expected: frozenset[str]

    def path(self) -> list[_Chart]:
        """The charts from the first to this one."""
        charts: list[_Chart] = []
        at: _Chart | None = self
        while at is not None:
            charts.append(at)
            at = at.before
        return charts[::-1]


# Two grammars for figures, tests and benchmarks.

SUMS: Final = TerminalGrammar(
    {"plus": r"\+", "open": r"\(", "close": r"\)", "int": "([1-9][0-9]*)|(0+)"},
    {"E": (("E", "plus", "E"), ("open", "E", "close"), ("int",))},
)
"""The running example of Beurer-Kellner et al. (2024)."""

FLAT_OBJECT: Final = TerminalGrammar(
    {
        "open": r"\{", "close": r"\}", "colon": ":", "comma": ",", "space": " +",
        "string": r'"[^"\\\n]*"', "number": r"-?[0-9]+(\.[0-9]+)?", "word": "true|false|null",
    },
    {
        "object": (("open", "members", "close"),),
        "members": (("member",), ("members", "comma", "ws", "member")),
        "member": (("string", "colon", "ws", "value"),),
        "value": (("string",), ("number",), ("word",)),
        "ws": ((), ("space",)),
    },
)  # fmt: skip
"""A JSON object without nested values, with the usual spaces."""
