"""White space, waiting, plain texts, escapes."""

from __future__ import annotations

import json
import random
import re
from itertools import islice
from typing import Any, Final

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import explorer
from explorer.automata.discovered.discover import Sets
from explorer.automata.discovered.discovered import Discovered
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.words import accepts, words
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, UnsupportedSchema
from explorer.languages.schema.source import JsonSchema
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.automata.discovered.beside import differences
from tests.evidence import examples
from tests.languages.schema.corpora import Group, needs_data, real
from tests.languages.schema.test_against_jsonschema import SCHEMAS, validator

# Values that wait until a text comes to them, beside the machine in which none does.


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
SCHEMAS_OF_WAITING: st.SearchStrategy[dict[str, Any]] = st.builds(
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
@given(SCHEMAS_OF_WAITING, st.sampled_from(["compact", "flexible", "pretty"]))
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


# White space between the tokens of JSON: that of `json.dumps`, and what a pattern says.


OPEN: Final[dict[str, Any]] = {
    "type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {}}
}  # fmt: skip
NESTED: Final[dict[str, Any]] = {"a": [1, 2], "b": {"c": [], "d": [{}, {"e": None}]}}
TREE: Final[dict[str, Any]] = {
    "type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
    "additionalProperties": False,
}  # fmt: skip


def compact(given: Any) -> str:
    return json.dumps(given, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("name", SCHEMAS)
def test_dumps_is_what_python_writes(name: str) -> None:
    limits: Any = {"free_depth": 2, "recursion": "unroll"}
    usual = explorer.json_schema(SCHEMAS[name], **limits)
    spaced = explorer.json_schema(SCHEMAS[name], whitespace="dumps", **limits)
    for word in islice(words(usual.dfa), 100):
        given = json.loads(word)
        if compact(given).encode() == word:
            text = json.dumps(given, ensure_ascii=False)
            assert spaced.accepts(text), word
            assert spaced.accepts(word) == (text.encode() == word)
    for word in islice(words(spaced.dfa), 100):
        assert validator(name).is_valid(json.loads(word)), word


@pytest.mark.parametrize("pattern", ["[ ]?", r"[\n\t ]*", "", " ", r"(?:\n {0,4})?", r"\r\n|\t"])
@pytest.mark.parametrize("recursion", ["unroll", "stack"])
def test_a_pattern_says_what_stands_between_tokens(pattern: str, recursion: Any) -> None:
    c = explorer.json_schema(
        OPEN, whitespace_pattern=pattern, free_depth=4, property_order="any", recursion=recursion
    )
    draw = random.Random(7)
    blanks = ["", " ", "  ", "\n", "\t", "\n  ", "\n     ", "\r\n"]
    few = [each for each in blanks if re.fullmatch(pattern, each)]
    tokens = re.findall(r'"[^"]*"|[\[\]{},:]|\w+', compact(NESTED))
    judged = set[bool]()
    for _ in range(300):
        among = few if draw.random() < 0.8 else [draw.choice(few), draw.choice(blanks)]
        between = [draw.choice(among) for _ in tokens[1:]]
        text = tokens[0] + "".join(b + token for b, token in zip(between, tokens[1:], strict=True))
        allowed = all(re.fullmatch(pattern, each) for each in between)
        assert c.accepts(text) == allowed, text
        judged.add(allowed)
    assert judged == {True, False}
    assert not c.accepts(" " + compact(NESTED))


def test_a_tree_on_a_stack_has_the_same_white_space() -> None:
    given: dict[str, Any] = {}
    for _ in range(30):
        given = {"left": given, "right": {}}
    dumps = explorer.json_schema(TREE, whitespace="dumps", recursion="stack")
    assert dumps.accepts(json.dumps(given))
    assert not dumps.accepts(compact(given))
    optional = explorer.json_schema(TREE, whitespace_pattern="[ ]?", recursion="stack")
    assert optional.accepts(json.dumps(given))
    assert optional.accepts(compact(given))
    assert not optional.accepts(json.dumps(given).replace(": ", ":  ", 1))


@pytest.mark.parametrize(
    "options",
    [{}, {"whitespace": "dumps"}, {"whitespace": "pretty"}, {"whitespace_pattern": "[ ]?"}],
)
def test_white_space_of_every_kind_is_relaxed_to_any(options: dict[str, Any]) -> None:
    given = explorer.json_schema({"type": "array", "items": {"type": "integer"}}, **options)
    text = "[1,\t2 ]"
    cause = explorer.explain_text(given, text).cause
    assert cause is not None and cause.change.label == "allow white space"
    freer = cause.constraint
    assert (given.accepts(text), freer.accepts(text)) == (False, True)
    assert "flexible" in freer.source.remark and "pattern" not in freer.source.remark
    assert source_from_dict(source_to_dict(freer.source)) == freer.source


# Objects whose members are all named, beside the closed form.


DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

_VALUES: st.SearchStrategy[Any] = st.one_of(
    SCHEMAS_OF_WAITING.map(lambda schema: {k: v for k, v in schema.items() if k != "$defs"}),
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


def test_a_large_object_is_within_its_budget() -> None:
    names = {f"name_{k}": {"type": "string"} for k in range(2000)}
    schema = {"type": "object", "properties": names, "additionalProperties": False}
    source = JsonSchema.of(schema)
    outline = source.outline(Meter())
    assert not source.ignored() and len(outline.parts) == 2000
    with pytest.raises(explorer.errors.BudgetExceeded):
        source.outline(Meter(explorer.Budget(states=10_000)))
