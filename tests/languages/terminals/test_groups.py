"""Terminals in a pattern: arguments, carets, and ordinary groups beside them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer import Vocabulary, choice, compile, explain_text, literal, regex, terminals
from explorer.errors import ConstraintError, ExplorerError, RegexError
from explorer.languages.regex import UnsupportedSyntax, parse
from explorer.languages.terminals.kinds import TERMINALS, Terminal, register_terminal


@given(st.text(alphabet="ab()|\\\n\t [](?P<>)äx", max_size=8).filter(bool))
def test_an_escaped_argument_stands_for_its_text(text: str) -> None:
    assert regex(f"(?P<SUBSTRING_OF>{terminals.escape(text)})").accepts(text)


def test_escapes_of_patterns_work_in_arguments() -> None:
    whole = regex(r"(?P<SUBSTRING_OF>\x41\n\u00e4\N{BULLET}\(\|\))")
    assert whole.accepts("A\nä•(|)")


@pytest.mark.parametrize(
    "pattern",
    ["(?P<year>[0-9]{4})", "(?P<QUOTED>a)(?P<text>b)", "(?P<quoted_text>a|b)", "(?P<IMAGE2>x)"],
)
def test_ordinary_named_groups_are_as_before(pattern: str) -> None:
    assert parse(pattern).group_names == re.compile(pattern).groupindex
    assert regex(pattern).examples(1)


def test_a_terminal_is_not_a_group_of_its_pattern() -> None:
    tree = parse("(?P<a>x)(?P<QUOTED_TEXT>)(?P<QUOTED_TEXT>)(?P<b>y)")
    assert dict(tree.group_names) == {"a": 1, "b": 2}
    with pytest.raises(RegexError, match="no group 'QUOTED_TEXT'"):
        regex("(?P<QUOTED_TEXT>)(?P=QUOTED_TEXT)")


def test_anchors_at_the_edges_are_as_good_as_none() -> None:
    assert regex("^(?P<SUBSTRING_OF>ab)$").accepts("b")
    assert regex(r"(?P<QUOTED_TEXT>)\b|(?P<DELIMITED_LIST>,|\ba)").accepts("a,a")
    with pytest.raises(UnsupportedSyntax, match="SUBSTRING_OF") as caught:
        regex(r"a\b(?P<SUBSTRING_OF>ab)")
    assert caught.value.start == 3


def test_terminals_combine_with_the_algebra() -> None:
    name = literal("name: ") + (terminals.quoted_text() | terminals.unquoted_text())
    short = name & regex(".{,12}")
    assert short.accepts("name: Ada") and not short.accepts("name: Augusta Ada")
    assert (terminals.substring_of("banana") - choice(["nan"])).accepts("ana")
    assert not (terminals.substring_of("banana") - choice(["nan"])).accepts("nan")


@pytest.mark.parametrize(
    ("pattern", "text", "label"),
    [
        ("x(?P<QUOTED_TEXT>)", 'x"a\n', "QUOTED_TEXT"),
        ("x(?P<UNQUOTED_TEXT>)", "x- ", "UNQUOTED_TEXT"),
        ("x(?P<SUBSTRING_OF>banana)", "xbb", "SUBSTRING_OF"),
        ("x(?P<DELIMITED_SUBSEQUENCE_OF>, |one|two)", "xtwo, one", "DELIMITED_SUBSEQUENCE_OF"),
    ],
)
def test_an_explanation_names_the_terminal(pattern: str, text: str, label: str) -> None:
    explanation = explain_text(regex(pattern), text)
    assert f"Expected by {label}" in explanation.message or "only the end" in explanation.message


def test_tokens_follow_terminals() -> None:
    vocabulary = Vocabulary.from_bytes([b'"', b"a", b'a"', b"\n", b"\\"], eos_ids=[5])
    dfa = compile(terminals.quoted_text(), vocabulary)
    inside = dfa.walk([0])[-1]
    assert dfa.allowed(inside).tolist() == [True, True, True, False, True, False]


def test_a_name_is_taken_once() -> None:
    known = TERMINALS["QUOTED_TEXT"]
    other = Terminal("QUOTED_TEXT", "", 0, 0, known.make)
    with pytest.raises(ExplorerError, match="already"):
        register_terminal(other)
    assert TERMINALS["QUOTED_TEXT"] is known
    with pytest.raises(ConstraintError, match="surrogate"):
        terminals.escape("\ud800")
