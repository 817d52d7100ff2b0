"""The JSON Schema of a ``Decimal``: a number, or a text of digits as pydantic writes it.

Bounds hold for both. For a text each bound is a pattern: a number is at least 12.5 if its whole
part is longer, or its digits are equal up to one that is larger. Such a text is plain
(``"12.50"``); exponents are allowed if no bound but zero, and no number of digits, is given.

Not covered: the texts of ``multiple_of``, unless it is a power of ten; such values are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

_BOUNDS: Final = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
}  # fmt: skip
_WHOLE: Final = "(?:0|[1-9][0-9]*)"
_FRACTION: Final = r"(?:\.[0-9]+)?"
_EXPONENT: Final = "(?:E[+-]?[0-9]{1,3})?"


def decimal_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a ``Decimal``.

    Args:
        schema: Pydantic's core schema: bounds, ``multiple_of``, ``max_digits``, ``decimal_places``.

    Example:
        >>> numbers, texts = decimal_schema({"ge": 10})["anyOf"]
        >>> numbers
        {'type': 'number', 'minimum': 10.0}
    """
    bounds = {
        name: Decimal(str(schema[name]))
        for name in _BOUNDS
        if schema.get(name) is not None and Decimal(str(schema[name])).is_finite()
    }
    numbers: dict[str, Any] = {_BOUNDS[name]: float(bound) for name, bound in bounds.items()}
    exponent = "" if any(bounds.values()) else _EXPONENT
    patterns: list[str] = []
    step, most, places = (
        schema.get(name) for name in ("multiple_of", "max_digits", "decimal_places")
    )
    if step is not None:
        numbers["multipleOf"] = float(step)
    split: list[tuple[int, int]] = []
    if most is not None and places is not None:
        split = [(max(most - places, 0), min(places, most))]
    elif most is not None:
        split = [(most - after, after) for after in range(most + 1)]
    if split:
        numbers["allOf"] = [{"anyOf": [_fits(before, after) for before, after in split]}]
    elif places is not None:
        numbers["allOf"] = [{"multipleOf": float(Decimal(1).scaleb(-places))}]
    shapes = split if split else [(None, places)]
    if split or places is not None:
        exponent = ""
        written = "|".join(_places(before, after or 0) for before, after in shapes)
        patterns.append(f"-?(?:{written})")
    if step is not None:
        step_places = power_of_ten(step)
        if step_places is None:
            return {"type": "number", **numbers}
        exponent = ""
        patterns.append("-?" + _places(None, step_places))
    patterns += [_beyond(bounds[name], name, exponent) for name in bounds]
    if not patterns:
        patterns.append(f"-?{_WHOLE}{_FRACTION}{exponent}")
    first, *rest = (f"^(?:{pattern})$" for pattern in patterns)
    text: dict[str, Any] = {"type": "string", "pattern": first}
    if rest:
        text["allOf"] = [{"pattern": pattern} for pattern in rest]
    return {"anyOf": [{"type": "number", **numbers}, text]}


def power_of_ten(step: Any) -> int | None:
    """The decimals of a step that is 1, 0.1, 0.01 and so on; ``None`` for any other step.

    Example:
        >>> power_of_ten(Decimal("0.01")), power_of_ten(0.25), power_of_ten(10)
        (2, None, None)
    """
    _, digits, power = Decimal(str(step)).normalize().as_tuple()
    return -power if digits == (1,) and isinstance(power, int) and power <= 0 else None


def _fits(before: int, after: int) -> dict[str, Any]:
    """The JSON Schema keywords for a number of digits before and after the point."""
    limit = float(Decimal(1).scaleb(before))
    multiple = float(Decimal(1).scaleb(-after))
    fits = {"multipleOf": multiple, "exclusiveMinimum": -limit, "exclusiveMaximum": limit}
    # Pydantic counts the digit of a zero: it has no room where all places are after the point.
    return fits if before else {**fits, "not": {"const": 0}}


def _places(before: int | None, after: int) -> str:
    """A pattern with a limited number of digits before and after the point, but for final zeros."""
    whole = _WHOLE if before is None else "0"
    if before:
        whole = f"(?:0|[1-9][0-9]{{0,{before - 1}}})"
    fraction = rf"[0-9]{{1,{after}}}0*" if after else "0+"
    return rf"{whole}(?:\.{fraction})" + ("" if before == 0 else "?")


def _beyond(bound: Decimal, name: str, exponent: str) -> str:
    """A pattern of the signed digits within a bound."""
    is_least, is_open = name in ("ge", "gt"), name in ("gt", "lt")
    # The bound cuts its own side of zero; the other side is allowed as a whole or not at all.
    toward = bound if is_least else -bound
    if toward > 0 or (is_open and not bound):
        cut, other = _digits(abs(bound), is_open, at_least=True), ""
    else:
        cut, other = f"{_WHOLE}{_FRACTION}", _digits(abs(bound), is_open, at_least=False)
    positive, negative = (cut, other) if is_least else (other, cut)
    sides = ([positive] if positive else []) + ([f"-(?:{negative})"] if negative else [])
    return f"(?:{'|'.join(sides)}){exponent}"


def _digits(bound: Decimal, is_open: bool, *, at_least: bool) -> str:
    """A pattern of the digits of numbers from a bound on, or of those up to it; empty if none."""
    whole, _, fraction = f"{bound:f}".partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    options: list[str] = []
    if at_least:
        options.append(f"[1-9][0-9]{{{len(whole)},}}{_FRACTION}")
    elif len(whole) > 1:
        options.append(f"(?:0|[1-9][0-9]{{0,{len(whole) - 2}}}){_FRACTION}")
    for k, digit in enumerate(map(int, whole + fraction)):
        left = len(whole) - k - 1  # The digits of the whole part that follow.
        same = whole[:k] if left >= 0 else rf"{whole}\.{fraction[: k - len(whole)]}"
        rest = f"[0-9]{{{left}}}{_FRACTION}" if left >= 0 else "[0-9]*"
        if left < 0 and not at_least:  # A fraction that ends here is less.
            options.append(same.removesuffix(r"\."))
        smallest = 1 if k == 0 and len(whole) > 1 else 0
        low, high = (digit + 1, 9) if at_least else (smallest, digit - 1)
        if low <= high:
            options.append(f"{same}[{low}-{high}]{rest}")
    if at_least and (fraction or is_open):
        more = "[0-9]*[1-9][0-9]*" if is_open else "[0-9]*"
        options.append(rf"{whole}\.{fraction}{more}")
    elif at_least:
        options.append(whole + _FRACTION)
    elif not is_open:
        options.append(rf"{whole}\.{fraction}0*" if fraction else rf"{whole}(?:\.0+)?")
    return f"(?:{'|'.join(options)})" if options else ""
