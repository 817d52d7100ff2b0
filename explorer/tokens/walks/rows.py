"""One state at a time: which words can be read from it, and where they lead.

The plain form of the composition, and the one that every faster form must equal. It serves the
constraints whose transition monoid is too large for `functions`, and it answers questions about
a single state.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.reaching import by_head, steps_from
from explorer.automata.machine import Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.jit import jit
from explorer.tokens.closed_form.assemble import Assembled, empty_table, token_classes
from explorer.tokens.states import DEAD, DONE, EOS_CLASS, NUM_FIXED_CLASSES
from explorer.tokens.walks.trie import Trie, UInt8

STAGE: Final = "Composition, state by state"


@jit
def walk_state(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, table: Int32,
    state: int, stack: Int32, live_word: Int32, live_target: Int32,
) -> int:  # fmt: skip
    """Fill in the words that can be read from a state and where they lead; how many there are.

    Args:
        byte, depth, skip, word: The trie.
        symbol_class, table: The character FSA.
        state: Where reading starts.
        stack: int32[max depth + 1], scratch.
        live_word, live_target: int32[words], the result.
    """
    stack[0] = state
    count = 0
    node = 0
    while node < byte.shape[0]:
        target = table[stack[depth[node] - 1], symbol_class[byte[node]]]
        if target < 0:
            node = skip[node]
            continue
        stack[depth[node]] = target
        if word[node] >= 0:
            live_word[count] = word[node]
            live_target[count] = target
            count += 1
        node += 1
    return count


@jit
def _refine(
    word: Int32, target: Int32, count: int, class_of: Int32, size: Int32, classes: int,
    slots: Int32, home: Int32, key: NDArray[np.int64], tally: Int32, entry: Int32, states: int,
) -> int:  # fmt: skip
    """Split classes whose words this state tells apart; the new number of classes.

    Words of one class that lead to one state stay together. The last piece of a class keeps
    its number, so that no class is ever empty.
    """
    mask = slots.shape[0] - 1
    keys = 0
    for k in range(count):
        wanted = np.int64(class_of[word[k]]) * states + target[k]
        code = np.uint64(wanted) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((code >> np.uint64(20)) & np.uint64(mask))
        while slots[slot] >= 0 and key[slots[slot]] != wanted:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = keys
            home[keys] = slot
            key[keys] = wanted
            tally[keys] = 0
            keys += 1
        entry[k] = slots[slot]
        tally[slots[slot]] += 1
    for j in range(keys):
        old = np.int32(key[j] // states)
        if tally[j] == size[old]:
            tally[j] = old
        else:
            size[old] -= tally[j]
            size[classes] = tally[j]
            tally[j] = classes
            classes += 1
    for k in range(count):
        class_of[word[k]] = tally[entry[k]]
    for j in range(keys):
        slots[home[j]] = -1  # Empty again for the next state.
    return classes


@jit
def _distinct(target: Int32, count: int, seen: Int32, now: int, out: Int32) -> int:
    """The distinct targets among the first ``count``; how many."""
    found = 0
    for k in range(count):
        if seen[target[k]] != now:
            seen[target[k]] = now
            out[found] = target[k]
            found += 1
    return found


@jit
def _representatives(class_of: Int32, classes: int) -> Int32:
    """The first word of each class."""
    result = np.full(classes, -1, np.int32)
    for w in range(class_of.shape[0]):
        if result[class_of[w]] < 0:
            result[class_of[w]] = w
    return result


@jit
def _only(
    byte: UInt8, depth: Int32, word: Int32, wanted: Bool
) -> tuple[UInt8, Int32, Int32, Int32]:
    """The trie of some words: byte, depth, skip and word of the nodes on their paths."""
    nodes = byte.shape[0]
    needed = np.zeros(nodes, np.bool_)
    deepest = 0
    for i in range(nodes):
        deepest = max(deepest, depth[i])
    path = np.empty(deepest + 1, np.int32)
    count = 0
    for i in range(nodes):
        path[depth[i]] = i
        if word[i] >= 0 and wanted[word[i]]:
            d = depth[i]
            while d > 0 and not needed[path[d]]:
                needed[path[d]] = True
                count += 1
                d -= 1
    new_byte = np.empty(count, np.uint8)
    new_depth = np.empty(count, np.int32)
    new_word = np.empty(count, np.int32)
    skip = np.full(count, count, np.int32)
    open_ = np.empty(deepest + 1, np.int32)
    top = 0
    k = 0
    for i in range(nodes):
        if needed[i]:
            new_byte[k] = byte[i]
            new_depth[k] = depth[i]
            new_word[k] = word[i] if word[i] >= 0 and wanted[word[i]] else -1
            while top > 0 and new_depth[open_[top - 1]] >= new_depth[k]:
                top -= 1
                skip[open_[top]] = k
            open_[top] = k
            top += 1
            k += 1
    return new_byte, new_depth, skip, new_word


def compose_rows(trie: Trie, dfa: Dfa, eos_ids: tuple[int, ...], meter: Meter) -> Assembled:
    """The token machine, found state by state.

    The first pass follows the token states from the start and splits the words into classes as
    soon as some state tells them apart. The second fills in one column per class by walking
    the trie of one word of each class.

    Args:
        trie: The vocabulary.
        dfa: The character FSA.
        eos_ids: Ids of the end of the text.
        meter: Watches the size of the table and the time.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    states, words = dfa.num_states, trie.num_words
    meter.check(STAGE, bytes=64 * words + 32 * states)
    stack = np.zeros(trie.max_depth + 1, np.int32)
    live_word, live_target = np.empty(words, np.int32), np.empty(words, np.int32)
    class_of = np.zeros(words, np.int32)
    size = np.zeros(words + 1, np.int32)
    size[0] = words
    classes = 1
    slots = np.full(1 << (2 * words + 2).bit_length(), -1, np.int32)
    key = np.empty(words, np.int64)
    home, tally, entry = (np.empty(words, np.int32) for _ in range(3))
    seen = np.zeros(states, np.int32)
    fresh = np.empty(states, np.int32)
    reached = np.zeros(states, np.bool_)
    reached[dfa.start] = True
    queue = [dfa.start]
    targets: list[Int32] = []
    held = 0
    for state in queue:
        count = walk_state(
            trie.byte, trie.depth, trie.skip, trie.word, dfa.symbol_class, dfa.table, state,
            stack, live_word, live_target,
        )  # fmt: skip
        classes = _refine(
            live_word, live_target, count, class_of, size, classes, slots, home, key, tally, entry,
            states,
        )  # fmt: skip
        found = _distinct(live_target, count, seen, len(targets) + 1, fresh)
        targets.append(fresh[:found].copy())
        new = targets[-1][~reached[targets[-1]]]
        reached[new] = True
        queue += [int(q) for q in new]
        held += 4 * found
        meter.check(STAGE, states=len(queue), bytes=4 * len(queue) * classes + held)
    # Which of the reached states can finish, and how far they are from it.
    tail = np.repeat(np.array(queue, np.int32), [len(t) for t in targets])
    head = np.concatenate(targets)
    offset, source = by_head(tail, head, states)
    distance = steps_from(offset, source, dfa.accepting)
    char_state = np.flatnonzero(reached & (distance > 0)).astype(np.int32)
    name = np.full(states, DEAD, np.int32)
    name[char_state] = np.arange(len(char_state), dtype=np.int32)

    representative = _representatives(class_of, classes)
    wanted = np.zeros(words, np.bool_)
    wanted[representative[representative >= 0]] = True
    byte, depth, skip, word = _only(trie.byte, trie.depth, trie.word, wanted)
    cells = len(char_state) * (classes + NUM_FIXED_CLASSES)
    meter.check(STAGE, states=len(char_state), arcs=cells, bytes=8 * cells)
    columns = np.full((len(char_state), classes), DEAD, np.int32)
    for row, state in enumerate(char_state):
        count = walk_state(
            byte, depth, skip, word, dfa.symbol_class, dfa.table, int(state), stack,
            live_word, live_target,
        )  # fmt: skip
        columns[row, class_of[live_word[:count]]] = name[live_target[:count]]
        if row % 64 == 0:
            meter.check_time(STAGE)
    # Trimming may have made classes equal, and some empty.
    merged, inverse = np.unique(columns, axis=1, return_inverse=True)
    alive = np.flatnonzero((merged != DEAD).any(axis=0))
    number = np.zeros(merged.shape[1], np.int32)
    number[alive] = np.arange(len(alive), dtype=np.int32) + NUM_FIXED_CLASSES
    table = empty_table(len(char_state), NUM_FIXED_CLASSES + len(alive))
    table[:, NUM_FIXED_CLASSES:] = merged[:, alive]
    table[dfa.accepting[char_state], EOS_CLASS] = DONE
    word_class = number[inverse.reshape(-1)][class_of]
    live = np.flatnonzero(word_class).astype(np.int32)
    return Assembled(
        char_state,
        table,
        dfa.accepting[char_state],
        distance[char_state],
        token_classes(trie, live, live, word_class, table.shape[1], eos_ids),
        len(queue),
        np.flatnonzero(reached & (distance == 0)).astype(np.int32),
    )
