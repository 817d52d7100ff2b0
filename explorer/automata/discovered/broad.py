"""Which words of a vocabulary a state can read, with as few nodes looked at as possible.

The trie is laid out level by level, so that the children of a node stand side by side: a state that
reads three bytes looks over 256 neighbours once, and no memory is touched below the others. Most of
a vocabulary is *common words*, words of plain text. Where a state reads any plain text whatever,
as within a string, all of them are allowed, and only what is left is walked: 8,000 of 266,000 nodes
at 131,072 tokens.

Whether a state reads any plain text is asked of the machine itself: a small machine of common
words and this one are read side by side, and every arc of the first must be an arc of the second,
as far as the longest common word goes. So nothing has to be known of the constraint. (llguidance
has such *slices* of a vocabulary, and compares regexes instead.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.discovered.net import Int64
from explorer.automata.discovered.rows import FINISHED, PAUSED, UNKNOWN, fill_from_arrays
from explorer.automata.machine import Bool, Int32
from explorer.jit import jit

UInt32 = NDArray[np.uint32]

COMPLETE: Final = -1
"""All words are set."""

MOST_PAIRS: Final = 256
"""How many pairs of states are looked at before a state counts as one that reads no plain text."""

# Places in the first row of a walk's stack.
TOP: Final = 0
KIND: Final = 1
SEEN: Final = 2
"""How many pairs have been looked at for the kind that is asked about; −1 before the first."""

NOWHERE: Final = -1
"""No place in the trie: it is still asked which text is read."""

# How a walk begins.
ASKING: Final = 0
"""By asking which plain text the state reads."""
EVERY_WORD: Final = 1
"""By looking at every word."""
GOING_ON: Final = 2
"""Where it stopped."""


class BroadTrie(NamedTuple):
    """A vocabulary for the kernels: one trie for each kind of text, without the words of that kind.

    Kind 0 has no words, each further kind has those of the kind before and more.

    Args:
        nodes: int32[nodes, 3], rows ``(byte + 2^16 · number of children, first child, id or −1)``;
            the children of a node stand side by side, in the order in which a walk comes to them.
        roots: int32[kinds], the root of each kind's trie.
        arc_start: int32[states + 1], where the arcs of each state of the kinds' machines begin.
        arcs: int32[arcs, 2], rows ``(byte, state)``.
        starts: int32[kinds], the start of each kind's machine.
        common: uint32[kinds, words], the words of each kind as a mask.
        longest: int32[1], the most bytes of a common word.
        deepest: The most bytes of a word.
    """

    nodes: Int32
    roots: Int32
    arc_start: Int32
    arcs: Int32
    starts: Int32
    common: UInt32
    longest: Int32
    deepest: int

    def stack(self) -> Int32:
        """Room for a walk: places in the trie, then pairs of states."""
        return np.empty((self.deepest + 2 + MOST_PAIRS, 3), np.int32)


@jit
def _reads(
    start: int, arc_start: Int32, arcs: Int32, longest: int, table: Int32, symbol_class: Int32,
    state: int, stack: Int32,
) -> int:  # fmt: skip
    """Whether a state reads every text of a kind: 1 or 0, or −2 less a state whose row is needed.

    Args:
        start: The start of the kind's machine.
        arc_start, arcs: The machines of the kinds.
        longest: How many bytes are looked ahead.
        table, symbol_class: The rows of the byte machine.
        state: Its state.
        stack: Its last rows hold the pairs: a state of each machine, and how far ahead.
    """
    pairs = stack[stack.shape[0] - MOST_PAIRS :]
    done = stack[0, SEEN]
    if done < 0:
        done = 0
        pairs[0, 0], pairs[0, 1], pairs[0, 2] = start, state, 0
        pairs[1, 2] = -1
    count = done + 1
    while count < MOST_PAIRS and pairs[count, 2] >= 0:
        count += 1
    while done < count:
        kind, here, ahead = pairs[done, 0], pairs[done, 1], pairs[done, 2] + 1
        if here >= table.shape[0]:
            stack[0, SEEN] = done
            return -2 - here
        before, text = np.int32(-1), np.int32(-1)
        for k in range(arc_start[kind], arc_start[kind + 1]):
            target = table[here, symbol_class[arcs[k, 0]]]
            if target < 0:
                if target == UNKNOWN:
                    stack[0, SEEN] = done
                    return -2 - here
                return 0
            if ahead == longest or (target == before and arcs[k, 1] == text):
                continue
            before, text = target, arcs[k, 1]
            known = False
            for p in range(count):
                if pairs[p, 1] == target and pairs[p, 0] == text:
                    known = True
                    break
            if not known:
                if count == MOST_PAIRS:
                    return 0
                pairs[count, 0], pairs[count, 1], pairs[count, 2] = text, target, ahead
                count += 1
                if count < MOST_PAIRS:
                    pairs[count, 2] = -1
        done += 1
    return 1


@jit
def walk_words(
    nodes: Int32, roots: Int32, arc_start: Int32, arcs: Int32, starts: Int32, common: UInt32,
    longest: Int32, table: Int32, symbol_class: Int32, state: int, words: UInt32, stack: Int32,
    how: int,
) -> int:  # fmt: skip
    """Set the bits of the words that a state can read.

    Args:
        nodes, roots, arc_start, arcs, starts, common, longest: As in `BroadTrie`.
        table, symbol_class: The rows of the byte machine, as far as they are known.
        state: Where the words begin.
        words: uint32[words], the mask.
        stack: From `BroadTrie.stack`.
        how: `ASKING`, `EVERY_WORD` or `GOING_ON`.

    Returns:
        `COMPLETE`, or a state of the byte machine whose row is needed first.
    """
    if how != GOING_ON:
        stack[0, TOP], stack[0, KIND], stack[0, SEEN] = NOWHERE, 0, -1
    if stack[0, TOP] == NOWHERE:
        while how != EVERY_WORD and stack[0, KIND] + 1 < starts.shape[0]:
            answer = _reads(
                int(starts[stack[0, KIND] + 1]), arc_start, arcs, longest[0], table, symbol_class,
                state, stack,
            )  # fmt: skip
            if answer < 0:
                return -2 - answer
            if answer == 0:
                break
            stack[0, KIND] += 1
            stack[0, SEEN] = -1
        kind = stack[0, KIND]
        if kind > 0:
            for k in range(words.shape[0]):
                words[k] |= common[kind, k]
        root = roots[kind]
        first = nodes[root, 1]
        stack[0, TOP] = 1
        stack[1, 0], stack[1, 1], stack[1, 2] = first, first + (nodes[root, 0] >> 16), state
    top = stack[0, TOP]
    node, end, here = stack[top, 0], stack[top, 1], stack[top, 2]
    top -= 1
    if here >= table.shape[0]:
        return here  # pyright: ignore[reportReturnType] - An int here.
    while True:
        if node == end:
            if top == 0:
                return COMPLETE
            node, end, here = stack[top, 0], stack[top, 1], stack[top, 2]
            top -= 1
            continue
        packed = nodes[node, 0]
        target = table[here, symbol_class[packed & 0xFFFF]]
        if target < 0:
            if target == UNKNOWN:
                break
            node += 1
            continue
        first, token = nodes[node, 1], nodes[node, 2]
        # Without a branch, which could not be foreseen: 0 is set where no word ends.
        words[max(token, 0) >> 5] |= np.uint32(token >= 0) << np.uint32(token & 31)
        node += 1
        if packed >> 16:
            if node < end:
                top += 1
                stack[top, 0], stack[top, 1], stack[top, 2] = node, end, here
            node, end, here = first, first + (packed >> 16), target
            if here >= table.shape[0]:
                break
    top += 1
    stack[top, 0], stack[top, 1], stack[top, 2] = node, end, here
    stack[0, TOP] = top
    return here  # pyright: ignore[reportReturnType] - An int here.


@jit
def walk_filling(
    nodes: Int32, roots: Int32, arc_start: Int32, arcs: Int32, starts: Int32, common: UInt32,
    longest: Int32, state: int, words: UInt32, stack: Int32, how: int, quantum: int,
    start: Int64, symbol_class: Int32, net_arc_start: Int32, net_arcs: Int32, move_start: Int32,
    moves: Int32, useful: Bool, ends: Bool, scope: Int32, late: Bool, sizes: Int64,
    bits: Int64,
    arena: Int64, set_start: Int64, set_hash: NDArray[np.uint64], slots: Int32, table: Int32,
    accepting: Bool, members: Int64, seen: Int64, stamps: Int64, progress: Int64,
) -> int:  # fmt: skip
    """As `walk_words`, on a machine that is discovered: the rows that are needed are filled.

    A `Net` and what was `Found` of it come array by array.

    Returns:
        Why the kernel came back: `FINISHED`, `PAUSED` after ``quantum`` arcs, or what it needs.
    """
    work = 0
    while True:
        needed = walk_words(
            nodes, roots, arc_start, arcs, starts, common, longest, table, symbol_class, state,
            words, stack, how,
        )  # fmt: skip
        if needed == COMPLETE:
            return FINISHED
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
