"""The machines of the engine, as flat arrays.

A program (`explorer.automata.program`) is easy to build. A `Dfa` is easy to run: it is a table of
states × symbol classes. Both are immutable.

`ByteMachine` is the protocol of everything that reads bytes: a `Dfa`, or a machine that discovers
its states while it runs.

A `Dfa` is partial: the entry −1 means that there is no arc. −1 is only ever compared, never
used as an index.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import LETTER, NUM_BYTES
from explorer.automata.program import Bool, Int32, Program
from explorer.jit import jit

NO_ARC: Final = -1
UNKNOWN: Final = -2
"""The entry of a cell that has not been computed."""

UInt8 = NDArray[np.uint8]
UInt32 = NDArray[np.uint32]
UInt64 = NDArray[np.uint64]

WalkArrays = tuple[Int32, UInt64, Int32, Int32, Int32, Int32, Int32, Int32, UInt64, UInt64]
"""A vocabulary and the buffers of a walk over it: see `explorer.automata.discovered.letters`."""


class WordTrie(Protocol):
    """The words of a vocabulary as a trie in arrays, with its nodes in depth-first order."""

    @property
    def byte(self) -> UInt8:
        """uint8[nodes] or wider, the symbol into each node."""
        ...

    @property
    def depth(self) -> Int32:
        """int32[nodes], the depth of each node, from 1."""
        ...

    @property
    def skip(self) -> Int32:
        """int32[nodes], the node after the last descendant of each."""
        ...

    @property
    def word(self) -> Int32:
        """int32[nodes], the word that ends in each node, or −1."""
        ...

    @property
    def first_id(self) -> Int32:
        """int32[words], the lowest id of each word."""
        ...

    @property
    def max_depth(self) -> int:
        """The number of symbols of the longest word."""
        ...


class WordWalk(Protocol):
    """A vocabulary and the buffers of its walks over one machine. Not thread-safe."""

    @property
    def plain(self) -> WordTrie:
        """The vocabulary as a trie over bytes."""
        ...

    @property
    def arrays(self) -> WalkArrays:
        """The arguments of the kernels of `explorer.automata.discovered.letters`: the vocabulary
        with its letters, and the buffers."""
        ...

    def anew(self) -> WordWalk:
        """The same vocabulary, for another machine."""
        ...

    def make_room(self, states: int) -> None:
        """Make room for the notes about this many states."""
        ...

    def set_letters(self, state: int, words: UInt32) -> None:
        """Set the bits of the words made of the letters that a state reads."""
        ...

    def set_from_rows(self, machine: ByteMachine, state: int, words: UInt32) -> None:
        """Set the bits of the words that can be read from a state, with rows of the machine."""
        ...


class Stacks(Protocol):
    """The stacks of a machine that follows the rules of a network."""

    @property
    def network(self) -> Network:
        """The rules."""
        ...

    def heads(self, state: int) -> tuple[tuple[int, int], ...]:
        """The heads of a state: pairs of a state of the network and a stack node."""
        ...

    def returns(self, node: int) -> tuple[tuple[int, int], ...]:
        """The states to which a stack node returns, each with the parent node."""
        ...

    def symbols(self, state: int) -> tuple[int, tuple[int, ...]] | None:
        """The state of the network and the return states, innermost first; ``None`` for a machine
        that follows several stacks."""
        ...


class ByteMachine(Protocol):
    """A deterministic machine that reads one byte at a time. States are ints from 0 on.

    Every state can finish: a text has a state if and only if it is a prefix of some word. A machine
    that discovers its states numbers each when it first meets it and keeps the number.

    A machine may also read the ends of tokens, symbols above the 256 bytes
    (`build_over_tokens` in `explorer.automata.tree.build`); its `symbol_class` is then longer.
    """

    @property
    def start(self) -> int:
        """The start state; `NO_ARC` where the language is empty."""
        ...

    @property
    def num_states(self) -> int:
        """The number of states known so far."""
        ...

    @property
    def symbol_class(self) -> Int32:
        """int32[256] or longer, the class of each symbol."""
        ...

    @property
    def table(self) -> Int32:
        """int32[rows, classes], the rows so far: a state, `NO_ARC`, or `UNKNOWN`. A state may be
        beyond the last row."""
        ...

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some word may hold."""
        ...

    @property
    def over_tokens(self) -> bool:
        """Whether it also reads the ends of tokens."""
        ...

    @property
    def reads_letters(self) -> bool:
        """Whether some word holds a control token."""
        ...

    @property
    def closed(self) -> Dfa | None:
        """The machine as a table of all states; ``None`` if it has no such table."""
        ...

    @property
    def stacks(self) -> Stacks | None:
        """The stacks of a machine that follows the rules of a grammar."""
        ...

    def step(self, state: int, byte: int) -> int:
        """The state after one more byte, or `NO_ARC`.

        Raises:
            BudgetExceeded: More was met than the budget allows, or it took too long.
        """
        ...

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end in a state; false of `NO_ARC`."""
        ...

    def expected(self, state: int) -> bytes:
        """The bytes that may come next, ascending; none from `NO_ARC`. Fills the row.

        Raises:
            BudgetExceeded: As for `step`.
        """
        ...

    def least(self, state: int) -> int | None:
        """A number of bytes that every ending has at least, of a machine with too many states to
        search without it: it remembers what a text says, so texts rarely lead to the same state.
        ``None`` for every other machine.
        """
        ...

    def wider(self, state: int) -> tuple[ByteMachine, int] | None:
        """A machine with few states, and one of them, that reads all that such a machine reads
        from a state, and perhaps more; ``None`` where `least` is.
        """
        ...

    def visit(self, trie: WordTrie, state: int) -> None:
        """Fill the cells of `table` that the words of a trie need from a state.

        Raises:
            BudgetExceeded: As for `step`.
        """
        ...

    def set_words(self, walk: WordWalk, state: int, words: UInt32) -> None:
        """Set the bits of the first ids of the words that can be read from a state.

        Args:
            walk: The vocabulary and its buffers; each machine needs its own.
            state: The state before the words.
            words: uint32[n], a packed mask.

        Raises:
            BudgetExceeded: As for `step`.
        """
        ...


Nfa = Program
"""A program without counters and calls: a nondeterministic automaton."""


class NetworkArrays(NamedTuple):
    """The automata of all rules; each state has at most one arc per class.

    Args:
        table: int32[states, classes], the state after a class or −1.
        first_call: int32[states + 1], where the calls of each state begin.
        begins: int32[calls], the entry of the rule that is called.
        after: int32[calls], the state after the call.
        exits, only_exits: bool[states], whether the rule may end, and whether it must.
        rule: int32[states], the rule of each state.
        reads: bool[states, classes], the classes that its rule may read next, also within calls.
        empty: bool[states], whether its rule may end without reading.
        follow: bool[rules, classes], the classes that may follow each rule.
    """

    table: Int32
    first_call: Int32
    begins: Int32
    after: Int32
    exits: Bool
    only_exits: Bool
    rule: Int32
    reads: Bool
    empty: Bool
    follow: Bool


@dataclass(frozen=True, eq=False)
class Network:
    """The automata of all rules; every state can be reached and can end its rule.

    A text begins in the first rule. Each state has at most one arc per class.

    Args:
        symbol_class: int32[256], the class of each byte.
        entry: The start state of each rule.
        arrays: The automata and their look-ahead.
    """

    symbol_class: Int32
    entry: tuple[int, ...]
    names: tuple[str, ...]
    arrays: NetworkArrays
    _arcs: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]], repr=False)

    @cached_property
    def calls(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The calls of each state: pairs ``(rule, state after it)``."""
        rules: list[int] = self.arrays.rule[self.arrays.begins].tolist()
        pairs = list(zip(rules, self.arrays.after.tolist(), strict=True))
        first: list[int] = self.arrays.first_call.tolist()
        return tuple(tuple(pairs[low:high]) for low, high in pairwise(first))

    @cached_property
    def exits(self) -> list[bool]:
        """Whether the rule may end, for each state."""
        return self.arrays.exits.tolist()

    @cached_property
    def only_exits(self) -> list[bool]:
        """Whether the rule must end, for each state."""
        return self.arrays.only_exits.tolist()

    @cached_property
    def rule(self) -> list[int]:
        """The number of the rule of each state."""
        return self.arrays.rule.tolist()

    @property
    def num_classes(self) -> int:
        """The number of classes of bytes."""
        return self.arrays.table.shape[1]

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some arc reads."""
        return (self.arrays.table != NO_ARC).any(axis=0)[self.symbol_class]

    def arcs(self, state: int) -> dict[int, int]:
        """The target of each arc of a state, by class."""
        row = self._arcs.get(state)
        if row is None:
            targets: list[int] = self.arrays.table[state].tolist()
            row = self._arcs[state] = {c: t for c, t in enumerate(targets) if t != NO_ARC}
        return row


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

    @property
    def read(self) -> Bool:
        """bool[256], the bytes that some arc reads."""
        used = (self.table != NO_ARC).any(axis=0)
        return np.zeros(NUM_BYTES, np.bool_) | used[self.symbol_class[:NUM_BYTES]]

    @property
    def over_tokens(self) -> bool:
        """Whether it also reads the ends of tokens."""
        return self.num_symbols > NUM_BYTES

    @property
    def reads_letters(self) -> bool:
        """Whether some word holds a control token."""
        return bool((self.table[:, self.symbol_class[LETTER]] != NO_ARC).any())

    @property
    def closed(self) -> Dfa:
        """The machine itself."""
        return self

    @property
    def stacks(self) -> None:
        """``None``: a table has no stack."""
        return

    def visit(self, trie: WordTrie, state: int) -> None:
        """Do nothing: every row is known."""

    def set_words(self, walk: WordWalk, state: int, words: UInt32) -> None:
        """Set the bits of the first ids of the words that can be read from a state."""
        walk.set_from_rows(self, state, words)

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

    def least(self, state: int) -> None:
        """``None``: its states can be searched."""
        return

    def wider(self, state: int) -> None:
        """``None``: its states can be searched."""
        return

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

    Code that needs all states calls this and must handle ``None``.

    Args:
        machine: A machine over bytes; ``None`` where every text is allowed.
    """
    return None if machine is None else machine.closed


