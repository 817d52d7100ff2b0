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

from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, Literal

import numpy as np

from explorer.automata.construction.operations import intersection, union
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.text.numbers import INTEGER, PLAIN, any_integer
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.strings import among

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
    """The numbers of a machine in further spellings: ``e0`` after a plain number, zeros before a
    negative exponent, and the large spelling.

    An integer of draft 4 has neither fraction nor exponent, so an exponent may follow digits only
    where a fraction of zeros may follow too.
    """
    sketch = Sketch(meter)
    begin = sketch.state()
    inside = sketch.copy(machine)
    sketch.epsilon(begin, inside[machine.start])
    after, sign, end = sketch.state(), sketch.state(), sketch.state()
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
    sketch.machine(begin, _every_whole() if whole else _large(machine, meter), end)
    accepting: list[int] = np.flatnonzero(machine.accepting).tolist()
    return sketch.finish(begin, [*(inside[state] for state in accepting), end])


def _parts(machine: Dfa) -> tuple[list[int], set[int]]:
    """The accepting states at the end of plain spellings only, but for draft 4's integers; and the
    states after the letter of an exponent."""
    met: set[tuple[int, str]] = {(machine.start, "digits")}
    todo = list(met)
    letters: set[int] = set()
    while todo:
        state, part = todo.pop()
        for byte in machine.expected(state):
            following = part
            after = machine.step(state, byte)
            if byte == ord("."):
                following = "fraction"
            elif byte in b"eE":
                following = "exponent"
                letters.add(after)
            item = (after, following)
            if item not in met:
                met.add(item)
                todo.append(item)
    parts: dict[int, set[str]] = {}
    for state, part in met:
        parts.setdefault(state, set()).add(part)
    plain = [
        state
        for state in np.flatnonzero(machine.accepting).tolist()
        if "exponent" not in parts[state]
        and ("digits" not in parts[state] or _may_have_zeros(machine, state))
    ]
    return plain, letters


def _large(machine: Dfa, meter: Meter) -> Dfa:
    """The numbers of a machine in the large spelling.

    After the first digit come up to 16 decimals, each in a layer with all states of the machine; an
    exponent may follow where the machine accepts after the zeros that the exponent stands for.
    """
    digits = machine.table[:, machine.symbol_class[48:58]]
    accepted = _after_zeros(machine, digits[:, 0])
    sketch = Sketch(meter)
    begin, negative, end = sketch.state(), sketch.state(), sketch.state()
    sketch.byte(begin, ord("-"), negative)
    here = np.zeros(machine.num_states, np.bool_)
    state = {number: sketch.state() for number in range(machine.num_states)}
    for before, source in ((begin, machine.start), (negative, machine.step(machine.start, 45))):
        for digit in range(1, 10) if source != NO_ARC else ():
            if (target := int(digits[source, digit])) != NO_ARC:
                sketch.byte(before, 48 + digit, state[target])
                here[target] = True
    entries: dict[bytes, int] = {}
    for level in range(_DECIMALS + 1):
        wanted = accepted[FIRST_LARGE - level : LAST_EXPONENT + 1 - level]
        met: list[int] = np.flatnonzero(here).tolist()
        for number in met:
            key = wanted[:, number].tobytes()
            if not any(key):
                continue
            if key not in entries:
                entries[key] = sketch.state()
                sketch.machine(entries[key], _exponents(key), end)
            sketch.epsilon(state[number], entries[key])
        if level == _DECIMALS or not met:
            break
        following: list[int] = np.setdiff1d(digits[here], [NO_ARC]).tolist()
        after = {number: sketch.state() for number in following}
        for number in met:
            source = state[number]
            if level == 0:
                source = sketch.state()
                sketch.byte(state[number], ord("."), source)
            row: list[int] = digits[number].tolist()
            first = 0
            for digit in range(1, 11):
                if digit == 10 or row[digit] != row[first]:
                    if row[first] != NO_ARC:
                        sketch.interval(source, 48 + first, 47 + digit, after[row[first]])
                    first = digit
        here = np.zeros_like(here)
        here[following] = True
        state = after
    large = sketch.finish(begin, [end])
    top = any(key[-1] for key in entries)
    return intersection(large, _every_spelling(), meter) if top else large


def _after_zeros(machine: Dfa, zero: Int32) -> Bool:
    """bool[309, states], whether a plain number that may have an exponent ends after k zeros.

    Args:
        zero: int32[states], the state after one more zero, or `NO_ARC`.
    """
    ends = [q for q in np.flatnonzero(machine.accepting).tolist() if _may_have_zeros(machine, q)]
    good = np.zeros(machine.num_states + 1, np.bool_)
    good[ends] = True
    zero = np.append(np.where(zero == NO_ARC, machine.num_states, zero), machine.num_states)
    rows = np.zeros((LAST_EXPONENT + 1, machine.num_states), np.bool_)
    here = np.arange(machine.num_states + 1)
    for count in range(LAST_EXPONENT + 1):
        rows[count] = good[here[:-1]]
        after = zero[here]
        if (after == here).all():
            rows[count:] = rows[count]
            break
        here = after
    return rows


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
    texts = [str(FIRST_LARGE + place) for place, each in enumerate(wanted) if each]
    sketch.machine(zeros, among(texts, Meter()), end)
    return sketch.finish(begin, [end])


def _may_have_zeros(machine: Dfa, state: int) -> bool:
    point = machine.step(state, ord("."))
    zero = NO_ARC if point == NO_ARC else machine.step(point, ord("0"))
    return zero != NO_ARC and machine.is_accepting(zero)
