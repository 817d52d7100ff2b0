"""The constraints of the walks of `benchmarks.visits`: wide regexes, templates and schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.languages.schema.corpora import real

FEWEST_FIELDS: Final = 14
MOST_FIELDS: Final = 95
EVERY: Final = 6
"""Every so many of the real schemas of that size are walked."""

PATTERNS: Final = {
    "log line": r"\[(INFO|WARN)\] [^\n]*\n",
    "log lines": r"(\d{4}-\d\d-\d\d \w+: [^\n]*\n)+",
    "Markdown list": r"(?:- [^\n]+\n|[0-9]+\. [^\n]+\n)+",
    "Markdown": r"(?:#{1,3} [^\n]+\n|- [^\n]+\n|[^\n#-][^\n]*\n|\n)+",
    "free text, answer": r"[\s\S]*Answer: (yes|no)",
    "lines, answer": r"(?:[^\n]+\n)*Answer: [0-9]+",
    "mail address": r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,6}",
    "words": r"\w+(?: \w+)*",
    "ASCII words": r"[A-Za-z]+(?: [A-Za-z]+)*[.!?]",
    "sentence": r"[A-Z][^.!?\n]*[.!?]",
    "any text": r"(?s:.*)",
    "any line": r".*",
    "at most 20": r".{0,20}",
    "10 to 100": r".{10,100}",
    "up to 400 words": r"(?:\w+ ){1,400}",
    "short fields": r"name: [^\n]{1,12}\ncity: [^\n]{1,8}\nnote: [^\n]{0,60}\n",
    "quoted, at most 30": r'"[^"\\\x00-\x1f]{0,30}"',
    "alternatives": r"(?:[a-z ]+|[0-9 ]+|[A-Za-z0-9 ]{1,40}|\"[^\"]*\")+",
    "no vowels": r"[^aeiou\n]+(?:\n|$)",
    "CSV": r'(?:[^",\n]*|"(?:[^"]|"")*")(?:,(?:[^",\n]*|"(?:[^"]|"")*"))*\n',
    "XML": r"<note>(?:[^<&]|&amp;|&lt;)*</note>",
    "template": r"Dear [A-Z][a-z]+,\n\n(?:[^\n]+\n){1,5}\nYours, \w{1,20}",
    "C comment": r"/\*(?:[^*]|\*+[^*/])*\*+/",
    "Cyrillic": r"[а-яё]+(?: [а-яё]+)*\.",
    "URL": r"https?://[^\s/]+(?:/[^\s?#]*)?(?:\?[^\s#]*)?",
}  # fmt: skip
"""Patterns that Python's `re`, llguidance and xgrammar read alike."""


def _named(count: int, value: Any, required: bool) -> dict[str, Any]:
    names = [f"field_{k}" for k in range(count)]
    return {
        "type": "object", "properties": {name: value for name in names},
        "required": names if required else [], "additionalProperties": False,
    }  # fmt: skip


_USER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string", "maxLength": 40},
        "mail": {"type": "string", "pattern": r"^[a-z0-9.]+@[a-z0-9]+\.[a-z]{2,4}$"},
        "role": {"enum": ["admin", "editor", "reader"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "zip": {"type": "string", "minLength": 4,
                           "maxLength": 8}},
            "required": ["street", "zip"], "additionalProperties": False,
        },
    },
    "required": ["id", "name", "mail", "role", "tags", "address"],
    "additionalProperties": False,
}  # fmt: skip


def _tagged(kinds: int, key: str) -> dict[str, Any]:
    return {
        key: [
            {
                "type": "object",
                "properties": {
                    "kind": {"const": f"kind_{k}"}, "title": {"type": "string"},
                    f"value_{k}": {"type": "number"},
                },
                "required": ["kind", "title", f"value_{k}"],
                "additionalProperties": False,
            }
            for k in range(kinds)
        ]
    }  # fmt: skip


SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "30 strings": _named(30, {"type": "string"}, True),
    "95 short strings": _named(95, {"type": "string", "maxLength": 20}, True),
    "40 optional strings": _named(40, {"type": "string", "minLength": 1, "maxLength": 64}, False),
    "20 fields of many kinds": _named(
        20, {"anyOf": [{"type": "string", "maxLength": 10}, {"type": "number"}, {"type": "null"}]},
        True,
    ),
    "a user": _USER,
    "at most 10 users": {"type": "array", "items": _USER, "maxItems": 10},
    "nested": _named(5, _named(5, {"type": "string", "maxLength": 16}, True), True),
    "oneOf with a tag": _tagged(6, "oneOf"),
    "anyOf with a tag": _tagged(6, "anyOf"),
    "events, oneOf with a tag": {"type": "array", "items": _tagged(4, "oneOf"), "maxItems": 8},
}  # fmt: skip


def _fields(schema: Any) -> int:
    """The number of properties that a schema names altogether."""
    if isinstance(schema, list):
        return sum(map(_fields, schema))
    if not isinstance(schema, dict):
        return 0
    named = schema.get("properties")
    return sum(map(_fields, schema.values())) + (len(named) if isinstance(named, dict) else 0)


def schemas() -> Iterator[tuple[str, str]]:
    """The schemas above, then real ones of 14 to 95 fields: a name, and the JSON."""
    for name, schema in SCHEMAS.items():
        yield name, json.dumps(schema)
    sizes = [(group.name, group.schema) for group in real()]
    fitting = [each for each in sizes if FEWEST_FIELDS <= _fields(each[1]) <= MOST_FIELDS]
    for name, schema in fitting[::EVERY]:
        yield name, json.dumps(schema)
