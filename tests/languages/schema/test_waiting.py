"""Values that wait until a text comes to them, beside the machine in which none does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.discovered.discover import Sets
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.words import accepts
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, UnsupportedSchema
from tests.automata.discovered.beside import differences
from tests.evidence import examples
from tests.languages.schema.corpora import Group, needs_data, real

_SMALL = st.integers(0, 4)
_NUMBER: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number", ["number", "null"]])},
    optional={
        "minimum": st.integers(-3, 9), "maximum": st.integers(-3, 9),
        "exclusiveMaximum": st.integers(-3, 9), "multipleOf": st.sampled_from([1, 2, 7, 0.5]),
    },
)  # fmt: skip
_STRING: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "maxLength": st.sampled_from([0, 2, 3, 40]), "minLength": _SMALL,
        "pattern": st.sampled_from(["^a", "b$", "^(a|bb)$", "[^a]", "(?!a)b", "a|^$"]),
        "format": st.sampled_from(["date", "ipv4", "colour"]),
    },
)  # fmt: skip
_LEAF: st.SearchStrategy[Any] = st.one_of(
    _NUMBER, _STRING, st.just(True), st.just(False),
    st.sampled_from([{"enum": ["a", 1, None]}, {"type": "boolean"}, {"const": "ab"}, {}]),
    st.sampled_from([{"$ref": "#"}, {"$ref": "#/$defs/leaf"}]),
)  # fmt: skip


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "ab", "c"])
    object_of = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
        optional={
            "required": st.lists(names, unique=True, max_size=2), "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "c$"]), inner, max_size=2),
            "minProperties": _SMALL, "maxProperties": _SMALL,
        },
    )  # fmt: skip
    array_of = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={
            "minItems": st.integers(0, 2), "maxItems": st.integers(0, 2), "contains": inner,
        },
    )  # fmt: skip
    several = st.lists(inner, min_size=1, max_size=2)
    joined = st.builds(lambda word, parts: {word: parts}, st.sampled_from(_JOIN), several)
    apart = st.builds(lambda a, b: {"allOf": [a, {"not": b}]}, inner, inner)
    return st.one_of(object_of, object_of, array_of, joined, apart)


_JOIN = ["anyOf", "oneOf", "allOf"]
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda root, leaf: {**root, "$defs": {"leaf": leaf}},
    st.recursive(_LEAF, _around, max_leaves=5).filter(lambda it: isinstance(it, dict)),
    _LEAF,
)


def beside(
    schema: dict[str, Any],
    most: int = 500,
    *,
    other: dict[str, Any] | None = None,
    budget: Budget = Budget(states=30_000, seconds=30),  # noqa: B008 - A frozen value.
    **options: Any,
) -> list[str]:
    """Where the machine whose values wait differs from the closed form; also in what it raises.

    Args:
        other: The schema of the closed form, where it is to be another one.
        budget: A schema whose closed form is larger is not compared.
    """
    options = {"free_depth": 1, "max_depth": 1, **options}
    constraint = explorer.json_schema(schema, **options)
    try:
        closed = explorer.json_schema(other or schema, **options).build(Meter(budget))
    except BudgetExceeded:
        return []
    except UnsupportedSchema as error:
        with pytest.raises(UnsupportedSchema) as raised:
            constraint.discover(Meter(budget))
        return [] if raised.value.pointer == error.pointer else ["refused elsewhere"]
    found = constraint.discover(Meter(budget))
    return differences(closed, found, most=most)


DEEP: dict[str, Any] = {
    "type": "array", "items": {"anyOf": [{"$ref": "#/$defs/leaf"}, {}]},
    "$defs": {"leaf": {"$ref": "#"}},
}  # fmt: skip


ALIKE: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "open"}}},
        {"type": "object", "required": ["kind"], "additionalProperties": False,
         "properties": {"kind": {"const": "closed"},
                        "errors": {"items": {"properties": {"at": {}}}}}},
    ],
}  # fmt: skip
"""In the first branch ``errors`` is a name like any other, and may be spelled in every way."""


@example(DEEP, "compact")
@example(ALIKE, "compact")
@given(SCHEMAS, st.sampled_from(["compact", "flexible", "pretty"]))
@settings(max_examples=examples(50), phases=[Phase.explicit, Phase.generate])
def test_what_waits_is_what_is_made_at_once(schema: dict[str, Any], whitespace: str) -> None:
    assert beside(schema, whitespace=whitespace) == []


@needs_data
@pytest.mark.parametrize("group", list(real())[3::29], ids=lambda group: group.name)
def test_real_schemas_wait_without_a_difference(group: Group) -> None:
    assert beside(group.schema, strict=False) == []


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("group", list(real()), ids=lambda group: group.name)
def test_every_real_schema_waits_without_a_difference(group: Group) -> None:
    assert beside(group.schema, most=2000, strict=False) == []


PERSON: dict[str, Any] = {
    "type": "object", "required": ["name", "born"],
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "born": {"type": "object", "properties": {"year": {"type": "integer", "minimum": 1900}}},
        "friends": {"type": "array", "items": {"$ref": "#"}},
    },
    "additionalProperties": False,
}  # fmt: skip


def walked(machine: ByteMachine, data: bytes) -> int:
    state = machine.start
    for byte in data:
        state = machine.step(state, byte)
        assert state != NO_ARC, data
    return state


def test_a_value_is_made_when_a_text_comes_to_it() -> None:
    machine = explorer.json_schema(PERSON, recursion="unroll").discover(Meter())
    assert isinstance(machine, Discovered) and isinstance(machine.kind, Sets)
    waiting_at_first = machine.kind.num_waiting
    assert waiting_at_first == 3
    walked(machine, b'{"nam')
    assert machine.kind.num_waiting == waiting_at_first
    walked(machine, b'{"name":"A')
    assert machine.kind.num_waiting == waiting_at_first - 1
    text = b'{"name":"A","born":{"year":1990},"friends":[{"name":"B","born":{}}]}'
    assert machine.is_accepting(walked(machine, text))
    assert not accepts(machine, text.replace(b"1990", b"1890"))


def test_what_is_over_the_budget_says_so_when_it_is_reached() -> None:
    text = {"type": "string", "pattern": "^(a|b)*a(a|b){14}$"}
    constraint = explorer.json_schema({"type": "object", "properties": {"a": text, "b": {}}})
    machine = constraint.discover(Meter(Budget(states=2000)))
    assert machine.expected(walked(machine, b'{"b":')) != b""
    for _ in range(2):  # It is tried again, and the rest can still be used.
        with pytest.raises(BudgetExceeded):
            walked(machine, b'{"a":"')
    assert machine.expected(walked(machine, b'{"b":[')) != b""


EITHER: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}},
         "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": 2}},
         "additionalProperties": False},
    ]
}  # fmt: skip
"""Together the strings are all strings, and may be spelled in every way."""

APART: dict[str, Any] = {
    "type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
    "not": {"properties": {"a": {"type": "array", "items": {"type": "integer", "minimum": 3}}}},
    "additionalProperties": False,
}  # fmt: skip

NONE: dict[str, Any] = {
    "type": "object", "additionalProperties": False,
    "properties": {"a": {"type": "array", "minItems": 1, "items": {"type": "number", "minimum": 2,
                                                                  "maximum": 1}}},
}  # fmt: skip


def test_other_values_are_found() -> None:
    """Values that there are not, that overlap, and that are alike, each beside those of another."""
    for schema in (EITHER, APART, NONE, ALIKE):
        assert beside(schema) == []
        assert beside(schema, other={**schema, "properties": {"a": {"type": "null"}}}) != []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "unevaluatedProperties": False},
        {"type": "array", "minItems": 1, "unevaluatedItems": False},
        {"type": "object", "required": ["a"],
         "properties": {"a": {"type": "number", "minimum": 2, "maximum": 1}}},
        {"type": "array", "minItems": 1,
         "items": {"type": "string", "minLength": 2, "maxLength": 1}},
    ],
)  # fmt: skip
def test_no_value_is_evident_where_there_is_none(schema: dict[str, Any]) -> None:
    assert explorer.json_schema(schema).discover(Meter()).start == NO_ARC
    names: dict[str, Any] = {name: {"type": "null"} for name in "abcdefg"}
    last: dict[str, Any] = {**names, "h": schema}  # What comes after the first member waits.
    around = {"type": "object", "properties": last, "required": list(last)}
    assert explorer.json_schema(around).discover(Meter()).start == NO_ARC
