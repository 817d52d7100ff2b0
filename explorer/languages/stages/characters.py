"""Machines whose arcs are sets of characters, as machines over the bytes of UTF-8; and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from explorer.automata.construction.operations import minimal_dfa
from explorer.automata.interchange.interegular_bridge import character_arcs
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.tree.charset import ENTRY, EXIT, CharSet, char_set, utf8_fragment
from explorer.budget import Meter

STAGE = "Writing characters as bytes"


def over_bytes(
    num_states: int,
    arcs: Mapping[tuple[int, int], CharSet],
    accepting: Collection[int],
    meter: Meter,
    epsilons: Iterable[tuple[int, int]] = (),
) -> Dfa:
    """The minimal machine over bytes of a machine over characters.

    Args:
        num_states: States are ``0 .. num_states - 1``; 0 is the start.
        arcs: By source and target, the characters that lead there.
        epsilons: Pairs of states, the second reached from the first without reading.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> machine = over_bytes(2, {(0, 1): char_set([(0xE4, 0xE4)])}, [1], Meter())
        >>> machine.accepts("ä".encode()), machine.accepts(b"\\xc3")
        (True, False)
    """
    rows: list[tuple[int, int, int, int]] = []
    states = num_states
    for (source, target), chars in arcs.items():
        fragment = utf8_fragment(chars)
        place = {ENTRY: source, EXIT: target}
        for state in range(2, 2 + fragment.num_inner):
            place[state] = states + state - 2
        states += fragment.num_inner
        rows += [(place[a], low, high, place[b]) for a, low, high, b in fragment.arcs]
        meter.check(STAGE, states=states, arcs=len(rows))
    table = np.array(rows, np.int32).reshape(-1, 4)
    free = np.array(list(epsilons), np.int32).reshape(-1, 2)
    nfa = Nfa(states, 0, table, free, np.array(sorted(accepting), np.int32))
    return minimal_dfa(nfa, meter)


def alphabet_of(machine: Dfa) -> CharSet:
    """The characters that occur in some word of a machine.

    Example:
        >>> from explorer import regex
        >>> alphabet_of(regex("[a-c]ä*").dfa).ranges
        ((97, 99), (228, 228))
    """
    arcs = character_arcs(machine)
    return char_set({(low, high) for pieces in arcs.values() for low, high, _ in pieces})
