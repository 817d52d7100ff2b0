"""The stretch of the text for each part, against a search through all divisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer

PARTS = ("a*", "[ab]+", "b?", "(ab)*", "a|ab|abc", "[abc]{0,2}")


def divisions(patterns: list[str], text: str) -> Iterator[list[str]]:
    """All divisions, the first stretch longest first, then the second, and so on."""
    if not patterns:
        if not text:
            yield []
        return
    for end in range(len(text), -1, -1):
        if re.fullmatch(patterns[0], text[:end]):
            for rest in divisions(patterns[1:], text[end:]):
                yield [text[:end], *rest]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), st.text("abc", max_size=7))
def test_each_part_takes_the_longest_stretch(patterns: list[str], text: str) -> None:
    first = next(divisions(patterns, text), None)
    names = [f"p{k}" for k in range(len(patterns))]
    whole = explorer.template(
        "".join(f"{{{name}}}" for name in names),
        **{name: explorer.gen(regex=p) for name, p in zip(names, patterns, strict=True)},
    )
    assert whole.accepts(text) == (first is not None)
    if first is not None:
        assert list(whole.parse(text).values()) == first


@given(
    st.sampled_from(PARTS), st.sampled_from(["", "c", "ab"]),
    st.integers(0, 2), st.integers(0, 2) | st.none(), st.text("abc", max_size=7),
)  # fmt: skip
def test_many_against_every_number_of_repetitions(
    pattern: str, separator: str, least: int, more: int | None, text: str
) -> None:
    most = None if more is None else least + more
    several = explorer.many(explorer.regex(pattern), least, most, separator=separator)
    possible: list[list[str]] = []
    # No more repetitions than characters: further ones would be empty.
    for count in range(least, (len(text) + 2 if most is None else most) + 1):
        pieces = [pattern, *([re.escape(separator), pattern] * (count - 1))] if count else []
        possible += [division[::2] for division in divisions(pieces, text)]
    assert several.accepts(text) == bool(possible)
    if possible:
        found = several.parse(text)
        assert found in possible
        # The longest stretches from the left, and no more of them than needed.
        assert [len(p) for p in found] == max(
            ([len(p) for p in division] for division in possible),
            key=lambda lengths: (lengths + [-1] * 20)[:20],
        )[: len(found)]


@pytest.mark.parametrize("separator", ["", "c", "ab"])
@pytest.mark.parametrize("pattern", PARTS)
def test_many_of_a_machine_that_is_discovered_divides_alike(pattern: str, separator: str) -> None:
    several = explorer.many(explorer.regex(pattern), separator=separator)
    texts = [text for text in map("".join, product("abc", repeat=5)) if several.accepts(text)]
    # With a word that is too long for a closed form, and that is in none of the texts.
    large = explorer.many(explorer.regex(f"{pattern}|x{{300000}}"), separator=separator)
    assert [large.parse(text) for text in texts] == [several.parse(text) for text in texts]


def test_many_of_a_grammar_that_recurses_is_read_back() -> None:
    nested = explorer.grammar('root ::= "(" root ")" | "x"')
    several = explorer.many(nested, separator=";")
    assert several.parse("((x));x;(x)") == ["((x))", "x", "(x)"]
    assert several.parse("") == []
    assert explorer.many(explorer.regex("a*")).parse("") == []
    assert explorer.many(explorer.regex("a*"), 3).parse("aa") == ["aa", "", ""]
    assert explorer.many(nested, 1, 3).parse("(x)x") == ["(x)", "x"]


def test_a_character_is_never_divided() -> None:
    any_text = explorer.regex("(?s:.*)")
    whole = explorer.template("{x}é{y}", x=any_text, y=any_text)
    assert whole.parse("aéé") == {"x": "aé", "y": ""}


@given(st.text("ab", min_size=1, max_size=4), st.text("abc", max_size=8))
def test_a_part_ends_at_the_first_stop(stop: str, text: str) -> None:
    accepted = explorer.gen(stop=stop).accepts(text)
    assert accepted == ((text + stop).find(stop) == len(text))


@pytest.mark.parametrize("text", ["", "ä" * 300])
def test_stops_of_no_or_many_bytes(text: str) -> None:
    if text:
        assert explorer.gen(stop=text).accepts("ä" * 299) is False
        assert explorer.gen(stop=text).accepts("ä" * 299 + "b")
    else:
        with pytest.raises(explorer.errors.ConstraintError, match="at least one character"):
            explorer.gen(stop=text)


def test_a_part_may_be_a_grammar_that_recurses() -> None:
    nested = explorer.grammar('root ::= "(" root ")" | "a"')
    whole = explorer.template("{x}{y}!", x=explorer.gen(regex="[(]*"), y=nested)
    assert whole.parse("((a))!") == {"x": "", "y": "((a))"}
    listed = explorer.template("{x}){y}", x=nested, y=explorer.gen(regex="[)]*"))
    assert listed.parse("((a))))") == {"x": "((a))", "y": ")"}
