"""The vocabulary for the row of one state: in level order, and without the words of plain text.

Two kinds of plain text are told apart, since some constraints read the one and not the other:
printable ASCII without quote and backslash, and that with the other characters of Unicode, without
those that patterns treat as white space or control characters. A word of at most `LONGEST` bytes
with which such text may begin is a *common word*; 98 % of 131,072 tokens are. Built once per
vocabulary, in some tens of milliseconds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.automata.discovered.broad import BroadTrie
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.regex import parse
from explorer.automata.tree.build import build
from explorer.budget import Meter
from explorer.jit import jit
from explorer.memo import memo
from explorer.tokens.walks.trie import Trie, UInt8
from explorer.tokens.words import num_words, set_bits

LONGEST: Final = 32
"""The most bytes of a common word; a state is asked about texts of so many bytes."""

_ASCII: Final = r"[ !#-\[\]-~]"
_FURTHER: Final = r"[^\x00-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]"

KINDS: Final = (f"(?:{_ASCII})*", f"(?:{_ASCII}|{_FURTHER})*")
"""The kinds of plain text as patterns; each holds those before it."""


@jit
def _of_kind(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, table: Int32,
    start: int, longest: int, num_words: int,
) -> Bool:  # fmt: skip
    """The words with which a text of a kind may begin, of at most so many bytes: bool[words]."""
    found = np.zeros(num_words, np.bool_)
    stack = np.empty(longest + 1, np.int32)
    stack[0] = start
    node = 0
    while node < byte.shape[0]:
        target = np.int32(-1)
        if depth[node] <= longest:
            target = table[stack[depth[node] - 1], symbol_class[byte[node]]]
        if target < 0:
            node = skip[node]
            continue
        stack[depth[node]] = target
        if word[node] >= 0:
            found[word[node]] = True
        node += 1
    return found


@jit
def _side_by_side(
    byte: UInt8, depth: Int32, word: Int32, first_id: Int32, kept: Bool, deepest: int, base: int,
    nodes: Int32,
) -> int:  # fmt: skip
    """Write the kept nodes of a trie below a root at row ``base``; gives the row after the last."""
    children = np.zeros(depth.shape[0] + 1, np.int32)
    above = np.zeros(deepest + 1, np.int32)
    for k in range(depth.shape[0]):  # The root is number 0, the others follow.
        if kept[k]:
            children[above[depth[k] - 1]] += 1
            above[depth[k]] = k + 1
    following = np.zeros(deepest + 1, np.int32)
    following[0] = base + 1
    nodes[base, 0], nodes[base, 1], nodes[base, 2] = children[0] << 16, base + 1, -1
    end = base + 1 + children[0]
    for k in range(depth.shape[0]):
        if kept[k]:
            place = following[depth[k] - 1]
            following[depth[k] - 1] += 1
            nodes[place, 0] = np.int32(byte[k]) + (children[k + 1] << 16)
            nodes[place, 1] = end
            nodes[place, 2] = first_id[word[k]] if word[k] >= 0 else -1
            following[depth[k]] = end
            end += children[k + 1]
    return end


@memo
def broad_trie(trie: Trie, plain: bool) -> BroadTrie:
    """The trie for the kernels of `explorer.automata.discovered.broad`.

    Args:
        trie: The vocabulary.
        plain: Whether its words are bytes alone, so that there are words of plain text.
    """
    kinds = _machines() if plain else ()
    common = [np.zeros(trie.num_words, np.bool_)]
    for kind in kinds:
        common.append(
            _of_kind(
                trie.byte,
                trie.depth,
                trie.skip,
                trie.word,
                kind.symbol_class,
                kind.table,
                kind.start,
                LONGEST,
                trie.num_words,
            )
        )
    ends = trie.word >= 0
    kept: list[Bool] = []
    for known in common:
        left = ends.copy()
        left[ends] = ~known[trie.word[ends]]
        before = np.zeros(len(left) + 1, np.int32)
        np.cumsum(left, out=before[1:])
        kept.append(before[trie.skip] > before[:-1])  # Some word is left at or below the node.
    nodes = np.empty((sum(1 + int(some.sum()) for some in kept), 3), np.int32)
    roots, base = np.zeros(len(kept), np.int32), 0
    for number, some in enumerate(kept):
        roots[number] = base
        base = _side_by_side(
            trie.byte, trie.depth, trie.word, trie.first_id, some, trie.max_depth, base, nodes
        )
    masks = np.zeros((len(common), num_words(trie.num_tokens)), np.uint32)
    for mask, known in zip(masks, common, strict=True):
        set_bits(mask, trie.first_id[known])
    arc_start, arcs, starts = _arcs(kinds)
    return BroadTrie(
        nodes, roots, arc_start, arcs, starts, masks, np.array([LONGEST], np.int32), trie.max_depth
    )


_made: list[Dfa] = []


def _machines() -> tuple[Dfa, ...]:
    """The machines of `KINDS`, made once."""
    if not _made:
        _made.extend([build(parse(kind).root, Meter()) for kind in KINDS])
    return tuple(_made)


def _arcs(kinds: tuple[Dfa, ...]) -> tuple[Int32, Int32, Int32]:
    """The arcs of some machines in one list, where those of each state begin, and the starts."""
    arc_start, arcs, starts = [0], [(0, 0)], [0]
    arcs.clear()
    for kind in kinds:
        shift = len(arc_start) - 1
        starts.append(shift + kind.start)
        for state in range(kind.num_states):
            targets = kind.table[state][kind.symbol_class]
            arcs += [
                (byte, shift + int(target)) for byte, target in enumerate(targets)
                if target != NO_ARC
            ]  # fmt: skip
            arc_start.append(len(arcs))
    return (
        np.array(arc_start, np.int32),
        np.array(arcs, np.int32).reshape(-1, 2),
        np.array(starts, np.int32),
    )
