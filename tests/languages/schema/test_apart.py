"""Values that are proved to be disjoint are, and a tag makes ``oneOf`` as cheap as ``anyOf``."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest

import explorer
from explorer.languages.schema.reading.cases import Expansion, are_apart, has_a_tag, told
from explorer.languages.schema.reading.subschemas import Subschema, root_of
from tests.evidence import calls_of

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

PAIRS: dict[str, tuple[Any, Any, bool]] = {
    "types": ({"type": "string"}, {"type": ["null", "array"]}, True),
    "numbers of both kinds": ({"type": "integer"}, {"type": "number"}, False),
    "values": ({"enum": [1, "a"]}, {"const": "1"}, True),
    "1 is 1.0": ({"enum": [1]}, {"const": 1.0}, False),
    "true is not 1": ({"const": True}, {"const": 1}, True),
    "tags": (A, B, True),
    "tags with a value in common": (A, tagged({"enum": ["b", "a"]}), False),
    "required on one side is enough": (A, {**B, "required": []}, True),
    "required on no side": ({**A, "required": []}, {**B, "required": []}, False),
    "what need not be an object": (
        {key: value for key, value in A.items() if key != "type"},
        {key: value for key, value in B.items() if key != "type"},
        False,
    ),
    "one of them is an object": ({key: A[key] for key in ("properties", "required")}, B, True),
    "a tag that anything is": (A, tagged({}), False),
    "a tag of another type": (A, tagged({"type": "integer"}), True),
    "a tag inside": (
        tagged(A, required=["kind"]),
        tagged(B, required=["kind"]),
        True,
    ),
    "a list is not looked into": ({"const": [1]}, {"const": [2]}, False),
    "false": (False, {}, True),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_apart(name: str) -> None:
    one, other, expected = PAIRS[name]
    assert apart(one, other) == expected


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
