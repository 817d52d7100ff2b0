"""Items that come once, remembered while a text is read: against two validators, byte by byte."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import jsonschema
import jsonschema_rs
import pytest

import explorer
from explorer.automata.discovered.discover import discover
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.words import accepts, lengths_when_asked
from explorer.budget import Budget, Meter
from explorer.errors import NotRegular, UnsupportedSchema


def unique(items: Any, **keywords: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **keywords}


MEMBERS: Final = {"a": {"type": "integer"}, "b": {"enum": ["x", "y", None]}}
PAIR: Final = {"type": "object", "properties": MEMBERS, "additionalProperties": False}
TREE: Final = {
    "$defs": {"t": unique({"anyOf": [{"$ref": "#/$defs/t"}, {"enum": [0, "0"]}]})},
    "$ref": "#/$defs/t",
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "anything": {"type": "array", "uniqueItems": True},
    "whole numbers": unique({"type": "integer"}),
    "numbers": unique({"type": "number"}, minItems=2),
    "numbers and words": unique({"type": ["number", "boolean", "null"]}),
    "strings": unique({"type": "string"}),
    "short strings": unique({"type": "string", "maxLength": 2}),
    "one or many": unique({"type": "string", "pattern": "^(a|b.*)$"}),
    "no more than three": unique({"type": "integer"}, maxItems=3),
    "objects": unique(PAIR),
    "objects of one member": unique({**PAIR, "required": ["a"], "maxProperties": 1}),
    "lists": unique({"type": "array", "items": {"enum": [1, 2, "1"]}}),
    "lists that come once": unique(unique({"type": "integer", "minimum": 0})),
    "first two of a few": unique(
        {"type": ["string", "boolean"]}, prefixItems=[{"type": "boolean"}, {"type": "boolean"}]
    ),
    "one object, then anything": {
        "type": "array", "uniqueItems": True, "prefixItems": [{"const": {"a": 0}}],
    },
    "holding a large one": unique({"type": "integer"}, minItems=2, contains={"minimum": 10}),
    "member": {
        "type": "object", "properties": {"a": unique({"type": "integer"}), "b": {"type": "array"}},
        "additionalProperties": False,
    },
    "branches": {"anyOf": [unique({"type": "integer"}), unique({"type": "string"}, minItems=1)]},
    "a branch that repeats": {
        "anyOf": [unique({"type": "integer"}), {"type": "array", "items": {"enum": [1, 2]}}]
    },
    "two branches of members": {
        "anyOf": [
            {"properties": {"a": unique({}), "b": {"const": 1}}, "required": ["a", "b"]},
            {"properties": {"a": {"type": "array"}, "b": {"const": 2}}, "required": ["a", "b"]},
        ]
    },
    "optional": {"anyOf": [unique({"type": "integer"}), {"type": "null"}]},
    "said beside": {"allOf": [{"uniqueItems": True}, {"type": "array", "items": {"minimum": 0}}]},
    "tree": TREE,
    "many values": unique({"type": "integer", "minimum": 0, "maximum": 269}),
    "dozens of values": unique({"type": "integer", "minimum": 0, "maximum": 39}),
}  # fmt: skip

FORMS: Final[dict[str, Any]] = {
    "unrolled": {"recursion": "unroll", "escapes": "any", "property_order": "any"},
    "stack": {"recursion": "stack", "escapes": "any", "property_order": "any"},
    "usual spelling": {},
}


def without(schema: Any) -> Any:
    """A schema without the keyword."""
    if isinstance(schema, dict):
        return {name: without(part) for name, part in schema.items() if name != "uniqueItems"}
    return [without(part) for part in schema] if isinstance(schema, list) else schema


@cache
def machine_of(name: str, form: str, *, repeating: bool = False) -> ByteMachine:
    constraint = explorer.json_schema(
        without(SCHEMAS[name]) if repeating else SCHEMAS[name], whitespace="flexible", **FORMS[form]
    )
    return discover(constraint.source.tree, Budget())


NUMBERS: Final = ("0", "-0", "1", "1.0", "10e-1", "2", "2E0", "11", "12.5", "1250e-2", "0e7", "-3")
STRINGS: Final = ("", "a", "b", "bb", "ä", "\U0001f600", '"', "0", "1", "x", "y")


def spelled(draw: random.Random, text: str) -> str:
    """A JSON string of a text in some spelling."""
    parts: list[str] = []
    for char in text:
        units = char.encode("utf-16-be")
        escaped = "".join(f"\\u{units[k : k + 2].hex()}" for k in range(0, len(units), 2))
        parts.append(escaped if draw.random() < 0.3 else json.dumps(char, ensure_ascii=False)[1:-1])
    return f'"{"".join(parts)}"'


def written(draw: random.Random, depth: int) -> str:
    """The text of some value."""
    blank = draw.choice(["", "", " ", "\n"])
    kind = draw.randrange(6 if depth else 4)
    if kind == 0:
        return draw.choice(NUMBERS)
    if kind < 3:
        return spelled(draw, draw.choice(STRINGS))
    if kind == 3:
        return draw.choice(["true", "false", "null"])
    parts = [written(draw, depth - 1) for _ in range(draw.randrange(4))]
    if kind == 4:
        return f"[{blank}{','.join(parts)}{blank}]"
    names = draw.sample(["a", "b", "c"], min(len(parts), 3))
    members = [f"{spelled(draw, n)}:{blank}{p}" for n, p in zip(names, parts, strict=False)]
    return f"{{{blank}{','.join(members)}{blank}}}"


def made_for(draw: random.Random, schema: Any, root: Any) -> str:
    """The text of a value that nearly satisfies a schema."""
    if not isinstance(schema, dict) or draw.random() < 0.03:
        return written(draw, 1)
    if "$ref" in schema:
        return made_for(draw, root["$defs"]["t"], root)
    if "enum" in schema or "const" in schema:
        value = draw.choice(schema.get("enum", [schema.get("const")]))
        return spelled(draw, value) if isinstance(value, str) else json.dumps(value)
    if "anyOf" in schema:
        deeper = draw.random() < 0.3 or "$ref" not in schema["anyOf"][0]
        return made_for(draw, draw.choice(schema["anyOf"][0 if deeper else 1 :]), root)
    if "allOf" in schema:
        return made_for(draw, {**schema["allOf"][0], **schema["allOf"][1]}, root)
    if "properties" in schema:
        names = [name for name in schema["properties"] if draw.random() < 0.9]
        names = draw.sample(names, min(len(names), schema.get("maxProperties", 9)))
        few = {"integer": {"enum": [1, 2]}}
        parts = [few.get(it.get("type"), it) for it in map(schema["properties"].get, names)]
        members = [
            f"{spelled(draw, n)}:{made_for(draw, part, root)}"
            for n, part in zip(names, parts, strict=True)
        ]
        return f"{{{','.join(members)}}}"
    if schema.get("type") == "array" or "uniqueItems" in schema:
        first = schema.get("prefixItems", [])
        count = draw.choice([0, 1, 2, 2, 3, 3, 4])
        parts = [
            made_for(draw, first[k] if k < len(first) else schema.get("items"), root)
            for k in range(count)
        ]
        if parts and draw.random() < 0.3:
            parts.insert(draw.randrange(len(parts)), draw.choice(parts))
        return f"[{','.join(parts)}]"
    kinds = schema.get("type", ["integer", "string"])
    kind = kinds if isinstance(kinds, str) else draw.choice(kinds)
    if kind in ("integer", "number"):
        return draw.choice(NUMBERS)
    if kind == "boolean":
        return draw.choice(["true", "false"])
    some = [it for it in STRINGS if re.search(schema.get("pattern", ""), it)]
    return "null" if kind == "null" else spelled(draw, draw.choice(some))


def texts(name: str, count: int) -> Iterator[str]:
    draw = random.Random(name)
    for _ in range(count):
        yield made_for(draw, SCHEMAS[name], SCHEMAS[name])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_text_is_accepted_exactly_if_two_validators_say_so(name: str, form: str) -> None:
    machine, plain = machine_of(name, form), machine_of(name, form, repeating=True)
    validators = (
        jsonschema.Draft202012Validator(SCHEMAS[name]),
        jsonschema_rs.validator_for(SCHEMAS[name]),
    )
    judged = {True: 0, False: 0}
    for text in texts(name, 800 if "contains" in SCHEMAS[name] else 400):
        value = json.loads(text)
        first, second = (each.is_valid(value) for each in validators)
        assert first == second, text
        if accepts(plain, text.encode()):  # Whole numbers as 10e-1 are left out in any case.
            assert accepts(machine, text.encode()) is first, text
            judged[first] += 1
    assert min(judged.values()) > 5, judged


SMALL: dict[str, tuple[dict[str, Any], str, int, int]] = {
    "one or many": (unique({"type": "string", "pattern": "^(a|b[ab]*)$"}), '[],"ab', 9, 16),
    "three of them": (
        unique({"type": "string", "pattern": "^(a|ab|b+)$"}, minItems=3, maxItems=3),
        '[],"ab', 12, 20,
    ),
    "two of a few": (
        unique({"enum": ["a", "b", 1]}, prefixItems=[{"pattern": "^[ab]*$", "type": "string"}]),
        '[],"ab1', 11, 18,
    ),
    "a few, then any": (
        unique(
            {"type": "string", "pattern": "^a*$"},
            prefixItems=[{"enum": ["a", "b"]}, {"const": "a"}],
        ),
        '[],"ab', 12, 18,
    ),
    "whole numbers": (unique({"type": "integer"}), "[],015.e", 6, 10),
    "numbers, or zero": (
        unique({"type": "number", "minimum": 0, "maximum": 1}, maxItems=2), "[],01.e-", 6, 10,
    ),
    "lists": (unique(unique({"type": "integer", "minimum": 1}, maxItems=2)), "[],12", 9, 14),
    "objects": (
        unique({**PAIR, "properties": {"a": {"enum": [1, 2]}}}),
        '[],{}"a:12', 12, 20,
    ),
}  # fmt: skip
"""A schema, the characters of its texts, and the lengths of prefixes and of whole texts."""


def repeats(value: Any) -> bool:
    """Whether an array in a value holds an item twice, found another way."""
    if isinstance(value, dict):
        return any(map(repeats, value.values()))
    if not isinstance(value, list):
        return False
    known = [json.dumps(value_in(each), sort_keys=True) for each in value]
    return len(set(known)) < len(known) or any(map(repeats, value))


def value_in(value: Any) -> Any:
    if isinstance(value, list):
        return [value_in(each) for each in value]
    if isinstance(value, dict):
        return {name: value_in(each) for name, each in value.items()}
    return (
        value if isinstance(value, bool | str | None) else float(value) + 0.0
    )  # Minus zero is zero.


def prefixes(schema: dict[str, Any], characters: str, short: int, long: int) -> dict[str, bool]:
    """The prefixes of texts without the keyword, each with whether one goes on without a repeat."""
    free = explorer.json_schema(without(schema)).dfa
    alive: dict[str, bool] = {}

    def follow(state: int, text: str, least: list[int]) -> bool:
        if least[state] + len(text) > long:
            return False
        ends = free.is_accepting(state) and not repeats(json.loads(text))
        for char in characters:
            if ends and len(text) >= short:
                break
            there = free.step(state, ord(char))
            if there != NO_ARC and follow(there, text + char, least):
                ends = True
        if len(text) <= short:
            alive[text] = ends
        return ends

    length = lengths_when_asked(free)
    follow(free.start, "", [length(state, Meter()) for state in range(free.num_states)])
    return alive


@pytest.mark.parametrize("name", SMALL)
def test_a_prefix_has_a_state_exactly_if_a_text_goes_on_from_it(name: str) -> None:
    schema, characters, short, long = SMALL[name]
    machine = discover(explorer.json_schema(schema).source.tree, Budget())
    alive = prefixes(schema, characters, short, long)
    assert len(alive) > 30 and not all(alive.values())
    wrong: list[str] = []
    for text, lives in alive.items():
        state = machine.start
        for byte in text.encode():
            state = machine.step(state, byte)
        if (state != NO_ARC) is not lives:
            wrong.append(text)
    assert not wrong, {text: alive[text] for text in wrong}


ACROSS: Final = (
    *r"""
    "," ","a" "a","a" a"," ["a ["a","a" 1, ,1 1,1 ,1,1, [1 [1,1] ],[ [[ ]] ],[1 "},{" {"a":1
    "a":1,"b" "x"} },{"a":1} 1} ,"b":"x" \u0061 \u0061" \u00 61" \" b" bb","b true, true,true e0 .0
    0] {"a":[1,1 ":[ 12 1e null ]} "\ ä
    """.encode().split(),
    b' "', b", ", b",\n", b'\xa4"',
)  # fmt: skip
"""Tokens in which items begin and end."""

VOCABULARY: Final = explorer.Vocabulary.from_bytes(
    [*(bytes((byte,)) for byte in range(256)), *ACROSS, None], eos_ids=[256 + len(ACROSS)]
)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_mask_holds_the_tokens_whose_bytes_can_be_read(name: str) -> None:
    """The mask is worked out from the one without the keyword; here each token is stepped."""
    machine = explorer.compile(
        explorer.json_schema(SCHEMAS[name], whitespace="flexible"), VOCABULARY, lazy=True
    )
    draw = random.Random(name)
    short = [
        k for k, data in enumerate(VOCABULARY.tokens) if data and data.isascii() and data > b" "
    ]
    masked = 0
    for _ in range(12):
        state = machine.start
        for _ in range(24):
            allowed = machine.allowed(state)
            stepped = [machine.step(state, k) is not None for k in range(len(VOCABULARY))]
            assert allowed.tolist() == stepped
            some = [k for k in short if allowed[k] and (k >= 256 or chr(k) in '[]{},:"ab012.e')]
            if not some:
                break
            masked += sum(not each for each in stepped)
            following = machine.step(state, draw.choice(some))
            assert following is not None
            state = following
    assert masked


def test_dozens_of_numbers_are_remembered_by_a_machine_that_discovers_its_states() -> None:
    """A closed table of them exists as before, and takes the same texts; few, or strings, stay."""
    few = unique({"type": "integer", "minimum": 1, "maximum": 32}, maxItems=2)
    some = unique({"type": "integer", "minimum": 1, "maximum": 33}, maxItems=2)
    strings = unique({"enum": [f"a{k}" for k in range(200)]}, maxItems=2)
    long = {**some, "minItems": 33, "maxItems": 33}
    marked = [
        any("are remembered" in said for said in machine.report.warnings)
        for each in (few, some, strings, long)
        if (machine := explorer.compile(explorer.json_schema(each), VOCABULARY, lazy=True))
    ]
    assert marked == [False, True, False, False]
    closed, lazy = (
        explorer.json_schema(some).dfa,
        discover(explorer.json_schema(some).source.tree, Budget()),
    )
    for pair in ("[1,2]", "[1,1]", "[1,1.0]", "[10,1e1]", "[33,3]", "[34]", "[3,33,1]", "[]", "[7"):
        assert accepts(closed, pair.encode()) is accepts(lazy, pair.encode()), pair


def test_where_it_cannot_be_remembered_it_is_refused_by_name() -> None:
    """A table, which needs every state; beside ``contains``, and in another schema."""
    constraint = explorer.json_schema(SCHEMAS["whole numbers"])
    with pytest.raises(NotRegular, match="/uniqueItems") as raised:
        explorer.compile(constraint, VOCABULARY, lazy=False)
    assert "strict=False" in raised.value.remedy and "lazy=False" in raised.value.remedy
    report = explorer.compile(constraint, VOCABULARY).report
    assert "/uniqueItems" in report.reason and any("remembered" in it for it in report.warnings)
    finite = explorer.json_schema(unique({"enum": [1, "a", None]}))
    assert explorer.compile(finite, VOCABULARY, lazy=False).report.warnings == ()
    for schema in (unique({}, contains={"const": 1}), {"not": unique({})}):
        with pytest.raises(UnsupportedSchema, match="uniqueItems"):
            explorer.json_schema(schema).accepts("[]")


def test_items_that_cannot_differ_leave_no_array() -> None:
    one = {"const": 1}
    impossible = unique({"type": "integer"}, prefixItems=[one, one], minItems=2)
    assert explorer.json_schema(impossible).is_empty()
    beside = explorer.json_schema({"anyOf": [impossible, {"const": "a"}]})
    assert beside.examples(3) == ['"a"']


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"a":["x","\\u0078"]}', '/properties/a/uniqueItems, "x" came before'),
        ('{"a":[[1],[1.0]]}', "/properties/a/uniqueItems, [1] came before"),
    ],
)
def test_a_reason_names_the_item_that_came_before(text: str, label: str) -> None:
    constraint = explorer.json_schema({"properties": {"a": unique({})}})
    assert label in explorer.explain_text(constraint, text).message


def test_a_closing_bracket_after_a_comma_wants_an_item_not_another_one() -> None:
    model = explorer.load_model("tiny")
    session = explorer.Session(model, explorer.json_schema(unique({"type": "integer"})), "")
    for token in ("[", "4", ","):
        session.step(token=token)
    assert "Expected by JSON, which has a value here" in session.explain("]").paragraph
