"""The one reader of schemas that are given as text, and the way back to text.

A bound is exactly the number that is written, so numbers with a fraction or an exponent are read as
exact decimals, never as floats: ``1e400`` is not infinite, and twenty digits stay twenty digits.
``NaN`` and ``Infinity``, which Python's reader accepts beyond JSON, are refused with their place,
and so is a number so long that machines over its digits make no sense. A name that an object gives
twice is not refused, because RFC 8259 leaves its meaning open: the last one holds, and a remark
names it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from typing import Final, NoReturn, cast

from explorer.arguments import check_whole_characters
from explorer.errors import ConstraintError, Located, caret
from explorer.languages.sources.choice import check_encodable

MOST_CHARACTERS: Final = 10_000_000
"""The most characters of a schema as JSON."""

MOST_DIGITS: Final = 1_000
"""The most digits of a number of a schema, written out without an exponent."""

MOST_NESTED: Final = 500
"""The deepest nesting of objects and arrays in the text of a schema."""

EXACT: Final = Context(prec=4 * MOST_DIGITS, Emax=10**6, Emin=-(10**6))
"""Arithmetic on numbers of schemas; Python's own context rounds to 28 digits."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN|-?[0-9][0-9.eE+-]*|[{}\[\]]', re.S)
"""Strings, numbers and brackets of a text that `json` could read."""


_SHOWN_DIGITS: Final = 24
"""The digits of a long number that a message shows."""

_SHORTER: Final = f"Write a number of at most {MOST_DIGITS:,} digits, or leave the keyword out."
_FINITE: Final = "JSON has finite numbers only: write one of them, or leave this one out."


