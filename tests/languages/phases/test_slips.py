"""Slips of the pen around phases: each error names its spot, the reason, and what to write."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer import Session, Vocabulary

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


def test_a_vocabulary_stands_for_the_control_tokens_that_a_tag_has() -> None:
    by_vocabulary = explorer.structural_tag(CALL, control_tokens=VOCABULARY)
    assert not explorer.compile(by_vocabulary, VOCABULARY).report.warnings
    by_name = explorer.structural_tag(CALL, control_tokens=["<tool>", "</think>"])
    assert by_vocabulary.source.control_tokens == by_name.source.control_tokens
    for text in (VOCABULARY.written([2, 0, 4]), b"<tool>a</think>"):
        assert by_vocabulary.accepts(text) == by_name.accepts(text)


@pytest.mark.parametrize(("before", "name", "token"), [((), "<think>", 3), ((3,), "</think>", 4)])
def test_step_and_explain_mean_the_same_token_by_a_spelling(
    before: tuple[int, ...], name: str, token: int
) -> None:
    assert begun(*before).step(name).token == token
    why = begun(*before).explain(name)
    assert why.token == token and why.allowed
