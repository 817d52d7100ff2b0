"""Tokens of 210,000 bytes, of which some vocabularies have one: no question takes their square."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import explorer
from explorer.analysis import explain
from explorer.analysis.verdict.background import SortedTokens, common_length
from explorer.tokens.machine import TokenMachine
from explorer.tokens.walks import failing
from explorer.tokens.walks.failing import writable_bytes
from explorer.tokens.walks.trie import trie_of

LENGTH = 210_000


def machine(*tokens: bytes, lazy: bool = False) -> TokenMachine:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    return explorer.compile(explorer.regex("a*b*"), vocabulary, lazy=lazy)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_token_of_210_000_bytes_is_explained(monkeypatch: pytest.MonkeyPatch, lazy: bool) -> None:
    """Work is counted: bytes of the prefixes that are looked up, places of the trie."""
    read = [0]
    right = SortedTokens.starting_with

    def counted(self: SortedTokens, prefix: bytes) -> object:
        read[0] += len(prefix)
        return right(self, prefix)

    monkeypatch.setattr(SortedTokens, "starting_with", counted)
    half = LENGTH // 2
    explained = machine(b"a", b"b", b"a" * LENGTH, b"ab" * half, bytes(range(256)), lazy=lazy)
    for token, allowed in ((2, True), (3, False), (4, False)):
        why = explain(explained, explained.start, token)
        assert why.allowed is allowed
        assert str(why) and why.to_dict()["nearest"]
    assert read[0] < 20 * LENGTH
    # Both bytes are tokens, so whatever the machine reads can be written.
    assert explain(explained, explained.start, 2).verdict.writable == b"ab"
    assert explain(explained, explained.start, 3).verdict.writable == b"b"


def test_where_writable_bytes_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [b"a" * n for n in range(1, 9)]
    small = machine(*tokens)
    background = (trie_of(small.vocabulary), small.byte_machine)
    assert background[1] is not None
    for most in (0, 7, 8, 27, 28):  # 1 + 2 + … + 7 places before the bytes of a⁷.
        monkeypatch.setattr(failing, "MOST_PLACES", most)
        written = writable_bytes(
            *background,  # pyright: ignore[reportArgumentType]
            lambda states: np.ones(len(states), np.bool_),
            small.byte_machine.start,  # pyright: ignore[reportOptionalMemberAccess]
            b"a" * 7,
        )
        assert written == (b"a" if most >= 28 else None)


def test_the_nearest_tokens_are_those_of_every_prefix() -> None:
    """Against all prefixes one by one, as the definition has it."""
    texts = [bytes(t) for n in range(1, 4) for t in itertools.product(b"ab\xff", repeat=n)]
    random = np.random.default_rng(0)
    for _ in range(200):
        some = [texts[k] for k in random.integers(0, len(texts), 8)]
        order = sorted(set(some))
        tokens = SortedTokens(tuple(some), np.array([order.index(t) for t in some], np.int32))
        allowed = random.random(8) < 0.6
        rank = random.random(8)
        for data in (b"", *texts):
            near = sorted(
                np.flatnonzero(allowed).tolist(),
                key=lambda token: (-common_length(some[token], data), -rank[token]),
            )
            assert tokens.nearest(data, allowed, rank, 3) == tuple(near[:3])
