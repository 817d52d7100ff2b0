"""The byte machine of any grammar: it follows every stack that a text can lead to.

A *configuration* is a set of pairs: a state of the network
(`explorer.automata.rules.network`) that reads, and a *stack node*, which says how the rule
of that state was called. A stack node is the set of its returns: pairs of a state to go on in, and
the stack node around that. So a thousand stacks that differ at the bottom only share their top
(Tomita 1986), and the number of nodes that a text makes is at most that of its bytes times that of
the rules.

The rules that are called between two bytes make new nodes, one for each rule (Scott and Johnstone
2010), which may go in a circle: that is what left recursion is. To know a node again, whatever text
made it, it is kept under its returns; nodes in a circle under the whole circle, where each is named
by its rule. So equal sets of stacks are one configuration, and have one number.

A call that is the last thing in its rule hands its returns on and makes no node of its own: a list
of a million entries has the stack of one.

Exact for every context-free grammar. Every configuration can be finished, because rules without
words were left out of the network.

Cost: some tens of microseconds per configuration, in Python;
`explorer.automata.stacks.single` is the fast way where one stack is all there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from explorer.automata.construction.rows import BY_ROWS, FINISHED
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.discovered.whole_rows import WholeRows
from explorer.automata.machine import NO_ARC, Bool, Network, UInt32, WordWalk
from explorer.automata.rules.pieces import components
from explorer.budget import Budget, Meter

STAGE: Final = "Following the stacks of a grammar"

MOST_KEPT: Final = 100_000
"""The most states that masks add to; a text adds its own."""

MOST_ALIKE: Final = 10_000
"""The most sets of states whose symbols are grouped at a time."""

BOTTOM: Final = 0
"""The stack node of the first rule; a return from it ends the text."""

Return = tuple[int, int]
"""A return state and the parent stack node. Nodes of the current step are negative."""

Configuration = tuple[tuple[int, int], ...]
"""Pairs of a state of the network and a stack node, ascending."""


class StackNodes:
    """The stack nodes met so far, each once.

    Attributes:
        returns: The returns of each node, ascending.
    """

    def __init__(self) -> None:
        self.returns: list[tuple[Return, ...]] = [()]
        self._numbers: dict[object, tuple[int, int]] = {}  # The first node, and the one after.
        self.held = 0

    def number(self, returns: tuple[Return, ...]) -> int:
        """The number of the node with these returns."""
        known = self._numbers.get(returns)
        return self._new(returns, [returns]) if known is None else known[0]

    def circle(self, members: list[tuple[int, tuple[Return, ...]]]) -> list[int]:
        """The numbers of nodes that return to each other in a circle.

        Args:
            members: The rule of each, ascending, and its returns, in which ``-1 - k`` stands for
                the k-th member.
        """
        key = tuple(members)
        known = self._numbers.get(key)
        if known is None:
            base = self._count - 1
            made = [
                tuple(sorted((t, base - g if g < 0 else g) for t, g in returns))
                for _, returns in members
            ]
            first = self._new(key, made)
        else:
            first = known[0]
        return list(range(first, first + len(members)))

    def copy(self) -> StackNodes:
        """The same nodes, to which others can be added."""
        nodes = StackNodes()
        nodes.returns, nodes._numbers = list(self.returns), dict(self._numbers)
        nodes.held = self.held
        return nodes

    @property
    def _count(self) -> int:
        """The number of nodes, which is the next number to give."""
        return next(reversed(self._numbers.values()))[1] if self._numbers else 1

    def _new(self, key: object, made: list[tuple[Return, ...]]) -> int:
        first = self._count
        self.returns[first:] = made  # In place of an addition that was interrupted.
        self._numbers[key] = first, first + len(made)
        self.held += sum(200 + 150 * len(returns) for returns in made)
        return first


class _Closing:
    """The closure of a configuration: the states that read the next byte, and new stack nodes."""

    def __init__(self, network: Network, nodes: StackNodes) -> None:
        self._network = network
        self._nodes = nodes
        self._here: dict[int, int] = {}  # The new node of each called rule.
        self._rules: list[int] = []
        self._returns: list[dict[Return, None]] = []
        self._heirs: list[dict[int, None]] = []  # Nodes that inherit all its returns.
        self._left: list[bool] = []  # Whether the rule may have ended already.
        self._items: dict[tuple[int, int], None] = {}
        self._waiting: list[tuple[int, int]] = []
        self.ends = False

    def close(self, configuration: Configuration) -> None:
        """Follow all calls and returns."""
        network = self._network
        for state, node in configuration:
            self._enter(state, node)
        while self._waiting:
            state, node = self._waiting.pop()
            for rule, after in network.calls[state]:
                callee = self._called(rule)
                if network.only_exits[after]:
                    self._inherit(callee, node)
                else:
                    self._add_return(callee, (after, node))
            if network.exits[state]:
                self._leave(node)

    def _enter(self, state: int, node: int) -> None:
        if (state, node) not in self._items:
            self._items[state, node] = None
            self._waiting.append((state, node))

    def _called(self, rule: int) -> int:
        node = self._here.get(rule)
        if node is None:
            node = self._here[rule] = -1 - len(self._rules)
            self._rules.append(rule)
            self._returns.append({})
            self._heirs.append({})
            self._left.append(False)
            self._enter(self._network.entry[rule], node)
        return node

    def _leave(self, node: int) -> None:
        if node == BOTTOM:
            self.ends = True
        elif node > 0:
            for after, below in self._nodes.returns[node]:
                self._return(after, below)
        elif not self._left[-1 - node]:
            self._left[-1 - node] = True
            for after, below in [*self._returns[-1 - node]]:
                self._return(after, below)

    def _return(self, after: int, below: int) -> None:
        if after == NO_ARC:
            self.ends = True
        else:
            self._enter(after, below)

    def _inherit(self, heir: int, node: int) -> None:
        """Give a node all returns of another one, now and later."""
        if node == BOTTOM:
            self._add_return(heir, (NO_ARC, BOTTOM))
        elif node > 0:
            for each in self._nodes.returns[node]:
                self._add_return(heir, each)
        elif heir != node and heir not in self._heirs[-1 - node]:
            self._heirs[-1 - node][heir] = None
            for each in [*self._returns[-1 - node]]:
                self._add_return(heir, each)

    def _add_return(self, node: int, each: Return) -> None:
        waiting = [(node, each)]
        while waiting:
            node, each = waiting.pop()
            returns = self._returns[-1 - node]
            if each in returns:
                continue
            returns[each] = None
            if self._left[-1 - node]:
                self._return(*each)
            waiting += [(heir, each) for heir in self._heirs[-1 - node]]

    def readers(self) -> list[tuple[int, int]]:
        """The pairs whose state reads; `kept` gives the numbers of their new nodes."""
        arcs = self._network.arcs
        return [item for item in self._items if arcs(item[0])]

    def kept(self, wanted: list[tuple[int, int]]) -> dict[int, int]:
        """The numbers of the new nodes that pairs need."""
        needed: dict[int, int] = {}
        order: list[int] = []
        waiting = [node for _, node in wanted if node < 0]
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed[node] = len(order)
                order.append(node)
                waiting += [below for _, below in self._returns[-1 - node] if below < 0]
        following = [
            [needed[below] for _, below in self._returns[-1 - node] if below < 0] for node in order
        ]
        number: dict[int, int] = {}
        for component in components(following):
            members = sorted((self._rules[-1 - order[k]], order[k]) for k in component)
            place = {node: -1 - k for k, (_, node) in enumerate(members)}
            rows = [
                (
                    rule,
                    tuple(
                        sorted(
                            (after, below if below >= 0 else place.get(below, number.get(below, 0)))
                            for after, below in self._returns[-1 - node]
                        )
                    ),
                )
                for rule, node in members
            ]
            if len(rows) == 1 and all(below >= 0 for _, below in rows[0][1]):
                number[members[0][1]] = self._nodes.number(rows[0][1])
            else:
                numbers = self._nodes.circle(rows)
                for (_, node), known in zip(members, numbers, strict=True):
                    number[node] = known
        return number


class ManyStacks(WholeRows[Configuration]):
    """The kind of a `Discovered` machine that follows all stacks of a network.

    Args:
        network: The grammar; it has words.
        nodes: The stack nodes met before.
        met: The configurations met before.
    """

    stage = STAGE

    def __init__(
        self, network: Network, nodes: StackNodes | None = None,
        met: tuple[Configuration, ...] = (),
    ) -> None:  # fmt: skip
        start = ((network.entry[0], BOTTOM),)
        super().__init__(network.symbol_class, network.num_classes, [*met] or [start])
        self.network = network
        self._nodes = nodes or StackNodes()
        self._accepting: dict[int, bool] = {}
        self._symbols: dict[tuple[int, ...], list[tuple[list[int], tuple[Return, ...]]]] = {}

    @property
    def stacks(self) -> ManyStacks:
        """The kind itself, which knows the stacks."""
        return self

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        return self.network.read

    def accepting(self, state: int) -> bool | None:
        """Whether the text may end; known once the row is filled."""
        return self._accepting.get(state)

    def symbols(self, state: int) -> None:
        """``None``: there may be several stacks."""

    def heads(self, state: int) -> Configuration:
        """The pairs of a state of the network and a stack node; see `returns`."""
        return self._met[state]

    def returns(self, node: int) -> tuple[Return, ...]:
        """The return states of a stack node, each with the parent node."""
        return self._nodes.returns[node]

    def row(self, state: int, meter: Meter) -> list[int]:
        """Compute the configurations after each class of bytes, and whether the text may end."""
        closing = _Closing(self.network, self._nodes)
        closing.close(self._met[state])
        readers = sorted(closing.readers())
        kept = closing.kept(readers)
        nodes = [kept.get(node, node) for _, node in readers]
        row = [NO_ARC] * self.network.num_classes
        for symbols, targets in self._alike(tuple(here for here, _ in readers)):
            target = self.number(tuple(sorted({(after, nodes[k]) for k, after in targets})))
            for symbol in symbols:
                row[symbol] = target
        self._accepting[state] = closing.ends
        count = self.num_states
        held = self._nodes.held + 400 * count
        cells = count * len(row)
        meter.check(STAGE, states=count, arcs=cells, bytes=held + 4 * cells)
        return row

    def _alike(self, readers: tuple[int, ...]) -> list[tuple[list[int], tuple[Return, ...]]]:
        """The symbols that lead from some states to the same ones: pairs of symbols, and of the
        place of a state with the one after it."""
        alike = self._symbols.get(readers)
        if alike is None:
            after: dict[int, list[tuple[int, int]]] = {}
            for k, here in enumerate(readers):
                for symbol, target in self.network.arcs(here).items():
                    after.setdefault(symbol, []).append((k, target))
            grouped: dict[tuple[tuple[int, int], ...], list[int]] = {}
            for symbol, targets in after.items():
                grouped.setdefault(tuple(targets), []).append(symbol)
            alike = [(symbols, targets) for targets, symbols in grouped.items()]
            if len(self._symbols) > MOST_ALIKE:
                self._symbols.clear()
            self._symbols[readers] = alike
        return alike

    def set_words(self, walk: WordWalk, state: int, words: UInt32, again: bool) -> int:
        """Ask for rows; a machine that has met many states works them out for this mask alone.

        Stacks that only the words of a mask would make are then forgotten with it, so that a text
        may go on as long as it likes. Rows that texts come back to are known before.
        """
        if self.num_states < MOST_KEPT:
            return BY_ROWS
        alone = ManyStacks(self.network, self._nodes.copy(), (self._met[state],))
        walk.anew().set_from_rows(Discovered(alone, Budget()), 0, words)
        return FINISHED

    def apart(self, meter: Meter) -> ManyStacks:
        """A copy."""
        copy = ManyStacks(self.network, self._nodes.copy(), tuple(self._met))
        copy.table, copy._accepting = self.table.copy(), dict(self._accepting)
        return copy

    def sent(self) -> tuple[Callable[..., ManyStacks], tuple[Any, ...]]:
        """The constructor and its arguments: the network, and the nodes and configurations."""
        return ManyStacks, (self.network, self._nodes.copy(), tuple(self._met))
