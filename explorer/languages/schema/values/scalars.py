"""The machines of numbers and strings under the keywords that constrain them, each made once."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache, lru_cache
from typing import Final, cast

from explorer.automata.construction import operations
from explorer.automata.construction.operations import intersection
from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.errors import RegexError
from explorer.languages.regex import UnsupportedSyntax, compile_pattern
from explorer.languages.schema.reading.keywords import anchored, decimal, is_number
from explorer.languages.schema.reading.subschemas import Subschema
from explorer.languages.schema.reading.text import EXACT
from explorer.languages.schema.text import numbers, strings
from explorer.languages.schema.text.ecma import translated
from explorer.languages.schema.text.formats import FORMATS, LONGEST
from explorer.languages.schema.values.texts import StringPart


def _fraction(divisor: Decimal) -> tuple[int, int]:
    """A divisor as a whole number, divided by a power of ten."""
    decimals = max(0, -cast("int", EXACT.normalize(divisor).as_tuple().exponent))
    return int(EXACT.scaleb(divisor, decimals)), decimals


_MOST_DECIMALS: Final = 30
"""Of a divisor."""


def can_divide(divisor: Decimal) -> bool:
    """Whether a machine can keep the remainders of a divisor."""
    numerator, decimals = _fraction(divisor)
    return 1 <= numerator <= numbers.LARGEST_MODULUS and decimals <= _MOST_DECIMALS


def _too_fine(divisor: Decimal, numerator: int, decimals: int) -> tuple[str, str]:
    """Why a divisor cannot be followed, and what to do."""
    shown = f"{divisor:.6e}" if len(str(divisor)) > 40 else str(divisor)
    if decimals > _MOST_DECIMALS:
        return (
            f"Multiples of {shown} have up to {decimals:,} decimals.",
            f"Use a divisor with at most {_MOST_DECIMALS} decimals, or leave it out.",
        )
    remainders = f"{numerator:,}" if numerator < 10**18 else f"{Decimal(numerator):.2e}"
    return (
        f"Multiples of {shown} need a machine with {remainders} remainders.",
        f"Use a divisor whose digits are at most {numbers.LARGEST_MODULUS:,}.",
    )


def _and_say(error: Exception) -> str:
    """The advice of the reader of patterns itself, as the rest of a sentence."""
    advice = error.remedy.rstrip(".") if isinstance(error, RegexError) else ""
    return f" ({advice[:1].lower()}{advice[1:]})" if advice else ""


@cache
def _of_format(name: str) -> Dfa:
    return compile_pattern(FORMATS[name], Meter())[1]


_SHORT: Final = 24
"""Comparisons with numbers that are written with so few digits are kept: many schemas say the
same."""


class Scalars:
    """The machines of numbers and strings.

    Args:
        meter: Watches every limit.
        refuse: Raises for a keyword that cannot be followed, or notes it.
    """

    def __init__(
        self,
        meter: Meter,
        *,
        refuse: Callable[[Subschema, str, str, str], None],
    ) -> None:
        self.meter = meter
        self._refuse = refuse
        self._machines: dict[tuple[object, ...], Dfa] = {}

    def number(
        self, subs: tuple[Subschema, ...], scalars: list[object] | None, *, integer: bool
    ) -> Dfa:
        """The spellings of the numbers that some keywords leave.

        Args:
            scalars: The values that ``enum`` and ``const`` leave; ``None`` if neither is given.
        """
        parts: list[Dfa] = [self._all_of_type(subs, integer=integer)]
        if scalars is not None:
            given = [value for value in scalars if is_number(value)]
            if not given:
                return strings.nothing()
            same = [self._compared(decimal(value), "=") for value in given]
            parts.append(operations.union(same, self.meter) if len(same) > 1 else same[0])
        for sub in subs:
            for keyword, wanted in (
                ("minimum", "=>"), ("maximum", "=<"),
                ("exclusiveMinimum", ">"), ("exclusiveMaximum", "<"),
            ):  # fmt: skip
                bound = sub.keyword(keyword)
                if not is_number(bound):
                    continue
                if sub.draft == 4 and sub.keyword(f"exclusive{keyword.capitalize()}") is True:
                    wanted = wanted.strip("=")
                parts.append(self._compared(decimal(bound), wanted))
            divisor = sub.keyword("multipleOf")
            if is_number(divisor):
                made = self._multiples(sub, decimal(divisor))
                parts += [made] if made is not None else []
        return self._all(parts)

    def _all_of_type(self, subs: tuple[Subschema, ...], *, integer: bool) -> Dfa:
        if not integer:
            return numbers.any_number()
        digits = any(sub.draft == 4 and sub.keyword("type") is not None for sub in subs)
        return numbers.any_digits() if digits else numbers.any_integer()

    def _compared(self, bound: Decimal, wanted: str) -> Dfa:
        if len(bound.as_tuple().digits) + abs(bound.adjusted()) < _SHORT:
            return _kept(bound, wanted)
        key = "compared", bound, wanted
        if key not in self._machines:
            self._machines[key] = numbers.compared(bound, lambda it: it in wanted, self.meter)
        return self._machines[key]

    def _multiples(self, sub: Subschema, divisor: Decimal) -> Dfa | None:
        numerator, decimals = _fraction(divisor)
        if not can_divide(divisor):
            self._refuse(
                sub, "multipleOf",
                *_too_fine(divisor, numerator, decimals),
            )  # fmt: skip
            return None
        key = "multiples", divisor
        if key not in self._machines:
            self._machines[key] = numbers.multiples(numerator, decimals, self.meter)
        return self._machines[key]

    def _all(self, parts: list[Dfa]) -> Dfa:
        result = parts[0]
        for part in parts[1:]:
            if part is not result:
                result = intersection(result, part, self.meter)
        return result

    def format(self, name: str) -> StringPart:
        """The texts of a format."""
        return StringPart(_of_format(name), 0, LONGEST.get(name))

    def pattern(self, sub: Subschema, pattern: str, keyword: str) -> Dfa | None:
        """The texts in which a pattern of ECMA-262 is found; ``None`` if it was ignored."""
        key = "pattern", pattern
        if key not in self._machines:
            try:
                python = translated(pattern)
                python_pattern = anchored(python) or f"(?s:.*)(?:{python})(?s:.*)"
                self._machines[key] = compile_pattern(python_pattern, self.meter)[1]
            except (RegexError, UnsupportedSyntax, ValueError, IndexError) as error:
                reason = error.reason if isinstance(error, RegexError) else str(error)
                self._refuse(
                    sub, keyword,
                    f"The pattern {pattern!r} cannot be read as one of ECMA-262: {reason}.",
                    f"Correct it{_and_say(error)}; strict=False ignores the keyword.",
                )  # fmt: skip
                return None
        return self._machines[key]

    def matches(self, sub: Subschema, pattern: str, name: str) -> bool:
        """Whether a pattern is found in a name."""
        machine = self.pattern(sub, pattern, "patternProperties")
        return machine is None or machine.accepts(name.encode(errors="surrogatepass"))


@lru_cache(maxsize=512)
def _kept(bound: Decimal, wanted: str) -> Dfa:
    return numbers.compared(bound, lambda it: it in wanted, Meter())
