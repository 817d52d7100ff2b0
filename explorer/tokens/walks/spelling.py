"""Whether tokens can spell some bytes: how far, and with the fewest tokens.

The trie is walked, because a dictionary of 131,072 tokens would cost more than the answer. Before a
vocabulary is made, `explorer.vocabulary.proof.Speller` answers the same question for a set of
strings.

Cost: microseconds per byte.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.memo import memo
from explorer.tokens.walks.trie import Trie


def nodes_along(trie: Trie, data: bytes, begin: int = 0) -> Iterator[tuple[int, int]]:
    """The nodes of the trie that some bytes lead through, and where each ends in the bytes.

    Args:
        begin: Where the way through the trie begins.
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
    """For each byte the node below the root that it leads to; one past the last without one."""
    first = [len(trie.byte)] * 256
    node = 0
    while node < len(trie.byte):
        first[int(trie.byte[node])] = node
        node = int(trie.skip[node])
    return first


def tokens_at(trie: Trie, data: bytes, begin: int = 0) -> list[tuple[int, int]]:
    """The tokens that stand in some bytes at one place.

    Args:
        begin: Where the tokens begin.

    Returns:
        Where each ends, ascending, and its id, the lowest of those that write the same.

    Example:
        >>> from explorer import Vocabulary
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ab", b"c"], eos_ids=[3]))
        >>> tokens_at(trie, b"cab", 1)
        [(2, 0), (3, 1)]
    """
    tokens: list[tuple[int, int]] = []
    for end, node in nodes_along(trie, data, begin):
        if trie.word[node] >= 0:
            tokens.append((end, int(trie.first_id[trie.word[node]])))
    return tokens


def longest_spelled(trie: Trie, data: bytes) -> int:
    """The number of bytes, from the first on, that tokens can spell and end there.

    Example:
        >>> from explorer import Vocabulary
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ab", b"bcd"], eos_ids=[3]))
        >>> longest_spelled(trie, b"abc"), longest_spelled(trie, b"abcd")
        (2, 4)
    """
    reached = {0}
    for begin in range(len(data)):
        if begin in reached:
            reached.update(end for end, _ in tokens_at(trie, data, begin))
    return max(reached)


def fewest_tokens(trie: Trie, data: bytes) -> tuple[int, ...] | None:
    """The fewest tokens that spell some bytes; the longer one first where there is a choice.

    Returns:
        Their ids, of those that write the same the lowest; ``None`` if no tokens spell it.

    Example:
        >>> from explorer import Vocabulary
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ab", b"bc", b"c"], eos_ids=[4]))
        >>> fewest_tokens(trie, b"abc"), fewest_tokens(trie, b"b")
        ((1, 3), None)
    """
    # For each place the fewest tokens to the end, and the first of them.
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
