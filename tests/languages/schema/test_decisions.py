"""Random schemas decided beside two validators; a small slice, and as much as one asks for.

``python -m tests.languages.schema.decisions`` decides more, prints its seed, and makes small what
is wrong.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

pytest.importorskip("jsonschema_rs")

import explorer
from explorer.budget import Meter
from tests.languages.schema import decisions
from tests.languages.schema.decisions import Judges, decide, machine_for, reduced, run, schema_of
from tests.languages.schema.random_texts import NoDecision, spelled, value_of

WRONG_ONCE: list[tuple[Any, list[tuple[str, bool]]]] = [
    ({"const": [], "enum": [[1]]}, [("[]", False), ("[1]", False), ("1", False)]),
    ({"const": "ba", "enum": [{}]}, [('"ba"', False), ("{}", False)]),
    ({"const": "ba", "enum": [{}, "ba"]}, [('"ba"', True), ("{}", False)]),
    ({"const": {}, "enum": [2, {}]}, [("{}", True), ("2", False)]),
    ({"not": {"const": [], "enum": [1]}}, [("[]", True), ("1", True)]),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "const": [], "enum": [1]},
     [("1", True), ("[]", False)]),
    ({"not": {"exclusiveMinimum": 0}},
     [("4.5e-0249", False), ("4.5e-249", False), ("-4.5e-0249", True), ("-4.5e-249", True)]),
    ({"oneOf": [True, {"maximum": 1e22}]}, [("3e-0224", False), ("3e-224", False)]),
    ({"exclusiveMinimum": 0}, [("4.5e-0249", True), ("4.5e-00249", True), ("-1e-0249", False)]),
]  # fmt: skip
"""Schemas that the decisions found wrong, with texts and whether they are allowed."""


@pytest.mark.parametrize(("schema", "texts"), WRONG_ONCE, ids=lambda given: json.dumps(given)[:50])
def test_what_was_wrong_once_is_right(schema: Any, texts: list[tuple[str, bool]]) -> None:
    for recursion in ("unroll", "stack"):
        c = explorer.json_schema(schema, recursion=recursion)
        for text, allowed in texts:
            assert c.accepts(text) == allowed, text
            assert c.discover(Meter()) is not None


def test_a_slice_of_random_schemas_is_decided_rightly() -> None:
    tally = run(11, 15_000, talk=False)
    assert tally.wrong == []
    assert tally.decided[True, True] > 4_000
    assert tally.decided[False, False] > 4_000
    assert tally.decisions > 10 * sum(tally.undecided.values())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_many_random_schemas_are_decided_rightly(seed: int) -> None:
    assert run(seed, 100_000, talk=False).wrong == []


def test_the_schemas_speak_of_everything() -> None:
    """Every keyword that takes part in validation comes up, and every applicator in another one."""
    applicators = {
        "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "dependentSchemas",
        "properties", "patternProperties", "additionalProperties", "propertyNames", "items",
        "prefixItems", "contains", "unevaluatedItems", "unevaluatedProperties",
    }  # fmt: skip
    met: set[str] = set()
    nested: set[tuple[str, str]] = set()

    def look(part: Any, inside: str) -> None:
        if isinstance(part, dict):
            for key, below in part.items():
                met.add(key)
                nested.update([(inside, key)] if inside else [])
                look(below, key if key in applicators else inside)
        elif isinstance(part, list):
            for each in part:
                look(each, inside)

    for number in range(4_000):
        look(schema_of(5, number), "")
    assert applicators <= met
    numbers = {"minimum", "exclusiveMaximum", "multipleOf", "minContains", "maxProperties"}
    assert {*numbers, "enum", "const", "uniqueItems", "dependentRequired", "pattern"} <= met
    parents = applicators - {"$ref", "propertyNames"}
    assert {(outer, inner) for outer in parents for inner in ("anyOf", "not", "$ref")} <= nested


def test_a_wrong_machine_is_found_and_made_small() -> None:
    def without_required(schema: Any, way: str) -> Any:
        return machine_for({k: v for k, v in schema.items() if k != "required"}, way)

    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "null"}, "b": {}}}
    wrong = decide(0, schema, 1, make=without_required).wrong
    assert wrong
    assert all(not each.allowed for each in wrong)
    small = reduced(schema, wrong[0].way, wrong[0].text, make=without_required)
    assert small == {"required": ["a"]}


def test_a_machine_that_takes_too_little_is_found() -> None:
    def closed(schema: Any, way: str) -> Any:
        return machine_for({**schema, "additionalProperties": False}, way)

    schema = {"type": "object", "properties": {"a": {"type": "null"}}}
    assert any(each.allowed for each in decide(0, schema, 1, make=closed).wrong)


def test_the_validators_can_differ_and_decide_nothing() -> None:
    judges = Judges({"pattern": r"^\d$"})
    assert judges.allow("1")
    with pytest.raises(NoDecision):
        Judges({"multipleOf": 0.1}).allow(0.3)


def test_every_spelling_of_a_value_is_the_value() -> None:
    draw = random.Random(3)
    for _ in range(500):
        given = decisions.value(draw, 3)
        assert value_of(spelled(draw, given)) == given