class _OneWord(NamedTuple):
    """The trie of one word."""

    byte: UInt8
    depth: Int32
    skip: Int32
    word: Int32
    first_id: Int32
    max_depth: int


def _trie_of(word: UInt8) -> _OneWord:
    depth = np.arange(1, len(word) + 1, dtype=np.int32)
    ends = np.where(depth == len(word), 0, NO_ARC).astype(np.int32)
    return _OneWord(
        word, depth, np.full_like(depth, len(word)), ends, np.zeros(1, np.int32), len(word)
    )


@jit
def _run(table: Int32, symbol_class: Int32, data: UInt8, out: Int32, begin: int) -> int:
    """Write the states after some bytes; return the index of the first byte without a known row."""
    for k in range(begin, data.shape[0]):
        state = out[k]
        if state >= 0:
            state = table[state, symbol_class[data[k]]] if state < table.shape[0] else UNKNOWN
            if state == UNKNOWN:
                return k
        out[k + 1] = state
    return data.shape[0]


def run(machine: ByteMachine, state: int, data: bytes) -> Int32:
    """The byte states along some bytes.

    Args:
        state: The state to begin in; from `NO_ARC` every state is `NO_ARC`.
        data: The bytes to read.

    Returns:
        int32[len(data) + 1], the first being ``state``; `NO_ARC` from the first failure on.

    Example:
        >>> from explorer.languages.constraint import regex
        >>> run(regex("ab").dfa, 0, b"ax").tolist()
        [0, 1, -1]
    """
    out = np.empty(len(data) + 1, np.int32)
    out[0] = state
    symbols, at = np.frombuffer(data, np.uint8), 0
    while (at := _run(machine.table, machine.symbol_class, symbols, out, at)) < len(data):
        machine.visit(_trie_of(symbols[at:]), int(out[at]))
    return out
