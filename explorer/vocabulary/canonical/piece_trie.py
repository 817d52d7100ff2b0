"""The pieces of a model as a trie, and the windows of text that longer pieces could still change.

A *window* is the list of trie nodes reached by the text since the beginnings of earlier tokens,
with a number for each. Both models that look ahead (`explorer.vocabulary.canonical.best_paths`,
`longest_pieces`) use the window as their state within a word, so windows are numbered in the order
of their discovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Float64 = NDArray[np.float64]
UInt8 = NDArray[np.uint8]

NO_PIECE: Final = -1

BEGUN: Final = 0
"""The number of the empty window: the state at the beginning of a word."""


@dataclass(frozen=True, eq=False)
class PieceTrie:
    """A trie of byte strings, each with an id; made by `of`.

    Attributes:
        start: int32[nodes + 1]; the children of node n are the entries ``start[n]`` to
            ``start[n + 1]``, ascending by byte. Node 0 is the root.
        byte: uint8[nodes - 1], the byte that leads to each child.
        child: int32[nodes - 1], the child's number.
        piece: int32[nodes], the id of the string that ends at each node, or `NO_PIECE`.
        depth: The length of the longest string, in bytes.
    """

    start: Int32
    byte: UInt8
    child: Int32
    piece: Int32
    depth: int

    @classmethod
    def of(cls, pieces: Mapping[bytes, int]) -> PieceTrie:
        """The trie of some non-empty strings.

        Example:
            >>> trie = PieceTrie.of({b"a": 5, b"ab": 6})
            >>> trie.piece.tolist(), trie.depth
            ([-1, 5, 6], 2)
        """
        children: list[dict[int, int]] = [{}]
        piece = [NO_PIECE]
        for text, number in pieces.items():
            node = 0
            for byte in text:
                following = children[node].get(byte)
                if following is None:
                    following = children[node][byte] = len(children)
                    children.append({})
                    piece.append(NO_PIECE)
                node = following
            piece[node] = number
        counts = [len(row) for row in children]
        arcs = [arc for row in children for arc in sorted(row.items())]
        return cls(
            np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
            np.array([byte for byte, _ in arcs], np.uint8),
            np.array([node for _, node in arcs], np.int32),
            np.array(piece, np.int32),
            max(map(len, pieces), default=0),
        )

    def along(self, text: bytes, node: int = 0) -> Iterator[tuple[int, int]]:
        """The lengths and ids of the strings that are prefixes of some bytes, shortest first."""
        for place, byte in enumerate(text):
            following = self.after(node, byte)
            if following is None:
                return
            node = following
            if self.piece[node] != NO_PIECE:
                yield place + 1, int(self.piece[node])

    def after(self, node: int, byte: int) -> int | None:
        """The child of a node by a byte; ``None`` if there is none."""
        low, high = int(self.start[node]), int(self.start[node + 1])
        place = low + int(np.searchsorted(self.byte[low:high], byte))
        return int(self.child[place]) if place < high and self.byte[place] == byte else None


class Windows:
    """A thread-safe numbering of windows; a word begins with the empty window, `BEGUN`."""

    def __init__(self, empty: Float64) -> None:
        self.met: list[tuple[Int32, Float64]] = []
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._lock = Lock()
        self.number(np.zeros(0, np.int32), empty)

    def number(self, nodes: Int32, values: Float64) -> int:
        """The number of a window; the arrays are copied."""
        key = nodes.tobytes(), values.tobytes()
        with self._lock:
            number = self._numbers.get(key)
            if number is None:
                number = len(self._numbers)
                del self.met[number:]  # Left by an interrupted addition.
                self.met.append((nodes.copy(), values.copy()))
                self._numbers[key] = number
            return number
