"""Unigram: a word is split into the pieces with the highest sum of scores.

The model works from left to right: the best path to an offset is the best path to some earlier
offset followed by one piece. So every prefix of the chosen path is the path chosen for that prefix,
and the next token is correct exactly if no piece that ends at the same offset has a better path
before it; of equal paths the library takes the piece that begins first. What can still affect later
choices is the *window*: the earlier offsets from which the text so far is the beginning of a longer
piece, with the difference between the best path to each and ours. Nothing else matters, so equal
windows are one state, and states are numbered in the order of their discovery.

Sums are compared as the library compares them. If scores are multiples of a power of two
(SentencePiece computes them in single precision), double precision adds them without rounding, and
only differences matter. Otherwise sums are rounded, so the choice between two nearly equal paths
may depend on the whole word so far, and the sum itself is part of the state. The latter is the
usual case, because the scores that the library reads differ from the written ones in the last bit.
At the end of a word the state is reset.

Source: Kudo 2018, "Subword Regularization", section 3.2; `tokenizers`, ``encode_optimized`` of its
Unigram model (order of the candidates; ten less than the lowest score for a character that has no
piece).
Cost: 1 to 2 µs a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from explorer.vocabulary.canonical.piece_kernels import Bool, Int64, read_best, survive_best
from explorer.vocabulary.canonical.piece_trie import BEGUN, Float64, Int32, PieceTrie, Windows

LOST: Final = -1
_UNKNOWN_PENALTY: Final = 10.0
_MANTISSA: Final = 53
_LONGEST_WORD: Final = 1 << 20


class BestPaths:
    """The best paths of a Unigram model within a word; thread-safe.

    Args:
        pieces: The id of each piece that the model may produce, by its bytes.
        scores: float64[ids], the scores of all pieces.
        lowest: The lowest score; a character without a piece scores ten less.
        single: Whether sums are kept in single precision, as in SentencePiece's own library.

    Example:
        >>> scores = np.array([-2.0, -2.0, -3.0])
        >>> model = BestPaths({b"a": 0, b"b": 1, b"ab": 2}, scores, lowest=-3.0)
        >>> model.after(BEGUN, 0) == LOST, model.words(b"ab"), model.written.tolist()
        (False, (2,), [True, True, True])
        >>> model.after(model.after(BEGUN, 0), 1) == LOST  # "ab" is better
        True
    """

    def __init__(
        self,
        pieces: Mapping[bytes, int],
        scores: Float64,
        *,
        lowest: float,
        single: bool = False,
    ) -> None:
        self._relative = not single and _adds_exactly(scores)
        self._single = single
        self._trie = PieceTrie.of(pieces)
        self._scores = scores
        unknown = lowest - _UNKNOWN_PENALTY
        self._unknown = float(np.float32(unknown)) if single else unknown
        texts: list[bytes] = [b""] * len(scores)
        for text, token in pieces.items():
            texts[token] = text
        self._data = np.frombuffer(b"".join(texts), np.uint8)
        self._offset: Int64 = np.concatenate(([0], np.cumsum([len(text) for text in texts])))
        self._room = 2 * self._trie.depth + 2
        self._windows = Windows(np.zeros(1))
        self.written: Bool = np.zeros(len(scores), np.bool_)
        ids = np.fromiter(pieces.values(), np.int32, len(pieces))
        self.written[ids] = self.surviving(BEGUN, ids, (), ())

    def after(self, state: int, token: int) -> int:
        """The state after one more token; `LOST` if the model would not produce it."""
        window, value = self._windows.met[state]
        count = len(window)
        nodes, values = np.empty(self._room, np.int32), np.empty(self._room)
        nodes[:count], values[:count] = window, value[:-1]
        best = value[-1:].copy()
        low, high = int(self._offset[token]), int(self._offset[token + 1])
        trie = self._trie
        count = LOST if low == high else read_best(
            trie.start, trie.byte, trie.child, trie.piece, self._scores, self._unknown, self._data,
            low, high, token, nodes, values, count, best, self._single,
        )  # fmt: skip
        if count < 0:
            return LOST
        after = np.append(values[:count], best)
        return self._windows.number(nodes[:count], after - best if self._relative else after)

    def surviving(
        self, state: int, tokens: Int32, path: Sequence[int], begins: Sequence[bool]
    ) -> Bool:
        """The tokens, of some, that may follow a state if a fixed sequence of tokens comes next.

        Args:
            tokens: int32[n], ids of pieces.
            path: The tokens that follow each of them.
            begins: Whether each token of the path begins a word.
        """
        trie = self._trie
        window, value = self._windows.met[state]
        good = survive_best(
            trie.start, trie.byte, trie.child, trie.piece, self._scores, self._unknown, self._data,
            self._offset, window, value, tokens, np.array(path, np.int32),
            np.array(begins, np.bool_), self._room, self._single,
        )  # fmt: skip
        return good

    def words(self, word: bytes) -> tuple[int, ...] | None:
        """The ids of the pieces of one word; ``None`` if a character has no piece."""
        best: dict[int, tuple[float, int, int]] = {0: (0.0, 0, LOST)}

        def offer(begin: int, end: int, token: int, score: float) -> None:
            total = best[begin][0] + score
            if end not in best or total > best[end][0]:
                kept = float(np.float32(total)) if self._single else total
                best[end] = (kept, begin, token)

        ends = [0]
        for character in word.decode():
            ends.append(ends[-1] + len(character.encode()))
        for begin, end in pairwise(ends):
            pieces = list(self._trie.along(word[begin:]))
            for length, token in pieces:
                offer(begin, begin + length, token, float(self._scores[token]))
            if all(begin + length != end for length, _ in pieces):
                offer(begin, end, LOST, self._unknown)
        path: list[int] = []
        place = len(word)
        while place:
            _, place, token = best[place]
            if token == LOST:
                return None
            path.append(token)
        return tuple(reversed(path))


def _adds_exactly(scores: Float64) -> bool:
    """Whether sums of up to a million scores are exact in double precision."""
    largest = float(np.abs(scores).max(initial=1.0)) + _UNKNOWN_PENALTY
    room = _MANTISSA - int(np.ceil(np.log2(largest * _LONGEST_WORD)))
    scaled = np.ldexp(scores, room)
    return bool((scaled == np.rint(scaled)).all())
