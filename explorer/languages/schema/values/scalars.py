"""The numbers and the strings under the keywords that constrain them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache

from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.errors import RegexError
from explorer.languages.regex import UnsupportedSyntax, compile_pattern
from explorer.languages.schema.reading.keywords import anchored, decimal, is_number
from explorer.languages.schema.reading.subschemas import Subschema
from explorer.languages.schema.text import numbers
from explorer.languages.schema.text.ecma import translated
from explorer.languages.schema.text.formats import FORMATS, LONGEST, TESTED
from explorer.languages.schema.values.amounts import (
    ALL,
    MOST_DECIMALS,
    WHOLE,
    Cut,
    NumberPart,
    Numbers,
    can_divide,
    fraction_of,
    point,
)
from explorer.languages.schema.values.texts import StringPart, Strings


def _too_fine(divisor: Decimal) -> tuple[str, str]:
    """The reason why a divisor cannot be followed, and the remedy."""
    numerator, decimals = fraction_of(divisor)
    shown = f"{divisor:.6e}" if len(str(divisor)) > 40 else str(divisor)
    if decimals > MOST_DECIMALS:
        return (
            f"Multiples of {shown} have up to {decimals:,} decimals.",
            f"Use a divisor with at most {MOST_DECIMALS} decimals, or leave it out.",
        )
    remainders = f"{numerator:,}" if numerator < 10**18 else f"{Decimal(numerator):.2e}"
    return (
        f"Multiples of {shown} need a machine with {remainders} remainders.",
        f"Use a divisor whose digits are at most {numbers.LARGEST_MODULUS:,}.",
    )


def _and_say(error: Exception) -> str:
    """The remedy of a pattern's own error, in parentheses; empty if there is none."""
    advice = error.remedy.rstrip(".") if isinstance(error, RegexError) else ""
    return f" ({advice[:1].lower()}{advice[1:]})" if advice else ""


@cache
def _of_format(name: str) -> Strings:
    most = LONGEST.get(name)
    parts = [StringPart(compile_pattern(FORMATS[name], Meter())[1], 0, most)]
    if name in TESTED:
        pattern, test = TESTED[name]
        parts.append(StringPart(compile_pattern(pattern, Meter())[1], 0, most, test=test))
    return Strings(parts)


class Scalars:
    """The numbers and strings that plain keywords allow; the machines of patterns are cached.

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
        self._machines: dict[str, Dfa] = {}

    def number(
        self, subs: tuple[Subschema, ...], scalars: list[object] | None, *, integer: bool
    ) -> Numbers:
        """The numbers that the keywords of some subschemas allow.

        Args:
            scalars: The values that ``enum`` and ``const`` allow; ``None`` if neither is given.
        """
        every = Numbers((self._all_of_type(subs, integer=integer),))
        if scalars is not None:
            given = (point(decimal(value)) for value in scalars if is_number(value))
            every = every.met(Numbers(given), self.meter)
        for sub in subs:
            for keyword, is_least in (
                ("minimum", True), ("maximum", False),
                ("exclusiveMinimum", True), ("exclusiveMaximum", False),
            ):  # fmt: skip
                bound = sub.keyword(keyword)
                if not is_number(bound):
                    continue
                strict = keyword.startswith("exclusive") or (
                    sub.draft == 4 and sub.keyword(f"exclusive{keyword.capitalize()}") is True
                )
                cut: Cut = (decimal(bound), 1 if strict == is_least else 0)
                part = NumberPart(low=cut) if is_least else NumberPart(high=cut)
                every = every.met(Numbers((part,)), self.meter)
            divisor = sub.keyword("multipleOf")
            if is_number(divisor) and self._may_divide(sub, decimal(divisor)):
                part = NumberPart(steps=frozenset((decimal(divisor),)))
                every = every.met(Numbers((part,)), self.meter)
        return every

    def _all_of_type(self, subs: tuple[Subschema, ...], *, integer: bool) -> NumberPart:
        if not integer:
            return ALL
        digits = any(sub.draft == 4 and sub.keyword("type") is not None for sub in subs)
        return NumberPart(written="digits") if digits else WHOLE

    def _may_divide(self, sub: Subschema, divisor: Decimal) -> bool:
        if not can_divide(divisor):
            self._refuse(sub, "multipleOf", *_too_fine(divisor))
            return False
        return True

    def format(self, name: str) -> Strings:
        """The texts of a format."""
        return _of_format(name)

    def pattern(self, sub: Subschema, pattern: str, keyword: str) -> Dfa | None:
        """The texts in which an ECMA-262 pattern is found; ``None`` if the pattern is ignored."""
        if pattern not in self._machines:
            try:
                python = translated(pattern)
                python_pattern = anchored(python) or f"(?s:.*)(?:{python})(?s:.*)"
                self._machines[pattern] = compile_pattern(python_pattern, self.meter)[1]
            except (RegexError, UnsupportedSyntax, ValueError, IndexError) as error:
                reason = error.reason if isinstance(error, RegexError) else str(error)
                self._refuse(
                    sub, keyword,
                    f"The pattern {pattern!r} cannot be read as one of ECMA-262: {reason}.",
                    f"Correct it{_and_say(error)}; strict=False ignores the keyword.",
                )  # fmt: skip
                return None
        return self._machines[pattern]

    def matches(self, sub: Subschema, pattern: str, name: str) -> bool:
        """Whether a pattern is found in a name."""
        machine = self.pattern(sub, pattern, "patternProperties")
        return machine is None or machine.accepts(name.encode(errors="surrogatepass"))
