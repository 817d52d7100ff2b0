"""Values that a schema does not describe nest to any depth: any JSON, as `json` reads it."""

from __future__ import annotations

import json
import random
from typing import Any, Final

import pytest

import explorer
from explorer.analysis.places.spans import live_places
from explorer.budget import Meter
from explorer.errors import NotRegular
from explorer.tokens.machine import planner_of
from tests.evidence import examples

OPEN: Final[dict[str, Any]] = {
    "anything": True,
    "object": {"type": "object"},
    "array": {"type": "array"},
    "beside a property": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "no list at its end": {"type": "array", "prefixItems": [{"type": "string"}]},
    "no object": {"not": {"type": "object"}},
    "one of two": {"anyOf": [{"type": "integer"}, {"required": ["a"]}]},
}
BYTES: Final = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


def value(draw: random.Random, depth: int) -> Any:
    """A random value that nests to a depth."""
    if depth == 0:
        return draw.choice([None, True, -3, 0.5, "", 'a"\\\n', "é😀", {}, []])
    inner = [value(draw, draw.randrange(depth)) for _ in range(draw.randrange(3))]
    inner.insert(draw.randrange(len(inner) + 1), value(draw, depth - 1))
    names = draw.sample(["a", "b", "", "é", 'q"', "longer name"], len(inner))
    return inner if draw.random() < 0.5 else dict(zip(names, inner, strict=True))


def changed(draw: random.Random, text: str) -> str:
    """A text with a character left out, put in or replaced."""
    at = draw.randrange(len(text))
    return text[:at] + draw.choice(["", *'[]{},:"0\\ae']) + text[at + draw.randrange(2) :]


def read(text: str) -> Any:
    """The value of a compact JSON text of whole characters; ``...`` if it is not one."""

    def refused(_: str) -> None:
        raise ValueError

    try:
        found = json.loads(text, parse_constant=refused)
        json.dumps(found, ensure_ascii=False).encode()
    except ValueError:
        return ...
    return found if "".join(_outside(text).split()) == _outside(text) else ...


def _outside(text: str) -> str:
    """What is outside of the strings of a JSON text."""
    outside, inside, at = "", False, 0
    while at < len(text):
        if text[at] == '"':
            inside = not inside
        elif not inside:
            outside += text[at]
        at += 1 + (inside and text[at] == "\\")
    return outside


def is_valid(name: str, given: Any) -> bool:
    """Whether a value is valid, said without a validator: none reads ``...``."""
    if given is ...:
        return False
    match name:
        case "object":
            return isinstance(given, dict)
        case "array":
            return isinstance(given, list)
        case "beside a property":
            a: Any = given.get("a", 0) if isinstance(given, dict) else None
            whole = isinstance(a, int) or (isinstance(a, float) and a.is_integer())
            return isinstance(given, dict) and whole and not isinstance(a, bool)
        case "no list at its end":
            return isinstance(given, list) and (not given or isinstance(given[0], str))
        case "no object":
            return not isinstance(given, dict)
        case "one of two":
            return not isinstance(given, dict) or "a" in given
        case _:
            return True


@pytest.mark.parametrize("options", [{}, {"property_order": "any"}, {"recursion": "stack"}])
@pytest.mark.parametrize("name", OPEN)
def test_values_of_any_depth_are_judged_as_by_json(name: str, options: dict[str, Any]) -> None:
    draw = random.Random(8)
    constraint = explorer.json_schema(OPEN[name], escapes="any", **options)
    taken = 0
    for _ in range(examples(60)):
        given = value(draw, draw.randint(4, 8))
        text = json.dumps(given, separators=(",", ":"), ensure_ascii=draw.random() < 0.5)
        for each in (text, changed(draw, text), changed(draw, changed(draw, text))):
            accepted, expected = constraint.accepts(each), is_valid(name, read(each))
            if "property_order" in options or '"a"' not in each:
                assert accepted == expected, each
            else:  # In the order of the schema "a" comes first.
                assert not accepted or expected, each
            taken += accepted
    assert taken


