"""Machines for drawings: arcs as intervals of bytes, and a small transducer of any library.

A state has 256 bytes but only two or three arcs. Bytes that no state distinguishes are one symbol
class, so only runs of equal class are examined, and neighbours with the same target are joined.

Cost: about one second for 160,000 states; nearly all of it is making the lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from explorer.automata.machine import NO_ARC, Dfa

Interval = tuple[int, int, int]
"""An arc: lowest byte, highest byte, target."""


def byte_intervals(dfa: Dfa) -> list[list[Interval]]:
    """For each state its arcs over bytes, in order; neighbours have different targets.

    Example:
        >>> from explorer import regex
        >>> byte_intervals(regex("[a-cf]").dfa)
        [[(97, 99, 1), (102, 102, 1)], []]
    """
    classes = dfa.symbol_class[:256]
    first = np.flatnonzero(np.diff(classes, prepend=-1))  # Where a run of one class begins.
    rows = dfa.table[:, classes[first]]
    arcs_of: list[list[Interval]] = [[] for _ in range(dfa.num_states)]
    begins = np.ones(rows.shape, bool)
    begins[:, 1:] = rows[:, 1:] != rows[:, :-1]
    states, runs = np.nonzero(begins)
    targets = rows[states, runs]
    low = first[runs]
    # An interval ends before the next one of its state begins; the last one with the last byte.
    high = np.append(low[1:] - 1, 255)
    high[np.append(states[1:] != states[:-1], True)] = 255
    kept = targets != NO_ARC
    intervals: Iterable[Interval] = zip(
        low[kept].tolist(), high[kept].tolist(), targets[kept].tolist(), strict=True
    )
    numbers: list[int] = states[kept].tolist()
    for state, interval in zip(numbers, intervals, strict=True):
        arcs_of[state].append(interval)
    return arcs_of


@dataclass(frozen=True)
class DrawnTransducer:
    """A small transducer for drawings; state 0 is the start.

    Args:
        arcs: Rows ``(source, read, written, target)``; an empty text is ε.
    """

    num_states: int
    arcs: tuple[tuple[int, str, str, int], ...]
    accepting: frozenset[int]
