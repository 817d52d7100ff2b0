"""Finds the words of a vocabulary that a state can read, visiting as few trie nodes as possible.

The trie is laid out level by level, so that the children of a node are adjacent: a state that reads
three bytes scans 256 neighbours once and touches no memory below the others.

A state that reads many letters in any order (`explorer.automata.discovered.letters`), as within a
string, a line or a word, takes all words of these letters at once, by a mask computed once for a
vocabulary and a set of letters. Each node stores the letters of the words at and below it, so only
nodes with other letters below are walked, some thousands of 266,000 at 131,072 tokens. If such a
letter leads to a state with letters of its own, such as the space between two words, the same
applies there: the words of a node are one range and are set without visiting the nodes. (llguidance
has *slices* of a vocabulary, one or two sets of letters, and compares regexes.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.discovered.letters import (
    COMPLETE,
    KNOWN,
    NOTES,
    REACH,
    SETS,
    find_letters,
)
from explorer.automata.discovered.net import Int64
from explorer.automata.discovered.rows import FINISHED, PAUSED, fill_from_arrays
from explorer.automata.machine import (
    UNKNOWN,
    Bool,
    ByteMachine,
    Int32,
    UInt32,
    UInt64,
    WalkArrays,
    WordTrie,
)
from explorer.jit import jit

NEEDS_LETTERS: Final = -2
"""The reason to return: the words of the state's letters must be set first."""
NEEDS_ROOM: Final = -3
"""The reason to return: there is no room to store the letters of a state."""

FEWEST_WORDS: Final = 48
"""The fewest words below a node for which the letters of the state there are computed."""

# Whether a walk begins or continues.
BEGINNING: Final = 0
GOING_ON: Final = 1
"""The walk continues where it stopped."""

# The columns of `nodes`.
PACKED: Final = 0
"""The column with the byte, and from bit 16 on the number of children."""
CHILD: Final = 1
ID: Final = 2
FIRST_WORD: Final = 3
LAST_WORD: Final = 4
LETTER: Final = 5
"""The column with the letter that the byte completes, 255 if none; from bit 8 on the most letters
of a word at or below the node, counted from the node."""
NO_LETTER: Final = 255

# The columns of a walk's stack; the top of it is the first number of row 0.
NODE, END, STATE, BASE, LENGTH, PURE, WRITTEN = range(7)
"""A list of siblings, from the one to look at; the state there; the state whose letters are used,
or −1; how many letters were read since, whether they are the first ones, and how many of all."""


class BroadTrie(NamedTuple):
    """The trie of a vocabulary as arrays for the kernels.

    Args:
        nodes: int32[nodes, 6]; the children of a node are adjacent, in the order of the walk; the
            root is first.
        letters: uint64[nodes, 2], the letters of the words at and below a node, from the node on.
        words: int32[words, 2], in the order of bytes: the id and its number of letters.
        numbers: int32[4, 128], see `explorer.automata.discovered.letters`.
        kind_first: int32[states + 1], the first arc of each state of the kinds' machines.
        kind_arcs: int32[arcs, 3], rows ``(low byte, high byte, state)``, −1 for the end.
        deepest: The most bytes of a word.
    """

    nodes: Int32
    letters: UInt64
    words: Int32
    numbers: Int32
    kind_first: Int32
    kind_arcs: Int32
    deepest: int


