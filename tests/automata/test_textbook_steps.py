"""The lessons' own subset construction and minimization, held equal to the engine's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, cast

import pytest

from explorer.automata.construction.minimize import minimize
from explorer.automata.construction.subset import determinize
from explorer.automata.machine import Nfa
from explorer.automata.textbook.composition import fst_letters
from explorer.automata.textbook.detokenizing import detokenizing_fst
from explorer.automata.textbook.steps import Subsets, pairs_of, rounds_of, subsets_of
from explorer.automata.tree.layout import lay_out
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import regex
from explorer.languages.regex import parse
from explorer.vocabulary import Vocabulary
from widgets.lessons.lettered import acceptor, dfa_letters, matched, subset_letters

PATTERNS = [
    "ab", "a(aa)*", "a+|b+", "a+|ab", r"([0-9]+)?\.[0-9]+", "(foo)+d", "(a|b)*a(a|b)(a|b)",
    "(yes|no|maybe)?", "[a-c]x|[b-d]y", "a{2,5}", "",
]  # fmt: skip


def nfa_of(pattern: str) -> Nfa:
    return lay_out(parse(pattern).root, Meter())


def run(found: Subsets, data: bytes) -> bool:
    state = 0
    for byte in data:
        after = [t for s, low, high, t in found.arcs if s == state and low <= byte <= high]
        if not after:
            return False
        (state,) = after
    return state in found.accepting


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_sets_are_a_deterministic_machine_of_the_pattern(pattern: str) -> None:
    nfa = nfa_of(pattern)
    mine, theirs = subsets_of(nfa), determinize(nfa, Meter())
    # The fast one leaves out states that only ε leaves, so it may have fewer sets.
    assert len(mine.sets) >= theirs.num_states
    for word in (b"", b"a", b"ab", b"aa", b"aaa", b"23.37", b"food", b"maybe", b"by", b"aab"):
        assert run(mine, word) == theirs.accepts(word)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_blocks_are_the_states_of_the_minimal_machine(pattern: str) -> None:
    nfa = nfa_of(pattern)
    rounds = rounds_of(subsets_of(nfa))
    minimal = minimize(determinize(nfa, Meter()), Meter())
    assert len(set(rounds[-1])) == minimal.num_states
    # The blocks are the minimal machine, arc by arc.
    found, blocks = subsets_of(nfa), rounds[-1]
    arcs = {(blocks[s], low, high, blocks[t]) for s, low, high, t in found.arcs}
    quotient = Subsets(
        tuple(frozenset([k]) for k in sorted(set(blocks))),
        tuple(sorted(arcs)),
        frozenset(blocks[k] for k in found.accepting),
    )
    assert matched(subset_letters(quotient), dfa_letters(minimal)) is not None
    # Each round only splits blocks.
    for before, after in pairwise(rounds):
        assert len(set(after)) > len(set(before))
        assert len(set(zip(before, after, strict=True))) == len(set(after))


def test_the_sets_can_be_many_and_are_counted() -> None:
    assert len(subsets_of(nfa_of("(a|b)*a(a|b){5}")).sets) >= 2**6
    with pytest.raises(BudgetExceeded):
        subsets_of(nfa_of("(a|b)*a(a|b){12}"), Meter(Budget(states=500)))


@pytest.mark.parametrize("form", ["compact", "original"])
@pytest.mark.parametrize("pattern", ["(foo)+d", "foo|for", "f*(oo)*"])
def test_the_pairs_are_pyninis_composition(
    pattern: str, form: Literal["compact", "original"]
) -> None:
    pynini = pytest.importorskip("pynini")

    vocabulary = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
    constraint = regex(pattern)
    transducer = cast(Any, detokenizing_fst(vocabulary, form))
    theirs = pynini.compose(transducer, constraint.fsa, connect=False)
    letters = dfa_letters(constraint.dfa)
    single = [(s, one, t) for s, read, _, t in letters.arcs for one in read.split()]
    reads = acceptor(letters.num_states, single, letters.accepting)
    found = pairs_of(fst_letters(transducer), reads)
    assert matched(found.machine, fst_letters(theirs.project("input"))) is not None
    assert sum(arc.new for arc in found.arcs) == len(found.pairs) - 1
