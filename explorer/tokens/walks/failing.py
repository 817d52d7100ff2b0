"""Where reading fails: the byte at which a word of the vocabulary leaves the byte machine.

The composition only keeps what survives. An explanation needs the rest: for every token the first
byte that no word of the language has at that place, and, at any place, which bytes the vocabulary
could write instead and still finish. Both are walks of the same trie that the composition walks.

Any `ByteMachine` will do. A `Dfa` is walked by machine code; of another machine the part that the
vocabulary visits is written down as a `Dfa` first, which costs a Python step per node of the trie.

Cost at 131,072 tokens over a `Dfa`: `fail_words` visits every node above a failure once (at most
2 ms); `writable_bytes` stops at the first way to finish for each byte (microseconds, at worst one
walk).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES, NUM_TOKEN_SYMBOLS
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Dfa, Int32
from explorer.automata.tree.build import is_over_tokens
from explorer.jit import jit
from explorer.tokens.walks.arrays import arrays_from
from explorer.tokens.walks.trie import Trie, UInt8
from explorer.tokens.walks.written import boundaries

READ: Final = -1
"""In place of a failing offset: every byte of the word was read."""

BEFORE: Final = -2
"""In place of a character's first state: the character began before the word."""

MOST_PLACES: Final = 20_000_000
"""Places of the trie that `writable_bytes` looks at before it gives up, which takes about 0.1 s.

Where tokens begin one another, as ``a`` does ``aa``, a text of n bytes has n² of them.
"""

MOST_PLACES_SLOWLY: Final = MOST_PLACES // 100
"""The same where Python takes the steps."""


@jit
def _run(table: Int32, symbol_class: Int32, start: int, data: UInt8, out: Int32) -> None:
    state = start
    out[0] = state
    for k in range(data.shape[0]):
        if state >= 0:
            state = table[state, symbol_class[data[k]]]
        out[k + 1] = state


@jit
def _fail(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, table: Int32,
    state: int, owed: int, states: Int32, path: UInt8, offset: Int32, reached: Int32, begun: Int32,
) -> None:  # fmt: skip
    states[0] = state
    node = 0
    while node < byte.shape[0]:
        d = depth[node]
        path[d] = byte[node]
        target = table[states[d - 1], symbol_class[byte[node]]]
        if target >= 0:
            states[d] = target
            if word[node] >= 0:
                offset[word[node]] = -1
                reached[word[node]] = target
                begun[word[node]] = target
            node += 1
            continue
        # Back to the lead byte, if it still waits for bytes: then its character is the one that
        # fails. Otherwise a new character would begin here.
        first = d
        while first > 1 and (path[first - 1] & 0xC0) == 0x80:
            first -= 1
        lead = path[first - 1] if first > 1 else 0
        need = 3 if lead >= 0xF0 else 2 if lead >= 0xE0 else 1 if lead >= 0xC2 else 0
        if first == 1:
            origin = -2 if owed > d - 1 else states[d - 1]
        else:
            origin = states[first - 2] if need > d - first else states[d - 1]
        for below in range(node, skip[node]):
            if word[below] >= 0:
                offset[word[below]] = d - 1
                reached[word[below]] = states[d - 1]
                begun[word[below]] = origin
        node = skip[node]


@jit
def _finishes(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, table: Int32,
    kept: Bool, states: Int32, node: int,
) -> bool:  # fmt: skip
    """Whether a word at or below a node, whose state is in the stack, leads to a kept state."""
    if word[node] >= 0 and kept[states[depth[node]]]:
        return True
    below = node + 1
    while below < skip[node]:
        target = table[states[depth[below] - 1], symbol_class[byte[below]]]
        if target < 0:
            below = skip[below]
            continue
        if word[below] >= 0 and kept[target]:
            return True
        states[depth[below]] = target
        below += 1
    return False


