"""The marks of decomposed texts, brought into the order of their combining classes.

Ordering is not finite-state: of ``([acute][dot below])*`` all dots would have to come before all
accents. A constraint seldom asks for that: its marks are in order, or it allows them in every
order, or only a few of them ever have to wait until lower ones have been written. The three are
tried in turn; where more than `_MOST_HELD` marks would have to wait there is no answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.minimize import minimize
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.languages.stages.forms.replaced import CharacterMachine

STAGE: Final = "Ordering the marks of a constraint"
_MOST_CELLS: Final = 1 << 24
_MOST_HELD: Final = 4

_Element = tuple[tuple[int, ...], int]
"""Marks that were read and wait to be written, in order; and the state that the text reached."""


def in_order(texts: CharacterMachine, meter: Meter) -> CharacterMachine | None:
    """The same texts, the marks after each character in the order of their classes.

    Returns:
        ``None`` where a machine that orders them is not known.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    table, orders = texts.table, texts.order.astype(np.int64)
    if _is_in_order(table, orders):
        return texts
    every = texts.machine
    commute = _commuting(table, orders, meter)
    if not commute.all():
        ordering = _Ordering(texts, commute, meter)
        made = ordering.made()
        if made is None:
            return None
        every = made
    # All orders of the same marks, or at least the right one, are there.
    return CharacterMachine(texts.class_of, texts.order, _kept_in_order(every, orders, meter))


def _is_in_order(table: Int32, orders: NDArray[np.int64]) -> bool:
    """Whether no text has a mark after one of a higher class."""
    # The highest class that a text may have read just before a state.
    highest = np.zeros(len(table), np.int64)
    leads = _arcs_by_class(table, orders)
    waiting = list(range(len(table)))
    while waiting:
        source = waiting.pop()
        for order, target in leads[source]:
            if 0 < order < highest[source]:
                return False
            if order > highest[target]:
                highest[target] = order
                waiting.append(target)
    return True


def _arcs_by_class(table: Int32, orders: NDArray[np.int64]) -> list[set[tuple[int, int]]]:
    """For each state the pairs of a combining class and a state that it leads to."""
    leads: list[set[tuple[int, int]]] = [set() for _ in table]
    for order in np.unique(orders).tolist():
        part = table[:, orders == order]
        sources = np.broadcast_to(np.arange(len(table))[:, None], part.shape)[part >= 0]
        pairs: list[list[int]] = np.unique(
            np.column_stack([sources, part[part >= 0]]), axis=0
        ).tolist()
        for source, target in pairs:
            leads[source].add((order, target))
    return leads


