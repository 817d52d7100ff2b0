"""From functions of words to the token machine: reach, finish, trim, and name the classes.

Of the states of the character FSA, a token state is one that some token sequence reaches from
the start and from which some token sequence reaches an accepting state. Everything else is
dropped here: states in the middle of tokens (ghosts), and states that *this* vocabulary cannot
finish, where a decoder would get stuck. Then words whose functions agree on the states that are
left become one class.

Token states keep the order of the character states and are not merged further, so that the two
machines can be shown side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.minimize import by_head, steps_from
from explorer.automata.machine import Bool, Int32
from explorer.budget import Meter
from explorer.hashing import SEED, first_slot, folded, mixed
from explorer.jit import jit
from explorer.tokens.walks.functions import Functions
from explorer.tokens.walks.trie import Trie
from explorer.tokens.words import DEAD, DEAD_CLASS, DONE, EOS_CLASS, NUM_FIXED_CLASSES

STAGE: Final = "Trimming"


Table = NDArray[np.int16] | Int32


def merged_columns(columns: Int32, accepting: Bool) -> tuple[Table, Int32]:
    """A table with one class for each distinct column that allows something.

    Args:
        columns: int32[states, n], the next state or `DEAD`.
        accepting: bool[states], where the text may end.

    Returns:
        The table, and int32[n], the class of each column.
    """
    merged, inverse = np.unique(columns, axis=1, return_inverse=True)
    alive = np.flatnonzero((merged != DEAD).any(axis=0))
    class_of = np.full(merged.shape[1], DEAD_CLASS, np.int32)
    class_of[alive] = np.arange(len(alive), dtype=np.int32) + NUM_FIXED_CLASSES
    table = empty_table(len(columns), NUM_FIXED_CLASSES + len(alive))
    table[:, NUM_FIXED_CLASSES:] = merged[:, alive]
    table[accepting, EOS_CLASS] = DONE
    return table, class_of[inverse.reshape(-1)]


def distances_of(table: NDArray[np.signedinteger[Any]]) -> Int32:
    """The fewest tokens to the end from each state of a table, by breadth-first search.

    Args:
        table: int[states, classes], the next state, `DEAD` or `DONE`.

    Returns:
        int32[states], EOS included; 0 where no end can be reached.

    Example:
        >>> distances_of(np.array([[DEAD, DEAD, 1], [DEAD, DONE, DEAD]])).tolist()
        [2, 1]
    """
    distance = np.where(table[:, EOS_CLASS] == DONE, 1, 0).astype(np.int32)
    step = 1
    while True:
        near = np.append(distance == step, False)
        new = near[np.where(table >= 0, table, len(table))].any(axis=1) & (distance == 0)
        if not new.any():
            return distance
        step += 1
        distance[new] = step


def empty_table(states: int, classes: int) -> Table:
    """A table full of `DEAD`, int16 where that is wide enough, else int32."""
    if states <= np.iinfo(np.int16).max:
        return np.full((states, classes), DEAD, np.int16)
    return np.full((states, classes), DEAD, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """The token machine as arrays.

    Args:
        char_state: int32[states], the character state of each token state.
        table: int16 or int32[states, classes].
        accepting: bool[states].
        distance: int32[states], the fewest tokens to the end of the text, EOS included.
        token_class: uint16 or int32[vocabulary], the class of every token id.
        num_reached: The number of character states that token sequences reach, finishable or not.
        stuck: int32[stuck], the reached character states that cannot finish.
    """

    char_state: Int32
    table: Table
    accepting: Bool
    distance: Int32
    token_class: NDArray[np.uint16] | Int32
    num_reached: int
    stuck: Int32


@jit
def _used(function: Int32, count: int) -> Bool:
    """Mark the functions that some word computes."""
    used = np.zeros(count, np.bool_)
    for k in range(function.shape[0]):
        used[function[k]] = True
    return used


@jit
def _classes(
    source: Int32, target: Int32, start: NDArray[np.int64], used: Bool, name: Int32
) -> tuple[Int32, Int32, int]:
    """Join functions that agree on the remaining states into classes.

    Returns the class of each function, one function of each class, and the number of classes.
    ``name`` maps character states to token states or −1.
    """
    functions = used.shape[0]
    size = 16
    while size < 4 * functions + 4:
        size *= 2
    slots = np.full(size, -1, np.int32)
    codes = np.empty(functions + 2, np.uint64)
    class_of = np.zeros(functions, np.int32)
    representative = np.full(functions + 2, -1, np.int32)
    count = 2
    for f in range(functions):
        if not used[f]:
            continue
        hashed = SEED
        alive = 0
        for k in range(start[f], start[f + 1]):
            if name[source[k]] >= 0 and name[target[k]] >= 0:
                hashed = mixed(mixed(hashed, source[k]), target[k])
                alive += 1
        if alive == 0:
            continue
        hashed = folded(hashed)
        slot = first_slot(hashed, size - 1)
        while slots[slot] >= 0:
            known = slots[slot]
            if codes[known] == hashed:
                # Compare the surviving pairs of both functions.
                i, j = start[f], start[representative[known]]
                i_end, j_end = start[f + 1], start[representative[known] + 1]
                same = True
                while True:
                    while i < i_end and (name[source[i]] < 0 or name[target[i]] < 0):
                        i += 1
                    while j < j_end and (name[source[j]] < 0 or name[target[j]] < 0):
                        j += 1
                    if i == i_end or j == j_end:
                        same = i == i_end and j == j_end
                        break
                    if source[i] != source[j] or target[i] != target[j]:
                        same = False
                        break
                    i += 1
                    j += 1
                if same:
                    break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            codes[count] = hashed
            representative[count] = f
            count += 1
        class_of[f] = slots[slot]
    return class_of, representative[:count], count


@jit
def _fill(
    table: Int32, source: Int32, target: Int32, start: NDArray[np.int64], name: Int32,
    representative: Int32, first: int,
) -> None:  # fmt: skip
    """Write each class's column of the table."""
    for class_ in range(first, representative.shape[0]):
        f = representative[class_]
        for k in range(start[f], start[f + 1]):
            row, to = name[source[k]], name[target[k]]
            if row >= 0 and to >= 0:
                table[row, class_] = to


