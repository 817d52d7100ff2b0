"""Terminals by name: groups, parts, texts."""

from __future__ import annotations

import random
import re
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer import Budget, choice, literal, regex, terminals
from explorer.errors import ConstraintError, ExplorerError, RegexError
from explorer.languages.regex import UnsupportedSyntax, parse
from explorer.languages.terminals.kinds import TERMINALS, Terminal, register_terminal
from tests.languages.terminals.yaml_reader import is_plain_scalar

# Quoted strings, plain scalars and delimited lists against `re` and a YAML reader.


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


# Terminals in a pattern: arguments, carets, and ordinary groups beside them.


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


# Substrings and subsequences against brute force, and arguments of hostile size.


TEXTS = st.text(alphabet="abä🙂 |()\\", max_size=7)


@given(TEXTS.filter(bool), TEXTS)
def test_substrings_are_those_of_the_text(text: str, other: str) -> None:
    pieces = {text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    substrings = terminals.substring_of(text)
    assert set(substrings.examples(1000)) == pieces
    assert substrings.accepts(other) == (other in pieces)


def subsequences(items: list[str], delimiter: str) -> set[str]:
    """Every subsequence, by brute force."""
    sizes = range(1, len(items) + 1)
    return {delimiter.join(some) for size in sizes for some in combinations(items, size)}


ITEMS = st.lists(st.text(alphabet="ab,ä|", min_size=1, max_size=3), min_size=1, max_size=5)


@given(ITEMS, st.sampled_from([",", ", ", "a", "ab"]))
def test_subsequences_are_those_of_the_items(items: list[str], delimiter: str) -> None:
    machine = terminals.delimited_subsequence_of(items, delimiter)
    assert set(machine.examples(2000)) == subsequences(items, delimiter)


def test_the_brute_force_can_fail() -> None:
    """A mutant: subsets in any order."""
    mutant = terminals.delimited_list("a|b", ",")
    assert mutant.accepts("b,a") and "b,a" not in subsequences(["a", "b"], ",")


def test_a_text_of_100_000_characters() -> None:
    rng = random.Random(7)
    text = "".join(rng.choice("abcdefghijklmnop qrstuvwxyz.,;") for _ in range(100_000))
    machine = terminals.substring_of(text).within(Budget(seconds=30))
    assert machine.dfa.num_states <= 2 * len(text)
    at = rng.randrange(99_000)
    assert machine.accepts(text[at : at + 900])
    assert not machine.accepts(text[at : at + 900] + "\n")


def test_ten_thousand_items() -> None:
    items = [f"item {k:05}" for k in range(10_000)]
    machine = terminals.delimited_subsequence_of(items, "; ").within(Budget(seconds=60))
    assert machine.accepts("item 00003; item 09999")
    assert not machine.accepts("item 09999; item 00003")
