"""Determinization and minimization of a nondeterministic rule for cuts.

If a splitter joins a match to its neighbours, or several splitters cut one after the other, a mark
alone does not tell which of them made the cut. The rule then continues in several ways, of which at
most one reaches the end. Here all ways are followed together (subset construction), and states that
accept the same continuations are merged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.errors import UnsupportedTokenizer

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

LOST: Final = -1
"""In place of a state: the cuts are not those of the splitter, however the text continues."""

MOST_STATES: Final = 8192

Rows = tuple[Int64, Int64]
"""The targets of a state by class, for a character that continues the word and for one that begins
a word: int64[ways, classes] each, padded with `LOST`."""


def without_guesses(
    rows: Callable[[int], Rows], may_end: Callable[[int], bool], component: str
) -> tuple[Int32, Bool]:
    """The minimal deterministic table of a rule.

    Args:
        rows: The targets of a state of the rule, which starts in state 0.
        may_end: Whether a text may end in a state of the rule.
        component: The part of the tokenizer that the rule belongs to, for messages.

    Returns:
        int32[2 * states, classes] and bool[states], as in `explorer.vocabulary.canonical.marked`.

    Raises:
        UnsupportedTokenizer: There are more than `MOST_STATES` states.
    """
    numbers: dict[tuple[int, ...], int] = {(0,): 0}
    waiting: list[tuple[int, ...]] = [(0,)]
    arcs: tuple[list[Int32], list[Int32]] = ([], [])
    for ways in waiting:
        for begins in (0, 1):
            parts = [rows(way)[begins] for way in ways]
            led = parts[0] if len(parts) == 1 else np.concatenate(parts)
            if len(led) == 1:
                targets, column_of = np.unique(led[0], return_inverse=True)
                columns = targets[:, None]
            else:
                columns, column_of = np.unique(np.sort(led, axis=0), axis=1, return_inverse=True)
                columns = columns.T
            row: list[int] = []
            for column in columns.tolist():
                key = tuple(sorted(set(column) - {LOST}))
                if key and key not in numbers:
                    numbers[key] = len(waiting)
                    waiting.append(key)
                row.append(numbers[key] if key else LOST)
            arcs[begins].append(np.array(row, np.int32)[column_of.reshape(-1)])
        if len(waiting) > MOST_STATES:
            raise UnsupportedTokenizer(
                component,
                f"where it cuts a text needs more than {MOST_STATES:,} states",
                remedy="Leave out canonical(...) for this tokenizer.",
            )
    table = np.stack([np.stack(arcs[0]), np.stack(arcs[1])])
    ends = np.array([any(may_end(way) for way in ways) for ways in waiting])
    return _smallest(table, ends)


def _smallest(table: Int32, ends: Bool) -> tuple[Int32, Bool]:
    """The table without states from which no end is reachable, and with equivalent states merged.

    Args:
        table: int32[2, states, classes], state 0 the start.
        ends: bool[states].
    """
    hopeful = ends.copy()
    while True:
        wider = hopeful | (hopeful[table] & (table >= 0)).any(axis=(0, 2))
        if (wider == hopeful).all():
            break
        hopeful = wider
    table = np.where((table >= 0) & hopeful[table], table, LOST)
    # Partition refinement: states are separated by the kinds of their targets in every round.
    random = np.random.default_rng(0)
    factors = random.integers(1 << 62, size=(2, 1, table.shape[2]), dtype=np.uint64) * 2 + 1
    kind = ends.astype(np.int64)
    count = 0
    while len(np.unique(kind)) > count:
        count = len(np.unique(kind))
        led = (np.append(kind, -1)[table] + 2).astype(np.uint64)
        value = (led * factors).sum(axis=(0, 2)) + kind.astype(np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        )
        kind = np.unique(value, return_inverse=True)[1].astype(np.int64)
    firsts = np.unique(kind, return_index=True)[1]
    # States from which no end is reachable are dropped; no other state leads to one.
    firsts = firsts[hopeful[firsts] | (firsts == 0)]
    # The start keeps the number 0, and the others their order of discovery.
    firsts = np.sort(firsts)
    number = np.empty(int(kind.max()) + 1, np.int32)
    number[kind[firsts]] = np.arange(len(firsts), dtype=np.int32)
    kept = table[:, firsts]
    kept = np.where(kept >= 0, number[kind[kept]], LOST).astype(np.int32)
    return kept.reshape(-1, table.shape[2]), ends[firsts]
