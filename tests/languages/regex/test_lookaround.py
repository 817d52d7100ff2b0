"""Assertions as sets of pointed words: each against `re` at every place of every short text."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given

from explorer.automata.construction.operations import dfa_to_nfa, difference, minimal_dfa
from explorer.automata.machine import NO_ARC, Dfa, Nfa
from explorer.automata.tree import lookaround
from explorer.automata.tree.assertions import meaning, without_edge_anchors
from explorer.automata.tree.lookaround import Resolver
from explorer.automata.tree.nodes import Assertion, AssertionKind, walk
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, RegexError
from explorer.languages.regex import compile_pattern, parse
from tests.languages.regex.strategies import patterns

SHORT = ["".join(t) for n in range(5) for t in itertools.product("ab\nſ", repeat=n)]

ASSERTIONS = [
    "^", "$", r"\A", r"\Z", r"\b", r"\B", "(?m:^)", "(?m:$)", r"(?a:\b)", r"(?a:\B)", "(?=a)",
    "(?!a)",
    "(?=a*b)", "(?!.*b)", "(?<=a)", "(?<!a)", "(?<=ab)", "(?<!ab)", "(?=)", "(?!)", "(?<=)",
    "(?<!)",
    "(?<=a(?=b))", "(?<=a(?!b))", "(?<!a(?=b))", "(?=a(?<=ba))", "(?!a(?<!ba))", "(?=(?!a).)",
    "(?<=(?<!a)b)", "(?<=(?<=a)b)", r"(?<=\b.)", r"(?=.\b)", r"(?=\B.$)", "(?<=^a)", "(?m:(?<=^a))",
    "(?!$)", "(?<!^)", r"(?<=(?=ab)a(?=b\b).)", "(?=(?=(?=a)))", "(?!(?!(?!a)))",
    r"(?:(?<=a)|(?=b))",
    r"(?=(?:a(?=b)|b)*$)", r"(?i:(?<=S))", "(?=(?s:.)*ſ)", "(?<=a$)", "(?<=\n)(?=^)",
]  # fmt: skip


def read(machine: Dfa, symbols: list[int]) -> bool:
    state = machine.start
    for symbol in symbols:
        if state == NO_ARC:
            return False
        state = int(machine.table[state, machine.symbol_class[symbol]])
    return state != NO_ARC and bool(machine.accepting[state])


@pytest.mark.parametrize("pattern", ASSERTIONS)
def test_pointed_words(pattern: str) -> None:
    tree = parse(pattern)
    compiled = re.compile(pattern)
    resolver = Resolver(tree.root, Meter())
    classes = resolver.classes
    symbol_of = {
        char: next(s for s in range(classes.num_classes) if ord(char) in classes.characters([s]))
        for char in "ab\nſ"
    }
    if not isinstance(tree.root, Assertion):
        return _only_as_a_pattern(pattern)
    pointed = resolver.pointed(tree.root)
    for text in SHORT:
        symbols = [symbol_of[char] for char in text]
        for place in range(len(text) + 1):
            word = [*symbols[:place], resolver.point, *symbols[place:]]
            assert read(pointed, word) == (compiled.match(text, place) is not None), (text, place)


def _only_as_a_pattern(pattern: str) -> None:
    """Several assertions side by side: judged inside a pattern that reads the rest of the text."""
    around = f"(?s:.*){pattern}(?s:.*)"
    machine = compile_pattern(around, Meter())[1]
    compiled = re.compile(around)
    for text in SHORT:
        assert machine.accepts(text.encode()) == (compiled.fullmatch(text) is not None)


@pytest.mark.parametrize("left", ["a*", "(?s:.)*", "(?:a|b)?"])
@pytest.mark.parametrize("pattern", ASSERTIONS)
def test_inside_a_pattern(pattern: str, left: str) -> None:
    whole = f"{left}{pattern}(?:b|\n|ſ|a)*"
    machine = compile_pattern(whole, Meter())[1]
    compiled = re.compile(whole)
    for text in SHORT:
        assert machine.accepts(text.encode()) == (compiled.fullmatch(text) is not None), text


def test_re_sees_the_text_before_the_place() -> None:
    """An assumption of `test_pointed_words`: ``match(text, place)`` does not cut the text off."""
    assert re.compile("(?<=a)").match("ab", 1)
    assert re.compile(r"\b").match("ab", 1) is None


# What must not be simplified.


def test_an_inner_assertion_sees_the_whole_text() -> None:
    machine = compile_pattern("a(?<=a(?=b))b", Meter())[1]
    assert machine.accepts(b"ab")


class InnerOnly(Resolver):
    """A mutant: the body of a lookaround is judged inside the lookaround only."""

    def _looked(self, assertion: Assertion) -> Dfa:
        assert assertion.body is not None
        alone = self.language(assertion.body)  # Here the inner marks see the body and no more.
        nfa = dfa_to_nfa(alone)
        ahead = assertion.kind is AssertionKind.AHEAD
        before, after, last = nfa.num_states, nfa.num_states + 1, self.point - 1
        loops = [(before, 0, last, before), (after, 0, last, after)]
        epsilons: list[tuple[int, int]] = []
        if ahead:
            loops.append((before, self.point, self.point, nfa.start))
            epsilons += [(int(end), after) for end in nfa.accepting]
        else:
            epsilons.append((before, nfa.start))
            loops += [(int(end), self.point, self.point, after) for end in nfa.accepting]
        whole = Nfa(
            nfa.num_states + 2,
            before,
            np.concatenate([nfa.arcs, np.array(loops, np.int32)]),
            np.array(epsilons, np.int32).reshape(-1, 2),
            np.array([after], np.int32),
            self.num_symbols,
        )
        return minimal_dfa(whole, self.meter)


class StrictDollar(Resolver):
    """A mutant: ``$`` holds at the very end only, not before a final newline."""

    def _holding(self, assertion: Assertion) -> Dfa:
        if assertion.kind is AssertionKind.FINAL_LINE_END:
            assertion = Assertion(assertion.start, assertion.end, AssertionKind.TEXT_END)
            self._marks[meaning(assertion)] = self.num_symbols - 1
        return super()._holding(assertion)


@pytest.mark.parametrize(
    ("mutant", "pattern"),
    [
        (InnerOnly, "a(?<=a(?=b))b"),
        (InnerOnly, r"(?s:.)*(?<=\b.)"),
        (StrictDollar, "a$\n"),
        (StrictDollar, "(?:a$|\n)*"),
    ],
)
def test_the_oracle_finds_mutants(mutant: type[Resolver], pattern: str) -> None:
    def disagreements(kind: type[Resolver]) -> list[str]:
        root = without_edge_anchors(parse(pattern).root)
        resolver = kind(root, Meter())
        nfa = lookaround.in_bytes(resolver.language(root), resolver.classes, Meter())
        machine = minimal_dfa(nfa, Meter())
        compiled = re.compile(pattern)
        return [t for t in SHORT if machine.accepts(t.encode()) != bool(compiled.fullmatch(t))]

    assert not disagreements(Resolver)
    assert disagreements(mutant)


# Simplifications at the edges, and sharing.


@given(patterns)
def test_edge_anchors_change_nothing(pattern: str) -> None:
    try:
        tree = parse(pattern)
    except RegexError:
        assume(False)
        return
    simplified = without_edge_anchors(tree.root)
    resolver = Resolver(tree.root, Meter())
    try:
        whole, simple = resolver.language(tree.root), resolver.language(simplified)
    except BudgetExceeded:  # Lookaheads in lookaheads of bounded repeats multiply.
        assume(False)
        return
    assert difference(whole, simple, Meter()).num_states == 0
    assert difference(simple, whole, Meter()).num_states == 0


def test_anchors_at_the_edges_cost_nothing() -> None:
    for pattern in ("^a$", r"\Aa\Z", "(?m)^a$", "(^a|(?:^b))$", "^^(?:a$|b$)"):
        root = without_edge_anchors(parse(pattern).root)
        assert not any(isinstance(node, Assertion) for node in walk(root)), pattern
    for pattern in ("a^", "$a", "(?:^a)*", "(?:a$)+", "(?=^)a", "a?^b"):
        root = without_edge_anchors(parse(pattern).root)
        assert any(isinstance(node, Assertion) for node in walk(root)), pattern


# Growth.


def test_the_same_lookahead_twenty_times() -> None:
    machine = compile_pattern("(?=.*x)" * 20 + ".*", Meter())[1]
    assert machine.accepts(b"axb") and not machine.accepts(b"ab")


def test_twenty_lookaheads_for_twenty_letters_stay_within_the_budget() -> None:
    pattern = "".join(f"(?=.*{chr(97 + k)})" for k in range(20)) + ".*"
    with pytest.raises(BudgetExceeded):
        compile_pattern(pattern, Meter(Budget(states=50_000, seconds=30)))
    with pytest.raises(BudgetExceeded):
        compile_pattern(pattern, Meter(Budget(seconds=1.0)))


def test_a_lookbehind_that_remembers_everything_stays_within_the_budget() -> None:
    with pytest.raises(BudgetExceeded):
        compile_pattern("(?:a|b)*(?<=a[ab]{30})c", Meter(Budget(seconds=2.0)))
