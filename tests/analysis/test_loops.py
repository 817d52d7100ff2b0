"""The loop in which a run stopped: where it began, what it is, and that the setting ends it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import explorer
from explorer import Session, Vocabulary
from explorer.analysis.traps import Trap, run_loops
from explorer.decoding.models.embedded import EMBEDDED

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "n": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "n", "tags"],
    "additionalProperties": False,
}


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.from_file(EMBEDDED["tiny"])


def read(constraint: explorer.Constraint, text: str, *, lazy: bool = False) -> Session:
    machine = explorer.compile(constraint, vocabulary(), lazy=lazy)
    session = Session.from_ids(vocabulary(), machine, vocabulary().encode(text) or ())
    assert session.text == text, session.rejection
    return session


def loops(session: Session) -> list[Trap]:
    return list(run_loops(session.machine, session.ids, states(session)))


def states(session: Session) -> list[int]:
    return [position.state for position in session.trace.positions]


def schema(**changes: Any) -> explorer.Constraint:
    properties = {**SCHEMA["properties"], **changes}
    return explorer.json_schema({**SCHEMA, "properties": properties}, whitespace="flexible")


CASES = [
    ('{"name": "Ada",', " " * 200, "space", 15),
    ('{"name": "Ada",', "\n\t " * 20, "space", 15),
    ('{"name": "Ada", "n": 0.', "3" * 60, "number", 23),
    ('{"name": ', '"' + "la la " * 40, "string", 9),
    ('{"name": ', '"Ada' + " " * 200, "string", 9),
    ('{"name": "Ada", "n": 1, "tags": ', '["a"' + ', "b"' * 60, "array", 32),
]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("before", "loop", "what", "begin"), CASES)
def test_a_loop_is_named_where_it_began(
    before: str, loop: str, what: str, begin: int, lazy: bool
) -> None:
    session = read(schema(), before + loop, lazy=lazy)
    (trap,) = loops(session)
    assert (trap.evidence["what"], trap.evidence["byte"]) == (what, begin)
    assert trap.evidence["bytes"] == len(before + loop) - begin
    assert trap.position is not None
    offset = len(session.trace.positions[trap.position].data)
    after = len(session.trace.positions[trap.position + 1].data)
    assert offset <= begin < after, "the token that holds the first byte of the loop"
    assert f"From byte {begin} on" in trap.message and repr(before[-8:])[1:-1] in trap.message
    assert session.traps()[0] == trap, "the first trap is where this run was"


@pytest.mark.parametrize(
    ("before", "loop", "changes", "needle"),
    [
        ('{"name": ', '"' + "la" * 90, {"name": {"type": "string", "maxLength": 400}}, "maxLength"),
        ('{"name": "A", "n": 1, "tags": ', '["a"' + ', "b"' * 60,
         {"tags": {"type": "array", "items": {"type": "string"}, "maxItems": 90}}, "maxItems"),
    ],
)  # fmt: skip
def test_the_setting_that_is_named_ends_the_loop(
    before: str, loop: str, changes: dict[str, Any], needle: str
) -> None:
    (trap,) = loops(read(schema(), before + loop))
    assert needle in trap.remedy
    assert loops(read(schema(**changes), before + loop)) == []


def test_a_number_with_bounds_ends_by_itself() -> None:
    text = '{"name": "A", "n": ' + "1" * 40
    (trap,) = loops(read(schema(), text))
    assert '"minimum"' in trap.remedy and '"integer"' not in trap.remedy
    bounded = schema(n={"type": "integer", "minimum": 0, "maximum": 99})
    assert not bounded.accepts(text + ', "tags": []}')
    assert bounded.accepts('{"name": "A", "n": 11, "tags": []}')


@pytest.mark.parametrize("bounds", [{}, {"minimum": 0, "maximum": 1}, {"multipleOf": 0.01}])
def test_no_keyword_is_promised_for_the_digits_after_a_point(bounds: dict[str, Any]) -> None:
    text = '{"name": "A", "n": 0.' + "0" * 60
    (trap,) = loops(read(schema(n={"type": "number", **bounds}), text))
    assert "No keyword ends the digits" in trap.remedy and "max_tokens" in trap.remedy


@pytest.mark.parametrize(
    ("pattern", "text", "begin"),
    [
        ("(ab)+c", "ab" * 150, 0),
        ("x(ab)+c", "x" + "ab" * 150, 1),
        ("xyab(ab)+c", "xy" + "ab" * 150, 4),
        ("a+c", "a" * 150, 0),
        ("[ab]+c", "b" + "a" * 3 + "ba" * 100, 0),
        ("(abc|abd)+e", "abdabc" * 50, 0),
        ("b(ab)*c", "b" + "ab" * 100, 0),
        ("y{3}(ab)+c", "yyy" + "ab" * 100, 3),
    ],
)
def test_the_first_time_round_is_of_the_loop(pattern: str, text: str, begin: int) -> None:
    (trap,) = loops(read(explorer.regex(pattern), text))
    assert trap.evidence["byte"] == begin and f"From byte {begin} on" in trap.message
    assert ("after" in trap.message) == (begin > 0)


def test_the_remedy_for_white_space_is_true_of_any_pattern() -> None:
    text = "hello" + " " * 50
    (trap,) = loops(read(explorer.regex("(?s).*"), text))
    assert "\\s" not in trap.remedy
    assert loops(read(explorer.regex("(?s).{0,200}"), text)) == []


@pytest.mark.parametrize(
    ("pattern", "text", "what"),
    [
        (r"\{\s*1\}", "{" + " " * 40, "space"),
        ("[0-9]+x", "1" * 40, "number"),
        ("(ab)+c", "ab" * 100, "repeat"),
        (r"\{ {0,60}1\}", "{" + " " * 40, None),
        ("(ab){1,200}c", "ab" * 100, None),
        ("[0-9]{1,90}x", "1" * 40, None),
        (r"\{\s*1\}", "{" + " " * 8, None),
        ("(ab)+c", "ab" * 100 + "c", None),
    ],
)
def test_a_loop_of_a_pattern_is_one_that_nothing_counts(
    pattern: str, text: str, what: str | None
) -> None:
    found = loops(read(explorer.regex(pattern), text))
    assert [trap.evidence["what"] for trap in found] == ([] if what is None else [what])
    assert all("{" in trap.remedy for trap in found), "the bound of a pattern"


def test_a_text_that_has_ended_is_in_no_loop() -> None:
    text = "1" * 40
    session = read(explorer.regex("[0-9]+"), text)
    (trap,) = loops(session)
    assert trap.evidence["may_end"] and "may also end" in trap.message
    session.step(token=vocabulary().eos_ids[0]) if session.lm else None
    ended = Session.from_ids(
        vocabulary(), explorer.regex("[0-9]+"), [*session.ids, vocabulary().eos_ids[0]]
    )
    assert ended.finished and loops(ended) == []


def test_items_that_are_objects_are_an_array_that_goes_on() -> None:
    constraint = explorer.json_schema(
        {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}},
                                    "required": ["a"], "additionalProperties": False}},
        whitespace="flexible",
    )  # fmt: skip
    (trap,) = loops(read(constraint, "[" + '{"a": 1}, ' * 30 + '{"a"'))
    assert (trap.evidence["what"], trap.evidence["byte"]) == ("array", 0)
    assert "31 items" in trap.message


def test_a_grammar_and_members_without_end() -> None:
    rule = 'root ::= "{" pair ("," pair)* "}"\npair ::= "\\"" [a-z]+ "\\":" [0-9]'
    found = loops(read(explorer.grammar(rule), "{" + '"a":1,' * 40))
    assert [trap.evidence["what"] for trap in found] == ["object"]
