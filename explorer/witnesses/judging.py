"""Independent judges of whole texts: Python's ``re``, ``jsonschema``, Lark's own parser, and a
recognizer of GBNF that shares no code with the engine.

A judge says whether a text is in a language, and nothing about tokens. So a difference in a mask is
put to it as a whole text: one that begins with the prefix and the token.
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
from explorer.witnesses.gbnf_recognizer import GbnfRecognizer
from explorer.witnesses.messages import Statement

LONGEST: Final = 200
"""Characters of a text that a judge is given; Python's ``re`` may take exponential time."""

FORMATS_CHECKED: Final = frozenset({"date", "ipv4", "ipv6", "uuid", "regex", "date-time"})
"""The formats that ``jsonschema`` checks whole, if what it needs for them is installed; it looks
only for an ``@`` in an email."""


_LEAP_SECOND: Final = re.compile(r"(?i):60(\.[0-9]+)?(Z|[+-])")


@dataclass(frozen=True)
class Judge:
    """A judge.

    Args:
        name: As a report names it.
        says: Whether a text is in the language; ``None`` where it cannot know.
    """

    name: str
    says: Callable[[str], bool | None]

    def verdict(self, text: bytes) -> bool | None:
        """Whether a text is in the language; ``None`` where the judge cannot say.

        Args:
            text: The bytes of the text.
        """
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return False
        if len(decoded) > LONGEST:
            return None
        try:
            return self.says(decoded)
        except Exception:  # A judge is a library; what it cannot do is not a verdict.
            return None


def _of_regex(statement: Statement) -> Judge:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `[[` may mean another thing one day.
        pattern = re.compile(statement.text)
    return Judge("re.fullmatch", lambda text: pattern.fullmatch(text) is not None)


def _of_schema(statement: Statement) -> Judge:
    from jsonschema import Draft202012Validator, FormatChecker

    schema: Any = read_schema(statement.text)
    known: Any = Draft202012Validator.FORMAT_CHECKER
    checked = FORMATS_CHECKED & set(known.checkers)
    # Of the other formats it checks some in part, so what it says of them is not asked for.
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
                # It refuses every leap second, which RFC 3339 has.
                return None if "date-time" in formats and _LEAP_SECOND.search(text) else False
        return None if unread else True  # It cannot know whether the format would be refused.

    if not unread:
        return Judge("jsonschema", says)
    return Judge(f"jsonschema (which does not check the format {', '.join(unread)})", says)


def _number(text: str) -> int | Decimal:
    """A number with a fraction or an exponent, exactly; `jsonschema` takes 1.0 for whole as 1."""
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


def _of_gbnf(statement: Statement) -> Judge:
    return Judge("a recognizer of GBNF", GbnfRecognizer(statement.text).accepts)


JUDGES: Final[dict[str, Callable[[Statement], Judge]]] = {
    "regex": _of_regex,
    "json_schema": _of_schema,
    "lark": _of_lark,
    "gbnf": _of_gbnf,
}
"""The judge of each kind of constraint."""


def judge_of(statement: Statement) -> Judge | None:
    """The judge of a constraint; ``None`` where it cannot read it or is not installed.

    Args:
        statement: The constraint.
    """
    try:
        return JUDGES[statement.kind](statement)
    except Exception:  # Whatever a library raises for a constraint that it does not read.
        return None
