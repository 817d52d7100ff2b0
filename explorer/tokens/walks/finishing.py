"""Which byte states a vocabulary can finish, and with how few tokens: decided one state at a time.

A token may be chosen only if the text can be completed after it *with this vocabulary*. A closed
machine knows that of every state at once; here it is found out for the states that are asked
about. Where every byte that the machine reads on some way to the end is a token of its own, the
state can be finished, so with the usual vocabulary, which has all bytes, everything is certain at
once. Of a machine with a stack the rest is worked out for its rules
(`explorer.tokens.saturation`). Of any other it is decided by following whole tokens: the search
stops at the first state that is known to finish, and then all states on the way are known; where
nothing new can be reached, none of the states that were met can finish. Each state's row is walked
once at most.

The fewest tokens to the end come from the same saturation, or from a search by breadth over the
same rows. It gives up after `MOST_ROWS` rows, so that no question takes long; the distance is then
not known.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from explorer.alphabet import NUM_BYTES, NUM_TOKEN_SYMBOLS, TOKEN_END
from explorer.automata.construction.reaching import by_target, steps_from
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Dfa, Int32
from explorer.automata.tree.build import is_over_tokens
from explorer.budget import Meter
from explorer.jit import jit
from explorer.memo import memo
from explorer.tokens.saturation.ends import StackEnds
from explorer.tokens.walks.arrays import arrays_from
from explorer.tokens.walks.trie import Trie, UInt8
from explorer.tokens.walks.written import boundaries

STAGE: Final = "The search for an end"

MOST_ROWS: Final = 512
"""How many rows the search for a distance looks at before it gives up."""


@jit
def _targets(
    byte: UInt8, depth: Int32, skip: Int32, word: Int32, symbol_class: Int32, table: Int32,
    state: int, max_depth: int,
) -> Int32:  # fmt: skip
    """The distinct states in which a word that can be read from a state ends."""
    stack = np.zeros(max_depth + 1, np.int32)
    stack[0] = state
    met = np.zeros(table.shape[0], np.bool_)
    count = 0
    node = 0
    while node < byte.shape[0]:
        target = table[stack[depth[node] - 1], symbol_class[byte[node]]]
        if target < 0:
            node = skip[node]
            continue
        stack[depth[node]] = target
        if word[node] >= 0 and not met[target]:
            met[target] = True
            count += 1
        node += 1
    result = np.empty(count, np.int32)
    count = 0
    for s in range(table.shape[0]):
        if met[s]:
            result[count] = s
            count += 1
    return result


@jit
def _finish_by_bytes(symbol_class: Int32, table: Int32, accepting: Bool, at_hand: Bool) -> Bool:
    """The states from which single bytes of those at hand lead to an accepting state."""
    states, classes = table.shape
    usable = np.zeros(classes, np.bool_)
    for b in range(at_hand.shape[0]):
        usable[symbol_class[b]] |= at_hand[b]
    offset, source = by_target(table, np.ones(int(states), np.bool_), usable)
    return steps_from(offset, source, accepting) > 0


@memo
def single_bytes(trie: Trie) -> Bool:
    """Which bytes are tokens of their own: bool[256]."""
    at_hand = np.zeros(NUM_TOKEN_SYMBOLS, np.bool_)
    ends = trie.word >= 0
    # In a trie with the ends of tokens, the word stands below the byte.
    below = np.append(trie.byte[1:], 0) == TOKEN_END
    at_hand[trie.byte[(trie.depth == 1) & (ends | below)]] = True
    return at_hand[:NUM_BYTES]


def _finish_by_single_tokens(machine: Dfa, at_hand: Bool) -> Bool:
    """The states of a machine over token ends from which tokens of one byte lead to an end."""
    columns = np.unique(machine.symbol_class[:NUM_BYTES][at_hand])
    read = machine.table[:, columns]
    ends = np.append(machine.table[:, machine.symbol_class[TOKEN_END]], NO_ARC)
    after = ends[read]  # −1 is the last entry, which leads nowhere.
    finishes = np.append(machine.accepting, False)
    while True:
        more = finishes[:-1] | finishes[after].any(axis=1)
        if (more == finishes[:-1]).all():
            return more
        finishes[:-1] = more


def words_from(machine: ByteMachine, trie: Trie, state: int) -> tuple[Int32, Int32]:
    """The words of a vocabulary that a byte machine can read from a state, and where they lead.

    The plain walk of the trie over any byte machine; a `Dfa` has faster ones.

    Returns:
        int32[n] words, ascending, and int32[n] states.
    """
    stack = [state] * (trie.max_depth + 1)
    words: list[int] = []
    targets: list[int] = []
    node, nodes = 0, len(trie.byte)
    while node < nodes:
        depth = int(trie.depth[node])
        target = machine.step(stack[depth - 1], int(trie.byte[node]))
        if target == NO_ARC:
            node = int(trie.skip[node])
            continue
        stack[depth] = target
        if trie.word[node] >= 0:
            words.append(int(trie.word[node]))
            targets.append(target)
        node += 1
    return np.array(words, np.int32), np.array(targets, np.int32)


class Finishing:
    """The states of a byte machine that a vocabulary can finish. Not thread-safe: its owner holds a
    lock.

    Args:
        machine: The byte machine.
        trie: The vocabulary.

    Example:
        >>> from explorer import Vocabulary, regex
        >>> from explorer.budget import Meter
        >>> from explorer.tokens.walks.trie import trie_of
        >>> vocab = Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> dfa = regex("a*d|b").dfa  # nothing here writes d
        >>> finishing = Finishing(dfa, trie_of(vocab))
        >>> [finishing.can_finish(dfa.step(0, b), Meter()) for b in b"ab"]
        [False, True]
    """

    def __init__(self, machine: ByteMachine, trie: Trie) -> None:
        self._machine = machine
        self._trie = trie
        at_hand = single_bytes(trie)
        # Every state of a byte machine can finish, so with all bytes at hand there is no question.
        # Where the ends of tokens count, single bytes may be too short to be the tokens wanted.
        over_tokens = is_over_tokens(machine)
        self.all_finish = bool(at_hand.all()) and not over_tokens
        if not self.all_finish and not over_tokens and machine.closed is None:
            self.all_finish = bool(at_hand[machine.read].all())
        self._certain: Bool | None = None
        self._all_bytes = bool(at_hand.all())
        dfa = machine.closed
        if dfa is not None and over_tokens:
            self._certain = _finish_by_single_tokens(dfa, at_hand)
            self.all_finish = bool(self._certain[boundaries(dfa)].all())
        elif not self.all_finish and dfa is not None:
            self._certain = _finish_by_bytes(dfa.symbol_class, dfa.table, dfa.accepting, at_hand)
            self.all_finish = bool(self._certain.all())
        self._stacks = None if over_tokens else machine.stacks
        self._stack_ends: StackEnds | None = None
        self._known: dict[int, bool] = {}
        self._targets: dict[int, tuple[int, ...]] = {}
        self._distance: dict[int, int | None] = {}
        self._held = 0

    def targets(self, state: int, meter: Meter) -> tuple[int, ...]:
        """The distinct byte states to which single tokens lead, ascending."""
        known = self._targets.get(state)
        if known is None:
            machine, trie = self._machine, self._trie
            if (arrays := arrays_from(machine, trie, state)) is not None:
                found = _targets(
                    trie.byte, trie.depth, trie.skip, trie.word, *arrays, state, trie.max_depth
                )
                known = tuple(found.tolist())
            else:
                known = tuple(sorted(set(words_from(machine, trie, state)[1].tolist())))
            self._held += 16 * (len(known) + 8)
            meter.check(STAGE, states=len(self._targets), bytes=self._held)
            self._targets[state] = known
        return known

    def can_finish(self, state: int, meter: Meter) -> bool:
        """Whether some sequence of tokens leads from a byte state to an accepting one.

        Args:
            state: A state of the machine.
            meter: Watches the search.

        Raises:
            BudgetExceeded: The search reached a limit before it found out.
        """
        if self.all_finish:
            return True
        known = self._decided(state)
        if known is None and (ends := self._ends()) is not None:
            known = self._known[state] = ends.can_end(state, meter)
        return self._search(state, meter) if known is None else known

    def _ends(self) -> StackEnds | None:
        if self._stack_ends is None and self._stacks is not None:
            self._stack_ends = StackEnds(self._stacks, self._trie, single_bytes(self._trie))
        return self._stack_ends

    def most(self, state: int, meter: Meter) -> int | None:
        """The fewest tokens of one byte from a byte state to the end of the text, EOS included.

        Args:
            state: A state of the machine.
            meter: Watches the search.

        Returns:
            More than `distance`, or as many; ``None`` where it is not known.
        """
        ends = self._ends()
        return None if ends is None else ends.most(state, meter)

    def _decided(self, state: int) -> bool | None:
        if self._certain is not None and self._certain[state]:
            return True
        known = self._known.get(state)
        if known is not None or self._machine.is_accepting(state):
            return True if known is None else known
        if self._all_bytes and self._machine.finishes_by_bytes(state):
            self._known[state] = True
            return True
        return None

    def _search(self, state: int, meter: Meter) -> bool:
        came_from: dict[int, list[int]] = {state: []}
        queue = deque([state])
        end: int | None = None
        while queue and end is None:
            here = queue.popleft()
            for target in self.targets(here, meter):
                decided = self._decided(target)
                if decided is False:
                    continue
                if target not in came_from:
                    came_from[target] = []
                    queue.append(target)
                came_from[target].append(here)
                if decided:
                    end = target
                    break
        if end is None:
            self._known.update(dict.fromkeys(came_from, False))
            return False
        # Everything on a way to that end can finish too.
        stack = [end]
        while stack:
            here = stack.pop()
            if self._known.get(here) is not True:
                self._known[here] = True
                stack += came_from[here]
        return True

    def knows_distances(self, start: int, meter: Meter) -> bool:
        """Whether `distance` is known of every state that can be finished.

        Args:
            start: The start of the machine.
            meter: Watches the time.
        """
        return self._stacks is not None and self.distance(start, meter) is not None

    def distance(self, state: int, meter: Meter) -> int | None:
        """The fewest tokens from a byte state to the end of the text, EOS included.

        Returns:
            1 in an accepting state; ``None`` where there is no way, where more than `MOST_ROWS`
            rows would have to be looked at, or where a grammar is too large for its saturation.

        Raises:
            BudgetExceeded: The search reached a limit.
        """
        if state not in self._distance and (ends := self._ends()) is not None:
            self._distance[state] = ends.distance(state, meter)
        if state not in self._distance:
            way = self._shortest_way(state, meter)
            if way is None:
                self._distance[state] = None
            else:  # What is left of a shortest way is a shortest way.
                for left, here in enumerate(reversed(way), 1):
                    self._distance[here] = left
        return self._distance[state]

    def _shortest_way(self, state: int, meter: Meter) -> list[int] | None:
        came_from = {state: NO_ARC}
        queue = deque([state])
        for _ in range(MOST_ROWS):
            if not queue:
                return None
            here = queue.popleft()
            if self._machine.is_accepting(here):
                way = [here]
                while (here := came_from[here]) != NO_ARC:
                    way.append(here)
                return way[::-1]
            for target in self.targets(here, meter):
                if target not in came_from:
                    came_from[target] = here
                    queue.append(target)
        return None
