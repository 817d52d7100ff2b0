"""Constraints: their algebra, conveniences, and parts that are shared."""

from __future__ import annotations

import itertools
import pickle
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer import (
    Constraint,
    Vocabulary,
    choice,
    from_type,
    gen,
    json_schema,
    literal,
    many,
    template,
)
from explorer.budget import Budget
from explorer.cli.commands import parser
from explorer.cli.options import constraint_of
from explorer.errors import BudgetExceeded, ConstraintError, DamagedFile, EmptyConstraint
from explorer.languages.constraint import regex
from explorer.languages.sources.algebra import MOST_PARTS
from explorer.languages.sources.registry import read
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from explorer.languages.template.expression import read_expression
from tests.automata.test_operations import nfas
from tests.evidence import examples
from tests.optional import interegular, pynini
from tests.patterns import ALPHABET, patterns

# The algebra as languages, and machines from and for elsewhere.


TEXTS = ["".join(t) for n in range(4) for t in product(ALPHABET, repeat=n)]


def words_of(constraint: explorer.Constraint) -> set[str]:
    return {text for text in TEXTS if constraint.accepts(text)}


def matches(pattern: str) -> set[str]:
    return {text for text in TEXTS if re.fullmatch(pattern, text)}


@given(patterns(), patterns())
@settings(max_examples=examples(25))
def test_operators_are_set_operations(left: str, right: str) -> None:
    a, b = explorer.regex(left), explorer.regex(right)
    x, y = matches(left), matches(right)
    assert words_of(a) == x
    assert words_of(a | b) == x | y
    assert words_of(a & b) == x & y
    assert words_of(a - b) == x - y
    assert words_of(~a) == set(TEXTS) - x == words_of(a.complement())
    assert words_of(a.optional()) == x | {""}


@given(patterns(assertions=False, leaves=4), patterns(assertions=False, leaves=4))
@settings(max_examples=examples(25))
def test_concatenation_and_repetition_are_res(left: str, right: str) -> None:
    a, b = explorer.regex(left), explorer.regex(right)
    assert (a + b).equivalent(explorer.regex(f"(?:{left})(?:{right})"))
    assert a.star().equivalent(explorer.regex(f"(?:{left})*"))
    assert a.plus().equivalent(explorer.regex(f"(?:{left})+"))


@given(patterns())
@settings(max_examples=examples(25))
def test_there_and_back_through_other_libraries(pattern: str) -> None:
    c = explorer.regex(pattern)
    assert explorer.Constraint.from_fst(c.fsa, labels="explorer").equivalent(c)
    assert explorer.Constraint.from_fsm(c.to_interegular()).equivalent(c)
    assert explorer.Constraint(source_from_dict(source_to_dict(c.source))).equivalent(c)


@given(nfas())
@settings(max_examples=examples(20))
def test_questions(nfa: object) -> None:
    """Finiteness and examples against enumeration, over machines that text never makes."""
    from explorer.automata.construction import operations
    from explorer.automata.words import is_finite, shortest_word, words
    from explorer.budget import Meter

    dfa = operations.minimal_dfa(nfa, Meter())  # type: ignore[arg-type]
    found: list[bytes] = []
    for word in words(dfa):
        found.append(word)
        if len(found) == 60:
            break
    assert found == sorted(found, key=lambda w: (len(w), w)) and len(set(found)) == len(found)
    assert all(dfa.accepts(word) for word in found)
    if found:
        assert shortest_word(dfa) == found[0]
        longest = len(found[-1]) - 1 if len(found) == 60 else min(len(found[-1]), 3)
        symbols = [0, 97, 98, 99, 100, 150, 200, 201, 255]
        for n in range(min(longest, 3) + 1):
            for letters in product(symbols, repeat=n):
                word = bytes(letters)
                assert not dfa.accepts(word) or word in found
    else:
        with pytest.raises(EmptyConstraint):
            shortest_word(dfa)
    # A finite language of a machine with n states has no word of n bytes or more.
    assert is_finite(dfa) or len(found) == 60
    if is_finite(dfa):
        assert all(len(word) < dfa.num_states for word in found)


_plain = st.recursive(
    st.sampled_from(["a", "b", "ä", "[ab]", "[^a]", ".", "[b-d]", "1"]),
    lambda inner: st.one_of(
        st.builds(lambda p, q: p + q, inner, inner),
        st.builds(lambda p, q: f"({p}|{q})", inner, inner),
        st.builds(
            lambda p, q: f"(?:{p}){q}", inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])
        ),
    ),
    max_leaves=6,
)


