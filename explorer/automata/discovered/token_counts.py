"""Parts with a limit on their tokens, which are counted while the text is read.

``gen(..., max_tokens=200)`` says something about tokens, so its machine reads bytes and the ends of
tokens (`explorer.automata.tree.build`). Written out it has the states of the part for each
number of tokens. Here the parts are machines of their own that are discovered, and a state says
where in which part the text may be, and after how many tokens of it.

The tree becomes a small graph whose arcs are parts. A *way* is an arc, a state of its part's
machine, and a count: twice the tokens that write the part so far, plus one where the token that is
being written has not been counted. Of two ways that differ in the count only, the lower one can do
all that the other can, so a state keeps the lowest. A way that has used its tokens up can go no
further; as a token may be as long as it likes, every other way can finish.

Only limits are counted: a tree that asks for certain tokens (``TEXT_TOKEN``), or combines limits by
intersection or difference, is written out.

Cost: some microseconds for each way and class of bytes, in Python, once for each state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.discovered.discovered import Discovered, apart
from explorer.automata.discovered.whole_rows import WholeRows, joint_classes
from explorer.automata.machine import NO_ARC, Bool, ByteMachine
from explorer.automata.tree.build import speaks_of_tokens
from explorer.automata.tree.nodes import (
    Branch,
    Concat,
    Empty,
    Group,
    Node,
    Repeat,
    Rules,
    TokenLimit,
    Written,
    walk,
)
from explorer.budget import Meter

MOST_PARTS: Final = 20_000
"""The most parts of a graph, in which the body of a repetition is copied."""

STAGE: Final = "The discovery of states over the ends of tokens"

UNLIMITED: Final = -1
"""The value that stands for no limit on the tokens."""


@dataclass(frozen=True, slots=True)
class PartArc:
    """A part between two nodes of the graph.

    Args:
        source, target: The nodes before and after it.
        machine: The index of its machine.
        most: The most tokens that may write it, or `UNLIMITED`.
    """

    source: int
    target: int
    machine: int
    most: int


@dataclass(frozen=True, slots=True)
class PartGraph:
    """The parts of a text and the orders in which they may come, as a graph.

    Args:
        nodes: The number of nodes; 0 is the first.
        silent: Pairs of nodes joined without any text.
    """

    nodes: int
    arcs: tuple[PartArc, ...]
    silent: tuple[tuple[int, int], ...]
    end: int
    machines: tuple[ByteMachine, ...] = field(repr=False)


_Way = tuple[int, int, int]
"""A way: an arc, a state of its machine, and the count."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """A state: whether a token is unfinished, whether the text is complete, and the ways."""

    inside: bool
    complete: bool
    ways: tuple[_Way, ...]


class CountingTokens(WholeRows[_Reached]):
    """The kind of a machine over bytes and the ends of tokens.

    Args:
        reached: The states met before.
    """

    stage = STAGE

    def __init__(self, graph: PartGraph, reached: tuple[_Reached, ...] = ()) -> None:
        self._graph = graph
        joint, self._lowest = joint_classes([*graph.machines])
        count = len(self._lowest)
        end = np.array([count], np.int32)  # The end of a token is a class of its own.
        self._leaving: list[list[int]] = [[] for _ in range(graph.nodes)]
        for number, arc in enumerate(graph.arcs):
            self._leaving[arc.source].append(number)
        self._silent: dict[int, list[int]] = {}
        for source, target in graph.silent:
            self._silent.setdefault(source, []).append(target)
        self._begun: dict[int, tuple[tuple[_Way, ...], bool]] = {}
        first, complete = self._from(0)
        start = _Reached(False, complete, _lowest_counts(first))
        super().__init__(np.concatenate([joint, end]), count + 1, [*reached] or [start])

    def _from(self, node: int) -> tuple[tuple[_Way, ...], bool]:
        """The ways that begin in a node, and whether the text may be complete in it."""
        known = self._begun.get(node)
        if known is not None:
            return known
        graph = self._graph
        met, waiting = {node}, [node]
        ways: list[_Way] = []
        while waiting:
            here = waiting.pop()
            further = [*self._silent.get(here, ())]
            for number in self._leaving[here]:
                arc = graph.arcs[number]
                machine = graph.machines[arc.machine]
                ways.append((number, machine.start, 0 if arc.most == UNLIMITED else 1))
                further += [arc.target] if machine.is_accepting(machine.start) else []
            waiting += set(further) - met
            met.update(further)
        begun = self._begun[node] = tuple(ways), graph.end in met
        return begun

    def can_start(self, meter: Meter) -> bool:
        """Whether the language has a word."""
        return bool(self._met[0].ways) or self._met[0].complete

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        read = np.zeros(NUM_BYTES, np.bool_)
        for machine in self._graph.machines:
            read |= machine.read
        return read

    def accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false within a token."""
        return self._met[state].complete and not self._met[state].inside

    def row(self, state: int, meter: Meter) -> list[int]:
        """The states after each class of bytes, and after the end of a token."""
        here = self._met[state]
        row = [self._after(here.ways, byte) for byte in self._lowest]
        row.append(self._ended(here))
        count = self.num_states
        meter.check(STAGE, states=count, arcs=count * len(row), bytes=count * (512 + 8 * len(row)))
        return row

    def _number(self, reached: _Reached) -> int:
        if not reached.ways and not reached.complete:
            return NO_ARC
        return self.number(reached)

    def _after(self, ways: Iterable[_Way], byte: int) -> int:
        """The state after a byte."""
        on_the_way: list[_Way] = []
        complete = False
        for number, state, count in ways:
            arc = self._graph.arcs[number]
            limited = arc.most != UNLIMITED
            count += count & 1 if limited else 0
            if limited and count > 2 * arc.most:
                continue
            machine = self._graph.machines[arc.machine]
            after = machine.step(state, byte)
            if after == NO_ARC:
                continue
            on_the_way.append((number, after, count))
            if machine.is_accepting(after):
                further, ends = self._from(arc.target)
                on_the_way += further
                complete |= ends
        return self._number(_Reached(True, complete, _lowest_counts(on_the_way)))

    def _ended(self, here: _Reached) -> int:
        """The state after the end of a token; a token writes at least one byte."""
        if not here.inside:
            return NO_ARC
        arcs = self._graph.arcs
        ways = (
            (number, state, count if arcs[number].most == UNLIMITED else count | 1)
            for number, state, count in here.ways
        )
        left = [way for way in ways if not self._is_used_up(way)]
        return self._number(_Reached(False, here.complete, _lowest_counts(left)))

    def _is_used_up(self, way: _Way) -> bool:
        most = self._graph.arcs[way[0]].most
        return most != UNLIMITED and way[2] > 2 * most

    def apart(self, meter: Meter) -> CountingTokens:
        """A copy over copies of the machines of the parts."""
        machines = tuple(apart(machine, meter) for machine in self._graph.machines)
        copy = CountingTokens(replace(self._graph, machines=machines), tuple(self._met))
        copy.table = self.table.copy()
        return copy

    def sent(self) -> tuple[Callable[..., CountingTokens], tuple[Any, ...]]:
        """The constructor and its arguments, the graph and the states met so far."""
        return CountingTokens, (self._graph, tuple(self._met))


