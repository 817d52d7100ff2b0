"""Members in any order, and branches that are apart."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import jsonschema
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
from explorer.languages.schema.reading.cases import Expansion, are_apart, has_a_tag, told
from explorer.languages.schema.reading.subschemas import Subschema, root_of
from explorer.languages.schema.values.containers import MOST_AT_ONCE
from tests.evidence import LONG, calls_of, examples
from tests.languages.schema.test_waiting import SCHEMAS_OF_WAITING as SCHEMAS
from tests.languages.schema.test_waiting import beside

# Objects whose members come in any order, where a set of members takes states when it is met.


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


# Values that are proved to be disjoint are, and a tag makes ``oneOf`` as cheap as ``anyOf``.


DRAFT = "https://json-schema.org/draft/2020-12/schema"


def parts(one: Any, other: Any, **around: Any) -> list[Subschema]:
    """Two subschemas of one schema."""
    root = root_of({"$schema": DRAFT, "oneOf": [one, other], **around}, {})
    return [root.below(part, "oneOf", k) for k, part in enumerate(root.schemas_at("oneOf"))]


def apart(one: Any, other: Any, **around: Any) -> bool:
    first, second = parts(one, other, **around)
    forth = are_apart(told([first]), told([second]))
    assert forth == are_apart(told([second]), told([first]))
    return forth


def tagged(tag: Any, **more: Any) -> dict[str, Any]:
    """An object with a tag."""
    return {"type": "object", "properties": {"kind": tag}, "required": ["kind"], **more}


A, B = tagged({"const": "a"}), tagged({"const": "b"})


def test_references_and_conjunctions_are_followed() -> None:
    defs = {"a": A, "b": {"allOf": [{"$ref": "#/$defs/tag"}, {"required": ["kind"]}]},
            "tag": {"type": "object", "properties": {"kind": {"$ref": "#/$defs/b_name"}}},
            "b_name": {"const": "b"}, "again": {"allOf": [{"$ref": "#/$defs/again"}]}}  # fmt: skip
    one, other = {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}
    assert apart(one, other, **{"$defs": defs})
    assert not apart(one, {"$ref": "#/$defs/again"}, **{"$defs": defs})


def test_one_tag_for_many_is_found_at_once() -> None:
    def tags(*several: Any) -> bool:
        return has_a_tag([told([parts(each, {})[0]]) for each in several])

    assert tags(A, B, tagged({"enum": ["c", 1]}), tagged({"const": True}))
    assert not tags(A, B, tagged({"enum": ["c", "a"]}))
    assert not tags(A, B, tagged({"type": "string"}))
    assert not tags(A, {**B, "required": []}) and not tags(A, {"type": "string"})


def random_schema(draw: random.Random, level: int) -> Any:
    """Types, scalars and members, few enough that some schemas overlap."""
    schema: dict[str, Any] = {}
    if draw.random() < 0.6:
        schema["type"] = draw.choice(["object", "string", "integer", "number", ["null", "object"]])
    if draw.random() < 0.3:
        schema["enum"] = draw.sample([1, 1.0, True, "a", "b", None, 0], k=draw.randint(1, 3))
    if level and draw.random() < 0.7:
        schema["properties"] = {
            name: random_schema(draw, level - 1) for name in draw.sample("xyz", draw.randint(1, 2))
        }
        schema["required"] = draw.sample("xyz", draw.randint(0, 2))
    if level and draw.random() < 0.2:
        schema["allOf"] = [random_schema(draw, level - 1)]
    return schema


def values(level: int) -> list[Any]:
    """Values of all kinds that those schemas tell apart."""
    plain: list[Any] = [None, True, False, 0, 1, 2, 1.5, "a", "b", "c", []]
    if not level:
        return plain
    inside = [None, True, 0, 1, "a", "b", {}, {"x": 1}, {"x": "a", "y": "b"}]
    objects: list[Any] = [{}]
    for name in "xyz":
        objects += [{**each, name: value} for each in objects for value in inside]
        objects = objects[:120]
    return [*plain, *objects]


def test_what_is_proved_holds() -> None:
    draw, proved, both = random.Random(5), 0, 0
    for _ in range(400):
        one, other = random_schema(draw, 2), random_schema(draw, 2)
        checks = [jsonschema.Draft202012Validator(each) for each in (one, other)]
        common = any(all(check.is_valid(value) for check in checks) for value in values(1))
        if apart(one, other):
            proved += 1
            assert not common, (one, other)
        both += common
    assert proved > 40 and both > 40  # Neither is always so.


def kinds(word: str, count: int) -> dict[str, Any]:
    """Objects that a tag tells apart."""
    return {
        word: [
            tagged(
                {"const": f"k{k}"},
                **{"properties": {"kind": {"const": f"k{k}"}, "size": {"type": "integer"}}},
                additionalProperties=False,
            )
            for k in range(count)
        ]
    }


def test_one_of_tagged_objects_is_any_of_them() -> None:
    one, each = explorer.json_schema(kinds("oneOf", 3)), explorer.json_schema(kinds("anyOf", 3))
    assert (one - each).is_empty() and (each - one).is_empty()
    schema = kinds("oneOf", 3)
    for value in ({"kind": "k1"}, {"kind": "k2", "size": 3}, {"kind": "k4"}, {"size": 3}, "k1"):
        text = json.dumps(value, separators=(",", ":"))
        assert one.accepts(text) == jsonschema.Draft202012Validator(schema).is_valid(value)


def test_objects_that_overlap_are_still_compared() -> None:
    schema = {"oneOf": [tagged({"enum": ["a", "b"]}), tagged({"enum": ["b", "c"]})]}
    one = explorer.json_schema(schema)
    accepted = [one.accepts(f'{{"kind":"{kind}"}}') for kind in "abc"]
    assert accepted == [True, False, True]


def test_nothing_is_excluded_where_tags_tell() -> None:
    """The work is that of ``anyOf``: as many sets of values are made."""
    vocabulary = explorer.Vocabulary.from_bytes([bytes([b]) for b in range(256)], eos_ids=[256])
    one, each = (
        calls_of(
            lambda word=word: explorer.compile(
                explorer.json_schema(kinds(word, 6)), vocabulary, lazy=True
            ),
            Expansion.cases,
        )
        for word in ("oneOf", "anyOf")
    )
    assert one == each > 0
