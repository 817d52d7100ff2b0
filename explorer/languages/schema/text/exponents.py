"""The spellings of numbers with exponents, derived from the plain spellings.

`explorer.languages.schema.text.numbers` compares numbers in two spellings. A finished set gets
more: an exponent of zero (``1e0``) after any plain spelling, zeros before a negative exponent
(``1e-007``), and the *large* spelling, ``1.5e+22``: up to 17 digits, one of them before the point,
and an exponent from 16 on, as Python and JavaScript write large numbers. A large spelling is in the
set if the same number written out, with its zeros, is. If a set holds every number, all spellings
of JSON are allowed, up to the largest float; if it holds every whole number, whole digits may have
an exponent of 0 to 99 too (``12e3``). Which of the two holds is kept beside the machine while sets
are combined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, Literal, cast

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.construction.operations import empty_dfa, intersection, union
from explorer.automata.construction.subset import minimal_dfa
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Deferred, Node, Outline
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.text.numbers import INTEGER, PLAIN, any_integer
from explorer.languages.schema.text.sketch import Sketch

LAST_EXPONENT: Final = 308
"""The exponent of the largest float."""
FIRST_LARGE: Final = 16
"""The least exponent of the large spelling."""
_LARGEST: Final = "7976931348623158"
"""The decimals of the largest float, 1.7976931348623157e308, with the last one raised by one, which
is still read as that float."""


def _at_most(decimals: str) -> str:
    """A pattern of the decimals that are at most the given ones."""
    first, rest = int(decimals[0]), decimals[1:]
    less = rf"[0-{first - 1}][0-9]*|" if first else ""
    return rf"(?:{less}{first}{_at_most(rest)}?)" if rest else rf"(?:{less}{first}0*)"


_UP: Final = r"[eE]\+?0*"
_TOP: Final = rf"-?1(?:\.{_at_most(_LARGEST)})?{_UP}308"
ANY: Final = (
    rf"{PLAIN}(?:[eE]-0*[0-9]{{1,3}}|{_UP}[0-9]{{1,2}})?"
    rf"|-?[1-9](?:\.[0-9]+)?{_UP}(?:[12][0-9]{{2}}|30[0-7])|{_TOP}"
)
"""Every number that a float can hold: 1e999 would be read as infinity.

