"""Terminals in a pattern: arguments, carets, and ordinary groups beside them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer import choice, literal, regex, terminals
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


def test_a_name_is_taken_once() -> None:
    known = TERMINALS["QUOTED_TEXT"]
    other = Terminal("QUOTED_TEXT", "", 0, 0, known.make)
    with pytest.raises(ExplorerError, match="already"):
        register_terminal(other)
    assert TERMINALS["QUOTED_TEXT"] is known
    with pytest.raises(ConstraintError, match="surrogate"):
        terminals.escape("\ud800")
