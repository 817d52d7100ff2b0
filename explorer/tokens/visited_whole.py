"""A machine of finitely many texts, visited whole: a table beside a machine that has none.

A token budget needs the fewest tokens to the end from every state. A machine that works its states
out as they are met, such as one behind the canonical filter, does not know them; but where its
texts are finitely many and short, all of its states can be met at once. `visited_whole` does that
within limits, and gives the same machine with what a `explorer.tokens.machine.TokenTable` has.

The limits are counts, so that it does not depend on how busy a computer is whether a budget takes
part in a mask.

Cost: one mask for each state and one step for each of its tokens; 1 ms for a few words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from explorer.automata.machine import Bool, ByteMachine, Dfa, Int32
from explorer.automata.words import is_finite
from explorer.errors import BudgetExceeded
from explorer.languages.constraint import Constraint
from explorer.tokens.machine import TokenMachine
from explorer.tokens.masks.needed import distances_of
from explorer.tokens.report import Report
from explorer.tokens.states import (
    DEAD,
    DEAD_CLASS,
    DONE,
    EOS_CLASS,
    NUM_FIXED_CLASSES,
    SENTINEL_DISTANCE,
    checked_state,
)
from explorer.tokens.words import UInt32
from explorer.vocabulary import Vocabulary

MOST_STATES: Final = 512
MOST_STEPS: Final = 20_000
"""Limits of a visit; a machine with more keeps to what it knows."""


class VisitedWhole:
    """A token machine all of whose states were met, as a `TokenTable`; made by `visited_whole`.

    Args:
        machine: The machine. States keep their numbers.
        rows: For each state, which token leads where; the end of text leads to `DONE`.
    """

    def __init__(self, machine: TokenMachine, rows: Sequence[dict[int, int]]) -> None:
        self._machine = machine
        ends = machine.vocabulary.eos_ids
        used = sorted({token for row in rows for token in row if token not in ends})
        columns = np.full((len(rows), len(used)), DEAD, np.int32)
        table = np.full((len(rows), NUM_FIXED_CLASSES), DEAD, np.int32)
        place = {token: k for k, token in enumerate(used)}
        for state, row in enumerate(rows):
            for token, target in row.items():
                if token in ends:
                    table[state, EOS_CLASS] = DONE
                else:
                    columns[state, place[token]] = target
        # Tokens that no state tells apart are one class.
        different, numbers = np.unique(columns, axis=1, return_inverse=True)
        self._table: Int32 = np.concatenate([table, different], axis=1)
        self._token_class: Int32 = np.full(len(machine.vocabulary), DEAD_CLASS, np.int32)
        self._token_class[used] = NUM_FIXED_CLASSES + numbers.ravel()
        self._token_class[list(ends)] = EOS_CLASS
        self._distance = distances_of(self._table)

    @property
    def constraint(self) -> Constraint | None:
        """The language, with its source."""
        return self._machine.constraint

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        return self._machine.vocabulary

    @property
    def report(self) -> Report:
        """Times, sizes and the kind of the machine."""
        return self._machine.report

    @property
    def byte_machine(self) -> ByteMachine | None:
        """The machine over bytes that this one follows."""
        return self._machine.byte_machine

    @property
    def start(self) -> int:
        """The state before the first token."""
        return self._machine.start

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self._table)

    @property
    def table(self) -> Int32:
        """int32[num_states, num_classes], the next state, `DEAD` or `DONE`."""
        return self._table

    @property
    def token_class(self) -> Int32:
        """int32[len(vocabulary)], the class of each id."""
        return self._token_class

    @property
    def char_state(self) -> Int32:
        """int32[num_states], the state of `byte_machine` that each state stands for."""
        states = range(self.num_states)
        return np.array([self._machine.byte_state(state) for state in states], np.int32)

    @property
    def distance(self) -> Int32:
        """int32[num_states], the fewest tokens to the end of the text, EOS included."""
        return self._distance

    def step(self, state: int, token: int) -> int | None:
        """The state after one more token; ``None`` where it is not allowed."""
        return self._machine.step(state, token)

    def mask(self, state: int) -> UInt32:
        """The mask of a state as packed words."""
        return self._machine.mask(state)

    def allowed(self, state: int) -> Bool:
        """The mask of a state, one entry per id."""
        return self._machine.allowed(state)

    def is_final(self, state: int) -> bool:
        """Whether the text may end in a state."""
        return self._machine.is_final(state)

    def distance_to_end(self, state: int) -> int | None:
        """The fewest tokens to the end of the text, EOS included."""
        state = checked_state(state, len(self._distance))
        return SENTINEL_DISTANCE[state] if state < 0 else int(self._distance[state])

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine` that a state stands for."""
        return self._machine.byte_state(state)


def visited_whole(machine: TokenMachine) -> VisitedWhole | None:
    """Meet every state of a machine.

    Args:
        machine: A machine that numbers its states as it meets them.

    Returns:
        The machine with a table; ``None`` where its texts are infinitely many, where it has more
        than `MOST_STATES` states or `MOST_STEPS` ways on, or where a search of it took too long.

    Example:
        >>> import explorer
        >>> lm = explorer.load_model("tiny")
        >>> cities = explorer.choice([" Rome", " Paris"]).canonical()
        >>> whole = visited_whole(explorer.compile(cities, lm.vocabulary))
        >>> int(whole.distance[whole.start])  # One token and the end.
        2
    """
    characters = machine.byte_machine
    if not isinstance(characters, Dfa) or not is_finite(characters):
        return None
    steps = 0
    waiting, met = [machine.start], {machine.start}
    found: dict[int, dict[int, int]] = {}
    try:
        for state in waiting:
            row: dict[int, int] = {}
            allowed = np.flatnonzero(machine.allowed(state)).tolist()
            steps += len(allowed)
            if steps > MOST_STEPS:
                return None
            for token in allowed:
                target = machine.step(state, token)
                if target is None:
                    continue
                row[token] = target
                if target >= 0 and target not in met:
                    met.add(target)
                    waiting.append(target)
                    if len(met) > MOST_STATES:
                        return None
            found[state] = row
    except BudgetExceeded:
        return None
    # States that were met before, by another way in, have no way on here that counts.
    rows = [found.get(state, {}) for state in range(machine.num_states)]
    return VisitedWhole(machine, rows)
