"""With ``escapes="any"`` a character and its escapes are the same value; `json.loads` says so."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
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


LONG = "b" * 30
SHORT_TEXTS = ["".join(each) for count in range(4) for each in product("abc", repeat=count)]
CONTINUED = [*SHORT_TEXTS, *(each + LONG for each in SHORT_TEXTS[:5])]
VALUES: dict[str, Any] = {
    "free": {"type": "string"},
    "enum": {"enum": ["a", "ab", "cab"]},
    "const": {"const": "ab"},
    "bounded": {"type": "string", "maxLength": 3},
    "at least": {"type": "string", "minLength": 2},
    "begins": {"type": "string", "pattern": "^ab"},
    "holds": {"type": "string", "pattern": "ab"},
    "begins, bounded": {"type": "string", "pattern": "^a", "maxLength": 3},
    "not": {"type": "string", "not": {"enum": ["ab", "c"]}},
}
NAMED: dict[str, Any] = {
    "named": ({"properties": {"ab": {"const": 1}, "b": {"const": 1}}}, 1),
    "left over": ({"properties": {"ab": {"const": 1}, "b": {"const": 1}}}, 2),
    "patterns": ({"patternProperties": {"^a": {"const": 1}}}, 1),
    "no pattern": ({"patternProperties": {"^a": {"const": 1}}}, 2),
    "name and pattern": (
        {"properties": {"ca": {"const": 1}}, "patternProperties": {"^ab": {"const": 1}}}, 2,
    ),
    "bounded": ({"propertyNames": {"maxLength": 3}}, 2),
    "listed": ({"propertyNames": {"enum": ["ab", "c"]}}, 2),
    "begin": ({"propertyNames": {"pattern": "^a"}}, 2),
    "all": ({}, 2),
}  # fmt: skip


def cases_of_escapes() -> list[Any]:
    """Schemas, each with a function from a literal to the text that holds it, and its reverse."""
    cases = [
        pytest.param(schema, str, str, id=f"a value: {name}") for name, schema in VALUES.items()
    ]
    for name, (schema, value) in NAMED.items():
        whole = {"additionalProperties": {"const": 2}, **schema, "maxProperties": 1}
        cases.append(
            pytest.param(
                {"type": "object", **whole}, lambda literal, v=value: f"{{{literal}:{v}}}",
                lambda text, v=value: {text: v}, id=f"a name: {name}",
            )
        )  # fmt: skip
    return cases


@pytest.mark.parametrize(("schema", "written", "value"), cases_of_escapes())
def test_an_escape_is_taken_from_where_on_any_text_may_follow(
    schema: Any, written: Any, value: Any
) -> None:
    """The same rule for listed, bounded and other strings, as values and as names."""
    validator = jsonschema.Draft202012Validator(schema)
    free, every = (explorer.json_schema(schema, escapes=each) for each in ("free", "any"))

    def is_valid(text: str) -> bool:
        return validator.is_valid(value(text))

    for text in (each for each in CONTINUED if is_valid(each)):
        assert free.accepts(written(f'"{text}"')), text
        for place in range(min(len(text), 4)):
            begin, end = text[:place], text[place + 1 :]
            literal = written(rf'"{begin}\u{ord(text[place]):04X}{end}"')
            open_end = all(is_valid(begin + more) for more in CONTINUED)
            assert free.accepts(literal) == open_end, literal
            assert every.accepts(literal), literal


@pytest.mark.parametrize(("schema", "written", "value"), cases_of_escapes())
def test_a_slash_is_escaped_by_the_same_rule(schema: Any, written: Any, value: Any) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    free, every = (explorer.json_schema(schema, escapes=each) for each in ("free", "any"))
    for begin in ("", "a", "c", "ab", "cc"):
        text, literal = f"{begin}/", written(rf'"{begin}\/"')
        valid = validator.is_valid(value(text))
        open_end = all(validator.is_valid(value(begin + more)) for more in [*CONTINUED, "/"])
        assert free.accepts(literal) == (valid and open_end), literal
        assert every.accepts(literal) == valid, literal