Negative exponents have at most three digits after their zeros, as elsewhere.
"""

WHOLE: Final = INTEGER + r"(?:[eE](?:\+?0*[0-9]{1,2}|-0+))?"

_DECIMALS: Final = len(_LARGEST)
"""The most decimals of the large spelling."""

MOST_RESPELLED: Final = 2_000
"""Larger machines of numbers, which only ``multipleOf`` has, keep their two spellings."""
MOST_WAITING: Final = 500
"""The most states of a machine whose large spelling waits, which has 32 layers of them."""
MOST_KEPT: Final = 200
"""The most states of a machine whose result is cached, since schemas use the same few bounds."""

Every = Literal["number", "integer"]
"""A set of numbers that is known to be contained: all numbers, or all whole numbers."""


@cache
def _every_spelling() -> Dfa:
    return compile_pattern(ANY, Meter())[1]


@cache
def _every_whole() -> Dfa:
    few = compile_pattern(WHOLE, Meter())[1]
    return union([few, _large(any_integer(), Meter())], Meter())


def with_exponents(machine: Dfa, every: frozenset[Every], meter: Meter) -> Dfa:
    """A set of numbers with further spellings that have exponents, all of numbers in the set.

    Example:
        >>> from decimal import Decimal
        >>> from explorer.languages.schema.text.numbers import compared
        >>> texts = (b"1e0", b"12e3", b"1.5e1", b"1.5e0")
        >>> whole = with_exponents(any_integer(), frozenset(("integer",)), Meter())
        >>> [whole.accepts(text) for text in texts]
        [True, True, False, False]
        >>> one = compared(Decimal(1), lambda order: order == "=", Meter())
        >>> one = with_exponents(one, frozenset(), Meter())
        >>> [one.accepts(text) for text in texts]
        [True, False, False, False]
    """
    if "number" in every:
        return _every_spelling()
    if machine is any_integer():
        return _every_whole()
    if machine.num_states == 0 or machine.num_states > MOST_RESPELLED:
        return machine
    whole = "integer" in every
    if machine.num_states > MOST_KEPT:
        return _respelled(machine, whole=whole, meter=meter)
    arrays = machine.symbol_class, machine.table, machine.accepting
    key = machine.start, *(array.tobytes() for array in arrays)
    return _kept(_ByContent(machine, key), whole=whole)


@dataclass(frozen=True, slots=True)
class _ByContent:
    """A machine as a cache key: machines with the same table are equal."""

    machine: Dfa = field(compare=False)
    key: tuple[object, ...]


@lru_cache(maxsize=512)
def _kept(machine: _ByContent, *, whole: bool) -> Dfa:
    return _respelled(machine.machine, whole=whole, meter=Meter())


def _respelled(machine: Dfa, *, whole: bool, meter: Meter) -> Dfa:
    """The numbers of a machine in further spellings."""
    sketch = Sketch(meter)
    begin, end = sketch.state(), sketch.state()
    _draw_small(sketch, begin, end, machine)
    sketch.machine(begin, _every_whole() if whole else _large(machine, meter), end)
    return sketch.finish(begin, [end])


def draw_with_exponents(
    sketch: Sketch, begin: int, end: int, machine: Dfa, every: frozenset[Every], meter: Meter
) -> None:
    """Draw the spellings of `with_exponents`; the decimals of the large spelling are drawn when a
    text reaches them, unless the machine is very large."""
    if machine.num_states > MOST_WAITING or "number" in every or machine is any_integer():
        sketch.machine(begin, with_exponents(machine, every, meter), end)
        return
    _draw_small(sketch, begin, end, machine)
    if "integer" in every:
        sketch.machine(begin, _every_whole(), end)
    else:
        _Decimals(machine).draw(sketch, begin, end)


def _draw_small(sketch: Sketch, begin: int, end: int, machine: Dfa) -> None:
    """Draw the numbers of a machine, also with ``e0`` after a plain number and with zeros before a
    negative exponent.

    An integer of draft 4 has neither fraction nor exponent, so an exponent may follow digits only
    where a fraction of zeros may follow too.
    """
    inside = sketch.copy(machine)
    sketch.epsilon(begin, inside[machine.start])
    after, sign = sketch.state(), sketch.state()
    plain, exponents = _parts(machine)
    for state in plain:
        for letter in b"eE":
            sketch.byte(inside[state], letter, after)
    for byte in b"+-":
        sketch.byte(after, byte, sign)
    zeros = sketch.state()
    for here in (after, sign, zeros):
        sketch.byte(here, ord("0"), zeros)
    sketch.epsilon(zeros, end)
    for state in exponents:
        negative, more = sketch.state(), sketch.state()
        sketch.byte(inside[state], ord("-"), negative)
        for here in (negative, more):
            sketch.byte(here, ord("0"), more)
        sketch.epsilon(more, inside[machine.step(state, ord("-"))])
    sketch.epsilons((np.flatnonzero(machine.accepting) + inside[0]).tolist(), end)


_WITHIN: Final = (*range(48, 58), 43, 45)
"""The digits and signs, which stay in the same part of a number."""


def _parts(machine: Dfa) -> tuple[list[int], set[int]]:
    """The accepting states at the end of plain spellings only, but for draft 4's integers; and the
    states after the letter of an exponent."""
    after = machine.table[:, machine.symbol_class[:256]]
    reading, point, letters = after[:, _WITHIN], after[:, [46]], after[:, [0x45, 0x65]]

    def reached(here: Bool, columns: Int32) -> Bool:
        """The states to which some columns of the table lead."""
        states = np.zeros(machine.num_states + 1, np.bool_)
        states[columns[here]] = True
        return states[:-1]

    def closed(here: Bool) -> Bool:
        """The states that more digits and signs lead to."""
        while True:
            more = here | reached(here, reading)
            if (more == here).all():
                return here
            here = more

    start = np.zeros(machine.num_states, np.bool_)
    start[machine.start] = True
    whole = closed(start)
    fraction = closed(reached(whole, point))
    lettered = reached(whole | fraction, letters)
    exponent = closed(lettered)
    plain = [
        state
        for state in np.flatnonzero(machine.accepting & ~exponent).tolist()
        if not whole[state] or _may_have_zeros(machine, state)
    ]
    return plain, set(np.flatnonzero(lettered).tolist())


def _large(machine: Dfa, meter: Meter) -> Dfa:
    """The numbers of a machine in the large spelling."""
    decimals = _Decimals(machine)
    if not decimals.accepted.any():
        return empty_dfa(NUM_BYTES)
    sketch = Sketch(meter)
    begin, end, point = sketch.state(), sketch.state(), sketch.states(machine.num_states)
    met = np.zeros(machine.num_states, np.bool_)
    for _, state, target in decimals.first_digits(sketch, begin):
        met[target] = True
        sketch.byte(state, ord("."), point + target)
        decimals.draw_exponents(
            sketch, np.array([target]), np.array([state]), 0, end, LAST_EXPONENT
        )
    layers = decimals.draw_layers(sketch, {1: decimals.after(met)}, end, LAST_EXPONENT)
    read = decimals.runs[met[decimals.runs[:, 0]]] + np.array([point, 0, 0, 0], np.int32)
    read[:, 3] = layers[read[:, 3]]
    sketch.rows(read)
    large = sketch.finish(begin, [end])
    return intersection(large, _every_spelling(), meter) if decimals.reaches_top else large


class _Decimals:
    """The numbers of a machine in the large spelling.

    After the first digit come up to 16 decimals, each in a layer with all states of the machine; an
    exponent may follow where the machine accepts after the zeros that the exponent stands for.
    """

    def __init__(self, machine: Dfa) -> None:
        self._machine = machine
        self._digits = machine.table[:, machine.symbol_class[48:58]]
        self.runs = _runs(self._digits)
        self.accepted = _after_zeros(machine, self._digits[:, 0])
        # States with the same answer for every number of zeros, and one of each kind.
        packed = np.packbits(self.accepted, axis=0).T.copy()
        rows = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
        _, self._sample, self._kind = np.unique(rows, return_index=True, return_inverse=True)
        self.reaches_top = bool(self.accepted[LAST_EXPONENT - _DECIMALS :].any())
        self._entries: dict[bytes, int] = {}  # Of one sketch.
        self.width = 0

    def first_digits(self, sketch: Sketch, begin: int) -> Iterator[tuple[bool, int, int]]:
        """Draw the sign and the first digit: whether that is a 1, the state after it, and the
        machine's."""
        start, minus = self._machine.start, self._machine.step(self._machine.start, ord("-"))
        negative = sketch.state()
        sketch.byte(begin, ord("-"), negative)
        drawn: dict[tuple[bool, int], int] = {}
        for before, source in ((begin, start), (negative, minus)):
            for digit in range(1, 10) if source != NO_ARC else ():
                target = int(self._digits[source, digit])
                if target != NO_ARC:
                    key = digit == 1, target
                    if key not in drawn:
                        drawn[key] = sketch.state()
                    sketch.byte(before, 48 + digit, drawn[key])
        for (is_one, target), state in drawn.items():
            yield is_one, state, target

    def after(self, here: Bool) -> Bool:
        """The states after one more digit."""
        states = np.zeros(len(here), np.bool_)
        states[self.runs[here[self.runs[:, 0]], 3]] = True
        return states

    def draw_exponents(
        self, sketch: Sketch, states: Int32, places: Int32, level: int, end: int, last: int
    ) -> None:
        """Draw the exponents, up to the last, that may follow some states after so many decimals.

        Args:
            places: The numbers of the states in the sketch.
        """
        wanted = self.accepted[FIRST_LARGE - level : LAST_EXPONENT + 1 - level, self._sample].copy()
        wanted[last + 1 - FIRST_LARGE :] = False
        kinds = self._kind[states]
        for kind in np.flatnonzero(wanted.any(axis=0)).tolist():
            some = places[kinds == kind]
            if len(some):
                key = wanted[:, kind].tobytes()
                if key not in self._entries:
                    self._entries[key] = sketch.state()
                    sketch.machine(self._entries[key], _exponents(key), end)
                sketch.epsilons(some.tolist(), self._entries[key])

    def draw_layers(self, sketch: Sketch, entered: dict[int, Bool], end: int, last: int) -> Int32:
        """Draw the decimals after some, and the exponents up to the last.

        Args:
            entered: bool[states] by the number of decimals so far, from 1: where one may enter.

        Returns:
            int32[states], the numbers of the states after one decimal; those after more decimals
            are larger by multiples of `width`.
        """
        here = np.zeros(self._machine.num_states, np.bool_)
        for states in entered.values():
            here |= states
        while (more := here | self.after(here)).sum() > here.sum():
            here = more
        self.width = count = int(here.sum())
        layers = sketch.states(_DECIMALS * count)
        place = np.where(here, layers + here.cumsum() - 1, NO_ARC).astype(np.int32)
        here = np.zeros(self._machine.num_states, np.bool_)
        for level in range(1, _DECIMALS + 1):
            if level in entered:
                here = here | entered[level]
            shift = (level - 1) * count
            met = np.flatnonzero(here).astype(np.int32)
            self.draw_exponents(sketch, met, place[met] + shift, level, end, last)
            if level < _DECIMALS:
                read = self.runs[here[self.runs[:, 0]]]
                columns = place[read[:, 0]] + shift, read[:, 1], read[:, 2]
                sketch.rows(np.column_stack([*columns, place[read[:, 3]] + shift + count]))
                here = self.after(here)
        return place

    def draw(self, sketch: Sketch, begin: int, end: int) -> None:
        """Draw the numbers, their decimals as parts that may wait."""
        if not self.accepted.any():
            return
        surely, maybe = self._have_words(LAST_EXPONENT), self._have_words(LAST_EXPONENT + 1)
        self._entries.clear()
        for is_one, state, target in self.first_digits(sketch, begin):
            last = LAST_EXPONENT if is_one else LAST_EXPONENT - 1
            self.draw_exponents(
                sketch, np.array([target], np.int32), np.array([state], np.int32), 0, end, last
            )
            if maybe[target]:
                after = sketch.state()
                sketch.byte(state, ord("."), after)
                sketch.part(after, self._waiting(target, is_one, bool(surely[target])), end)

    def _have_words(self, before: int) -> Bool:
        """bool[states], whether decimals after the point lead to an exponent before the given one;
        the last one may follow some decimals only."""
        count = self._machine.num_states
        able = np.zeros(count + 1, np.bool_)  # The last entry is `NO_ARC`.
        for level in range(_DECIMALS, 0, -1):
            able[:count] = able[self._digits].any(axis=1)
            able[:count] |= self.accepted[FIRST_LARGE - level : before - level].any(axis=0)
        return cast("Bool", able[self._digits].any(axis=1))

    def _waiting(self, target: int, is_one: bool, is_late: bool) -> Node:
        """The decimals after the point and the exponent, as a node."""

        def outline(meter: Meter) -> Outline:
            sketch = Sketch(meter, 2)
            self._entries.clear()
            if is_one and self.reaches_top:
                self._draw_by_size(sketch, target)
            else:
                last = LAST_EXPONENT - self.reaches_top
                met = np.zeros(self._machine.num_states, np.bool_)
                met[target] = True
                layers = self.draw_layers(sketch, {1: self.after(met)}, 1, last)
                for _, low, high, state in self.runs[self.runs[:, 0] == target].tolist():
                    sketch.interval(0, low, high, int(layers[state]))
            return sketch.outline()

        made = Deferred(
            0, 0, lambda meter: minimal_dfa(lay_out(made, meter), meter), outline=outline,
            is_late=is_late,
        )  # fmt: skip
        return made

    def _draw_by_size(self, sketch: Sketch, target: int) -> None:
        """Draw the decimals of a number that may have the largest exponent, from state 0: those
        below and above the largest float's in layers of their own."""
        count = self._machine.num_states
        below: dict[int, Bool] = {}
        above: dict[int, Bool] = {}
        arcs: list[tuple[int, int, int, int, bool]] = []
        here, state = 0, target
        for level, largest in enumerate(map(int, _LARGEST), 1):
            for side, digits in ((below, range(largest)), (above, range(largest + 1, 10))):
                for digit in digits:
                    if (to := int(self._digits[state, digit])) != NO_ARC:
                        side.setdefault(level, np.zeros(count, np.bool_))[to] = True
                        arcs.append((here, 48 + digit, level, to, side is below))
            state = int(self._digits[state, largest])
            if state == NO_ARC:
                break
            following = sketch.state()
            sketch.byte(here, 48 + largest, following)
            here = following
            states, places = np.array([state], np.int32), np.array([here], np.int32)
            self.draw_exponents(sketch, states, places, level, 1, LAST_EXPONENT)
        for side, last in ((below, LAST_EXPONENT), (above, LAST_EXPONENT - 1)):
            layers = self.draw_layers(sketch, side, 1, last)
            for source, byte, level, to, is_below in arcs:
                if is_below == (side is below):
                    sketch.byte(source, byte, int(layers[to]) + (level - 1) * self.width)


