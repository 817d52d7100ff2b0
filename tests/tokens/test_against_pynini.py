"""The token DFA without its EOS class is pynini's own composition: the definition itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import explorer
from benchmarks.constraints import CASES, Case
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.errors import (
    BudgetExceeded,
    EmptyConstraint,
    IncompatibleVocabulary,
)
from explorer.tokens import token_dfa
from explorer.tokens.words import DEAD, DONE, EOS_CLASS
from tests.evidence import examples
from tests.optional import pynini
from tests.patterns import patterns, vocabularies


def by_definition(
    constraint: explorer.Constraint, vocabulary: explorer.Vocabulary, form: str
) -> Any:
    """Determinize(input side of T_V ∘ A), with pynini alone."""
    transducer = explorer.detokenizing_fst(vocabulary, form)  # type: ignore[arg-type]
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    composed = pynini.compose(transducer.arcsort("olabel"), constraint.fsa)
    composed.project("input")
    return pynini.determinize(composed.rmepsilon()).connect()


def as_acceptor(dfa: explorer.TokenDFA, table: np.ndarray | None = None) -> Any:
    """The machine as an acceptor over token labels, EOS left out."""
    table = dfa.table if table is None else table
    state, class_ = np.nonzero((table != DEAD) & (table != DONE))
    rows = [
        (s, token + 1, token + 1, table[s, c])
        for s, c in zip(state, class_, strict=True)
        for token in dfa.tokens_of_class[c]
    ]
    arcs = np.array(rows, np.int32).reshape(-1, 4)
    return fst_from_arrays(dfa.num_states, 0, arcs, table[:, EOS_CLASS] == DONE)


@given(patterns(leaves=6), vocabularies())
@settings(max_examples=examples(50))
def test_small_vocabularies(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    constraint = explorer.regex(pattern)
    try:
        dfa = explorer.compile(constraint, vocabulary)
    except EmptyConstraint:
        return
    except IncompatibleVocabulary:
        assert by_definition(constraint, vocabulary, "compact").num_states() == 0
        return
    ours = as_acceptor(dfa)
    assert pynini.equivalent(ours, by_definition(constraint, vocabulary, "compact"))
    assert pynini.equivalent(ours, by_definition(constraint, vocabulary, "original"))


@pytest.mark.parametrize(
    "pattern",
    [
        "Red|Orange|Yellow|Green|Blue|Indigo|Violet",
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]Z",
        r'"[^"\\\x00-\x1f]*"',
        r"(?!no)\w{1,12}(?<!x)",
        r"(?i)straße|\bümlaut\b.?",
    ],
)
def test_a_real_vocabulary(sentencepiece_32k: explorer.Vocabulary, pattern: str) -> None:
    constraint = explorer.regex(pattern)
    dfa = explorer.compile(constraint, sentencepiece_32k)
    ours = as_acceptor(dfa)
    assert pynini.equivalent(ours, by_definition(constraint, sentencepiece_32k, "compact"))


def test_a_wrong_machine_is_not_equivalent() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"ab", b"b"], eos_ids=[3])
    constraint = explorer.regex("(ab)+")
    dfa = explorer.compile(constraint, vocabulary)
    definition = by_definition(constraint, vocabulary, "compact")
    assert pynini.equivalent(as_acceptor(dfa), definition)
    for state, class_ in np.argwhere(dfa.table >= 0):
        mutant = dfa.table.copy()
        mutant[state, class_] = DEAD
        assert not pynini.equivalent(as_acceptor(dfa, mutant), definition)


# --- method="pynini" ------------------------------------------------------------------------


def same_machine(ours: explorer.TokenDFA, theirs: explorer.TokenDFA) -> bool:
    """Every array the same, but for the numbers of the classes."""
    return (
        token_dfa.same_machine(ours, theirs)
        and ours.report.reached_states == theirs.report.reached_states
    )


@pytest.mark.long
@given(patterns(leaves=6), vocabularies())
@settings(max_examples=examples(50))
def test_the_textbook_makes_the_same_machine(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    constraint = explorer.regex(pattern)
    try:
        ours = explorer.compile(constraint, vocabulary)
    except (EmptyConstraint, IncompatibleVocabulary) as error:
        with pytest.raises(type(error)) as raised:
            explorer.compile(constraint, vocabulary, method="pynini")
        assert str(raised.value) == str(error)
        return
    theirs = explorer.compile(constraint, vocabulary, method="pynini")
    assert same_machine(ours, theirs)
    assert (ours.report.method, theirs.report.method) == ("functions", "pynini")
    assert ours.lost == theirs.lost


@pytest.mark.parametrize("pattern", [r'"[^"\\]*"', r"[01]{1,9}|yes|no", r"\w+(?: \w+){0,2}"])
def test_the_textbook_on_a_real_vocabulary(
    sentencepiece_32k: explorer.Vocabulary, pattern: str
) -> None:
    constraint = explorer.regex(pattern)
    budget = explorer.Budget(seconds=600)  # A busy machine may take long, and a table is wanted.
    ours = explorer.compile(constraint, sentencepiece_32k, budget)
    theirs = explorer.compile(constraint, sentencepiece_32k, budget, method="pynini")
    assert same_machine(ours, theirs)
    longer = explorer.regex(pattern + "!")
    other = explorer.compile(longer, sentencepiece_32k, budget, method="pynini")
    assert not same_machine(ours, other)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_five_constraints_of_the_appendix(tekken_131k: explorer.Vocabulary, case: Case) -> None:
    budget = explorer.Budget(seconds=600)
    ours = explorer.compile(explorer.regex(case.pattern), tekken_131k, budget)
    theirs = explorer.compile(explorer.regex(case.pattern), tekken_131k, budget, method="pynini")
    assert same_machine(ours, theirs)


def test_the_textbook_keeps_to_the_budget(sentencepiece_32k: explorer.Vocabulary) -> None:
    constraint = explorer.regex(r"\w+").within(explorer.Budget())
    with pytest.raises(BudgetExceeded, match="pynini"):
        explorer.compile(
            constraint, sentencepiece_32k, explorer.Budget(states=1000), lazy=False, method="pynini"
        )