class _WrongNumber(ValueError):
    """The error for a number that is refused, with reason and remedy."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


def read_schema(text: str) -> bool | dict[str, object]:
    """A schema from its JSON text; numbers are ``int``, or `Decimal` where they are not digits.

    Raises:
        ConstraintError: The text is too long, not JSON, nests too deep, holds a number that is not
            JSON or has more than `MOST_DIGITS` digits, holds half of a surrogate pair, also as an
            escape, or is neither an object nor a boolean.

    Example:
        >>> read_schema('{"minimum": 0.10, "maximum": 1e400}')
        {'minimum': Decimal('0.10'), 'maximum': Decimal('1E+400')}
    """
    if len(text) > MOST_CHARACTERS:
        raise ConstraintError(
            f"The schema has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read.",
            remedy="Leave out what does not constrain, such as descriptions and examples.",
        )
    try:
        value: object = json.loads(
            text, parse_float=_decimal, parse_int=_whole, parse_constant=_constant
        )
        _check_whole(text, value)
    except json.JSONDecodeError as error:
        reason = f"The schema is not JSON: {error.msg}"
        remedy = "Check quotes, commas and brackets there."
        raise _at(text, error.pos, reason, remedy) from error
    except _WrongNumber as error:
        place = next(start for start, token in _tokens(text) if _is_wrong(token))
        raise _at(text, place, str(error), error.remedy) from error
    except RecursionError as error:
        raise _too_deep(text) from error
    if _depth(text) > MOST_NESTED:
        raise _too_deep(text)
    if not isinstance(value, bool | dict):
        raise ConstraintError(
            "A schema is an object, true or false.", remedy='Write {"type": ...} or {"enum": ...}.'
        )
    return cast("bool | dict[str, object]", value)


def value_of_json(text: str) -> object:
    """The value that a JSON text stands for, as `json.loads` gives it.

    Raises:
        ConstraintError: Python holds no such value: a whole number has more than 4,300 digits, or
            the text nests too deep.
    """
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        most = sys.get_int_max_str_digits()
        reason = (
            "it nests too deep" if isinstance(error, RecursionError)
            else f"it holds a whole number of more than {most:,} digits"
        )  # fmt: skip
        raise ConstraintError(
            f"The text is a word, but Python cannot hold its value: {reason}.",
            remedy="Bound numbers with maximum, and the depth of what the schema leaves free.",
        ) from error


def text_of_data(schema: object) -> str:
    """A schema that was given as Python data, as JSON text.

    Raises:
        ConstraintError: The data is not JSON; the message has the place of a number that is not
            finite or too long, and of an object or array that contains itself.
    """
    try:
        given = schema if isinstance(schema, bool) else dict(cast("Mapping[str, object]", schema))
        if _values_written_out(given, {}) > MOST_CHARACTERS:
            raise ConstraintError(
                f"The schema has more than {MOST_CHARACTERS:,} values: one object stands in it at "
                "many places.",
                remedy="Give the object a name under $defs, and refer to it with $ref.",
            )
        return json.dumps(given, ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        raise ConstraintError(
            "The schema nests too deep to be read.", remedy="Nest fewer subschemas."
        ) from error
    except ConstraintError:
        raise
    except Exception as error:  # A user's own mapping may raise anything.
        reason, remedy = (
            f"The schema is not JSON: {str(error) or type(error).__name__}",
            "Give what json.loads would return.",
        )
        if isinstance(error, ValueError):
            reason, remedy = _fault_of_data(schema, "", {}, set()) or (reason, remedy)
        raise ConstraintError(f"{reason}.", remedy=remedy) from error


_SINGLE: Final = frozenset((str, int, float, bool, type(None)))
"""Types of values that hold no others."""


def _values_written_out(value: object, known: dict[int, int]) -> int:
    """The number of values in Python data; an object at several places counts at each of them."""
    parts: Iterable[object]
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value).values()
    elif isinstance(value, list | tuple):
        parts = cast("list[object]", value)
    else:
        return 1
    place = id(cast("object", value))
    if place not in known:
        known[place] = 1  # Data that contains itself is refused later, when it is written.
        count = 1
        for part in parts:
            count += 1 if type(part) in _SINGLE else _values_written_out(part, known)
        known[place] = count
    return known[place]


def json_of(value: object) -> str:
    """The result of `read_schema` as JSON text with the same numbers.

    Example:
        >>> json_of({"enum": [Decimal("0.10"), True, "é"]})
        '{"enum": [0.10, true, "é"]}'
    """
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).items()
        return "{" + ", ".join(f"{json_of(name)}: {json_of(part)}" for name, part in members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_of, cast("list[object]", value))) + "]"
    return json.dumps(value, ensure_ascii=False)


def as_python(text: str) -> str:
    """A schema as a Python literal: its data, or its text where a number does not fit a float.

    Example:
        >>> print(as_python('{"minimum": 0.5}'), as_python('{"minimum": 1e400}'))
        {'minimum': 0.5} '{"minimum": 1e400}'
    """
    data: object = json.loads(text)
    try:
        is_exact = read_schema(json.dumps(data)) == read_schema(text)
    except ConstraintError:  # Some number became infinite.
        is_exact = False
    return repr(data if is_exact else text)


def repeated_names(text: str) -> tuple[str, ...]:
    """One sentence for each name that an object of a schema gives twice.

    Example:
        >>> repeated_names('{"minimum": 1,\\n "minimum": 2}')
        ('The name "minimum" in line 2, column 2 was there before in the same object; the last ...
    """
    said: list[str] = []
    stack: list[set[str]] = []
    for start, token in _tokens(text):
        if token in "{[":
            stack.append(set())
        elif token in "}]":
            stack.pop()
        elif token[0] == '"' and _NAME_ENDS.match(text, start + len(token)):
            name = cast("str", json.loads(token))
            if name in stack[-1]:
                line = text.count("\n", 0, start) + 1
                column = start - text.rfind("\n", 0, start)
                said.append(
                    f"The name {token} in line {line}, column {column} was there before in the "
                    "same object; the last one holds."
                )
            stack[-1].add(name)
    return tuple(said)


_NAME_ENDS: Final = re.compile(r"[ \t\n\r]*:")


def _decimal(digits: str) -> Decimal:
    """A number with a fraction or an exponent, exactly as it is written."""
    mantissa, _, exponent = digits.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    shift = int(exponent) if 0 < len(exponent) < 9 else 0 if not exponent else 10**9
    if max(len(whole) + max(shift, 0), len(fraction) + max(-shift, 0)) > MOST_DIGITS:
        raise _too_long(digits)
    return Decimal(digits)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS + (digits[0] == "-"):
        raise _too_long(digits)
    return int(digits)


def _too_long(digits: str) -> _WrongNumber:
    shown = digits if len(digits) <= _SHOWN_DIGITS else f"{digits[:_SHOWN_DIGITS]}…"
    return _WrongNumber(_beyond(shown), _SHORTER)


def _beyond(shown: str) -> str:
    return f"The schema holds {shown}, which has more than {MOST_DIGITS:,} digits written out"


def _constant(word: str) -> NoReturn:
    raise _WrongNumber(f"The schema is not JSON: {word} is not a number", _FINITE)


def _is_wrong(token: str) -> bool:
    """Whether a token is a number that `read_schema` refuses."""
    if token[0] in '"{}[]':
        return False
    try:
        json.loads(token, parse_float=_decimal, parse_int=_whole, parse_constant=_constant)
    except _WrongNumber:
        return True
    return False


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """The strings, numbers and brackets of a JSON text, each with its start."""
    return ((match.start(), match.group()) for match in _TOKEN.finditer(text))


def _depth(text: str) -> int:
    """An upper bound of the depth of a JSON text: the depth, or the number of brackets if small."""
    opened = text.count("{") + text.count("[")
    if opened <= MOST_NESTED:
        return opened
    deepest = depth = 0
    for _, token in _tokens(text):
        depth += (token in "{[") - (token in "}]")
        deepest = max(deepest, depth)
    return deepest


def _too_deep(text: str) -> ConstraintError:
    depth = 0
    for start, token in _tokens(text):
        depth += (token in "{[") - (token in "}]")
        if depth > MOST_NESTED:
            return _at(
                text, start, f"The schema nests more than {MOST_NESTED} deep",
                "Nest fewer subschemas, or give the inner ones names under $defs.",
            )  # fmt: skip
    return ConstraintError("The schema nests too deep to be read.", remedy="Nest fewer subschemas.")


def _at(text: str, offset: int, reason: str, remedy: str) -> ConstraintError:
    """The error for a place of the text."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    place = Located(text, offset, offset + 1)
    return ConstraintError(
        f"{reason} in line {line}, column {column}:\n{caret(text, offset)}\n",
        remedy=remedy,
        evidence={"offset": offset, **place.evidence(f"{reason}.")},
    )


def _fault_of_data(
    part: object, pointer: str, above: dict[int, str], clean: set[int]
) -> tuple[str, str] | None:
    """The reason why Python data cannot be written as JSON, with its JSON Pointer, and the remedy.

    Args:
        clean: The ids of parts without a fault; data may hold one part at many places.
    """
    if isinstance(part, float) and part - part != 0:
        return f"The schema is not JSON: the number at {pointer} is not finite", _FINITE
    if isinstance(part, int) and _is_too_long(part):
        return f"{_beyond(_first_digits(part))}, at {pointer}", _SHORTER
    entries: Iterable[tuple[object, object]]
    if isinstance(part, dict):
        entries = cast("dict[object, object]", part).items()
    elif isinstance(part, list | tuple):
        entries = enumerate(cast("Sequence[object]", part))
    else:
        return None
    own = id(cast("object", part))
    if own in above:
        where = f"the part at {above[own]}" if above[own] else "the whole schema"
        return (
            f"The schema holds itself: at {pointer} stands {where} again",
            f'Write {{"$ref": {json.dumps("#" + above[own])}}} there.',
        )
    if own in clean:
        return None
    above[own] = pointer
    for step, below in entries:
        name = _first_digits(step) if isinstance(step, int) and _is_too_long(step) else str(step)
        name = name.replace("~", "~0").replace("/", "~1")
        if (fault := _fault_of_data(below, f"{pointer}/{name}", above, clean)) is not None:
            return fault
    del above[own]
    clean.add(own)
    return None


def _is_too_long(number: int) -> bool:
    return abs(number) >= 10**MOST_DIGITS


def _first_digits(number: int) -> str:
    """The first digits of a long number; Python does not write out more than 4,300 digits."""
    left_out = number.bit_length() * 3 // 10 - _SHOWN_DIGITS
    head = str(abs(number) // 10**left_out)[:_SHOWN_DIGITS]
    return f"{'-' if number < 0 else ''}{head}…"


def _check_whole(text: str, value: object) -> None:
    """Refuse a schema that holds half of a surrogate pair, which no JSON text can hold.

    Args:
        value: The schema as Python data, where a half may also come from an escape.

    Raises:
        ConstraintError: The text or the data holds such a half.
    """
    check_whole_characters("The schema", text, error=ConstraintError)
    if "\\ud" not in text.lower():
        return
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            check_encodable(part)
        elif isinstance(part, list):
            waiting.extend(cast("list[object]", part))
        elif isinstance(part, dict):
            members = cast("dict[object, object]", part)
            waiting.extend(members)
            waiting.extend(members.values())