@given(_plain)
@settings(max_examples=examples(25))
def test_interegular_agrees_on_random_patterns(pattern: str) -> None:
    theirs = explorer.Constraint.from_fsm(interegular.parse_pattern(pattern).to_fsm())
    assert theirs.equivalent(explorer.regex(pattern))
    assert not theirs.equivalent(explorer.regex(f"(?:{pattern})zz"))


def test_to_interegular_accepts_the_same_texts() -> None:
    for pattern in [r"\w{1,2}", r"(?i)straße", r"[^a]|aa", r"a(?!b)."]:
        fsm = explorer.regex(pattern).to_interegular()
        for text in [*TEXTS, "straße", "STRASSE", "STRAẞE", "ſtraße"]:
            assert fsm.accepts(text) == bool(re.fullmatch(pattern, text)), (pattern, text)


def test_from_fst_reads_each_convention() -> None:
    by_bytes = pynini.union("ab", "ä").closure().optimize()
    assert explorer.Constraint.from_fst(by_bytes).accepts("abäab")
    with pynini.default_token_type("utf8"):
        by_points = pynini.union("ä", "🙂").optimize()
    points = explorer.Constraint.from_fst(by_points, labels="codepoints")
    assert points.examples() == ["ä", "🙂"]
    nul = explorer.Constraint.from_fst(explorer.regex("\x00a").fsa, labels="explorer")
    assert nul.examples() == ["\x00a"]
    assert explorer.Constraint.from_fst(pynini.Fst()).is_empty()


@pytest.mark.parametrize(
    ("label", "labels"),
    [(-5, "bytes"), (256, "bytes"), (0x110000, "codepoints"), (257, "explorer")],
)
def test_a_label_past_its_convention_is_refused(label: int, labels: Any) -> None:
    fst = pynini.Fst()
    start, end = fst.add_state(), fst.add_state()
    fst.set_start(start).set_final(end).add_arc(start, pynini.Arc(label, label, 0, end))
    with pytest.raises(ConstraintError, match=f"The label {label} is not a label"):
        explorer.Constraint.from_fst(fst, labels=labels)


def test_emptiness_and_finiteness() -> None:
    assert explorer.regex("a$b").is_empty() and explorer.regex("[^\\s\\S]").is_empty()
    assert explorer.regex("a{0,50}").is_finite() and not explorer.regex("a*").is_finite()
    assert explorer.regex("(foo)+d").examples(3) == ["food", "foofood", "foofoofood"]
    assert explorer.regex("a$b").examples() == []


def test_long_chains_are_flat_and_deep_ones_are_refused() -> None:
    names = [f"x{n}" for n in range(600)]
    either = explorer.literal(names[0])
    each = explorer.literal(names[0])
    for name in names[1:]:
        either = either | explorer.literal(name)
        each = each + explorer.literal(name)
    assert either.equivalent(explorer.choice(names))
    assert each.accepts("".join(names))
    deep = explorer.regex("a*")
    with pytest.raises(ConstraintError, match="more than 200 deep") as caught:
        for _ in range(300):
            deep = deep & explorer.regex("a*")
    assert "in pairs" in caught.value.remedy
    assert deep.accepts("aaa") and repr(deep)


def test_examples_keep_to_their_budget() -> None:
    """The clock is looked at before the first word is found, and between words."""
    long = regex("[a-z]{0,20000}").within(Budget())
    with pytest.raises(BudgetExceeded):
        long.examples(3, budget=Budget(seconds=1e-9))
    with pytest.raises(BudgetExceeded, match="words"):
        regex("[ab]*").examples(2**70, budget=Budget(bytes=100_000))
    assert long.examples(2) == ["", "a"]


NESTED = explorer.grammar('root ::= "(" root ")" | "x"')
OTHER = explorer.grammar('root ::= "(" root ")" | "y"')


@pytest.mark.parametrize(
    ("combined", "text", "is_word"),
    [
        (NESTED & regex("[(]+"), "((x))", False),
        (NESTED & OTHER, "x", False),
        (NESTED & regex(".{5}"), "((x))", True),
        (NESTED - regex("x"), "x", False),
        (NESTED - OTHER, "(x)", True),
        (~NESTED, "(x", True),
        (~NESTED, "(x)", False),
        (~NESTED, b"\xff", False),
        (~(NESTED & OTHER) - regex("z"), "x", True),
    ],
    ids=str,
)
def test_membership_is_asked_of_the_parts(
    combined: explorer.Constraint, text: str | bytes, is_word: bool
) -> None:
    """Whether two grammars share a word cannot be searched out; whether a text is in both can."""
    assert combined.accepts(text) == is_word


