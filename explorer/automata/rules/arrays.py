"""A network as arrays, for kernels; and what can come next in it.

A large grammar has thousands of states and a hundred classes of bytes. What is asked of each state
and class (what can come next, what the moves are) is asked of arrays, by kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from explorer.automata.machine import NO_ARC, Bool, Int32, NetworkArrays
from explorer.jit import jit


def network_arrays(
    table: Int32, calls: Sequence[Sequence[tuple[int, int]]], exits: Bool, rule: Int32,
    entry: Sequence[int],
) -> NetworkArrays:  # fmt: skip
    """The arrays of a network, with what can come next.

    Args:
        table: int32[states, classes], the state after a class or −1.
        calls: For each state, pairs of a rule and the state after it.
        exits: bool[states], whether the rule may end there.
        rule: int32[states], the rule of each state.
        entry: For each rule, its start state.
    """
    first = np.zeros(len(table) + 1, np.int32)
    np.cumsum([len(pairs) for pairs in calls], out=first[1:])
    flat = [pair for pairs in calls for pair in pairs]
    arrays = NetworkArrays(
        table, first, np.array([entry[callee] for callee, _ in flat], np.int32),
        np.array([after for _, after in flat], np.int32), exits, rule, table != NO_ARC,
        exits.copy(), np.zeros((len(entry), table.shape[1]), np.bool_),
    )  # fmt: skip
    _look_ahead(arrays)
    return arrays


@jit
def _look_ahead(rules: NetworkArrays) -> None:
    """Follow the calls in what each state may read next, whether its rule may end, and what may
    follow each rule: least fixpoints."""
    states, classes = rules.table.shape
    changed = True
    while changed:
        changed = False
        for state in range(states - 1, -1, -1):  # Those that are called come later.
            for k in range(rules.first_call[state], rules.first_call[state + 1]):
                begin, after = rules.begins[k], rules.after[k]
                passed = rules.empty[begin]
                if passed and rules.empty[after] and not rules.empty[state]:
                    rules.empty[state] = changed = True
                for c in range(classes):
                    if not rules.reads[state, c] and (
                        rules.reads[begin, c] or (passed and rules.reads[after, c])
                    ):
                        rules.reads[state, c] = changed = True
    changed = True
    while changed:
        changed = False
        for state in range(states):
            for k in range(rules.first_call[state], rules.first_call[state + 1]):
                inner, outer = rules.rule[rules.begins[k]], rules.rule[state]
                after = rules.after[k]
                for c in range(classes):
                    if not rules.follow[inner, c] and (
                        rules.reads[after, c] or (rules.empty[after] and rules.follow[outer, c])
                    ):
                        rules.follow[inner, c] = changed = True


def occurs_nowhere(rules: NetworkArrays, symbols: Sequence[int]) -> bool:
    """Whether it is certain that no text holds some bytes, wherever they begin.

    They are read from every state at once, and a rule that ends goes on after every call of it; so
    what is found to occur may not, and what is not found does not.

    Args:
        rules: The network.
        symbols: The classes of the bytes.
    """
    here = np.ones(len(rules.table), np.bool_)
    caller = np.repeat(np.arange(len(rules.table)), np.diff(rules.first_call))
    callee = rules.rule[rules.begins]
    for symbol in symbols:
        after = np.zeros_like(here)
        targets = rules.table[here, symbol]
        after[targets[targets != NO_ARC]] = True
        while True:
            ended = np.zeros(len(rules.follow), np.bool_)
            ended[rules.rule[after & rules.exits]] = True
            more = after.copy()
            more[rules.begins[after[caller]]] = True
            more[rules.after[ended[callee]]] = True
            if (more == after).all():
                break
            after = more
        here = after
    return not here.any()


class ArcRows(Sequence[dict[int, tuple[int, ...]]]):
    """The arcs of a table as those of a network: for each state, the states after each class.

    Args:
        table: int32[states, classes], −1 where there is no arc.
    """

    def __init__(self, table: Int32) -> None:
        self._table = table
        self._rows: dict[int, dict[int, tuple[int, ...]]] = {}

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> dict[int, tuple[int, ...]]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[dict[int, tuple[int, ...]]]: ...

    def __getitem__(
        self, index: int | slice
    ) -> dict[int, tuple[int, ...]] | Sequence[dict[int, tuple[int, ...]]]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        row = self._rows.get(index)
        if row is None:
            targets: list[int] = self._table[index].tolist()
            row = self._rows[index] = {c: (t,) for c, t in enumerate(targets) if t != NO_ARC}
        return row

    def __iter__(self) -> Iterator[dict[int, tuple[int, ...]]]:
        return (self[k] for k in range(len(self)))

    def __reduce__(self) -> tuple[type[ArcRows], tuple[Int32]]:
        return ArcRows, (self._table,)
