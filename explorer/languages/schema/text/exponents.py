"""The spellings of numbers with exponents, as far as they need no comparison.

`explorer.languages.schema.text.numbers` compares numbers in two spellings. A finished set is
written in more: every one that JSON has, up to about 1e308, where every number is in the set, whole
digits with an exponent of 0 to 99 (``12e3``) where every whole number is, and an exponent of zero
(``1e0``) after any plain spelling. What a set is known to hold is kept beside its machine while
sets are combined.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

import numpy as np

from explorer.automata.machine import NO_ARC, Dfa
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.text.numbers import INTEGER, PLAIN, any_integer, any_number
from explorer.languages.schema.text.sketch import Sketch

_UP: Final = r"[eE]\+?0*"
ANY: Final = (
    rf"{PLAIN}(?:[eE]-[0-9]{{1,3}}|{_UP}[0-9]{{1,2}})?"
    rf"|-?[1-9](?:\.[0-9]+)?{_UP}(?:[12][0-9]{{2}}|30[0-7])|-?1(?:\.[0-6][0-9]*)?{_UP}308"
)
"""Every number, as long as a float can hold it: 1e999 would be read as infinity.

Negative exponents have at most three digits, as elsewhere.
"""

WHOLE: Final = INTEGER + r"(?:[eE](?:\+?[0-9]{1,2}|-0+))?"

MOST_RESPELLED: Final = 2_000
"""Larger machines of numbers, which only ``multipleOf`` has, keep their two spellings."""

Every = Literal["number", "integer"]
"""All numbers, or all whole ones."""


def every_of(machine: Dfa) -> frozenset[Every]:
    """Whether all numbers, or all whole ones, are in a set that nothing was taken away from."""
    if machine is any_number():
        return frozenset(("number", "integer"))
    return frozenset(("integer",)) if machine is any_integer() else frozenset()


@cache
def _every_spelling() -> Dfa:
    return compile_pattern(ANY, Meter())[1]


@cache
def _every_whole() -> Dfa:
    return compile_pattern(WHOLE, Meter())[1]


def with_exponents(machine: Dfa, every: frozenset[Every], meter: Meter) -> Dfa:
    """A set of numbers with the spellings that have exponents, as far as they surely belong to it.

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
    return _with_zero_exponents(machine, whole="integer" in every, meter=meter)


def _with_zero_exponents(machine: Dfa, *, whole: bool, meter: Meter) -> Dfa:
    """The numbers of a machine, also with ``e0`` after a plain spelling.

    An integer of draft 4 has neither fraction nor exponent, so after digits the exponent may only
    stand where a fraction of zeros may, too.
    """
    if machine.num_states == 0 or machine.num_states > MOST_RESPELLED:
        return machine
    sketch = Sketch(meter)
    begin = sketch.state()
    inside = sketch.copy(machine)
    sketch.epsilon(begin, inside[machine.start])
    after, sign, end = sketch.state(), sketch.state(), sketch.state()
    for state in _before_zero_exponents(machine):
        for letter in b"eE":
            sketch.byte(inside[state], letter, after)
    for byte in b"+-":
        sketch.byte(after, byte, sign)
    zeros = sketch.state()
    for here in (after, sign, zeros):
        sketch.byte(here, ord("0"), zeros)
    sketch.epsilon(zeros, end)
    if whole:
        sketch.machine(begin, _every_whole(), end)
    accepting: list[int] = np.flatnonzero(machine.accepting).tolist()
    return sketch.finish(begin, [*(inside[state] for state in accepting), end])


def _before_zero_exponents(machine: Dfa) -> list[int]:
    """The accepting states that are only met at the end of plain spellings, draft 4 apart."""
    met: set[tuple[int, str]] = {(machine.start, "digits")}
    todo = list(met)
    while todo:
        state, part = todo.pop()
        for byte in machine.expected(state):
            following = part
            if byte == ord("."):
                following = "fraction"
            elif byte in b"eE":
                following = "exponent"
            item = (machine.step(state, byte), following)
            if item not in met:
                met.add(item)
                todo.append(item)
    parts: dict[int, set[str]] = {}
    for state, part in met:
        parts.setdefault(state, set()).add(part)
    return [
        state
        for state in np.flatnonzero(machine.accepting).tolist()
        if "exponent" not in parts[state]
        and ("digits" not in parts[state] or _may_have_zeros(machine, state))
    ]


def _may_have_zeros(machine: Dfa, state: int) -> bool:
    point = machine.step(state, ord("."))
    zero = NO_ARC if point == NO_ARC else machine.step(point, ord("0"))
    return zero != NO_ARC and machine.is_accepting(zero)
