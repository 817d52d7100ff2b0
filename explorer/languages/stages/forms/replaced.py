"""A language with characters replaced by texts, as a machine over classes of characters.

Most normalizers do only this, and it is the first half of bringing texts into a normal form of
Unicode: ``é`` becomes ``e`` and an acute. A character becomes the same text wherever it stands, so
the image of a regular language is regular. It is a subset construction over characters, in which
"an acute, and then this state" is an element like a state. An element that is covered by a state of
the same set is left out: where a constraint allows all marks, as ``(?s:.*)`` does, nothing remains
to be constructed.

The second half, in which marks are ordered and composed, is
`explorer.languages.stages.forms.recomposed`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.minimize import minimize
from explorer.automata.interchange.interegular_bridge import character_arcs
from explorer.automata.machine import NO_ARC, Dfa, Int32
from explorer.budget import Meter
from explorer.languages.stages.forms.character_table import table_over_bytes
from explorer.languages.stages.forms.normal_forms import (
    NUM_CHARACTERS,
    combining_classes,
)

STAGE: Final = "Replacing the characters of a constraint"

_Element = tuple[str, int]
"""The characters that must still follow, and the state of the constraint after them."""

_Elements = frozenset[_Element]


@dataclass(frozen=True, eq=False)
class CharacterMachine:
    """A machine over classes of characters.

    Attributes:
        class_of: int32[0x110000], the class of each character, a symbol of the machine; `NO_ARC`
            for a character that no word has.
        order: uint8[classes], the combining class of the characters of each class.
        machine: The machine; its symbols are the classes.
    """

    class_of: Int32
    order: NDArray[np.uint8]
    machine: Dfa

    @property
    def table(self) -> Int32:
        """int32[states, classes], the next state or `NO_ARC`."""
        return self.machine.table[:, self.machine.symbol_class]

    def over_bytes(self, meter: Meter) -> Dfa:
        """The minimal machine over bytes.

        Raises:
            BudgetExceeded: A limit was reached.
        """
        ends, start = self.machine.accepting, self.machine.start
        return table_over_bytes(self.table, self.class_of, ends, meter, start)


def characters_replaced(
    changes: Mapping[int, str], language: Dfa, meter: Meter
) -> CharacterMachine:
    """The texts of a language with some characters replaced by texts.

    Args:
        changes: The replacement of each character that changes.
        language: A minimal machine over valid UTF-8, with a word.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> from explorer import regex
        >>> found = characters_replaced({ord("é"): "e\u0301"}, regex("é?").dfa, Meter())
        >>> state = found.machine.start
        >>> for char in "e\u0301":
        ...     state = int(found.table[state, found.class_of[ord(char)]])
        >>> bool(found.machine.accepting[state]), int(found.class_of[ord("é")])
        (True, -1)
    """
    return _Replacing(changes, language, meter).made()


class _Replacing:
    """The subset construction, for one use."""

    def __init__(self, changes: Mapping[int, str], language: Dfa, meter: Meter) -> None:
        self._meter = meter
        arcs = character_arcs(language)
        number = {state: k for k, state in enumerate(arcs)}
        self._accepting = language.accepting[list(arcs)]
        cuts = sorted(
            {0, *(c for a in arcs.values() for low, high, _ in a for c in (low, high + 1))}
        )
        rows = np.full((len(arcs), len(cuts)), NO_ARC, np.int32)
        for state, pieces in arcs.items():
            for low, high, target in pieces:
                first, last = np.searchsorted(cuts, (low, high + 1))
                rows[number[state], first:last] = number[target]
            meter.check(STAGE, states=len(arcs), bytes=rows.nbytes)
        # A column is a set of characters with the same arcs; the last one is that of replaced
        # characters, which no longer occur.
        columns, of_cut = np.unique(rows, axis=1, return_inverse=True)
        columns = np.column_stack([columns, np.full(len(arcs), NO_ARC, np.int32)])
        sizes = np.diff([*cuts, NUM_CHARACTERS])
        column_of = np.repeat(of_cut.reshape(-1), sizes)
        self._leads: list[list[int]] = columns.T.tolist()
        alive = (columns != NO_ARC).any(axis=0)
        codes = np.array([*changes], np.int64)
        parts: dict[int, list[str]] = defaultdict(list)
        dropped: set[int] = set()
        for code in codes[alive[column_of[codes]]].tolist():
            if changes[code]:
                parts[int(column_of[code])].append(changes[code])
            else:
                dropped.add(int(column_of[code]))
        self._parts: Mapping[int, list[str]] = parts
        self._dropped = dropped
        column_of[codes] = len(alive) - 1
        singled = sorted({char for texts in parts.values() for text in texts for char in text})
        single = np.zeros(NUM_CHARACTERS, np.int64)
        single[[ord(char) for char in singled]] = np.arange(1, len(singled) + 1)
        orders = combining_classes()
        key = (single * 256 + orders) * len(alive) + column_of
        key[~alive[column_of] & (single == 0)] = -1
        keys, class_of = np.unique(key, return_inverse=True)
        lost = int(keys[0] == -1)
        self._class_of = (class_of.reshape(-1) - lost).astype(np.int32)
        keys = keys[lost:]
        self._order = (keys // len(alive) % 256).astype(np.uint8)
        self._column: list[int] = (keys % len(alive)).tolist()
        self._class = {char: int(self._class_of[ord(char)]) for char in singled}
        self._column_of = {char: int(column_of[ord(char)]) for char in singled}
        self._numbers: dict[_Elements, int] = {}
        self._sets: list[_Elements] = []
        self._fresh: dict[frozenset[int], tuple[Int32, Mapping[str, _Elements]]] = {}

    def made(self) -> CharacterMachine:
        """The machine."""
        self._number({("", 0)})
        rows: list[Int32] = []
        for elements in self._sets:  # Grows while it is read.
            rows.append(self._row(elements))
            self._meter.check(STAGE, states=len(self._sets), bytes=len(rows) * rows[0].nbytes)
        ends = [
            any(not text and bool(self._accepting[state]) for text, state in elements)
            for elements in self._sets
        ]
        symbols = np.arange(len(self._column), dtype=np.int32)
        machine = Dfa(symbols, np.stack(rows), np.array(ends, np.bool_), 0)
        return CharacterMachine(self._class_of, self._order, minimize(machine, self._meter))

    def _number(self, elements: Iterable[_Element]) -> int:
        """The number of a set, without the elements that a state in it covers."""
        whole = set(elements)
        if not whole:
            return NO_ARC
        if self._dropped:
            self._drop(whole)
        states = [state for text, state in whole if not text]
        kept = frozenset(
            (text, state) for text, state in whole
            if not text or not any(self._read(start, text) == state for start in states)
        )  # fmt: skip
        number = self._numbers.get(kept)
        if number is None:
            number = self._numbers[kept] = len(self._sets)
            self._sets.append(kept)
        return number

    def _drop(self, elements: set[_Element]) -> None:
        """Add the states after characters that are replaced by the empty text."""
        waiting = [state for text, state in elements if not text]
        while waiting:
            state = waiting.pop()
            for column in self._dropped:
                target = self._leads[column][state]
                if target != NO_ARC and ("", target) not in elements:
                    elements.add(("", target))
                    waiting.append(target)

    def _read(self, state: int, text: str) -> int:
        """The state of the constraint after a text; `NO_ARC` if there is none."""
        for char in text:
            if state != NO_ARC:
                state = self._leads[self._column_of[char]][state]
        return state

    def _row(self, elements: _Elements) -> Int32:
        row, sets = self._from(frozenset(state for text, state in elements if not text))
        begun: dict[str, set[_Element]] = defaultdict(set)
        for text, state in elements:
            if text:
                begun[text[0]].add((text[1:], state))
        if begun:
            row = row.copy()
        for char, further in begun.items():
            row[self._class[char]] = self._number({*sets.get(char, ()), *further})
        return row

    def _from(self, states: frozenset[int]) -> tuple[Int32, Mapping[str, _Elements]]:
        """The row of some states, and the sets after the characters that begin replacements."""
        known = self._fresh.get(states)
        if known is not None:
            return known
        sets: dict[str, set[_Element]] = defaultdict(set)
        for state in states:
            for column, texts in self._parts.items():
                target = self._leads[column][state]
                if target != NO_ARC:
                    for text in texts:
                        sets[text[0]].add((text[1:], target))
            for char, column in self._column_of.items():
                target = self._leads[column][state]
                if target != NO_ARC:
                    sets[char].add(("", target))
        by_column: dict[int, int] = {}
        row = np.empty(len(self._column), np.int32)
        for k, column in enumerate(self._column):
            if column not in by_column:
                targets = {self._leads[column][state] for state in states} - {NO_ARC}
                by_column[column] = self._number(("", target) for target in targets)
            row[k] = by_column[column]
        for char, number in self._class.items():
            row[number] = self._number(sets.get(char, ()))
        self._meter.check(STAGE, states=len(self._sets))
        result = row, {char: frozenset(some) for char, some in sets.items()}
        self._fresh[states] = result
        return result
