"""The algebra as languages, and machines from and for elsewhere."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.budget import Budget
from explorer.errors import BudgetExceeded, ConstraintError, EmptyConstraint
from explorer.languages.constraint import regex
from explorer.languages.sources.serial import source_from_dict, source_to_dict
from tests.automata.test_operations import nfas
from tests.evidence import examples
from tests.optional import interegular, pynini
from tests.patterns import ALPHABET, patterns

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


def test_interegular_reads_what_it_can_as_we_do() -> None:
    for pattern in [r"(foo)+d", r"[^a-c]x*", r"ä|ö|[x-z]{2,3}", "🙂?.", r"a{2,4}(b|c)?", r"[\w]+"]:
        theirs = explorer.Constraint.from_fsm(interegular.parse_pattern(pattern).to_fsm())
        ours = explorer.regex(f"(?a){pattern}")
        assert theirs.equivalent(ours), pattern
    different = interegular.parse_pattern("a|b").to_fsm()
    assert not explorer.Constraint.from_fsm(different).equivalent(explorer.regex("a|c"))


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
