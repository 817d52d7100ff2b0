"""Sets of numbers, described by intervals and divisors.

A set is a union of parts. A part is an interval, the divisors that all its numbers have, and the
divisors that none of them has. So sets are combined, and found empty, without writing digits; the
spellings are drawn once (`explorer.languages.schema.text.numbers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, NamedTuple

from explorer.automata.construction.operations import difference, intersection, union
from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.languages.schema.reading.text import EXACT
from explorer.languages.schema.text import numbers

STAGE: Final = "The numbers of a schema"

MOST_LISTED: Final = 64
"""The most numbers of a part that is written number by number."""
MOST_RESPELLED: Final = 2_000
"""Larger machines of numbers, which only ``multipleOf`` has, keep their two spellings."""
MOST_COMPARED: Final = 16
"""The most parts that are searched for one that contains another."""

Cut = tuple[Decimal, Literal[0, 1]]
"""A place between numbers: just before one (0) or just behind it (1)."""
LEAST: Final[Cut] = (Decimal("-Infinity"), 0)
MOST: Final[Cut] = (Decimal("Infinity"), 0)


class NumberPart(NamedTuple):
    """The numbers of an interval that have some divisors and lack others.

    Args:
        low, high: The cuts around the interval.
        steps, but: The divisors of all numbers, and of none of them.
        written: For draft 4, where ``3`` is an integer and ``3.0`` is not: ``"digits"`` for
            spellings of digits only, ``"otherwise"`` for all others, empty for both.
    """

    low: Cut = LEAST
    high: Cut = MOST
    steps: frozenset[Decimal] = frozenset()
    but: frozenset[Decimal] = frozenset()
    written: Literal["", "digits", "otherwise"] = ""

    @property
    def unit(self) -> Fraction | None:
        """The least number that has all divisors; ``None`` if there are no divisors."""
        return _common(self.steps | {Decimal(1)} if self.written == "digits" else self.steps)

    def met(self, other: NumberPart) -> NumberPart | None:
        """The numbers of both; ``None`` if there are none."""
        if self.written and other.written and self.written != other.written:
            return None
        low, high = max(self.low, other.low), min(self.high, other.high)
        written = self.written or other.written
        both = NumberPart(low, high, self.steps | other.steps, self.but | other.but, written)
        return both if _has_some(both) else None

    def without(self, taken: NumberPart) -> Iterator[NumberPart]:
        """The numbers that are not in another part, as disjoint parts."""
        left: NumberPart | None = self
        for inside, outside in taken.conditions():
            if left is None:
                return
            if (rest := left.met(outside)) is not None:
                yield rest
            left = left.met(inside)

    def conditions(self) -> Iterator[tuple[NumberPart, NumberPart]]:
        """Each condition of the part as a part of its own, with its opposite."""
        if self.low != LEAST:
            yield NumberPart(low=self.low), NumberPart(high=self.low)
        if self.high != MOST:
            yield NumberPart(high=self.high), NumberPart(low=self.high)
        if self.written:
            other: Literal["digits", "otherwise"]
            other = "digits" if self.written == "otherwise" else "otherwise"
            yield NumberPart(written=self.written), NumberPart(written=other)
        having = [(NumberPart(steps=frozenset((it,))), NumberPart(but=frozenset((it,))))
                  for it in self.steps | self.but]  # fmt: skip
        for has, has_not in having:
            yield (has, has_not) if has.steps <= self.steps else (has_not, has)

    def values(self) -> Iterator[Decimal] | None:
        """The numbers in order; ``None`` if they are infinitely many."""
        unit = self.unit
        if self.low == (self.high[0], 0):
            number = self.high[0]
            return iter((number,) if _is_among(number, self) else ())
        if unit is None or self.low == LEAST or self.high == MOST:
            return None
        first = math.ceil(Fraction(self.low[0]) / unit)
        last = math.floor(Fraction(self.high[0]) / unit)
        first += first * unit == self.low[0] and self.low[1] == 1
        last -= last * unit == self.high[0] and self.high[1] == 0
        but = [_quotient(it, unit) for it in self.but]
        if 1 in but:
            return iter(())
        return (_decimal(k * unit) for k in range(first, last + 1) if all(k % it for it in but))

    def holds(self, other: NumberPart) -> bool:
        """Whether another part is contained in this one, judged by its fields alone."""
        return (
            self.low <= other.low and other.high <= self.high
            and self.steps <= other.steps and self.but <= other.but
            and self.written in ("", other.written)
        )  # fmt: skip


def point(number: Decimal) -> NumberPart:
    """The part that holds one number."""
    return NumberPart((number, 0), (number, 1))


@lru_cache(maxsize=4096)
def _common(steps: frozenset[Decimal]) -> Fraction | None:
    """The least common multiple of some divisors."""
    common: Fraction | None = None
    for step in map(Fraction, steps):
        if common is None:
            common = step
        else:
            above = math.lcm(common.numerator, step.numerator)
            common = Fraction(above, math.gcd(common.denominator, step.denominator))
    return common


def _quotient(divisor: Decimal, unit: Fraction) -> int:
    """The number n such that exactly every n-th multiple of a unit is a multiple of a divisor."""
    return (Fraction(divisor) / unit).numerator


def _decimal(number: Fraction) -> Decimal:
    return EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))


def _is_among(number: Decimal, part: NumberPart) -> bool:
    """Whether a number has all divisors of a part, and none of the excluded ones."""
    exact = Fraction(number)
    unit = part.unit
    return (unit is None or (exact / unit).denominator == 1) and all(
        (exact / Fraction(it)).denominator != 1 for it in part.but
    )


@lru_cache(maxsize=4096)
def _has_some(part: NumberPart) -> bool:
    """Whether a part has a number."""
    if part.low >= part.high:
        return False
    listed = part.values()
    if listed is not None:
        return next(listed, None) is not None
    # The interval is unbounded, or has numbers with any number of decimals: some numbers lie one
    # unit above a common multiple of all excluded divisors.
    unit = part.unit
    return unit is None or all(_quotient(it, unit) > 1 for it in part.but)


class Numbers(tuple[NumberPart, ...]):
    """A union of parts; empty for no numbers."""

    def met(self, other: Numbers, meter: Meter) -> Numbers:
        """The numbers of both."""
        parts = (one.met(two) for one in self for two in other)
        return _united((part for part in parts if part is not None), meter)

    def without(self, other: Numbers, meter: Meter) -> Numbers:
        """The numbers of this set that are not in the other."""
        left = self
        for taken in other:
            left = _united((rest for part in left for rest in part.without(taken)), meter)
        return left

    def joined(self, other: Numbers, meter: Meter) -> Numbers:
        """The numbers of either."""
        return _united((*self, *other), meter)

    def values(self, most: int) -> list[Decimal] | None:
        """The numbers, at most ``most`` of them; ``None`` if there are infinitely many."""
        listed = [part.values() for part in self]
        if None in listed:
            return None
        every = (number for each in listed for number in islice(each or (), most))
        return list(islice(dict.fromkeys(every), most))

    def machines(self, meter: Meter) -> list[Dfa]:
        """The machines of all spellings, one for the parts of the same divisors."""
        if ALL in self:
            return [numbers.any_number()]
        alike: dict[tuple[object, ...], list[NumberPart]] = {}
        for part in self:
            # Comparing whole numbers with two bounds is faster than listing them.
            values = None if part.steps == WHOLE.steps and not part.but else part.values()
            few = None if values is None else list(islice(values, MOST_LISTED + 1))
            if few is not None and len(few) <= MOST_LISTED:
                singles = alike.setdefault((part.written,), [])
                singles += [point(number)._replace(written=part.written) for number in few]
            else:
                alike.setdefault(part[2:], []).append(part)
        return [_spelled(parts, meter) for parts in alike.values()]


ALL: Final = NumberPart()
WHOLE: Final = NumberPart(steps=frozenset((Decimal(1),)))
_SMALL: Final[Cut] = (Decimal(-(10**numbers.FIRST_LARGE)), 1)
_LARGE: Final[Cut] = (Decimal(10**numbers.FIRST_LARGE), 0)
"""Some whole number beyond these cuts has the large spelling."""


def _united(parts: Iterator[NumberPart] | tuple[NumberPart, ...], meter: Meter) -> Numbers:
    """The union of some parts, without those that another one contains."""
    known = list(dict.fromkeys(parts))
    meter.check(STAGE, states=len(known))
    large = [part for part in known if part.low[0] != part.high[0]][:MOST_COMPARED]
    return Numbers(
        part for part in known if not any(it is not part and it.holds(part) for it in large)
    )


def _spelled(parts: list[NumberPart], meter: Meter) -> Dfa:
    """The spellings of some single numbers, or of intervals of numbers with the same divisors."""
    joined: list[NumberPart] = []
    for part in sorted(parts):
        if joined and part.low <= joined[-1].high:
            joined[-1] = joined[-1]._replace(high=max(joined[-1].high, part.high))
        else:
            joined.append(part)
    if WHOLE in joined:
        return numbers.any_integer()
    first = joined[0]
    machines = [_between(part.low, part.high, meter) for part in joined]
    between = union(machines, meter) if len(machines) > 1 else machines[0]
    large = joined[0].low < _SMALL, joined[-1].high > _LARGE
    if first[2:] == WHOLE[2:] and any(large):
        return intersection(numbers.whole_spellings(*large), between, meter)
    conditions = [(intersection, between)]
    conditions += [(intersection, _multiples(*it, meter)) for it in _factors(first.steps)]
    conditions += [(difference, _multiples(*fraction_of(it), meter)) for it in sorted(first.but)]
    if first.written == "digits":
        conditions.append((intersection, numbers.any_digits()))
    elif first.written:
        conditions.append((difference, numbers.no_fraction()))
    spelled = numbers.two_spellings()
    for combine, machine in conditions:
        spelled = combine(spelled, machine, meter)
    if spelled.num_states > MOST_RESPELLED:
        return spelled
    spelled = numbers.three_spellings()
    for combine, machine in conditions:
        spelled = combine(spelled, machine, meter)
    return spelled


def _factors(steps: frozenset[Decimal]) -> Iterator[tuple[int, int]]:
    """Numbers, as by `fraction_of`, whose multiples are together those of some divisors."""
    common = _common(steps)
    if common is None:
        return
    each = _decimal(common)
    for step in (each,) if can_divide(each) else sorted(steps):
        numerator, decimals = fraction_of(step)
        tens = math.gcd(numerator, 10 ** numerator.bit_length())
        # The factors 2 and 5 need many states for a few remainders, the other ones few for many.
        for factor in sorted({tens, numerator // tens} - {1} or {1}):
            yield factor, decimals


def _multiples(numerator: int, decimals: int, meter: Meter) -> Dfa:
    return _made(numbers.multiples, numerator, decimals, size=numerator, meter=meter)


def _between(low: Cut, high: Cut, meter: Meter) -> Dfa:
    """The numbers of an interval."""
    if low[0] == high[0]:
        return _compared(low[0], "=", meter)
    machine = numbers.any_number()
    if low != LEAST:
        machine = _compared(low[0], ">" if low[1] else ">=", meter)
    if high != MOST:
        below = _compared(high[0], "<=" if high[1] else "<", meter)
        machine = below if low == LEAST else intersection(machine, below, meter)
    return machine


def _compared(bound: Decimal, wanted: str, meter: Meter) -> Dfa:
    digits = len(bound.as_tuple().digits) + abs(bound.adjusted())
    return _made(numbers.compared, bound, wanted, size=digits, meter=meter)


MOST_KEPT: Final = 200
"""The most remainders, or digits of a bound, of a machine that is kept for other schemas."""


def _made(make: Callable[..., Dfa], *given: object, size: int, meter: Meter) -> Dfa:
    return _kept(make, *given) if size <= MOST_KEPT else make(*given, meter)


@lru_cache(maxsize=512)
def _kept(make: Callable[..., Dfa], *given: object) -> Dfa:
    return make(*given, Meter())


MOST_DECIMALS: Final = 30
"""The most decimals of a divisor."""


def fraction_of(divisor: Decimal) -> tuple[int, int]:
    """A divisor as a whole number and the power of ten that divides it.

    The power is negative where the number would be too large with its zeros.

    Example:
        >>> fraction_of(Decimal("1.25")), fraction_of(Decimal(100)), fraction_of(Decimal("7e9"))
        ((125, 2), (100, 0), (7, -9))
    """
    decimals = -int(EXACT.normalize(divisor).as_tuple().exponent)
    if decimals < 0 and divisor <= numbers.LARGEST_MODULUS:
        decimals = 0
    return int(EXACT.scaleb(divisor, decimals)), decimals


def can_divide(divisor: Decimal) -> bool:
    """Whether a machine can keep the remainders of a divisor."""
    numerator, decimals = fraction_of(divisor)
    fits = -numbers.LAST_EXPONENT <= decimals <= MOST_DECIMALS
    return 1 <= numerator <= numbers.LARGEST_MODULUS and fits
