"""Tokens of 210,000 bytes, of which some vocabularies have one: no question takes their square."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import explorer
from explorer.analysis import explain
from explorer.analysis.verdict.background import SortedTokens, common_length
from explorer.automata.machine import Int32
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks.trie import trie_of
from tests.evidence import few

LENGTH = 210_000


def machine(*tokens: bytes, lazy: bool = False) -> TokenMachine:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    return explorer.compile(explorer.regex("a*b*"), vocabulary, lazy=lazy)


class Counting(SortedTokens):
    """Sorted tokens that count the bytes of the prefixes that are looked up."""

    read = 0

    def starting_with(self, prefix: bytes) -> Int32:
        self.read += len(prefix)
        return super().starting_with(prefix)


def test_the_work_for_the_nearest_tokens_grows_with_the_length() -> None:
    half = LENGTH // 2
    tokens = (b"a", b"b", b"a" * LENGTH, b"ab" * half, bytes(range(256)))
    counting = Counting(trie_of(explorer.Vocabulary.from_bytes(tokens, eos_ids=[5]), None))
    for data in tokens:
        assert counting.nearest(data, np.ones(5, np.bool_), np.zeros(5), 5)
    assert 0 < counting.read < 20 * LENGTH


@pytest.mark.parametrize("lazy", few([False, True], 1))
def test_a_token_of_210_000_bytes_is_explained(lazy: bool) -> None:
    half = LENGTH // 2
    explained = machine(b"a", b"b", b"a" * LENGTH, b"ab" * half, bytes(range(256)), lazy=lazy)
    for token, allowed in ((2, True), (3, False), (4, False)):
        why = explain(explained, explained.start, token)
        assert why.allowed is allowed
        assert str(why) and why.to_dict()["nearest"]
    # Both bytes are tokens, so whatever the machine reads can be written.
    assert explain(explained, explained.start, 2).verdict.writable == b"ab"
    assert explain(explained, explained.start, 3).verdict.writable == b"b"


def test_the_nearest_tokens_are_those_of_every_prefix() -> None:
    """Against all prefixes one by one, as the definition has it."""
    texts = [bytes(t) for n in range(1, 4) for t in itertools.product(b"ab\xff", repeat=n)]
    random = np.random.default_rng(0)
    for _ in range(200):
        some = [texts[k] for k in random.integers(0, len(texts), 8)]
        tokens = SortedTokens(trie_of(explorer.Vocabulary.from_bytes(some, eos_ids=[8]), None))
        allowed = random.random(8) < 0.6
        rank = random.random(8)
        for data in (b"", *texts):
            near = sorted(
                np.flatnonzero(allowed).tolist(),
                key=lambda token: (-common_length(some[token], data), -rank[token]),
            )
            assert tokens.nearest(data, allowed, rank, 3) == tuple(near[:3])
