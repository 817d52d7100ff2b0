"""WordPiece: a word is split greedily into the longest pieces.

The next token is correct exactly if it is a piece and no longer piece fits at its beginning. That
is decided once the text since its beginning is no longer the beginning of a piece, so what matters
is the *window*: the nodes of the trie reached by the text since the beginning of each recent token.
Pieces that begin a word and pieces that continue one (``##``) are looked up in two parts of one
trie. A word of more than 100 characters becomes unknown, so its length matters too.

Source: Schuster and Nakajima 2012; `tokenizers`, its WordPiece model.
Cost: half a µs a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from explorer.vocabulary.canonical.best_paths import LOST
from explorer.vocabulary.canonical.piece_kernels import (
    Bool,
    Int64,
    read_longest,
    survive_longest,
)
from explorer.vocabulary.canonical.piece_trie import BEGUN, Int32, PieceTrie, Windows

_CONTINUED: Final = b"\xff"
"""The byte that leads from the root to the pieces that continue a word; it occurs in no text."""

_FIRST: Final = 0
_LATER: Final = 1
_ANYWHERE: Final = 2


class LongestPieces:
    """The longest pieces of a WordPiece model within a word; thread-safe.

    Args:
        first: The id of each piece that begins a word, by its bytes.
        rest: The id of each piece that continues a word.
        longest: The most characters of a word that does not become unknown.

    Example:
        >>> model = LongestPieces({b"un": 0, b"una": 1}, {b"a": 2, b"able": 3, b"b": 4}, 5, 100)
        >>> model.words(b"unable") is None, model.words(b"unab"), model.words(b"un")
        (True, (1, 4), (0,))
        >>> model.after(model.after(BEGUN, 0), 3) == LOST  # "una" is longer
        True
    """

    def __init__(
        self, first: Mapping[bytes, int], rest: Mapping[bytes, int], num_ids: int, longest: int
    ) -> None:
        self._longest = longest
        self._place = np.full(num_ids, _ANYWHERE, np.int8)
        texts: list[bytes] = [b""] * num_ids
        strings = dict(first)
        for text, token in first.items():
            texts[token] = text
            self._place[token] = _FIRST
        for text, token in rest.items():
            texts[token] = text
            strings[_CONTINUED + text] = token
            self._place[token] = _LATER
        self._lengths = np.array([len(text.decode()) for text in texts], np.int32)
        strings.pop(b"", None)
        strings.pop(_CONTINUED, None)
        self._trie = PieceTrie.of(strings)
        continued = self._trie.after(0, _CONTINUED[0])
        # Node 0 if no piece continues a word: then no token that does is ever read.
        self._continued = 0 if continued is None else continued
        self._data = np.frombuffer(b"".join(texts), np.uint8)
        self._offset: Int64 = np.concatenate(([0], np.cumsum([len(text) for text in texts])))
        self._room = 2 * self._trie.depth + 2
        self._windows = Windows(np.zeros(1))
        self.written: Bool = np.array([bool(text) for text in texts])

    def after(self, state: int, token: int) -> int:
        """The state after one more token; `LOST` if the model would not produce it."""
        window, value = self._windows.met[state]
        fresh = state == BEGUN
        written = int(value[0]) + int(self._lengths[token])
        if self._place[token] == (_LATER if fresh else _FIRST) or written > self._longest:
            return LOST
        count = len(window)
        nodes = np.empty(self._room, np.int32)
        nodes[:count] = window
        trie = self._trie
        count = read_longest(
            trie.start, trie.byte, trie.child, trie.piece, self._continued, self._data,
            int(self._offset[token]), int(self._offset[token + 1]), token, fresh, nodes, count,
        )  # fmt: skip
        if count < 0:
            return LOST
        return self._windows.number(nodes[:count], np.full(1, float(written)))

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
        return survive_longest(
            trie.start, trie.byte, trie.child, trie.piece, self._continued, self._data,
            self._offset, self._lengths, self._place, window,
            int(value[0]), self._longest, state == BEGUN, tokens,
            np.array(path, np.int32), np.array(begins, np.bool_), self._room,
        )  # fmt: skip

    def words(self, word: bytes) -> tuple[int, ...] | None:
        """The ids of the pieces of one word; ``None`` if the word becomes unknown."""
        if len(word.decode()) > self._longest:
            return None
        path: list[int] = []
        at = 0
        while at < len(word):
            node = self._continued if at else 0
            *_, longest = (0, LOST), *self._trie.along(word[at:], node)
            length, token = longest
            if token == LOST:
                return None
            path.append(token)
            at += length
        return tuple(path)
