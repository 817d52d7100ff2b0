"""JSON numbers as machines over their digits: intervals and multiples, exactly.

A number has many spellings, and with exponents of any size the spellings of the numbers above a
bound are not a regular language. So numbers are written in one of the two ways that Python and
JavaScript use: *plain*, ``-12.50``, and *small*, ``1.5e-07``, with one digit before the point and
at most three digits in a negative exponent. Within these two the machines are exact: a spelling is
accepted exactly if its value is in the set. Numbers from 1e16 on are written out in full. Spellings
that need no comparison are added later (`explorer.languages.schema.text.exponents`).

Bounds are compared digit by digit, from the left: a longer whole part is larger, and of equal
length the first digit that differs decides. Multiples of ``p / 10^k`` keep the remainder modulo p.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache, lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.operations import intersection
from explorer.automata.machine import Dfa, Int32
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.reading.text import EXACT
from explorer.languages.schema.text.sketch import Sketch

PLAIN: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
SMALL: Final = r"-?[1-9](?:\.[0-9]+)?[eE]-(?:0{0,2}[1-9]|0?[1-9][0-9]|[1-9][0-9]{2})"
INTEGER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.0+)?"
DIGITS: Final = r"-?(?:0|[1-9][0-9]*)"

Order = Literal["<", "=", ">"]

LARGEST_MODULUS: Final = 20_000
"""The largest numerator p of a ``multipleOf`` p / 10^k; a machine has p states for each decimal."""


def _pattern(pattern: str) -> Dfa:
    return compile_pattern(pattern, Meter())[1]


@cache
def any_number() -> Dfa:
    """Every number, in the two spellings."""
    return _pattern(f"{PLAIN}|{SMALL}")


@cache
def any_integer() -> Dfa:
    """Every number without a fraction: ``3``, ``-3`` and ``3.0`` are integers."""
    return _pattern(INTEGER)


@cache
def any_digits() -> Dfa:
    """Every integer of draft 4, where ``3.0`` is not one."""
    return _pattern(DIGITS)


def _digits_of(bound: Decimal) -> tuple[str, str]:
    """The digits of a bound's magnitude before and after the point, without needless zeros."""
    whole, _, fraction = f"{bound.copy_abs():f}".partition(".")
    return whole.lstrip("0") or "0", fraction.rstrip("0")


class _Comparing:
    """Draws unsigned numbers that are compared with a bound of at least 0, digit by digit.

    Args:
        ends: The states at which a number may end, by its order to the bound.
    """

    def __init__(self, sketch: Sketch, bound: Decimal) -> None:
        self._sketch = sketch
        self._whole, self._fraction = _digits_of(bound)
        self.ends: dict[Order, list[int]] = {"<": [], "=": [], ">": []}
        # After the point: the order if it is decided, or the number of decimals equal so far.
        self._point: dict[Order, int] = {order: sketch.state() for order in self.ends}
        decided: dict[Order, int] = {"<": self._ending("<"), ">": self._ending(">")}
        for order, state in decided.items():
            sketch.interval(self._point[order], 48, 57, state)
            sketch.interval(state, 48, 57, state)
        count, expected = len(self._fraction), self._fraction or "0"
        equal = [self._point["="]]
        equal += [self._ending("<" if k < count else "=") for k in range(1, len(expected) + 1)]
        following = [*equal[1:], equal[-1]]
        for here, after, digits in zip(equal, following, expected + "0", strict=True):
            self._digits(here, digits, {"=": after, **decided}, "0")

    def plain(self, begin: int) -> None:
        """Draw the plain numbers."""
        whole = self._whole
        self._sketch.byte(begin, ord("0"), self._whole_part("=" if whole == "0" else "<"))
        longer = self._whole_part(">")
        self._sketch.interval(longer, 48, 57, longer)
        before: dict[Order, int] = {"=": begin}
        for position, expected in enumerate(whole):
            is_last = position == len(whole) - 1
            after: dict[Order, int] = {
                order: self._whole_part(order if is_last else "<") for order in self.ends
            }
            for order, source in before.items():
                if order == "=":
                    self._digits(source, expected, after, "0" if position else "1")
                else:
                    self._sketch.interval(source, 48, 57, after[order])
            before = after
        for source in before.values():
            self._sketch.interval(source, 48, 57, longer)

    def mantissa(self, begin: int) -> None:
        """Draw the numbers of one digit before the point, which is not a zero."""
        after: dict[Order, int] = {order: self._whole_part(order) for order in self.ends}
        self._digits(begin, self._whole, after, "1")

    def _ending(self, order: Order) -> int:
        """A new state at which a number in this order may end."""
        state = self._sketch.state()
        self.ends[order].append(state)
        return state

    def _whole_part(self, order: Order) -> int:
        """A new state at which the whole part of a number in this order may end.

        Equal digits without the bound's decimals are smaller.
        """
        state = self._ending("<" if order == "=" and self._fraction else order)
        self._sketch.byte(state, ord("."), self._point[order])
        return state

    def _digits(self, source: int, expected: str, after: dict[Order, int], least: str) -> None:
        """Draw the digits from the least one on, by their order to the expected one."""
        if least < expected:
            self._sketch.interval(source, ord(least), ord(expected) - 1, after["<"])
        if least <= expected:
            self._sketch.byte(source, ord(expected), after["="])
        if expected < "9":
            first = max(ord(least), ord(expected) + 1)
            self._sketch.interval(source, first, 57, after[">"])


