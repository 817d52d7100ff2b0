"""Slips of the pen around phases: each error names its spot, the reason, and what to write."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer import Session, Vocabulary
from explorer.errors import ConstraintError, ExplorerError

NAMES = {2: "<tool>", 3: "<think>", 4: "</think>", 5: "<end>"}
PIECES = (b"a", b"<", None, None, None, None, *(bytes([each]) for each in b"thinkol>/"))
VOCABULARY = Vocabulary(PIECES, (5,), special=NAMES)
THOUGHT = explorer.token("<think>") + explorer.any_text() + explorer.token("</think>") + "a"
CALL: dict[str, Any] = {
    "type": "tag", "begin": "<tool>", "content": {"type": "regex", "pattern": "a+"},
    "end": "</think>",
}  # fmt: skip


def begun(*ids: int) -> Session:
    return Session.from_ids(VOCABULARY, THOUGHT, ids)


# Control tokens by name.


def test_a_control_token_that_no_string_has_is_a_warning_with_the_nearest() -> None:
    tag = explorer.structural_tag(CALL, control_tokens=["<toool>", "<tool>"])
    (warning,) = explorer.compile(tag, VOCABULARY).report.warnings
    assert "<toool> stands in no string" in warning and "Near it is <tool>." in warning
    assert not explorer.structural_tag(CALL, control_tokens=["<tool>"]).source.warnings()


def test_a_vocabulary_stands_for_the_control_tokens_that_a_tag_has() -> None:
    by_vocabulary = explorer.structural_tag(CALL, control_tokens=VOCABULARY)
    assert not explorer.compile(by_vocabulary, VOCABULARY).report.warnings
    by_name = explorer.structural_tag(CALL, control_tokens=["<tool>", "</think>"])
    assert by_vocabulary.source.control_tokens == by_name.source.control_tokens
    for text in (VOCABULARY.written([2, 0, 4]), b"<tool>a</think>"):
        assert by_vocabulary.accepts(text) == by_name.accepts(text)


@pytest.mark.parametrize("fed", ["<thnk>", ["<thnk>"], ["a", "<thnk>"]])
def test_a_misspelled_name_that_is_fed_names_the_nearest(fed: Any) -> None:
    with pytest.raises(ExplorerError) as caught:
        begun().feed(fed)
    assert "'<thnk>' was read as letters" in caught.value.remedy
    assert "<think>" in caught.value.remedy and "phase(" not in caught.value.remedy


def test_a_text_that_is_fed_stays_text_and_the_error_says_how_to_name_the_token() -> None:
    with pytest.raises(ExplorerError, match="read as letters") as caught:
        begun().feed("<think>a")
    assert "['<think>', …]" in caught.value.remedy
    assert [step.token for step in begun().feed(["<think>", "a"])] == [3, 0]


def test_any_other_text_that_is_fed_keeps_its_remedy() -> None:
    with pytest.raises(ExplorerError) as caught:
        begun().feed(["a"])
    assert "Give the constraint a phase for it" in caught.value.remedy


def test_a_misspelled_step_names_the_nearest() -> None:
    with pytest.raises(ExplorerError, match="'<thnk>' is not one token") as caught:
        begun().step("<thnk>")
    assert "<think>" in caught.value.remedy


@pytest.mark.parametrize(("before", "name", "token"), [((), "<think>", 3), ((3,), "</think>", 4)])
def test_step_and_explain_mean_the_same_token_by_a_spelling(
    before: tuple[int, ...], name: str, token: int
) -> None:
    assert begun(*before).step(name).token == token
    why = begun(*before).explain(name)
    assert why.token == token and why.allowed


def test_what_ends_the_text_is_named_by_its_id_alone() -> None:
    with pytest.raises(ExplorerError, match="not one token"):
        begun(3, 4, 0).step("<end>")
    assert begun(3, 4, 0).explain("a").token == 0


def test_explain_says_where_a_misspelled_name_was_read_as_letters() -> None:
    why = begun().explain("<thnk>")
    assert not why.allowed and "The control token near it is <think>" in why.hints[0]


def test_explain_text_says_how_a_control_token_is_given() -> None:
    spelled = VOCABULARY.written([3, 0, 4, 0])
    assert explorer.explain_text(THOUGHT, spelled).allowed
    assert not explorer.explain_text(THOUGHT, spelled).hints
    why = explorer.explain_text(THOUGHT, "<think>a</think>a")
    assert not why.allowed
    assert "<think> is letters" in why.hints[0] and "Vocabulary.written" in str(why)
    assert not explorer.explain_text(THOUGHT, "a").hints


# Structural tags.

MISSING: dict[str, dict[str, Any]] = {
    "/value": {"type": "const_string"},
    "/begin": {"type": "tag", "content": {"type": "any_text"}, "end": "b"},
    "/content": {"type": "tag", "begin": "a", "end": "b"},
    "/end": {"type": "tag", "begin": "a", "content": {"type": "any_text"}},
    "/begin/token": {**CALL, "begin": {"type": "token"}},
    "/json_schema": {"type": "json_schema"},
    "/pattern": {"type": "regex"},
    "/grammar": {"type": "grammar"},
    "/token": {"type": "token"},
    "/elements": {"type": "sequence"},
    "/min": {"type": "repeat", "content": CALL},
    "/triggers": {"type": "triggered_tags", "tags": [CALL]},
    "/tags": {"type": "triggered_tags", "triggers": ["<"]},
    "/separator": {"type": "tags_with_separator", "tags": [CALL]},
    "/rules": {"type": "dispatch"},
    "/structures/0/begin": {"structures": [{"schema": {}}], "triggers": ["a"]},
    "/format": {"type": "structural_tag"},
    "/type": {"format": CALL},
}


@pytest.mark.parametrize("pointer", MISSING)
def test_a_missing_member_is_named(pointer: str) -> None:
    name = pointer.rpartition("/")[2]
    with pytest.raises(ConstraintError, match=f"at {pointer}: the member '{name}' is") as caught:
        explorer.structural_tag(MISSING[pointer])
    assert f'"{name}": ' in caught.value.remedy


# Choices.


def test_the_choices_are_said_once() -> None:
    lm = explorer.load_model("tiny")
    with pytest.raises(ExplorerError) as caught:
        Session(lm, explorer.choice([" a"]), forced="prefil")  # type: ignore[arg-type]
    assert str(caught.value).count('"step"') == 1 and 'forced="prefill"' in caught.value.remedy
    with pytest.raises(ExplorerError) as caught:
        begun().feed(5)  # type: ignore[arg-type]
    assert str(caught.value).count("control tokens") == 1 and "[5]" in caught.value.remedy
    with pytest.raises(ExplorerError):  # A number with more digits than Python writes.
        begun().feed(10**5000)  # type: ignore[arg-type]
