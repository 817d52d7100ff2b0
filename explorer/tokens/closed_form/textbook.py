"""The token machine as pynini composes it, at any size, with tokens of one word as one symbol.

The character FSA distinguishes only some bytes. Over its byte classes many tokens are one word (of
131,072 tokens 13,879 words for quoted text), which lead from every state to the same one; and a
token with a byte that no arc reads leads nowhere. So T_V gets one cycle per word, the acceptor one
arc per class, pynini composes those (`explorer.automata.textbook.composition.deterministic`), and
afterwards every token has the class of its word. Nothing of the machine is lost by that: it is the
one that the textbook's composition makes, token by token, state by state.

The tables also need the character state that each state stands for (read off by spelling one way
to it), the fewest tokens to the end, and the classes: words whose columns are equal.

Cost at 131,072 tokens: 2 ms for choices, dates and addresses, 25 ms for quoted text, 0.4 s for a
JSON object, nearly all of it inside pynini; the functions of words take 0.2 to 5 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import EPSILON
from explorer.automata.interchange.openfst import fst_from_arrays
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.textbook.composition import deterministic
from explorer.budget import Meter
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit
from explorer.tokens.closed_form.assemble import (
    Assembled,
    distances_of,
    merged_columns,
    token_classes,
)
from explorer.tokens.walks.trie import Trie, UInt8, trie_of
from explorer.tokens.words import DEAD
from explorer.vocabulary import Vocabulary

STAGE: Final = "Tabulating pynini's machine"

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ClassTrie:
    """The words of a vocabulary over the byte classes of a machine, as a prefix tree.

    Args:
        parent: int64[nodes], the node before each one; the root is node 0, its own parent.
        symbol: int64[nodes], the byte class on the way into each node; 0 for the root.
        node: int64[words], the node where each word of the vocabulary ends; −1 where no arc reads
            one
            of its bytes.
    """

    parent: Int64
    symbol: Int64
    node: Int64


@jit
def _join(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, live: Bool,
    most: int, num_words: int,
) -> tuple[Int64, Int64, Int64]:  # fmt: skip
    """The arrays of a `ClassTrie`: one walk in preorder that skips bytes no arc reads."""
    node = np.full(num_words, -1, np.int64)
    parent, symbol = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    slots = np.full(4096, -1, np.int64)
    stack = np.zeros(most + 1, np.int64)  # The joined node at each depth.
    count, i = 1, 0
    while i < byte.shape[0]:
        label = int(symbol_class[byte[i]])
        if not live[label]:
            i = skip[i]
            continue
        above = int(stack[depth[i] - 1])
        mask = slots.shape[0] - 1
        slot = first_slot(folded(mixed(mixed(SEED, above), label)), mask)
        while slots[slot] >= 0:
            known = slots[slot]
            if parent[known] == above and symbol[known] == label:
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            if count == parent.shape[0]:
                parent = np.append(parent, np.zeros(count, np.int64))
                symbol = np.append(symbol, np.zeros(count, np.int64))
            parent[count], symbol[count] = above, label
            slots[slot] = count
            count += 1
        here = slots[slot]
        if 2 * count > slots.shape[0]:
            slots = np.full(4 * slots.shape[0], -1, np.int64)
            mask = slots.shape[0] - 1
            for known in range(1, count):
                slot = first_slot(
                    folded(mixed(mixed(SEED, int(parent[known])), int(symbol[known]))), mask
                )
                while slots[slot] >= 0:
                    slot = (slot + 1) & mask
                slots[slot] = known
        stack[depth[i]] = here
        if word[i] >= 0:
            node[word[i]] = here
        i += 1
    return parent[:count].copy(), symbol[:count].copy(), node


def class_trie(trie: Trie, dfa: Dfa) -> ClassTrie:
    """Join the nodes of a trie that spell the same word over byte classes.

    Example:
        >>> from explorer import Vocabulary, regex
        >>> from explorer.tokens.walks.trie import trie_of
        >>> vocab = Vocabulary.from_bytes([b"1", b"2", b"10", b"x1"], eos_ids=[4])
        >>> class_trie(trie_of(vocab, None), regex("[0-9]{2}").dfa).node.tolist()
        [1, 2, 1, -1]
    """
    live = (dfa.table != NO_ARC).any(axis=0)
    arrays = (trie.byte, trie.depth, trie.skip, trie.word, dfa.symbol_class, live)
    return ClassTrie(*_join(*arrays, trie.max_depth, trie.num_words))


def _detokenizing(words: ClassTrie, ends: Int64) -> Any:
    """T_V over words: the label of a word is its index in ``ends`` plus one."""
    inside = np.unique(words.parent)  # The root is the first.
    state = np.zeros(len(words.parent), np.int64)
    state[inside] = np.arange(len(inside))
    further = inside[1:]
    within = np.zeros((len(further), 4), np.int64)
    within[:, 0] = state[words.parent[further]]
    within[:, 1] = EPSILON
    within[:, 2] = words.symbol[further] + 1
    within[:, 3] = state[further]
    last = np.zeros((len(ends), 4), np.int64)
    last[:, 0] = state[words.parent[ends]]
    last[:, 1] = np.arange(len(ends)) + 1
    last[:, 2] = words.symbol[ends] + 1
    arcs = np.concatenate([within, last]).astype(np.int32)
    accepting = np.zeros(len(inside), np.bool_)
    accepting[0] = True
    return cast(Any, fst_from_arrays(len(inside), 0, arcs, accepting)).arcsort("olabel")


def _acceptor(dfa: Dfa) -> Any:
    """The character FSA over its byte classes; class c has the label c + 1."""
    source, symbol = np.nonzero(dfa.table != NO_ARC)
    arcs = np.column_stack([source, symbol + 1, symbol + 1, dfa.table[source, symbol]])
    return fst_from_arrays(dfa.num_states, dfa.start, arcs.astype(np.int32), dfa.accepting)


def compose_textbook(vocabulary: Vocabulary, dfa: Dfa, meter: Meter) -> Assembled:
    """The token machine as pynini composes it.

    Args:
        dfa: The character FSA; its language is not empty.

    Returns:
        The token machine; it has no state if the vocabulary cannot write any word.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    trie = trie_of(vocabulary, dfa)
    words = class_trie(trie, dfa)
    is_end = np.zeros(len(words.parent) + 1, np.bool_)
    is_end[words.node] = True
    ends = np.flatnonzero(is_end[:-1])  # The last entry stands for −1.
    start, arcs, final = deterministic(_detokenizing(words, ends), _acceptor(dfa), meter)
    arcs[:, 1] -= 1
    char_of = _character_states(start, arcs, len(final), words, ends, dfa)
    char_state = np.unique(char_of)
    name = np.full(dfa.num_states, DEAD, np.int32)
    name[char_state] = np.arange(len(char_state), dtype=np.int32)
    arcs[:, 0], arcs[:, 2] = name[char_of[arcs[:, 0]]], name[char_of[arcs[:, 2]]]
    accepting = dfa.accepting[char_state]
    columns, column = _columns(arcs, len(char_state), len(ends), meter)
    table, class_of = merged_columns(columns, accepting)
    # A word's index among the ends, its column, its class.
    column_of = np.full(len(is_end), -1, np.int32)
    column_of[ends] = column
    column_of = column_of[words.node]
    alive = np.flatnonzero(column_of >= 0).astype(np.int32)
    # pynini's composition drops dead ends silently; a walk of the words recovers them.
    reached = _reached(words.parent, words.symbol, is_end, dfa.table, dfa.start)
    return Assembled(
        char_state.astype(np.int32),
        table,
        accepting,
        distances_of(table),
        token_classes(trie, alive, column_of[alive], class_of, table.shape[1], vocabulary.eos_ids),
        len(reached),
        np.setdiff1d(reached, char_state),
    )


