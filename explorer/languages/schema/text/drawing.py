"""An automaton with nodes for arcs, put together state by state."""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.automata.machine import Int32, Nfa
from explorer.automata.tree.nodes import Node, Outline
from explorer.budget import Meter

STAGE: Final = "The machine of a schema"
SPACES: Final = ((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20))


class TextDrawing:
    """An automaton under construction, from state 0 to state 1."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.states = 2
        self.arcs: list[tuple[int, int, int, int]] = []
        self._blocks: list[Int32] = []
        self.epsilons: list[tuple[int, int]] = []
        self.parts: list[tuple[int, Node, int]] = []

    def state(self) -> int:
        """A new state."""
        self.states += 1
        return self.states - 1

    def text(self, source: int, data: bytes, target: int) -> None:
        """A chain of arcs."""
        if not data:
            self.epsilons.append((source, target))
            return
        for byte in data[:-1]:
            self.arcs.append((source, byte, byte, self.states))
            source = self.state()
        self.arcs.append((source, data[-1], data[-1], target))

    def nfa(self, source: int, nfa: Nfa, target: int) -> None:
        """A copy of an automaton."""
        offset = self.states
        self.states += nfa.num_states
        self._meter.check(STAGE, states=self.states)
        self._blocks.append(nfa.arcs + np.array([offset, 0, 0, offset], np.int32))
        self.epsilons.append((source, offset + nfa.start))
        self.epsilons += [(a + offset, b + offset) for a, b in nfa.epsilons.tolist()]
        self.epsilons += [(offset + int(state), target) for state in nfa.accepting]

    def loops(self, state: int) -> None:
        """White space at a state."""
        self.arcs += [(state, low, high, state) for low, high in SPACES]

    def outline(self) -> Outline:
        """The automaton that was drawn."""
        arcs = np.array(self.arcs, np.int32).reshape(-1, 4)
        if self._blocks:
            arcs = np.concatenate([arcs, *self._blocks]).astype(np.int32)
        self._meter.check(STAGE, states=self.states, arcs=len(arcs))
        epsilons = np.array(self.epsilons, np.int32).reshape(-1, 2)
        nfa = Nfa(self.states, 0, arcs, epsilons, np.array([1], np.int32))
        return Outline(nfa, tuple(self.parts))
