"""Schemas that lead back to themselves, on a stack: beside ``jsonschema``, and beside unrolling."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import explorer
from explorer.automata.construction import operations
from explorer.automata.stacks.single import SingleStack
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, NotRegular
from explorer.languages.schema.source import JsonSchema
from tests.evidence import examples

FILE: Final = Path(__file__).parents[2] / "data" / "schemas.json"
SCHEMAS: Final[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["recursive"]
"""Recursive schemas of many shapes."""

LEAVES: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, 3, -1, "a", "é\\", "abc", {}, []])
NAMES = ("value", "left", "right", "head", "tail", "op", "args", "of", "kind", "in", "a", "b", "z")


def grown(name: str, data: st.DataObject, levels: int) -> Any:
    """A valid instance that nests so deep."""

    def inner() -> Any:
        return grown(name, data, levels - 1)

    match name:
        case "tree":
            value: dict[str, Any] = {"value": data.draw(st.integers(-20, 20))}
            return value | (
                {data.draw(st.sampled_from(["left", "right"])): inner()} if levels else {}
            )
        case "list":
            return (
                {"head": data.draw(st.sampled_from(["", "é", "ab"])), "tail": inner()}
                if levels
                else None
            )
        case "arrays":
            return [True, inner()] if levels else False
        case "each other":
            return [{"a": inner()}, {}] if levels else []
        case "expression":
            minus = data.draw(st.booleans())
            return (
                ({"op": "-", "of": inner()} if minus else {"op": "*", "args": [1, inner()]})
                if levels
                else 7
            )
        case "all of":
            return {"kind": "y"} | ({"in": inner()} if levels else {})
        case "not":
            return ({"in": inner()} if levels else {}) | {data.draw(st.sampled_from("ab")): None}
        case "kinds apart":
            listed = data.draw(st.booleans())
            return ({"in": [inner()]} if listed else {"in": inner(), "z": 1}) if levels else {}
        case "two stacks":
            return {"in": inner(), "z": 1} if levels else {"in": {"a": {}}}
        case _:
            return {"of": [inner(), {}]} if levels else {}


def mutated(data: st.DataObject, value: Any) -> Any:
    """A value with one change somewhere inside."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 5)):
        name = data.draw(st.sampled_from(sorted(value)))
        match data.draw(st.sampled_from(["inside", "inside", "inside", "drop", "rename"])):
            case "drop":
                return {key: each for key, each in value.items() if key != name}
            case "rename":
                other = data.draw(st.sampled_from(NAMES))
                return {other if key == name else key: each for key, each in value.items()}
            case _:
                return value | {name: mutated(data, value[name])}
    if isinstance(value, list) and value and data.draw(st.integers(0, 5)):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], mutated(data, value[place]), *value[place + 1 :]]
    return data.draw(LEAVES)


@cache
def constraint(
    name: str, order: Any = "schema", whitespace: Any = "compact"
) -> explorer.Constraint:
    return explorer.json_schema(
        SCHEMAS[name], recursion="stack", property_order=order, whitespace=whitespace
    )


@pytest.mark.parametrize("name", SCHEMAS)
@given(data=st.data())
@settings(max_examples=examples(25))
def test_deep_instances_are_judged_as_by_another_library(name: str, data: st.DataObject) -> None:
    instance = grown(name, data, data.draw(st.integers(0, 25)))
    valid = Draft202012Validator(SCHEMAS[name])
    assert valid.is_valid(instance)
    for _ in range(data.draw(st.integers(0, 2))):
        instance = mutated(data, instance)
    text = json.dumps(instance, ensure_ascii=False, indent=data.draw(st.sampled_from([None, 1])))
    expected = valid.is_valid(instance)
    assert constraint(name, "any", "flexible").accepts(text) == expected, text
    assert expected or not constraint(name, "schema", "flexible").accepts(text)


@pytest.mark.parametrize("name", SCHEMAS)
def test_to_a_depth_it_is_the_unrolled_schema(name: str) -> None:
    """The words of few stack entries are words to a depth, and the other way round."""
    meter = Meter(Budget(seconds=20))
    stack = constraint(name)
    deeper = explorer.json_schema(SCHEMAS[name], max_depth=4).build(meter)
    shallow = explorer.json_schema(SCHEMAS[name], max_depth=1).build(meter)
    assert operations.difference(stack.bounded(1).build(meter), deeper, meter).num_states == 0
    assert operations.difference(shallow, stack.bounded(3).build(meter), meter).num_states == 0
    assert operations.difference(deeper, shallow, meter).num_states


def test_one_stack_is_followed_where_there_is_one() -> None:
    found = {name: isinstance(constraint(name).machine.stacks, SingleStack) for name in SCHEMAS}
    assert [name for name, single in found.items() if not single] == ["two stacks"]


