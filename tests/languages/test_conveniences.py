"""Plain texts beside constraints, numbers in choices, repeats by number, parts of any text."""

from __future__ import annotations

import itertools
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer import Constraint, Vocabulary, choice, gen, literal, many, regex, template
from explorer.errors import ConstraintError, DamagedFile
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.languages.template.expression import read_expression

NAMESPACE = {name: getattr(explorer, name) for name in explorer.__all__}


def words(letters: str, longest: int) -> Iterator[str]:
    """Every text over some letters up to a length."""
    for length in range(longest + 1):
        yield from map("".join, itertools.product(letters, repeat=length))


def keeps(constraint: Constraint) -> None:
    """A constraint is what it was after a file, after a process, and as Python writes it."""
    source = constraint.source
    assert source_from_dict(source_to_dict(source)) == source
    assert pickle.loads(pickle.dumps(constraint)).source == source
    assert read_expression(source.spelled()) == source
    assert eval(source.spelled(), NAMESPACE).source == source


BESIDE_TEXTS: dict[str, tuple[Callable[[], Any], Constraint]] = {
    '"a" | regex("b+")': (lambda: "a" | regex("b+"), literal("a") | regex("b+")),
    'regex("b+") | "a" | "c"': (
        lambda: regex("b+") | "a" | "c", regex("b+") | literal("a") | literal("c"),
    ),
    '"a." + regex("b+") + ""': (
        lambda: "a." + regex("b+") + "", literal("a.") + regex("b+") + literal(""),
    ),
    'regex("[ab]") - "a"': (lambda: regex("[ab]") - "a", regex("[ab]") - literal("a")),
    '"a" - regex("[ab]")': (lambda: "a" - regex("[ab]"), literal("a") - regex("[ab]")),
    'regex("[ab]") & "a"': (lambda: regex("[ab]") & "a", regex("[ab]") & literal("a")),
    '"a" & regex("[ab]")': (lambda: "a" & regex("[ab]"), literal("a") & regex("[ab]")),
    'many("ab", 1, 2)': (lambda: many("ab", 1, 2), many(literal("ab"), 1, 2)),
    'regex("a|bc").times(2, 3)': (lambda: regex("a|bc").times(2, 3), regex("(?:a|bc){2,3}")),
    'regex("a|bc").times(2)': (lambda: regex("a|bc").times(2), regex("(?:a|bc){2}")),
    'regex("a|bc").times(2, None)': (
        lambda: regex("a|bc").times(2, None), regex("(?:a|bc){2,}"),
    ),
    'regex("a").times(0)': (lambda: regex("a").times(0), literal("")),
    'choice("a", "b", 3)': (lambda: choice("a", "b", 3), choice(["a", "b", "3"])),
    "choice([1, -2.5])": (lambda: choice([1, -2.5]), choice(["1", "-2.5"])),
    "gen()": (lambda: gen(), regex("(?s).*")),
    "gen(stop_regex='[.!]')": (lambda: gen(stop_regex="[.!]"), regex("[^.!]*")),
}  # fmt: skip


@pytest.mark.parametrize("expression", BESIDE_TEXTS)
def test_a_convenience_means_what_it_is_short_for(expression: str) -> None:
    made, same = BESIDE_TEXTS[expression]
    assert made().equivalent(same)
    assert read_expression(expression) == made().source
    keeps(made())


def test_numbers_are_chosen_as_python_writes_them() -> None:
    given: list[Any] = [1, -2, 2.5, 1e300, np.int64(7), np.float64(0.5), "x"]
    texts = ["1", "-2", "2.5", "1e+300", "7", "0.5", "x"]
    assert choice(given).source == choice(texts).source == choice(*given).source
    assert gen(choices=[1, 2]).source == choice(["1", "2"]).source
    assert choice([1, 2]).parse("2") == "2"
    for wrong in (True, float("nan"), float("inf"), None, b"a", 1j, 10**5000):
        with pytest.raises(ConstraintError, match="not a text or number"):
            choice(["a", wrong])  # type: ignore[list-item]
    with pytest.raises(ConstraintError, match="single characters"):
        choice("yes")
    with pytest.raises(ConstraintError, match="not a list of texts"):
        choice(1)
    with pytest.raises(ConstraintError, match=r"texts\[0\] is"):
        choice(["a"], "b")
    with pytest.raises(DamagedFile):
        source_from_dict({"kind": "choice", "texts": [1]})


