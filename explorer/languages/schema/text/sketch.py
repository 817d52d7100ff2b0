"""Put a machine together from finished pieces: states, arcs, and whole DFAs as fragments.

Objects and arrays are little grammars over the texts of their members. Each is drawn as an NFA
whose pieces are the minimal machines of keys and values, and determinized once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import numpy as np

from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Int32, Nfa
from explorer.budget import Meter

STAGE: Final = "The machine of a schema"

MOST_KEPT: Final = 16
"""Machines of so many states are kept as arcs, since the same few come in every schema."""


@lru_cache(maxsize=1024)
def _small_nfa(machine: Dfa) -> Nfa:
    return dfa_to_nfa(machine)


class Sketch:
    """An NFA under construction; `finish` makes it a minimal DFA."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._states = 0
        self._arcs: list[tuple[int, int, int, int]] = []
        self._blocks: list[Int32] = []
        self._epsilons: list[tuple[int, int]] = []
        self._known: dict[int, tuple[Dfa, Nfa]] = {}

    def state(self) -> int:
        """A new state."""
        self._states += 1
        return self._states - 1

    def byte(self, source: int, byte: int | bytes, target: int) -> None:
        """An arc over one byte, or a chain of arcs over several."""
        if isinstance(byte, int):
            self._arcs.append((source, byte, byte, target))
            return
        if not byte:
            self.epsilon(source, target)
            return
        here = source
        for value in byte[:-1]:
            self._arcs.append((here, value, value, self._states))
            here = self._states
            self._states += 1
        self._arcs.append((here, byte[-1], byte[-1], target))

    def interval(self, source: int, low: int, high: int, target: int) -> None:
        """An arc over the bytes of an interval, both ends included."""
        self._arcs.append((source, low, high, target))

    def epsilon(self, source: int, target: int) -> None:
        """An arc that reads nothing."""
        self._epsilons.append((source, target))

    def machine(self, source: int, machine: Dfa, target: int) -> None:
        """A copy of a machine between two states; nothing is drawn where it accepts nothing."""
        if machine.start == NO_ARC or machine.num_states == 0:
            return
        known = self._known.get(id(machine))
        if known is None:
            small = machine.num_states <= MOST_KEPT
            nfa = _small_nfa(machine) if small else dfa_to_nfa(machine)
            known = self._known[id(machine)] = (machine, nfa)
        nfa = known[1]
        offset = self._states
        self._states += nfa.num_states
        self._meter.check(STAGE, states=self._states)
        shift = np.array([offset, 0, 0, offset], np.int32)
        self._blocks.append(nfa.arcs + shift)
        self._epsilons.append((source, offset + nfa.start))
        self._epsilons += [(offset + int(state), target) for state in nfa.accepting]

    def copy(self, machine: Dfa) -> range:
        """A copy of a machine's states and arcs; state q of it is entry q of the result."""
        nfa = dfa_to_nfa(machine)
        offset = self._states
        self._states += machine.num_states
        self._meter.check(STAGE, states=self._states)
        self._blocks.append(nfa.arcs + np.array([offset, 0, 0, offset], np.int32))
        return range(offset, offset + machine.num_states)

    def block(self, arcs: Int32, states: int, here: int) -> int:
        """A copy of finished arcs; state k of them, but for 0, is k plus the result."""
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
            arcs = np.concatenate([arcs, *self._blocks]).astype(np.int32)
        self._meter.check(STAGE, states=self._states, arcs=len(arcs))
        return Nfa(
            self._states,
            start,
            arcs,
            np.array(self._epsilons, np.int32).reshape(-1, 2),
            np.array(sorted(set(accepting)), np.int32),
        )
