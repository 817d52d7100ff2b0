"""Messages about wrong schemas, and about texts that a schema does not allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import ConstraintError, UnsatisfiableSchema, UnsupportedSchema
from explorer.languages.schema.diagnosis import profiling

VOCABULARY = explorer.Vocabulary.from_bytes([bytes([k]) for k in range(256)], eos_ids=[256])


@pytest.mark.parametrize(
    ("schema", "reason", "remedy"),
    [
        ({"pattern": "("}, "The pattern '(' cannot be read as one of ECMA-262: this parenthesis is "
         "not closed.", "Correct it (write \\( for the character)"),
        ({"pattern": "(?i)a"}, "ECMA-262 has no flags in a pattern.", "as in [Aa]"),
        ({"pattern": "^a{,2}$"}, "{,2} is not a repeat there.", "write {0,2} for at most so many"),
        ({"patternProperties": {"a++": True}}, "The pattern 'a++' cannot", "leave out the last +"),
        ({"multipleOf": -1}, "multipleOf is -1, not a number above 0.", '"multipleOf": 0.5.'),
        ({"multipleOf": 0}, "multipleOf is 0, not a number above 0.", '"multipleOf": 0.5.'),
        ({"type": 5}, "type is 5, not a type", 'For example "type": "string".'),
        ({"required": "a"}, "not a list of strings", 'For example "required": ["name"].'),
        ({"allOf": {}}, "not a list of schemas", '"allOf": [{"type": "string"}, {"type": "null"}]'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_keyword_that_is_wrong(schema: Any, reason: str, remedy: str) -> None:
    with pytest.raises(UnsupportedSchema) as raised:
        explorer.json_schema(schema).accepts("1")
    assert reason in raised.value.reason and remedy in raised.value.remedy
    assert "(?s:" not in str(raised.value)


@pytest.mark.parametrize(
    ("schema", "reason", "remedy"),
    [
        (False, "No value satisfies the schema: it is false.", "Change it."),
        ({"enum": []}, "/enum leaves none by itself.", "Change it."),
        ({"type": "object", "required": ["a"], "additionalProperties": False},
         "/required and /additionalProperties exclude each other, given /type.", "one of them."),
        ({"type": "object", "properties": {"p": {"$ref": "#"}}, "required": ["p"]},
         "ask for a value that the reference at /properties/p/$ref leads to", "absent or null"),
    ],
    ids=["false", "enum", "given", "endless"],
)  # fmt: skip
def test_a_schema_without_values(schema: Any, reason: str, remedy: str) -> None:
    with pytest.raises(UnsatisfiableSchema) as raised:
        explorer.compile(explorer.json_schema(schema), VOCABULARY)
    assert reason in raised.value.message and remedy in raised.value.remedy


LISTS: dict[str, Any] = {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}
PAIR: dict[str, Any] = {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
}  # fmt: skip
FREE = "Expected by free_depth=3, the deepest that values nest."
DEEP = "max_depth=5, with which references are followed 6 deep."
ORDER = 'property_order="schema", where "any" takes every order.'


@pytest.mark.parametrize(
    ("schema", "text", "said"),
    [
        ({}, "[[[[1]]]]", FREE),
        ({}, '{"a":{"a":{"a":{"b"', FREE),
        ({"$defs": LISTS, "$ref": "#/$defs/l"}, "[" * 7, DEEP),
        (PAIR, '{"b":1,"a":2}', f"Expected by {ORDER}"),
        ({**PAIR, "required": ["a"]}, '{"b":1}', f"Expected by /required, {ORDER}"),
    ],
    ids=["array", "object", "recursion", "order", "required"],
)  # fmt: skip
def test_an_option_that_decides_is_named(schema: Any, text: str, said: str) -> None:
    constraint = explorer.json_schema(schema, recursion="unroll")
    assert said in explorer.explain_text(constraint, text).message


def test_an_option_that_does_not_decide_is_not_named() -> None:
    closed = explorer.json_schema({**PAIR, "additionalProperties": False})
    for text in ('{"c"', '{"a":1,"a"', '{"a":x'):
        message = explorer.explain_text(closed, text).message
        assert "property_order" not in message and "depth" not in message


def test_a_reference_that_says_nothing_is_told() -> None:
    ring = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    said = explorer.json_schema(ring).source.warnings()
    assert said[0] == (
        "The reference at /$defs/a/$ref leads back to itself, so it constrains nothing."
    )
    tree = {"properties": {"a": {"$ref": "#"}}}
    assert explorer.json_schema(tree).source.warnings() == ()


def test_the_broken_file_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text("{}")
    (tmp_path / "bad.json").write_text("{nope")
    with pytest.raises(ConstraintError, match=r"The file 'bad\.json' of the folder: The schema is"):
        explorer.json_schema({}, folder=tmp_path)


def test_a_profile_charges_no_subschema_with_warming_up() -> None:
    profiling.warm_up.cache_clear()
    explorer.profile({"type": "null"})
    assert profiling.warm_up.cache_info().currsize == 1


def test_an_empty_group_named_like_a_terminal_is_told() -> None:
    constraint = explorer.regex("a(?P<PARAGRAPH_TOKENS>)(?P<year>)")
    assert explorer.compile(constraint, VOCABULARY).report.warnings == (
        "(?P<PARAGRAPH_TOKENS>) is an empty group, not a terminal. Did you mean PARAGRAPH_TOKEN?",
    )


def test_the_text_of_a_template_is_quoted_and_marked_beside_that_of_the_part() -> None:
    letters = explorer.template("{a}: ", a=explorer.gen(regex="[a-z]+"))
    why = explorer.explain_text(letters, "ab;")
    assert why.message.endswith("Expected by part `a`, the text ': '.")
    shown = why.paragraph.splitlines()[-4:]
    assert shown[:2] == ["[a-z]+", "^^^^^"]
    assert shown[2] == letters.source.text
    assert shown[2][shown[3].index("^")] == ":" and shown[3].count("^") == 1
    # The spans of the whole are those in its own text, which an editor underlines.
    assert [shown[2][start:end] for start, end in why.spans] == [":"]


def test_parts_of_a_template_are_named_around_what_they_hold() -> None:
    kinds = {
        "json_schema": {"type": "integer", "minimum": 3}, "choices": ["red", "rose"],
    }  # fmt: skip
    expected = ["/minimum of part `a`", "part `a` (still open: 'red', 'rose')"]
    for (kind, given), text, said in zip(kinds.items(), ("2;", "rx"), expected, strict=True):
        options: Any = {kind: given}
        constraint = explorer.template("{a};", a=explorer.gen(**options))
        assert explorer.explain_text(constraint, text).message.endswith(f"Expected by {said}.")


def test_a_long_text_on_one_line_is_shown_around_the_place() -> None:
    pattern = "(?:" + "|".join(f"a{k:03}" for k in range(300)) + ")z"
    why = explorer.explain_text(explorer.regex(pattern), "a007y")
    line, marks = why.paragraph.splitlines()[-2:]
    assert line[marks.index("^")] == "z" and len(line) <= 162


@pytest.mark.parametrize(
    ("constraint", "text", "said"),
    [
        (explorer.json(2, 2), "[[[", "Expected by /$defs/2,0/type."),
        (explorer.json(0, 2), '[{"', "Expected by /$defs/0,1/type."),
        (explorer.grammar('root ::= "a" root "b" | "c"'), "acbb", "Expected by grammar('root"),
        (~explorer.regex("ab*"), b"\xff", "Expected by ~regex('ab*')"),
    ],
    ids=["array", "object", "grammar", "complement"],
)
def test_no_state_number_stands_for_a_part(
    constraint: explorer.Constraint, text: str | bytes, said: str
) -> None:
    why = explorer.explain_text(constraint, text)
    assert said in why.message
    assert "State " not in why.message and "state" not in why.prose


@pytest.mark.parametrize(
    ("constraint", "text", "said"),
    [
        (explorer.json_schema({"maximum": 99}), "100", "then expects '.', E or e, or the end of "),
        (explorer.json_schema({"type": "integer"}), "01", "or the end of text; the text writes 1"),
        (explorer.regex("[0-9]+"), "12x", "expects a digit 0-9, or the end of text; the text"),
        (explorer.regex("a*"), "b", "expects a, or the end of text; the text writes b"),
        (explorer.regex("(ab)*"), "aba.", "then expects b; the text writes '.'"),
        (explorer.regex("ä?"), "ö", "expects ä, or the end of text; the text writes ö"),
    ],
    ids=["maximum", "zero", "digits", "nothing", "middle", "half"],
)
def test_where_the_text_may_end_it_is_said(
    constraint: explorer.Constraint, text: str | bytes, said: str
) -> None:
    assert said in explorer.explain_text(constraint, text).message


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("template", "Hi {n}", "Perhaps you forgot a comma?\n"),
        ("template", "Hi {n}", 'such as template("Hi {name}", name=gen(regex="[a-z]+")).'),
        ("template", "'{x}'", 'such as template("Hi {name}"'),
    ],
)
def test_a_notation_is_shown_by_example(kind: str, text: str, said: str) -> None:
    from explorer.languages.sources import registry

    with pytest.raises(ConstraintError) as raised:
        registry.read(kind, text)
    assert said in str(raised.value)


@pytest.mark.parametrize("described", [bytes, Any], ids=["bytes", "Any"])
def test_a_type_without_texts_is_refused_with_what_there_is(described: Any) -> None:
    with pytest.raises(ConstraintError, match="Use dataclasses, pydantic models"):
        explorer.from_type(described, style="python")


def test_an_option_of_the_other_style_is_named() -> None:
    with pytest.raises(ConstraintError) as raised:
        explorer.from_type(int, style="python", whitespace="pretty")
    assert str(raised.value) == (
        "from_type(style=\"python\") has no option 'whitespace'. It is an option of "
        'style="json"; the options are max_depth.'
    )
    with pytest.raises(ConstraintError, match=r"has no option 'depth'\. Leave it out"):
        explorer.from_type(int, depth=3)
