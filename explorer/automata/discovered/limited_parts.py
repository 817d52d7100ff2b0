"""Builds the graph of parts of a tree with limits on tokens."""

from __future__ import annotations

from collections.abc import Callable

from explorer.automata.discovered.discovered import Discovered
from explorer.automata.discovered.token_counts import (
    UNLIMITED,
    CountingTokens,
    PartArc,
    PartGraph,
)
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import (
    Branch,
    Concat,
    Empty,
    Group,
    Node,
    Repeat,
    Rules,
    TokenLimit,
    TokenPiece,
    Written,
    walk,
)
from explorer.budget import Meter

MOST_PARTS = 20_000
"""The most parts of a graph, in which the body of a repetition is copied."""


class NotCounted(Exception):
    """The tree is not a sequence of parts with limits; never raised outside this package."""


def speaks_of_tokens(node: Node) -> bool:
    """Whether a tree has a limit on tokens, or asks for specific tokens."""
    return any(isinstance(each, TokenPiece | TokenLimit) for each in walk(node))


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
