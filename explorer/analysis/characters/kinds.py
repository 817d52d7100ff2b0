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
from explorer.jit import jit
from explorer.memo import memo
from explorer.tokens.walks.trie import Trie, UInt8, trie_of
from explorer.vocabulary import Vocabulary

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
    "no text",
)
HALF: Final = len(KINDS) - 3
TOKEN_ENDS: Final = len(KINDS) - 2
"""The kind at the end of a token, for machines that read the ends of tokens."""
NO_TEXT: Final = len(KINDS) - 1
"""The kind of a token that is not text, for the same machines."""

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


@jit
def _code_points(data: UInt8, start: NDArray[np.int64], out: Int32) -> None:
    """The code point that each byte belongs to, or -1 where the character is incomplete."""
    for k in range(start.shape[0] - 1):
        at = start[k]
        end = start[k + 1]
        while at < end:
            lead = data[at]
            count = 0
            code = np.int32(lead)
            if lead >= 0xF0:
                count, code = 3, np.int32(lead & 0x07)
            elif lead >= 0xE0:
                count, code = 2, np.int32(lead & 0x0F)
            elif lead >= 0xC2:
                count, code = 1, np.int32(lead & 0x1F)
            elif lead >= 0x80:
                out[at] = -1
                at += 1
                continue
            whole = at + count < end
            for j in range(1, count + 1):
                if whole and (data[at + j] & 0xC0) == 0x80:
                    code = np.int32(code << 6 | (data[at + j] & 0x3F))
                else:
                    whole = False
            if not whole or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                out[at] = -1
                at += 1
                continue
            for j in range(count + 1):
                out[at + j] = code
            at += count + 1


class TokenKinds:
    """The kind of every byte of every distinct token of a vocabulary.

    Args:
        trie: Its trie, whose word numbers are used here.
    """

    def __init__(self, vocabulary: Vocabulary, trie: Trie) -> None:
        ids: list[int] = trie.first_id.tolist()
        words = [vocabulary.tokens[token] or b"" for token in ids]
        self._start = np.zeros(len(words) + 1, np.int64)
        np.cumsum([len(word) for word in words], out=self._start[1:])
        data = np.frombuffer(b"".join(words), np.uint8)
        codes = np.empty(len(data), np.int32)
        _code_points(data, self._start, codes)
        distinct, inverse = np.unique(codes, return_inverse=True)
        kinds = np.array(
            [HALF if code < 0 else character_kind(chr(code)) for code in distinct.tolist()]
        )
        self._kind = kinds.astype(np.uint8)[inverse.reshape(-1)]

    def at(self, words: Int32, offsets: Int32) -> NDArray[np.uint8]:
        """The kind of one byte of each of some words.

        Args:
            offsets: The offset in each word, at most its length.
        """
        text = words < len(self._start) - 1
        known = np.where(text, words, 0)
        inside = text & (offsets < np.diff(self._start)[known])
        kind = self._kind[np.where(inside, self._start[known] + offsets, 0)]
        return np.where(inside, kind, np.where(text, TOKEN_ENDS, NO_TEXT)).astype(np.uint8)


@memo
def kinds_of(vocabulary: Vocabulary) -> TokenKinds:
    """The kinds of a vocabulary, computed on first use."""
    return TokenKinds(vocabulary, trie_of(vocabulary))
