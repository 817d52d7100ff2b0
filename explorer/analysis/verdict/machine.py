"""What explanations of one token DFA share: its character view, its trie, the ways through it.

Worked out once per machine and forgotten with it. An explanation after the first then costs the
walk of its own bytes.
"""

from __future__ import annotations

from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from explorer.analysis.characters.view import Characters
from explorer.analysis.verdict.paths import Paths, Words
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.tokens.token_dfa import TokenDFA
from explorer.tokens.trie import Trie, trie_of


class Machine:
    """A token DFA with what explanations need beside it.

    Args:
        dfa: The token DFA. `machine_of` holds it weakly, so nothing here refers to it.
    """

    def __init__(self, dfa: TokenDFA) -> None:
        self.char_dfa: Dfa = dfa.constraint.dfa
        self.trie: Trie = trie_of(dfa.vocabulary)
        self.characters = Characters(self.char_dfa)
        self.kept: Bool = np.zeros(self.char_dfa.num_states, np.bool_)
        self.kept[dfa.char_state] = True
        self._tokens = dfa.vocabulary.tokens
        self._paths: Paths | None = None
        self._texts: dict[int, bytes] = {}

    @cached_property
    def words(self) -> Words:
        """The vocabulary in byte order."""
        return Words(self._tokens, self.word_of)

    @cached_property
    def word_of(self) -> Int32:
        """int32[ids], the word of the trie that each id writes; -1 if it writes none."""
        word_of = np.full(len(self._tokens), -1, np.int32)
        word_of[self.trie.first_id] = np.arange(self.trie.num_words, dtype=np.int32)
        word_of[self.trie.further_id] = self.trie.further_word
        return word_of

    def ids_of(self, token: int) -> tuple[int, ...]:
        """All ids that write the same bytes as a token of text, in order."""
        word = self.word_of[token]
        further = self.trie.further_id[self.trie.further_word == word]
        return tuple(sorted([int(self.trie.first_id[word]), *further.tolist()]))

    def word_ends(self, data: bytes) -> list[int]:
        """The lengths at which the beginning of some bytes is a token, ascending.

        The trie is walked: a dictionary of 131,072 tokens would cost more than the answer.
        """
        trie = self.trie
        node, end = 0, len(trie.byte)
        found: list[int] = []
        for length, byte in enumerate(data[: trie.max_depth], 1):
            while node < end and trie.byte[node] != byte:
                node = int(trie.skip[node])
            if node >= end:
                break
            if trie.word[node] >= 0:
                found.append(length)
            node, end = node + 1, int(trie.skip[node])
        return found

    def paths(self, dfa: TokenDFA) -> Paths:
        """The searches of the machine this belongs to."""
        if self._paths is None:
            self._paths = Paths(dfa)
        return self._paths

    def text_to(self, dfa: TokenDFA, state: int) -> bytes:
        """A shortest text, in bytes, that tokens write on the way to a state.

        Args:
            dfa: The machine this belongs to.
            state: A state, 0 or more.
        """
        if not self._texts:
            self._texts = self.paths(dfa).texts(dfa)
        return self._texts[state]


_machines: WeakKeyDictionary[TokenDFA, Machine] = WeakKeyDictionary()


def machine_of(dfa: TokenDFA) -> Machine:
    """The shared part of a token DFA, made on first use."""
    known = _machines.get(dfa)
    if known is None:
        known = _machines[dfa] = Machine(dfa)
    return known


def expected_bytes(dfa: Dfa, state: int) -> bytes:
    """The bytes with an arc from a character state, ascending; none from `NO_ARC`."""
    if state == NO_ARC:
        return b""
    return bytes(np.flatnonzero(dfa.table[state][dfa.symbol_class[:256]] != NO_ARC).tolist())
