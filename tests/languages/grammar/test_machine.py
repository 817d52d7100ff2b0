"""The machine of a grammar against an Earley recognizer that shares no code with it."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.errors import GrammarError, NotRegular
from explorer.languages.constraint import Constraint
from explorer.languages.grammar.functions import grammar
from tests.languages.grammar.earley import Earley, Productions, as_gbnf

NAMES = ("root", "ex", "why")

options = st.lists(st.sampled_from(("a", "b", "(", *NAMES)), max_size=4).map(tuple)
productions = st.fixed_dictionaries(
    {name: st.lists(options, min_size=1, max_size=3, unique=True) for name in NAMES}
)


def readable(rules: Productions) -> Constraint | None:
    """The constraint; nothing if the rules have a fault that is refused."""
    try:
        return grammar(as_gbnf(rules), ambiguous=True)
    except GrammarError:
        return None


def state_after(machine: ByteMachine, text: str) -> int:
    state = machine.start
    for byte in text.encode():
        state = machine.step(state, byte)
    return state


def check(rules: Productions, constraint: Constraint, longest: int) -> None:
    oracle = Earley(rules)
    machine = constraint.machine
    for length in range(longest + 1):
        for letters in itertools.product("ab(", repeat=length):
            text = "".join(letters)
            state = state_after(machine, text)
            assert (state != NO_ARC) == oracle.viable(text), text
            assert machine.is_accepting(state) == oracle.accepts(text), text


@given(productions)
def test_random_grammars(rules: Productions) -> None:
    constraint = readable(rules)
    if constraint is not None:
        check(rules, constraint, 5)


HARD: dict[str, Productions] = {
    "nested": {"root": [("a", "root", "b"), ()]},
    "left recursion": {"root": [("root", "a"), ("b",)]},
    "hidden left recursion": {"root": [("ex", "root", "a"), ("b",)], "ex": [(), ("a",)]},
    "left and right": {"root": [("root", "a", "root"), ("b",)]},
    "every cut": {"root": [("root", "root"), ("a",), ("a", "b")]},
    "a circle of two": {"root": [("ex", "a")], "ex": [("root", "b"), ("a",)]},
    "a circle of three": {
        "root": [("ex", "a"), ("b",)],
        "ex": [("why", "b")],
        "why": [("root", "(")],
    },
    "palindromes": {"root": [("a", "root", "a"), ("b", "root", "b"), ()]},
    "dangling else": {"root": [("a", "root"), ("a", "root", "b", "root"), ("(",)]},
    "the last call": {"root": [("a", "root"), ("(", "ex")], "ex": [("root", "b"), ("b",)]},
    "empty in between": {"root": [("ex", "ex", "root", "b"), ("a",)], "ex": [("(",), ()]},
    "two ends": {
        "root": [("ex", "why")],
        "ex": [("a", "ex", "b"), ()],
        "why": [("b", "why", "a"), ()],
    },
}


@pytest.mark.parametrize("name", HARD)
def test_hard_grammars(name: str) -> None:
    constraint = readable(HARD[name])
    assert constraint is not None
    check(HARD[name], constraint, 7)


def test_the_oracle_can_fail() -> None:
    """A machine that forgets what called it accepts what the recognizer does not."""
    rules = HARD["nested"]
    with pytest.raises(AssertionError):
        check(rules, explorer.regex("a*b*"), 4)
    mutant = {"root": [("a", "root", "b"), ("a", "b")]}
    constraint = readable(rules)
    assert constraint is not None
    with pytest.raises(AssertionError):
        check(mutant, constraint, 4)


@pytest.mark.parametrize("name", HARD)
def test_masks_over_tokens_are_exact(name: str) -> None:
    """A token is allowed if what it writes is the beginning of a word; every byte is a token."""
    constraint = readable(HARD[name])
    assert constraint is not None
    oracle = Earley(HARD[name])
    random_texts = random.Random(3)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += {"".join(random_texts.choices("ab(", k=k)).encode() for k in (2, 2, 3, 3, 3, 4, 5, 6)}
    vocabulary = explorer.Vocabulary.from_bytes(tokens, eos_ids=[len(tokens)])
    machine = explorer.compile(constraint, vocabulary, lazy=True)
    reached = [(machine.start, "")]
    for state, text in itertools.islice(reached, 25):  # The list grows while it is read.
        allowed = machine.allowed(state)
        for token, data in enumerate(tokens):
            whole = text + data.decode("latin-1")
            if data not in b"ab(" and len(data) == 1:
                assert not allowed[token]
                continue
            assert allowed[token] == oracle.viable(whole)
            if allowed[token] and len(whole) < 9:
                after = machine.step(state, token)
                assert after is not None
                reached.append((after, whole))
        assert allowed[len(tokens)] == machine.is_final(state) == oracle.accepts(text)


def test_a_grammar_that_does_not_recurse_is_a_table() -> None:
    constraint = grammar('root ::= word ("," word)*\nword ::= [a-c]+ | "x" word')
    assert constraint.equivalent(explorer.regex("(x*[a-c]+)(,(x*[a-c]+))*"))
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"x", b","], eos_ids=[3])
    assert isinstance(explorer.compile(constraint, vocabulary), explorer.TokenDFA)


def test_a_grammar_that_recurses_is_lazy_and_says_why() -> None:
    constraint = grammar('root ::= "a" root "b" | ""')
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"bb", b"aaab"], eos_ids=[4])
    machine = explorer.compile(constraint, vocabulary)
    assert machine.report.reason == ("The grammar recurses (root), so no finite machine reads it.")
    with pytest.raises(NotRegular, match=r"recurses \(root\)"):
        explorer.compile(constraint, vocabulary, lazy=False)
    state = machine.step(machine.start, 3)
    assert state is not None
    assert machine.allowed(state).tolist() == [False, True, True, False, False]
    assert machine.distance_to_end(state) == 2  # "bb", and the end.


def test_exponential_ambiguity_stays_small() -> None:
    every_cut = grammar('root ::= root root | root root root | "a" | ""', ambiguous=True)
    assert every_cut.accepts("a" * 150)
    assert every_cut.machine.num_states <= 152  # One for each place, not for each derivation.
