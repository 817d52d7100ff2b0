"""The byte states that a vocabulary can finish, with the fewest tokens, decided on demand.

A token may be chosen only if the text can be completed after it *with this vocabulary*. A closed
machine knows that of every state at once; here it is decided for single states. Where every byte
that the machine reads on some way to the end is a token of its own, the state can be finished; the
usual vocabulary has all bytes, so every state can. The rules of a machine with a stack are
saturated (`explorer.tokens.saturation`). For any other machine whole tokens are followed: the
search stops at the first state that is known to finish; if it is exhausted, none of the states
that it met can finish. Each state's row is walked once at most.

The fewest tokens to the end come from the same saturation, or from the same search, which gives up
after `MOST_ROWS` rows or `MOST_SECONDS`; the distance is then not known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Final

import numpy as np

from explorer.alphabet import LETTER, NUM_BYTES, TOKEN_END
from explorer.automata.construction.minimize import by_target, steps_from
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Dfa
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.memo import Recent
from explorer.tokens.walks.trie import Trie, single_bytes
from explorer.tokens.walks.walk import walk_trie

if TYPE_CHECKING:
    from explorer.tokens.saturation.ends import StackEnds

STAGE: Final = "The search for an end"

MOST_ROWS: Final = 512
"""The number of rows that the search for a distance visits before it gives up."""

MOST_SECONDS: Final = 10.0
"""The seconds after which it gives up too: of two grammars together a single row may take long."""


def _finish_by_single_bytes(machine: Dfa, at_hand: Bool) -> tuple[Bool, Bool]:
    """The states in which a token can begin, and those from which one-byte tokens lead to the
    end of the text: bool[num_states] each.
    """
    read = machine.table[:, np.unique(machine.symbol_class[:NUM_BYTES][at_hand])]
    begins = np.ones(machine.num_states, np.bool_)
    if machine.over_tokens:
        ends = np.append(machine.table[:, machine.symbol_class[TOKEN_END]], NO_ARC)
        read = ends[read]  # −1 is the last entry, which leads nowhere.
        begins[:] = False
        begins[[machine.start, *ends[ends != NO_ARC]]] = True
    every = np.ones(max(read.shape), np.bool_)
    read = np.ascontiguousarray(read)
    offset, source = by_target(read, every[: read.shape[0]], every[: read.shape[1]])
    return begins, steps_from(offset, source, machine.accepting) > 0


class Finishing:
    """The states of a byte machine that a vocabulary can finish; thread-safe.

    Args:
        machine: The byte machine.
        letters_stand: Whether the vocabulary has each control token that the machine asks for
            (`Source.letters_stand`), so that letters need not be looked for.

    Example:
        >>> from explorer import Vocabulary, regex
        >>> from explorer.budget import Meter
        >>> from explorer.tokens.walks.trie import trie_of
        >>> vocab = Vocabulary.from_bytes([b"a", b"b"], eos_ids=[2])
        >>> dfa = regex("a*d|b").dfa  # nothing here writes d
        >>> finishing = Finishing(dfa, trie_of(vocab, None))
        >>> [finishing.can_finish(dfa.step(0, b), Meter()) for b in b"ab"]
        [False, True]
    """

    def __init__(self, machine: ByteMachine, trie: Trie, letters_stand: bool = False) -> None:
        self._machine, self._trie = machine, trie
        at_hand = single_bytes(trie)
        if letters_stand and machine.reads_letters:
            at_hand = at_hand.copy()
            at_hand[LETTER:] = True
        # Every state of a byte machine can finish, so with all bytes at hand the answer is yes.
        # Where the ends of tokens count, one-byte tokens may be shorter than the tokens required.
        over_tokens = machine.over_tokens
        self.all_finish = not over_tokens and bool(at_hand.all() or at_hand[machine.read].all())
        self._certain: Bool | None = None
        if not self.all_finish and machine.closed is not None:
            begins, self._certain = _finish_by_single_bytes(machine.closed, at_hand)
            self.all_finish = bool(self._certain[begins].all())
        self._stacks = None if over_tokens else machine.stacks
        self._stack_ends: StackEnds | None = None
        self._known: dict[int, bool] = {}
        self._targets: dict[int, tuple[int, ...]] = {}
        self._distance: dict[int, int | None] = {}
        self._held = 0
        self._lock = RLock()

    def targets(self, state: int, meter: Meter) -> tuple[int, ...]:
        """The distinct byte states to which single tokens lead, ascending."""
        with self._lock:
            known = self._targets.get(state)
            if known is None:
                known = tuple(walk_trie(self._machine, self._trie, state).distinct().tolist())
                self._held += 16 * (len(known) + 8)
                meter.check(STAGE, states=len(self._targets), bytes=self._held)
                self._targets[state] = known
            return known

    def can_finish(self, state: int, meter: Meter) -> bool:
        """Whether some sequence of tokens leads from a byte state to an accepting one.

        Raises:
            BudgetExceeded: The search reached a limit.
        """
        if self.all_finish:
            return True
        with self._lock:
            known = self._decided(state)
            if known is None and (ends := self._ends()) is not None:
                known = self._known[state] = ends.can_end(state, meter)
            if known is None:
                way, met = self._shortest_way(state, self._decided, meter)
                known = way is not None
                self._known.update(dict.fromkeys(met if way is None else way, known))
            return known

    def knows_distances(self, start: int, meter: Meter) -> bool:
        """Whether `distance` is known for every state reachable from a start."""
        return self._stacks is not None and self.distance(start, meter) is not None

    def distance(self, state: int, meter: Meter) -> int | None:
        """The fewest tokens from a byte state to the end of the text, EOS included.

        Returns:
            1 in an accepting state; ``None`` where there is no way, where the search for one
            reached a limit, or where a grammar is too large for its saturation.

        Raises:
            BudgetExceeded: The saturation of a grammar reached a limit.
        """
        with self._lock:
            if state not in self._distance and (ends := self._ends()) is not None:
                self._distance[state] = ends.distance(state, meter)
            if state not in self._distance:
                accepts = self._machine.is_accepting
                rows = MOST_ROWS if self._machine.least(state) is None else 0
                limits = replace(meter.budget, seconds=min(MOST_SECONDS, meter.budget.seconds))
                way = None
                with suppress(BudgetExceeded):
                    way, _ = self._shortest_way(
                        state, lambda s: accepts(s) or None, Meter(limits), rows
                    )
                if way is None:
                    self._distance[state] = None
                # The rest of a shortest way is a shortest way.
                for left, here in enumerate(reversed(way or ()), 1):
                    self._distance[here] = left
            return self._distance[state]

    def _ends(self) -> StackEnds | None:
        if self._stack_ends is None and self._stacks is not None:
            from explorer.tokens.saturation.ends import StackEnds  # Only grammars need it.

            self._stack_ends = StackEnds(self._stacks, self._trie, single_bytes(self._trie))
        return self._stack_ends

    def _decided(self, state: int) -> bool | None:
        """Whether a state can be finished, if that is known without a search; else ``None``."""
        if self._certain is not None and self._certain[state]:
            return True
        known = self._known.get(state)
        if known is None and self._machine.is_accepting(state):
            known = self._known[state] = True
        return known

    def _shortest_way(
        self,
        state: int,
        is_end: Callable[[int], bool | None],
        meter: Meter,
        most_rows: int | None = None,
    ) -> tuple[list[int] | None, dict[int, int]]:
        """The states on a shortest way by whole tokens to an end, or ``None``; and all states that
        were met. A state for which ``is_end`` is false is not entered."""
        came_from = {state: NO_ARC}
        queue = deque([state])
        end = state if is_end(state) else None
        rows = 0
        while queue and end is None and rows != most_rows:
            here = queue.popleft()
            rows += 1
            for target in self.targets(here, meter):
                if target in came_from or (ends := is_end(target)) is False:
                    continue
                came_from[target] = here
                queue.append(target)
                if ends:
                    end = target
                    break
        if end is None:
            return None, came_from
        way = [end]
        while (before := came_from[way[-1]]) != NO_ARC:
            way.append(before)
        return way[::-1], came_from


_known = Recent[tuple[int, int, bool], Finishing](most=0)


def finishing_of(machine: ByteMachine, trie: Trie, letters_stand: bool = False) -> Finishing:
    """The `Finishing` of a byte machine and a vocabulary, shared as long as anybody holds it, so
    that explanations reuse the results of the token machine.
    """
    # It holds the machine and the trie, so their ids are not reused meanwhile.
    key = id(machine), id(trie), letters_stand
    return _known.get(key, lambda: Finishing(machine, trie, letters_stand))
