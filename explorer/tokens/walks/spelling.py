"""The tokens that spell some bytes: how far they reach, and the fewest of them.

The trie is walked, because a dictionary of 131,072 tokens would cost more than the answer. For a
set of strings, before there is a vocabulary, `explorer.vocabulary.proof.Speller` does the same.

Cost: microseconds per byte.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.memo import memo
from explorer.tokens.walks.trie import Trie


def nodes_along(trie: Trie, data: bytes, begin: int = 0) -> Iterator[tuple[int, int]]:
    """The nodes of the trie along some bytes, each with the offset where it ends.

    Args:
        begin: The offset at which the path begins.
    """
    if begin >= len(data):
        return
    node = _first_nodes(trie)[data[begin]]
    last = len(trie.byte)
    for end in range(begin + 1, min(len(data), begin + trie.max_depth) + 1):
        while node < last and trie.byte[node] != data[end - 1]:
            node = int(trie.skip[node])
        if node >= last:
            return
        yield end, node
        node, last = node + 1, int(trie.skip[node])


@memo
def _first_nodes(trie: Trie) -> list[int]:
    """The child of the root for each byte; the number of nodes where there is none."""
    first = [len(trie.byte)] * 256
    node = 0
    while node < len(trie.byte):
        first[int(trie.byte[node])] = node
        node = int(trie.skip[node])
    return first


def tokens_at(trie: Trie, data: bytes, begin: int = 0) -> list[tuple[int, int]]:
    """The tokens that begin at an offset of some bytes.

    Args:
        begin: The offset.

    Returns:
        The end of each, ascending, and its id, the lowest of those with the same bytes.

    Example:
        >>> from explorer import Vocabulary
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ab", b"c"], eos_ids=[3]), None)
        >>> tokens_at(trie, b"cab", 1)
        [(2, 0), (3, 1)]
    """
    tokens: list[tuple[int, int]] = []
    for end, node in nodes_along(trie, data, begin):
        word = trie.word_at(node)
        if word >= 0:
            tokens.append((end, int(trie.first_id[word])))
    return tokens


def longest_spelled(trie: Trie, data: bytes) -> int:
    """The length of the longest prefix that whole tokens can spell.

    Example:
        >>> from explorer import Vocabulary
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ab", b"bcd"], eos_ids=[3]), None)
        >>> longest_spelled(trie, b"abc"), longest_spelled(trie, b"abcd")
        (2, 4)
    """
    reached = {0}
    for begin in range(len(data)):
        if begin in reached:
            reached.update(end for end, _ in tokens_at(trie, data, begin))
    return max(reached)


def fewest_tokens(trie: Trie, data: bytes) -> tuple[int, ...] | None:
    """The fewest tokens that spell some bytes; among equals the one with longer tokens first.

    Returns:
        Their ids, the lowest among those with the same bytes; ``None`` if no tokens spell them.

    Example:
        >>> from explorer import Vocabulary
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ab", b"bc", b"c"], eos_ids=[4]), None)
        >>> fewest_tokens(trie, b"abc"), fewest_tokens(trie, b"b")
        ((1, 3), None)
    """
    # The fewest tokens from each offset to the end, and the first of them.
    counts: dict[int, int] = {len(data): 0}
    firsts: dict[int, tuple[int, int]] = {}
    for begin in range(len(data) - 1, -1, -1):
        for end, token in reversed(tokens_at(trie, data, begin)):
            if end in counts and counts[end] + 1 < counts.get(begin, len(data) + 1):
                counts[begin] = counts[end] + 1
                firsts[begin] = (end, token)
    if 0 not in counts:
        return None
    place = 0
    ids: list[int] = []
    while place < len(data):
        place, token = firsts[place]
        ids.append(token)
    return tuple(ids)
