"""A machine that is discovered, walked beside a closed form: the same words from every pair met."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from explorer.automata.machine import NO_ARC, UNKNOWN, Dfa, UInt32, WordTrie, WordWalk


class Steps(Protocol):
    """As much of a byte machine as is walked here."""

    @property
    def start(self) -> int: ...
    def step(self, state: int, byte: int) -> int: ...
    def is_accepting(self, state: int) -> bool: ...
    def expected(self, state: int) -> bytes: ...


def differences(closed: Dfa, found: Steps, most: int = 2000) -> list[str]:
    """The places where two machines differ, up to a number of pairs of states.

    Both have only states that can finish, so the bytes that may come next must be equal, and
    nothing else about a state matters but whether it accepts.
    """
    if closed.start == NO_ARC or found.start == NO_ARC:
        return [] if closed.start == found.start else ["one has words, the other has not"]
    wrong: list[str] = []
    pairs = [(closed.start, found.start)]
    met = {*pairs}
    for ours, theirs in pairs:  # Grows on the way.
        if closed.is_accepting(ours) != found.is_accepting(theirs):
            wrong.append(f"end of {ours}, {theirs}")
        expected = closed.expected(ours)
        if expected != found.expected(theirs):
            wrong.append(f"bytes from {ours}, {theirs}")
            continue
        for byte in expected:
            pair = closed.step(ours, byte), found.step(theirs, byte)
            if pair not in met and len(met) < most:
                met.add(pair)
                pairs.append(pair)
    return wrong


class Renumbered:
    """A byte machine that is not a `Dfa`: another one's states, with other numbers."""

    closed = stacks = None

    def __init__(self, dfa: Dfa, by: int = 0) -> None:
        self._dfa, self._by = dfa, by
        rows = np.where(dfa.table >= 0, dfa.table + by, dfa.table)
        nothing = np.full((by, dfa.num_classes), UNKNOWN, np.int32)
        self.table = np.concatenate([nothing, rows]).astype(np.int32)
        self.symbol_class, self.read = dfa.symbol_class, dfa.read
        self.num_states, self.start = len(self.table), dfa.start + by
        self.over_tokens, self.reads_letters = dfa.over_tokens, dfa.reads_letters

    def step(self, state: int, byte: int) -> int:
        return NO_ARC if state == NO_ARC else int(self.table[state, self.symbol_class[byte]])

    def is_accepting(self, state: int) -> bool:
        return state >= 0 and self._dfa.is_accepting(state - self._by)

    def expected(self, state: int) -> bytes:
        return self._dfa.expected(state - self._by) if state >= 0 else b""

    def visit(self, trie: WordTrie, state: int) -> None:
        pass

    def least(self, state: int) -> None:
        return None

    def wider(self, state: int) -> None:
        return None

    def set_words(self, walk: WordWalk, state: int, words: UInt32) -> None:
        walk.set_from_rows(self, state, words)
