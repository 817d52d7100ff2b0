"""The token machine composed state by state, where the composition by functions is too large.

The plain form of the composition, which the faster one must equal. It serves constraints whose
transition monoid is too large for `explorer.tokens.closed_form.assemble`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.minimize import by_head, steps_from
from explorer.automata.machine import NO_ARC, Dfa, Int32
from explorer.budget import Meter
from explorer.jit import jit
from explorer.tokens.closed_form.assemble import Assembled, merged_columns, token_classes
from explorer.tokens.walks.trie import trie_of, written
from explorer.tokens.walks.walk import walk_trie
from explorer.tokens.words import DEAD, NUM_FIXED_CLASSES
from explorer.vocabulary import Vocabulary

STAGE: Final = "Composition, state by state"


@jit
def _refine(
    word: Int32, target: Int32, class_of: Int32, size: Int32, classes: int,
    slots: Int32, home: Int32, key: NDArray[np.int64], tally: Int32, entry: Int32, states: int,
) -> int:  # fmt: skip
    """Split classes whose words a state distinguishes; return the new number of classes.

    Words of one class that lead to one state stay together. The last piece of a class keeps
    its number, so that no class is ever empty.
    """
    mask = slots.shape[0] - 1
    keys = 0
    for k in range(word.shape[0]):
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
    for k in range(word.shape[0]):
        class_of[word[k]] = tally[entry[k]]
    for j in range(keys):
        slots[home[j]] = -1  # Empty again for the next state.
    return classes


def columns_of(dfa: Dfa, states: Int32, sequences: Iterable[Sequence[int]]) -> Iterator[Int32]:
    """The targets of some sequences of symbols from many states at once; −1 for none.

    Sequences with a common prefix should be adjacent: the prefix is then read once.
    """
    before: Sequence[int] = ()
    columns = [states]
    for symbols in sequences:
        common = 0
        for one, other in zip(symbols, before, strict=False):
            if one != other:
                break
            common += 1
        del columns[common + 1 :]
        for symbol in symbols[common:]:
            reached = columns[-1]
            following = dfa.table[np.maximum(reached, 0), dfa.symbol_class[symbol]]
            columns.append(np.where(reached == NO_ARC, NO_ARC, following))
        yield columns[-1]
        before = symbols


def compose_rows(vocabulary: Vocabulary, dfa: Dfa, meter: Meter) -> Assembled:
    """The token machine, composed state by state.

    The first pass follows the token states from the start and splits the words into classes as
    soon as a state distinguishes them. The second reads one word of each class from all states.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    trie = trie_of(vocabulary, dfa)
    states, words = dfa.num_states, trie.num_words
    meter.check(STAGE, bytes=64 * words + 32 * states)
    class_of = np.zeros(words, np.int32)
    size = np.zeros(words + 1, np.int32)
    size[0] = words
    classes = 1
    slots = np.full(1 << (2 * words + 2).bit_length(), -1, np.int32)
    key = np.empty(words, np.int64)
    home, tally, entry = (np.empty(words, np.int32) for _ in range(3))
    reached = np.zeros(states, np.bool_)
    reached[dfa.start] = True
    queue = [dfa.start]
    targets: list[Int32] = []
    held = 0
    for state in queue:
        seen = walk_trie(dfa, trie, state)
        classes = _refine(
            seen.words, seen.targets, class_of, size, classes, slots, home, key, tally, entry,
            states,
        )  # fmt: skip
        targets.append(seen.distinct())
        new = targets[-1][~reached[targets[-1]]]
        reached[new] = True
        queue += new.tolist()
        held += 4 * len(targets[-1])
        meter.check(STAGE, states=len(queue), bytes=4 * len(queue) * classes + held)
    # The reached states that can finish, and their distances to an end.
    tail = np.repeat(np.array(queue, np.int32), [len(t) for t in targets])
    head = np.concatenate(targets)
    distance = steps_from(*by_head(tail, head, states), dfa.accepting)
    char_state = np.flatnonzero(reached & (distance > 0)).astype(np.int32)
    name = np.full(states + 1, DEAD, np.int32)  # −1 is the last entry.
    name[char_state] = np.arange(len(char_state), dtype=np.int32)
    cells = len(char_state) * (classes + NUM_FIXED_CLASSES)
    meter.check(STAGE, states=len(char_state), arcs=cells, bytes=8 * cells)
    # One word of each class; words are sorted, so common prefixes are adjacent.
    present, first = np.unique(class_of, return_index=True)
    order = np.argsort(first)
    columns = np.full((len(char_state), classes), DEAD, np.int32)
    tokens = trie.first_id[first[order]].tolist()
    spelled = (written(vocabulary, dfa, token) for token in tokens)
    for number, column in zip(
        present[order].tolist(), columns_of(dfa, char_state, spelled), strict=True
    ):
        columns[:, number] = name[column]
        meter.check_time(STAGE)
    accepting = dfa.accepting[char_state]
    table, column_class = merged_columns(columns, accepting)  # Trimming may make columns equal.
    word_class = column_class[class_of]
    live = np.flatnonzero(word_class).astype(np.int32)
    return Assembled(
        char_state,
        table,
        accepting,
        distance[char_state],
        token_classes(trie, live, live, word_class, table.shape[1], vocabulary.eos_ids),
        len(queue),
        np.flatnonzero(reached & (distance == 0)).astype(np.int32),
    )