@jit
def _reached(parent: Int64, symbol: Int64, is_end: Bool, table: Int32, start: int) -> Int32:
    """The states that sequences of words reach from the start, finishable or not, ascending."""
    met = np.zeros(table.shape[0], np.bool_)
    waiting = np.empty(table.shape[0], np.int64)
    after = np.empty(parent.shape[0], np.int64)
    met[start], waiting[0] = True, start
    done, count = 0, 1
    while done < count:
        after[0] = waiting[done]
        done += 1
        for node in range(1, parent.shape[0]):
            before = after[parent[node]]  # A parent's number is smaller.
            target = table[before, symbol[node]] if before >= 0 else NO_ARC
            after[node] = target
            if target >= 0 and is_end[node] and not met[target]:
                met[target], waiting[count] = True, target
                count += 1
    return np.flatnonzero(met).astype(np.int32)


def _columns(arcs: Int32, num_states: int, num_symbols: int, meter: Meter) -> tuple[Int32, Int32]:
    """The targets of each symbol, as columns of a table; symbols with equal targets share one.

    Args:
        arcs: int32[arcs, 3], rows ``(source, symbol, target)``, at most one for a source and a
            symbol.

    Returns:
        int32[states, columns], and int32[symbols], the column of each symbol; −1 for none.
    """
    source, symbol, target = arcs.T
    count = np.bincount(symbol, minlength=num_symbols)
    used = np.flatnonzero(count)
    draw = np.random.default_rng(len(arcs))
    while True:
        # Random sums per arc tell columns apart with high probability; equality is then checked.
        factor = draw.random(num_states)
        sums = np.bincount(symbol, factor[source] * (target + 1), minlength=num_symbols)
        different, sample, number = np.unique(sums[used], return_index=True, return_inverse=True)
        column = np.full(num_symbols, -1, np.int32)
        column[used] = number.reshape(-1)
        cells = num_states * len(different)
        meter.check(STAGE, states=num_states, arcs=cells, bytes=16 * cells)
        columns = np.full((num_states, len(different)), DEAD, np.int32)
        chosen = np.zeros(num_symbols, np.bool_)
        chosen[used[sample]] = True
        of_chosen = chosen[symbol]
        columns[source[of_chosen], column[symbol[of_chosen]]] = target[of_chosen]
        same = (columns[source, column[symbol]] == target).all()
        if same and (count[used] == (columns != DEAD).sum(axis=0)[column[used]]).all():
            return columns, column


def _character_states(
    start: int, arcs: Int32, num_states: int, words: ClassTrie, ends: Int64, dfa: Dfa
) -> Int32:
    """The character state that each state stands for: the target of the bytes on one path to it."""
    char_of = np.full(num_states, NO_ARC, np.int32)
    if num_states == 0:
        return char_of
    first = np.searchsorted(arcs[:, 0], np.arange(num_states + 1))
    char_of[start] = dfa.start
    queue = [start]
    example = np.empty(num_states, np.int64)
    for state in queue:
        example[:] = -1
        begin, end = first[state : state + 2]
        example[arcs[begin:end, 2]] = arcs[begin:end, 1]
        for target in np.flatnonzero((example >= 0) & (char_of == NO_ARC)).tolist():
            node, symbols = int(ends[example[target]]), list[int]()
            while node:
                symbols.append(int(words.symbol[node]))
                node = int(words.parent[node])
            here = int(char_of[state])
            for symbol in reversed(symbols):
                here = int(dfa.table[here, symbol])
            char_of[target] = here
            queue.append(target)
    return char_of
