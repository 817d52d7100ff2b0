"""The normal forms of the texts of a language: the image of a constraint under a tokenizer's NFC.

Normal forms are not finite-state: for ``([acute][dot below])*`` all dots would have to come before
all accents. But they nearly are. Decomposing is finite-state
(`explorer.languages.stages.forms.replaced`), and so is composing, since a composed character has
few marks inside it that later marks can precede.

The obstacle is to order the marks, and it seldom matters for a constraint: its marks are in order,
or it allows them in every order, or only few in a row. Each case is decided from the machine, so
the answer is exact or there is none. The three are tried in turn (`in_order`); where more than
`_MOST_HELD` marks would have to wait until lower ones have been written, there is no answer.

A state of the composed texts is a state of the decomposed texts and the marks *pending* inside the
last character: ``é`` followed by a cedilla decomposes into an e, a cedilla and an acute.

Cost: 0.1 s for the machines of a choice or of ASCII with accents, up to seconds for ``\\w+``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.minimize import minimize
from explorer.automata.construction.operations import equivalent, intersection
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.languages.stages.forms.normal_forms import (
    NUM_CHARACTERS,
    Form,
    characters_of_form,
    combining_classes,
    decomposed_form,
    decomposing_characters,
    decompositions,
    normal_form_machines,
    order_table,
)
from explorer.languages.stages.forms.replaced import CharacterMachine, characters_replaced

STAGE: Final = "Writing a constraint in a normal form"


def in_normal_form(form: Form, language: Dfa, meter: Meter) -> Dfa | None:
    """The normal forms of the texts of a language.

    Args:
        language: A minimal machine over valid UTF-8, with a word.

    Returns:
        A minimal machine; ``None`` if no machine that orders the marks of these texts is known.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer import regex
        >>> texts = in_normal_form("NFC", regex("e\\u0301|\\u212b").dfa, Meter())
        >>> texts is not None and texts.accepts("é".encode()) and texts.accepts("Å".encode())
        True
    """
    apart = decomposed_form(form)
    ordered = in_order(characters_replaced(decompositions(apart), language, meter), meter)
    if ordered is None:
        machine = language
        for condition in normal_form_machines(form):
            machine = intersection(machine, condition, meter)
        return language if equivalent(machine, language, meter) else None
    if form == apart:
        return ordered.over_bytes(meter)
    machine = _composed(form, ordered, meter)
    for condition in normal_form_machines(form):
        machine = intersection(machine, condition, meter)
    return machine


# --- ordering -----------------------------------------------------------------------------------

ORDERING: Final = "Ordering the marks of a constraint"
_MOST_CELLS: Final = 1 << 24
_MOST_HELD: Final = 4

_Element = tuple[tuple[int, ...], int]
"""The marks that were read and wait to be written, in order; and the state after the text."""


def in_order(texts: CharacterMachine, meter: Meter) -> CharacterMachine | None:
    """The texts with the marks after each character in the order of their classes.

    Returns:
        The machine; ``None`` if no machine that orders the marks is known.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    table, orders = texts.table, texts.order.astype(np.int64)
    kept = _kept_in_order(texts.machine, orders, meter)
    if equivalent(kept, texts.machine, meter):
        return texts
    # The texts contain all orders of the same marks, or at least the right one.
    commute = _commuting(table, orders, meter)
    if not commute.all():
        every = _Ordering(texts, commute, meter).made()
        if every is None:
            return None
        kept = _kept_in_order(every, orders, meter)
    return CharacterMachine(texts.class_of, texts.order, kept)


def _kept_in_order(machine: Dfa, orders: NDArray[np.int64], meter: Meter) -> Dfa:
    """The texts of a machine whose marks are in order."""
    classes = np.unique(np.append(orders, 0))
    rank = np.searchsorted(classes, orders).astype(np.int32)
    ends = np.ones(len(classes), np.bool_)
    return intersection(machine, Dfa(rank, order_table(len(classes)), ends, 0), meter)


def _arcs_by_class(table: Int32, orders: NDArray[np.int64]) -> list[set[tuple[int, int]]]:
    """For each state the arcs as pairs of a combining class and a target."""
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
    """bool[states], the states after which marks of different classes may change places."""
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
        meter.check(ORDERING)
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


class _Ordering:
    """A subset construction in which a mark may wait until marks of lower classes are written."""

    def __init__(self, texts: CharacterMachine, commute: Bool, meter: Meter) -> None:
        self._table, self._meter = texts.table, meter
        self._ends, self._start = texts.machine.accepting, texts.machine.start
        table, orders = self._table, texts.order.astype(np.int64)
        self._commute: list[bool] = commute.tolist()
        self._order: list[int] = orders.tolist()
        self._base = orders == 0
        # Marks of the same class with the same arcs are treated as one.
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
        for elements in self._sets:  # The list grows while it is read.
            row = self._row(elements)
            if row is None:
                return None
            rows.append(row)
            self._meter.check(ORDERING, states=len(self._sets), bytes=len(rows) * row.nbytes)
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
        """The elements, and those reached by reading further marks that wait."""
        met = dict.fromkeys(elements)
        queue = list(elements)
        for held, at in queue:
            if self._commute[at]:  # All orders of the same marks lead to the same state.
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
            self._meter.check(ORDERING, states=len(queue))
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
    """For each state the lowest class of a mark that may be read before the next character."""
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


