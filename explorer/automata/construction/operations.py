"""The operations on byte machines, each under a budget.

The subset construction, minimisation and products are kernels of their own files. Union,
concatenation and repetition only join machines with ε-arcs and hand the result to them.
pynini's operations of the same names define what is right; the tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.automata.construction.minimize import empty_dfa, merge_classes, minimize
from explorer.automata.construction.product import difference, intersection, symmetric_difference
from explorer.automata.construction.subset import determinize
from explorer.automata.machine import Dfa, Int32, Nfa
from explorer.budget import Meter

__all__ = [
    "concatenation",
    "determinize",
    "dfa_to_nfa",
    "difference",
    "empty_dfa",
    "equivalent",
    "intersection",
    "merge_classes",
    "minimal_dfa",
    "minimize",
    "repetition",
    "symmetric_difference",
    "union",
]

_NO_EPSILONS: Int32 = np.empty((0, 2), np.int32)


def minimal_dfa(nfa: Nfa, meter: Meter) -> Dfa:
    """Determinize and minimise.

    Args:
        nfa: Any automaton over symbol intervals.
        meter: Watches every limit.

    Returns:
        The canonical minimal machine of the language.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    return minimize(determinize(nfa, meter), meter)


def dfa_to_nfa(dfa: Dfa) -> Nfa:
    """The same machine as arcs over symbol intervals, neighbouring symbols grouped.

    A machine without states becomes one state that accepts nothing.
    """
    if dfa.num_states == 0:
        none = np.empty((0, 4), np.int32)
        return Nfa(1, 0, none, _NO_EPSILONS, np.empty(0, np.int32), dfa.num_symbols)
    # Work on runs of equal class, not on symbols: a run is the finest interval that can matter.
    first = np.flatnonzero(np.diff(dfa.symbol_class, prepend=-1))
    last = np.append(first[1:], dfa.num_symbols) - 1
    targets = dfa.table[:, dfa.symbol_class[first]]
    starts = np.ones(targets.shape, np.bool_)
    starts[:, 1:] = targets[:, 1:] != targets[:, :-1]
    ends = np.ones(targets.shape, np.bool_)
    ends[:, :-1] = starts[:, 1:]
    live = targets >= 0
    source, low = np.nonzero(starts & live)
    high = np.nonzero(ends & live)[1]
    arcs = np.column_stack([source, first[low], last[high], targets[source, low]])
    return Nfa(
        dfa.num_states,
        dfa.start,
        np.ascontiguousarray(arcs, np.int32),
        _NO_EPSILONS,
        np.flatnonzero(dfa.accepting).astype(np.int32),
        dfa.num_symbols,
    )


def _side_by_side(parts: Sequence[Dfa], spare: int) -> tuple[list[Nfa], list[int], int]:
    """The parts as NFAs, the first state of each, and the number of states after ``spare`` more."""
    nfas = [dfa_to_nfa(part) for part in parts]
    offsets = list(np.cumsum([spare, *(nfa.num_states for nfa in nfas)]))
    return nfas, [int(offset) for offset in offsets[:-1]], int(offsets[-1])


def _shifted_arcs(nfas: Sequence[Nfa], offsets: Sequence[int]) -> Int32:
    shift = np.array([1, 0, 0, 1], np.int32)
    return np.concatenate(
        [nfa.arcs + shift * offset for nfa, offset in zip(nfas, offsets, strict=True)]
    ).astype(np.int32)


def union(parts: Sequence[Dfa], meter: Meter) -> Dfa:
    """The minimal machine of the words that any part accepts.

    Args:
        parts: At least one machine, all over the same number of symbols.
        meter: Watches every limit.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    nfas, offsets, total = _side_by_side(parts, 1)
    epsilons = [(0, offset + nfa.start) for nfa, offset in zip(nfas, offsets, strict=True)]
    accepting = [nfa.accepting + offset for nfa, offset in zip(nfas, offsets, strict=True)]
    joined = Nfa(
        total,
        0,
        _shifted_arcs(nfas, offsets),
        np.array(epsilons, np.int32),
        np.concatenate(accepting).astype(np.int32),
        nfas[0].num_symbols,
    )
    return minimal_dfa(joined, meter)


def concatenation(parts: Sequence[Dfa], meter: Meter) -> Dfa:
    """The minimal machine of the words of each part, one after the other; as `union`."""
    nfas, offsets, total = _side_by_side(parts, 0)
    epsilons: list[tuple[int, int]] = []
    for k in range(len(nfas) - 1):
        entry = offsets[k + 1] + nfas[k + 1].start
        epsilons += [(int(state) + offsets[k], entry) for state in nfas[k].accepting]
    joined = Nfa(
        total,
        offsets[0] + nfas[0].start,
        _shifted_arcs(nfas, offsets),
        np.array(epsilons, np.int32).reshape(-1, 2),
        (nfas[-1].accepting + offsets[-1]).astype(np.int32),
        nfas[0].num_symbols,
    )
    return minimal_dfa(joined, meter)


def repetition(part: Dfa, meter: Meter, *, at_least_once: bool = False) -> Dfa:
    """The minimal machine of any number of words of a part after each other.

    Args:
        part: The machine to repeat.
        meter: Watches every limit.
        at_least_once: Leave out zero repetitions, unless the part accepts the empty word.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    nfas, offsets, total = _side_by_side([part], 1)
    entry = offsets[0] + nfas[0].start
    ends = (nfas[0].accepting + offsets[0]).astype(np.int32)
    epsilons = [(0, entry), *((int(end), entry) for end in ends)]
    accepting = ends if at_least_once else np.append(ends, 0).astype(np.int32)
    joined = Nfa(
        total,
        0,
        _shifted_arcs(nfas, offsets),
        np.array(epsilons, np.int32),
        accepting,
        part.num_symbols,
    )
    return minimal_dfa(joined, meter)


def equivalent(a: Dfa, b: Dfa, meter: Meter) -> bool:
    """Whether two machines accept the same words."""
    return symmetric_difference(a, b, meter).num_states == 0
