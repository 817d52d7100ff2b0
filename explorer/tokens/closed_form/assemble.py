"""The closed form: what each word does to all states at once, then trimmed and tabulated.

*Composition by functions.* Reading a byte string takes every state of the character FSA to at most
one other state, so a string *is* a partial function state → state. One walk carries that function
down the trie. Two facts make it fast. Many strings compute the same function (inside a quoted
string, every run of letters does), and the function after one more byte depends only on the
function before and on the byte's class; so functions are numbered, and a step is one look-up in the
memo ``(function, byte class) → function``. Where a function has become empty, no state survives and
the subtree is skipped.

The functions met at the ends of tokens are the token classes, before trimming: two tokens with
one function are told apart by no state. In terms of algebra this is the part of the transition
monoid of the character FSA that the vocabulary reaches. It is the composition of the
detokenizing FST with the FSA (Koo, Liu & He 2024, Algorithm 2) computed without ever writing
the composed machine down.

Functions are stored sparsely, as the (source, target) pairs of the states that survive. Costs:
one look-up per live trie node, and the length of each *new* function. A constraint whose monoid
explodes is recognised by the size of the pair arena; `compile` then walks state by state instead
(`explorer.tokens.walks.rows`).

*Trimming.* Of the states of the character FSA, a token state is one that some token sequence
reaches from the start and from which some token sequence reaches an accepting state. Everything
else is dropped: states in the middle of tokens (ghosts), and states that *this* vocabulary cannot
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
from explorer.automata.machine import Bool, Dfa, Int32
from explorer.budget import Meter
from explorer.hashing import SEED, enter, first_slot, folded, mixed
from explorer.jit import jit
from explorer.tokens.walks.trie import Trie, UInt8
from explorer.tokens.words import DEAD, DEAD_CLASS, DONE, EOS_CLASS, NUM_FIXED_CLASSES

_COMPOSITION: Final = "Composition"
_QUANTUM: Final = 4_000_000

_FINISHED: Final = 0
_PAUSED: Final = 1
_NEEDS_FUNCTIONS: Final = 2
_NEEDS_PAIRS: Final = 3

# Indices into `progress`: next trie node, functions, pairs, live words.
_NODE: Final = 0
_FUNCTIONS: Final = 1
_PAIRS: Final = 2
_WORDS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """The function from state to state that every live word computes.

    Args:
        source, target: int32[pairs], the pairs of all functions, function by function.
        start: int64[functions + 1], offsets into the pairs.
        word: int32[live words], words that some state survives.
        function: int32[live words], the function of each of them.
    """

    source: Int32
    target: Int32
    start: NDArray[np.int64]
    word: Int32
    function: Int32


class MonoidTooLarge(Exception):
    """The functions outgrew their share of memory; another walk must take over."""


@jit
def _walk(
    byte: UInt8,
    depth: Int32,
    skip: Int32,
    word: Int32,
    symbol_class: Int32,
    table: Int32,
    stack: Int32,
    memo: Int32,
    source: Int32,
    target: Int32,
    start: NDArray[np.int64],
    code: NDArray[np.uint64],
    slots: Int32,
    live_word: Int32,
    live_function: Int32,
    progress: NDArray[np.int64],
    quantum: int,
) -> int:
    """Walk the trie until its end, until room runs out, or until the quantum is used up."""
    nodes = byte.shape[0]
    classes = memo.shape[1]
    mask = slots.shape[0] - 1
    node = progress[_NODE]
    functions = progress[_FUNCTIONS]
    pairs = progress[_PAIRS]
    words = progress[_WORDS]
    work = 0
    reason = _FINISHED
    while node < nodes:
        work += 1
        before = stack[depth[node] - 1]
        class_ = symbol_class[byte[node]]
        after = memo[before, class_]
        if after == -2:
            if work > quantum:
                reason = _PAUSED
                break
            first, last = start[before], start[before + 1]
            if functions + 1 >= memo.shape[0]:
                reason = _NEEDS_FUNCTIONS
                break
            if pairs + last - first > source.shape[0]:
                reason = _NEEDS_PAIRS
                break
            work += last - first
            # Write the new function after the last one; keep it only if it is new.
            end = pairs
            hashed = SEED
            for k in range(first, last):
                state = table[target[k], class_]
                if state >= 0:
                    source[end] = source[k]
                    target[end] = state
                    end += 1
                    hashed = mixed(mixed(hashed, source[k]), int(state))
            if end == pairs:
                after = -1
            else:
                hashed = folded(hashed)
                slot = first_slot(hashed, mask)
                after = -1
                while slots[slot] >= 0:
                    known = slots[slot]
                    begin = start[known]
                    if code[known] == hashed and start[known + 1] - begin == end - pairs:
                        same = True
                        for k in range(end - pairs):
                            if (
                                source[begin + k] != source[pairs + k]
                                or target[begin + k] != target[pairs + k]
                            ):
                                same = False
                                break
                        if same:
                            after = known
                            break
                    slot = (slot + 1) & mask
                if after < 0:
                    after = functions
                    slots[slot] = after
                    code[after] = hashed
                    pairs = end
                    functions += 1
                    start[functions] = pairs
                    for c in range(classes):
                        memo[after, c] = -2
            memo[before, class_] = after
        if after < 0:
            node = skip[node]
            continue
        stack[depth[node]] = after
        # Half of the nodes end a word, unpredictably for a processor: write always, and advance the
        # count only for those that do.
        live_word[words] = word[node]
        live_function[words] = after
        words += word[node] >= 0
        node += 1
    progress[_NODE] = node
    progress[_FUNCTIONS] = functions
    progress[_PAIRS] = pairs
    progress[_WORDS] = words
    return reason


def _held(room: int, pair_room: int, classes: int) -> int:
    """Bytes of the functions and their pairs."""
    return room * (4 * classes + 32) + 8 * pair_room


def compose_functions(trie: Trie, dfa: Dfa, meter: Meter, max_bytes: int) -> Functions:
    """The function of each word of the vocabulary on the states of the character FSA.

    Args:
        meter: Watches bytes and seconds.
        max_bytes: The memory in bytes at which to give up.

    Raises:
        MonoidTooLarge: The functions need more than ``max_bytes``.
        BudgetExceeded: The time is up.
    """
    classes = dfa.num_classes
    states = np.arange(dfa.num_states, dtype=np.int32)
    room, pair_room = 256, 8 * dfa.num_states + 1024
    if _held(room, pair_room, classes) > max_bytes:
        raise MonoidTooLarge
    source = np.empty(pair_room, np.int32)
    target = np.empty(pair_room, np.int32)
    source[: len(states)] = states
    target[: len(states)] = states
    start = np.zeros(room + 1, np.int64)
    start[1] = len(states)
    code = np.zeros(room, np.uint64)
    memo = np.empty((room, classes), np.int32)
    memo[0] = -2
    slots = np.full(4 * room, -1, np.int32)
    stack = np.zeros(trie.max_depth + 1, np.int32)
    # One place more than there are words: see the end of `_walk`.
    live_word = np.empty(trie.num_words + 1, np.int32)
    live_function = np.empty(trie.num_words + 1, np.int32)
    progress = np.array([0, 1, len(states), 0], np.int64)
    while True:
        reason = _walk(
            trie.byte, trie.depth, trie.skip, trie.word, dfa.symbol_class, dfa.table, stack, memo,
            source, target, start, code, slots, live_word, live_function, progress, _QUANTUM,
        )  # fmt: skip
        if reason == _FINISHED:
            break
        meter.check_time(_COMPOSITION)
        if reason == _NEEDS_FUNCTIONS:
            room *= 2
        elif reason == _NEEDS_PAIRS:
            pair_room = 2 * pair_room + dfa.num_states
        if _held(room, pair_room, classes) > max_bytes:
            raise MonoidTooLarge
        if reason == _NEEDS_FUNCTIONS:
            memo = np.concatenate([memo, np.empty_like(memo)])
            start = np.concatenate([start, np.empty(room // 2, np.int64)])
            code = np.concatenate([code, np.empty(room // 2, np.uint64)])
            slots = np.full(4 * room, -1, np.int32)
            enter(code, int(progress[_FUNCTIONS]), slots)
        elif reason == _NEEDS_PAIRS:
            extra = np.empty(pair_room - len(source), np.int32)
            source = np.concatenate([source, extra])
            target = np.concatenate([target, extra])
    functions, words = int(progress[_FUNCTIONS]), int(progress[_WORDS])
    return Functions(
        source, target, start[: functions + 1], live_word[:words], live_function[:words]
    )


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


def reached_from_start(table: NDArray[np.signedinteger[Any]]) -> Bool:
    """The states of a table that some tokens lead to from state 0: bool[states]."""
    reached = np.zeros(len(table), np.bool_)
    frontier = np.zeros(1, np.int64)
    while len(frontier):
        reached[frontier] = True
        targets = np.unique(table[frontier])
        frontier = targets[(targets >= 0) & ~reached[np.maximum(targets, 0)]]
    return reached


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