def _runs(digits: Int32) -> Int32:
    """int32[arcs, 4], arcs over intervals of digits.

    Args:
        digits: int32[states, 10], the state after each digit, or `NO_ARC`.
    """
    begins = np.ones(digits.shape, np.bool_)
    begins[:, 1:] = digits[:, 1:] != digits[:, :-1]
    ends = np.ones(digits.shape, np.bool_)
    ends[:, :-1] = begins[:, 1:]
    source, low = np.nonzero(begins & (digits != NO_ARC))
    high = np.nonzero(ends & (digits != NO_ARC))[1]
    return np.column_stack([source, 48 + low, 48 + high, digits[source, low]]).astype(np.int32)


def _after_zeros(machine: Dfa, zero: Int32) -> Bool:
    """bool[309, states], whether a plain number that may have an exponent ends after k zeros.

    Args:
        zero: int32[states], the state after one more zero, or `NO_ARC`.
    """
    ends = [q for q in np.flatnonzero(machine.accepting).tolist() if _may_have_zeros(machine, q)]
    good = np.zeros(machine.num_states + 1, np.bool_)
    good[ends] = True
    after = np.append(np.where(zero == NO_ARC, machine.num_states, zero), machine.num_states)
    here = np.arange(machine.num_states + 1)[None, :]
    while len(here) <= LAST_EXPONENT:  # So many zeros more for each number of them.
        here = np.concatenate([here, after[here]])
        after = after[after]
    return good[here[: LAST_EXPONENT + 1, :-1]]


