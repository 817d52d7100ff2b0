"""Composition by functions: one walk of the vocabulary for all states at once.

Reading a byte string takes every state of the character FSA to at most one other state, so a
string *is* a partial function state → state. The walk carries that function down the trie.
Two facts make it fast. Many strings compute the same function (inside a quoted string, every
run of letters does), and the function after one more byte depends only on the function before
and on the byte's class; so functions are numbered, and a step is one look-up in the memo
``(function, byte class) → function``. Where a function has become empty, no state survives and
the subtree is skipped.

The functions met at the ends of tokens are the token classes, before trimming: two tokens with
one function are told apart by no state. In terms of algebra this is the part of the transition
monoid of the character FSA that the vocabulary reaches. It is the composition of the
detokenizing FST with the FSA (Koo, Liu & He 2024, Algorithm 2) computed without ever writing
the composed machine down.

Functions are stored sparsely, as the (source, target) pairs of the states that survive. Costs:
one look-up per live trie node, and the length of each *new* function. A constraint whose monoid
explodes is recognised by the size of the pair arena; `compile` then walks state by state instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Dfa, Int32
from explorer.budget import Meter
from explorer.hashing import SEED, enter, first_slot, folded, mixed
from explorer.jit import jit
from explorer.tokens.walks.trie import Trie, UInt8

STAGE: Final = "Composition"
QUANTUM: Final = 4_000_000

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
            source, target, start, code, slots, live_word, live_function, progress, QUANTUM,
        )  # fmt: skip
        if reason == _FINISHED:
            break
        meter.check_time(STAGE)
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
