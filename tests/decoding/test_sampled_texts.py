"""Texts written under constraints are words of them: by the embedded model, and at random.

For each kind of constraint: 2,000 texts drawn by the embedded model at a high temperature, batched,
and 2,000 by random walks of the token machine; a few of both in an ordinary run. What a text must
be is said by somebody else: `jsonschema`, pydantic, Python itself, `re`, a YAML reader, the list of
choices.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

import explorer
from explorer import (
    Constraint,
    Sampler,
    choice,
    from_type,
    gen,
    json_schema,
    many,
    template,
    terminals,
)
from explorer.decoding.batches.generate import generate
from explorer.tokens.machine import TokenMachine
from tests.languages.terminals.yaml_reader import is_plain_scalar

BATCH = 50
HOT = Sampler(temperature=1.5)

Check = Callable[[str], bool]


@dataclass(frozen=True)
class Kind:
    """A constraint, and what says of a text whether it is a word.

    Args:
        constraint: The constraint.
        check: Somebody else's answer.
        max_tokens: The most tokens of a text.
    """

    constraint: Constraint
    check: Check
    max_tokens: int = 60


class Character(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=10)]
    house: Literal["Gryffindor", "Slytherin"]
    year: Annotated[int, Field(ge=1, le=7)]
    pets: Annotated[list[Literal["owl", "cat"]], Field(max_length=2)] = []


@dataclass
class Point:
    x: int
    label: Literal["a", "b"] = "a"
    near: tuple[int, ...] = ()


GAME: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8, "pattern": "^[^q]*$"},
        "level": {"type": "integer", "minimum": 1, "maximum": 30},
        "ratio": {"type": "number", "minimum": 0, "maximum": 1.5},
        "items": {"type": "array", "items": {"enum": ["rope", "map", 3, None]}, "maxItems": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}
VALID = jsonschema.Draft202012Validator(GAME)
ANY_ORDER = {
    "oneOf": [
        {"properties": {"call": {"const": "a"}, "n": {"$ref": "#/$defs/n"}}, "required": ["n"]},
        {"properties": {"call": {"const": "b"}}, "maxProperties": 1},
    ],
    "type": "object", "required": ["call"], "additionalProperties": False,
    "properties": {"call": True, "n": True},
    # Without bounds there is 1e999, which Python reads as infinity.
    "$defs": {"n": {"type": "integer", "minimum": -999, "maximum": 999}},
}  # fmt: skip
VALID_ANY_ORDER = jsonschema.Draft202012Validator(ANY_ORDER)


def valid(validator: Any) -> Check:
    return lambda text: validator.is_valid(json.loads(text))


def is_character(text: str) -> bool:
    return isinstance(Character.model_validate_json(text), Character)


def is_point_call(text: str) -> bool:
    """Whether Python makes a point of it; the texts are known to hold names and literals only."""
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    point = eval(text, {"__builtins__": {}}, {"Point": Point}) if names == {"Point"} else None
    return (
        isinstance(point, Point) and type(point.x) is int and point.label in ("a", "b")
        and isinstance(point.near, tuple) and all(type(each) is int for each in point.near)
    )  # fmt: skip


def matches(pattern: str) -> Check:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


QUOTED = "the owl, the cat and the toad"


def in_quoted(text: str) -> bool:
    return bool(text) and text in QUOTED


def is_yaml_pair(text: str) -> bool:
    name, _, rest = text.partition("name: ")
    return name == "" and is_plain_scalar(rest)


COLOURS = ["red", "green", "blue"]


def in_order(text: str) -> bool:
    places = [COLOURS.index(one) for one in text.split(", ") if one in COLOURS]
    return bool(text) and ", ".join(COLOURS[k] for k in places) == text and in_turn(places)


def in_turn(places: list[int]) -> bool:
    return places == sorted(set(places))


KINDS: dict[str, list[Kind]] = {
    "schema": [
        Kind(json_schema(GAME), valid(VALID)),
        Kind(json_schema(GAME, whitespace="flexible"), valid(VALID), 90),
        # Only a table of finite depth says in advance how many tokens a text still needs.
        Kind(json_schema(ANY_ORDER, property_order="any", free_depth=3), valid(VALID_ANY_ORDER)),
    ],
    "type": [Kind(from_type(Character), is_character)],
    "calls": [Kind(from_type(Point, style="python"), is_point_call)],
    "template": [
        Kind(
            template(
                'Name: {name}, "{line}" {pets}.', name=gen(regex="[A-Z][a-z]+"),
                line=gen(stop=['"', "\n"]), pets=many(choice(["owl", "cat"]), 1, separator="+"),
            ),
            matches(r'Name: [A-Z][a-z]+, "[^"\n]*" (owl|cat)(\+(owl|cat))*\.'),
        ),
        Kind(
            template(
                '"{line}" {year}', line=gen(stop='"', max_tokens=3),
                year=gen(type=int, max_tokens=1),
            ),
            matches(r'(?s)"[^"]*" -?[0-9.eE+-]+'),
        ),
    ],
    "choices": [
        Kind(choice(["yes", "no", "maybe not"]), ["yes", "no", "maybe not"].__contains__),
        Kind(
            choice({"F": ["France", "FRANCE"], "P": "Peru"}),
            ["France", "FRANCE", "Peru"].__contains__,
        ),
    ],
    "terminals": [
        Kind(terminals.quoted_text(), matches(r'"(?:[^"\\\n]|\\.)*"')),
        Kind(explorer.regex("name: (?P<UNQUOTED_TEXT>)"), is_yaml_pair),
        Kind(terminals.substring_of(QUOTED), in_quoted),
        Kind(terminals.delimited_list("[0-9]{1,2}", "; "), matches(r"[0-9]{1,2}(; [0-9]{1,2})*")),
        Kind(terminals.delimited_subsequence_of(COLOURS), in_order),
        Kind(terminals.text_until("\n"), matches(r"[^\n]*\n")),
        Kind(
            explorer.regex(r"Summary:(\n\* (?P<PARAGRAPH_TOKEN>)+){1,2}"),
            matches(r"Summary:(\n\* [^\n]+){1,2}"),
        ),
    ],
}  # fmt: skip


def by_the_model(kind: Kind, count: int, seed: int = 0) -> list[str]:
    """Texts that the embedded model writes."""
    lm = explorer.load_model("tiny")
    machine = explorer.compile(kind.constraint, lm.vocabulary, width=4000)
    texts: list[str] = []
    while len(texts) < count:
        rows = range(len(texts), min(len(texts) + BATCH, count))
        made = generate(
            lm, ["Q: What is it?\nA: "] * len(rows), machine, HOT, kind.max_tokens, seed=seed,
            streams=rows,
        )  # fmt: skip
        assert all(one.finished for one in made)
        texts += [one.data.decode() for one in made]
    return texts


def at_random(kind: Kind, count: int, seed: int = 0) -> list[str]:
    """Texts of random walks of the machine over tokens, each led to an end after a while."""
    vocabulary = explorer.load_model("tiny").vocabulary
    machine: TokenMachine = explorer.compile(kind.constraint, vocabulary)
    draw = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        state, data = machine.start, b""
        left = draw.randrange(kind.max_tokens)
        while not (machine.is_final(state) and draw.random() < 0.2):
            options = [
                token for token in machine.allowed(state).nonzero()[0].tolist()
                if vocabulary.tokens[token] is not None
            ]  # fmt: skip
            if not options:
                break
            left -= 1
            token = draw.choice(options) if left > 0 else nearer(machine, state, options)
            following = machine.step(state, token)
            assert following is not None
            state, data = following, data + (vocabulary.tokens[token] or b"")
        texts.append(data.decode())
    return texts


def nearer(machine: TokenMachine, state: int, options: list[int]) -> int:
    """A token after which the end is nearest."""

    def distance(token: int) -> int:
        following = machine.step(state, token)
        assert following is not None
        found = machine.distance_to_end(following)
        assert found is not None
        return found

    firsts = {machine.step(state, token): token for token in reversed(options)}
    return min(firsts.values(), key=distance)


def assert_all_are_words(name: str, count: int) -> None:
    kinds = KINDS[name]
    each = -(-count // len(kinds))
    for kind in kinds:
        for texts in (by_the_model(kind, each), at_random(kind, each)):
            assert len(texts) == each
            for text in texts:
                assert kind.check(text), (str(kind.constraint), text)
                assert kind.constraint.accepts(text)
                kind.constraint.parse(text)
        assert len(set(texts)) > 1


@pytest.mark.parametrize("name", KINDS)
def test_texts_that_are_written_are_words(name: str) -> None:
    assert_all_are_words(name, 12)


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_two_thousand_texts_that_are_written_are_words(name: str) -> None:
    assert_all_are_words(name, 2000)


def test_the_oracles_can_say_no() -> None:
    for kind in (one for kinds in KINDS.values() for one in kinds):
        for wrong in ('{"name":"q"}', "Point(x='a')", "Name: bob", "NO", '"\n"', "- a", "1;2", ""):
            # Pydantic, `json` and Python say so by raising.
            with suppress(ValueError, SyntaxError):
                assert not kind.check(wrong), (str(kind.constraint), wrong)
