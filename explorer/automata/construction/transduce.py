"""Transducers over bytes as flat arrays: the image of a language, its preimage, and composition.

A transducer of a few dozen states is composed with a byte machine of some thousands. The pairs are
explored level by level, all arcs of a level at once with numpy. pynini's composition of the same
machines is the reference; the tests compare with it.

Cost: pairs reached × arcs of a transducer's state; about a microsecond each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.minimize import by_head, empty_dfa, steps_from
from explorer.automata.construction.operations import dfa_to_nfa, minimal_dfa
from explorer.automata.machine import Bool, Dfa, Int32, Nfa
from explorer.budget import Meter

STAGE: Final = "Composing transducers"

NOTHING: Final = -1
"""The label on the side of an arc that reads or writes no byte."""

_AT_ONCE: Final = 4096
"""The most pairs of one round, to bound its memory and the time between checks of the clock."""

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Transducer:
    """A transducer over bytes; state 0 is the start.

    Args:
        arcs: int32[arcs, 4], rows ``(source, read, written, target)`` ascending by source; a byte,
            or `NOTHING`.

    Example:
        >>> from explorer import regex
        >>> arcs = np.array([[0, 97, 98, 0], [0, 98, NOTHING, 0]], np.int32)  # a: b, b: nothing.
        >>> writes_b = Transducer(1, arcs, np.array([True]))
        >>> image_of(regex("ab+a").dfa, writes_b, Meter()).accepts(b"bb")
        True
    """

    num_states: int
    arcs: Int32
    accepting: Bool


def image_of(machine: Dfa, transducer: Transducer, meter: Meter) -> Dfa:
    """The image of a machine's language: the texts that a transducer writes for its words.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    return _composed(machine, transducer, None, meter)


def origins_of(machine: Dfa, transducer: Transducer, wanted: Dfa, meter: Meter) -> Dfa:
    """The preimage in a machine: its words for which a transducer can write a wanted text."""
    return _composed(machine, transducer, wanted, meter)


def _composed(machine: Dfa, transducer: Transducer, wanted: Dfa | None, meter: Meter) -> Dfa:
    """The projection of a composition to its output, or with wanted texts to its input."""
    if machine.num_states == 0 or (wanted is not None and wanted.num_states == 0):
        return empty_dfa(NUM_BYTES)
    sides = (machine, wanted)
    begun = (machine.start, 0, 0 if wanted is None else wanted.start)
    sizes = (machine.num_states, transducer.num_states, 1 if wanted is None else wanted.num_states)
    places, arcs = _followed(sides, transducer, begun, sizes, meter)
    accepting = machine.accepting[places[:, 0]] & transducer.accepting[places[:, 1]]
    if wanted is not None:
        accepting &= wanted.accepting[places[:, 2]]
    useful = steps_from(*by_head(arcs[:, 0], arcs[:, 2], len(places)), accepting) > 0
    if not useful[0]:
        return empty_dfa(NUM_BYTES)
    arcs = np.unique(arcs[useful[arcs[:, 0]] & useful[arcs[:, 2]]], axis=0)
    silent = arcs[:, 1] == NOTHING
    heard = arcs[~silent]
    nfa = Nfa(
        len(places),
        0,
        np.ascontiguousarray(heard[:, [0, 1, 1, 2]], np.int32),
        np.ascontiguousarray(arcs[silent][:, [0, 2]], np.int32),
        np.flatnonzero(accepting).astype(np.int32),
    )
    return minimal_dfa(nfa, meter)