@jit
def _writable(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, table: Int32,
    kept: Bool, state: int, data: UInt8, places: Int32, following: Int32, states: Int32, out: Bool,
    most: int,
) -> bool:  # fmt: skip
    """Sets the bytes; whether that took no more than ``most`` places."""
    count = 1
    places[0] = -1
    here = state
    looked_at = 0
    for k in range(data.shape[0]):
        looked_at += count
        if looked_at > most:
            return False
        here = table[here, symbol_class[data[k]]]
        if here < 0:
            return True
        found = 0
        boundary = False
        for j in range(count):
            child = 0 if places[j] < 0 else places[j] + 1
            end = byte.shape[0] if places[j] < 0 else skip[places[j]]
            while child < end:
                if byte[child] == data[k]:
                    following[found] = child
                    found += 1
                    boundary = boundary or (word[child] >= 0 and kept[here])
                    break
                child = skip[child]
        if boundary:
            following[found] = -1
            found += 1
        count = found
        for j in range(count):
            places[j] = following[j]
    for j in range(count):
        child = 0 if places[j] < 0 else places[j] + 1
        end = byte.shape[0] if places[j] < 0 else skip[places[j]]
        while child < end:
            b = byte[child]
            target = table[here, symbol_class[b]]
            if target >= 0 and not out[b]:
                states[depth[child]] = target
                out[b] = _finishes(
                    byte, depth, skip, word, symbol_class, table, kept, states, child
                )
            child = skip[child]
    return True


def run(machine: ByteMachine, state: int, data: bytes) -> Int32:
    """The byte states along some bytes.

    Args:
        machine: The machine over bytes.
        state: Where reading starts; `NO_ARC` stays there.
        data: What is read.

    Returns:
        int32[len(data) + 1], the first being ``state``; `NO_ARC` from the first failure on.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> run(regex("ab").dfa, 0, b"ax").tolist()
        [0, 1, -1]
    """
    out = np.empty(len(data) + 1, np.int32)
    if state == NO_ARC:
        out[:] = NO_ARC
    elif isinstance(machine, Dfa):
        _run(machine.table, machine.symbol_class, state, np.frombuffer(data, np.uint8), out)
    else:
        out[0] = state
        for k, byte in enumerate(data):
            state = NO_ARC if state == NO_ARC else machine.step(state, byte)
            out[k + 1] = state
    return out


def fail_words(
    trie: Trie, machine: ByteMachine, state: int, owed: int = 0
) -> tuple[Int32, Int32, Int32]:
    """For every word of a vocabulary where it fails.

    Args:
        trie: The vocabulary.
        machine: The machine over bytes.
        state: The byte state in which the words would be read.
        owed: How many bytes the text before still owes to a character that it has begun.

    Returns:
        Three arrays int32[words]: the failing offset, or `READ`; the last state that was reached;
        and the state at the first byte of the character that fails, or `BEFORE` where that
        character began before the word.
    """
    arrays = arrays_from(machine, trie, state)
    if arrays is None:
        visited, met = _visited(trie, machine, state)
        offset, reached, begun = fail_words(trie, visited, visited.start, owed)
        return offset, met[reached], np.where(begun == BEFORE, BEFORE, met[begun]).astype(np.int32)
    words = trie.num_words
    offset, reached, begun = (np.empty(words, np.int32) for _ in range(3))
    states = np.zeros(trie.max_depth + 1, np.int32)
    path = np.zeros(trie.max_depth + 1, np.uint8)
    _fail(
        trie.byte, trie.depth, trie.skip, trie.word, *arrays, state, owed, states, path, offset,
        reached, begun,
    )  # fmt: skip
    return offset, reached, begun


def _visited(trie: Trie, machine: ByteMachine, state: int) -> tuple[Dfa, Int32]:
    """The part of a machine that the words of a vocabulary visit, as a `Dfa`, and the machine's own
    states.

    Arcs that no word takes are left out.
    """
    numbers = {state: 0}
    rows = [np.full(NUM_BYTES, NO_ARC, np.int32)]
    stack = [state] * (trie.max_depth + 1)
    node, nodes = 0, len(trie.byte)
    while node < nodes:
        depth, byte = int(trie.depth[node]), int(trie.byte[node])
        before = stack[depth - 1]
        target = machine.step(before, byte)
        if target == NO_ARC:
            node = int(trie.skip[node])
            continue
        if target not in numbers:
            numbers[target] = len(numbers)
            rows.append(np.full(NUM_BYTES, NO_ARC, np.int32))
        rows[numbers[before]][byte] = numbers[target]
        stack[depth] = target
        node += 1
    every_byte = np.arange(NUM_BYTES, dtype=np.int32)
    visited = Dfa(every_byte, np.stack(rows), np.zeros(len(rows), np.bool_), 0)
    return visited, np.array([*numbers], np.int32)