@lru_cache(maxsize=256)
def _exponents(wanted: bytes) -> Dfa:
    """The letter ``e`` and one of the large exponents that are marked in ``wanted``."""
    sketch = Sketch(Meter())
    begin, sign, zeros, end = (sketch.state() for _ in range(4))
    for letter in b"eE":
        sketch.byte(begin, letter, sign)
    sketch.byte(sign, ord("+"), zeros)
    sketch.epsilon(sign, zeros)
    sketch.byte(zeros, ord("0"), zeros)
    exponents = FIRST_LARGE + np.flatnonzero(np.frombuffer(wanted, np.bool_))
    before, last = exponents // 10, exponents % 10 + 48
    first = sketch.states(LAST_EXPONENT // 10 + 1)  # Of the digits before the last one.
    rows = [np.column_stack([first + before, last, last, np.full(len(last), end)])]
    longer = np.unique(before[before >= 10])
    digit = longer % 10 + 48
    rows.append(np.column_stack([first + longer // 10, digit, digit, first + longer]))
    sketch.rows(np.concatenate(rows).astype(np.int32))
    for value in {*before[before < 10].tolist(), *(longer // 10).tolist()}:
        sketch.byte(zeros, 48 + value, first + value)
    return sketch.finish(begin, [end])


def _may_have_zeros(machine: Dfa, state: int) -> bool:
    point = machine.step(state, ord("."))
    zero = NO_ARC if point == NO_ARC else machine.step(point, ord("0"))
    return zero != NO_ARC and machine.is_accepting(zero)
