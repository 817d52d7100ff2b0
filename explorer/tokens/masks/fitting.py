"""The packed masks of a table under a token budget, where the budget removes something.

Far from its end a budget removes nothing, and the mask is the machine's own. Near the end a token
is allowed only if the text can still be ended after it (`explorer.tokens.masks.needed`). Such a
mask is worked out id by id when it is first asked for, about 80 µs at 131,072 tokens, and kept;
64 MB of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.jit import jit
from explorer.tokens.kept import Kept
from explorer.tokens.masks.needed import FIRST_STATE, UNLIMITED
from explorer.tokens.words import UInt32, num_words


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
        >>> from explorer.tokens.masks.needed import needed_rows
        >>> vocab = explorer.Vocabulary.from_bytes([b"a", b"b", b"ab"], eos_ids=[3])
        >>> dfa = explorer.compile(explorer.regex("ab"), vocab)
        >>> fitting = FittingWords(needed_rows(dfa), dfa.token_class)
        >>> fitting.words(dfa.start, 2), fitting.words(dfa.start, 3)  # "ab" and the end.
        (array([4], dtype=uint32), None)
    """

    def __init__(self, needed: Int32, classes: NDArray[np.integer[Any]]) -> None:
        self._needed, self._classes = needed, classes
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
            _set_classes(self._needed[state + FIRST_STATE] <= remaining, self._classes, words)
            words.setflags(write=False)
            self._masks.put((state, remaining), words, words.nbytes)
        return words
