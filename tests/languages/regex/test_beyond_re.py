"""Syntax beyond `re`: properties, ``(?<n>…)``, ``\\z``, and patterns that `re` compiled."""

from __future__ import annotations

import pickle
import re
import unicodedata

import numpy as np
import pytest
import regex as regex_library
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.automata.tree.nodes import Class, Literal, walk
from explorer.errors import RegexError
from explorer.languages.regex import parse
from explorer.languages.regex.properties import property_set, scripts
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.languages.template.expression import read_expression

MOVED = frozenset("\u0295\U0001171e")
"""Characters whose category a later version of Unicode than some Python's has changed."""

CHARACTERS = "".join(
    char
    for k, char in enumerate(map(chr, range(0x110000)))
    if unicodedata.category(char) not in ("Cn", "Cs") and char not in MOVED
    if k % 97 == 0 or unicodedata.category(char) not in ("Co", "Lo")
)
"""The assigned characters, of ideographs, syllables and private ones some."""

CODES = np.array(list(map(ord, CHARACTERS)))

CATEGORIES = [*"LMNPSZC", "LC", *(f"{one}{two}" for one, more in (
    ("L", "ultmo"), ("M", "nce"), ("N", "dlo"), ("P", "cdseifo"), ("S", "mcko"), ("Z", "slp"),
    ("C", "cfo"),
) for two in more)]  # fmt: skip


def characters(pattern: str) -> set[str]:
    """The characters that match a pattern of one character, as our parser has it."""
    nodes = [node for node in walk(parse(pattern).root) if isinstance(node, Class | Literal)]
    assert len(nodes) == 1
    inside = np.searchsorted(nodes[0].chars.bounds(), CODES, side="right") % 2 == 1
    return {chr(code) for code in CODES[inside]}


def characters_of_library(pattern: str) -> set[str]:
    return set(regex_library.findall(pattern, CHARACTERS))


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_are_those_of_the_library(name: str) -> None:
    assert characters(rf"\p{{{name}}}") == characters_of_library(rf"\p{{{name}}}")
    assert characters(rf"(?i)\P{{{name}}}") == characters_of_library(rf"(?i)\P{{{name}}}")
    if name != "C":  # There the library counts what is beyond ASCII as unassigned.
        assert characters(rf"(?a)\p{{{name}}}") == characters_of_library(rf"(?a)\p{{{name}}}")


@pytest.mark.parametrize("name", [*scripts(), "Any", "ASCII", "Assigned"])
def test_scripts_are_those_of_the_library(name: str) -> None:
    assert characters(rf"\p{{{name}}}") == characters_of_library(rf"\p{{{name}}}")


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\p{Lu}0-9_]", r"[^\p{L}\p{Greek}]", r"[^\P{L}x]", r"\p{^L}", r"\P{^Lu}", r"\pL", r"\PN",
        r"(?i)\p{lowercase letter}", r"\p{Script=Greek}", r"\p{sc=han}", r"\p{gc=Nd}",
        r"\p{General_Category=Decimal_Number}", r"\p{ decimal-number }", r"[\p{L}-]",
        r"(?ai)\p{Lt}", r"(?i)[^\p{Nd}_]",
    ],
)  # fmt: skip
def test_properties_in_sets_and_under_flags(pattern: str) -> None:
    assert characters(pattern) == characters_of_library(pattern)


def test_a_set_under_ignorecase_is_its_items() -> None:
    """`re` is asked about the items that are not properties, so its letters keep their pairs."""
    assert characters(r"(?i)[\p{Lu}k5]") == characters(r"(?i)\p{Lu}") | {"5"}
    assert characters(r"(?i)[\p{Nd}k]") == characters(r"\p{Nd}") | {"k", "K", "\u212a"}
    assert characters(r"(?i)[^\p{Nd}k]") == set(CHARACTERS) - characters(r"(?i)[\p{Nd}k]")


def test_the_surrogates_are_no_text() -> None:
    assert property_set("Cs", 0).size() == 0
    assert explorer.regex(r"\p{Cs}").is_empty()


_PIECES = st.sampled_from(
    [
        r"\p{Lu}",
        r"\pL",
        r"\P{L}",
        r"[\p{Nd}x]",
        r"[^\p{Ll}]",
        "(?<n>a)",
        r"\z",
        "b",
        "(?:",
        ")",
        "|",
        "*",
        "?",
    ]
)


@given(st.lists(_PIECES, max_size=8).map("".join), st.text("aAbxßÄ5٣ \n", max_size=5))
def test_random_patterns_mean_what_they_mean_to_the_library(pattern: str, text: str) -> None:
    in_its_words = pattern.replace(r"\z", r"\Z")
    try:
        ours = explorer.regex(pattern)
    except RegexError:
        return
    assert ours.accepts(text) == (regex_library.fullmatch(in_its_words, text) is not None)


def test_a_terminal_may_be_named_either_way() -> None:
    assert explorer.regex("(?<SUBSTRING_OF>abc)").equivalent(
        explorer.regex("(?P<SUBSTRING_OF>abc)")
    )


COMPILED = [
    re.compile("a.b"), re.compile("a.b", re.I), re.compile("a . b # c", re.X),
    re.compile("a.b", re.S),
    re.compile("(?i)a.b"), re.compile("(?i)a.b", re.S), re.compile("ab$|^\n", re.M | re.I),
    re.compile(r"\w+", re.A), re.compile(r"\w+"), re.compile(r"(?a)\w", re.I),
    re.compile(" (?i)a", re.X), re.compile("k|ſ", re.I), re.compile("[k]", re.I | re.A),
]  # fmt: skip


@pytest.mark.parametrize("compiled", COMPILED, ids=str)
def test_the_flags_of_a_compiled_pattern_hold(compiled: re.Pattern[str]) -> None:
    ours = explorer.regex(compiled)
    assert explorer.gen(regex=compiled).source == ours.source
    assert ours.source.text.endswith(compiled.pattern)
    texts = [
        "",
        "a",
        "A",
        "ab",
        "a b",
        "aXb",
        "A\nB",
        "axb # c",
        "ä",
        "\n",
        "k",
        "K",
        "\u212a",
        "ſ",
        "s",
    ]
    for text in texts:
        assert ours.accepts(text) == (compiled.fullmatch(text) is not None), text
    back = source_from_dict(source_to_dict(ours.source))
    assert back == ours.source == pickle.loads(pickle.dumps(ours)).source
    assert read_expression(repr(ours)) == ours.source
