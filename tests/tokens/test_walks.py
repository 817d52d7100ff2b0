"""The walk of the trie says what stepping says, and the faster walks say what it says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings

import explorer
from explorer.automata.machine import NO_ARC, Dfa
from explorer.budget import Meter
from explorer.tokens.closed_form.assemble import (
    Assembled,
    MonoidTooLarge,
    assemble,
    compose_functions,
)
from explorer.tokens.walks.failing import READ, fail_words, run
from explorer.tokens.walks.rows import compose_rows
from explorer.tokens.walks.trie import trie_of
from explorer.tokens.walks.walk import walk_trie
from tests.evidence import examples
from tests.patterns import patterns, vocabularies


def both(dfa: Dfa, vocabulary: explorer.Vocabulary) -> tuple[Assembled, Assembled]:
    trie = trie_of(vocabulary, None)
    functions = compose_functions(trie, dfa, Meter(), 10**9)
    eos = vocabulary.eos_ids
    return (
        assemble(functions, trie, eos, dfa.accepting, dfa.start, Meter()),
        compose_rows(vocabulary, dfa, Meter()),
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


def test_rows_take_over_when_functions_grow() -> None:
    """Each token is a function of its own on 512 states, for which a small budget has no room."""
    draw = random.Random(0)
    tokens = sorted({bytes(draw.choices(b"ab", k=14)) for _ in range(3000)})
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, b"a", b"b"], eos_ids=[len(tokens) + 2])
    constraint = explorer.regex("[ab]*a[ab]{8}")
    with pytest.raises(MonoidTooLarge):
        compose_functions(trie_of(vocabulary, None), constraint.dfa, Meter(), 2_500_000)
    large = explorer.compile(constraint, vocabulary)
    small = explorer.compile(constraint, vocabulary, explorer.Budget(bytes=10_000_000))
    assert (small.report.method, large.report.method) == ("rows", "functions")
    for state in range(0, large.num_states, 17):
        assert np.array_equal(small.allowed(state), large.allowed(state))


def test_a_difference_would_be_seen() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    a, _ = both(explorer.regex("(ab)*").dfa, vocabulary)
    b, _ = both(explorer.regex("(ab)+").dfa, vocabulary)
    assert not same(a, b)


def check_walk(
    dfa: Dfa, vocabulary: explorer.Vocabulary, state: int, walked: Dfa | None = None
) -> None:
    """Every word of a walk, stepped byte by byte; perhaps the walk of another machine."""
    trie = trie_of(vocabulary, None)
    seen = walk_trie(walked or dfa, trie, state)
    targets = dict(zip(seen.words.tolist(), seen.targets.tolist(), strict=True))
    offset, last, _ = fail_words(trie, dfa, state)
    for word, token in enumerate(trie.first_id.tolist()):
        data = vocabulary.tokens[token] or b""
        path = run(dfa, state, data).tolist()
        read = sum(after != NO_ARC for after in path) - 1
        assert (word in targets) == (read == len(data))
        assert targets.get(word, NO_ARC) == path[-1]
        assert offset[word] == (READ if read == len(data) else read)
        assert last[word] == path[read]
    assert seen.distinct().tolist() == sorted(set(targets.values()))


@given(patterns(leaves=8), vocabularies())
@settings(max_examples=examples(100), deadline=None, derandomize=True)
def test_the_walk_is_what_stepping_says(pattern: str, tokens: list[bytes | None]) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    dfa = explorer.regex(pattern).dfa
    for state in range(min(dfa.num_states, 4)):
        check_walk(dfa, vocabulary, state)


def test_a_wrong_walk_would_be_seen() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    dfa = explorer.regex("a|ab").dfa
    check_walk(dfa, vocabulary, dfa.start)
    with pytest.raises(AssertionError):
        check_walk(dfa, vocabulary, dfa.start, explorer.regex("a|b").dfa)
