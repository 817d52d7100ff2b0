"""Schemas as texts: faults, profiles."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, cast

import jsonschema
import plotly.graph_objects as graph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer import json_schema
from explorer.errors import ConstraintError, UnsupportedSchema
from explorer.languages.schema.reading.subschemas import prepared
from explorer.languages.schema.reading.text import json_of, read_schema
from explorer.languages.schema.source import JsonSchema
from tests.evidence import examples

# Schemas that are given as text are read exactly, and what is not JSON is refused with its place.
#
# The oracle is ``jsonschema``, which gets the same text with its numbers read as decimals.


DIGITS = st.text("0123456789", min_size=1, max_size=40).map(lambda text: text.lstrip("0") or "0")


@st.composite
def numbers(draw: st.DrawFn, largest: int = 60) -> str:
    """A number as JSON writes it, with up to 40 digits before and after the point."""
    sign, whole = draw(st.sampled_from(("", "-"))), draw(DIGITS)
    fraction = draw(st.one_of(st.just(""), DIGITS.map(lambda digits: f".{digits}")))
    exponent = draw(st.one_of(st.just(""), st.integers(-largest, largest).map(lambda e: f"e{e}")))
    return f"{sign}{whole}{fraction}{exponent}"


def plain(number: str) -> str:
    """The same number without an exponent."""
    return f"{Decimal(number):f}"


def is_valid(schema: str, text: str) -> bool:
    """The oracle: both texts with exact decimals."""

    def read(given: str) -> Any:
        return json.loads(given, parse_float=Decimal)

    with localcontext() as context:
        context.prec = 500
        return jsonschema.Draft202012Validator(read(schema)).is_valid(read(text))


@settings(max_examples=examples(50))
@given(
    st.sampled_from(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "not")
    ),
    numbers(),
    st.lists(numbers(), max_size=4),
)  # fmt: skip
def test_bounds_hold_to_the_last_digit(keyword: str, bound: str, others: list[str]) -> None:
    """The bound, its neighbours in its last place, and other numbers."""
    schema = f'{{"type": "number", "{keyword}": {bound}}}'
    if keyword == "not":
        schema = f'{{"type": "number", "not": {{"minimum": {bound}}}}}'
    constraint = json_schema(schema)
    with localcontext() as context:
        context.prec = 500
        last = Decimal(1).scaleb(int(Decimal(bound).as_tuple().exponent))
        near = [Decimal(bound) + step * last / 10 for step in (-10, -1, 0, 1, 10)]
    for text in [*(f"{number:f}" for number in near), *map(plain, others)]:
        assert constraint.accepts(text) is is_valid(schema, text), (schema, text)


@pytest.mark.parametrize(
    "sign", (1, -1), ids=("above", "below"),
)  # fmt: skip
def test_more_digits_than_a_decimal_context_keeps(sign: int) -> None:
    """Arithmetic in Python's own context would round both bounds to 28 digits."""
    bound = sign * (10**40 + 1)
    constraint = json_schema({"type": "integer", "maximum": bound})
    assert constraint.accepts(str(bound))
    assert not constraint.accepts(str(bound + 1))


def test_a_byte_order_mark_is_no_part_of_a_schema(tmp_path: Path) -> None:
    """As with grammars; also in the files of a folder."""
    constraint = json_schema('\ufeff{"type": "null"}')
    assert constraint.source == json_schema('{"type": "null"}').source
    assert JsonSchema.read('\ufeff{"type": "null"}') == constraint.source
    (tmp_path / "a.json").write_text('\ufeff{"type": "null"}', "utf-8")
    assert json_schema({"$ref": "a.json"}, folder=tmp_path).accepts("null")


def test_a_name_that_stands_twice_is_remarked() -> None:
    """With the place of the second one; the last one holds, as `json.loads` has it."""
    text = '{"type": "integer",\n "minimum": 1, "not": {"minimum": 9},\n "minimum": 2}'
    constraint = json_schema(text)
    assert not constraint.accepts("1")
    assert constraint.accepts("2")
    assert not constraint.accepts("9")
    (remark,) = constraint.source.warnings()  # pyright: ignore[reportAttributeAccessIssue,reportUnknownVariableType,reportUnknownMemberType]
    assert 'The name "minimum" in line 3, column 2' in remark
    assert json_schema('{"a": {"b": "a:"}, "b": "a"}').source.text.startswith("{")


def test_equal_names_in_two_spellings_are_one_name() -> None:
    """An escape names the same member."""
    source = JsonSchema.read(r'{"minimum": 1, "m\u0069nimum": 2}')
    assert any("was there before" in said for said in source.warnings())