@jit
def _scatter(
    word: Int32, function: Int32, class_of: Int32, first_id: Int32, further_word: Int32,
    further_id: Int32, token_class: Int32,
) -> None:  # fmt: skip
    """Give the ids of each live word the class of its function."""
    for k in range(word.shape[0]):
        token_class[first_id[word[k]]] = class_of[function[k]]
    for k in range(further_word.shape[0]):
        token_class[further_id[k]] = token_class[first_id[further_word[k]]]


def token_classes(
    trie: Trie, word: Int32, function: Int32, class_of: Int32, num_classes: int,
    eos_ids: Sequence[int],
) -> NDArray[np.uint16] | Int32:  # fmt: skip
    """The class of every id of the vocabulary, from the functions of the live words.

    Args:
        word: int32[n], live words: those that lead from some state to another.
        function: int32[n], their functions.
        class_of: int32[functions], the class of each function.
        num_classes: The number of classes; where it fits into 16 bits, the result is uint16.
        eos_ids: Ids of the end of the text.
    """
    narrow = num_classes <= np.iinfo(np.uint16).max
    result = np.zeros(trie.num_tokens, np.uint16 if narrow else np.int32)
    _scatter(
        word, function, class_of, trie.first_id, trie.further_word, trie.further_id,
        cast("Int32", result),
    )  # fmt: skip
    result[list(eos_ids)] = EOS_CLASS
    return cast("Int32", result)


def assemble(
    functions: Functions,
    trie: Trie,
    eos_ids: Sequence[int],
    accepting: Bool,
    start: int,
    meter: Meter,
) -> Assembled:
    """Trim the composition and tabulate it.

    Args:
        functions: The function of each word on the character states.
        eos_ids: Ids of the end of the text.
        accepting: bool[character states].
        start: The character FSA's start state.
        meter: Watches the size of the table.

    Returns:
        The token machine; it has no state if the vocabulary cannot write any word.

    Raises:
        BudgetExceeded: The table is larger than the budget.
    """
    states = len(accepting)
    count = len(functions.start) - 1
    meter.check(STAGE, bytes=16 * len(functions.source) + 32 * states)
    used = _used(functions.function, count)
    source, target = functions.source, functions.target
    pairs = int(functions.start[-1])
    source, target = source[:pairs], target[:pairs]
    if not used.all():
        chosen = np.repeat(used, np.diff(functions.start))
        source, target = source[chosen], target[chosen]
    # Arcs out of unreached states are harmless: they only give unreached states a distance.
    distance = steps_from(*by_head(source, target, states), accepting)
    reached = steps_from(*by_head(target, source, states), np.arange(states) == start) > 0
    kept = reached & (distance > 0)
    char_state = np.flatnonzero(kept).astype(np.int32)
    name = np.full(states, DEAD, np.int32)
    name[char_state] = np.arange(len(char_state), dtype=np.int32)
    class_of, representative, num_classes = _classes(
        functions.source, functions.target, functions.start, used, name
    )
    cells = len(char_state) * num_classes
    meter.check(STAGE, states=len(char_state), arcs=cells, bytes=4 * cells)
    table = empty_table(len(char_state), num_classes)
    _fill(
        cast("Int32", table), functions.source, functions.target, functions.start, name,
        representative, NUM_FIXED_CLASSES,
    )  # fmt: skip
    table[accepting[char_state], EOS_CLASS] = DONE
    return Assembled(
        char_state,
        table,
        accepting[char_state],
        distance[char_state],
        token_classes(trie, functions.word, functions.function, class_of, num_classes, eos_ids),
        int(np.count_nonzero(reached)),
        np.flatnonzero(reached & (distance == 0)).astype(np.int32),
    )
