"""The words of a vocabulary that a state can read, with as few nodes looked at as possible.

The trie is laid out level by level, so that the children of a node stand side by side: a state that
reads three bytes looks over 256 neighbours once, and no memory is touched below the others.

A state that reads many letters whatever came before (`explorer.automata.discovered.letters`), as
within a string, a line or a word, takes the words of these letters at once, by a mask that is
worked out once for a vocabulary and a set of letters. Each node says which letters the words at and
below it have from there on, so what is walked are the nodes with other letters below, some
thousands of 266,000 at 131,072 tokens. Where such a letter leads to a state with letters of its
own, such as the space between two words, the same holds from there: the words of a node are one
range, and are set without a look at the nodes. (llguidance has *slices* of a vocabulary, one or two
sets of letters, and compares regexes.)
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
"""The words of the state's letters are to be set first."""
NEEDS_ROOM: Final = -3
"""There is no room to note the letters of a state."""

FEWEST_WORDS: Final = 48
"""Below a node with fewer words nobody asks for the letters of the state that is there."""

# How a walk begins.
BEGINNING: Final = 0
GOING_ON: Final = 1
"""Where it stopped."""

# The columns of `nodes`.
PACKED: Final = 0
"""The byte, and the number of children from bit 16 on."""
CHILD: Final = 1
ID: Final = 2
FIRST_WORD: Final = 3
LAST_WORD: Final = 4
LETTER: Final = 5
"""The letter that the byte completes, 255 where it completes none; from bit 8 on the most letters
of a word at or below the node, counted from its own."""
NO_LETTER: Final = 255

# The columns of a walk's stack; the top of it is the first number of row 0.
NODE, END, STATE, BASE, LENGTH, PURE, WRITTEN = range(7)
"""A list of siblings, from the one to look at; the state there; the state whose letters are used,
or −1; how many letters were read since, whether they are the first ones, and how many of all."""


class BroadTrie(NamedTuple):
    """A vocabulary for the kernels.

    Args:
        nodes: int32[nodes, 6]; the children of a node stand side by side, in the order in which a
            walk comes to them; the root is the first.
        letters: uint64[nodes, 2], the letters of the words at and below a node, from its own on.
        words: int32[words, 2], in the order of bytes: the id, and how many letters it has.
        numbers: int32[4, 128], see `explorer.automata.discovered.letters`.
        kind_first: int32[states + 1], where the arcs of each state of the kinds' machines begin.
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
    """A vocabulary, room for a walk of it, and the letters of a machine's states. Not thread-safe.

    Args:
        plain: The vocabulary as it is.
        trie: The same for the kernels.
        taken: The mask of the words of some letters, two words of bits, of at most so many.
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
        """Make room for the letters of so many states."""
        if states > len(self.known):
            known = np.zeros((2 * states, KNOWN + 1), np.uint64)
            known[: len(self.known)] = self.known
            self.known = known
            self.arrays = (*self.trie[:-1], *self._scratch, known)

    def set_letters(self, state: int, words: UInt32) -> None:
        """Set the words of the letters that a state reads, which are known."""
        low, high, reach, _ = self.known[state].tolist()
        np.bitwise_or(words, self._taken(low, high, reach >> 1), out=words)

    def set_from_rows(self, machine: ByteMachine, state: int, words: UInt32) -> None:
        """Set the words that can be read from a state, by rows of the machine alone."""
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
        `COMPLETE`, `NEEDS_LETTERS`, `NEEDS_ROOM`, or a state of the byte machine whose row is
        needed first.
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
            # Without a branch, which could not be foreseen: 0 is set where no word ends.
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
    """As `walk_words`, on a machine that is discovered: the rows that are needed are filled.

    A `Net` and what was `Found` of it come array by array.

    Returns:
        What `walk_words` came back for, unless it needs a row: then why the row was not filled,
        `PAUSED` after ``quantum`` arcs, or what it needs.
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
