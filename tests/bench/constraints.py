"""The constraints that every engine compiles, with texts that are in and out of each language.

The five kinds are those of Koo, Liu and He 2024, appendix C.4: a choice among literals, an ISO
date-time, an IPv4 address, quoted text, a JSON object. The patterns are our own of each kind, kept
inside the syntax that all four engines read alike: digits are ``[0-9]``, because ``\\d`` is Unicode
in some and ASCII in others, and there are no lookarounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Case:
    """A pattern, and texts that pin its language down.

    Args:
        name: What a table calls it.
        pattern: The regular expression, the same string for every engine.
        accepted: Texts of the language.
        rejected: Texts outside of it, each close to one inside.
    """

    name: str
    pattern: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]


SPACE: Final = "[ ]?"
STRING: Final = r'"([^"\\\x00-\x1F\x7F-\x9F]|\\["\\])*"'
INTEGER: Final = "(-)?(0|[1-9][0-9]*)"
NUMBER: Final = rf"({INTEGER})(\.[0-9]+)?([eE][+-][0-9]+)?"
DATE: Final = r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
TIME: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})"
BYTE: Final = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"


def one_of(*words: str) -> str:
    """A JSON string that is one of some words."""
    return "(" + "|".join(f'"{word}"' for word in words) + ")"


def json_object(fields: dict[str, str]) -> str:
    """The pattern of a JSON object whose fields stand in this order, with optional blanks."""
    members = (f'"{name}"{SPACE}:{SPACE}{value}' for name, value in fields.items())
    return rf"\{{{SPACE}" + f"{SPACE},{SPACE}".join(members) + rf"{SPACE}\}}"


# An order with three free strings (an unbounded language over all of Unicode each), nested objects,
# an array, enumerations, numbers and date-times: about 1,600 characters of pattern.
ORDER: Final = {
    "id": INTEGER,
    "customer": STRING,
    "state": one_of("draft", "placed", "paid", "packed", "shipped", "delivered", "returned"),
    "placed": f'"{DATE}T{TIME}"',
    "express": "(true|false)",
    "ship_to": json_object(
        {
            "street": STRING,
            "postcode": '"[0-9]{5}(-[0-9]{4})?"',
            "country": one_of("AT", "CH", "DE", "DK", "FR", "GB", "IE", "JP", "NL", "US"),
        }
    ),
    "host": rf'"({BYTE}\.){{3}}{BYTE}"',
    "weight": NUMBER,
    "price": NUMBER,
    "currency": one_of("CHF", "EUR", "GBP", "JPY", "USD"),
    "quantities": rf"\[{SPACE}({INTEGER}({SPACE},{SPACE}{INTEGER}){{0,3}})?{SPACE}\]",
    "note": f"({STRING}|null)",
    "rating": "([1-5]|null)",
}

ORDER_TEXT: Final = (
    '{"id": 7, "customer": "Zoë 王", "state": "paid", "placed": "2024-02-29T23:59:59Z", '
    '"express": true, "ship_to": {"street": "Rue \\"X\\" 1", "postcode": "12345-6789", '
    '"country": "FR"}, "host": "10.0.255.1", "weight": -0.25e-3, "price": 19, '
    '"currency": "EUR", "quantities": [1, 2,3], "note": null, "rating": 5}'
)

CASES: Final = (
    Case(
        "choices",
        "Red|Orange|Yellow|Green|Blue|Indigo|Violet",
        ("Red", "Violet", "Indigo"),
        ("", "red", "Re", "RedOrange", "Blue "),
    ),
    Case(
        "ISO date-time",
        "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]([+-][0-2][0-9]:[0-5][0-9]|Z)",
        ("2024-02-29T12:34:56Z", "1999-12-31T23:59:59+01:00"),
        ("2024-02-29", "2024-02-29 12:34:56Z", "2024-22-29T12:34:56Z", "2024-02-29T12:34:56"),
    ),
    Case(
        "IPv4",
        rf"({BYTE}\.){{3}}{BYTE}",
        ("0.0.0.0", "255.255.255.255", "192.168.1.10"),
        ("256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", ""),
    ),
    Case(
        "quoted text",
        STRING,
        ('""', '"a b"', '"Zoë 王 \U0001f469\u200d\U0001f680"', r'"say \"hi\" \\"'),
        ('"', 'a"', '"a"b', '"\n"', r'"\n"', '"\\"'),
    ),
    Case(
        "JSON object",
        json_object(ORDER),
        (ORDER_TEXT, ORDER_TEXT.replace("null", '"né"')),
        (
            ORDER_TEXT.replace("EUR", "XXX"),
            ORDER_TEXT.replace('"rating": 5', '"rating": 6'),
            ORDER_TEXT.replace("10.0.255.1", "10.0.256.1"),
            ORDER_TEXT[:-1],
            ORDER_TEXT.replace("true", "True"),
        ),
    ),
)
"""The five constraints, in the order of every table."""

UNICODE_CASES: Final = (
    Case(
        r"Unicode \d",
        r"\d{4}-\d{2}-\d{2}",
        ("2024-02-29", "٢٠٢٤-٠٢-٢٩"),
        ("2024-2-29", "½024-02-29"),
    ),
    Case(r"Unicode \w", r"\w+( \w+)*", ("naïve 王", "a b"), ("", "a  b", "a-b")),
)
"""Rows of their own: Unicode classes as Python's `re` has them; not comparable between engines,
because each follows its own edition of Unicode and its own definition of a word character."""