def writable_bytes(
    trie: Trie, machine: ByteMachine, kept: Bool | Callable[[int], bool], state: int, data: bytes
) -> bytes | None:
    """Find the bytes that a vocabulary can write after some others and still finish.

    The bytes in ``data`` and the one after them may be spread over tokens in any way.

    Args:
        trie: The vocabulary.
        machine: The machine over bytes.
        kept: Where this vocabulary can finish from a token's end: bool[byte states] of a `Dfa`, or
            a function of a byte state.
        state: The byte state at which a token begins; one of those kept.
        data: Bytes that the machine can read from there.

    Returns:
        The bytes, ascending; ``None`` where finding them would take more than `MOST_PLACES`.
    """
    over_tokens = is_over_tokens(machine)
    if over_tokens and not isinstance(machine, Dfa):
        return None
    if callable(kept) and over_tokens and isinstance(machine, Dfa):
        # The walk below takes bytes, so states are asked here: those that tokens end in.
        asked = kept
        kept = np.array([q and asked(k) for k, q in enumerate(boundaries(machine))], np.bool_)
    if callable(kept) or not isinstance(machine, Dfa):
        return _writable_anywhere(trie, machine, _as_function(kept), state, data)
    out = np.zeros(NUM_TOKEN_SYMBOLS, np.bool_)
    room = trie.max_depth + 2
    known = _writable(
        trie.byte, trie.depth, trie.skip, trie.word, machine.symbol_class, machine.table, kept,
        state, np.frombuffer(data, np.uint8), np.empty(room, np.int32), np.empty(room, np.int32),
        np.zeros(room, np.int32), out, MOST_PLACES,
    )  # fmt: skip
    return bytes(np.flatnonzero(out[:NUM_BYTES]).tolist()) if known else None


def _as_function(kept: Bool | Callable[[int], bool]) -> Callable[[int], bool]:
    if callable(kept):
        return kept
    return lambda state: bool(kept[state])


def _writable_anywhere(
    trie: Trie, machine: ByteMachine, finishes: Callable[[int], bool], state: int, data: bytes
) -> bytes | None:
    """`writable_bytes` over any machine, a step at a time."""

    def children(place: int) -> list[int]:
        child = 0 if place < 0 else place + 1
        end = len(trie.byte) if place < 0 else int(trie.skip[place])
        found: list[int] = []
        while child < end:
            found.append(child)
            child = int(trie.skip[child])
        return found

    def ends_well(node: int, after: int) -> bool:
        """Whether a word at or below a node, which leads to a state, can be finished."""
        waiting = [(node, after)]
        while waiting:
            here, reached = waiting.pop()
            if trie.word[here] >= 0 and finishes(reached):
                return True
            for child in children(here):
                target = machine.step(reached, int(trie.byte[child]))
                if target != NO_ARC:
                    waiting.append((child, target))
        return False

    # Nodes of the trie where a token may stand after the bytes so far; -1 between two tokens.
    places, here = {-1}, state
    looked_at = 0
    for byte in data:
        looked_at += len(places)
        if looked_at > MOST_PLACES_SLOWLY:
            return None
        here = machine.step(here, byte)
        if here == NO_ARC:
            return b""
        places = {node for at in places for node in children(at) if trie.byte[node] == byte}
        if any(trie.word[node] >= 0 for node in places) and finishes(here):
            places.add(-1)
    following = [node for place in places for node in children(place)]
    found: set[int] = set()
    for node in following:
        byte = int(trie.byte[node])
        if byte not in found:
            target = machine.step(here, byte)
            if target != NO_ARC and ends_well(node, target):
                found.add(byte)
    return bytes(sorted(found))