def _lowest_counts(ways: Iterable[_Way]) -> tuple[_Way, ...]:
    """The ways, each arc and state with its lowest count only."""
    lowest: dict[tuple[int, int], int] = {}
    for number, state, count in ways:
        known = lowest.get((number, state))
        if known is None or count < known:
            lowest[number, state] = count
    return tuple(sorted((number, state, count) for (number, state), count in lowest.items()))


class NotCounted(Exception):
    """The tree is not a sequence of parts with limits; never raised outside this package."""


def limited_parts(node: Node, meter: Meter, discover: Callable[[Node], ByteMachine]) -> Discovered:
    """The discovered machine of a tree over bytes and the ends of tokens.

    Args:
        node: The root.
        meter: The limits on building it; its budget also limits the machine while it is used.
        discover: Makes the machine of a part without limits.

    Raises:
        NotCounted: The tree is of another kind.
        BudgetExceeded: A limit was reached.
    """
    return Discovered(CountingTokens(_Graph(meter, discover).of(node)), meter.budget)


class _Graph:
    def __init__(self, meter: Meter, discover: Callable[[Node], ByteMachine]) -> None:
        self._meter = meter
        self._discover = discover
        self._nodes = 1
        self._arcs: list[PartArc] = []
        self._silent: list[tuple[int, int]] = []
        self._machines: list[ByteMachine] = []
        self._known: dict[int, int] = {}
        self._kept: list[Node] = []  # Known by identity, so they must stay.

    def of(self, node: Node) -> PartGraph:
        end = self._lay(node, 0)
        return PartGraph(
            self._nodes, tuple(self._arcs), tuple(self._silent), end, tuple(self._machines)
        )

    def _fresh(self) -> int:
        self._nodes += 1
        return self._nodes - 1

    def _lay(self, node: Node, source: int) -> int:
        """Add a tree to the graph from a node on; return the node where it ends."""
        if not speaks_of_tokens(node):
            return source if isinstance(node, Empty) else self._part(node, source, UNLIMITED)
        match node:
            case Group() | Written():
                return self._lay(node.body, source)
            case TokenLimit() if not speaks_of_tokens(node.body):
                return self._part(node.body, source, node.most)
            case Concat():
                return self._in_turn(node, source)
            case Branch():
                end = self._fresh()
                self._silent += [(self._lay(option, source), end) for option in node.options]
                return end
            case Repeat():
                return self._repeated(node, source)
            case _:
                raise NotCounted

    def _part(self, node: Node, source: int, most: int) -> int:
        if len(self._arcs) >= MOST_PARTS:
            raise NotCounted
        if id(node) not in self._known:
            self._meter.check_time("Laying out parts")
            self._known[id(node)] = len(self._machines)
            self._kept.append(node)
            machine = self._discover(node)
            if machine.start == NO_ARC or any(isinstance(each, Rules) for each in walk(node)):
                raise NotCounted
            self._machines.append(machine)
        target = self._fresh()
        self._arcs.append(PartArc(source, target, self._known[id(node)], most))
        return target

    def _in_turn(self, node: Concat, source: int) -> int:
        """Add consecutive parts; neighbours without limits become one part."""
        plain: list[Node] = []

        def flushed(here: int) -> int:
            if not plain:
                return here
            whole = plain[0] if len(plain) == 1 else Concat(node.start, node.end, tuple(plain))
            plain.clear()
            return self._part(whole, here, UNLIMITED)

        here = source
        for item in node.items:
            if speaks_of_tokens(item):
                here = self._lay(item, flushed(here))
            else:
                plain.append(item)
        return flushed(here)

    def _repeated(self, node: Repeat, source: int) -> int:
        here = source
        for _ in range(node.minimum):
            here = self._lay(node.body, here)
        end = self._fresh()
        self._silent.append((here, end))
        if node.maximum is None:
            again = self._fresh()
            self._silent.append((here, again))
            self._silent += [(last := self._lay(node.body, again), again), (last, end)]
            return end
        for _ in range(node.maximum - node.minimum):
            here = self._lay(node.body, here)
            self._silent.append((here, end))
        return end