def _followed(
    sides: tuple[Dfa, Dfa | None],
    transducer: Transducer,
    begun: tuple[int, int, int],
    sizes: tuple[int, int, int],
    meter: Meter,
) -> tuple[Int32, Int32]:
    """The reachable places of a composition, and the arcs between them with the kept label.

    Returns:
        int32[places, 3], the states of the machine, the transducer and the wanted texts; and
        int32[arcs, 3], rows ``(source, label, target)``.
    """
    machine, wanted = sides
    offset = np.searchsorted(transducer.arcs[:, 0], np.arange(transducer.num_states + 1))
    number: dict[int, int] = {_code(begun, sizes): 0}
    places = [begun]
    rows: list[Int32] = [np.empty((0, 3), np.int32)]
    num_arcs = first = 0
    while first < len(places):
        round_of = np.array(places[first : first + _AT_ONCE], np.int64)
        counts = offset[round_of[:, 1] + 1] - offset[round_of[:, 1]]
        source = np.repeat(np.arange(len(round_of)), counts)
        within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = transducer.arcs[offset[round_of[source, 1]] + within]
        after = np.column_stack(
            [
                _stepped(machine, round_of[source, 0], chosen[:, 1]),
                chosen[:, 3],
                round_of[source, 2]
                if wanted is None
                else _stepped(wanted, round_of[source, 2], chosen[:, 2]),
            ]
        )
        able = (after >= 0).all(axis=1)
        after, source, chosen = after[able], source[able], chosen[able]
        codes = (after[:, 0] * sizes[1] + after[:, 1]) * sizes[2] + after[:, 2]
        different, firsts, inverse = np.unique(codes, return_index=True, return_inverse=True)
        targets = np.empty(len(different), np.int32)
        for k, (code, at) in enumerate(zip(different.tolist(), firsts.tolist(), strict=True)):
            known = number.get(code)
            if known is None:
                known = number[code] = len(places)
                a, b, c = after[at].tolist()
                places.append((a, b, c))
            targets[k] = known
        label = chosen[:, 2 if wanted is None else 1]
        rows.append(
            np.column_stack([source + first, label, targets[inverse.ravel()]]).astype(np.int32)
        )
        num_arcs += len(source)
        first += len(round_of)
        meter.check(STAGE, states=len(places), arcs=num_arcs, bytes=12 * num_arcs)
    return np.array(places, np.int32), np.concatenate(rows)


def _code(place: tuple[int, int, int], sizes: tuple[int, int, int]) -> int:
    return (place[0] * sizes[1] + place[1]) * sizes[2] + place[2]


def _stepped(machine: Dfa, states: Int64, labels: Int32) -> Int64:
    """The state after each byte; the same state for `NOTHING`, −1 without an arc."""
    moved = machine.table[states, machine.symbol_class[np.maximum(labels, 0)]]
    return np.where(labels == NOTHING, states, moved).astype(np.int64)


def in_turn(first: Transducer, second: Transducer, meter: Meter) -> Transducer:
    """The minimal composition of two small transducers, one after the other.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    of_first = [first.arcs[first.arcs[:, 0] == s].tolist() for s in range(first.num_states)]
    of_second = [second.arcs[second.arcs[:, 0] == s].tolist() for s in range(second.num_states)]
    number = {(0, 0): 0}
    places = [(0, 0)]
    rows: list[tuple[int, int, int, int]] = []

    def reach(a: int, b: int) -> int:
        if (a, b) not in number:
            number[a, b] = len(places)
            places.append((a, b))
        return number[a, b]

    for here, (a, b) in enumerate(places):
        for _, read, written, to in of_first[a]:
            if written == NOTHING:
                rows.append((here, read, NOTHING, reach(to, b)))
                continue
            for _, taken, said, then in of_second[b]:
                if taken == written:
                    rows.append((here, read, said, reach(to, then)))
        for _, taken, said, then in of_second[b]:
            if taken == NOTHING:
                rows.append((here, NOTHING, said, reach(a, then)))
        meter.check(STAGE, states=len(places), arcs=len(rows))
    accepting = np.array([first.accepting[a] and second.accepting[b] for a, b in places], np.bool_)
    arcs = np.array(rows, np.int32).reshape(-1, 4)
    return smallest(Transducer(len(places), arcs, accepting), meter)


def smallest(transducer: Transducer, meter: Meter) -> Transducer:
    """The transducer minimised as an automaton over pairs of a byte read and a byte written.

    Arcs that read and write nothing are removed.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    pairs, letter = np.unique(transducer.arcs[:, 1:3], axis=0, return_inverse=True)
    letter = letter.ravel()
    silent = (transducer.arcs[:, 1:3] == NOTHING).all(axis=1)
    heard, unheard = transducer.arcs[~silent], transducer.arcs[silent]
    letters = letter[~silent]
    nfa = Nfa(
        transducer.num_states,
        0,
        np.column_stack([heard[:, 0], letters, letters, heard[:, 3]]).astype(np.int32),
        np.ascontiguousarray(unheard[:, [0, 3]], np.int32),
        np.flatnonzero(transducer.accepting).astype(np.int32),
        max(NUM_BYTES, len(pairs)),
    )
    least = minimal_dfa(nfa, meter)
    if least.num_states == 0:
        return Transducer(1, np.empty((0, 4), np.int32), np.zeros(1, np.bool_))
    arcs = dfa_to_nfa(least).arcs
    order = [least.start, *(s for s in range(least.num_states) if s != least.start)]
    place = np.argsort(np.array(order))
    rows = [
        (place[source], *pairs[k].tolist(), place[target])
        for source, low, high, target in arcs.tolist()
        for k in range(low, high + 1)
    ]
    table = np.array(rows, np.int32).reshape(-1, 4)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Transducer(least.num_states, table, least.accepting[np.array(order)])