# Plain texts beside constraints, numbers in choices, repeats by number, parts of any text.


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


# A source that holds one part many times is refused before anything walks it.


@pytest.mark.parametrize(
    "step",
    [
        lambda c: c + c,
        lambda c: c | c,
        lambda c: (c & c) | c,
        lambda c: c - c,
        lambda c: ~(c & c),
        lambda c: (c + c).star(),
    ],
)  # fmt: skip
def test_a_constraint_combined_with_itself_is_refused(step: Any) -> None:
    """Each step doubles what would be walked; forty of them would never end."""
    made = literal("a")
    with pytest.raises(ConstraintError, match="parts written out") as raised:
        for _ in range(40):
            made = step(made)
    assert raised.value.evidence["limit"] == MOST_PARTS


def test_a_part_that_stands_a_few_times_is_followed() -> None:
    """The limit is on what is written out, and says nothing about sharing itself."""
    made = literal("a")
    for _ in range(10):
        made = made + made
    assert made.accepts("a" * 1024)
    assert made.source.parts_written_out == 1025


def test_data_that_is_shared_is_counted_before_it_is_written() -> None:
    """Twenty-five levels of one object in two places are 33 million values."""
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(25):
        schema = {"properties": {"a": schema, "b": schema}}
    with pytest.raises(ConstraintError, match=r"\$defs"):
        json_schema(schema)


# Half of a surrogate pair is refused wherever a constraint is given, with one message.
#
# No file in UTF-8 could hold the constraint, and no text in UTF-8 could match that half.


HALF = "\ud800"


def command_line(*words: str) -> object:
    return constraint_of(parser().parse_args(["compile", "--tokenizer", "none", *words]))


GIVEN: dict[str, Callable[[], object]] = {
    "literal": lambda: literal(HALF),
    "pattern": lambda: regex(f"a|{HALF}"),
    "enum": lambda: json_schema({"enum": ["a", HALF]}),
    "property": lambda: json_schema({"properties": {HALF: True}}),
    "pattern of a schema": lambda: json_schema({"pattern": HALF}),
    "escape in JSON": lambda: json_schema(r'{"items": {"const": "a\ud800"}}'),
    "template": lambda: template(HALF + "{x}", x=regex("a")),
    "generated text": lambda: gen(stop=HALF),
    "separator": lambda: many(regex("a"), separator=HALF),
    "type": lambda: from_type(_literal()),
    "written template": lambda: read("template", r'template("\ud800{x}", x=regex("a"))'),
    "--regex": lambda: command_line("--regex", f"a|{HALF}"),
    "--choice": lambda: command_line("--choice", HALF),
    "--constraint": lambda: command_line("--constraint", "JSON Schema", r'{"const": "\ud800"}'),
}


def _literal() -> Any:
    # Written as text, Python's own tools could not save this file.
    return Literal["\ud800"]


@pytest.mark.parametrize("given", GIVEN)
def test_half_of_a_pair_is_refused_where_it_is_given(given: str) -> None:
    with pytest.raises(ConstraintError, match=r"half of a surrogate pair.*UTF-8 cannot hold"):
        GIVEN[given]()


def test_an_escape_in_a_pattern_is_no_half() -> None:
    for pattern in (r"[^\ud800]a", r"[^\ud800-\udfff]a", r"\ud800|aa"):
        for text in ("aa", "a", "éa"):
            assert regex(pattern).accepts(text) == bool(re.fullmatch(pattern, text))
    found = json_schema({"type": "string", "pattern": r"^[^\ud800-\udfff]$"})
    assert found.accepts('"a"') and not found.accepts('"aa"')


def test_a_class_that_is_not_a_type_of_values_is_refused_in_own_words() -> None:
    for other in (re, _Other, list[_Other]):
        with pytest.raises(ConstraintError) as refused:
            from_type(other)
        assert "not a type whose values JSON can hold" in refused.value.message
        assert "arbitrary_types_allowed" not in str(refused.value)


class _Other:
    """A class that says nothing about its values."""