COMPARED: dict[str, tuple[Any, list[Any]]] = {
    "another value under not": (
        {"type": "object", "properties": {"in": {"$ref": "#"}}, "additionalProperties": False,
         "not": {"properties": {"in": {"maxProperties": 0}}, "required": ["in"]}},
        [{}, {"in": {}}, {"in": {"in": {}}}, {"in": {"in": {"in": {}}}}],
    ),
    "items under contains": (
        {"type": ["array", "null"], "items": {"$ref": "#"}, "contains": {"type": "null"}},
        [None, [], [None], [[None]], [[None], None], [[[None]], None], [[[]], None]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARED)
def test_values_that_recurse_may_be_compared(name: str) -> None:
    """Sets of values are compared by their letters, so a stack takes what an unrolled one does."""
    schema, values = COMPARED[name]
    machine = explorer.json_schema(schema, recursion="stack", whitespace="flexible")
    valid = Draft202012Validator(schema)
    assert [machine.accepts(json.dumps(each)) for each in values] == [*map(valid.is_valid, values)]
    assert {*map(valid.is_valid, values)} == {True, False}


def test_a_schema_without_recursion_stays_finite() -> None:
    schema = {
        "type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False,
    }  # fmt: skip
    closed = explorer.json_schema(schema, recursion="stack")
    assert closed.equivalent(explorer.json_schema(schema))
    with pytest.raises(NotRegular):
        constraint("tree").build(Meter())


def test_a_file_knows_it_and_an_older_file_is_unrolled() -> None:
    source = constraint("tree").source
    assert isinstance(source, JsonSchema)
    assert JsonSchema.load(source.fields(), ()) == source
    older = {name: value for name, value in source.fields().items() if name != "recursion"}
    assert JsonSchema.load(older, ()).options.recursion == "unroll"


def test_a_stack_is_chosen_where_references_lead_back() -> None:
    """Without a limit on the depth; one that is given unrolls the schema, and is named."""
    text = '{"value":1}'
    for value in range(2, 40):
        text = f'{{"value":{value},"left":{text}}}'
    chosen = explorer.json_schema(SCHEMAS["tree"])
    assert chosen.machine.stacks is not None and chosen.accepts(text)
    assert chosen.source.warnings() == ()
    unrolled = explorer.json_schema(SCHEMAS["tree"], max_depth=3)
    assert unrolled.machine.stacks is None and not unrolled.accepts(text)
    assert unrolled.source.warnings() == (
        "References that lead back are followed 4 deep (max_depth=3).",
    )
    pretty = explorer.json_schema(SCHEMAS["tree"], whitespace="pretty")
    assert pretty.machine.stacks is None
    assert any("max_depth=5" in each for each in pretty.source.warnings())


def test_many_members_in_any_order_are_unrolled() -> None:
    """A stack would have a state for each set of them before the first mask."""
    many = {f"m{k}": {"type": "integer"} for k in range(9)}
    schema = {
        "type": "object", "properties": {**many, "in": {"$ref": "#"}},
        "additionalProperties": False,
    }  # fmt: skip
    assert explorer.json_schema(schema).machine.stacks is not None
    found = explorer.json_schema(schema, property_order="any")
    assert found.machine.stacks is None and found.accepts('{"m8":1,"in":{"m3":1,"m0":2}}')
    assert any("max_depth=5" in each for each in found.source.warnings())


@pytest.mark.parametrize(
    "schema",
    [
        {"contains": {"$ref": "#"}},
        {"contains": {"$ref": "#"}, "minContains": 2},
        {"not": {"contains": {"$ref": "#"}}},
        {"not": {"type": "array", "items": {"$ref": "#"}}},
    ],
    ids=json.dumps,
)
def test_what_does_not_hold_may_lead_back_too(schema: dict[str, Any]) -> None:
    judge = Draft202012Validator(schema)
    constraint = explorer.json_schema(schema, free_depth=6)
    texts = ["[]", "1", "[1]", "[[]]", "[1,1]", "[[1]]", "[[[]]]", "[[[1]]]", "[[],1]", '{"a":[]}']
    for text in texts:
        assert constraint.accepts(text) == judge.is_valid(json.loads(text)), text


def test_a_recursive_model_of_pydantic_is_read_back() -> None:
    pydantic = pytest.importorskip("pydantic")
    node = pydantic.create_model("node", value=(int, ...), below=(list["node"], []))
    node.model_rebuild(_types_namespace={"node": node})
    found = explorer.from_type(node, recursion="stack")
    text = '{"value":0,"below":[]}'
    for value in range(1, 60):
        text = f'{{"value":{value},"below":[{text}]}}'
    assert found.parse(text).below[0].value == 58
    assert not found.accepts(text.replace("57", '"57"'))


def test_a_schema_that_is_laid_out_too_deep_is_refused_in_words() -> None:
    inner = {
        "not": {"enum": [-7.5, 0.5, {}, "a b"]},
        "$ref": "#",
        "maxLength": 3,
        "pattern": "[0-9]",
    }
    schema = {
        "type": "object",
        "patternProperties": {"^$": {"not": inner}, "^[^-]{2}$": {"type": "boolean"}},
        "additionalProperties": {"type": "integer"},
        "unevaluatedProperties": {"type": "object"},
    }
    deep = explorer.json_schema(schema, max_depth=4, property_order="any", recursion="unroll")
    with pytest.raises(BudgetExceeded, match=r"levels.*max_depth=1"):
        deep.accepts("{}")
