"""Ways through a token DFA: to a state, to where a token is allowed, to the end of the text.

All are Dijkstra's algorithm over the token table, where a step costs either bytes alone, or a token
first and then its bytes. Of a token class only its shortest token matters, so a row of the table is
looked at once, class by class.

Cost: one row of the table per state that is nearer than the goal; once per vocabulary 20 ms at
131,072 tokens.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.tokens.states import NUM_FIXED_CLASSES
from explorer.tokens.token_dfa import TokenDFA
from explorer.vocabulary import Vocabulary

TOKENS_FIRST: Final = 1 << 32
"""The cost of a token beside that of a byte, where fewest tokens count before fewest bytes."""

BYTES_ONLY: Final = 0
"""The cost of a token where only bytes count."""


_Ints: TypeAlias = NDArray[np.int64]
_Floats: TypeAlias = NDArray[np.float64]
_measures: WeakKeyDictionary[Vocabulary, tuple[_Ints, _Floats, _Ints]] = WeakKeyDictionary()


def _measured(vocabulary: Vocabulary) -> tuple[_Ints, _Floats, _Ints]:
    """Of each token its length and how plain it is; and the ids, the longest first. Kept."""
    known = _measures.get(vocabulary)
    if known is None:
        lengths = np.array([len(data or b"") for data in vocabulary.tokens], np.int64)
        first = np.array([(data or b"\0")[0] for data in vocabulary.tokens], np.int64)
        # Of equally short tokens a person would rather be shown one of printable characters.
        plainness = -lengths - 0.5 * ((first < 0x20) | (first >= 0x7F))
        by_length = np.argsort(lengths, kind="stable")[::-1]
        known = _measures[vocabulary] = (lengths, plainness, by_length)
        for array in known:  # Every machine over the vocabulary reads the same ones.
            array.flags.writeable = False
    return known


class Paths:
    """The shortest token of each class, and searches with them.

    Args:
        dfa: The machine; nothing here keeps it.
    """

    def __init__(self, dfa: TokenDFA) -> None:
        self.lengths, self.plainness, by_length = _measured(dfa.vocabulary)
        lengths = self.lengths
        # Written in the order from long to short, the shortest of a class stays.
        ids = np.full(dfa.num_classes, -1, np.int64)
        ids[dfa.token_class[by_length]] = by_length
        classes = np.flatnonzero(ids >= 0)
        self._ids = ids
        columns = classes[classes >= NUM_FIXED_CLASSES]
        # Sorted by length: the first column that leads somewhere is a shortest token there.
        self._columns = columns[np.argsort(lengths[ids[columns]], kind="stable")]
        self._tokens = ids[self._columns]

    def settle(
        self, dfa: TokenDFA, begin: int, token_cost: int
    ) -> Iterator[tuple[int, tuple[int, int] | None]]:
        """The states in order of their cost from one, each with the step that led there.

        Args:
            dfa: The machine.
            begin: Where to begin; a state, 0 or more.
            token_cost: `TOKENS_FIRST` or `BYTES_ONLY`.

        Yields:
            The state, and ``(state before, token)``; ``None`` for the first.
        """
        came_from: dict[int, tuple[int, int]] = {}
        best = {begin: 0}
        queue = [(0, begin)]
        settled: set[int] = set()
        while queue:
            cost, state = heapq.heappop(queue)
            if state in settled:
                continue
            settled.add(state)
            yield state, came_from.get(state)
            targets = dfa.table[state][self._columns]
            live = np.flatnonzero(targets >= 0)
            found, first = np.unique(targets[live], return_index=True)
            for target, k in zip(found.tolist(), live[first].tolist(), strict=True):
                token = int(self._tokens[k])
                total = cost + token_cost + int(self.lengths[token])
                if total < best.get(target, total + 1):
                    best[target] = total
                    came_from[target] = (state, token)
                    heapq.heappush(queue, (total, target))

    def texts(self, dfa: TokenDFA) -> dict[int, bytes]:
        """For every state a shortest text, in bytes, that tokens write from the start to it."""
        texts: dict[int, bytes] = {}
        for state, step in self.settle(dfa, dfa.start, BYTES_ONLY):
            data = b"" if step is None else dfa.vocabulary.tokens[step[1]] or b""
            texts[state] = data if step is None else texts[step[0]] + data
        return texts

    def nearest_goal(
        self, dfa: TokenDFA, begin: int, goal: Bool
    ) -> tuple[tuple[int, ...], int] | None:
        """The fewest tokens to some state, of those the fewest bytes.

        Args:
            dfa: The machine.
            begin: Where to begin.
            goal: bool[states], where to stop.

        Returns:
            The tokens and the state; ``None`` if no such state can be reached.
        """
        steps: dict[int, tuple[int, int] | None] = {}
        for state, step in self.settle(dfa, begin, TOKENS_FIRST):
            steps[state] = step
            if goal[state]:
                tokens: list[int] = []
                here = state
                while (before := steps[here]) is not None:
                    here, token = before
                    tokens.append(token)
                return tuple(reversed(tokens)), state
        return None

    def after(self, dfa: TokenDFA, state: int, token: int) -> tuple[int, ...] | None:
        """The shortest tokens after which a token is allowed.

        Returns:
            Ids; none if it is allowed at once, ``None`` if it never is from here.
        """
        goal = dfa.table[:, int(dfa.token_class[token])] != -1
        found = self.nearest_goal(dfa, state, goal)
        return None if found is None else found[0]

    def completion(self, dfa: TokenDFA, state: int) -> tuple[int, ...]:
        """The shortest tokens to a complete text, EOS not included.

        Args:
            dfa: The machine.
            state: A state; every one can finish.
        """
        found = self.nearest_goal(dfa, state, dfa.accepting)
        return () if found is None else found[0]


class Words:
    """A vocabulary's tokens in byte order, to find those that share a prefix.

    Args:
        tokens: Bytes by id.
        word_of: int32[ids], the number of each id's bytes in byte order; -1 if it writes none.
    """

    def __init__(self, tokens: tuple[bytes | None, ...], word_of: Int32) -> None:
        text = np.flatnonzero(word_of >= 0)
        self._ids = text[np.argsort(word_of[text], kind="stable")].astype(np.int32)
        listed: list[int] = self._ids.tolist()
        self._data = [tokens[token] or b"" for token in listed]

    def starting_with(self, prefix: bytes) -> Int32:
        """The ids whose bytes begin with a prefix, in byte order."""
        low = bisect_left(self._data, prefix)
        # The first string past all that begin so: the prefix with its last byte raised.
        cut = prefix.rstrip(b"\xff")
        if not cut:
            return self._ids[low:]
        return self._ids[low : bisect_left(self._data, cut[:-1] + bytes([cut[-1] + 1]))]

    def nearest(
        self, data: bytes, allowed: Bool, rank: NDArray[np.float64], count: int
    ) -> tuple[int, ...]:
        """Allowed tokens with the longest common byte prefix, then of the highest rank.

        Args:
            data: The bytes to be near to.
            allowed: bool[ids].
            rank: float64[ids], higher is better; of equals the lower id.
            count: How many at most.
        """
        found: list[int] = []
        for length in range(len(data), -1, -1):
            ids = self.starting_with(data[:length])
            ids = ids[allowed[ids]]
            if len(ids) > len(found):
                new = np.setdiff1d(ids, np.array(found, np.int32))
                order = np.lexsort((new, -rank[new]))
                found += new[order][: count - len(found)].tolist()
            if len(found) >= count:
                break
        return tuple(found)
