"""The constraints that every engine compiles, with texts that are in and out of each language.

They are those of Koo, Liu and He 2024, appendix C.4, word for word: a choice among literals, an ISO
date-time, an IPv4 address, quoted text, and the JSON object of the paper's schema as outlines-core
writes it as a pattern. Only the digits are ``[0-9]`` in every engine, because ``\\d`` is Unicode
in some and ASCII in others. White space beyond the ASCII one is in ``\\s`` for some engines only.
"""

from __future__ import annotations

import re
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
        disputed: Characters that the engines read differently in this pattern.
    """

    name: str
    pattern: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    disputed: frozenset[str] = frozenset()


SPACES: Final = frozenset(
    character
    for character in map(chr, range(0x110000))
    if re.fullmatch(r"\s", character) and character not in " \t\n\r\f\v"
)
"""White space that ``\\s`` holds in some engines and not in others: beyond the ASCII one."""

# One run of the quoted text of the paper: no white space but the plain blank, and two escapes.
_CHARACTER: Final = r'[^\s"\\]|\\["n\\]'

# What `outlines_core.json_schema.build_regex_from_schema` writes for the parts of the schema below.
_STRING: Final = r'"([^"\\\x00-\x1F\x7F-\x9F]|\\["\\/bfnrt])*"'
_INTEGER: Final = "(-)?(0|[1-9][0-9]*)"

SCHEMA: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "class": {"type": "string", "enum": ["Warrior", "Rogue", "Sorceror"]},
        "life": {"type": "integer"},
        "mana": {"type": "integer"},
        "equipment": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "durability": {"type": "integer"},
                    "quality": {"type": "string", "enum": ["Normal", "Magic", "Unique"]},
                },
            },
        },
    },
}
"""The schema of the JSON object, as the paper prints it."""


def one_of(*words: str) -> str:
    """A JSON string that is one of some words."""
    return "(" + "|".join(f'"{word}"' for word in words) + ")"


def optional_members(fields: dict[str, str]) -> str:
    """The pattern of a JSON object in which every member may be left out, in this order.

    As outlines-core writes it: one alternative for each member that may be the last one.
    """
    members = [f'[ ]?"{name}"[ ]?:[ ]?{value}' for name, value in fields.items()]
    endings = (
        "".join(f"({before}[ ]?,)?" for before in members[:k]) + last
        for k, last in enumerate(members)
    )
    return rf"\{{({'|'.join(endings)})?[ ]?\}}"


_ITEM: Final = optional_members(
    {"name": _STRING, "durability": _INTEGER, "quality": one_of("Normal", "Magic", "Unique")}
)

JSON_PATTERN: Final = optional_members(
    {
        "name": _STRING,
        "class": one_of("Warrior", "Rogue", "Sorceror"),
        "life": _INTEGER,
        "mana": _INTEGER,
        "equipment": rf"\[[ ]?(({_ITEM})(,[ ]?({_ITEM})){{0,}})?[ ]?\]",
    }
)

JSON_TEXT: Final = (
    '{"name": "Zoë \\"王\\"", "class": "Rogue", "life": 12, "mana": -3, "equipment": '
    '[{"name": "bow", "durability": 90, "quality": "Magic"}, {"name": "", "quality": "Unique"},'
    " {}] }"
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
        r"((25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)",
        ("0.0.0.0", "255.255.255.255", "192.168.1.10", "01.002.3.4"),
        ("256.0.0.1", "1.2.3", "1.2.3.4.5", "0001.2.3.4", ""),
    ),
    Case(
        "quoted text",
        rf'" *(?:{_CHARACTER})(?: |{_CHARACTER})*"',
        ('"a b"', '"  x"', '"Zoë 王 \U0001f469\u200d\U0001f680"', r'"say \"hi\" \\"'),
        ('""', '" "', '"', 'a"', '"a"b', '"a\tb"', r'"\t"', '"\\"'),
        SPACES,
    ),
    Case(
        "JSON object",
        JSON_PATTERN,
        (JSON_TEXT, "{}", '{ "mana": 0}', '{"equipment": []}'),
        (
            JSON_TEXT.replace("Rogue", "Bard"),
            JSON_TEXT.replace("12", "012"),
            '{"life": 1, "class": "Rogue"}',
            JSON_TEXT[:-1],
            '{"life": 1,}',
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
