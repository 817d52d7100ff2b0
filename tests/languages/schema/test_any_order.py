"""Objects whose members come in any order, where a set of members takes states when it is met."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import explorer
from explorer.automata.discovered.discover import Sets
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.words import accepts
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.schema.values.containers import MOST_AT_ONCE
from tests.evidence import LONG, examples
from tests.languages.schema.test_waiting import SCHEMAS, beside

MANY = {f"m{k}": {"const": k} for k in range(MOST_AT_ONCE)}
"""Members that are so many, with another one, that their sets are not drawn at once."""

LARGE = Budget(states=300_000, seconds=30)
"""Room for the closed form of most of them."""


@pytest.mark.long
@given(SCHEMAS, st.sampled_from(["compact", "flexible"]))
@settings(
    max_examples=examples(3),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_what_follows_a_set_of_members_is_what_is_drawn_at_once(
    schema: dict[str, Any], whitespace: str
) -> None:
    around = {"type": "object", "properties": MANY | {"a": schema}, "$defs": schema["$defs"]}
    if schema.get("type") == "object":
        around = {**schema, "properties": MANY | schema["properties"]}
    found = beside(around, budget=LARGE, whitespace=whitespace, property_order="any")
    assert found == []


def required(count: int, **keywords: Any) -> dict[str, Any]:
    names = [f"member {k}" for k in range(count)]
    return {
        "type": "object", "required": names[: count // 2 + 1], "additionalProperties": False,
        "properties": {name: {"type": "integer", "minimum": 0} for name in names}, **keywords,
    }  # fmt: skip


COUNTED: dict[str, dict[str, Any]] = {
    "16 members": required(16),
    "at most 11": required(16, maxProperties=11),
    "at least 10": required(16, minProperties=10),
    "others too": required(14, additionalProperties={"type": ["null", "string"]}, maxProperties=10),
    "names by a pattern": required(
        14, patternProperties={"^x": {"type": "string"}, "^y": True}, minProperties=9
    ),
    "never enough": required(20, maxProperties=5),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_shuffled_objects_are_judged_as_by_another_library(name: str) -> None:
    schema = COUNTED[name]
    machine = explorer.json_schema(
        schema, property_order="any", whitespace="flexible"
    ).discover(Meter())  # fmt: skip
    valid = Draft202012Validator(schema)
    drawn = random.Random(name)
    judged: set[bool] = set()
    others = [each for each in schema["properties"] if each not in schema["required"]]
    for _ in range(20):
        names = [*schema["required"], *drawn.sample(others, drawn.choice([0, 1, 2, 5]))]
        names += (
            drawn.choice([[], ["x"], ["y", "x2"]])
            if "patternProperties" in schema or schema["additionalProperties"]
            else []
        )
        if drawn.random() < 0.2:
            names.pop(drawn.randrange(len(names)))
        drawn.shuffle(names)
        instance = {
            each: {"x": "a", "y": None}.get(each[0], drawn.randint(0, 20)) for each in names
        }
        if drawn.random() < 0.2:
            instance[drawn.choice(names)] = -1
        text = json.dumps(instance)
        judged.add(valid.is_valid(instance))
        assert accepts(machine, text.encode()) == valid.is_valid(instance), text
    assert judged == ({False} if name == "never enough" else {True, False})


def test_a_member_that_came_does_not_come_again() -> None:
    machine = explorer.json_schema(required(30), property_order="any").discover(Meter())
    state = machine.start
    for byte in b'{"member 7":1,"member 2':
        state = machine.step(state, byte)
    assert machine.expected(state) == b'"0123456789'
    for byte in b'":4,"member ':
        state = machine.step(state, byte)
    assert machine.expected(state) == b"012345689"


def test_a_set_takes_states_when_a_text_comes_to_it() -> None:
    machine = explorer.json_schema(required(50), property_order="any").discover(Meter())
    assert isinstance(machine, Discovered) and isinstance(machine.kind, Sets)
    assert machine.num_states < 50
    text = "{" + ",".join(f'"member {k}":{k}' for k in range(49, 9, -1))
    state = machine.start
    for byte in text.encode():
        state = machine.step(state, byte)
    copy: Discovered = pickle.loads(pickle.dumps(machine))
    for byte in ("".join(f',"member {k}":1' for k in range(10)) + "}").encode():
        assert copy.expected(state) == machine.expected(state)
        state = machine.step(state, byte)
    assert machine.is_accepting(state)


def test_a_table_says_that_it_would_need_all_sets() -> None:
    constraint = explorer.json_schema(required(30), property_order="any")
    with pytest.raises(BudgetExceeded, match="which of 16 members"):
        constraint.build(Meter())
    vocabulary = explorer.Vocabulary.from_bytes(
        [*(bytes([k]) for k in range(256)), b"<end>"], eos_ids=[256]
    )
    machine = explorer.compile(constraint, vocabulary)
    assert machine.allowed(machine.start).nonzero()[0].tolist() == [ord("{")]
    with pytest.raises(BudgetExceeded, match="lazy=False"):
        explorer.compile(constraint, vocabulary, lazy=False)


def once(count: int, **keywords: Any) -> dict[str, Any]:
    items = {"enum": [f"item {k}" for k in range(count)]}
    return {"type": "array", "items": items, "uniqueItems": True, **keywords}


UNIQUE: dict[str, dict[str, Any]] = {
    "8 values": once(8),
    "20 values": once(20),
    "at least 19 of 20": once(20, minItems=19),
    "at most 3 of 30": once(30, maxItems=3),
    "numbers": {"items": {"type": "integer", "minimum": 0, "maximum": 29}, "uniqueItems": True,
                "type": "array", "minItems": 2},
    "one twice by its spelling": {"items": {"enum": [1, "1", True, None, *range(2, 20)]},
                                  "uniqueItems": True, "type": "array"},
    "one of them must come": once(15, contains={"const": "item 3"}),
    "inside an object": {"type": "object", "properties": {"a": once(20)}, "required": ["a"],
                         "additionalProperties": False},
}  # fmt: skip


@pytest.mark.parametrize("name", UNIQUE)
def test_items_that_come_once_are_remembered_as_they_come(name: str) -> None:
    schema = UNIQUE[name]
    array = schema.get("properties", {}).get("a", schema)
    least = array["items"].get("minimum", 0)
    values = array["items"].get("enum") or list(range(least, array["items"]["maximum"] + 1))
    constraint, validator = explorer.json_schema(schema), Draft202012Validator(schema)
    draw = random.Random(11)
    judged = set[bool]()
    for _ in range(200 if LONG else 20):
        items = draw.sample(values, draw.choice((1, 2, 3, 4, min(len(values), 20))))
        if draw.random() < 0.4:
            items.insert(draw.randrange(len(items) + 1), draw.choice(items))
        given = items if array is schema else {"a": items}
        valid = validator.is_valid(given)
        assert constraint.accepts(json.dumps(given, separators=(",", ":"))) == valid, given
        judged.add(valid)
    assert judged == {True, False}


def test_a_table_of_many_items_that_come_once_is_refused_by_name() -> None:
    with pytest.raises(BudgetExceeded, match=r"30 items of an array.*Give maxItems"):
        _ = explorer.json_schema(once(30)).dfa
    bounded = once(13, maxItems=2)
    table = explorer.json_schema(bounded).dfa
    assert table.accepts(b'["item 1","item 12"]')
    assert not table.accepts(b'["item 1","item 1"]')
    assert not table.accepts(b'["item 1","item 2","item 3"]')
