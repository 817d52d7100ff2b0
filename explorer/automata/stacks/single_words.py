"""The words that a configuration allows, computed mostly once per state of the network.

Most words end before the rule in which they begin, so whether they can be read depends on the state
alone. So the vocabulary is walked once for each state, over an unknown stack. The result is the
words that stay above the bottom, as a packed mask, and the nodes of the trie at which the rule at
the bottom ends. For a configuration with a known stack only these nodes are walked further, from
the return state. (Dong et al. 2024, section 3.1, cache such words as context-independent.)

Cost at 131,072 tokens: a walk of the whole trie for a state, some milliseconds inside of a string;
then some tens of microseconds for each stack.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.discovered.rows import FINISHED, PAUSED
from explorer.automata.machine import UNKNOWN, Int32, UInt8, UInt32
from explorer.automata.rules.moves import Actions
from explorer.automata.stacks.single_rows import AT, MUCH, WORK, Met, fill_cell
from explorer.jit import jit

ENDS_BELOW: Final = -3
"""The value of a cell after which the rule at the bottom ends; its caller decides what follows."""


@jit
def words_above(
    ways: Actions, met: Met, byte: UInt8, depth: Int32, skip: Int32, word: Int32, first_id: Int32,
    stack: Int32, words: UInt32, below: Int32, count: NDArray[np.int64],
) -> int:  # fmt: skip
    """Set the bits of the words that stay above the bottom, and note the nodes of the others.

    Args:
        ways, met: The machine; its configuration 0 is the state, on an unknown bottom.
        byte, depth, skip, word, first_id: As in `explorer.automata.machine.WordTrie`.
        stack: int32[deepest + 1].
        words: uint32[n], the packed words.
        below: int32[nodes], the first nodes of the trie below the bottom.
        count: int64[1], the number of these nodes.
    """
    at = met.progress[AT]
    while at < byte.shape[0]:
        here = stack[depth[at] - 1]
        symbol = ways.symbol_class[byte[at]]
        target = met.table[here, symbol]
        if target == UNKNOWN:
            reason = PAUSED
            if met.progress[WORK] <= MUCH:
                reason = fill_cell(ways, met, here, symbol, ENDS_BELOW)  # pyright: ignore[reportArgumentType]
            if reason != FINISHED:
                met.progress[AT] = at
                return reason
            target = met.table[here, symbol]
        if target < 0:
            if target == ENDS_BELOW:
                below[count[0]] = at
                count[0] += 1
            at = skip[at]
            continue
        stack[depth[at]] = target
        if word[at] >= 0:
            token = first_id[word[at]]
            words[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        at += 1
    met.progress[AT] = at
    return FINISHED


@jit
def words_below(
    ways: Actions, met: Met, byte: UInt8, depth: Int32, skip: Int32, word: Int32, first_id: Int32,
    stack: Int32, words: UInt32, below: Int32, configuration: int,
) -> int:  # fmt: skip
    """Set the bits of the words that leave the rule at the bottom, from its return state on.

    Args:
        ways, met, byte, depth, skip, word, first_id, stack, words, below: As for `words_above`.
        configuration: The configuration after the return of the rule.
    """
    k = met.progress[AT]
    while k < below.shape[0]:
        at = below[k]
        last = skip[at]
        stack[depth[at] - 1] = configuration
        while at < last:
            here = stack[depth[at] - 1]
            symbol = ways.symbol_class[byte[at]]
            target = met.table[here, symbol]
            if target == UNKNOWN:
                reason = PAUSED
                if met.progress[WORK] <= MUCH:
                    reason = fill_cell(ways, met, here, symbol)  # pyright: ignore[reportArgumentType]
                if reason != FINISHED:
                    met.progress[AT] = k  # This place is walked again from its start.
                    return reason
                target = met.table[here, symbol]
            if target < 0:
                at = skip[at]
                continue
            stack[depth[at]] = target
            if word[at] >= 0:
                token = first_id[word[at]]
                words[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
            at += 1
        k += 1
    met.progress[AT] = k
    return FINISHED
