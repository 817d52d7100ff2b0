"""From pynini's composition to the token machine: the same tables, made from its arcs.

`explorer.automata.textbook.composition` gives states and arcs over token ids. What the tables need
besides is which character state each state stands for (read off by spelling one way to it), the
fewest tokens to the end, and the classes: tokens whose columns are equal. Plain numpy; it is not
meant to be fast.
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np

from explorer.automata.machine import NO_ARC, Dfa, Int32
from explorer.automata.textbook.composition import compose
from explorer.budget import Meter
from explorer.tokens.closed_form.assemble import Assembled, empty_table
from explorer.tokens.states import DEAD, DONE, EOS_CLASS, NUM_FIXED_CLASSES
from explorer.tokens.walks.finishing import Finishing
from explorer.tokens.walks.written import after_token, trie_for, written
from explorer.vocabulary import Vocabulary

STAGE: Final = "Tabulating pynini's machine"


def compose_textbook(vocabulary: Vocabulary, dfa: Dfa, meter: Meter) -> Assembled:
    """The token machine as pynini composes it.

    Args:
        vocabulary: The tokens.
        dfa: The character FSA; its language is not empty.
        meter: Watches sizes and time.

    Returns:
        The token machine; it has no state if the vocabulary cannot write any word.

    Raises:
        BudgetExceeded: A limit was reached.
    """
    start, arcs, final = compose(vocabulary, dfa, meter)
    char_of = _character_states(start, arcs, len(final), vocabulary, dfa)
    char_state = np.unique(char_of)
    name = np.full(dfa.num_states, DEAD, np.int32)
    name[char_state] = np.arange(len(char_state), dtype=np.int32)
    source, target = name[char_of[arcs[:, 0]]], name[char_of[arcs[:, 2]]]
    accepting = dfa.accepting[char_state]
    live, column = np.unique(arcs[:, 1], return_inverse=True)
    cells = len(char_state) * len(live)
    meter.check(STAGE, states=len(char_state), arcs=cells, bytes=16 * cells)
    columns = np.full((len(live), len(char_state)), DEAD, np.int32)
    columns[column.reshape(-1), source] = target
    merged, class_of = np.unique(columns, axis=0, return_inverse=True)
    table = empty_table(len(char_state), NUM_FIXED_CLASSES + len(merged))
    table[:, NUM_FIXED_CLASSES:] = merged.T
    table[accepting, EOS_CLASS] = DONE
    narrow = table.shape[1] <= np.iinfo(np.uint16).max
    token_class = np.zeros(len(vocabulary), np.uint16 if narrow else np.int32)
    token_class[live] = class_of.reshape(-1) + NUM_FIXED_CLASSES
    token_class[list(vocabulary.eos_ids)] = EOS_CLASS
    reached, stuck = _reached(dfa, vocabulary, char_state, meter)
    return Assembled(
        char_state.astype(np.int32), table, accepting, _distances(source, target, accepting),
        cast("Int32", token_class), reached, stuck,
    )  # fmt: skip


def _character_states(
    start: int, arcs: Int32, num_states: int, vocabulary: Vocabulary, dfa: Dfa
) -> Int32:
    """The character state that each state stands for: where the bytes on one way to it lead."""
    char_of = np.full(num_states, NO_ARC, np.int32)
    if num_states == 0:
        return char_of
    first = np.searchsorted(arcs[:, 0], np.arange(num_states + 1))
    char_of[start] = dfa.start
    queue = [start]
    for state in queue:
        outgoing = arcs[first[state] : first[state + 1]]
        targets, example = np.unique(outgoing[:, 2], return_index=True)
        for target, k in zip(targets.tolist(), example.tolist(), strict=True):
            if char_of[target] == NO_ARC:
                symbols = written(vocabulary, dfa, int(outgoing[k, 1]))
                char_of[target] = after_token(dfa, int(char_of[state]), symbols)
                queue.append(target)
    return char_of


def _distances(source: Int32, target: Int32, accepting: np.ndarray) -> Int32:
    """The fewest tokens to the end of the text, EOS included, by relaxing every arc at once."""
    distance = np.where(accepting, 1, np.iinfo(np.int32).max - 1).astype(np.int32)
    pairs = np.unique(np.column_stack([source, target]), axis=0)
    while True:
        shorter = distance.copy()
        np.minimum.at(shorter, pairs[:, 0], distance[pairs[:, 1]] + 1)
        if np.array_equal(shorter, distance):
            return distance
        distance = shorter


def _reached(dfa: Dfa, vocabulary: Vocabulary, kept: Int32, meter: Meter) -> tuple[int, Int32]:
    """How many character states tokens reach, and which of them were left out.

    pynini's composition drops dead ends silently; a walk finds what was dropped.
    """
    finishing = Finishing(dfa, trie_for(vocabulary, dfa))
    met = {dfa.start}
    queue = [dfa.start]
    for state in queue:
        for following in finishing.targets(state, meter):
            if following not in met:
                met.add(following)
                queue.append(following)
    return len(met), np.array(sorted(met - set(kept.tolist())), np.int32)
