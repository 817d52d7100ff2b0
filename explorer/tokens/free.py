"""The machine without a constraint: every id may come next until the end of the text is written.

It is a token machine like the others, so decoding needs no special case for "no constraint". Its
only state is the sentinel `FREE`; an id that ends the text leads to `DONE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from explorer.arguments import whole_number
from explorer.automata.machine import NO_ARC, Bool
from explorer.tokens.lost import Lost
from explorer.tokens.report import Report
from explorer.tokens.states import DEAD, DONE, FREE, SENTINEL_DISTANCE, checked_state
from explorer.tokens.words import UInt32, pack
from explorer.vocabulary import Vocabulary


def _nothing_is_lost() -> Lost:
    return Lost((), ())


@dataclass(frozen=True)
class Free:
    """A token machine that allows everything.

    Args:
        vocabulary: The tokens.

    Example:
        >>> import explorer
        >>> free = Free(explorer.Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2]))
        >>> free.allowed(free.start).tolist()
        [True, True, True]
        >>> free.step(free.start, 1) == free.start, free.step(free.start, 2) == explorer.DONE
        (True, True)
    """

    vocabulary: Vocabulary

    @property
    def constraint(self) -> None:
        """``None``: every text is allowed."""
        return None

    @property
    def byte_machine(self) -> None:
        """``None``: no machine reads the bytes."""
        return None

    @property
    def report(self) -> Report:
        """An empty report: all figures are 0, and the kind is ``"free"``."""
        live = len(self.vocabulary)
        return Report({}, 0, 0, 0, 0, 0, live, 0, 0, "free", _nothing_is_lost, kind="free")

    @property
    def start(self) -> int:
        """The sentinel `FREE`."""
        return FREE

    @property
    def num_states(self) -> int:
        """0: the machine has only sentinels."""
        return 0

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token: `DONE` after an end of text, else `FREE`.

        Raises:
            ExplorerError: There is no such state.
        """
        state = checked_state(state, 0)
        token = whole_number("token", token, None)
        if not 0 <= token < len(self.vocabulary) or state == DEAD:
            return None
        if token in self.vocabulary.eos_ids:
            return DONE
        return FREE if state == FREE else None

    def mask(self, state: int) -> UInt32:
        """The mask as packed words; see `explorer.tokens.machine.TokenMachine`."""
        state = checked_state(state, 0)
        return self._words[state]

    def allowed(self, state: int) -> Bool:
        """The mask, one entry per id: bool[len(vocabulary)], read-only."""
        state = checked_state(state, 0)
        return self._rows[state]

    def is_final(self, state: int) -> bool:
        """Whether the text may end here: everywhere but in `DEAD`."""
        state = checked_state(state, 0)
        return state != DEAD

    def distance_to_end(self, state: int) -> int | None:
        """1 from `FREE`, the end of the text; 0 from `DONE`; ``None`` from `DEAD`."""
        return SENTINEL_DISTANCE[checked_state(state, 0)]

    def byte_state(self, state: int) -> int:
        """`NO_ARC`: there is no machine over bytes."""
        checked_state(state, 0)
        return NO_ARC

    @cached_property
    def _rows(self) -> dict[int, Bool]:
        everything = np.ones(len(self.vocabulary), np.bool_)
        nothing = np.zeros(len(self.vocabulary), np.bool_)
        ends = nothing.copy()
        ends[list(self.vocabulary.eos_ids)] = True
        rows = {FREE: everything, DONE: ends, DEAD: nothing}
        for row in rows.values():
            row.setflags(write=False)
        return rows

    @cached_property
    def _words(self) -> dict[int, UInt32]:
        words = {state: pack(row) for state, row in self._rows.items()}
        for mask in words.values():
            mask.setflags(write=False)
        return words

    def __reduce__(self) -> tuple[type[Free], tuple[Vocabulary]]:
        return Free, (self.vocabulary,)
