"""Put an automaton together from finished pieces: states, arcs, whole machines, and nodes.

Objects and arrays are small grammars over the texts of their members. Each is drawn as an NFA from
the machines of names and a node in the place of each value.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Final

import numpy as np

from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Nfa
from explorer.automata.tree.nodes import Node, Outline
from explorer.budget import Meter

STAGE: Final = "The machine of a schema"

SPACES: Final = ((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20))


@lru_cache(maxsize=1024)
def _nfa(machine: Dfa) -> Nfa:
    """A machine as an NFA, cached because every schema uses the same few."""
    return dfa_to_nfa(machine)


class Sketch:
    """An NFA under construction; `finish` makes it a minimal DFA.

    Args:
        meter: Watches every limit.
        states: The number of states to begin with.
        stage: What is drawn, for errors.
    """

    def __init__(self, meter: Meter, states: int = 0, stage: str = STAGE) -> None:
        self._meter, self._stage = meter, stage
        self._states = states
        # Numbers without a tuple for each row, which the garbage collector would look at.
        self._arcs = array("i")
        self._blocks: list[Int32] = []
        self._epsilons = array("i")
        self._parts: list[tuple[int, Node, int]] = []

    def state(self) -> int:
        """A new state."""
        self._states += 1
        return self._states - 1

    def states(self, count: int) -> int:
        """New states; the number of the first one."""
        self._states += count
        self._meter.check(self._stage, states=self._states)
        return self._states - count

    def rows(self, arcs: Int32) -> None:
        """Many arcs, int32[arcs, 4], rows ``(source, low, high, target)``."""
        self._blocks.append(arcs)

    def epsilons(self, sources: Iterable[int], target: int) -> None:
        """Arcs that read nothing, to one state."""
        for source in sources:
            self._epsilons.extend((source, target))

    def byte(self, source: int, byte: int, target: int) -> None:
        """An arc over one byte."""
        self._arcs.extend((source, byte, byte, target))

    def text(self, source: int, data: bytes, target: int) -> None:
        """A chain of arcs over some bytes."""
        if not data:
            self.epsilon(source, target)
            return
        begin, last = self._states, self._states + len(data) - 1
        self._states = last
        chained = zip(
            (source, *range(begin, last)), data, data, (*range(begin, last), target), strict=True
        )
        self._arcs.extend(chain.from_iterable(chained))

    def interval(self, source: int, low: int, high: int, target: int) -> None:
        """An arc over the bytes of an interval, both ends included."""
        self._arcs.extend((source, low, high, target))

    def epsilon(self, source: int, target: int) -> None:
        """An arc that reads nothing."""
        self._epsilons.extend((source, target))

    def spaces(self, state: int) -> None:
        """Loops over white space at a state."""
        for low, high in SPACES:
            self.interval(state, low, high, state)

    def part(self, source: int, node: Node, target: int) -> None:
        """An arc that stands for a node; only for an `outline`."""
        self._parts.append((source, node, target))

    def machine(self, source: int, machine: Dfa, target: int) -> None:
        """A copy of a machine between two states; nothing is drawn where it accepts nothing."""
        if machine.start != NO_ARC and machine.num_states:
            self.nfa(source, _nfa(machine), target)

    def nfa(self, source: int, nfa: Nfa, target: int) -> None:
        """A copy of an automaton between two states."""
        offset = self._copied(nfa).start
        self.epsilon(source, offset + nfa.start)
        self._epsilons.extend((nfa.epsilons + offset).ravel().tolist())
        self.epsilons((nfa.accepting + offset).tolist(), target)

    def part_of(self, nfa: Nfa) -> None:
        """An automaton without ε-arcs, with its own numbers; nothing may be drawn before it."""
        self._states = nfa.num_states
        self._blocks.append(nfa.arcs)

    def copy(self, machine: Dfa) -> range:
        """Copy a machine's states and arcs; entry q of the result is the copy of state q."""
        return self._copied(dfa_to_nfa(machine))

    def _copied(self, nfa: Nfa) -> range:
        offset = self._states
        self._states += nfa.num_states
        self._meter.check(self._stage, states=self._states)
        self._blocks.append(nfa.arcs + np.array([offset, 0, 0, offset], np.int32))
        return range(offset, self._states)

    def block(self, arcs: Int32, states: int, here: int) -> int:
        """Copy finished arcs; state 0 becomes ``here``, and state k the result plus k."""
        shift = self._states - 1
        self._states += states - 1
        rows = arcs.copy()
        for column in (0, 3):
            rows[:, column] = np.where(arcs[:, column] == 0, here, arcs[:, column] + shift)
        self._blocks.append(rows)
        return shift

    def finish(self, start: int, accepting: Iterable[int]) -> Dfa:
        """The minimal machine of what was drawn."""
        return minimal_dfa(self.drawn(start, accepting), self._meter)

    def drawn(self, start: int, accepting: Iterable[int]) -> Nfa:
        """The automaton as it was drawn."""
        arcs = np.array(self._arcs, np.int32).reshape(-1, 4)
        if self._blocks:
            arcs = np.concatenate([arcs, *self._blocks], dtype=np.int32)
        self._meter.check(self._stage, states=self._states, arcs=len(arcs))
        return Nfa(
            self._states,
            start,
            arcs,
            np.array(self._epsilons, np.int32).reshape(-1, 2),
            np.array(sorted(set(accepting)), np.int32),
        )

    def outline(self) -> Outline:
        """The automaton that was drawn from state 0 to state 1, with the nodes of its parts."""
        return Outline(self.drawn(0, [1]), tuple(self._parts))
