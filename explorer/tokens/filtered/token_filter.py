"""The questions that the canonical machine asks of a tokenizer's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from explorer.errors import VocabularyError
from explorer.tokens.words import UInt32
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import Int32
from explorer.vocabulary.canonical.merges import Bool

Int64 = NDArray[np.int64]

NO_TOKEN: Final = -1
"""The last token before the first one."""

_LARGEST_TABLE: Final = 1 << 22

Group = tuple[tuple[int, ...], int]
"""What a row of tokens leads to alike: the places, and the state of the guard."""


@dataclass(frozen=True, slots=True)
class WrittenSoFar:
    """The part of the tokens so far that decides which may follow.

    Args:
        last: What counts within the present word: the last token, or, where pieces look ahead, the
            number of the model's state; `NO_TOKEN` at the start.
        places: States of the marked text, ascending.
        guard: The state of the text's normal form and of the search for added tokens
            (`explorer.tokens.filtered.guard`); 0 without either.
    """

    last: int
    places: tuple[int, ...]
    guard: int = 0


START: Final = WrittenSoFar(NO_TOKEN, (0,))


class TokenFilter(Protocol):
    """A filter of the tokens that a tokenizer's rules allow after some others; thread-safe."""

    reach: int
    """The number of tokens, from the first on, that must be checked on a known way to the end."""

    usable: Bool
    """bool[ids], the tokens that some text is written with."""

    @property
    def lengths(self) -> Int64:
        """int64[ids], in bytes."""
        ...

    def may_end(self, written: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly this."""
        ...

    def after(self, written: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the tokenizer would not write it."""
        ...

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """What each of some tokens leads to, but for what counts within the word.

        Args:
            written: The tokens so far.
            tokens: int32[n], ids.

        Returns:
            The groups; and int64[n], the group of each token, -1 where the tokenizer would not
            write it.
        """
        ...

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        ...

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """Which of some tokens could be followed by a way to the end that follows one of them.

        Args:
            written: The tokens so far.
            tokens: int32[n], tokens of one group.
            here: The state after the one that the way follows.
            way: The tokens of the way, at most `reach` of them.

        Returns:
            bool[n]; false also where it is not known.
        """
        ...


@runtime_checkable
class NeighbourFilter(TokenFilter, Protocol):
    """A filter in which the last token counts only by the tokens that it refuses within a word.

    So a row is worked out once for all last tokens, as two: of the tokens that stand in the present
    word or begin one, and of those that begin one.
    """

    def following_apart(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[Sequence[Group], Int64]:
        """`following`, as if every token were refused within the present word."""
        ...

    def goes_on(self, places: Sequence[int]) -> bool:
        """Whether the present word has to go on: the text is within a character, mostly."""
        ...

    def continued(self, places: tuple[int, ...], last: Int32, tokens: Int32) -> Bool:
        """Which of some last tokens one of some tokens may follow in the same word.

        Args:
            places: Where the last tokens led; the word has to go on there.
            last: int32[n], ids.
            tokens: int32[m], ids.
        """
        ...

    def refused_words(self, last: int) -> UInt32:
        """uint32[words], the tokens that may not follow another one within a word, as bits."""
        ...

    def beside_guard(self, written: WrittenSoFar) -> tuple[UInt32, Int32] | None:
        """How the row of a state differs from the one at which its guard is at the start.

        Returns:
            uint32[words], the tokens that lead where they lead from there, as bits; and int32[n],
            those that lead elsewhere. ``None`` where the row has to be worked out by itself.
        """
        ...


def distinct(columns: Sequence[NDArray[np.integer]]) -> tuple[Int64, Int64]:
    """Number the distinct rows of some columns of small numbers from 0 on.

    Without sorting, as long as the numbers are small: a table of those that occur.

    Args:
        columns: int[n] each, 0 or more.

    Returns:
        int64[n], the number of each row; int64[rows], a place where each stands.

    Example:
        >>> key, firsts = distinct([np.array([1, 0, 1]), np.array([2, 2, 2])])
        >>> key.tolist(), sorted(firsts.tolist())
        ([1, 0, 1], [1, 2])
    """
    key = np.zeros(len(columns[0]), np.int64)
    count = 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        joined = key * width + column
        if count * width > _LARGEST_TABLE:
            values, key = np.unique(joined, return_inverse=True)
            count = len(values)
            continue
        present = np.zeros(count * width, np.bool_)
        present[joined] = True
        key = (np.cumsum(present) - 1)[joined]
        count = int(present.sum())
    firsts = np.zeros(count, np.int64)
    firsts[key] = np.arange(len(key))
    return key, firsts


def check_same(tokenizer: Vocabulary, vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary whose ids write something else than the tokenizer's.

    Raises:
        VocabularyError: The first such id is named.
    """
    if vocabulary is tokenizer or vocabulary.tokens == tokenizer.tokens:
        return
    known = tokenizer.tokens
    for token, data in enumerate(vocabulary.tokens):
        if data is not None and (token >= len(known) or known[token] != data):
            raise VocabularyError(
                f"The canonical filter's tokenizer is not the vocabulary's: the id {token} writes "
                f"{data!r} here and {known[token] if token < len(known) else None!r} there.",
                remedy="Give canonical(...) the tokenizer that the vocabulary was read from, or "
                "that vocabulary itself.",
                evidence={"id": token},
            )
