"""Sets of numbers, described by intervals and divisors.

A set is a union of parts. A part is an interval, the divisors that all its numbers have, and the
divisors that none of them has. So sets are combined, and found empty, without writing digits; the
spellings are drawn once (`explorer.languages.schema.text.numbers`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import Final, Literal, NamedTuple

from explorer.automata.construction.operations import difference, intersection, union
from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.languages.schema.reading.text import EXACT
from explorer.languages.schema.text import numbers
from explorer.languages.schema.text.exponents import Every, draw_with_exponents, with_exponents
from explorer.languages.schema.text.sketch import Sketch

STAGE: Final = "The numbers of a schema"

MOST_LISTED: Final = 64
"""The most numbers of a part that is written number by number."""
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

    @property
    def every(self) -> frozenset[Every]:
        """The sets "all numbers" and "all whole numbers", as far as this set contains them."""
        if ALL in self:
            return frozenset(("number", "integer"))
        return frozenset(("integer",)) if WHOLE in self else frozenset()

    def spelled(self, meter: Meter) -> Dfa:
        """The machine of all spellings."""
        parts = [with_exponents(part.machine(meter), part.every, meter) for part in self.alike]
        return union(parts, meter) if len(parts) != 1 else parts[0]

    def draw(self, sketch: Sketch, begin: int, end: int, meter: Meter) -> None:
        """Draw all spellings between two states, as far as they need not wait."""
        for part in self.alike:
            draw_with_exponents(sketch, begin, end, part.machine(meter), part.every, meter)

    @property
    def alike(self) -> list[Numbers]:
        """This set as a union: the parts that are listed, and those of the same divisors.

        Where digits are told from other spellings there is one set, because an exponent may depend
        on all parts.
        """
        if ALL in self or len(self) == 1 or any(part.written for part in self):
            return [self]
        known: dict[object, list[NumberPart]] = {}
        for part in self:
            is_one = part.low[0] == part.high[0]
            known.setdefault(is_one or (part.steps, part.but), []).append(part)
        return [Numbers(parts) for parts in known.values()]

    def machine(self, meter: Meter) -> Dfa:
        """The machine of the plain and small spellings."""
        if ALL in self:
            return numbers.any_number()
        listed: dict[Decimal, None] = {}
        alike: dict[tuple[object, ...], list[NumberPart]] = {}
        for part in self:
            values = None if part.written else part.values()
            if part.steps == WHOLE.steps and not part.but and part.low[0] != part.high[0]:
                values = None  # Comparing with two bounds is faster.
            few = None if values is None else list(islice(values, MOST_LISTED + 1))
            if few is not None and len(few) <= MOST_LISTED:
                listed.update(dict.fromkeys(few))
            else:
                alike.setdefault(part[2:], []).append(part)
        parts = [_compared(number, "=", meter) for number in listed]
        parts += [_drawn(group, meter) for group in alike.values()]
        return union(parts, meter) if len(parts) != 1 else parts[0]


ALL: Final = NumberPart()
WHOLE: Final = NumberPart(steps=frozenset((Decimal(1),)))


def _united(parts: Iterator[NumberPart] | tuple[NumberPart, ...], meter: Meter) -> Numbers:
    """The union of some parts, without those that another one contains."""
    known = list(dict.fromkeys(parts))
    meter.check(STAGE, states=len(known))
    large = [part for part in known if part.low[0] != part.high[0]][:MOST_COMPARED]
    return Numbers(
        part for part in known if not any(it is not part and it.holds(part) for it in large)
    )


def _drawn(parts: list[NumberPart], meter: Meter) -> Dfa:
    """The machine of some intervals of numbers with the same divisors."""
    spans: list[tuple[Cut, Cut]] = []
    for part in sorted(parts):
        if spans and part.low <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], part.high)
        else:
            spans.append((part.low, part.high))
    machines: list[Dfa] = []
    if spans[0][0] != LEAST:
        machines.append(_above(spans[0][0], meter))
    if spans[-1][1] != MOST:
        machines.append(_below(spans[-1][1], meter))
    for (_, end), (begin, _) in pairwise(spans):
        if end[0] == begin[0]:
            machines.append(_compared(end[0], "<>", meter))
        else:
            machines.append(union([_below(end, meter), _above(begin, meter)], meter))
    first = parts[0]
    if first.written == "digits":
        machines.append(numbers.any_digits())
    elif first.written:
        machines.append(_not_digits())
    machines += _multiples_of_all(first.steps, meter)
    machine = machines[0] if machines else numbers.any_number()
    for other in machines[1:]:
        machine = intersection(machine, other, meter)
    for divisor in sorted(first.but):
        machine = difference(machine, _multiples(Fraction(divisor), meter), meter)
    return machine


def _multiples_of_all(steps: frozenset[Decimal], meter: Meter) -> list[Dfa]:
    """Machines that together read the multiples of some divisors."""
    common = _common(steps)
    if common is None:
        return []
    if can_divide(_decimal(common)):
        return [_multiples(common, meter)]
    return [_multiples(Fraction(step), meter) for step in sorted(steps)]


def _multiples(unit: Fraction, meter: Meter) -> Dfa:
    if unit == 1:
        return numbers.any_integer()
    if unit.numerator > MOST_REMEMBERED:
        return numbers.multiples(*fraction_of(_decimal(unit)), meter)
    return _small_multiples(unit)


MOST_REMEMBERED: Final = 200
"""The most remainders of a divisor whose machine is cached, since many schemas share divisors."""


@lru_cache(maxsize=64)
def _small_multiples(unit: Fraction) -> Dfa:
    return numbers.multiples(*fraction_of(_decimal(unit)), Meter())


@cache
def _not_digits() -> Dfa:
    return difference(numbers.any_number(), numbers.any_digits(), Meter())


def _above(cut: Cut, meter: Meter) -> Dfa:
    return _compared(cut[0], ">" if cut[1] else "=>", meter)


def _below(cut: Cut, meter: Meter) -> Dfa:
    return _compared(cut[0], "=<" if cut[1] else "<", meter)


_SHORT: Final = 24
"""The fewest digits of a bound whose machine is not cached; many schemas share short bounds."""


def _compared(bound: Decimal, wanted: str, meter: Meter) -> Dfa:
    if len(bound.as_tuple().digits) + abs(bound.adjusted()) < _SHORT:
        return _kept(bound, wanted)
    return numbers.compared(bound, lambda it: it in wanted, meter)


@lru_cache(maxsize=512)
def _kept(bound: Decimal, wanted: str) -> Dfa:
    return numbers.compared(bound, lambda it: it in wanted, Meter())


MOST_DECIMALS: Final = 30
"""The most decimals of a divisor."""


def fraction_of(divisor: Decimal) -> tuple[int, int]:
    """A divisor as a whole number and the power of ten that divides it."""
    decimals = max(0, -int(EXACT.normalize(divisor).as_tuple().exponent))
    return int(EXACT.scaleb(divisor, decimals)), decimals


def can_divide(divisor: Decimal) -> bool:
    """Whether a machine can keep the remainders of a divisor."""
    numerator, decimals = fraction_of(divisor)
    return 1 <= numerator <= numbers.LARGEST_MODULUS and decimals <= MOST_DECIMALS
