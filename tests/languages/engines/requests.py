"""Random requests as servers take them: schemas, JSON objects, patterns, choices and grammars."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from random import Random

import explorer
from explorer.languages.constraint import Constraint
from tests.languages.engines.schemas import whole_schema

_LETTERS = ("a", "b", "ab", "1", "-", " ", '"', "é", r"\n", r"\.", ":", "name")
_SETS = (
    ".", r"\d", r"\w", r"\s", r"\S", r"\W", r"\D", "[a-c]", "[^a]", r"[\d.]", r"[^\s,]", "[0-9]",
    r'[^"\\]', "[é日]", r"[\w-]",
)  # fmt: skip
_OFTEN = ("*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}", "*?", "+?", "??")
_WORDS = (
    "a",
    "ab",
    "abc",
    "name",
    "true",
    "12",
    "1",
    "123",
    "é",
    'x"y',
    "a b",
    "日本",
    "-1",
    ".",
    "a|b",
)
_QUOTED = ('"a"', '"b"', '"ab"', '"1"', r'"\""', '"é"', r'"\n"', '", "', '"name"', '""')
_CLASSES = ("[a-c]", "[0-9]", '[^"]', r"[ \t\n]", "[^ab]", "[é日]")


@dataclass(frozen=True)
class Request:
    """A constraint that a server is asked for: its kind and its text."""

    kind: str
    text: str

    def constraint(self) -> Constraint:
        """The constraint by itself, as no engine reads it."""
        match self.kind:
            case "schema":
                return explorer.json_schema(self.text, whitespace="flexible", strict=False)
            case "regex":
                return explorer.regex(self.text)
            case "choice":
                return explorer.choice(json.loads(self.text))
            case _:
                return explorer.grammar(self.text, self.kind)


def random_request(seed: int, grammars: str = "") -> Request:
    """A random request.

    Args:
        grammars: The notation of the grammars among them; without one there are none.
    """
    chance = Random(seed)
    kind = chance.choices(
        ("schema", "regex", "choice", "object", grammars), (12, 5, 1, 0.2, 4 if grammars else 0)
    )[0]
    match kind:
        case "schema":
            return Request(kind, json.dumps(whole_schema(seed), ensure_ascii=False))
        case "object":
            return Request("schema", '{"type": "object"}')
        case "regex":
            return Request(kind, _anchored(chance, _pattern(chance, 3)))
        case "choice":
            return Request(kind, json.dumps(chance.sample(_WORDS, chance.randint(1, 4))))
        case "gbnf":
            return Request(kind, _gbnf(chance))
        case _:
            return Request(kind, _lark(chance))


def _anchored(chance: Random, pattern: str) -> str:
    return f"^{pattern}$" if chance.random() < 0.15 else pattern


def _pattern(chance: Random, depth: int) -> str:
    way = chance.random()
    if not depth or way < 0.25:
        return chance.choice(_SETS if way < 0.15 else _LETTERS)
    if way < 0.55:
        return "".join(_pattern(chance, depth - 1) for _ in range(chance.randint(2, 3)))
    if way < 0.7:
        several = "|".join(_pattern(chance, depth - 1) for _ in range(chance.randint(2, 3)))
        return f"({chance.choice(('', '?:', '?<n>' if chance.random() < 0.1 else ''))}{several})"
    return f"(?:{_pattern(chance, depth - 1)}){chance.choice(_OFTEN)}"


def _body(chance: Random, names: list[str], depth: int) -> str:
    way = chance.random()
    if not depth or way < 0.4:
        return chance.choice(chance.choice((_QUOTED, _CLASSES, names or _QUOTED)))
    if way < 0.7:
        return " ".join(_body(chance, names, depth - 1) for _ in range(chance.randint(2, 3)))
    if way < 0.85:
        several = (_body(chance, names, depth - 1) for _ in range(chance.randint(2, 3)))
        return f"({' | '.join(several)})"
    often = chance.choice(("*", "+", "?", "{2}", "{1,3}", "{2,}"))
    return f"({_body(chance, names, depth - 1)}){often}"


def _gbnf(chance: Random) -> str:
    names = ["root", "x", "y"][: chance.randint(1, 3)]
    rules = [f"{name} ::= {_body(chance, names[k + 1 :], 3)}" for k, name in enumerate(names)]
    if chance.random() < 0.4:  # A rule that calls itself, after a text.
        rules[-1] += f' | "(" {names[-1]} ")" | "[" {names[0]} "]"'
    return "\n".join(rules)


def _lark(chance: Random) -> str:
    terminals = ["A", "B"][: chance.randint(1, 2)]
    names = ["start", "x"][: chance.randint(1, 2)]
    rules: list[str] = []
    for k, name in enumerate(names):
        body = _body(chance, names[k + 1 :] + terminals, 3)
        for mark in _CLASSES:
            body = body.replace(mark, f"/{mark}/")
        rules.append(f"{name}: {body}")
    if chance.random() < 0.4:
        rules[-1] += f' | "(" {names[-1]} ")"'
    # llguidance does not come back where only one text can follow, without end: what is ignored,
    # or a terminal that repeats.
    bounds = {"*": "{0,2}", "+": "{1,2}", "{2,}": "{2,3}"}
    for name in terminals:
        pattern = re.sub(r"(?<=[)\]}])([*+]|\{2,\})\??", lambda made: bounds[made[1]],
                         _pattern(chance, 2))  # fmt: skip
        rules.append(f"{name}: /{pattern}/")
    return "\n".join(rules)
