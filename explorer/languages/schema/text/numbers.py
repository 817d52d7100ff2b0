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

from explorer.automata.construction.operations import concatenation, intersection, union
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


def _order(digit: str, expected: str) -> Order:
    return "<" if digit < expected else ">" if digit > expected else "="


def _magnitude(bound: Decimal, wanted: Callable[[Order], bool], meter: Meter) -> Dfa:
    """The unsigned plain numbers whose order to a bound, at least 0, is one of those wanted."""
    sketch = Sketch(meter)
    whole, fraction = _digits_of(bound)
    accepting: list[int] = []

    def ending(order: Order) -> int:
        """A new state, accepting if numbers in this order to the bound are wanted."""
        state = sketch.state()
        if wanted(order):
            accepting.append(state)
        return state

    # After the point: the order if it is decided, or the number of decimals equal so far.
    begin = sketch.state()
    point: dict[Order, int] = {"<": sketch.state(), "=": sketch.state(), ">": sketch.state()}
    decided: dict[Order, int] = {"<": ending("<"), ">": ending(">")}
    for order, state in decided.items():
        sketch.interval(point[order], 48, 57, state)
        sketch.interval(state, 48, 57, state)
    expected = fraction or "0"
    equal = [point["="]]
    equal += [ending("<" if k < len(fraction) else "=") for k in range(1, len(expected) + 1)]
    for here, following, digits in zip(equal, [*equal[1:], equal[-1]], expected + "0", strict=True):
        for digit in "0123456789":
            order = _order(digit, digits)
            sketch.byte(here, ord(digit), following if order == "=" else decided[order])

    # Before the point, digit by digit. Equal digits without the bound's decimals are smaller.
    def whole_part(order: Order) -> int:
        """A new state at which the whole part of a number in this order may end."""
        state = ending("<" if order == "=" and fraction else order)
        sketch.byte(state, ord("."), point[order])
        return state

    sketch.byte(begin, ord("0"), whole_part("=" if whole == "0" else "<"))
    before: dict[Order, int] = {"=": begin}
    for position, digits in enumerate(whole):
        after: dict[Order, int] = {}
        for known, source in before.items():
            for digit in "0123456789"[position == 0 :]:
                order = _order(digit, digits) if known == "=" else known
                if order not in after:
                    is_last = position == len(whole) - 1
                    after[order] = whole_part(order if is_last else "<")
                sketch.byte(source, ord(digit), after[order])
        before = after
    longer = whole_part(">")
    for source in (*before.values(), longer):
        sketch.interval(source, 48, 57, longer)
    return sketch.finish(begin, accepting)


@lru_cache(maxsize=256)
def _exponents(near: int, lower: bool, same: bool, higher: bool) -> Dfa | None:
    """``e-`` and one to three digits.

    Args:
        near: From 0 to 1,000.
        lower, same, higher: Whether the exponents, as positive numbers, below, at and above
            ``near`` are included.
    """
    good = [*(range(1, near) if lower else ()), *(range(near + 1, 1000) if higher else ())]
    good += [near] if same and 0 < near < 1000 else []
    if not good:
        return None
    sketch = Sketch(Meter())
    begin, sign, digits = (sketch.state() for _ in range(3))
    sketch.byte(begin, ord("e"), sign)
    sketch.byte(begin, ord("E"), sign)
    sketch.byte(sign, ord("-"), digits)
    shift = sketch.block(_three_digits(), _FIRST_OF_WIDTH[4], digits)
    accepting = [
        shift + _FIRST_OF_WIDTH[width] + value
        for value in good for width in range(len(str(value)), 4)
    ]  # fmt: skip
    return sketch.finish(begin, accepting)


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


def _small_magnitude(bound: Decimal, wanted: Callable[[Order], bool], meter: Meter) -> list[Dfa]:
    """The unsigned small numbers whose order to a bound, at least 0, is one of those wanted."""
    parts: list[Dfa] = []
    if bound == 0:
        every = _exponents(0, lower=False, same=False, higher=True)
        assert every is not None
        return [concatenation([_mantissa(), every], meter)] if wanted(">") else []
    exponent = -bound.adjusted()  # The bound is m × 10^-exponent with 1 <= m < 10.
    leading = EXACT.scaleb(bound, exponent)
    orders: tuple[Order, ...] = ("<", "=", ">")
    for order in orders:
        # A larger negative exponent makes a smaller number.
        near = max(0, min(exponent, 1000))
        rest = _exponents(near, wanted(">"), wanted(order), wanted("<"))
        if rest is None:
            continue
        front = intersection(
            _mantissa(), _magnitude(leading, lambda it, order=order: it == order, meter), meter
        )
        if front.num_states:
            parts.append(concatenation([front, rest], meter))
    return parts


@cache
def _minus() -> Dfa:
    return _pattern("-")


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
    parts: list[Dfa] = []
    if bound >= 0:
        parts.append(_magnitude(bound, wanted, meter))
        parts += _small_magnitude(bound, wanted, meter)
        zero = wanted("=" if bound == 0 else "<")
        below = wanted("<")
        negative = _signed_magnitudes(zero, below, meter)
    else:
        magnitude = bound.copy_negate()

        def flipped(order: Order) -> bool:
            return wanted(_FLIPPED[order])

        inner = [
            _magnitude(magnitude, flipped, meter),
            *_small_magnitude(magnitude, flipped, meter),
        ]
        negative = [concatenation([_minus(), part], meter) for part in inner if part.num_states]
        if wanted(">"):
            parts.append(_pattern(rf"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|{SMALL[2:]}"))
    parts += negative
    parts = [part for part in parts if part.num_states]
    return union(parts, meter) if parts else _nothing()


def _signed_magnitudes(zero: bool, below: bool, meter: Meter) -> list[Dfa]:
    """The spellings with a minus sign for a bound of at least 0: those of -0, and the negative."""
    parts: list[Dfa] = []
    if zero:
        parts.append(_pattern(r"-0(?:\.0+)?"))
    if below:
        parts.append(_pattern(rf"-(?:0\.0*[1-9][0-9]*|[1-9][0-9]*(?:\.[0-9]+)?)|-{SMALL[2:]}"))
    return parts


@cache
def _nothing() -> Dfa:
    return _pattern(r"(?!)")


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
    parts = [plain]
    for exponent in range(1, min(decimals, 999) + 1):
        mantissa = intersection(
            _mantissa(), _plain_multiples(numerator, decimals - exponent, meter), meter
        )
        only = _exponents(exponent, lower=False, same=True, higher=False)
        if mantissa.num_states and only is not None:
            signed = [mantissa, concatenation([_minus(), mantissa], meter)]
            parts += [concatenation([part, only], meter) for part in signed]
    return union(parts, meter)


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