@lru_cache(maxsize=256)
def _exponents(near: int, lower: bool, same: bool, higher: bool) -> Dfa | None:
    """``e-`` and one to three digits.

    Args:
        near: From 0 to 1,000.
        lower, same, higher: Whether the exponents, as positive numbers, below, at and above
            ``near`` are included.
    """
    value = np.arange(1, 1000)
    order = np.sign(value - near)
    good = value[((order < 0) & lower) | ((order == 0) & same) | ((order > 0) & higher)]
    if not len(good):
        return None
    sketch = Sketch(Meter())
    begin, sign, digits = (sketch.state() for _ in range(3))
    sketch.byte(begin, ord("e"), sign)
    sketch.byte(begin, ord("E"), sign)
    sketch.byte(sign, ord("-"), digits)
    shift = sketch.block(_three_digits(), _FIRST_OF_WIDTH[4], digits)
    accepting = [shift + _FIRST_OF_WIDTH[width] + good[good < 10**width] for width in range(1, 4)]
    return sketch.finish(begin, np.concatenate(accepting).tolist())


_FIRST_OF_WIDTH: Final = (0, 1, 11, 111, 1111)
"""The first state of each width in the tree of all texts of up to three digits."""


@cache
def _three_digits() -> Int32:
    """The arcs of the tree of texts of up to three digits; a text's state is the first state of its
    width plus its value."""
    digit = np.arange(10)
    blocks: list[NDArray[np.int64]] = []
    for width, count in enumerate((1, 10, 100)):
        value = np.repeat(np.arange(count), 10)
        byte = np.tile(digit + 48, count)
        after = 10 * value + byte - 48
        columns = [value + _FIRST_OF_WIDTH[width], byte, byte, after + _FIRST_OF_WIDTH[width + 1]]
        blocks.append(np.column_stack(columns))
    return np.concatenate(blocks).astype(np.int32)


@cache
def _mantissa() -> Dfa:
    return _pattern(r"[1-9](?:\.[0-9]+)?")


_FLIPPED: Final[dict[Order, Order]] = {"<": ">", "=": "=", ">": "<"}


def compared(bound: Decimal, wanted: Callable[[Order], bool], meter: Meter) -> Dfa:
    """The numbers whose order to a bound is one of those wanted.

    Args:
        wanted: Tells of ``"<"``, ``"="`` and ``">"`` whether numbers in that order belong to it.

    Returns:
        A minimal machine over the two spellings; -0 is 0.

    Example:
        >>> small = compared(Decimal("2.5"), lambda order: order != ">", Meter())
        >>> [small.accepts(text) for text in (b"2.5", b"2.50", b"2.51", b"-7", b"1e-9")]
        [True, True, False, True, True]
    """
    bound = Decimal(bound)
    sketch = Sketch(meter)
    begin, minus, end = (sketch.state() for _ in range(3))
    sketch.byte(begin, ord("-"), minus)
    if bound >= 0:
        _draw_compared(sketch, begin, end, bound, wanted)
        if wanted("=" if bound == 0 else "<"):
            sketch.machine(minus, _unsigned_zero(), end)
        if wanted("<"):
            sketch.machine(minus, _above_zero(), end)
    else:
        _draw_compared(
            sketch, minus, end, bound.copy_negate(), lambda order: wanted(_FLIPPED[order])
        )
        if wanted(">"):
            sketch.machine(begin, _unsigned_zero(), end)
            sketch.machine(begin, _above_zero(), end)
    return sketch.finish(begin, [end])


