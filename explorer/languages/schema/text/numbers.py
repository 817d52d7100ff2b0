"""JSON numbers as machines over their spellings: intervals and multiples, exactly.

A number has many spellings, and with exponents of any size the spellings of the numbers above a
bound are not a regular language. So a number is written in one of three ways, which are those of
Python and JavaScript: *plain*, ``-12.50``, also with an exponent of zero; *small*, ``1.5e-07``,
with one digit before the point and a negative exponent of at most three digits after its zeros; and
*large*, ``1.5e+22``, with at most 17 digits, one of them before the point, and an exponent from 16
on, up to the largest float. Within these the machines are exact. If a set holds every number, all
spellings of JSON are allowed, up to the largest float; if it holds every whole number, whole digits
may have an exponent of 0 to 99 too (``12e3``). Whole numbers that reach the large spelling have
all exponents that leave no decimals (``1.5e1``), so that what begins as ``1.5`` can end soon.

The machines of bounds and of multiples judge values only: they accept or refuse other texts as it
comes. They are combined as sets are, and at last with the machine of the spellings, which is the
only one that counts digits (`spelled`).

A bound is compared digit by digit, from the left: a longer whole part is larger, and of equal
length the first digit that differs decides. With exponents the larger exponent decides, else the
digits before it. The multiples of ``p / 10^k`` keep the remainder modulo p, or as much of it as
matters: ten times a number is a multiple of 10 whatever the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cache, lru_cache
from itertools import pairwise
from math import gcd
from typing import Final, Literal

import numpy as np

from explorer.automata.construction.operations import intersection, union
from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.text.sketch import Sketch

LAST_EXPONENT: Final = 308
"""The exponent of the largest float."""
FIRST_LARGE: Final = 16
"""The least exponent of the large spelling."""
_LARGEST: Final = "7976931348623158"
"""The decimals of the largest float, 1.7976931348623157e308, with the last one raised by one, which
is still read as that float."""
MOST_DECIMALS: Final = len(_LARGEST)
"""The most decimals of the large spelling."""


def _at_most(decimals: str) -> str:
    """A pattern of the decimals that are at most the given ones."""
    first, rest = int(decimals[0]), decimals[1:]
    less = rf"[0-{first - 1}][0-9]*|" if first else ""
    return rf"(?:{less}{first}{_at_most(rest)}?)" if rest else rf"(?:{less}{first}0*)"


PLAIN: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
DIGITS: Final = r"-?(?:0|[1-9][0-9]*)"
_TWO: Final = rf"{PLAIN}|-?[1-9](?:\.[0-9]+)?[eE]-(?:0{{0,2}}[1-9]|0?[1-9][0-9]|[1-9][0-9]{{2}})"
"""The plain and the small spelling, without needless zeros."""
_UP: Final = r"[eE]\+?0*"
_TOP: Final = rf"-?1(?:\.{_at_most(_LARGEST)})?{_UP}308"
ANY: Final = (
    rf"{PLAIN}(?:[eE]-0*[0-9]{{1,3}}|{_UP}[0-9]{{1,2}})?"
    rf"|-?[1-9](?:\.[0-9]+)?{_UP}(?:[12][0-9]{{2}}|30[0-7])|{_TOP}"
)
"""Every number that a float can hold: 1e999 would be read as infinity.

