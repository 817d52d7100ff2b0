"""The token DFA without its EOS class is pynini's own composition: the definition itself."""

from __future__ import annotations

import numpy as np
import pynini
import pytest
from hypothesis import given, settings

import explorer
from explorer.automata.pynini_bridge import fst_from_arrays
from explorer.errors import EmptyConstraint, IncompatibleVocabulary
from explorer.tokens.states import DEAD, DONE, EOS_CLASS
from tests.patterns import patterns, vocabularies


def by_definition(
    constraint: explorer.Constraint, vocabulary: explorer.Vocabulary, form: str
) -> pynini.Fst:
    """Determinize(input side of T_V ∘ A), with pynini alone."""
    transducer = explorer.detokenizing_fst(vocabulary, form)  # type: ignore[arg-type]
    transducer.set_input_symbols(None)
    transducer.set_output_symbols(None)
    composed = pynini.compose(transducer.arcsort("olabel"), constraint.fsa)
    composed.project("input")
    return pynini.determinize(composed.rmepsilon()).connect()


def as_acceptor(dfa: explorer.TokenDFA, table: np.ndarray | None = None) -> pynini.Fst:
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
@settings(max_examples=120, deadline=None, derandomize=True)
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
