"""The parser against `re.compile`: what is accepted, what is refused, and where it stands."""

from __future__ import annotations

import re
import sys
import tomllib
import warnings
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.automata.tree.nodes import Assertion, Class, Group, Literal, Repeat, walk
from explorer.budget import Meter
from explorer.errors import BudgetExceeded, RegexError
from explorer.languages.regex import UnsupportedSyntax, compile_pattern, parse
from explorer.languages.regex.parser import MAX_NESTING
from explorer.languages.regex.properties import known_property
from tests.languages.regex.strategies import patterns, scribbles
from tests.languages.regex.test_cases import GROUPS, TABLE

FLAGS = [0, re.I, re.X, re.A, re.M | re.S, re.I | re.A | re.X, re.U]


BEYOND_RE = re.compile(r"(?s)\\(z|[pP](?:\{\s*\^?[^{}]*\}|[A-Za-z])|.)|\(\?<(?![=!])")
"""What is read and `re` does not know, and every other escape, so that none is looked into."""


def in_words_of_re(pattern: str) -> str:
    """The pattern with something that `re` knows for what it does not."""

    def known(match: re.Match[str]) -> str:
        escaped = match[1]
        if escaped is None:
            return "(?P<"
        if escaped == "z":
            return "\\Z"
        is_property = escaped[0] in "pP" and len(escaped) > 1 and known_property(
            escaped[1:].strip("{}").strip().removeprefix("^"))  # fmt: skip
        return "\\d" if is_property else match[0]

    return BEYOND_RE.sub(known, pattern)


def re_takes(pattern: str, flags: int) -> bool:
    pattern = in_words_of_re(pattern)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `re` warns about sets that may change their meaning.
        try:
            re.compile(pattern, flags)
        except (re.error, OverflowError, ValueError):
            return False
    return True


def uses_unsupported_syntax(pattern: str, flags: int) -> bool:
    parser = sys.modules["re._parser"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = repr(parser.parse(in_words_of_re(pattern), flags))
    return any(word in shown for word in ("GROUPREF", "ATOMIC_GROUP", "POSSESSIVE_REPEAT"))


def assert_agrees(pattern: str, flags: int = 0) -> None:
    taken = re_takes(pattern, flags)
    try:
        parse(pattern, flags)
    except UnsupportedSyntax:
        # Only for the four constructions, wherever `re` itself would have got past them.
        assert not taken or uses_unsupported_syntax(pattern, flags), pattern
    except RegexError as refused:
        assert not taken, (pattern, flags, refused.reason)
    else:
        assert taken, (pattern, flags)


PATTERNS: Final[dict[str, list[str]]] = tomllib.loads(
    (TABLE.parent / "patterns.toml").read_text("utf-8")
)
REFUSED, UNSUPPORTED = PATTERNS["refused"], PATTERNS["unsupported"]
TAKEN = [*[case[0] for cases in GROUPS.values() for case in cases], *PATTERNS["taken"]]


@pytest.mark.parametrize("flags", FLAGS)
def test_tables(flags: int) -> None:
    for pattern in REFUSED + TAKEN + UNSUPPORTED:
        assert_agrees(pattern, flags)


def test_the_tables_say_what_they_mean() -> None:
    for pattern in REFUSED:
        assert not re_takes(pattern, 0), pattern
        with pytest.raises(RegexError):
            parse(pattern)
    for pattern in TAKEN:
        assert re_takes(pattern, 0), pattern
        parse(pattern)
    for pattern in UNSUPPORTED:
        assert re_takes(pattern, 0), pattern
        with pytest.raises(UnsupportedSyntax) as caught:
            parse(pattern)
        assert caught.value.remedy


@given(scribbles, st.sampled_from(FLAGS))
@example("(?x)a#\\\nb", 0)
def test_scribbles(pattern: str, flags: int) -> None:
    assert_agrees(pattern, int(flags))


@given(patterns)
def test_structured_patterns_are_taken(pattern: str) -> None:
    assert_agrees(pattern)


@given(patterns, st.data())
def test_structured_patterns_with_a_mistake(pattern: str, data: st.DataObject) -> None:
    """One character lost, doubled or foreign, in a pattern that was right."""
    at = data.draw(st.integers(0, len(pattern)))
    foreign = data.draw(st.sampled_from(["", "", "(", ")", "[", "*", "?", "{", "\\", "|", "+"]))
    assert_agrees(pattern[:at] + foreign + pattern[at + 1 :])


@given(st.text(max_size=8), st.sampled_from(FLAGS))
def test_any_text(pattern: str, flags: int) -> None:
    assert_agrees(pattern, int(flags))


@given(patterns)
def test_spans(pattern: str) -> None:
    """Children lie inside their parents, in order, and leaves do not overlap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not re_takes(pattern, 0):
            return
    tree = parse(pattern)
    leaves = [node for node in walk(tree.root) if isinstance(node, Literal | Class)]
    for left, right in pairwise(leaves):
        assert left.end <= right.start
    for node in walk(tree.root):
        assert 0 <= node.start <= node.end <= len(pattern)
        written = tree.source(node)
        if isinstance(node, Group):
            assert (written[0], written[-1]) == ("(", ")")
            assert node.start < node.body.start <= node.body.end < node.end
        elif isinstance(node, Repeat):
            assert node.start == node.body.start < node.body.end < node.end
            assert written[-1] in "*+?}"
        elif isinstance(node, Assertion) and node.body is not None:
            assert node.start < node.body.start <= node.body.end < node.end


def test_nesting_within_the_bound_needs_no_large_stack() -> None:
    """Every kind of node at every level, below a caller that is itself deep in the stack."""
    pattern = "(?:x|y?" * MAX_NESTING + "a" + "z){1,2}" * MAX_NESTING

    def deep(levels: int) -> None:
        if levels:
            return deep(levels - 1)
        with pytest.raises(BudgetExceeded):
            compile_pattern(pattern, Meter())
        starred = pattern.replace("{1,2}", "*")
        machine = compile_pattern(starred + "(?=)", Meter())[1]
        assert machine.accepts(b"xyxzz") and not machine.accepts(b"xy")

    deep(150)


def test_flags_of_bytes_and_both_alphabets_are_refused() -> None:
    for flags in (re.L, re.A | re.U):
        assert not re_takes("a", flags)
        with pytest.raises(RegexError):
            parse("a", flags)
