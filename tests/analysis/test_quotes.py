"""Text in sentences: the characters themselves, in quotes, and one backslash for one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.alphabet import in_quotes
from explorer.analysis.characters.display import show_character, show_text

ESCAPE = re.compile(r"\\(n|r|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|['\"])")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\\", r"'\'"),
        (r"C:\dir", r"'C:\dir'"),
        (r"a\d+", r"'a\d+'"),
        ("\n", r"'\n'"),
        (r"\n", r"'\\n'"),
        ("it's", '"it\'s"'),
        ("\u202e", r"'\u202e'"),
        ("ä␣日", "'ä␣日'"),
        ("", "''"),
    ],
)
def test_a_person_sees_the_character_itself(text: str, wanted: str) -> None:
    assert in_quotes(text) == wanted
    assert show_text(text.encode()) == wanted


def test_a_backslash_is_one_wherever_it_is_said() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"\\", b'"', b"a"], eos_ids=[3])
    dfa = explorer.compile(explorer.regex(r"\\*a"), vocabulary)
    said = [show_character(0x5C), explorer.explain(dfa, dfa.start, 1).message]
    said += [explorer.explain(dfa, dfa.step(dfa.start, 0) or 0, 1).message]
    for words in (one.split(" Expected by ")[0] for one in said):
        assert "\\" in words and "\\\\" not in words, words


@given(st.text(), st.text())
def test_different_texts_look_different(one: str, other: str) -> None:
    assert (in_quotes(one) == in_quotes(other)) == (one == other)


@given(st.text())
def test_everything_has_ink_and_stands_on_one_line(text: str) -> None:
    shown = in_quotes(text)
    assert shown.isprintable()
    assert shown[0] == shown[-1] in "'\""
    # Python reads it as the text again, but for the single backslashes.
    plain = "\\" not in text and not ESCAPE.search(text)
    if plain and "'" not in text:
        assert shown == repr(text)
