"""Quoted strings, plain scalars and delimited lists against `re` and a YAML reader."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer import regex, terminals
from explorer.errors import RegexError
from tests.languages.terminals.yaml_reader import is_plain_scalar

QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')


@given(st.text(alphabet='"\\\nab ä🙂', max_size=8))
def test_quoted_text_is_its_pattern(text: str) -> None:
    quoted = terminals.quoted_text()
    for given_text in (text, f'"{text}"'):
        assert quoted.accepts(given_text) == bool(QUOTED.fullmatch(given_text))


def test_plain_scalars_are_those_that_a_yaml_reader_takes() -> None:
    machine = terminals.unquoted_text().dfa
    tried = [""]
    for length in (1, 2, 3):
        tried += map("".join, product("a -.:#'\"?&[],{}!|>%@`*\\ä0~=<", repeat=length))
    tried += map("".join, product("a -.:#?", repeat=4))
    wrong = [text for text in tried if machine.accepts(text.encode()) != is_plain_scalar(text)]
    assert wrong == []


def test_the_yaml_oracle_can_fail() -> None:
    """A mutant: without the rule about blanks before ``#`` the reader disagrees."""
    mutant = regex("[a-z][a-z #]*[a-z#]")
    assert mutant.accepts("a #b") and not is_plain_scalar("a #b")


@pytest.mark.parametrize("text", ["a\tb", "a\ufeff", "a\u2028b", "a\x85b", "a\x07"])
def test_plain_scalars_leave_out_what_readers_disagree_about(text: str) -> None:
    assert not terminals.unquoted_text().accepts(text)


@given(
    st.sampled_from(["a|bc", "[ab]{2}", "(?:a,)?b", "ä+"]),
    st.sampled_from([", ", ",", "|", "a", "((", "\\", "\n"]),
    st.text(alphabet="abcä,| (\\\n", max_size=9),
)
def test_lists_are_their_expansion(item: str, delimiter: str, text: str) -> None:
    expanded = re.compile(f"(?:{item})(?:{re.escape(delimiter)}(?:{item}))*")
    assert terminals.delimited_list(item, delimiter).accepts(text) == bool(expanded.fullmatch(text))
    assert terminals.delimited_list(regex(item), delimiter).accepts(text) == bool(
        expanded.fullmatch(text)
    )


def test_an_item_is_read_as_a_pattern_of_its_place() -> None:
    listed = regex("(?i)x(?P<DELIMITED_LIST>, |red|(?P<QUOTED_TEXT>))y{2}")
    assert listed.accepts('xRED, "a", redyy')
    with pytest.raises(RegexError) as caught:
        regex("(?P<DELIMITED_LIST>, |a**)")
    assert (caught.value.start, caught.value.end) == (24, 25)
