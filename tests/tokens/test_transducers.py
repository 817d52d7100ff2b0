"""Any transducer from token ids to bytes in place of the usual one, held against pynini's."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import explorer
from explorer.analysis.session import Session
from explorer.automata.interchange.detokenizers import drawn_transducer, fst_of
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.errors import BudgetExceeded, EmptyConstraint, IncompatibleVocabulary
from explorer.tokens.filtered.canonical_automaton import canonical_automaton
from explorer.tokens.machine import TokenMachine
from explorer.tokens.words import DONE
from explorer.vocabulary import TokenTransducer, Vocabulary
from tests.evidence import examples
from tests.optional import pynini
from tests.tokens.test_against_oracles import as_acceptor

TOY = Vocabulary.from_bytes([b"f", b"oo", b"foo", b"for", b"food"], eos_ids=[5])
SPACES = Vocabulary.from_bytes([b" a", b" b", b"a", b" ", b"b"], eos_ids=[5])
NOT_A_SPACE = [(0, bytes([k]), bytes([k]), 1) for k in range(256) if k != 32]
DROPPED = SPACES.transducer.then([(0, b" ", b"", 1), *NOT_A_SPACE], accepting=[0, 1])
"""The first space of a text is dropped."""

PATTERNS = ["(a|b)*", "a b|ba", "[ab]+ ?a", "b*", "a{2,3}"]


def composed(constraint: explorer.Constraint, transducer: TokenTransducer) -> Any:
    """The definition: T ∘ A, its input side, determinized, by pynini alone."""
    fst = fst_of(transducer)
    fst.set_input_symbols(None)
    fst.set_output_symbols(None)
    machine = pynini.compose(fst.arcsort("olabel"), constraint.fsa).project("input")
    return pynini.determinize(machine.rmepsilon()).connect()


@st.composite
def transducers(draw: st.DrawFn) -> TokenTransducer:
    """Up to three states, a few arcs, what they write at random; some read nothing."""
    states = draw(st.integers(1, 3))
    state = st.integers(0, states - 1)
    token = st.one_of(st.integers(0, 4), st.integers(0, 4), st.none())
    data = st.sampled_from([b"", b"a", b"b", b" ", b"ab", b" a", b"ba"])
    arcs = draw(st.lists(st.tuples(state, token, data, state), min_size=1, max_size=8))
    ends = draw(st.sets(state, min_size=1))
    return TokenTransducer.from_arcs(arcs, SPACES, ends)


def end_of_each(machine: explorer.TokenDFA, ids: tuple[int, ...]) -> bool:
    states = machine.walk(ids)
    return len(states) == len(ids) + 1 and machine.is_final(states[-1])


@given(transducers(), st.sampled_from(PATTERNS))
@settings(max_examples=examples(80))
def test_any_transducer_is_composed_as_pynini_does(
    transducer: TokenTransducer, pattern: str
) -> None:
    constraint = explorer.regex(pattern)
    definition = composed(constraint, transducer)
    try:
        machine = explorer.compile(constraint, transducer=transducer, lazy=False)
    except (EmptyConstraint, IncompatibleVocabulary):
        # A token that writes nothing at all, from the start back to it, is never allowed.
        assert definition.num_states() == 0 or transducer.words is not None
        return
    if transducer.words is not None and transducer.words.empty_ids:  # type: ignore[attr-defined]
        return
    assert pynini.equivalent(as_acceptor(machine), definition)
    for wanted in (True, False):
        lazy = explorer.compile(constraint, transducer=transducer, lazy=wanted)
        assert np.array_equal(lazy.allowed(lazy.start), machine.allowed(machine.start))
    theirs = explorer.compile(constraint, transducer=transducer, lazy=False, method="pynini")
    assert np.array_equal(theirs.allowed(0), machine.allowed(0))


def test_a_space_that_is_dropped() -> None:
    machine = explorer.compile(explorer.regex("a b"), transducer=DROPPED)
    for length in range(1, 5):
        for ids in product(range(5), repeat=length):
            assert end_of_each(machine, ids) == (b"a b" in DROPPED.written(ids))
    assert explorer.explain(machine, machine.start, 4).message.startswith("'b' (id 4) is masked")
    session = Session.from_ids(SPACES, machine, [0, 1, 5])
    assert session.finished


def test_a_token_that_writes_something_else() -> None:
    usual = explorer.compile(explorer.regex("(foo)+d"), TOY)
    changed = explorer.compile(
        explorer.regex("(foo)+d"), transducer=TOY.transducer.writing(3, "food")
    )
    assert usual.allowed(0).tolist() == [True, False, True, False, True, False]
    assert changed.allowed(0).tolist() == [True, False, True, True, True, False]
    assert changed.step(changed.walk([3])[-1], 5) == DONE
    missing = explorer.compile(explorer.regex("(foo)+d"), transducer=TOY.transducer.without(2))
    assert missing.allowed(0).tolist() == [True, False, False, False, True, False]
    with pytest.raises(IncompatibleVocabulary):
        explorer.compile(explorer.regex("(foo)+d"), transducer=TOY.transducer.without(4))


def test_the_lexicon_is_the_inverse() -> None:
    """Figure 3 of Cognetta et al. (2025): a, b, ab, ba from characters to subwords."""
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"ab", b"ba"], eos_ids=[4])
    lexicon = vocabulary.transducer.invert()
    words = {lexicon.inverse.written(ids) for ids in lexicon.tokenizations("abba")}
    assert words == {frozenset([b"abba"])}
    assert len(lexicon.tokenizations("abba")) == 4
    assert drawn_transducer(lexicon).arcs[:4] == (
        (0, "a", "a", 0),
        (0, "b", "b", 0),
        (0, "a", "", 1),
        (1, "b", "ab", 0),
    )
    promoted = pynini.compose(
        explorer.literal("abba").fsa, fst_of(lexicon).arcsort("ilabel").set_input_symbols(None)
    )
    promoted.set_output_symbols(None)
    promoted = pynini.determinize(promoted.project("output").rmepsilon())
    machine = explorer.compile(explorer.literal("abba"), vocabulary)
    assert pynini.equivalent(promoted, as_acceptor(machine))
    assert lexicon.invert() is vocabulary.transducer or lexicon.invert().words == vocabulary


def by_merges() -> tuple[Tokenizer, Vocabulary]:
    pieces = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "aa": 6, ".": 7}
    merges = [("b", "c"), ("a", "b"), ("a", "bc"), ("a", "a")]
    tokenizer = Tokenizer(models.BPE(pieces, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, Vocabulary.from_tokenizer(tokenizer, eos_ids=[7])


@pytest.mark.long
def test_canonical_tokenization_is_an_automaton() -> None:
    """It has what the tokenizer writes and nothing else, and intersecting is filtering."""
    tokenizer, vocabulary = by_merges()
    made = canonical_automaton(vocabulary)
    leads = {(source, token): target for source, token, target in made.arcs.tolist()}
    for length in range(1, 5):
        for ids in product(range(7), repeat=length):
            state: int | None = 0
            for token in ids:
                state = None if state is None else leads.get((state, token))
            text = b"".join(vocabulary.tokens[token] or b"" for token in ids).decode()
            canonical = tuple(tokenizer.encode(text).ids) == ids
            assert (state in made.accepting) == canonical, ids
    for pattern in ("(a|b|c){1,4}", "(abc)*", "a+bc"):
        constraint = explorer.regex(pattern)
        every = explorer.compile(constraint, vocabulary, lazy=False)
        both = pynini.intersect(as_acceptor(every).arcsort(), made.fst)
        kept = explorer.compile(constraint.canonical(vocabulary), vocabulary)
        for length in range(1, 5):
            for ids in product(range(7), repeat=length):
                path = fst_of_ids(ids)
                inside = pynini.intersect(path, both).connect().num_states() > 0
                assert inside == end_of(kept, ids), (pattern, ids)
    with pytest.raises(BudgetExceeded, match="Writing out canonical"):
        canonical_automaton(vocabulary, explorer.Budget(arcs=20))


def fst_of_ids(ids: tuple[int, ...]) -> Any:
    rows = [(k, token + 1, token + 1, k + 1) for k, token in enumerate(ids)]
    ends = np.arange(len(ids) + 1) == len(ids)
    return fst_from_arrays(len(ids) + 1, 0, np.array(rows, np.int32), ends)


def end_of(machine: TokenMachine, ids: tuple[int, ...]) -> bool:
    state: int | None = machine.start
    for token in ids:
        state = None if state is None else machine.step(state, token)
    return state is not None and machine.is_final(state)