class Walked:
    """A vocabulary, scratch memory for walking it, and the letters of a machine's states.

    Not thread-safe.

    Args:
        trie: The vocabulary as arrays for the kernels.
        taken: Returns the mask of the words of some letters up to a length.
    """

    def __init__(
        self, plain: WordTrie, trie: BroadTrie, taken: Callable[[int, int, int], UInt32]
    ) -> None:
        self.plain = plain
        self.trie = trie
        self._taken = taken
        self.known = np.zeros((64, KNOWN + 1), np.uint64)
        notes = np.zeros((NOTES, 3), np.int32)
        stack = np.empty((trie.deepest + 3, 7), np.int32)
        self._scratch = stack, notes, np.zeros((SETS, 2), np.uint64)
        self.arrays: WalkArrays = (*trie[:-1], *self._scratch, self.known)

    def make_room(self, states: int) -> None:
        """Make room for the letters of a number of states."""
        if states > len(self.known):
            known = np.zeros((2 * states, KNOWN + 1), np.uint64)
            known[: len(self.known)] = self.known
            self.known = known
            self.arrays = (*self.trie[:-1], *self._scratch, known)

    def set_letters(self, state: int, words: UInt32) -> None:
        """Set the bits of all words in the known letters of a state."""
        low, high, reach, _ = self.known[state].tolist()
        np.bitwise_or(words, self._taken(low, high, reach >> 1), out=words)

    def set_from_rows(self, machine: ByteMachine, state: int, words: UInt32) -> None:
        """Set the bits of the words that a state can read, asking the machine for whole rows."""
        how = BEGINNING
        while True:
            self.make_room(machine.num_states)
            here = machine.table, machine.symbol_class, state
            needed = walk_words(*self.arrays, *here, words, how)
            how = GOING_ON
            if needed == COMPLETE:
                return
            if needed == NEEDS_LETTERS:
                self.set_letters(state, words)
            elif needed >= 0:
                machine.expected(needed)  # Its whole row.


