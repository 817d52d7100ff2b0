"""Ours without a table: from the pattern to a machine whose rows are worked out when asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import explorer
from benchmarks.engines import Ids, Tokens
from explorer import Vocabulary
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.words import ids


class OursLazy:
    def __init__(self, tokens: Tokens) -> None:
        self.vocabulary = Vocabulary.from_bytes(list(tokens.tokens), eos_ids=[tokens.eos])

    def compile(self, pattern: str) -> LazyMachine:
        return explorer.compile(explorer.regex(pattern), self.vocabulary, lazy=True)

    def first_mask(self, compiled: LazyMachine) -> Callable[[], object]:
        return lambda: compiled.mask(compiled.start)

    def masks(self, compiled: LazyMachine, tokens: Sequence[int]) -> list[Ids]:
        return [frozenset(ids(compiled.mask(state)).tolist()) for state in walk(compiled, tokens)]

    def accepts(self, compiled: LazyMachine, tokens: Sequence[int]) -> bool:
        states = walk(compiled, tokens)
        return len(states) == len(tokens) + 1 and compiled.is_final(states[-1])


def walk(machine: LazyMachine, tokens: Sequence[int]) -> list[int]:
    """The states along some tokens, as far as they are allowed."""
    states = [machine.start]
    for token in tokens:
        following = machine.step(states[-1], token)
        if following is None:
            break
        states.append(following)
    return states


ENGINE = OursLazy
