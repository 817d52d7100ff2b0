"""Ours: from the pattern string to the finished table with token classes, trimmed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import explorer
from benchmarks.engines import Ids, Tokens
from explorer import TokenDFA, Vocabulary


class Ours:
    def __init__(self, tokens: Tokens) -> None:
        self.vocabulary = Vocabulary.from_bytes(list(tokens.tokens), eos_ids=[tokens.eos])

    def compile(self, pattern: str) -> TokenDFA:
        return explorer.compile(explorer.regex(pattern), self.vocabulary)

    def first_mask(self, compiled: TokenDFA) -> Callable[[], object]:
        return lambda: compiled.mask(compiled.start)

    def masks(self, compiled: TokenDFA, tokens: Sequence[int]) -> list[Ids]:
        return [
            frozenset(np.flatnonzero(compiled.allowed(state)).tolist())
            for state in compiled.walk(tokens)
        ]

    def accepts(self, compiled: TokenDFA, tokens: Sequence[int]) -> bool:
        states = compiled.walk(tokens)
        return len(states) == len(tokens) + 1 and compiled.is_final(states[-1])


ENGINE = Ours