@jit
def walk_words(
    nodes: Int32, letters: UInt64, word_ids: Int32, numbers: Int32, kind_first: Int32,
    kind_arcs: Int32, stack: Int32, notes: Int32, sets: UInt64, known: UInt64,
    table: Int32, symbol_class: Int32, state: int, words: UInt32, how: int,
) -> int:  # fmt: skip
    """Set the bits of the words that a state can read.

    Args:
        nodes, letters, word_ids, numbers, kind_first, kind_arcs: As in `BroadTrie`.
        stack, notes, sets, known: As in `Walked`.
        table, symbol_class: The rows of the byte machine, as far as they are known.
        state: Where the words begin.
        words: uint32[words], the mask.
        how: `BEGINNING` or `GOING_ON`.

    Returns:
        `COMPLETE`, `NEEDS_LETTERS`, `NEEDS_ROOM`, or a state whose row is needed first.
    """
    if how == BEGINNING:
        notes[0, 0] = -1
        stack[0, 0] = -1
    if stack[0, 0] < 0:
        if state >= known.shape[0]:
            return NEEDS_ROOM
        if known[state, KNOWN] == 0:
            needed = find_letters(
                numbers, kind_first, kind_arcs, table, symbol_class, state, notes, sets, known
            )
            if needed != COMPLETE:
                return needed
        base, pure = -1, 0
        if (known[state, 0] | known[state, 1]) != np.uint64(0):
            base, pure = state, 1
        stack[0, 0] = 1
        first = nodes[0, CHILD]
        stack[1, NODE], stack[1, END] = first, first + (nodes[0, PACKED] >> 16)
        stack[1, STATE], stack[1, BASE], stack[1, LENGTH] = state, base, 0
        stack[1, PURE], stack[1, WRITTEN] = pure, 0
        if pure:
            return NEEDS_LETTERS
    top = stack[0, 0]
    while top > 0:
        node, end, here = stack[top, NODE], stack[top, END], stack[top, STATE]
        base, length = stack[top, BASE], stack[top, LENGTH]
        pure, written = stack[top, PURE], stack[top, WRITTEN]
        top -= 1
        low, high = np.uint64(0), np.uint64(0)
        reach, sharp = np.int64(0), False
        if base >= 0:
            low, high = known[base, 0], known[base, 1]
            reach, sharp = np.int64(known[base, REACH]) >> 1, known[base, REACH] & np.uint64(1) != 0
        needed = np.int64(COMPLETE)
        if here >= table.shape[0]:
            needed = np.int64(here)
        while node < end and needed == COMPLETE:
            if base >= 0 and not ((letters[node, 0] & ~low) | (letters[node, 1] & ~high)):
                all_fit = length + (nodes[node, LETTER] >> 8) <= reach
                if all_fit or sharp:
                    if not pure:
                        most = written + reach - length
                        for k in range(nodes[node, FIRST_WORD], nodes[node, LAST_WORD]):
                            if all_fit or word_ids[k, 1] <= most:
                                token = word_ids[k, 0]
                                words[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
                    node += 1
                    continue
            packed = nodes[node, PACKED]
            target = table[here, symbol_class[packed & 0xFFFF]]
            if target < 0:
                if target == UNKNOWN:
                    needed = np.int64(here)
                    break
                node += 1
                continue
            token = nodes[node, ID]
            # Branch-free, since the branch would be unpredictable: without a word, 0 is OR-ed in.
            words[max(token, 0) >> 5] |= np.uint32(token >= 0) << np.uint32(token & 31)
            if packed >> 16 == 0:
                node += 1
                continue
            letter = nodes[node, LETTER] & 0xFF
            under, since, still, count = base, length, pure, written
            if letter != NO_LETTER:
                count += 1
                since += 1
                bits = low if letter < 64 else high
                inside = (bits >> np.uint64(letter & 63)) & np.uint64(1) != np.uint64(0)
                if base < 0 or not inside or since >= reach:
                    under, since, still = -1, 0, 0
                    if nodes[node, LAST_WORD] - nodes[node, FIRST_WORD] >= FEWEST_WORDS:
                        if target >= known.shape[0]:
                            needed = NEEDS_ROOM
                            break
                        if known[target, KNOWN] == 0:
                            needed = np.int64(
                                find_letters(
                                    numbers,
                                    kind_first,
                                    kind_arcs,
                                    table,
                                    symbol_class,
                                    target,  # pyright: ignore[reportArgumentType]
                                    notes,
                                    sets,
                                    known,
                                )
                            )
                            if needed != COMPLETE:
                                break
                        if (known[target, 0] | known[target, 1]) != np.uint64(0):
                            under = target
            first = nodes[node, CHILD]
            node += 1
            if node < end:
                top += 1
                stack[top, NODE], stack[top, END], stack[top, STATE] = node, end, here
                stack[top, BASE], stack[top, LENGTH] = base, length
                stack[top, PURE], stack[top, WRITTEN] = pure, written
            node, end, here = first, first + (packed >> 16), target
            if under != base:
                base = under
                if base >= 0:
                    low, high = known[base, 0], known[base, 1]
                    reach = np.int64(known[base, REACH]) >> 1
                    sharp = known[base, REACH] & np.uint64(1) != 0
            length, pure, written = since, still, count
            if here >= table.shape[0]:
                needed = np.int64(here)
        if needed != COMPLETE:
            top += 1
            stack[top, NODE], stack[top, END], stack[top, STATE] = node, end, here
            stack[top, BASE], stack[top, LENGTH] = base, length
            stack[top, PURE], stack[top, WRITTEN] = pure, written
            stack[0, 0] = top
            return needed  # pyright: ignore[reportReturnType] - An int here.
    return COMPLETE


@jit
def walk_filling(
    nodes: Int32, letters: UInt64, word_ids: Int32, numbers: Int32, kind_first: Int32,
    kind_arcs: Int32, stack: Int32, notes: Int32, sets: UInt64, known: UInt64,
    state: int, words: UInt32, how: int, quantum: int,
    start: Int64, symbol_class: Int32, net_arc_start: Int32, net_arcs: Int32, move_start: Int32,
    moves: Int32, useful: Bool, ends: Bool, scope: Int32, late: Bool, sizes: Int64,
    bits: Int64,
    arena: Int64, set_start: Int64, set_hash: NDArray[np.uint64], slots: Int32, table: Int32,
    accepting: Bool, members: Int64, seen: Int64, stamps: Int64, progress: Int64,
) -> int:  # fmt: skip
    """Walk as `walk_words` does on a discovered machine, and fill the rows that are needed.

    A `Net` and its discovered rows (`Found`) are passed array by array.

    Returns:
        The result of `walk_words`, unless a row could not be filled: then the reason, such as
        `PAUSED` after ``quantum`` arcs.
    """
    work = 0
    while True:
        needed = walk_words(
            nodes, letters, word_ids, numbers, kind_first, kind_arcs, stack, notes, sets, known,
            table, symbol_class, state, words, how,
        )  # fmt: skip
        if needed < 0:
            return needed
        how = GOING_ON
        if work > quantum:
            return PAUSED
        reason = fill_from_arrays(
            net_arc_start, net_arcs, move_start, moves, useful, ends, scope, late, sizes, bits,
            arena, set_start, set_hash, slots, table, accepting, members, seen, stamps, progress,
            needed,
        )  # fmt: skip
        if reason != FINISHED:
            return reason
        work += 1 + (set_start[needed + 1] - set_start[needed]) * table.shape[1]