@given(st.integers(0, 4), st.none() | st.integers(0, 3))
def test_times_is_the_repeat_of_a_pattern(fewest: int, more: int | None) -> None:
    most = None if more is None else fewest + more
    ours = regex("a|bb").times(fewest, most)
    braces = f"{{{fewest},{'' if most is None else most}}}"
    for text in words("ab", 7):
        assert ours.accepts(text) == (re.fullmatch(f"(?:a|bb){braces}", text) is not None)
        assert not ours.accepts(text) or ours.parse(text) == text
    keeps(ours)


def test_named_repeats_are_times() -> None:
    a = regex("a")
    assert a.star().source == a.times(0, None).source and repr(a.times(0, None)).endswith("star()")
    assert a.plus().source == a.times(1, None).source and repr(a.times(1, None)).endswith("plus()")
    assert a.optional().source == a.times(0, 1).source
    for fewest, most in ((3, 2), (-1, 2), (1.5, 2), (2**40, ...), (1, "2")):
        with pytest.raises(ConstraintError, match=r"below|whole number"):
            a.times(fewest, most)  # type: ignore[arg-type]


def test_repeats_of_earlier_files_are_read() -> None:
    saved = {"kind": "repetition", "parts": [{"kind": "choice", "texts": ["a"]}], "minimum": 1}
    assert source_from_dict(saved | {"unbounded": True}) == literal("a").plus().source
    assert source_from_dict(saved | {"unbounded": False}) == literal("a").times(1).source
    for damage in ({}, {"maximum": 0}, {"maximum": "2"}, {"unbounded": 3}):
        with pytest.raises(DamagedFile):
            source_from_dict(saved | damage)


STOPS = [
    "b",
    "ab",
    "aba",
    "ab|b",
    "b|ab+c",
    "aa|b",
    "a+b",
    "(?:ab)+",
    "a.a",
    "[ab]c",
    "c*b",
    "ca?b",
    r"\w{2}b",
]


@pytest.mark.parametrize("stop", STOPS)
def test_a_text_ends_where_the_first_match_begins(stop: str) -> None:
    """`re` searches the text with each match behind it: one must be found where the text ends."""
    ours = gen(stop_regex=stop)
    matches = [word for word in words("abc", 4) if re.fullmatch(stop, word)]
    for text in words("abc", 5):
        expected = any(
            (match := re.search(stop, text + word)) is not None and match.start() == len(text)
            for word in matches
        )
        assert ours.accepts(text) == expected, text
    keeps(ours)


@given(st.text("ab\né", min_size=1, max_size=4))
def test_a_pattern_that_is_one_text_stops_as_that_text(stop: str) -> None:
    assert gen(stop_regex=re.escape(stop)).equivalent(gen(stop=stop))


def test_a_template_goes_on_with_the_stop() -> None:
    part = gen(stop_regex=re.compile("[.!?]|\n\n"))
    said = template("{what}{mark}{rest}", what=part, mark=regex("[.!?]|\n\n"), rest=gen())
    assert said.parse("1\n2! So.") == {"what": "1\n2", "mark": "!", "rest": " So."}
    keeps(said)
    keeps(gen(stop_regex="[.!]", max_tokens=3))


def test_a_part_of_any_text_and_a_limit() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"\n", b"bc"], eos_ids=[3])
    machine = explorer.compile(gen(max_tokens=2), vocabulary)
    state: int | None = machine.start
    for token in (1, 2):
        assert state is not None and machine.allowed(state).tolist() == [True] * 4
        state = machine.step(state, token)
    assert state is not None and machine.allowed(state).tolist() == [False] * 3 + [True]
    assert gen().accepts("") and gen().accepts("a\n🙂")
    keeps(gen(max_tokens=5))


def test_a_part_with_a_name() -> None:
    age = gen("age", regex="[0-9]+")
    assert age.parse("41") == {"age": "41"}
    assert age.source == template("{age}", age=regex("[0-9]+")).source
    assert gen("answer").parse("a\nb") == {"answer": "a\nb"}
    assert "part `age`" in str(explorer.explain_text(age, "4x"))
    assert (
        read_expression("gen('age', regex='[0-9]+', max_tokens=3)")
        == gen("age", regex="[0-9]+", max_tokens=3).source
    )
    keeps(age)
    for wrong in ("", "a b", "1a", "[0-9]+", 3, b"a"):
        with pytest.raises(ConstraintError, match="not a name"):
            gen(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConstraintError, match="exactly one"):
        gen("x", regex="a", stop="b")
