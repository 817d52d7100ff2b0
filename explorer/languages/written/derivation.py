"""One derivation of a text so far: the rules that it has opened and closed, as they were written.

The machine that decides has merged rules, and its stack holds only the points to return to. A
person wants to see the rules as they were written: which of them are open, what each has read, and
what it waits for. The items of a configuration remember the first way in which they were reached;
followed back, these ways are one derivation, for any grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from explorer.automata.tree.nodes import Origin
from explorer.languages.written.configuration import (
    AROUND,
    Call,
    Configuration,
    Item,
    Point,
    WrittenProgram,
)


@dataclass(frozen=True, slots=True)
class ClosedRule:
    """A rule that has ended.

    Args:
        program: The source as it was written.
        last: The item at which the rule ended.
    """

    program: WrittenProgram = field(repr=False)
    last: Item = field(repr=False)

    @property
    def rule(self) -> str:
        """Its name."""
        return self.program.names[self.program.rule(self.last.point)]

    @property
    def start(self) -> int:
        """The number of bytes before it."""
        return self.last.begun.at

    @property
    def end(self) -> int:
        """The number of bytes up to its end."""
        return self.last.end

    @property
    def closed(self) -> tuple[ClosedRule, ...]:
        """The rules that have ended in it."""
        return _closed_in(self.program, self.last)


@dataclass(frozen=True, slots=True)
class OpenRule:
    """A rule that has begun and not ended.

    Args:
        rule: Its name; empty for what stands around a grammar.
        start: The byte of the text where it began.
        points: The points of the program at which it goes on; several if it may go on in several
            ways that began alike.
        call: The place in the grammar where it called the rule inside it; ``None`` for the
            innermost.
    """

    rule: str
    start: int
    points: tuple[Point, ...]
    call: Origin | None
    closed: tuple[ClosedRule, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One derivation of the beginning of a text.

    Args:
        open: The open rules, the innermost first; without what stands around a grammar alone.
        several: Whether other derivations have opened other rules.
    """

    open: tuple[OpenRule, ...]
    several: bool


def derivation(configuration: Configuration) -> Derivation:
    """The first derivation of the text that leads to a configuration.

    Example:
        >>> from explorer.budget import Budget
        >>> from explorer.languages.grammar.source import GbnfGrammar
        >>> from explorer.languages.written.configuration import Configurations
        >>> source = GbnfGrammar.of('root ::= "(" root ")" | [0-9]')
        >>> here = Configurations(source.lower(), Budget()).after(b"((1")
        >>> [(each.rule, each.start) for each in derivation(here).open]
        [('root', 1), ('root', 0)]
    """
    program, kernel = configuration.program, configuration.kernel
    item = kernel[0]
    points, several = _alike(program, [(each, each.point) for each in kernel])
    # A rule that can only end has ended: nothing waits for it, in the machine either.
    while not several and _calls_back(program, item) and program.must_end(points):
        calls = _calls(program, item)
        caller, after, _ = calls[0]
        points, several = _alike(program, [(each, point) for each, point, _ in calls])
        item = Item(after, caller.begun, configuration.at, caller, item)
    opened: list[OpenRule] = []
    call: Origin | None = None
    while True:
        name = program.names[program.rule(item.point)]
        opened.append(OpenRule(name, item.begun.at, points, call, _closed_in(program, item)))
        if not _calls_back(program, item):
            return Derivation(tuple(opened), several)
        calls = _calls(program, item)
        item, _, call = calls[0]
        points, others = _alike(program, [(each, point) for each, point, _ in calls])
        several |= others


def _calls(program: WrittenProgram, item: Item) -> Sequence[Call]:
    """The calls of the rule of an item."""
    return item.begun.calls[program.rule(item.point)]


def _alike(
    program: WrittenProgram, ways: Sequence[tuple[Item, Point]]
) -> tuple[tuple[Point, ...], bool]:
    """The points to go on at in the rule of the first item, begun at the same byte; and whether
    there are others.
    """
    first = ways[0][0]
    rule, start = program.rule(first.point), first.begun.at
    alike = {
        point for item, point in ways if item.begun.at == start and program.rule(item.point) == rule
    }
    return tuple(sorted(alike)), len(alike) < len({(item.begun.at, point) for item, point in ways})


def _calls_back(program: WrittenProgram, item: Item) -> bool:
    """Whether an item has a caller that is shown: not what stands around a grammar alone."""
    if program.rule(item.point) == AROUND:
        return False
    caller, after, _ = _calls(program, item)[0]
    return not (program.rule(caller.point) == AROUND and program.must_end((after,)))


def _closed_in(program: WrittenProgram, item: Item) -> tuple[ClosedRule, ...]:
    """The rules that have ended in a rule up to an item, in their order."""
    ended: list[ClosedRule] = []
    here: Item | None = item
    while here is not None:
        if here.closed is not None:
            ended.append(ClosedRule(program, here.closed))
        here = here.before
    return tuple(reversed(ended))
