"""The words of a vocabulary over a grammar's byte classes, as a minimal acyclic automaton.

A network of rules depends only on the classes of bytes and the ends of tokens. So all words are
written in classes, words with a byte that no rule reads are left out, and trie nodes with the same
words below them are merged (Daciuk et al. 2000 call this a DAWG). The trie of 131,072 tokens has
310,000 nodes; some tens of thousands remain.

Cost: a tenth of a second at 131,072 tokens, once for each vocabulary and grammar.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit
from explorer.tokens.walks.trie import Trie, UInt8, trie_arrays

Int64 = NDArray[np.int64]

ROOT: Final = 0
"""The node between two tokens."""


class WordGraph(NamedTuple):
    """Nodes with arcs over classes; node 0 stands between two tokens.

    Args:
        first: int32[nodes + 1], the beginning of each node's arcs.
        symbol: int32[arcs], the class that each arc reads.
        target: int32[arcs], the node that it leads to.
        ends: bool[nodes], whether a word ends there.
    """

    first: Int32
    symbol: Int32
    target: Int32
    ends: Bool


@jit
def _minimal(
    symbol: UInt8, depth: Int32, skip: Int32, word: Int32, slots: Int32
) -> tuple[Int32, Int32, Int32, Bool]:
    """Merge equal nodes of a trie, the root first; the remaining nodes are renumbered."""
    nodes = symbol.shape[0]
    mask = slots.shape[0] - 1
    number = np.empty(nodes, np.int32)
    # The arcs of node 0 are added last; until then it has none.
    first = np.empty(nodes + 1, np.int64)
    last = np.empty(nodes + 1, np.int64)
    ends = np.zeros(nodes + 1, np.bool_)
    arc_symbol = np.empty(nodes, np.int32)
    arc_target = np.empty(nodes, np.int32)
    count, arcs = 1, 0
    for above in range(nodes - 1, -2, -1):
        begin = arcs
        child = above + 1
        until = nodes if above < 0 else skip[above]
        code = mixed(SEED, 0 if above < 0 else word[above] >= 0)
        while child < until:
            arc_symbol[arcs] = symbol[child]
            arc_target[arcs] = number[child]
            code = mixed(mixed(code, arc_symbol[arcs]), arc_target[arcs])
            arcs += 1
            child = skip[child]
        if above < 0:
            first[0], last[0] = begin, arcs
            break
        slot = first_slot(folded(code), mask)
        node = -1
        while slots[slot] >= 0 and node < 0:
            known = slots[slot]
            same = ends[known] == (word[above] >= 0) and last[known] - first[known] == arcs - begin
            k = 0
            while same and k < arcs - begin:
                same = (
                    arc_symbol[first[known] + k] == arc_symbol[begin + k]
                    and arc_target[first[known] + k] == arc_target[begin + k]
                )
                k += 1
            if same:
                node = known
            else:
                slot = (slot + 1) & mask
        if node >= 0:
            arcs = begin
        else:
            node = count
            slots[slot] = count
            first[count], last[count] = begin, arcs
            ends[count] = word[above] >= 0
            count += 1
        number[above] = node
    offset = np.zeros(count + 1, np.int32)
    for node in range(count):
        offset[node + 1] = offset[node] + last[node] - first[node]
    symbols = np.empty(offset[count], np.int32)
    targets = np.empty(offset[count], np.int32)
    for node in range(count):
        for k in range(last[node] - first[node]):
            symbols[offset[node] + k] = arc_symbol[first[node] + k]
            targets[offset[node] + k] = arc_target[first[node] + k]
    return offset, symbols, targets, ends[:count].copy()


def word_graph(trie: Trie, symbol_class: Int32, read: Bool) -> WordGraph:
    """The words of a vocabulary in classes of bytes.

    Args:
        symbol_class: int32[256], the class of each byte; there are fewer than 256.
        read: bool[256], the bytes that some rule reads; words with others are left out.

    Example:
        >>> from explorer import Vocabulary
        >>> from explorer.tokens.walks.trie import trie_of
        >>> trie = trie_of(Vocabulary.from_bytes([b"a", b"ba", b"bb", b"c"], eos_ids=[4]), None)
        >>> classes, read = np.zeros(256, np.int32), np.zeros(256, np.bool_)
        >>> classes[99], read[97:100] = 1, True  # a and b are alike
        >>> graph = word_graph(trie, classes, read)
        >>> graph.first.tolist(), graph.symbol.tolist(), graph.ends.tolist()
        ([0, 2, 2, 3], [0, 1, 0], [False, True, True])
    """
    classes, known = bytes(symbol_class[:256].tolist()), bytes(np.flatnonzero(read).tolist())
    texts: list[bytes] = [trie.tokens[token] or b"" for token in trie.first_id.tolist()]
    words = sorted({text.translate(classes) for text in texts if not text.translate(None, known)})
    begins = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(each) for each in words], out=begins[1:])
    joined = np.frombuffer(b"".join(words), np.uint8)
    byte, depth, skip, word, _ = trie_arrays(joined, begins)
    slots = np.full(1 << (2 * len(byte) + 2).bit_length(), -1, np.int32)
    return WordGraph(*_minimal(byte, depth, skip, word, slots))
