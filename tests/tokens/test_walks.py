"""The two walks that compose, by functions and by rows, make the same machine."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings

import explorer
from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.tokens.closed_form.assemble import Assembled, assemble
from explorer.tokens.walks.functions import MonoidTooLarge, compose_functions
from explorer.tokens.walks.rows import compose_rows
from explorer.tokens.walks.trie import build_trie, trie_of
from tests.evidence import examples
from tests.patterns import patterns, vocabularies


def both(dfa: Dfa, vocabulary: explorer.Vocabulary) -> tuple[Assembled, Assembled]:
    trie = trie_of(vocabulary)
    functions = compose_functions(trie, dfa, Meter(), 10**9)
    eos = vocabulary.eos_ids
    return (
        assemble(functions, trie, eos, dfa.accepting, dfa.start, Meter()),
        compose_rows(trie, dfa, eos, Meter()),
    )


def same(a: Assembled, b: Assembled) -> bool:
    return (
        np.array_equal(a.char_state, b.char_state)
        and np.array_equal(a.accepting, b.accepting)
        and np.array_equal(a.distance, b.distance)
        and np.array_equal(a.stuck, b.stuck)
        and a.num_reached == b.num_reached
        and a.table.shape == b.table.shape
        and np.array_equal(a.table[:, a.token_class], b.table[:, b.token_class])
    )


@given(patterns(leaves=8), vocabularies())
@settings(max_examples=examples(80))
def test_on_small_vocabularies(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    dfa = explorer.regex(pattern).dfa
    if dfa.num_states:
        assert same(*both(dfa, vocabulary))


@pytest.mark.parametrize("pattern", [r'"[^"\\]*"', r"\w+( \w+){0,3}", r"[01]{1,9}|yes|no"])
def test_on_a_real_vocabulary(sentencepiece_32k: explorer.Vocabulary, pattern: str) -> None:
    assert same(*both(explorer.regex(pattern).dfa, sentencepiece_32k))


def test_rows_take_over_when_functions_grow(
    sentencepiece_32k: explorer.Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(0)
    ascii_tokens = [t.decode() for t in sentencepiece_32k.tokens if t and t.isalpha()]
    words = ["".join(draw.choices(ascii_tokens, k=2)) for _ in range(600)]
    constraint = explorer.choice(words).plus()
    with pytest.raises(MonoidTooLarge):
        compose_functions(trie_of(sentencepiece_32k), constraint.dfa, Meter(), 200_000)
    large = explorer.compile(constraint, sentencepiece_32k)
    monkeypatch.setattr("explorer.tokens.compile._FUNCTION_SHARE", 1e-4)
    small = explorer.compile(constraint, sentencepiece_32k)
    assert (small.report.method, large.report.method) == ("rows", "functions")
    for state in range(0, large.num_states, 17):
        assert np.array_equal(small.allowed(state), large.allowed(state))


def test_a_difference_would_be_seen() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    a, _ = both(explorer.regex("(ab)*").dfa, vocabulary)
    b, _ = both(explorer.regex("(ab)+").dfa, vocabulary)
    assert not same(a, b)


def test_the_trie_holds_every_token_once(sentencepiece_32k: explorer.Vocabulary) -> None:
    trie = build_trie(sentencepiece_32k)
    found: list[tuple[bytes, int]] = []
    path = bytearray()
    for node in range(len(trie.byte)):
        depth = int(trie.depth[node])
        path[depth - 1 :] = bytes([trie.byte[node]])
        end = int(trie.skip[node])
        assert (trie.depth[node + 1 : end] > depth).all()
        assert end == len(trie.byte) or trie.depth[end] <= depth
        if (word := int(trie.word[node])) >= 0:
            further = trie.further_id[trie.further_word == word]
            found += [(bytes(path), int(i)) for i in (trie.first_id[word], *further)]
    wanted = [(data, i) for i, data in enumerate(sentencepiece_32k.tokens) if data is not None]
    assert sorted(found) == sorted(wanted)