# --- composing ------------------------------------------------------------------------------------


class _Composing:
    """The arcs of composed characters over the states of the decomposed texts."""

    def __init__(self, form: Form, texts: CharacterMachine) -> None:
        self.table = np.vstack([texts.table, np.full((1, len(texts.order)), NO_ARC, np.int32)])
        self._class_of = texts.class_of
        stays, orders = characters_of_form(form), combining_classes()
        # The targets of characters without their pending marks: the distinct columns.
        self.columns: list[Int32] = list(self.table.T)
        number = {column.tobytes(): k for k, column in enumerate(self.columns)}
        self.tails: dict[str, int] = {"": 0}
        column_of = np.where(stays, texts.class_of, NO_ARC).astype(np.int64)
        tail_of = np.zeros(NUM_CHARACTERS, np.int64)
        codes = decomposing_characters("NFD")
        for code in codes[stays[codes]].tolist():
            parts = unicodedata.normalize("NFD", chr(code))
            head = parts.rstrip("".join(c for c in parts if orders[ord(c)]))
            column = self.read(head)
            column_of[code] = NO_ARC
            if (column >= 0).any():
                known = number.setdefault(column.tobytes(), len(self.columns))
                if known == len(self.columns):
                    self.columns.append(column)
                column_of[code] = known
                tail_of[code] = self._tail(parts[len(head) :])
        key = (column_of * 256 + orders) * (len(self.tails) + 1) + tail_of
        key[column_of < 0] = -1
        keys, class_of = np.unique(key, return_inverse=True)
        self.class_of = class_of.reshape(-1).astype(np.int32)
        self.tail = np.maximum(keys, 0) % (len(self.tails) + 1)
        self.order = np.maximum(keys, 0) // (len(self.tails) + 1) % 256
        self.column = np.where(keys >= 0, keys // (len(self.tails) + 1) // 256, NO_ARC)

    def _tail(self, text: str) -> int:
        """The number of some pending marks; every suffix of them gets a number too."""
        for begin in range(len(text), -1, -1):
            self.tails.setdefault(text[begin:], len(self.tails))
        return self.tails[text]

    def read(self, text: str) -> Int32:
        """int32[states + 1], the target of a decomposed text from each state."""
        at = np.arange(len(self.table), dtype=np.int32)
        at[-1] = NO_ARC
        for char in text:
            of = self._class_of[ord(char)]
            at = self.table[at, of] if of >= 0 else np.full_like(at, NO_ARC)
        return at


def _composed(form: Form, texts: CharacterMachine, meter: Meter) -> Dfa:
    """The machine of the texts in a form that decompose to given ones; others are undefined."""
    made = _Composing(form, texts)
    tails: Sequence[str] = list(made.tails)
    orders = combining_classes()
    heights = np.unique(made.order)
    # For each state and pending marks: the target of those up to a class, and the rest of them.
    before = np.empty((len(tails), len(heights), len(made.table)), np.int32)
    left = np.empty((len(tails), len(heights)), np.int64)
    for tail, text in enumerate(tails):
        for k, height in enumerate(heights.tolist()):
            stay = len(text) if not height else sum(int(orders[ord(c)]) <= height for c in text)
            before[tail, k] = made.read(text[:stay])
            left[tail, k] = made.tails[text[stay:]]
    columns = np.stack(made.columns)
    rank = np.searchsorted(heights, made.order)
    is_mark = made.order > 0
    width = len(tails)
    numbers: dict[int, int] = {texts.machine.start * width: 0}
    places, rows, ends = [texts.machine.start * width], list[Int32](), list[bool]()
    for place in places:  # Grows while it is read.
        state, tail = divmod(place, width)
        sources = before[tail, rank, state]
        targets = columns[made.column, sources].astype(np.int64)
        targets[(made.column < 0) | (sources < 0)] = NO_ARC
        pending = np.where(is_mark, left[tail, rank], made.tail)
        joined = np.where(targets >= 0, targets * width + pending, NO_ARC)
        reached, which = np.unique(joined, return_inverse=True)
        composed = np.empty(len(reached), np.int32)
        for k, target in enumerate(reached.tolist()):
            if target != NO_ARC and target not in numbers:
                numbers[target] = len(places)
                places.append(target)
            composed[k] = NO_ARC if target == NO_ARC else numbers[target]
        rows.append(composed[which.reshape(-1)])
        at_end = int(before[tail, 0, state]) if heights[0] == 0 else made.read(tails[tail])[state]
        ends.append(at_end >= 0 and bool(texts.machine.accepting[at_end]))
        meter.check(STAGE, states=len(places), bytes=len(rows) * rows[0].nbytes)
    symbols = np.arange(len(made.column), dtype=np.int32)
    machine = minimize(Dfa(symbols, np.stack(rows), np.array(ends, np.bool_), 0), meter)
    composed = CharacterMachine(made.class_of, made.order.astype(np.uint8), machine)
    return composed.over_bytes(meter)
