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


def test_the_trie_holds_every_token_once(sentencepiece_32k: explorer.Vocabulary) -> None:
    trie = trie_of(sentencepiece_32k, None)
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


def test_a_walk_below_a_node_is_that_part_of_the_whole(
    sentencepiece_32k: explorer.Vocabulary,
) -> None:
    trie, dfa = trie_of(sentencepiece_32k, None), explorer.regex("[a-z]{1,7}s?").dfa
    whole = walk_trie(dfa, trie, dfa.start, nodes=True)
    after = dict(zip(whole.words.tolist(), whole.targets.tolist(), strict=True))
    for node in [node for node in after if trie.depth[node] == 2][::40]:
        below = walk_trie(dfa, trie, after[node], node, nodes=True)
        inside = {n: s for n, s in after.items() if node < n < trie.skip[node]}
        assert dict(zip(below.words.tolist(), below.targets.tolist(), strict=True)) == inside


@pytest.mark.parametrize(
    "text", ['root ::= "(" root ")" | "[" root "]" | [0-9]{1,3}', 'root ::= "a" root "b" | "\\n"']
)
def test_the_words_of_one_stack_are_those_of_the_walk(
    sentencepiece_32k: explorer.Vocabulary, text: str
) -> None:
    """The masks of a grammar, most of which are worked out once for every stack."""
    machine = explorer.compile(explorer.grammar(text), sentencepiece_32k, lazy=True)
    trie, draw, state = trie_of(sentencepiece_32k, None), random.Random(1), machine.start
    for _ in range(12):
        allowed = np.flatnonzero(machine.allowed(state))
        text_ids = allowed[~np.isin(allowed, sentencepiece_32k.eos_ids)]
        seen = walk_trie(machine.byte_machine, trie, machine.byte_state(state))
        ids = [int(trie.first_id[word]) for word in seen.words]
        same = np.isin(trie.further_word, seen.words)
        assert sorted([*ids, *trie.further_id[same].tolist()]) == text_ids.tolist()
        following = machine.step(state, int(draw.choice(text_ids.tolist())))
        assert following is not None
        state = following if following >= 0 and not machine.is_final(following) else machine.start


def test_a_wrong_walk_would_be_seen() -> None:
    vocabulary = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
    dfa = explorer.regex("a|ab").dfa
    check_walk(dfa, vocabulary, dfa.start)
    with pytest.raises(AssertionError):
        check_walk(dfa, vocabulary, dfa.start, explorer.regex("a|b").dfa)
