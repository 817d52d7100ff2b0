"""Schemas whose long strings are counted, beside the machine in which they are written out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.discovered.discover import Sets, discover
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.tree.build import build
from explorer.automata.words import accepts
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError
from explorer.tokens.lazy import LazyMachine
from tests.automata.discovered.beside import differences
from tests.evidence import examples
from tests.languages.schema.corpora import Group, needs_data, real
from tests.languages.schema.test_waiting import beside

EITHER: dict[str, object] = {
    "type": "object",
    "anyOf": [
        {"properties": {"a": {"maxLength": 4}}, "additionalProperties": False},
        {"properties": {"a": {"type": "string", "minLength": 2}}, "additionalProperties": False},
    ],
}  # fmt: skip
"""Together all strings are allowed, so that they may be spelled in every way."""

_STRING = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", ["string", "null"], "integer"])},
    optional={
        "maxLength": st.integers(0, 5), "minLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$", "[^a]"]),
        "enum": st.lists(st.sampled_from(["a", "ab", "\n", "abba", 1]), min_size=1, unique=True),
    },
)  # fmt: skip


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    object_of = st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "additionalProperties": st.just(False),
        },
        optional={"required": st.just(["a"])},
    )
    array_of = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner, "maxItems": st.just(2)}
    )
    several = st.lists(inner, min_size=2, max_size=2)
    joined = st.builds(lambda word, parts: {word: parts}, st.sampled_from(_JOIN), several)
    apart = st.builds(lambda a, b: {"allOf": [a, {"not": b}]}, inner, inner)
    return st.one_of(object_of, array_of, joined, apart)


_JOIN = ["anyOf", "oneOf", "allOf"]
SCHEMAS = st.recursive(_STRING, _around, max_leaves=4)


@given(SCHEMAS, st.sampled_from(["compact", "flexible", "pretty"]))
@settings(max_examples=examples(60))
def test_counted_strings_are_those_written_out(schema: dict[str, object], whitespace: str) -> None:
    assert beside(schema, whitespace=whitespace) == []


SHORT: dict[str, object] = {"allOf": [{"type": "string", "maxLength": 3}, {"not": {"enum": ["a"]}}]}


@pytest.mark.parametrize("schema", [EITHER, SHORT], ids=["either", "short"])
def test_strings_that_are_combined_are_counted_rightly(schema: dict[str, object]) -> None:
    assert beside(schema) == []


def test_a_schema_that_no_table_holds_is_compiled_and_explained() -> None:
    long = {"type": "string", "minLength": 2, "maxLength": 1_000_000}
    schema: dict[str, object] = {
        "type": "object", "required": ["a", "b"], "additionalProperties": False,
        "properties": {"a": long, "b": {"type": "array", "items": long, "maxItems": 3}},
    }  # fmt: skip
    constraint = explorer.json_schema(schema)
    vocabulary = explorer.Vocabulary.from_bytes([bytes([b]) for b in range(256)], eos_ids=[256])
    compiled: object = explorer.compile(constraint, vocabulary, Budget(states=20_000))
    assert isinstance(compiled, LazyMachine) and compiled.report.byte_machine == "discovered"
    state: int | None = compiled.start
    for byte in b'{"a":"x':
        assert state is not None
        state = compiled.step(state, byte)
    assert state is not None
    why = explorer.explain(compiled, state, ord('"'))
    assert not why.allowed and [part.role for part in why.parts] == ["expects"]
    assert why.parts[0].positions[0].label == "/properties/a/minLength"
    byte_machine = constraint.discover(Meter())
    assert isinstance(byte_machine, Discovered) and isinstance(byte_machine.kind, Sets)
    for value, ok in (("xy", True), ("\n\\", True), ("😀", False), ("x" * 9000, True)):
        data = json.dumps({"a": value, "b": [value]}, ensure_ascii=False, separators=(",", ":"))
        assert accepts(byte_machine, data.encode()) == ok


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("group", list(real())[::7], ids=lambda group: group.name)
def test_real_instances_are_judged_alike(group: Group) -> None:
    """Every seventh of the real schemas, where both forms are within a budget."""
    constraint = explorer.json_schema(group.schema, whitespace="flexible", property_order="any")
    try:
        closed = constraint.build(Meter(Budget(states=50_000, seconds=20)))
        counted = constraint.discover(Meter(Budget(seconds=20)))
    except ExplorerError as error:
        pytest.skip(type(error).__name__)
    for value, _ in group.tests:
        data = json.dumps(value, ensure_ascii=False).encode()
        assert accepts(closed, data) == accepts(counted, data)


def test_a_least_length_alone_is_counted_too() -> None:
    """As the machine in which it is written out, and at any size."""
    for minimum in (3, 16, 40):
        schema = {"type": "array", "items": {"type": "string", "minLength": minimum}}
        tree = explorer.json_schema(schema).source.tree
        assert differences(build(tree, Meter()), discover(tree, Budget())) == []
    long = discover(explorer.json_schema({"minLength": 10_000}).source.tree, Budget(states=100_000))
    assert not accepts(long, b'"' + b"a" * 9_999 + b'"')
    assert accepts(long, b'"' + b"a" * 10_000 + b'"') and accepts(long, b'"' + b"b" * 10_030 + b'"')
