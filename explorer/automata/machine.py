"""The two machines that the constructions pass to each other, as flat arrays.

`Nfa` is what is easy to write down: states, arcs over *intervals* of symbols, ε-arcs. `Dfa` is
what is easy to run: a table of states × symbol classes. Both are values; nothing changes them.

A symbol is a byte (0–255) or, during the construction of lookarounds and anchors, one of a few
*marks* above 255. Arcs over intervals rather than single bytes keep ``.{0,4000}`` at thirty
thousand arcs where single bytes would need two million.

`ByteMachine` is what the rest of the engine asks of anything that reads bytes. A `Dfa` is one; a
machine that discovers its states while it runs is another.

A `Dfa` is partial: the entry −1 means that there is no arc. −1 is only ever compared, never
used as an index.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import NUM_BYTES

NO_ARC: Final = -1

Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]


class ByteMachine(Protocol):
    """A deterministic machine over bytes, a byte at a time. States are ints, 0 or more.

    Every state can finish: a prefix has a state exactly if some word of the language begins so. A
    machine that discovers its states numbers each when it first meets it and keeps the number.
    """

    @property
    def start(self) -> int:
        """The start state; `NO_ARC` where the language is empty."""
        ...

    @property
    def num_states(self) -> int:
        """The number of states known so far."""
        ...

    def step(self, state: int, byte: int) -> int:
        """The state after one more byte, or `NO_ARC`."""
        ...

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""
        ...

    def expected(self, state: int) -> bytes:
        """The bytes that may come next, ascending; none from `NO_ARC`."""
        ...


class DiscoveredMachine(ABC):
    """A `ByteMachine` that numbers its states as it meets them, and keeps their rows as a table.

    A class to inherit from, since who has rows at hand is asked for every mask.
    """

    @property
    @abstractmethod
    def start(self) -> int:
        """The start state; `NO_ARC` where the language is empty."""

    @property
    @abstractmethod
    def num_states(self) -> int:
        """The number of states met so far."""

    @abstractmethod
    def step(self, state: int, byte: int) -> int:
        """The state after one more byte, or `NO_ARC`."""

    @abstractmethod
    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""

    @abstractmethod
    def expected(self, state: int) -> bytes:
        """The bytes that may come next, ascending; none from `NO_ARC`."""

    @property
    @abstractmethod
    def symbol_class(self) -> Int32:
        """int32[256], the class of each byte."""

    @property
    @abstractmethod
    def table(self) -> Int32:
        """int32[room, classes], the rows so far: a state, `NO_ARC`, or less where not known."""

    @property
    @abstractmethod
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""

    @abstractmethod
    def visit(
        self, byte: NDArray[np.uint8], depth: Int32, skip: Int32, deepest: int, state: int
    ) -> None:
        """Fill the rows that the words of a trie come by from a state, so that `table` has them.

        Args:
            byte, depth, skip: The nodes of the trie, as `explorer.tokens.walks.trie.Trie` has them.
            deepest: The longest word, in bytes.
            state: Where the words begin.

        Raises:
            BudgetExceeded: More was met than the budget allows.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Nfa:
    """A nondeterministic automaton over intervals of symbols.

    Args:
        num_states: States are ``0 .. num_states - 1``.
        start: The start state.
        arcs: int32[arcs, 4], rows ``(source, low, high, target)``; reads any symbol in
            ``low .. high``, both included.
        epsilons: int32[epsilons, 2], rows ``(source, target)``.
        accepting: int32[n], the accepting states.
        num_symbols: 256, or more where marks are in use.
    """

    num_states: int
    start: int
    arcs: Int32
    epsilons: Int32
    accepting: Int32
    num_symbols: int = NUM_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Dfa:
    """A deterministic, partial automaton over symbol classes.

    Args:
        symbol_class: int32[num_symbols], the class of each symbol; classes are
            ``0 .. num_classes - 1``.
        table: int32[num_states, num_classes], the target state or `NO_ARC`.
        accepting: bool[num_states].
        start: The start state; `NO_ARC` where the language is empty and there is no state.
    """

    symbol_class: Int32
    table: Int32
    accepting: Bool
    start: int

    @property
    def num_states(self) -> int:
        """The number of states."""
        return self.table.shape[0]

    @property
    def num_classes(self) -> int:
        """The number of symbol classes."""
        return self.table.shape[1]

    @property
    def num_symbols(self) -> int:
        """256, or more where marks are in use."""
        return self.symbol_class.shape[0]

    def step(self, state: int, byte: int) -> int:
        """The state after one more byte, or `NO_ARC`."""
        return NO_ARC if state == NO_ARC else int(self.table[state, self.symbol_class[byte]])

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""
        return state != NO_ARC and bool(self.accepting[state])

    def expected(self, state: int) -> bytes:
        """The bytes with an arc from a state, ascending; none from `NO_ARC`.

        Example:
            >>> from explorer import regex
            >>> regex("(foo)+d").dfa.expected(0)
            b'f'
        """
        if state == NO_ARC:
            return b""
        row = self.table[state][self.symbol_class[:NUM_BYTES]]
        return bytes(np.flatnonzero(row != NO_ARC).tolist())

    def accepts(self, data: bytes) -> bool:
        """Whether the machine accepts exactly these bytes.

        Example:
            >>> from explorer import regex
            >>> regex("(foo)+d").dfa.accepts(b"foofood")
            True
        """
        state = self.start
        for byte in data:
            if state == NO_ARC:
                return False
            state = int(self.table[state, self.symbol_class[byte]])
        return state != NO_ARC and bool(self.accepting[state])


def whole_table(machine: ByteMachine | None) -> Dfa | None:
    """The machine as a table of all its states, if it is one; else ``None``.

    Whoever can only count over all states asks here, and says what it does without.

    Args:
        machine: A machine over bytes; ``None`` where every text is allowed.
    """
    return machine if isinstance(machine, Dfa) else None