@pytest.mark.parametrize("space", ["pretty", "dumps", "flexible"])
def test_white_space_is_that_of_each_depth(space: Any) -> None:
    draw = random.Random(9)
    constraint = explorer.json_schema(True, whitespace=space)
    layout: dict[str, Any] = {"indent": 2} if space == "pretty" else {}
    for _ in range(20):
        text = json.dumps(value(draw, 7), **layout)
        assert constraint.accepts(text)
        assert not constraint.accepts(text.replace("[", "[ \t", 1)) or space == "flexible"


def test_a_depth_gives_a_table_of_the_same_texts() -> None:
    bounded = explorer.json_schema({"type": "object"}, free_depth=2)
    closed, late = bounded.dfa, explorer.json_schema({"type": "object"}).discover(Meter())
    assert explorer.compile(bounded, BYTES, lazy=False).num_states >= closed.num_states
    for text in ('{"a":[{}]}', '{"a":[[[]]]}', '{"a":[[[1]]]}', '{"a":{"b":{"c":{"d":{}}}}}'):
        here = late.start
        for byte in text.encode():
            here = late.step(here, byte)
        assert late.is_accepting(here)
        assert closed.accepts(text.encode()) == (text in ('{"a":[{}]}', '{"a":[[[]]]}'))


def test_without_a_depth_a_table_is_refused_with_the_remedy() -> None:
    constraint = explorer.json_schema({"properties": {"a": {}}})
    with pytest.raises(NotRegular, match="free_depth=3"):
        explorer.compile(constraint, BYTES, lazy=False)
    assert "any depth" in explorer.compile(constraint, BYTES).report.reason


@pytest.mark.parametrize("name", ["anything", "object", "beside a property"])
def test_a_token_budget_is_kept_as_by_a_table(name: str) -> None:
    """No text of at most seven tokens of one byte nests as deep as the table ends."""
    endless = explorer.compile(explorer.json_schema(OPEN[name]), BYTES)
    table = explorer.compile(explorer.json_schema(OPEN[name], free_depth=4), BYTES, lazy=False)
    plans = planner_of(endless)
    assert plans is not None
    states = [(endless.start, table.start)]
    for byte in b'{"b":[{}' if name != "anything" else b'[{"b":[1':
        here, there = states[-1]
        assert endless.distance_to_end(here) == table.distance_to_end(there)
        for left in range(1, 8):
            within = plans.mask_within(here, left), table.mask_within(there, left)
            assert (within[0] == within[1]).all()
        after = endless.step(here, byte), table.step(there, byte)
        assert after[0] is not None and after[1] is not None
        states.append((after[0], after[1]))


def test_a_vocabulary_without_all_bytes_finishes_what_it_begins() -> None:
    """No token closes an array, so none is opened; a stack knows that without a search."""
    words = [b'{"', b'":', b"{", b"}", b"a", b"[", b"[[", b"0", b",", b'"']
    vocabulary = explorer.Vocabulary.from_bytes(words, eos_ids=[len(words)])
    machine = explorer.compile(explorer.json_schema({"type": "object"}), vocabulary)
    state, before = machine.start, 0
    for token in [0, 4, 1] * 6 + [7] + [3] * 6 + [len(words)]:
        allowed = machine.allowed(state)
        assert allowed[token]
        assert before != 1 or not (allowed[5] or allowed[6])
        before = token
        after = machine.step(state, token)
        assert after is not None
        state = after
    assert state == explorer.DONE


@pytest.mark.parametrize("options", [{}, {"recursion": "stack"}, {"free_depth": 3}], ids=str)
@pytest.mark.parametrize("name", ["anything", "object", "array", "beside a property"])
def test_what_is_open_after_a_text_has_its_place_in_the_schema(name: str, options: Any) -> None:
    constraint = explorer.json_schema(OPEN[name], **options)
    places = live_places(constraint.source, b"[" if name == "array" else b"{")
    assert places and all(place.text for place in places)
