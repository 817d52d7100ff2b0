"""The words of a machine: a shortest one, the first n, how many there can be."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

import numpy as np

from explorer.automata.machine import NO_ARC, Dfa
from explorer.errors import EmptyConstraint


def _lowest_symbols(dfa: Dfa) -> list[int]:
    """The lowest byte of each class."""
    lowest = [-1] * dfa.num_classes
    for symbol, class_ in enumerate(dfa.symbol_class[:256]):
        if lowest[class_] < 0:
            lowest[class_] = symbol
    return lowest


def shortest_word(dfa: Dfa, state: int | None = None) -> bytes:
    """A shortest word, the first in byte order among those.

    Args:
        dfa: A machine over bytes.
        state: Where to begin; default its start.

    Raises:
        EmptyConstraint: No word can be read from there.

    Example:
        >>> from explorer import regex
        >>> shortest_word(regex("(foo)+d").dfa)
        b'food'
    """
    begin = dfa.start if state is None else state
    symbols = _lowest_symbols(dfa)
    came_from: dict[int, tuple[int, int]] = {}
    queue = deque([] if begin == NO_ARC else [begin])
    seen = {begin}
    while queue:
        here = queue.popleft()
        if dfa.accepting[here]:
            word = bytearray()
            while here in came_from:
                here, symbol = came_from[here]
                word.append(symbol)
            return bytes(reversed(word))
        # By lowest byte, so that the first word found is also the first in byte order.
        for class_ in sorted(range(dfa.num_classes), key=symbols.__getitem__):
            target = int(dfa.table[here, class_])
            if symbols[class_] >= 0 and target != NO_ARC and target not in seen:
                seen.add(target)
                came_from[target] = (here, symbols[class_])
                queue.append(target)
    raise EmptyConstraint(
        "No word can be read from here.",
        remedy="Look for parts of the constraint that exclude each other.",
    )


def is_finite(dfa: Dfa) -> bool:
    """Whether a trimmed machine has finitely many words, that is, no cycle.

    Args:
        dfa: A machine in which every state lies on an accepting path (minimal machines do).
    """
    out = [np.unique(row[row >= 0]).tolist() for row in dfa.table]
    incoming = np.zeros(dfa.num_states, np.int64)
    for targets in out:
        incoming[targets] += 1
    free = [s for s in range(dfa.num_states) if incoming[s] == 0]
    removed = 0
    while free:
        state = free.pop()
        removed += 1
        for target in out[state]:
            incoming[target] -= 1
            if incoming[target] == 0:
                free.append(target)
    return removed == dfa.num_states


def words(dfa: Dfa) -> Iterator[bytes]:
    """All words, shortest first, then in byte order; without end where there are infinitely many.

    Branches that cannot finish sooner than others wait in a queue ordered by the shortest
    length that they can reach, so memory grows with the words given out, not with all words.
    """
    if dfa.num_states == 0:
        return
    remaining = _shortest_lengths(dfa)
    arcs: list[list[tuple[int, int]]] = [
        [(b, int(t)) for b, t in enumerate(row) if t != NO_ARC]
        for row in dfa.table[:, dfa.symbol_class[:256]]
    ]
    queue: list[tuple[int, bytes, int]] = [(remaining[dfa.start], b"", dfa.start)]
    while queue:
        length, word, state = heapq.heappop(queue)
        if length == len(word) and dfa.accepting[state]:
            yield word
        for byte, target in arcs[state]:
            following = word + bytes([byte])
            # A state that accepts now may also go on: its longer words come from its targets.
            heapq.heappush(queue, (len(following) + remaining[target], following, target))


def _shortest_lengths(dfa: Dfa) -> list[int]:
    """For each state the length of a shortest word from it."""
    back: list[list[int]] = [[] for _ in range(dfa.num_states)]
    for source, row in enumerate(dfa.table):
        for target in np.unique(row[row >= 0]):
            back[int(target)].append(source)
    lengths = [-1] * dfa.num_states
    queue = deque(int(s) for s in np.flatnonzero(dfa.accepting))
    for state in queue:
        lengths[state] = 0
    while queue:
        state = queue.popleft()
        for source in back[state]:
            if lengths[source] < 0:
                lengths[source] = lengths[state] + 1
                queue.append(source)
    return lengths
