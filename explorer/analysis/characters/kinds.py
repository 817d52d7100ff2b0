"""The kinds of text that a token can offer at a byte: a letter, a digit, half a character.

The kind is that of the whole character the byte belongs to, by its Unicode general category. It is
computed once for every byte of every distinct token, so that grouping 131,072 reasons is a few
array operations. Cost: tens of milliseconds per vocabulary, once, and a byte per byte of token.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Int32
from explorer.memo import memo
from explorer.tokens.walks.trie import Trie

KINDS: Final = (
    "a letter",
    "a digit",
    "a space",
    "a line break or tab",
    "a quote",
    "a bracket",
    "punctuation",
    "a symbol",
    "a combining mark",
    "a control character",
    "half a character",
    "the end of the token",
)
HALF: Final = len(KINDS) - 2
TOKEN_ENDS: Final = len(KINDS) - 1
"""The kind at the end of a token, for machines that read the ends of tokens."""

_QUOTES: Final = frozenset("\"'`´‘’‚‛“”„‟«»‹›")


def character_kind(character: str) -> int:
    """The kind of one character, as an index into `KINDS`.

    Example:
        >>> [KINDS[character_kind(c)] for c in "ä7 {-🙂"]
        ['a letter', 'a digit', 'a space', 'a bracket', 'punctuation', 'a symbol']
    """
    if character in "\n\r\t\v\f":
        return 3
    if character in _QUOTES:
        return 4
    category = unicodedata.category(character)
    if category in ("Ps", "Pe"):
        return 5
    match category[0]:
        case "L":
            return 0
        case "N":
            return 1
        case "Z":
            return 2
        case "P":
            return 6
        case "S":
            return 7
        case "M":
            return 8
        case _:
            return 9


def _kind_of_each_byte(data: bytes) -> NDArray[np.uint8]:
    """The kind of the character that each byte of some text belongs to."""
    # A byte that belongs to no whole character becomes half of a surrogate pair.
    text = data.decode(errors="surrogateescape").encode("utf-32-le", errors="surrogatepass")
    distinct, inverse = np.unique(np.frombuffer(text, np.uint32), return_inverse=True)
    characters = [chr(code) for code in distinct.tolist()]
    kinds = [HALF if "\ud800" <= c <= "\udfff" else character_kind(c) for c in characters]
    sizes = [1 if "\ud800" <= c <= "\udfff" else len(c.encode()) for c in characters]
    inverse = inverse.reshape(-1)
    return np.repeat(np.array(kinds, np.uint8)[inverse], np.array(sizes, np.int64)[inverse])


class TokenKinds:
    """The kind of every byte of every word of a trie, and of the end of each word."""

    def __init__(self, trie: Trie) -> None:
        ids: list[int] = trie.first_id.tolist()
        words = [trie.tokens[token] or b"" for token in ids]
        # A byte between two words keeps halves of characters apart; it has no place of its own.
        self._start = np.zeros(len(words) + 1, np.int64)
        np.cumsum([len(word) + 1 for word in words], out=self._start[1:])
        self._kind = _kind_of_each_byte(b"\n".join([*words, b""]))
        self._kind[self._start[1:] - 1] = TOKEN_ENDS

    def at(self, words: Int32, offsets: Int32) -> NDArray[np.uint8]:
        """The kind of one byte of each of some words.

        Args:
            words: Numbers of words of this trie.
            offsets: The offset in each word, at most its length.
        """
        return self._kind[self._start[words] + offsets]


@memo
def kinds_of(trie: Trie) -> TokenKinds:
    """The kinds of a trie's words, computed on first use."""
    return TokenKinds(trie)