def _draw_compared(
    sketch: Sketch, begin: int, end: int, bound: Decimal, wanted: Callable[[Order], bool]
) -> None:
    """Draw the unsigned numbers whose order to a bound, at least 0, is one of those wanted."""
    plain = _Comparing(sketch, bound)
    plain.plain(begin)
    for order, states in plain.ends.items():
        if wanted(order):
            sketch.epsilons(states, end)
    if bound == 0:
        if wanted(">"):
            sketch.machine(begin, _above_zero_small(), end)
        return
    exponent = -bound.adjusted()  # The bound is m × 10^-exponent with 1 <= m < 10.
    near = max(0, min(exponent, 1000))
    small = _Comparing(sketch, EXACT.scaleb(bound, exponent))
    small.mantissa(begin)
    for order, states in small.ends.items():
        # A larger negative exponent makes a smaller number.
        rest = _exponents(near, wanted(">"), wanted(order), wanted("<"))
        if rest is not None:
            letter = sketch.state()
            sketch.epsilons(states, letter)
            sketch.machine(letter, rest, end)


@cache
def _unsigned_zero() -> Dfa:
    return _pattern(r"0(?:\.0+)?")


@cache
def _above_zero() -> Dfa:
    return _pattern(rf"0\.0*[1-9][0-9]*|[1-9][0-9]*(?:\.[0-9]+)?|{SMALL[2:]}")


@cache
def _above_zero_small() -> Dfa:
    return _pattern(SMALL[2:])


def multiples(numerator: int, decimals: int, meter: Meter) -> Dfa:
    """The multiples of ``numerator / 10**decimals``, 0 included.

    Example:
        >>> half = multiples(5, 1, Meter())
        >>> [half.accepts(text) for text in (b"1.5", b"-2", b"0.50", b"0.75", b"5e-1")]
        [True, True, True, False, True]
    """
    plain = _plain_multiples(numerator, decimals, meter)
    if not decimals:
        return plain
    sketch = Sketch(meter)
    begin, minus, end = (sketch.state() for _ in range(3))
    sketch.machine(begin, plain, end)
    sketch.byte(begin, ord("-"), minus)
    for exponent in range(1, min(decimals, 999) + 1):
        mantissa = intersection(
            _mantissa(), _plain_multiples(numerator, decimals - exponent, meter), meter
        )
        only = _exponents(exponent, lower=False, same=True, higher=False)
        if mantissa.num_states and only is not None:
            first, letter = sketch.state(), sketch.state()
            sketch.epsilons((begin, minus), first)
            sketch.machine(first, mantissa, letter)
            sketch.machine(letter, only, end)
    return sketch.finish(begin, [end])


def _plain_multiples(numerator: int, decimals: int, meter: Meter) -> Dfa:
    """Plain multiples; a state is the remainder of the digits, and the decimals so far."""
    sketch = Sketch(meter)
    meter.check("Multiples", states=numerator * (decimals + 2))
    begin, negative, zero, zeros = (sketch.state() for _ in range(4))
    remainders = np.arange(numerator)
    after = (10 * remainders[:, None] + np.arange(10)) % numerator

    def levels(before: int, behind: int) -> NDArray[np.int64]:
        """Arcs over all digits from one level of remainders to another."""
        source = np.repeat(remainders + 1 + before * numerator, 10)
        digit = np.tile(np.arange(48, 58), numerator)
        target = (after + 1 + behind * numerator).reshape(-1)
        return np.column_stack([source, digit, digit, target])

    # Level 0 is before the point, level 1 after it, and each decimal leads one level up.
    point = np.full(numerator, 46)
    points = np.column_stack([remainders + 1, point, point, remainders + 1 + numerator])
    arcs = [levels(0, 0), points, *(levels(k, k + 1) for k in range(1, decimals + 1))]
    states = 1 + numerator * (decimals + 2)
    shift = sketch.block(np.concatenate(arcs).astype(np.int32), states, begin) + 1

    def whole_at(level: int, left: int) -> list[int]:
        """The states of a level whose number is a multiple if ``left`` zeros follow."""
        fits = remainders * (10**left % numerator) % numerator == 0
        return (np.flatnonzero(fits) + shift + level * numerator).tolist()

    accepting = [zero, zeros, *whole_at(0, decimals)]
    for before in (begin, negative):
        sketch.byte(before, 48, zero)
        for digit in range(1, 10):
            sketch.byte(before, 48 + digit, shift + digit % numerator)
    sketch.byte(begin, ord("-"), negative)
    sketch.byte(zero, 46, shift + numerator)
    for place in range(1, decimals + 1):
        accepting += whole_at(place + 1, decimals - place)
    # After the last decimal only zeros may follow.
    sketch.byte(zeros, 48, zeros)
    sketch.byte(shift + (decimals + 1) * numerator, 48, zeros)
    return sketch.finish(begin, accepting)
