"""The profile of a schema: sizes by pointer, equal subschemas built once."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as graph  # pyright: ignore[reportMissingTypeStubs]
import pytest

import explorer
from explorer.languages.schema.reading.subschemas import prepared

SHORT: dict[str, Any] = {"type": "string", "maxLength": 20, "description": "short"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": SHORT, "b": {**SHORT, "description": "another"},
        "c/d": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    },
    "required": ["a"],
}  # fmt: skip


def test_each_subschema_has_the_size_of_its_machine() -> None:
    rows = {row.pointer: row for row in explorer.profile(SCHEMA).rows}
    assert list(rows) == [
        "", "/properties/a", "/properties/b", "/properties/c~1d", "/properties/c~1d/anyOf/0",
        "/properties/c~1d/anyOf/1",
    ]  # fmt: skip
    for pointer, schema in (
        ("/properties/a", SHORT),
        ("/properties/c~1d/anyOf/0", {"type": "null"}),
    ):
        assert rows[pointer].states == explorer.json_schema(schema).dfa.num_states
    assert rows[""].states > 2 * rows["/properties/a"].states
    assert rows["/properties/b"].same_as == "/properties/a"
    assert all(row.arcs >= row.states - 1 for row in rows.values())


def test_the_treemap_is_a_plotly_figure() -> None:
    figure: Any = graph.Figure(explorer.profile(SCHEMA).figure())
    (treemap,) = figure.data
    assert treemap.type == "treemap"
    assert dict(zip(treemap.ids, treemap.parents, strict=True))["/properties/c~1d/anyOf/1"] == (
        "/properties/c~1d"
    )
    assert set(treemap.parents) <= {"", *treemap.ids}
    assert treemap.ids[0] == treemap.labels[0] == "the whole schema"  # "/" is the member "".


def test_what_is_too_large_is_named_and_the_rest_measured() -> None:
    schema = {"properties": {"a": {"type": "string", "maxLength": 5000}, "b": {"type": "null"}}}
    sizes = explorer.profile(schema, explorer.Budget(states=5_000))
    rows = {row.pointer: row for row in sizes.rows}
    assert rows["/properties/a"].error.startswith("over budget: ")
    assert rows["/properties/b"].states == 5
    assert "the limit is 5,000" in str(sizes)


def test_equal_subschemas_are_one_object_and_nothing_is_changed() -> None:
    before = repr(SCHEMA)
    same: Any = prepared(SCHEMA)[0]
    assert same["properties"]["a"] is same["properties"]["b"]
    assert repr(SCHEMA) == before


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"enum": [1]}, "b": {"enum": [True]}}},
        {"properties": {"a": {"properties": {"x": True, "y": True}},
                        "b": {"properties": {"y": True, "x": True}}}},
        {"$defs": {"a": {"$id": "one", "type": "null"}, "b": {"$id": "one", "type": "null"}}},
        {"allOf": [{"unevaluatedProperties": False}, {"unevaluatedProperties": False}]},
    ],
    ids=["one and true", "another order", "addresses", "unevaluated"],
)  # fmt: skip
def test_what_differs_or_has_an_address_stays_apart(schema: Any) -> None:
    same: Any = prepared(schema)[0]
    (inside,) = same.values()
    first, second = inside.values() if isinstance(inside, dict) else inside
    assert first is not second
