"""Independent judges of whole texts: Python's ``re``, ``jsonschema`` and Lark's own parser.

A judge says whether a text is in a language; it knows nothing of tokens. To judge a difference in a
mask it is given a complete text that begins with the prefix and the token.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Final, cast

from explorer.languages.schema.reading.text import EXACT, MOST_DIGITS, read_schema
from explorer.witnesses.messages import Statement

LONGEST: Final = 200
"""The most characters of a text for a judge; Python's ``re`` may take exponential time."""

FORMATS_CHECKED: Final = frozenset({"date", "ipv4", "ipv6", "uuid", "regex", "date-time"})
"""The formats that ``jsonschema`` checks fully, if the libraries it needs for them are installed.

An email, for example, is not among them: it only looks for an ``@``.
"""


_LEAP_SECOND: Final = re.compile(r"(?i):60(\.[0-9]+)?(Z|[+-])")


@dataclass(frozen=True)
class Judge:
    """An independent parser that decides whether a text is in the language of a constraint.

    Args:
        says: Whether a text is in the language; ``None`` if it cannot know.
    """

    name: str
    says: Callable[[str], bool | None]

    def verdict(self, text: bytes) -> bool | None:
        """Whether a text is in the language; ``None`` if the judge cannot say."""
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return False
        if len(decoded) > LONGEST:
            return None
        try:
            return self.says(decoded)
        except Exception:  # A failure of the judge's library is not a verdict.
            return None


def _of_regex(statement: Statement) -> Judge:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # For `[[`, which may change its meaning.
        pattern = re.compile(statement.text)
    return Judge("re.fullmatch", lambda text: pattern.fullmatch(text) is not None)


def _of_schema(statement: Statement) -> Judge:
    from jsonschema import Draft202012Validator, FormatChecker

    schema: Any = read_schema(statement.text)
    known: Any = Draft202012Validator.FORMAT_CHECKER
    checked = FORMATS_CHECKED & set(known.checkers)
    # It checks some other formats only partly, so it is not asked about those.
    validator: Any = Draft202012Validator(schema, format_checker=FormatChecker(sorted(checked)))
    formats = {part["format"] for part in _parts_of(schema) if isinstance(part.get("format"), str)}
    unread = sorted(formats - checked)

    def says(text: str) -> bool | None:
        try:
            value: object = json.loads(text, parse_constant=_no_constant, parse_float=_number)
        except ValueError:
            return False
        with localcontext(EXACT):
            if not validator.is_valid(value):
                # It refuses every leap second, which RFC 3339 allows.
                return None if "date-time" in formats and _LEAP_SECOND.search(text) else False
        return None if unread else True  # An unchecked format might refuse it.

    if not unread:
        return Judge("jsonschema", says)
    return Judge(f"jsonschema (which does not check the format {', '.join(unread)})", says)


def _number(text: str) -> int | Decimal:
    """The exact value of a number with a fraction or an exponent, an int if it is whole."""
    value = Decimal(text)
    is_whole = value.adjusted() < MOST_DIGITS and value == value.to_integral_value(context=EXACT)
    return int(value) if is_whole else value


def _parts_of(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield cast("dict[str, Any]", value)
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _parts_of(each)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _of_lark(statement: Statement) -> Judge:
    from lark import Lark
    from lark.exceptions import LarkError

    parser: Any = Lark(statement.text, parser="earley", lexer="basic")

    def says(text: str) -> bool:
        try:
            parser.parse(text)
        except LarkError:
            return False
        return True

    return Judge("Lark (Earley, basic lexer)", says)


JUDGES: Final[dict[str, Callable[[Statement], Judge]]] = {
    "regex": _of_regex,
    "json_schema": _of_schema,
    "lark": _of_lark,
}
"""The judge of each kind of constraint; GBNF has none."""


def judge_of(statement: Statement) -> Judge | None:
    """The judge of a constraint; ``None`` if none reads it, or its library is missing."""
    if statement.kind not in JUDGES:
        return None
    try:
        return JUDGES[statement.kind](statement)
    except Exception:  # A library may raise anything for a constraint that it cannot read.
        return None
