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
from explorer.tokens.closed_form.assemble import Assembled, distances_of, merged_columns
from explorer.tokens.states import DEAD, EOS_CLASS
from explorer.tokens.walks.trie import after_token, trie_for, written
from explorer.tokens.walks.walk import states_reached
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
    columns = np.full((len(char_state), len(live)), DEAD, np.int32)
    columns[source, column.reshape(-1)] = target
    table, class_of = merged_columns(columns, accepting)
    narrow = table.shape[1] <= np.iinfo(np.uint16).max
    token_class = np.zeros(len(vocabulary), np.uint16 if narrow else np.int32)
    token_class[live] = class_of
    token_class[list(vocabulary.eos_ids)] = EOS_CLASS
    # pynini's composition drops dead ends silently; a walk finds what was dropped.
    reached = states_reached(dfa, trie_for(vocabulary, dfa), meter, STAGE)
    return Assembled(
        char_state.astype(np.int32), table, accepting, distances_of(table),
        cast("Int32", token_class), len(reached), np.setdiff1d(reached, char_state),
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
