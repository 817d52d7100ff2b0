"""One walk of the trie: the target of each word from a state of a byte machine, or its failing
byte.

Masks, steps by whole tokens, what is lost, distances and explanations read its result. Three faster
walks answer one question each and are held equal to this one by the tests:
`explorer.tokens.closed_form.assemble` (all states at once, for a table),
`explorer.automata.discovered.letters` (the mask of a state whose targets can all finish) and
`explorer.automata.stacks.single` (the same on one stack).

Cost at 131,072 tokens: microseconds where few words survive, and up to a millisecond where nearly
all do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from explorer.automata.machine import Bool, ByteMachine, Int32
from explorer.budget import Meter
from explorer.jit import jit
from explorer.memo import memo
from explorer.tokens.walks.trie import Trie, UInt8


@dataclass(frozen=True, slots=True, eq=False)
class TrieWalk:
    """The targets of a trie's words from a state, and the nodes where words fail.

    Args:
        words: int32[n], the words that can be read, ascending.
        targets: int32[n], the state after each.
        failed: int32[m], the nodes whose symbol cannot be read, ascending: every word at or below
            one of them fails there.
        last: int32[m], the state before that symbol.
        begun: int32[m], the state at the first byte of the character that fails.
    """

    words: Int32
    targets: Int32
    failed: Int32
    last: Int32
    begun: Int32

    def distinct(self) -> Int32:
        """The distinct targets, ascending."""
        met = np.zeros(int(self.targets.max(initial=-1)) + 1, np.bool_)
        met[self.targets] = True
        return np.flatnonzero(met).astype(np.int32)

    def leading_to(self, wanted: Int32) -> Int32:
        """The words that lead to one of some states, ascending."""
        able = np.zeros(max(self.targets.max(initial=0), wanted.max(initial=0)) + 1, np.bool_)
        able[wanted] = True
        return self.words[able[self.targets]]


@jit
def _walk(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, back: UInt8, symbol_class: Int32,
    table: Int32, stack: Int32, node: int, end: int,
    words: Int32, targets: Int32, failed: Int32, last: Int32, begun: Int32,
) -> tuple[int, int]:  # fmt: skip
    """Fill in a `TrieWalk` of some nodes; return its numbers of words and of failing nodes.

    ``stack`` is int32[max depth + 1], the state at each depth up to the walk's beginning.
    """
    live, dead = 0, 0
    while node < end:
        d = depth[node]
        target = table[stack[d - 1], symbol_class[byte[node]]]
        if target < 0:
            failed[dead], last[dead] = node, stack[d - 1]
            begun[dead] = stack[d - 1 - back[node]]
            dead += 1
            node = skip[node]
            continue
        stack[d] = target
        if word[node] >= 0:
            words[live], targets[live] = word[node], target
            live += 1
        node += 1
    return live, dead


def walk_trie(
    machine: ByteMachine, trie: Trie, state: int, below: int = -1, *, nodes: bool = False
) -> TrieWalk:
    """Walk the trie from a state.

    Args:
        machine: The byte machine.
        trie: The vocabulary, with the ends of tokens where the machine reads them.
        state: The state before the words.
        below: A node: only its subtree is walked, and ``state`` is the state there.
        nodes: Whether every node counts as a word, with its own number.

    Raises:
        BudgetExceeded: A machine discovered more states than its budget allows.

    Example:
        >>> from explorer import Vocabulary, regex
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ab", b"b", b"bc"], eos_ids=[4]), None)
        >>> seen = walk_trie(regex("a|bc|bd").dfa, trie, 0)
        >>> seen.words.tolist(), trie.depth[seen.failed].tolist()  # "ab" fails at its second byte
        ([0, 2, 3], [2])
    """
    machine.visit(trie, state)
    begin, end = 0, len(trie.byte)
    if below >= 0:
        begin, end = below + 1, int(trie.skip[below])
    stack = np.zeros(trie.max_depth + 1, np.int32)
    stack[int(trie.depth[below]) if below >= 0 else 0] = state
    word = node_numbers(trie) if nodes else trie.word
    words, targets, failed, last, begun = (np.empty(end - begin, np.int32) for _ in range(5))
    live, dead = _walk(
        trie.byte, trie.depth, trie.skip, word, _back(trie), machine.symbol_class, machine.table,
        stack, begin, end,
        words, targets, failed, last, begun,
    )  # fmt: skip
    return TrieWalk(
        words[:live].copy(), targets[:live].copy(), failed[:dead].copy(), last[:dead].copy(),
        begun[:dead].copy(),
    )  # fmt: skip


def states_reached(
    machine: ByteMachine,
    trie: Trie,
    meter: Meter,
    stage: str,
    enters: Callable[[int], bool] = lambda _: True,
) -> Int32:
    """The byte states in which token sequences can end, from a machine's start on, ascending.

    Args:
        machine, trie: As in `walk_trie`.
        meter: Watches sizes and time.
        stage: The work in progress, as an error names it.
        enters: Whether the walk goes on from a state.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    met = {machine.start}
    queue = [machine.start]
    for state in queue:
        meter.check(stage, states=len(met))
        targets: list[int] = walk_trie(machine, trie, state).distinct().tolist()
        fresh = [target for target in targets if target not in met and enters(target)]
        met.update(fresh)
        queue += fresh
    return np.array(sorted(met), np.int32)


@memo
def node_numbers(trie: Trie) -> Int32:
    """int32[nodes], the number of each node."""
    return np.arange(len(trie.byte), dtype=np.int32)


@memo
def words_before(trie: Trie) -> Int32:
    """int32[nodes + 1], the number of words that end before each node."""
    return np.append(0, np.cumsum(trie.word >= 0)).astype(np.int32)


@memo
def _back(trie: Trie) -> UInt8:
    """The number of bytes between the beginning of a node's character and the node.

    0 where a new character begins, and where the word does not contain the beginning.
    """
    return _characters(trie.byte, trie.depth)[0]


@memo
def within_first_character(trie: Trie) -> Bool:
    """bool[nodes], whether all bytes before the node's continue a character."""
    return _characters(trie.byte, trie.depth)[1]


@jit
def _characters(byte: UInt8, depth: Int32) -> tuple[UInt8, Bool]:
    nodes = byte.shape[0]
    back, within = np.zeros(nodes, np.uint8), np.zeros(nodes, np.bool_)
    path = np.zeros(depth.max() + 1 if nodes else 1, np.uint8)
    for node in range(nodes):
        d = depth[node]
        path[d] = byte[node]
        # Go back to the lead byte if it still awaits bytes: then the node is part of its character.
        # Otherwise a new character begins here.
        first = d
        while first > 1 and (path[first - 1] & 0xC0) == 0x80:
            first -= 1
        within[node] = first == 1
        if first > 1:
            lead = path[first - 1]
            need = 3 if lead >= 0xF0 else 2 if lead >= 0xE0 else 1 if lead >= 0xC2 else 0
            if need > d - first:
                back[node] = d + 1 - first
    return back, within
