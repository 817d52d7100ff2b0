"""Machines against two validators that are not ours: instances, mutated and sampled ones.

``jsonschema`` and ``jsonschema-rs`` say which values a schema allows. Both are asked about values
that Hypothesis makes, values of the machine that were changed a little, and values that the machine
writes: at random, and with the embedded model. (``hypothesis-jsonschema`` would make values from
schemas; its last release does not run with the Hypothesis that is pinned.)
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import explorer
from explorer.automata.machine import Dfa
from explorer.automata.words import words
from tests.evidence import LONG, few
from tests.languages.sampling import sampled
from tests.languages.schema.corpora import depth
from tests.languages.schema.test_against_jsonschema import INSTANCES, SCHEMAS

jsonschema_rs = pytest.importorskip("jsonschema_rs")

TEXTS: Final = 2_000 if LONG else 20
BATCH: Final = 50


@cache
def validators(name: str) -> list[Any]:
    schema = SCHEMAS[name]
    return [Draft202012Validator(schema), jsonschema_rs.Draft202012Validator(schema)]


@cache
def machine_of(name: str, order: Any = "any") -> Dfa:
    return explorer.json_schema(
        SCHEMAS[name],
        whitespace="flexible",
        property_order=order,
        max_depth=4,
        free_depth=4,
    ).dfa


def mutated(value: Any, random_: random.Random) -> Any:
    """A value with one part changed, left out or put in."""
    value = copy.deepcopy(value)
    inside = list(_containers(value))
    if not inside:
        return random_.choice([None, True, 0, 1.5, -1, "", "a", [value], {"a": value}])
    at = random_.choice(inside)
    if isinstance(at, list):
        at.insert(random_.randint(0, len(at)), random_.choice([None, 2, "a", {}]))
    elif at and random_.random() < 0.5:
        at.pop(random_.choice(list(at)))
    else:
        at[random_.choice("abcx")] = random_.choice([None, 1, "a", []])
    return value


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from _containers(each)


@pytest.mark.parametrize("name", few(SCHEMAS, 10))
@given(
    st.one_of(INSTANCES.filter(lambda value: depth(value) <= 3), st.integers(0, 10**6)),
    st.randoms(use_true_random=False),
)
def test_values_and_mutated_ones_are_judged_alike(
    name: str, value: Any, random_: random.Random
) -> None:
    machine = machine_of(name)
    if isinstance(value, int) and value > 5:  # A seed: a value that the machine writes.
        value = json.loads(next(sampled(machine, 1, seed=value)))
    for each in (value, mutated(value, random_)):
        says = [judge.is_valid(each) for judge in validators(name)]
        assert says[0] == says[1], each
        text = json.dumps(each, ensure_ascii=False)
        if "e+" not in text and depth(each) <= 3:
            assert machine.accepts(text.encode()) == says[0], each


def is_exact(text: str) -> bool:
    """Whether Python reads every number of a text as what it is, without rounding."""
    rounded: list[bool] = []

    def read(word: str) -> float:
        rounded.append(Decimal(word) != Decimal(repr(float(word))))
        return float(word)

    json.loads(text, parse_float=read)
    return not any(rounded)


def check_sampled(name: str, count: int) -> None:
    judges = validators(name)
    for order in ("schema", "any"):
        for text in sampled(machine_of(name, order), count, seed=7):
            if not is_exact(text):
                continue
            value = json.loads(text)
            for judge in judges:
                assert judge.is_valid(value), text


@pytest.mark.parametrize("name", SCHEMAS)
def test_texts_drawn_from_the_machine_are_valid(name: str) -> None:
    check_sampled(name, TEXTS)


def check_written(name: str, count: int) -> None:
    """Texts that the embedded model writes under the schema, in batches."""
    model = explorer.load_model("tiny")
    constraint = explorer.json_schema(SCHEMAS[name], free_depth=1, max_depth=2)
    judged = 0
    for seed in range(0, count, BATCH):
        prompts = ["JSON: "] * min(BATCH, count - seed)
        sampler = explorer.Sampler(temperature=1.0)
        for row in explorer.generate(model, prompts, constraint, sampler, 24, seed=seed):
            if not is_exact(row.text):
                continue
            judged += 1
            for judge in validators(name):
                assert judge.is_valid(json.loads(row.text)), row.text
    assert judged > count // 2


@pytest.mark.parametrize("name", few(list(SCHEMAS), 2))
def test_what_the_model_writes_is_valid(name: str) -> None:
    check_written(name, TEXTS if LONG else 2)


def test_each_oracle_can_fail() -> None:
    """A machine without ``required`` writes what neither validator takes."""
    schema = SCHEMAS["closed object"]
    weaker = explorer.json_schema({**schema, "required": []}).dfa
    values = [json.loads(word) for word, _ in zip(words(weaker), range(20), strict=False)]
    for judge in validators("closed object"):
        assert not all(judge.is_valid(value) for value in values)
    machine = machine_of("closed object")
    assert any(
        not machine.accepts(json.dumps(mutated({"a": 1}, random.Random(seed))).encode())
        for seed in range(20)
    )
