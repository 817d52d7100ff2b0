"""A push-down automaton for drawings: states, and arcs that read, pop and push.

The machine of one stack (`explorer.automata.stacks.single`) works its moves out as
it goes. Here they are written down: for each state and each symbol that can be on top, what a byte
does. So a small grammar is a graph like that of a regular expression, over characters, and,
composed with the detokenizing transducer, over tokens (Koo et al. 2024, Algorithm 3): a token is
the arcs of its bytes one after the other, where a symbol that is pushed and popped inside of the
token cancels out, so that what is left is what the token pops and then pushes.

Nothing decodes with these graphs, whose size is that of the grammar times the ways down its stack;
they are what the figures draw, and what the machine is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from explorer.automata.machine import NO_ARC, Network
from explorer.automata.rules.moves import END, Actions
from explorer.budget import Meter

STAGE: Final = "Writing down a push-down automaton"

EMPTY: Final = -1
"""As the last symbol that an arc pops, it asks for an empty stack below."""

Config = tuple[int, tuple[int, ...]]
"""A state and a stack, the innermost symbol first."""


@dataclass(frozen=True, slots=True, order=True)
class PushdownArc:
    """An arc of a push-down automaton.

    Args:
        source, target: The states.
        label: The byte or the token id that it reads.
        pops: The symbols that it takes from the stack, the innermost first; `EMPTY` at the end asks
            for an empty stack below.
        pushes: The symbols that it then puts on the stack, the innermost first.
    """

    source: int
    label: int
    pops: tuple[int, ...]
    pushes: tuple[int, ...]
    target: int

    def after(self, stack: tuple[int, ...]) -> tuple[int, ...] | None:
        """The stack after the arc; ``None`` if it cannot be taken.

        Args:
            stack: The stack before.
        """
        popped = tuple(symbol for symbol in self.pops if symbol != EMPTY)
        rest = stack[len(popped) :]
        if stack[: len(popped)] != popped or (len(popped) < len(self.pops) and rest):
            return None
        return (*self.pushes, *rest)


@dataclass(frozen=True, slots=True)
class Pushdown:
    """A push-down automaton that begins and ends with an empty stack.

    Args:
        start: The start state.
        finals: The states in which a text may end if the stack is empty.
    """

    start: int
    finals: frozenset[int]
    arcs: tuple[PushdownArc, ...]

    @property
    def states(self) -> tuple[int, ...]:
        """The start state and the states of the arcs, ascending."""
        known = {self.start, *(arc.source for arc in self.arcs), *(arc.target for arc in self.arcs)}
        return tuple(sorted(known))

    def step(self, config: Config, label: int) -> list[Config]:
        """The configurations after one label; a deterministic automaton has at most one.

        Args:
            config: The configuration before it.
            label: A byte or a token.
        """
        state, stack = config
        return [
            (arc.target, after)
            for arc in self.arcs
            if arc.source == state and arc.label == label
            if (after := arc.after(stack)) is not None
        ]


def pushdown_of(network: Network, actions: Actions, meter: Meter) -> Pushdown:
    """The push-down automaton over bytes of a deterministic network.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    start = network.entry[0]
    tops = _tops(network, start)
    members: list[list[int]] = [[] for _ in range(network.num_classes)]
    classes: list[int] = network.symbol_class.tolist()
    for byte, symbol in enumerate(classes):
        members[symbol].append(byte)

    def moved(state: int, symbol: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
        """The symbols that a class of bytes pops and pushes, and the state after it."""
        way = int(actions.act[state, symbol])
        if way == END:
            for top in sorted(tops[network.rule[state]] - {EMPTY}):
                for pops, pushes, target in moved(top, symbol):
                    yield (top, *pops), pushes, target
        elif way != NO_ARC:
            pushes = actions.push[actions.first[way] : actions.first[way + 1]].tolist()
            yield from ended((), tuple(reversed(pushes)), int(actions.target[way]))

    def ended(
        pops: tuple[int, ...], pushes: tuple[int, ...], target: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
        """The same triple after the end of every rule that can only end."""
        while pushes and actions.only_exits[target]:
            target, pushes = pushes[0], pushes[1:]
        if not actions.only_exits[target]:
            yield pops, pushes, target
            return
        for top in sorted(tops[network.rule[target]]):
            yield (*pops, top), (), target if top == EMPTY else top

    arcs: dict[PushdownArc, None] = {}
    waiting = [start]
    seen = {start}
    for state in waiting:  # The list grows while it is read.
        for symbol in range(network.num_classes):
            for pops, pushes, target in moved(state, symbol):
                for byte in members[symbol]:
                    arcs[PushdownArc(state, byte, pops, pushes, target)] = None
                for new in (target, *pushes):
                    if new not in seen:
                        seen.add(new)
                        waiting.append(new)
        meter.check(STAGE, states=len(seen), arcs=len(arcs), bytes=200 * len(arcs))
    finals = frozenset(state for state in seen if actions.empty[state])
    return _trimmed(Pushdown(start, finals, tuple(sorted(arcs))))


def _tops(network: Network, start: int) -> list[set[int]]:
    """The symbols that can be on top of the stack while each rule reads, by rule."""
    tops: list[set[int]] = [set() for _ in network.entry]
    tops[network.rule[start]].add(EMPTY)
    changed = True
    while changed:
        changed = False
        for state, calls in enumerate(network.calls):
            for rule, after in calls:
                more = tops[network.rule[state]] if network.only_exits[after] else {after}
                if not more <= tops[rule]:
                    tops[rule] |= more
                    changed = True
    return tops


def composed(machine: Pushdown, words: Sequence[bytes | None], meter: Meter) -> Pushdown:
    """The push-down automaton over tokens (Koo et al. 2024, Algorithm 3).

    Args:
        words: The bytes of each token; ``None`` or empty for a token that writes nothing.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> a = PushdownArc(0, 97, (), (0,), 0)
        >>> b = PushdownArc(0, 98, (0,), (), 1)
        >>> nested = Pushdown(0, frozenset({0, 1}), (a, b))
        >>> composed(nested, [b"aaab"], Meter()).arcs
        (PushdownArc(source=0, label=0, pops=(), pushes=(0, 0), target=1),)
    """
    by_byte: dict[tuple[int, int], list[PushdownArc]] = {}
    for arc in machine.arcs:
        by_byte.setdefault((arc.source, arc.label), []).append(arc)
    arcs: dict[PushdownArc, None] = {}
    seen = {machine.start}
    waiting = [machine.start]
    for state in waiting:  # The list grows while it is read.
        for token, word in enumerate(words):
            ways: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [((), (), state)]
            for byte in word or b"":
                ways = [
                    after
                    for pops, pushes, here in ways
                    for arc in by_byte.get((here, byte), ())
                    if (after := _joined(pops, pushes, arc)) is not None
                ]
            for pops, pushes, target in ways if word else ():
                arcs[PushdownArc(state, token, pops, pushes, target)] = None
                for new in (target, *pushes):
                    if new not in seen:
                        seen.add(new)
                        waiting.append(new)
        meter.check(STAGE, states=len(seen), arcs=len(arcs), bytes=200 * len(arcs))
    return _trimmed(Pushdown(machine.start, machine.finals & seen, tuple(sorted(arcs))))


def _trimmed(machine: Pushdown) -> Pushdown:
    """The automaton without arcs that no text can take, by a least fixpoint."""
    leaving: dict[int, list[PushdownArc]] = {}
    for arc in machine.arcs:
        leaving.setdefault(arc.source, []).append(arc)
    met = {(machine.start, EMPTY)}  # States, and the symbols on top.
    below: dict[int, set[int]] = {}  # What can stand below a symbol.
    used: set[PushdownArc] = set()
    size = -1
    while size < (size := len(met) + sum(map(len, below.values()))):
        for state, top in sorted(met):
            for arc in leaving.get(state, ()):
                tops = {top}
                for symbol in arc.pops:
                    # At the end of what is popped, `EMPTY` stands for itself.
                    under = {EMPTY} if symbol == EMPTY else below.get(symbol, set[int]())
                    tops = {*under} if symbol in tops else set[int]()
                if not tops:
                    continue
                used.add(arc)
                for upper, under in zip(arc.pushes, arc.pushes[1:], strict=False):
                    below.setdefault(upper, set()).add(under)
                if arc.pushes:
                    below.setdefault(arc.pushes[-1], set()).update(tops)
                    tops = {arc.pushes[0]}
                met |= {(arc.target, each) for each in tops}
    finals = frozenset(state for state in machine.finals if (state, EMPTY) in met)
    return Pushdown(machine.start, finals, tuple(sorted(used)))


def _joined(
    pops: tuple[int, ...], pushes: tuple[int, ...], arc: PushdownArc
) -> tuple[tuple[int, ...], tuple[int, ...], int] | None:
    """The pops, pushes and target of a sequence of arcs and one more arc; ``None`` if impossible.

    The last arc pops symbols that the others pushed, then symbols from below them.
    """
    left, taken = [*pushes], [*pops]
    for symbol in arc.pops:
        emptied = bool(taken) and taken[-1] == EMPTY
        if symbol == EMPTY:
            if left:
                return None
            if not emptied:
                taken.append(EMPTY)
        elif left:
            if left.pop(0) != symbol:
                return None
        elif emptied:
            return None
        else:
            taken.append(symbol)
    return tuple(taken), (*arc.pushes, *left), arc.target
