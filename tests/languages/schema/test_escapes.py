"""With ``escapes="any"`` a character and its escapes are the same value; `json.loads` says so."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.errors import ConstraintError
from tests.evidence import examples

TEXT = 'aé€😀\U0010fffd\n\x01/"\\'
SCHEMAS: dict[str, Any] = {
    "any": {},
    "at most 2": {"type": "string", "maxLength": 2},
    "at least 2": {"type": "string", "minLength": 2},
    "bounded": {"type": "string", "minLength": 1, "maxLength": 40},
    "enum": {"enum": ["a", "é/", "😀", "\n\x01", "", 'a"\\']},
    "pattern": {"type": "string", "pattern": "^[a-é]+$"},
    "astral": {"type": "string", "pattern": "^[\U0001f5ff-\U0001fc00]$"},
    "not a": {"type": "string", "not": {"const": "a"}},
}
# Python reads $ before a newline at the end as well.
VALIDATORS = {
    name: jsonschema.Draft202012Validator(json.loads(json.dumps(schema).replace("$", r"\\Z")))
    for name, schema in SCHEMAS.items()
}
CONSTRAINTS = {
    (name, whitespace): explorer.json_schema(
        schema, escapes="any", whitespace=whitespace, free_depth=0
    )
    for name, schema in SCHEMAS.items()
    for whitespace in ("compact", "flexible")
}  # fmt: skip
SHORT = {"\n": r"\n", '"': r"\"", "\\": r"\\", "/": r"\/", "\b": r"\b", "\t": r"\t"}


def spelled(character: str, way: int) -> str:
    """A character in one of several ways; those that JSON does not have as an escape."""
    units = character.encode("utf-16-be")
    pairs = [units[k : k + 2].hex() for k in range(0, len(units), 2)]
    if way == 0 and character >= " " and character not in '"\\':
        return character
    if way == 1 and character in SHORT:
        return SHORT[character]
    upper = [pair.upper() if way == 2 else pair for pair in pairs]
    return "".join(rf"\u{pair}" for pair in upper)


SPELLED = st.lists(
    st.builds(
        spelled, st.one_of(st.sampled_from(TEXT), st.characters(codec="utf-8")), st.integers(0, 3)
    ),
    max_size=4,
).map(lambda parts: f'"{"".join(parts)}"')


@given(SPELLED)
@settings(max_examples=examples(120))
def test_an_escape_is_its_character(text: str) -> None:
    for (name, whitespace), constraint in CONSTRAINTS.items():
        valid = VALIDATORS[name].is_valid(json.loads(text))
        assert constraint.accepts(text) == valid, (name, whitespace, text)


@pytest.mark.parametrize("text", [r'"\ud800"', r'"\udc00a"', r'"\ud800\u0061"', r'"\u12"', r'"\x"'])
def test_what_is_no_escape_is_not_taken(text: str) -> None:
    assert not any(constraint.accepts(text) for constraint in CONSTRAINTS.values())


NAMES: dict[str, Any] = {
    "type": "object", "properties": {"aé": {"const": 1}, "b": {"const": "x"}}, "required": ["aé"],
    "additionalProperties": False,
}  # fmt: skip


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("whitespace", ["compact", "pretty", "flexible"])
def test_names_are_escaped_too(whitespace: Any, order: Any) -> None:
    constraint = explorer.json_schema(
        NAMES, escapes="any", whitespace=whitespace, property_order=order
    )
    layout: Any = {"indent": 2} if whitespace == "pretty" else {"separators": (",", ":")}
    for value in ({"aé": 1}, {"aé": 1, "b": "x"}, {"b": "x"}, {"aé": 2}):
        for ascii_only in (False, True):
            text = json.dumps(value, ensure_ascii=ascii_only, **layout).replace("b", r"\u0062")
            assert constraint.accepts(text) == jsonschema.Draft202012Validator(NAMES).is_valid(
                value
            )


@pytest.mark.parametrize("whitespace", ["compact", "pretty", "flexible"])
def test_a_discovered_machine_reads_the_same(whitespace: Any) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])
    schema = {
        **NAMES,
        "properties": {**NAMES["properties"], "b": {"maxLength": 20, "type": "string"}},
    }
    layout: Any = {"indent": 2} if whitespace == "pretty" else {"separators": (",", ":")}
    constraint = explorer.json_schema(schema, escapes="any", whitespace=whitespace)
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    for letters in (20, 21):
        text = json.dumps({"aé": 1, "b": "é" * letters}, **layout)
        state: int | None = machine.start
        for byte in text.encode():
            state = None if state is None else machine.step(state, byte)
        assert (state is not None and machine.is_final(state)) == (letters == 20)


def test_a_stack_reads_them_too() -> None:
    tree = {"type": "object", "properties": {"é": {"$ref": "#"}}, "additionalProperties": False}
    for escapes, taken in (("any", True), ("free", False)):
        options: Any = {"recursion": "stack", "escapes": escapes}
        constraint = explorer.json_schema(tree, **options)
        assert constraint.accepts(r'{"\u00e9":{"\u00E9":{}}}') == taken
        assert not constraint.accepts(r'{"\u00e8":{}}')


def test_the_choice_is_kept_and_checked() -> None:
    constraint = explorer.json_schema(NAMES, escapes="any")
    assert "escapes" in constraint.source.fields()
    with pytest.raises(ConstraintError, match="escapes is 'all'"):
        explorer.json_schema(NAMES, escapes="all")  # type: ignore[arg-type]


def test_the_default_takes_escapes_in_free_strings_only() -> None:
    assert explorer.json_schema({"type": "string"}).accepts(r'"\u0061"')
    assert not explorer.json_schema({"const": "a"}).accepts(r'"\u0061"')