def _commuting(table: Int32, orders: NDArray[np.int64], meter: Meter) -> Bool:
    """bool[states], those after which marks of different classes may always change places."""
    marks = np.flatnonzero(orders)
    columns, first = np.unique(
        np.vstack([table[:, marks], orders[marks]]), axis=1, return_index=True
    )
    marks, classes = marks[first], columns[-1]
    padded = np.vstack([table, np.full((1, table.shape[1]), NO_ARC, np.int32)])
    rows = max(1, _MOST_CELLS // max(1, len(marks) ** 2))
    differ = classes[:, None] != classes[None, :]
    commuting = np.ones(len(table), np.bool_)
    for begin in range(0, len(table), rows):
        meter.check(STAGE)
        once = padded[begin : min(begin + rows, len(table)), marks]
        twice = padded[once][:, :, marks]
        commuting[begin : begin + rows] = ~(differ & (twice != twice.transpose(0, 2, 1))).any(
            (1, 2)
        )
    after = table[:, marks]
    while True:
        kept = commuting & (commuting[after] | (after < 0)).all(axis=1)
        if (kept == commuting).all():
            return commuting
        commuting = kept


def _kept_in_order(machine: Dfa, orders: NDArray[np.int64], meter: Meter) -> Dfa:
    """The texts of a machine whose marks are in order."""
    table = machine.table[:, machine.symbol_class]
    classes = np.unique(np.append(orders, 0))
    rank = np.searchsorted(classes, orders)
    states, width = len(table), len(classes)
    meter.check(STAGE, states=states * width, bytes=states * width * table.shape[1] * 4)
    allowed = (rank[None, :] >= np.arange(width)[:, None]) | (rank == 0)
    after = table[:, None, :].astype(np.int64) * width + rank
    both = np.where(allowed[None] & (table[:, None, :] >= 0), after, NO_ARC)
    kept = Dfa(
        np.arange(table.shape[1], dtype=np.int32),
        np.ascontiguousarray(both.reshape(states * width, -1), np.int32),
        np.repeat(machine.accepting, width),
        machine.start * width,
    )
    return minimize(kept, meter)


class _Ordering:
    """A subset construction in which a mark may wait until lower ones were written."""

    def __init__(self, texts: CharacterMachine, commute: Bool, meter: Meter) -> None:
        self._table, self._meter = texts.table, meter
        self._ends, self._start = texts.machine.accepting, texts.machine.start
        table, orders = self._table, texts.order.astype(np.int64)
        self._commute: list[bool] = commute.tolist()
        self._order: list[int] = orders.tolist()
        self._base = orders == 0
        # Marks that are told apart neither by the texts nor by their class are one.
        marks = np.flatnonzero(orders)
        columns, first, of = np.unique(
            np.vstack([table[:, marks], orders[marks]]), axis=1, return_index=True,
            return_inverse=True,
        )  # fmt: skip
        self._marks: list[int] = marks[first].tolist()
        self._leads: list[list[int]] = columns[:-1].T.tolist()
        self._spread = (marks, of.reshape(-1))
        self._lowest = _lowest_ahead(_arcs_by_class(table, orders))
        self._numbers: dict[frozenset[_Element], int] = {}
        self._sets: list[frozenset[_Element]] = []
        self._single = np.full(len(table) + 1, NO_ARC, np.int32)

    def made(self) -> Dfa | None:
        """The machine; ``None`` if too many marks would have to wait."""
        self._number([((), self._start)])
        rows: list[Int32] = []
        for elements in self._sets:  # Grows while it is read.
            row = self._row(elements)
            if row is None:
                return None
            rows.append(row)
            self._meter.check(STAGE, states=len(self._sets), bytes=len(rows) * row.nbytes)
        ends = [any(not held and self._ends[at] for held, at in one) for one in self._sets]
        symbols = np.arange(self._table.shape[1], dtype=np.int32)
        machine = Dfa(symbols, np.stack(rows), np.array(ends, np.bool_), 0)
        return minimize(machine, self._meter)

    def _number(self, elements: Iterable[_Element]) -> int:
        key = frozenset(elements)
        if not key:
            return NO_ARC
        if key not in self._numbers:
            self._numbers[key] = len(self._sets)
            self._sets.append(key)
        return self._numbers[key]

    def _waiting(self, elements: frozenset[_Element]) -> list[_Element] | None:
        """The elements, and those in which further marks were read and wait."""
        met = dict.fromkeys(elements)
        queue = list(elements)
        for held, at in queue:
            if self._commute[at]:  # In whatever order, the same marks lead to the same state.
                continue
            for number, mark in enumerate(self._marks):
                target = self._leads[number][at]
                order = self._order[mark]
                # Marks of one class stay in the order in which they were read.
                if target == NO_ARC or self._lowest[target] >= order:
                    continue
                if len(held) == _MOST_HELD:
                    return None
                place = sum(self._order[self._marks[k]] <= order for k in held)
                element = (*held[:place], number, *held[place:]), target
                if element not in met:
                    met[element] = None
                    queue.append(element)
            self._meter.check(STAGE, states=len(queue))
        return queue

    def _row(self, elements: frozenset[_Element]) -> Int32 | None:
        every = self._waiting(elements)
        if every is None:
            return None
        row = np.full(self._table.shape[1], NO_ARC, np.int32)
        free = sorted({at for held, at in every if not held})
        if len(free) == 1:
            targets = self._table[free[0]]
            for target in np.unique(targets[self._base]).tolist():
                if target != NO_ARC:
                    self._single[target] = self._number([((), target)])
            row[self._base] = self._single[targets][self._base]
        elif free:
            stacked, of = np.unique(self._table[free][:, self._base], axis=1, return_inverse=True)
            numbers = [
                self._number(((), at) for at in column if at != NO_ARC)
                for column in stacked.T.tolist()
            ]
            row[self._base] = np.array(numbers, np.int32)[of.reshape(-1)]
        reached = np.empty(len(self._marks), np.int32)
        for number, mark in enumerate(self._marks):
            after: list[_Element] = []
            for held, at in every:
                lowest = self._order[self._marks[held[0]]] if held else 256
                target = self._leads[number][at]
                if target != NO_ARC and lowest > self._order[mark]:
                    after.append((held, target))
                if held and held[0] == number:
                    after.append((held[1:], at))
            reached[number] = self._number(after)
        marks, of = self._spread
        row[marks] = reached[of]
        return row


def _lowest_ahead(leads: list[set[tuple[int, int]]]) -> list[int]:
    """For each state the lowest class of a mark that a text reads before its next character."""
    lowest = [min((order for order, _ in arcs if order), default=256) for arcs in leads]
    back: list[set[int]] = [set() for _ in leads]
    for source, arcs in enumerate(leads):
        for order, target in arcs:
            if order:
                back[target].add(source)
    waiting = list(range(len(leads)))
    while waiting:
        state = waiting.pop()
        for source in back[state]:
            if lowest[state] < lowest[source]:
                lowest[source] = lowest[state]
                waiting.append(source)
    return lowest
