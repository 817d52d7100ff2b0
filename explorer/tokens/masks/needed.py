"""The number of tokens that each choice needs up to the end, which decides a token budget.

Under a budget, a token is allowed only if the text can still be ended in time after it. The machine
knows `distance`, the fewest tokens from a state to the end of the text, so a token *needs* one for
itself plus the distance of its target. EOS is a token and counts: it needs one, because it leads
to the end. Therefore

    allowed with r tokens left  =  allowed by the constraint, and needed <= r.

The distance of a state is the minimum over its choices. So where a text can still be ended with r
tokens, some choice leads to a state where it can with r - 1: a budget that fits at the start fits
always, and a generation of at most ``max_tokens`` tokens ends with EOS, having matched.

`DONE` and `FREE` are outside of the budget: EOS after the end is padding, and free text has no end.
They need nothing. A budget does not change which texts are possible within it, only when the model
must begin to close them.

Far from the end a budget removes nothing, and the mask is the machine's own. Near the end a mask is
computed id by id when it is first asked for (`FittingWords`), in about 80 µs at 131,072 tokens; up
to 64 MB of them are kept.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.jit import jit
from explorer.memo import Kept, memo
from explorer.tokens.machine import TokenTable
from explorer.tokens.words import DEAD, DONE, EOS_CLASS, FREE, UInt32, num_words

FORBIDDEN: Final = 2**31 - 1
"""The entry of a class that the constraint does not allow: more than any budget."""

UNLIMITED: Final = FORBIDDEN - 1
"""The largest budget; every allowed token fits."""

NO_BUDGET: Final = UNLIMITED // 2
"""Half of `UNLIMITED`: a row without a budget counts down from there and never gets this far."""

FIRST_STATE: Final = 3
"""The row of state 0 in `needed_rows` and `target_rows`, after those of the sentinels.

The row of any state is ``state + FIRST_STATE``, so that a negative state never indexes a table.
"""


def target_rows(machine: TokenTable) -> Int32:
    """The machine's table, preceded by the rows of the sentinels.

    Returns:
        int32[3 + states, classes]: the rows of `FREE`, `DONE`, `DEAD`, then of the states.
    """
    rows = np.full((FIRST_STATE, machine.table.shape[1]), DEAD, np.int32)
    rows[FREE + FIRST_STATE] = FREE
    rows[DONE + FIRST_STATE, EOS_CLASS] = DONE
    return np.concatenate([rows, machine.table.astype(np.int32)])


def needed_rows(machine: TokenTable) -> Int32:
    """The tokens that each choice needs, the token itself and EOS included.

    Returns:
        int32[3 + states, classes], `FORBIDDEN` where the constraint does not allow the class; rows
        as in `target_rows`.

    Example:
        >>> from types import SimpleNamespace
        >>> ab = SimpleNamespace(table=np.array([[DEAD, DEAD, 1], [DEAD, DONE, DEAD]], np.int32),
        ...                      distance=np.array([2, 1], np.int32))
        >>> np.where(needed_rows(ab) == FORBIDDEN, -1, needed_rows(ab))[FIRST_STATE:].tolist()
        [[-1, -1, 2], [-1, 1, -1]]
    """
    targets = target_rows(machine)
    # The distance of each row's state; FREE and DONE are at the end already.
    distance = np.concatenate([np.zeros(FIRST_STATE, np.int32), machine.distance])
    needed = np.where(targets == DEAD, FORBIDDEN, 1 + distance[targets + FIRST_STATE])
    for sentinel in (FREE, DONE):
        row = needed[sentinel + FIRST_STATE]
        row[row != FORBIDDEN] = 0
    return needed.astype(np.int32)


def least_needed(needed: Int32) -> Int32:
    """The fewest tokens from each row to the end: `distance`, and the sentinels' own.

    Args:
        needed: From `needed_rows`.

    Returns:
        int32[3 + states]; `FORBIDDEN` for `DEAD`.
    """
    return needed.min(axis=1)


def no_table(after_free: int = FREE) -> tuple[Int32, Int32]:
    """`target_rows` and `needed_rows` of a machine without a table: the sentinels alone, over the
    two fixed classes.

    Args:
        after_free: The target of the end of the text from `FREE`: `DONE`, or `FREE` itself.
    """
    targets = np.array([[FREE, after_free], [DEAD, DONE], [DEAD, DEAD]], np.int32)
    return targets, np.where(targets == DEAD, FORBIDDEN, 0).astype(np.int32)


@jit
def _set_classes(wanted: Bool, classes: NDArray[np.integer[Any]], words: UInt32) -> None:
    """Set the bit of each id whose class is wanted."""
    for token in range(classes.shape[0]):
        words[token >> 5] |= np.uint32(wanted[classes[token]]) << np.uint32(token & 31)


class FittingWords:
    """The masks of one table under token budgets; thread-safe.

    Args:
        needed: From `explorer.tokens.masks.needed.needed_rows`.
        classes: int[len(vocabulary)], the class of each id.

    Example:
        >>> import explorer
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> dfa = explorer.compile(explorer.regex("ab"), vocab)
        >>> fitting = FittingWords(needed_rows(dfa), dfa.token_class)
        >>> fitting.words(dfa.start, 2), fitting.words(dfa.start, 3)  # "ab" and the end.
        (array([4], dtype=uint32), None)
    """

    def __init__(self, needed: Int32, classes: NDArray[np.integer[Any]]) -> None:
        self.needed, self._classes = needed, classes
        self._most: list[int] = np.where(needed <= UNLIMITED, needed, 0).max(axis=1).tolist()
        self._masks: Kept[tuple[int, int], UInt32] = Kept()

    def words(self, state: int, remaining: int) -> UInt32 | None:
        """The mask of a state under a budget.

        Args:
            state: A state or a sentinel.
            remaining: How many tokens may still be written, EOS included.

        Returns:
            uint32[ceil(len(vocabulary) / 32)], read-only; ``None`` where the budget removes
            nothing, so that the mask is the machine's own.
        """
        if remaining >= self._most[state + FIRST_STATE]:
            return None
        words = self._masks.get((state, remaining))
        if words is None:
            words = np.zeros(num_words(len(self._classes)), np.uint32)
            _set_classes(self.needed[state + FIRST_STATE] <= remaining, self._classes, words)
            words.setflags(write=False)
            self._masks.put((state, remaining), words, words.nbytes)
        return words


@memo
def fitting_words(table: TokenTable) -> FittingWords:
    """The masks of a table under token budgets, kept as long as the table lives."""
    return FittingWords(needed_rows(table), table.token_class)
