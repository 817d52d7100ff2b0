"""The byte at which a word of the vocabulary fails, that is, leaves the byte machine.

The composition only keeps what survives. An explanation needs the rest: for every token the first
byte that no word of the language has in that position, and, at any place, the bytes that the
vocabulary could write instead and still finish. Both are read from the walk of the trie
(`explorer.tokens.walks.walk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Int32, run
from explorer.tokens.walks.trie import Trie, single_bytes
from explorer.tokens.walks.walk import walk_trie, within_first_character, words_before

READ: Final = -1
"""In place of a failing offset: no byte failed."""

BEFORE: Final = -2
"""In place of a character's first state: the character began before the word."""

MOST_PLACES: Final = 200_000
"""The places of the trie that `writable_bytes` visits before it gives up, about 0.1 s.

Where tokens begin one another, as ``a`` does ``aa``, a text of n bytes has n² of them.
"""


def fail_words(
    trie: Trie, machine: ByteMachine, state: int, owed: int = 0
) -> tuple[Int32, Int32, Int32]:
    """The place where each word of a vocabulary fails.

    Args:
        state: The byte state in which the words would be read.
        owed: The number of bytes that the text before still owes to a character that it has begun.

    Returns:
        Three arrays int32[words]: the failing offset, or `READ`; the last state that was reached;
        and the state at the first byte of the character that fails, or `BEFORE` where that
        character began before the word.
    """
    seen = walk_trie(machine, trie, state)
    at = trie.depth[seen.failed] - 1
    begun = np.where(within_first_character(trie)[seen.failed] & (at < owed), BEFORE, seen.begun)
    # The words at and below a failing node are contiguous, and so are all failing words.
    before = words_before(trie)
    count = before[trie.skip[seen.failed]] - before[seen.failed]
    fails = np.ones(trie.num_words, np.bool_)
    fails[seen.words] = False
    results: list[Int32] = []
    for read, failing in (
        (np.full_like(seen.words, READ), at),
        (seen.targets, seen.last),
        (seen.targets, begun),
    ):
        result = np.empty(trie.num_words, np.int32)
        result[seen.words] = read
        result[fails] = np.repeat(failing, count)
        results.append(result)
    return results[0], results[1], results[2]


def _children(trie: Trie, node: int) -> Iterator[int]:
    """The nodes right below a node; −1 is the root."""
    child, end = node + 1, len(trie.byte) if node < 0 else int(trie.skip[node])
    while child < end:
        yield child
        child = int(trie.skip[child])


def writable_bytes(
    trie: Trie,
    machine: ByteMachine,
    finishing: Callable[[Int32], Bool],
    state: int,
    data: bytes,
) -> bytes | None:
    """The bytes that a vocabulary can write after some others and still finish.

    The bytes in ``data`` and the one after them may be spread over tokens in any way.

    Args:
        finishing: A mask of some byte states in which tokens end: those from which the vocabulary
            can finish.
        state: The byte state at which a token begins.
        data: Bytes that the machine can read from there.

    Returns:
        The bytes, ascending; ``None`` where the search would visit more than `MOST_PLACES` places.
    """
    over_tokens = machine.over_tokens
    if over_tokens and machine.closed is None:
        return None
    states: list[int] = run(machine, state, data).tolist()
    here = states[-1]
    if here == NO_ARC:
        return b""
    if single_bytes(trie)[machine.read].all() and not over_tokens:  # A token may end anywhere.
        return machine.expected(here)
    # Nodes of the trie where a token may stand after the bytes so far; −1 between two tokens.
    places = {-1}
    looked_at = 0
    for byte, after in zip(data, states[1:], strict=True):
        looked_at += len(places)
        if looked_at > MOST_PLACES:
            return None
        places = {
            node for place in places for node in _children(trie, place) if trie.byte[node] == byte
        }
        ends = any(trie.word[node] >= 0 for node in places)
        if ends and finishing(np.array([after], np.int32))[0]:
            places.add(-1)
    writable: set[int] = set()
    before = words_before(trie)
    for place in places:
        seen = walk_trie(machine, trie, here, place)
        targets = seen.distinct()
        able = seen.leading_to(targets[finishing(targets)])
        for child in _children(trie, place):
            first, last = np.searchsorted(able, [before[child], before[trie.skip[child]]])
            if first < last and trie.byte[child] < NUM_BYTES:
                writable.add(int(trie.byte[child]))
    return bytes(sorted(writable))
