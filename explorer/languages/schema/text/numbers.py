"""JSON numbers as machines over their digits: intervals and multiples, exactly.

A number has many spellings, and the ones with exponents of any size do not make a regular language
once values are compared. So numbers are written in one of two ways, those that Python and
JavaScript write themselves: *plain*, ``-12.50``, and *small*, ``1.5e-07``, with one digit before
the point, at most three digits in a negative exponent. Within these two the machines are exact: a
spelling is accepted exactly if its value is. Numbers from 1e16 on are written out in full.
The spellings that need no comparison are added later (`explorer.languages.schema.text.exponents`).

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


@cache
def plain_values() -> Dfa:
    """One spelling of each number, the shortest plain one."""
    return _pattern(r"0|-?(?:[1-9][0-9]*|(?:0|[1-9][0-9]*)\.[0-9]*[1-9])")


def _digits_of(bound: Decimal) -> tuple[str, str]:
    """The digits of a bound's magnitude before and after the point, without needless zeros."""
    whole, _, fraction = f"{bound.copy_abs():f}".partition(".")
    return whole.lstrip("0") or "0", fraction.rstrip("0")


def _compare_plain(
    sketch: Sketch, begin: int, whole: str, fraction: str, wanted: Callable[[Order], bool]
) -> list[int]:
    """Draw unsigned plain numbers from ``begin``; the states where the order is as wanted."""
    accepting: list[int] = []
    count = len(whole)
    state: dict[tuple[int, Order], int] = {}
    after: dict[tuple[int, Order], int] = {}
    point: dict[Order, int] = {}

    def note(number: int, order: Order) -> int:
        if wanted(order):
            accepting.append(number)
        return number

    def order_at(position: int, order: Order) -> Order:
        return "<" if position < count else ">" if position > count else order

    def whole_state(position: int, order: Order) -> int:
        position = min(position, count + 1)
        order = order if position <= count else ">"
        if (position, order) not in state:
            state[position, order] = note(sketch.state(), order_at(position, order))
            todo.append((position, order))
        return state[position, order]

    def fraction_state(place: int, order: Order) -> int:
        """After ``place`` decimals, all equal so far where the order is still open."""
        place = min(place, len(fraction)) if order == "=" else 0
        key = (place, order)
        if key not in after:
            # Open, and decimals of the bound left: so far the number is smaller.
            final: Order = "<" if order == "=" and place < len(fraction) else order
            after[key] = note(sketch.state(), final)
            open_fractions.append(key)
        return after[key]

    todo: list[tuple[int, Order]] = []
    open_fractions: list[tuple[int, Order]] = []
    zero = sketch.state()
    first_order: Order = "=" if whole == "0" else "<"
    note(zero, order_at(1, first_order) if not (whole == "0" and fraction) else "<")
    sketch.byte(begin, ord("0"), zero)
    dots: list[tuple[int, Order]] = [(zero, order_at(1, first_order))]
    for digit in "123456789":
        order: Order = "<" if digit < whole[0] else ">" if digit > whole[0] else "="
        sketch.byte(begin, ord(digit), whole_state(1, order))
    while todo:
        position, order = todo.pop()
        here = state[position, order]
        dots.append((here, order_at(position, order)))
        for digit in "0123456789":
            if position >= count:
                following: Order = ">"
            elif order != "=":
                following = order
            else:
                following = (
                    "<" if digit < whole[position] else ">" if digit > whole[position] else "="
                )
            sketch.byte(here, ord(digit), whole_state(position + 1, following))
    for here, order in dots:
        if order not in point:
            point[order] = sketch.state()
            _after_point(sketch, point[order], order, fraction, fraction_state)
        sketch.byte(here, ord("."), point[order])
    done: set[tuple[int, Order]] = set()
    while open_fractions:
        key = open_fractions.pop()
        if key in done:
            continue
        done.add(key)
        _decimals(sketch, after[key], key, fraction, fraction_state)
    # A whole number that equals the bound's whole part is smaller if the bound has decimals.
    if fraction:
        equal = state.get((count, "="))
        for number in [equal] if equal is not None else []:
            if number in accepting:
                accepting.remove(number)
            note(number, "<")
    return accepting


