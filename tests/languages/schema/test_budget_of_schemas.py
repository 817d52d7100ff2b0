"""A schema of any shape looks at the clock of its budget, and the work between two looks is small.

Nothing here measures time: calls are counted, which do not depend on how busy the machine is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

import explorer
from explorer import Budget, json_schema
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, UnsupportedSchema

Shape = Callable[[int], dict[str, Any]]

MOST_CALLS = 150
"""How many calls of functions there may be for each subschema in one pass over all of them."""


def circle(wrap: Callable[[dict[str, str]], dict[str, Any]]) -> Shape:
    """References that lead through n definitions and back to the first."""
    return lambda n: {
        "$ref": "#/$defs/n0",
        "$defs": {f"n{k}": wrap({"$ref": f"#/$defs/n{(k + 1) % n}"}) for k in range(n)},
    }


SHAPES: dict[str, Shape] = {
    "members": circle(lambda ref: {"type": "object", "properties": {"a": ref}}),
    "items": circle(lambda ref: {"type": "array", "items": ref}),
    "references alone": circle(lambda ref: dict(ref)),
    "allOf": circle(lambda ref: {"allOf": [ref], "type": "object"}),
    "anyOf with an end": circle(lambda ref: {"anyOf": [ref, {"type": "null"}]}),
    "anyOf": lambda n: {"anyOf": [{"const": f"v{k}"} for k in range(n)]},
    "anyOf objects": lambda n: {"anyOf": [{"properties": {f"k{k}": {}}} for k in range(n)]},
    "oneOf": lambda n: {"oneOf": [{"const": f"v{k}"} for k in range(n)]},
    "allOf of nots": lambda n: {"allOf": [{"not": {"const": f"v{k}"}} for k in range(n)]},
    "enum": lambda n: {"enum": [f"v{k}" for k in range(n)]},
    "enum of objects": lambda n: {"enum": [{"a": k} for k in range(n)]},
    "properties": lambda n: {"properties": {f"k{k}": {"minimum": k} for k in range(n)}},
    "patterns": lambda n: {"patternProperties": {f"^k{k}": {} for k in range(n)}},
    "dependencies": lambda n: {"dependentRequired": {f"k{k}": ["a"] for k in range(n)}},
}


_OURS: Final = str(Path(explorer.__file__).parent)


def calls_between_looks(build: Callable[[], object], looks: int) -> tuple[int, int]:
    """The most calls of Python functions between two looks at a clock, and all of them.

    Args:
        build: What is watched.
        looks: After so many looks it is ended.
    """
    between = most = every = left = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal between, most, every, left
        # Our own functions: the first use of a kernel calls numba a million times.
        if event == "call" and frame.f_code.co_filename.startswith(_OURS):
            every += 1
            between += 1
            most = max(most, between)
            if frame.f_code is Meter.check_time.__code__:
                between = 0
                left += 1
                if left > looks:
                    raise TimeoutError

    sys.setprofile(count)
    try:
        build()
    except (TimeoutError, BudgetExceeded, UnsupportedSchema):
        pass
    finally:
        sys.setprofile(None)
    return most, every


@pytest.mark.parametrize("shape", SHAPES)
def test_the_clock_is_looked_at_after_little_work(shape: str) -> None:
    """At most a linear pass over the subschemas, of which there are a few before the first look."""
    n = 300
    unrolled = json_schema(SHAPES[shape](5), recursion="unroll", free_depth=3)
    unrolled.within(Budget(seconds=1_000))  # What is made once is there.
    constraint = json_schema(SHAPES[shape](n), recursion="unroll", free_depth=3)
    most, _ = calls_between_looks(lambda: constraint.within(Budget(seconds=1_000)), 2_000)
    assert most < MOST_CALLS * n


@pytest.mark.parametrize("shape", ["references alone", "allOf"])
def test_a_circle_of_references_is_walked_once(shape: str) -> None:
    """Twice the length is at most about twice the work; it was four times."""
    limits = Budget(seconds=1_000)
    json_schema(SHAPES[shape](10), free_depth=3).within(limits)
    several = [
        calls_between_looks(
            lambda n=n: json_schema(SHAPES[shape](n), free_depth=3).within(limits), 10**6
        )
        for n in (100, 200)
    ]
    assert several[1][1] < 2.6 * several[0][1]


def test_a_time_that_is_over_ends_a_long_circle() -> None:
    """Within the first pass over it, whatever would come after."""
    constraint = json_schema(SHAPES["members"](1_000), free_depth=3)
    with pytest.raises(BudgetExceeded):
        constraint.within(Budget(seconds=1e-9))


def test_more_branches_than_are_combined_are_still_followed() -> None:
    """Three hundred branches were told to be nested too deep."""
    shape = {"anyOf": [{"const": f"v{k}"} for k in range(300)]}
    constraint = json_schema(shape)
    assert constraint.accepts('"v0"')
    assert constraint.accepts('"v299"')
    assert not constraint.accepts('"v300"')


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ({"$ref": "#/$defs/a", "$defs": {
            "a": {"properties": {"b": {"$ref": "#/$defs/b"}}, "additionalProperties": False},
            "b": {"items": {"$ref": "#/$defs/a"}, "type": "array"}}}, ['{"b":[{"b":[{}]}]}']),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"const": 1}]}}},
         []),
        ({"properties": {"x": {"$ref": "#/$defs/n"}}, "type": "object", "$defs": {
            "n": {"allOf": [{"$ref": "#/$defs/m"}]},
            "m": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}}},
         ['{"x":{"n":{"n":{}}}}']),
    ],
)  # fmt: skip
def test_recursion_is_seen_through_references_in_place(
    schema: dict[str, Any], texts: list[str]
) -> None:
    """A circle counts only where one of its steps goes into a value."""
    constraint = json_schema(schema, max_depth=6)
    for text in texts:
        assert constraint.accepts(text)


def test_sets_of_items_are_counted_as_far_as_they_were_reached() -> None:
    few = {"type": "array", "uniqueItems": True, "items": {"enum": [*range(60)]}}
    with pytest.raises(BudgetExceeded) as raised:
        json_schema(few).dfa  # noqa: B018
    # 1 + 60 + 1,770 + 34,220 sets of at most three.
    assert raised.value.reached == 36_051
    # No array has a million different items of sixty.
    assert not json_schema({**few, "minItems": 10**6}).dfa.num_states


def test_the_places_of_a_long_array_are_counted_while_they_are_drawn() -> None:
    many = {"type": "array", "minItems": 10**6, "prefixItems": [{"type": "null"}]}
    with pytest.raises(BudgetExceeded) as raised:
        json_schema(many).build(Meter(Budget(states=2000)))
    assert raised.value.reached == 2001


BYTES: Final = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


def test_the_part_that_is_too_large_is_named_and_what_helps_was_tried() -> None:
    text: dict[str, Any] = {"type": "string", "maxLength": 50_000}
    deep = {"type": "object", "properties": {"text": text, "b": {"type": "null"}}}
    closed = {"additionalProperties": False}
    schema = {"type": "object", "properties": {"deep": {**deep, **closed}}, **closed}
    constraint, limits = json_schema(schema), Budget(states=20_000)
    with pytest.raises(BudgetExceeded) as raised:
        explorer.compile(constraint, BYTES, limits, lazy=False)
    place = "/properties/deep/properties/text/maxLength"
    assert f"The largest part is {place}: " in raised.value.message
    assert raised.value.evidence["keyword"] == "maxLength"
    assert raised.value.remedy.startswith("With lazy=True it is small enough.")
    assert explorer.compile(constraint, BYTES, limits, lazy=True).num_states


def test_a_keyword_is_named_where_no_option_helps() -> None:
    """Each pattern alone has a machine of half a million states."""
    far = {"type": "string", "allOf": [{"pattern": "a.{18}$"}, {"pattern": "b.{17}$"}]}
    constraint = json_schema({"properties": {"a": far, "b": {"type": "null"}}})
    with pytest.raises(BudgetExceeded) as raised:
        explorer.compile(constraint, BYTES, Budget(states=20_000))
    assert str(raised.value.evidence["pointer"]).startswith("/properties/a")
    assert not raised.value.remedy.startswith("With ")


def test_a_profile_ends_in_time_with_what_is_known() -> None:
    many = {"type": "array", "contains": {"const": 1}, "minContains": 10**6}
    rows = explorer.profile({"properties": {"a": many}}, Budget(seconds=0.5)).rows
    sizes = {row.pointer: row for row in rows}
    assert sizes["/properties/a/contains"].states
    assert "over budget" in sizes["/properties/a"].error


# A wide or deep schema with few keywords compiles quickly.


def branches(number: int) -> dict[str, Any]:
    """Objects that have one of some members as a text, and no two of them."""
    return {
        "oneOf": [
            {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
            for name in map("p{}".format, range(number))
        ]
    }


@pytest.mark.parametrize("order", ["schema", "any"])
def test_overlapping_branches_are_judged_as_by_jsonschema(order: Any) -> None:
    schema = branches(4)
    constraint, judge = json_schema(schema, property_order=order), Draft202012Validator(schema)
    names = ["p0", "p1", "p2", "p3", "q"]
    for kinds in product((None, "a", 1), repeat=len(names)):
        value = {name: kind for name, kind in zip(names, kinds, strict=True) if kind is not None}
        assert constraint.accepts(json.dumps(value, separators=(",", ":"))) == judge.is_valid(value)


def test_as_many_overlapping_branches_have_as_many_states() -> None:
    """Nine took over a minute."""
    constraint = json_schema(branches(24))
    assert constraint.accepts('{"p7":"a","p9":1,"q":0}')
    assert not constraint.accepts('{"p7":"a","p9":"b"}')


def test_what_is_referred_to_twice_at_each_level_waits() -> None:
    """2 ** 60 places are not laid out."""
    below = {"a": {"$ref": "#/$defs/d{}"}, "b": {"$ref": "#/$defs/d{}"}}
    deep: dict[str, Any] = {"d60": {"type": "integer"}}
    for k in range(60):
        inner = json.loads(json.dumps(below).replace("{}", str(k + 1)))
        deep[f"d{k}"] = {"type": "object", "properties": inner, "additionalProperties": False}
    constraint = json_schema({"$ref": "#/$defs/d0", "$defs": deep})
    assert constraint.accepts('{"b":' * 60 + "7" + "}" * 60)
    assert not constraint.accepts('{"b":' * 59 + "7" + "}" * 59)


def test_a_million_items_that_count_need_not_be_drawn() -> None:
    many = {"type": "array", "contains": {"const": 1}, "minContains": 10**6}
    machine = json_schema(many).discover(Meter(Budget(states=20_000)))
    state = machine.start
    for byte in b"[1,2,1":
        state = machine.step(state, byte)
    assert machine.expected(state) and ord("]") not in machine.expected(state)
    few = json_schema({**many, "minContains": 3, "items": {"type": "integer"}})
    assert few.accepts("[1,2,1,1]") and not few.accepts("[1,2,1]")
