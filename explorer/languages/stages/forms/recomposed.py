"""The normal forms of the texts of a language: what a tokenizer's NFC makes of a constraint.

Normal forms are not finite-state: of ``([acute][dot below])*`` all dots would have to come before
all accents. But they nearly are. Decomposing is (`explorer.languages.stages.forms.replaced`), and
so is composing, since a composed character has few marks inside it that later ones can stand
before.
Only marks in an order of their own stand in the way, and of a constraint they seldom do: its marks
are in order, or it allows them in every order, or few of them in a row. Each is found out from the
machine, so that the answer is exact or there is none.

In the composed text a state is one of the decomposed texts and the marks *pending* inside the last
character: ``é`` followed by a cedilla was written as an e, a cedilla and an acute.

Cost: 0.1 s for the machines of a choice or of ASCII with accents, up to seconds for ``\\w+``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from explorer.automata.construction.minimize import minimize
from explorer.automata.construction.operations import equivalent, intersection
from explorer.automata.machine import NO_ARC, Dfa, Int32
from explorer.budget import Meter
from explorer.languages.stages.forms.in_order import in_order
from explorer.languages.stages.forms.normal_forms import (
    NUM_CHARACTERS,
    Form,
    characters_of_form,
    combining_classes,
    decomposing_characters,
    decompositions,
    normal_form_machines,
)
from explorer.languages.stages.forms.replaced import CharacterMachine, characters_replaced

STAGE: Final = "Writing a constraint in a normal form"


def in_normal_form(form: Form, language: Dfa, meter: Meter) -> Dfa | None:
    """The texts that the texts of a language are in a normal form.

    Args:
        language: A minimal machine over valid UTF-8, with a word.

    Returns:
        A minimal machine; ``None`` where ordering the marks of these texts is not followed.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer import regex
        >>> texts = in_normal_form("NFC", regex("e\\u0301|\\u212b").dfa, Meter())
        >>> texts is not None and texts.accepts("é".encode()) and texts.accepts("Å".encode())
        True
    """
    apart: Literal["NFD", "NFKD"] = "NFKD" if "K" in form else "NFD"
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


# --- composing ------------------------------------------------------------------------------------


class _Composing:
    """Composed characters, as the decomposed texts meet them."""

    def __init__(self, form: Form, texts: CharacterMachine) -> None:
        self.table = np.vstack([texts.table, np.full((1, len(texts.order)), NO_ARC, np.int32)])
        self._class_of = texts.class_of
        stays, orders = characters_of_form(form), combining_classes()
        # Where a character leads, but for its pending marks: columns, each once.
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
        """The number of some pending marks; those that are left of them get theirs, too."""
        for begin in range(len(text), -1, -1):
            self.tails.setdefault(text[begin:], len(self.tails))
        return self.tails[text]

    def read(self, text: str) -> Int32:
        """int32[states + 1], where decomposed characters lead from each state."""
        at = np.arange(len(self.table), dtype=np.int32)
        at[-1] = NO_ARC
        for char in text:
            of = self._class_of[ord(char)]
            at = self.table[at, of] if of >= 0 else np.full_like(at, NO_ARC)
        return at


def _composed(form: Form, texts: CharacterMachine, meter: Meter) -> Dfa:
    """Texts that decompose to given ones, if they are in the form; others do not count."""
    made = _Composing(form, texts)
    tails: Sequence[str] = list(made.tails)
    orders = combining_classes()
    heights = np.unique(made.order)
    # From each state with pending marks: those of them up to a class, and what is left then.
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
