"""Objects whose members are all named, beside the closed form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.words import accepts
from explorer.budget import Meter
from explorer.languages.schema.source import JsonSchema
from tests.evidence import examples
from tests.languages.schema.test_waiting import SCHEMAS, beside

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

_VALUES: st.SearchStrategy[Any] = st.one_of(
    SCHEMAS.map(lambda schema: {k: v for k, v in schema.items() if k != "$defs"}),
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number"},
            {"type": "boolean"},
            {"type": "null"},
            {"enum": ["a", 'q"\n', "é", "ab"]},
            {"enum": ["b"], "type": "string"},
            {"enum": []},
            {"enum": [1, "a"]},
            {"type": ["string", "null"]},
            True,
            False,
            {},
            {"enum": ["a"], "maxLength": 0},
            {"type": "string", "title": "T"},
        ]
    ),
)
_NAMES = st.sampled_from(["a", "ab", "b", 'q"', "é\n", "", "a/b"])


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    members = draw(st.dictionaries(_NAMES, _VALUES, max_size=4))
    needed = st.lists(st.sampled_from(sorted(members)), unique=True) if members else st.just([])
    schema: dict[str, Any] = {
        "type": "object", "properties": members, "additionalProperties": False,
        "required": draw(needed),
    }  # fmt: skip
    said = st.sampled_from([{}, {}, {"$schema": DRAFT_7}, {"title": "T", "x-more": {"type": 3}}])
    return {**schema, **draw(said)}


@given(objects())
@settings(max_examples=examples(60), phases=[Phase.generate])
def test_what_is_discovered_is_the_closed_form(schema: dict[str, Any]) -> None:
    assert beside(schema) == []


PLAIN: dict[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["b"],
    "properties": {"a": {"type": "string"}, "b": {"enum": ["x", "y"]}, "c": {"minimum": 3}},
}  # fmt: skip


@pytest.mark.parametrize("options", [{"whitespace": "flexible"}, {"property_order": "any"},
                                     {"escapes": "any"}, {"whitespace": "pretty"}],
                         ids=str)  # fmt: skip
def test_other_ways_to_write(options: dict[str, Any]) -> None:
    assert beside(PLAIN, **options) == []
    text = {"flexible": b'{ "b" : "x" }', "pretty": b'{\n  "b": "x"\n}'}.get(
        options.get("whitespace", ""), b'{"b":"x"}'
    )
    machine = explorer.json_schema(PLAIN, **options).discover(Meter())
    assert accepts(machine, text)


def test_integers_of_draft_4_are_digits() -> None:
    """The tree of a type alone is kept for later schemas, by draft."""
    for draft, exponent in ((DRAFT_4, False), (DRAFT_7, True)):
        schema = {**PLAIN, "properties": {"b": {"type": "integer"}}, "$schema": draft}
        machine = explorer.json_schema(schema).discover(Meter())
        assert accepts(machine, b'{"b":12}')
        assert accepts(machine, b'{"b":12e3}') == exponent
        assert beside(schema) == []


def test_a_large_object_is_within_its_budget() -> None:
    names = {f"name_{k}": {"type": "string"} for k in range(2000)}
    schema = {"type": "object", "properties": names, "additionalProperties": False}
    source = JsonSchema.of(schema)
    outline = source.outline(Meter())
    assert not source.ignored() and len(outline.parts) == 2000
    with pytest.raises(explorer.errors.BudgetExceeded):
        source.outline(Meter(explorer.Budget(states=10_000)))