def _after_point(
    sketch: Sketch, here: int, order: Order, fraction: str,
    fraction_state: Callable[[int, Order], int],
) -> None:  # fmt: skip
    _decimals(sketch, here, (0, order), fraction, fraction_state)


def _decimals(
    sketch: Sketch, here: int, key: tuple[int, Order], fraction: str,
    fraction_state: Callable[[int, Order], int],
) -> None:  # fmt: skip
    place, order = key
    for digit in "0123456789":
        following = order
        if order == "=":
            expected = fraction[place] if place < len(fraction) else "0"
            following = "<" if digit < expected else ">" if digit > expected else "="
        sketch.byte(here, ord(digit), fraction_state(place + 1, following))


def _magnitude(bound: Decimal, wanted: Callable[[Order], bool], meter: Meter) -> Dfa:
    """Unsigned plain numbers whose order to a bound of 0 or more is as wanted."""
    sketch = Sketch(meter)
    begin = sketch.state()
    whole, fraction = _digits_of(bound)
    return sketch.finish(begin, _compare_plain(sketch, begin, whole, fraction, wanted))


@lru_cache(maxsize=256)
def _exponents(near: int, lower: bool, same: bool, higher: bool) -> Dfa | None:
    """``e-`` and one to three digits.

    Args:
        near: From 0 to 1,000.
        lower, same, higher: Whether exponents (as positive numbers) below it, it, and those above
            are in it.
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
"""Of the tree of all texts of up to three digits: where those of each width begin."""


@cache
def _three_digits() -> Int32:
    """The arcs of that tree: the text of a width with a value is the state so far behind that."""
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
    """Unsigned small numbers whose order to a bound of 0 or more is as wanted."""
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
        wanted: Given ``"<"``, ``"="`` or ``">"``: whether numbers in that order to the bound count.

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
    """The negative spellings next to a bound of 0 or more: -0 and the truly negative ones."""
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
    parts = [plain, concatenation([_minus(), plain], meter)]
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
    """Unsigned plain multiples: the remainder of the digits so far, and the decimals that came."""
    sketch = Sketch(meter)
    meter.check("Multiples", states=numerator * (decimals + 2))
    begin, zero, zeros = sketch.state(), sketch.state(), sketch.state()
    remainders = np.arange(numerator)
    after = (10 * remainders[:, None] + np.arange(10)) % numerator

    def levels(before: int, behind: int) -> NDArray[np.int64]:
        """Arcs over all digits from one level of remainders to another."""
        source = np.repeat(remainders + 1 + before * numerator, 10)
        digit = np.tile(np.arange(48, 58), numerator)
        target = (after + 1 + behind * numerator).reshape(-1)
        return np.column_stack([source, digit, digit, target])

    # Level 0 is before the point, the next after it, and one more after each decimal.
    point = np.full(numerator, 46)
    first = np.array([(0, 48 + digit, 48 + digit, 1 + digit % numerator) for digit in range(1, 10)])
    points = np.column_stack([remainders + 1, point, point, remainders + 1 + numerator])
    arcs = [first, levels(0, 0), points, *(levels(k, k + 1) for k in range(1, decimals + 1))]
    states = 1 + numerator * (decimals + 2)
    shift = sketch.block(np.concatenate(arcs).astype(np.int32), states, begin) + 1

    def whole_at(level: int, left: int) -> list[int]:
        """The states of a level that are multiples if only zeros follow, ``left`` of them."""
        fits = remainders * (10**left % numerator) % numerator == 0
        return (np.flatnonzero(fits) + shift + level * numerator).tolist()

    accepting = [zero, zeros, *whole_at(0, decimals)]
    sketch.byte(begin, 48, zero)
    sketch.byte(zero, 46, shift + numerator)
    for place in range(1, decimals + 1):
        accepting += whole_at(place + 1, decimals - place)
    # After the last decimal only zeros may follow.
    sketch.byte(zeros, 48, zeros)
    sketch.byte(shift + (decimals + 1) * numerator, 48, zeros)
    return sketch.finish(begin, accepting)
