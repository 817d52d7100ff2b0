"""Where in a grammar a text has come to: what may be read next, in which rule, called by whom.

The network that decides has forgotten where its arcs were written, because its rules were merged
and made small. So the rules are laid out once more as they were written, each arc with its origin,
and read by the same machine (`explorer.automata.stacks.stacks`). Assertions count
as if they held.

Cost: laying out once; then some tens of microseconds per new configuration on the way of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.machine import NO_ARC, Network, Targets
from explorer.automata.rules.pieces import RulePiece, pieces_of, productive, reached
from explorer.automata.stacks.stacks import BOTTOM, StackMachine
from explorer.automata.tree.nodes import Node
from explorer.automata.tree.origin import Origin
from explorer.budget import Budget, Meter

MOST_FRAMES: Final = 1000
"""How many calls of a stack are followed down at most."""

MOST_WAYS: Final = 10_000
"""How many calls are looked at for the ways to read a byte."""

MOST_NAMED: Final = 8
"""How many rules of a stack a message names."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on a stack.

    Args:
        rule: The rule that called, and goes on afterwards.
        called: The rule that it called.
        start, end: The span of the call in the grammar.
    """

    rule: str
    called: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RulePlace:
    """One place of a grammar at which it goes on.

    Args:
        rule: The rule that the place is in.
        origin: What is read there.
        stack: The calls that are open, the innermost first; one of them where there are several.
        stacks: How many ways the innermost rule was called.
    """

    rule: str
    origin: Origin
    stack: tuple[Frame, ...]
    stacks: int


def open_rules(places: Sequence[RulePlace]) -> str:
    """A sentence with the rules that are open at the deepest of some places, the outermost first;
    empty at the bottom.

    Args:
        places: The places.
    """
    deepest = max(places, key=lambda place: len(place.stack), default=None)
    if deepest is None or not deepest.stack:
        return ""
    names = [*(frame.rule for frame in reversed(deepest.stack)), deepest.rule]
    if len(names) > MOST_NAMED:
        between = f"… {len(names) - MOST_NAMED:,} more …"
        names = [*names[: MOST_NAMED // 2], between, *names[-(MOST_NAMED // 2) :]]
    several = "; this is one way of several" if any(p.stacks > 1 for p in places) else ""
    return f"On the stack: {' → '.join(names)}{several}."


class GrammarPlaces:
    """A grammar as it was written, and where in it a text has come to. Not thread-safe.

    Args:
        rules: The grammar, or a tree with grammars inside.
        budget: Limits for laying it out, and for what is met later.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer.languages.grammar.source import GbnfGrammar
        >>> source = GbnfGrammar.of('root ::= "(" root ")" | [0-9]')
        >>> places = GrammarPlaces(source.lower(), Budget())
        >>> [source.text[p.origin.start : p.origin.end] for p in places.after(b"(1")]
        [')']
    """

    def __init__(self, rules: Node, budget: Budget) -> None:
        meter = Meter(budget)
        pieces = pieces_of(rules, meter, with_origin=True)
        able = productive(pieces)
        self._read: list[list[tuple[int, int, Origin]]] = []
        self._call: dict[tuple[int, int], Origin | None] = {}
        self._network = self._as_network(pieces, able)
        self._machine = StackMachine(self._network, budget)

    @property
    def network(self) -> Network:
        """The rules as they were written; rule 0 is what stands around them."""
        return self._network

    def call(self, rule: int, after: int) -> Origin | None:
        """Where a call of a rule was written, by the state after it."""
        return self._call[rule, after]

    def reads(self, state: int) -> tuple[tuple[int, int, Origin], ...]:
        """The bytes ``(lowest, highest)`` that a state reads itself, and where that was written."""
        return tuple(self._read[state])

    def _as_network(self, pieces: tuple[RulePiece, ...], able: list[bool]) -> Network:
        """The network without ε-arcs; its calls all come back."""
        first = np.cumsum([0, *(piece.num_states for piece in pieces)]).tolist()
        edges = np.zeros(NUM_BYTES + 1, np.int64)
        for piece in pieces:
            for _, low, high, _ in piece.arcs:
                edges[low] = edges[high + 1] = 1
        edges[0] = 1
        class_of = (edges.cumsum() - 1)[:NUM_BYTES].astype(np.int32)
        arcs: list[dict[int, Targets]] = []
        calls: list[tuple[tuple[int, int], ...]] = []
        exits: list[bool] = []
        rule_of: list[int] = []
        for number, piece in enumerate(pieces):
            base = first[number]
            silent: dict[int, list[int]] = {}
            for source, target in piece.epsilons:
                silent.setdefault(source, []).append(target)
            reading: dict[int, list[int]] = {}
            for k, arc in enumerate(piece.arcs):
                reading.setdefault(arc[0], []).append(k)
            calling: dict[int, list[int]] = {}
            for k, (source, rule, target) in enumerate(piece.calls):
                if able[rule]:
                    calling.setdefault(source, []).append(k)
                    origin = piece.origins[len(piece.arcs) + k]
                    self._call[rule, base + target] = origin
            for state in range(piece.num_states):
                near = reached([state], silent)
                row: dict[int, set[int]] = {}
                read: list[tuple[int, int, Origin]] = []
                called: list[tuple[int, int]] = []
                for here in sorted(near):
                    for k in reading.get(here, ()):
                        _, low, high, target = piece.arcs[k]
                        for symbol in range(class_of[low], class_of[high] + 1):
                            row.setdefault(int(symbol), set()).add(base + target)
                        origin = piece.origins[k]
                        if origin is not None:
                            read.append((low, high, origin))
                    called += [
                        (rule, base + target)
                        for _, rule, target in (piece.calls[k] for k in calling.get(here, ()))
                    ]
                arcs.append({symbol: tuple(sorted(row[symbol])) for symbol in sorted(row)})
                calls.append(tuple(called))
                exits.append(not near.isdisjoint(piece.accepting))
                rule_of.append(number)
                self._read.append(read)
        names = tuple(piece.name for piece in pieces)
        return Network(
            class_of, tuple(arcs), tuple(calls), tuple(exits), (False,) * len(arcs),
            tuple(rule_of), tuple(first[:-1]), names, 0,
        )  # fmt: skip

    def state(self, text: bytes) -> int:
        """The state of the machine after a text; `NO_ARC` where no text begins so."""
        state = self._machine.start
        for byte in text:
            state = self._machine.step(state, byte)
            if state == NO_ARC:
                break
        return state

    def after(self, text: bytes, wanted: bytes | None = None) -> tuple[RulePlace, ...]:
        """The places at which the grammar goes on after a text, in the order of the grammar.

        Args:
            text: The beginning of a text.
            wanted: Only those that read one of these bytes; ``None`` for all.
        """
        state = self.state(text)
        if state == NO_ARC:
            return ()
        found: dict[tuple[int, int, str], RulePlace] = {}
        for here, node in self._machine.reading(state):
            for low, high, origin in self._read[here]:
                if wanted is not None and not any(low <= byte <= high for byte in wanted):
                    continue
                name = self._network.names[self._network.rule[here]]
                key = (origin.start, origin.end, name)
                if key not in found:
                    stack, ways = self._stack(here, node)
                    found[key] = RulePlace(name, origin, stack, ways)
        return tuple(found[key] for key in sorted(found))

    def ways(self, text: bytes, byte: int, most: int) -> list[RulePlace]:
        """The shortest different ways in which a byte can be read after a text, each with its
        whole stack.

        Args:
            text: The beginning of a text.
            byte: The byte.
            most: How many.
        """
        state = self.state(text)
        if state == NO_ARC:
            return []
        queue: list[tuple[int, int, int, int, tuple[Frame, ...], str, Origin]] = []
        for here, node in self._machine.reading(state):
            for low, high, origin in self._read[here]:
                if low <= byte <= high:
                    name = self._network.names[self._network.rule[here]]
                    rule = self._network.rule[here]
                    queue.append((0, len(queue), rule, node, (), name, origin))
        heapify(queue)
        found: list[RulePlace] = []
        count = len(queue)
        while queue and len(found) < most and count < MOST_WAYS:
            size, _, rule, node, frames, name, origin = heappop(queue)
            ends = node == BOTTOM
            for after, below in self._machine.returns(node):
                if after == NO_ARC:
                    ends = True
                    continue
                call = self._call[rule, after]
                start, end = (call.start, call.end) if call is not None else (0, 0)
                caller = self._network.rule[after]
                names = self._network.names
                longer = frames
                if names[caller]:
                    longer = (*frames, Frame(names[caller], names[rule], start, end))
                count += 1
                heappush(queue, (size + 1, count, caller, below, longer, name, origin))
            if ends:
                found.append(RulePlace(name, origin, frames, 1))
        return found

    def _stack(self, here: int, node: int) -> tuple[tuple[Frame, ...], int]:
        """One way down from a stack node, and how many there are from its top."""
        frames: list[Frame] = []
        seen: set[int] = set()
        rule = self._network.rule[here]
        ways = len(self._machine.returns(node))
        while node != BOTTOM and node not in seen and len(frames) < MOST_FRAMES:
            seen.add(node)
            returns = self._machine.returns(node)
            after, below = min(returns, key=lambda each: (each[1] in seen, each[1]))
            if after == NO_ARC:
                break
            origin = self._call[rule, after]
            caller = self._network.rule[after]
            names = self._network.names
            if names[caller]:
                start, end = (origin.start, origin.end) if origin is not None else (0, 0)
                frames.append(Frame(names[caller], names[rule], start, end))
            rule, node = caller, below
        return tuple(frames), ways
