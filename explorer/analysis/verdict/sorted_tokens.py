"""A vocabulary in byte order: the allowed tokens that are nearest to a masked one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32


def common_length(one: bytes, other: bytes) -> int:
    """The number of bytes that two texts have in common at their beginning.

    Example:
        >>> common_length(b"food", b"for")
        2
    """
    size = min(len(one), len(other))
    if size == 0:
        return 0
    differ = np.frombuffer(one, np.uint8, size) != np.frombuffer(other, np.uint8, size)
    return int(differ.argmax()) if differ.any() else size


class SortedTokens:
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
        low, high = self._begin_with(prefix)
        return self._ids[low:high]

    def _begin_with(self, prefix: bytes) -> tuple[int, int]:
        """The range of tokens that begin with a prefix: the first index, and one past the last."""
        low = bisect_left(self._data, prefix)
        # The first string after all with the prefix: the prefix with its last byte raised.
        cut = prefix.rstrip(b"\xff")
        if not cut:
            return low, len(self._data)
        return low, bisect_left(self._data, cut[:-1] + bytes([cut[-1] + 1]))

    def _lengths(self, data: bytes) -> Iterator[int]:
        """The distinct lengths of the prefixes that some text shares with tokens, longest first.

        Of 210,000 bytes only a few prefixes are shared with more tokens than the next longer one.
        """
        low = high = bisect_left(self._data, data)
        while low > 0 or high < len(self._data):
            beside = self._data[max(low - 1, 0) : low] + self._data[high : high + 1]
            length = max(common_length(data, other) for other in beside)
            yield length
            low, high = self._begin_with(data[:length])

    def nearest(
        self, data: bytes, allowed: Bool, rank: NDArray[np.float64], count: int
    ) -> tuple[int, ...]:
        """Allowed tokens with the longest common byte prefix, then of the highest rank.

        Args:
            allowed: bool[ids].
            rank: float64[ids], higher is better; of equals the lower id.
            count: The most tokens.
        """
        nearest: list[int] = []
        for length in self._lengths(data):
            ids = self.starting_with(data[:length])
            ids = ids[allowed[ids]]
            if len(ids) > len(nearest):
                new = np.setdiff1d(ids, np.array(nearest, np.int32))
                order = np.lexsort((new, -rank[new]))
                nearest += new[order][: count - len(nearest)].tolist()
            if len(nearest) >= count:
                break
        return tuple(nearest)
