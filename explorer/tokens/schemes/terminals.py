"""A grammar over terminals: a regex for each terminal, rules over their names, and a parser.

Systems that know a lexer and a parser see texts in this way. The same language as a constraint of
this library, over characters, is `TerminalGrammar.constraint`.

The parser is the machine of the same rules over one character for each terminal
(`explorer.automata.stacks`): its states, called *charts*, stand for the terminals so far, and say
which may come next. The grammar may be ambiguous and left-recursive. A rule that has no words is
refused, so every chart can go on to a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from explorer.automata.machine import NO_ARC, ByteMachine, Dfa
from explorer.automata.rules.network import regular
from explorer.automata.stacks.of_grammar import of_grammar
from explorer.automata.tree.charset import character
from explorer.automata.tree.nodes import Branch, Call, Concat, Empty, Literal, Node, Rules
from explorer.budget import Budget, Meter
from explorer.errors import ConstraintError
from explorer.languages.constraint import Constraint, regex
from explorer.languages.grammar.functions import grammar

Alternatives = tuple[tuple[str, ...], ...]

_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


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
        for rule in self.rules.keys() - self._derived_from(self.terminals):
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

    @cached_property
    def _parser(self) -> ByteMachine:
        def symbol(name: str) -> Node:
            code = self._codes.get(name)
            return Call(0, 0, name) if code is None else Literal(0, 0, character(code))

        def option(symbols: tuple[str, ...]) -> Node:
            return Concat(0, 0, tuple(map(symbol, symbols))) if symbols else Empty(0, 0)

        rules: dict[str, Node] = {
            name: Branch(0, 0, tuple(map(option, alternatives)))
            for name, alternatives in self.rules.items()
        }
        return of_grammar(Rules(0, 0, next(iter(rules)), rules, regular), Budget(), Meter())

    @cached_property
    def _codes(self) -> dict[str, str]:
        """The character that stands for each terminal."""
        return {name: chr(k) for k, name in enumerate(self.terminals)}

    @property
    def first_chart(self) -> int:
        """The chart before the first terminal."""
        return self._parser.start

    def expected(self, chart: int) -> frozenset[str]:
        """The terminals that a chart expects next.

        Args:
            chart: A number that `first_chart` or `after` gave.
        """
        return frozenset(name for name in self.terminals if self.after(chart, name) is not None)

    def after(self, chart: int, terminal: str) -> int | None:
        """The chart after one more terminal; ``None`` where the terminal is not expected."""
        for byte in self._codes[terminal].encode():
            chart = self._parser.step(chart, byte)
        return None if chart == NO_ARC else chart

    def complete(self, chart: int) -> bool:
        """Whether the terminals up to a chart are a whole text."""
        return self._parser.is_accepting(chart)

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
        """The rules that may be empty."""
        return self._derived_from(())

    def _derived_from(self, names: Iterable[str]) -> frozenset[str]:
        """The names, and the rules with an alternative of such names alone."""
        known = set(names)
        while True:
            more = {
                name
                for name, alternatives in self.rules.items()
                if name not in known and any(known.issuperset(option) for option in alternatives)
            }
            if not more:
                return frozenset(known)
            known |= more


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
