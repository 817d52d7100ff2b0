"""Structural tags for tests, and random texts for them."""

from __future__ import annotations

import random
from typing import Any

Format = dict[str, Any]
ANY: Format = {"type": "any_text"}


def fixed(text: str) -> Format:
    return {"type": "const_string", "value": text}


def tag(begin: str, end: str | list[str] = "</f>", content: Format | None = None) -> Format:
    return {"type": "tag", "begin": begin, "content": content or fixed("x"), "end": end}


def triggered(triggers: list[str], *tags: Format, **options: Any) -> Format:
    return {"type": "triggered_tags", "triggers": triggers, "tags": list(tags), **options}


def separated(separator: str, *tags: Format, **options: Any) -> Format:
    return {"type": "tags_with_separator", "separator": separator, "tags": list(tags), **options}


def dispatch(*rules: tuple[str, Format], **options: Any) -> Format:
    return {"type": "dispatch", "rules": [list(rule) for rule in rules], **options}


def row(*elements: Format) -> Format:
    return {"type": "sequence", "elements": list(elements)}


FORMATS: list[Format] = [
    triggered(["<f", "<g"], tag("<f1>"), tag("<f2>"), tag("<g>"), excludes=["zz"]),
    triggered(["<f", "<g"], tag("<f1>"), tag("<g>"), at_least_one=True),
    triggered(["<f", "<g"], tag("<f1>"), tag("<g>"), stop_after_first=True),
    triggered(["<f", "<g"], tag("<f1>"), tag("<g>"), at_least_one=True, stop_after_first=True),
    dispatch(("<f", fixed("x")), ("<fu", fixed("y"))),
    dispatch(("ab", fixed("x")), ("b", fixed("y"))),
    dispatch(("xx", fixed("x")), ("xxy", fixed("y"))),
    dispatch(("ab", fixed("x")), ("b", fixed("y")), loop=False, excludes=["q"]),
    tag("<a>", content=ANY),
    tag("<f", ["</a>", "</b>"], {**ANY, "excludes": ["z"]}),
    tag("<f", ["ff", ">"], ANY),
    tag("<f", content=row(ANY, fixed("x"))),
    tag("<f", "/", {"type": "or", "elements": [ANY, fixed("x/y")]}),
    tag("<f", "/", {"type": "star", "content": ANY}),
    tag("<f", "/", tag("x", "y", ANY)),
    tag("<f", "</", triggered(["<f"], tag("<f1>", "x"))),
    row(ANY, fixed("x")),
    row(ANY, tag("<f>")),
    separated(",", tag("<f", "x"), tag("<g", "")),
    separated("", tag("<f", "x"), tag("<g", ""), at_least_one=True),
    separated(",", tag("<f", "x", ANY), stop_after_first=True),
    {"type": "repeat", "min": 2, "max": -1, "content": fixed("x")},
    {"type": "repeat", "min": 0, "max": 2, "content": tag("<", "x", ANY)},
    {"type": "any_text", "max_chars": 5, "excludes": ["xy"]},
    {"type": "plus", "content": {"type": "regex", "pattern": "[xy]f?"}},
    {"type": "optional", "content": fixed("xy")},
    {"type": "grammar", "grammar": 'root ::= "x" root "y" | "f"'},
    {"type": "regex", "pattern": "a|b|x.y"},
]
"""Formats of every type that is about text, over few letters."""

PIECES = [
    "<", "f", "g", "1", ">", "/", "x", "y", "z", "a", "b", "q", ",", "<f1>x</f>", "</f>", "<f",
    "<g", "<g>x</f>", "é", "xx", "xy", "ab", "\n",
]  # fmt: skip


def texts(given: Format, count: int, seed: int = 0) -> list[str]:
    """Random texts, some of which begin and end as a tag does."""
    draws = random.Random(seed)
    made: list[str] = []
    for _ in range(count):
        text = "".join(draws.choice(PIECES) for _ in range(draws.randint(0, 6)))
        if given["type"] == "tag" and draws.random() < 0.4:
            end = given["end"]
            text = given["begin"] + text + (end if isinstance(end, str) else end[0])
        made.append(text)
    return made
