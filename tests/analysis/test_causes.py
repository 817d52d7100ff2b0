"""The everyday causes of a masked token, each against the constraint that would allow it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

import explorer
from explorer.analysis.explaining.answer import explain_text
from explorer.analysis.explaining.explanation import Explanation, explain
from explorer.decoding.models.load import load_model
from widgets.figures.panels.reasons import more_packet, verdict_packet

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "age": {"type": "integer", "maximum": 150},
        "kind": {"enum": ["ä", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}

CASES = [
    ('{"name": ', "white space"),
    ('{"name":"Ada", ', "white space"),
    ('{\n  "name"', "white space"),
    ('{"age', "order of properties"),
    ('{"name":"Ada","x', "unknown property"),
    ('{"name":"Ada","age":1,"x', "unknown property"),
    ('{"name":"Ada","age":1,"kind":"\\u00e4"', "escapes"),
    ('{"name":"Adaline', "length of a string"),
    ('{"name":"Ada","age":1.5', "fraction of an integer"),
    ('{"name":"Ada","age":151', "range of a number"),
    ('{"name":"Ada","age":"1', "type"),
    ('{"name":"Ada","age":1,"kind":"c', "listed values"),
    ('{"name":"Ada"}', "required property"),
    ('{"name":"Ada","age":1,"tags":["a","b",', "length of an array"),
    ('{"name":"Ada","age":1,"tags":[]', "length of an array"),
    (' {"name"', "leading space"),
    ("```json\n{", "code fence"),
    ("<think>Let me", "reasoning block"),
]


@pytest.mark.parametrize(("text", "cause"), CASES)
def test_the_cause_names_a_change_that_allows_the_text(text: str, cause: str) -> None:
    why = explain_text(explorer.json_schema(PERSON), text)
    assert not why.allowed
    assert why.cause is not None
    assert why.cause.change.cause == cause
    # The change is what it says: the changed constraint reads the whole text.
    after = explain_text(why.cause.constraint, text)
    assert after.stage in ("allowed", "end_of_text"), after.message
    assert str(why.cause) in str(why)


@pytest.mark.parametrize("text", ["{,", "[", '{"name":"Ada",}', "{'name'"])
def test_no_cause_is_named_where_no_change_helps(text: str) -> None:
    why = explain_text(explorer.json_schema(PERSON), text)
    assert why.cause is None or why.cause.change.cause == "type"


def test_allowed_texts_and_other_sources_have_no_cause() -> None:
    assert explain_text(explorer.json_schema(PERSON), '{"name"').cause is None
    assert explain_text(explorer.regex("a+b"), "ac").cause is None


def test_a_schema_inside_of_another_constraint_is_changed_in_its_place() -> None:
    asked = explorer.literal("answer: ") + explorer.json_schema(PERSON)
    why = explain_text(asked, 'answer: {"name": ')
    assert why.cause is not None
    assert why.cause.constraint.accepts('answer: {"name": "Ada", "age": 1}')


@pytest.mark.parametrize("text", ['{"name":"Ada","age":1}', '{"name": "Ada", "age": 1}'])
def test_the_change_of_white_space_is_flexible(text: str) -> None:
    why = explain_text(explorer.json_schema(PERSON), '{"name": ')
    assert why.cause is not None
    assert why.cause.constraint.accepts(text)
    json.loads(text)


def after_text(text: str, token: str) -> Explanation:
    vocabulary = load_model("tiny").vocabulary
    machine = explorer.compile(explorer.json_schema(PERSON), vocabulary)
    state = machine.start
    for each in vocabulary.encode(text) or ():
        step = machine.step(state, each)
        assert step is not None
        state = step
    return explain(machine, state, token)


def test_a_token_of_a_real_vocabulary_that_writes_white_space() -> None:
    """The commonest fault of JSON: the token that models prefer writes a space."""
    why = after_text('{"name', '": "')
    assert why.cause is not None
    assert why.cause.change.cause == "white space"
    # After `":` the token would be allowed, and mean the value's text: that is not said.
    assert why.after
    assert not any("would be allowed after" in hint for hint in why.hints)
    values = why.to_dict()["cause"]
    assert isinstance(values, dict)
    assert values["label"] == "allow white space"


def test_what_is_missing_may_also_be_written_first() -> None:
    why = after_text('{"name":"a"', "}")
    assert why.cause is not None
    assert why.cause.change.missing
    assert any("would be allowed after" in hint for hint in why.hints)


def test_what_is_missing_is_not_written_inside_of_a_string() -> None:
    """After a backslash the token would be allowed, and its quotation mark would end nothing."""
    why = after_text('{"name":"Ada', '"}')
    assert why.cause is not None
    assert why.cause.change.missing
    assert why.after
    assert not any("would be allowed after" in hint for hint in why.hints)
    assert more_packet(why)["after"] == []


def test_all_that_a_change_changes_is_said() -> None:
    early = explain_text(explorer.json_schema(PERSON), '{"name":"Ada","x').cause
    late = explain_text(explorer.json_schema(PERSON), '{"name":"Ada","age":1,"x').cause
    assert early is not None
    assert late is not None
    assert 'property_order="any"' in str(early)
    assert early.constraint.accepts('{"name":"Ada","x":1,"age":1}')
    assert "property_order" not in str(late)


def test_a_control_token_may_begin_the_reasoning() -> None:
    vocabulary = load_model("tiny-chat").vocabulary
    special = {name: token for token, name in vocabulary.special.items()}
    machine = explorer.compile(explorer.json_schema(PERSON), vocabulary)
    cause = explain(machine, machine.start, special["<think>"]).cause
    assert cause is not None
    assert cause.change.cause == "reasoning block"
    changed = explorer.compile(cause.constraint, vocabulary, lazy=True)
    thought = vocabulary.encode("Hm. <b>") or ()
    answer = vocabulary.encode('{"name') or ()
    for way in (
        [special["<think>"], *thought, special["</think>"], *answer],
        [*answer],
    ):
        state = changed.start
        for token in way:
            after = changed.step(state, token)
            assert after is not None
            state = after
    assert explain(machine, machine.start, special["<tool_call>"]).cause is None


def test_the_token_budget_is_the_reason_where_the_constraint_allows_the_token() -> None:
    session = explorer.Session(
        load_model("tiny"), explorer.regex("[a-z]{3}( [a-z]{3})*"), max_tokens=3
    )
    session.step("a")
    told = verdict_packet(session.explain("b"))
    assert told["over_budget"]
    assert told["sentence"] == (
        "It does not fit into the token budget: it needs 3 tokens to the end, and 2 remain. "
        "A larger max_tokens allows it."
    )


ASCII = explorer.Vocabulary.from_bytes(
    [*(bytes([byte]) for byte in range(128)), b"<th", b"<b"], eos_ids=[130]
)


@pytest.mark.parametrize(
    ("offered", "reasons"),
    [
        ("<think>", True),
        ("<thin", True),
        ("<b>", False),
        ("<|foo|>", False),
        ("<thing>", False),
        ("<", False),
        (128, True),
        (129, False),
        (ord("<"), False),
    ],
)
def test_reasoning_is_what_all_that_was_offered_begins(offered: str | int, reasons: bool) -> None:
    machine = explorer.compile(explorer.json_schema(PERSON), ASCII)
    cause = explain(machine, machine.start, offered).cause
    assert (cause is not None and cause.change.cause == "reasoning block") == reasons
    if isinstance(offered, str):
        text = explain_text(explorer.json_schema(PERSON), offered).cause
        assert (text is not None) == reasons


@pytest.mark.parametrize("number", ["0.7", "0.10", "1e400", "-2.5E-3"])
def test_a_number_with_a_fraction_in_the_schema_stays_as_it_is_written(number: str) -> None:
    """The place of the number decides nothing: it only stands in the schema that is changed."""
    schema = (
        f'{{"type": "object", "properties": {{"p": {{"type": "boolean", "default": {number}}}}},'
        ' "required": ["p"], "additionalProperties": false}'
    )
    why = explain_text(explorer.json_schema(schema), "{}")
    assert "The schema allows it without /required." in why.paragraph
    changed = why.cause and why.cause.constraint
    assert changed is not None and str(Decimal(number)) in changed.source.text