@given(
    st.recursive(
        st.one_of(st.booleans(), st.none(), st.text(), numbers().map(Decimal), st.integers()),
        lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
        max_leaves=8,
    )
)
def test_what_is_read_is_written_with_the_same_numbers(value: object) -> None:
    """Through text and back."""
    schema = {"const": value}
    assert read_schema(json_of(schema)) == schema


def test_subschemas_that_differ_in_a_late_digit_are_not_one() -> None:
    """Equal subschemas share a machine, and these two are equal as floats."""
    one, other = "0.1", "0.1000000000000000000000000001"
    text = f'{{"prefixItems": [{{"const": {one}}}, {{"const": {other}}}], "items": false}}'
    constraint = json_schema(text)
    assert constraint.accepts(f"[{one},{other}]")
    assert not constraint.accepts(f"[{other},{one}]")


# The errors of a schema and of the functions around it show the place and name the argument.


BYTES = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        ('{ // a comment\n"type": "null"}', "here is a comment", "/"),
        ('{"type": /* a comment */ "null"}', "here is a comment", "/"),
        ('{"type": "null"} # a comment', "here is a comment", "#"),
        ('{"type": "null",\n }', "here is a comma before }", ","),
        ('{"enum": [1, 2, ]}', "here is a comma before ]", ","),
        ('{"enum": [1, , 2]}', "Expecting value", ","),
    ],
)
def test_what_is_not_json_is_called_by_its_name(text: str, said: str, place: str) -> None:
    with pytest.raises(ConstraintError, match=said) as raised:
        json_schema(text)
    assert text[cast("int", raised.value.evidence["start"])] == place


def test_a_file_of_a_folder_counts_if_something_refers_to_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.json").write_text('{"$ref": "below/b.json#/$defs/x"}')
    (tmp_path / "below" / "b.json").write_text('{"$defs": {"x": {"type": "integer"}}}')
    (tmp_path / "tsconfig.json").write_text("{ // a comment\n}")
    (tmp_path / "damaged.json").write_bytes(b"\xff")
    assert json_schema({"$ref": "a.json"}, folder=tmp_path).accepts("5")
    (tmp_path / "below" / "b.json").write_text("{ // a comment\n}")
    with pytest.raises(ConstraintError, match=r"below/b\.json.*here is a comment"):
        json_schema({"$ref": "a.json"}, folder=tmp_path)


@pytest.mark.parametrize("lazy", [True, None])
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("levels", range(5))
def test_a_fault_is_shown_at_every_level(levels: int, lines: bool, lazy: bool | None) -> None:
    schema = '{"type": "nmber"}'
    for _ in range(levels):
        schema = '{"properties": {"a": ' + schema + "}}"
    schema = schema.replace(": ", ":\n") if lines else schema
    with pytest.raises(UnsupportedSchema) as caught:
        explorer.compile(explorer.json_schema(schema), BYTES, lazy=lazy)
    error = caught.value
    assert error.pointer == "/properties/a" * levels + "/type"
    start, end = error.evidence["start"], error.evidence["end"]
    assert schema[start:end].startswith('"type"')  # type: ignore[misc]
    assert "^^^^^^" in error.message


# The profile of a schema: sizes by pointer, equal subschemas built once.


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
        assert rows[pointer].states == explorer.json_schema(schema, free_depth=3).dfa.num_states
    assert rows[""].states > 2 * rows["/properties/a"].states
    assert rows["/properties/b"].same_as == "/properties/a"
    assert all(row.arcs >= row.states - 1 for row in rows.values())


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


def test_the_treemap_is_a_plotly_figure() -> None:
    figure: Any = graph.Figure(explorer.profile(SCHEMA).figure())
    (treemap,) = figure.data
    assert treemap.type == "treemap"
    assert dict(zip(treemap.ids, treemap.parents, strict=True))["/properties/c~1d/anyOf/1"] == (
        "/properties/c~1d"
    )
    assert set(treemap.parents) <= {"", *treemap.ids}
    assert treemap.ids[0] == treemap.labels[0] == "the whole schema"  # "/" is the member "".


def test_a_folder_is_read_as_far_as_it_is_referred_to(tmp_path: Path) -> None:
    """By the names of files; where a name is an ``$id``, any file may have it."""
    texts = {
        "a.json": '{"$ref": "deep/b.json"}',
        "deep/b.json": '{"type": "integer"}',
        "c.json": '{"$id": "urn:see", "type": "null"}',
        "not.json": "no schema",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    by_name = JsonSchema.of({"$ref": "a.json"}, tmp_path)
    assert [address for address, _ in by_name.remotes] == ["a.json", "deep/b.json"]
    assert json_schema({"$ref": "a.json"}, folder=tmp_path).accepts("5")
    by_id = json_schema({"$ref": "urn:see"}, folder=tmp_path)
    assert by_id.accepts("null") and not by_id.accepts("5")
    assert JsonSchema.of({"type": "null"}, tmp_path).remotes == ()