Negative exponents have at most three digits after their zeros, as elsewhere.
"""
_LARGE: Final = (
    rf"-?[1-9](?:\.[0-9]{{1,{MOST_DECIMALS}}})?{_UP}(?:1[6-9]|[2-9][0-9]|[12][0-9]{{2}}|30[0-8])"
)
_THREE: Final = rf"{PLAIN}(?:[eE][+-]?0+)?|-?[1-9](?:\.[0-9]+)?[eE]-0*[1-9][0-9]{{0,2}}|{_LARGE}"
_WHOLE: Final = rf"{DIGITS}(?:\.0+)?(?:[eE][+-]?0+)?"
_RAISED: Final = rf"{DIGITS}(?:\.0+)?(?:[eE]\+?0*[0-9]{{1,2}})?"

LARGEST_MODULUS: Final = 20_000
"""The largest numerator p of a ``multipleOf`` p / 10^k or p × 10^k; a machine has p states for each
decimal."""


@lru_cache(maxsize=16)
def _pattern(pattern: str) -> Dfa:
    return compile_pattern(pattern, Meter())[1]


def any_number() -> Dfa:
    """Every number, in all spellings."""
    return _pattern(ANY)


def two_spellings() -> Dfa:
    """Every number, plain and small, without exponents of zero and zeros before an exponent."""
    return _pattern(_TWO)


@cache
def three_spellings() -> Dfa:
    """Every number, plain, small and large."""
    return intersection(_pattern(_THREE), any_number(), Meter())


@cache
def any_integer() -> Dfa:
    """Every number without a fraction: ``3``, ``3.0``, ``12e1`` and ``1.2e1`` are integers."""
    return union([whole_spellings(True, True), _pattern(_RAISED)], Meter())


@lru_cache(maxsize=4)
def whole_spellings(negative: bool, positive: bool) -> Dfa:
    """Every whole number, plain, and with one digit before the point and enough in the exponent.

    The exponent is at least the number of decimals, so a number that begins as ``1.5`` does, which
    may become ``1.5e+16``, may also end soon: ``1.5e1``.

    Args:
        negative, positive: The signs of the numbers that are also written with an exponent.
    """
    meter = Meter()
    sketch = Sketch(meter)
    begin, unsigned, here, end = (sketch.state() for _ in range(4))
    if negative:
        sketch.byte(begin, ord("-"), unsigned)
    if positive:
        sketch.epsilon(begin, unsigned)
    sketch.interval(unsigned, ord("1"), ord("9"), here)
    for decimals in range(MOST_DECIMALS + 1):
        ends = _with_exponent(sketch, [here], max(decimals, 1))
        sketch.epsilons([*ends["="], *ends[">"]], end)
        before, here = here, sketch.state()
        if decimals == 0:
            point = sketch.state()
            sketch.byte(before, ord("."), point)
            before = point
        sketch.interval(before, ord("0"), ord("9"), here)
    raised = intersection(sketch.finish(begin, [end]), any_number(), meter)
    return union([_pattern(_WHOLE), raised], meter)


def any_digits() -> Dfa:
    """Every integer of draft 4, where ``3.0`` is not one."""
    return _pattern(DIGITS)


def no_fraction() -> Dfa:
    """The spellings of which draft 4 does not say whether they are integers, and `any_digits`."""
    return _pattern(rf"{DIGITS}(?:[eE][+-]?0+)?|{_LARGE}")


Order = Literal["<", "=", ">"]
Ends = dict[Order, list[int]]
"""The states at which a number may end, by its order to a bound."""
_FLIPPED: Final[dict[Order, Order]] = {"<": ">", "=": "=", ">": "<"}


def compared(bound: Decimal, wanted: str, meter: Meter) -> Dfa:
    """The numbers whose order to a bound is one of those wanted, such as ``"<="``.

    Returns:
        A minimal machine that judges the spellings of numbers; -0 is 0.

    Example:
        >>> small = compared(Decimal("2.5"), "<=", Meter())
        >>> [small.accepts(text) for text in (b"2.5", b"2.50", b"2.51", b"-7", b"1e-9", b"1e+16")]
        [True, True, False, True, True, False]
    """
    sketch = Sketch(meter)
    begin, end = sketch.state(), sketch.state()
    for order, states in _signed(sketch, begin, Decimal(bound), _magnitudes).items():
        if order in wanted:
            sketch.epsilons(states, end)
    return sketch.finish(begin, [end])


def _signed(
    sketch: Sketch, begin: int, bound: Decimal, draw: Callable[[Sketch, int, Decimal], Ends]
) -> Ends:
    """Draw numbers with and without a minus.

    Args:
        draw: Draws unsigned numbers by their order to a bound of at least 0.
    """
    ends: Ends = {"<": [], "=": [], ">": []}
    minus = sketch.state()
    sketch.byte(begin, ord("-"), minus)
    for source, size in ((begin, bound), (minus, bound.copy_negate())):
        magnitude = size.copy_abs() if size >= 0 else Decimal(0)
        for order, states in draw(sketch, source, magnitude).items():
            order = order if size >= 0 else ">"
            ends[order if source == begin else _FLIPPED[order]] += states
    return ends


def _magnitudes(sketch: Sketch, begin: int, bound: Decimal) -> Ends:
    """Draw unsigned numbers, by their order to a bound of at least 0."""
    digits, _, decimals = f"{bound:f}".partition(".")
    zero = sketch.state()
    sketch.byte(begin, ord("0"), zero)
    whole = _whole(sketch, begin, digits)
    whole["=" if digits == "0" else "<"].append(zero)
    ends = _decimals(sketch, whole, decimals.rstrip("0"))
    for states in ends.values():
        states += _with_exponent(sketch, states, 0)["="]
    # No exponent is as small as that of zero, whose digits do not matter.
    exponent = bound.adjusted() if bound else -10_000
    first, *rest = bound.as_tuple().digits if bound else (1,)
    after: dict[Order, int] = {order: sketch.state() for order in ends}
    _digit(sketch, begin, str(first), after, "1")
    lead: Ends = {order: [state] for order, state in after.items()}
    for order, states in _decimals(sketch, lead, "".join(map(str, rest)).rstrip("0")).items():
        for larger, last in _with_exponent(sketch, states, exponent).items():
            ends[order if larger == "=" else larger] += last
    return ends


def _whole(sketch: Sketch, begin: int, expected: str) -> Ends:
    """Draw digits that do not begin with a zero, by the order of their number to the expected."""
    ends: Ends = {"<": [], "=": [], ">": []}
    before: dict[Order, int] = {"=": begin}
    longer = sketch.state()
    sketch.interval(longer, 48, 57, longer)
    for place, digit in enumerate(expected, 1):
        after: dict[Order, int] = {order: sketch.state() for order in ends}
        for order, state in before.items():
            if order == "=":
                _digit(sketch, state, digit, after, "0" if place > 1 else "1")
            else:
                sketch.interval(state, 48, 57, after[order])
        for order, state in after.items():
            ends[order if place == len(expected) else "<"].append(state)
        before = after
    for state in before.values():
        sketch.interval(state, 48, 57, longer)
    ends[">"].append(longer)
    return ends


def _decimals(sketch: Sketch, whole: Ends, expected: str) -> Ends:
    """Draw a point and decimals after some whole parts, by the order of the whole number.

    Args:
        expected: The decimals of the bound, without needless zeros.
    """
    ends: Ends = {order: [*states] for order, states in whole.items()}
    if expected:
        ends["<"] += ends["="]
        ends["="] = []
    decided: dict[Order, int] = {order: sketch.state() for order in whole}
    point: dict[Order, int] = {order: sketch.state() for order in whole}
    for order, states in whole.items():
        for state in states:
            sketch.byte(state, ord("."), point[order])
        if order != "=":
            sketch.interval(point[order], 48, 57, decided[order])
            sketch.interval(decided[order], 48, 57, decided[order])
            ends[order].append(decided[order])
    here = point["="]
    for place, digit in enumerate(expected, 1):
        equal = sketch.state()
        _digit(sketch, here, digit, {**decided, "=": equal}, "0")
        ends["=" if place == len(expected) else "<"].append(equal)
        here = equal
    _digit(sketch, here, "0", decided, "0")
    _digit(sketch, decided["="], "0", decided, "0")
    ends["="].append(decided["="])
    return ends


def _digit(sketch: Sketch, source: int, expected: str, after: dict[Order, int], least: str) -> None:
    """Draw a digit from the least one on, by its order to the expected one."""
    if least < expected:
        sketch.interval(source, ord(least), ord(expected) - 1, after["<"])
    if least <= expected:
        sketch.byte(source, ord(expected), after["="])
    if expected < "9":
        sketch.interval(source, max(ord(least), ord(expected) + 1), 57, after[">"])


def _with_exponent(sketch: Sketch, states: Iterable[int], expected: int) -> Ends:
    """Draw exponents after some states, by their order to an expected one."""
    letter, sign = sketch.state(), sketch.state()
    for state in states:
        for byte in b"eE":
            sketch.byte(state, byte, letter)
    sketch.byte(letter, ord("+"), sign)
    sketch.epsilon(letter, sign)
    return _signed(sketch, sign, Decimal(expected), _with_zeros)


def _with_zeros(sketch: Sketch, begin: int, bound: Decimal) -> Ends:
    """Draw digits after any zeros, by the order of their number to a bound of at least 0."""
    zeros, some = sketch.state(), sketch.state()
    sketch.epsilon(begin, zeros)
    for state in (zeros, some):
        sketch.byte(state, ord("0"), some)
    sketch.epsilon(some, zeros)
    ends = _whole(sketch, zeros, str(bound))
    ends["<" if bound else "="].append(some)
    return ends


def multiples(numerator: int, decimals: int, meter: Meter) -> Dfa:
    """The multiples of ``numerator / 10**decimals``, 0 included.

    Args:
        decimals: If negative, the multiples end with as many zeros.

    Returns:
        A minimal machine that judges the spellings of numbers.

    Example:
        >>> half = multiples(5, 1, Meter())
        >>> [half.accepts(text) for text in (b"1.5", b"-2", b"0.50", b"0.75", b"5e-1", b"1e+16")]
        [True, True, True, False, True, True]
    """
    sketch = Sketch(meter)
    begin, unsigned, end = (sketch.state() for _ in range(3))
    sketch.byte(begin, ord("-"), unsigned)
    sketch.epsilon(begin, unsigned)
    # m × 10^n is a multiple of p / 10^k if m is one of p / 10^(k + n). Where enough digits follow,
    # only the factors of p other than 2 and 5 count.
    moduli = [numerator // gcd(numerator, 10**k) for k in range(LAST_EXPONENT)]
    settled = FIRST_LARGE + max(0, moduli.index(moduli[-1]) - decimals)
    large = range(max(FIRST_LARGE, -decimals), min(settled, LAST_EXPONENT + 1))
    for exponent in (*range(-decimals, 1), *large):
        most = decimals + exponent
        least = max(0, most - MOST_DECIMALS) if exponent > 0 else 0
        states = _remainders(sketch, unsigned, moduli[least : most + 1][::-1])
        sketch.epsilons(_with_exponent(sketch, states, exponent)["="], end)
        if exponent == 0:
            sketch.epsilons(states, end)
    if decimals < 0:
        states = _before_zeros(sketch, unsigned, numerator, -decimals)
        sketch.epsilons([*states, *_with_exponent(sketch, states, 0)["="]], end)
    states = _remainders(sketch, unsigned, moduli[-1:], endless=True)
    ends = _with_exponent(sketch, states, settled)
    sketch.epsilons(ends["="] + ends[">"], end)
    return sketch.finish(begin, [end])


def _before_zeros(sketch: Sketch, begin: int, numerator: int, zeros: int) -> list[int]:
    """Draw 0, and the multiples of a number with zeros behind them; only zeros are decimals."""
    here = _remainders(sketch, begin, [numerator])[0]
    for _ in range(zeros):
        before, here = here, sketch.state()
        sketch.byte(before, ord("0"), here)
    sketch.byte(begin, ord("0"), here)
    decimals = sketch.state()
    sketch.byte(here, ord("."), decimals)
    sketch.byte(decimals, ord("0"), decimals)
    return [here, decimals]


def _remainders(
    sketch: Sketch, begin: int, moduli: list[int], *, endless: bool = False
) -> list[int]:
    """Draw digits and decimals whose number has the remainder 0.

    Args:
        moduli: By which to divide what was read before the point, and after each decimal; only
            zeros may follow the last one, or if ``endless`` any digits.
    """
    sizes = [moduli[0], *moduli]
    firsts = [sketch.states(size) for size in sizes]
    levels = list(zip(firsts, sizes, strict=True))
    steps = [(levels[0], levels[0]), *pairwise(levels[1:])]
    if endless:
        steps.append((levels[-1], levels[-1]))
    for (source, size), (target, modulus) in steps:
        before, digit = np.arange(size).repeat(10), np.tile(np.arange(10), size)
        after = target + (10 * before + digit) % modulus
        rows = np.column_stack([source + before, 48 + digit, 48 + digit, after])
        sketch.rows(rows.astype(np.int32))
    for remainder in range(moduli[0]):
        sketch.byte(firsts[0] + remainder, ord("."), firsts[1] + remainder)
    sketch.byte(firsts[-1], ord("0"), firsts[-1])
    sketch.epsilon(begin, firsts[0])
    return firsts
