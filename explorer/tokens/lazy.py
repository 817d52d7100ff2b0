"""A token machine that computes its rows as they are visited.

The closed form composes the whole vocabulary with the whole character FSA before the first token.
Where that is too large, or only a few states will ever be visited, a single row can be computed by
one walk of the token trie from the byte state. The masks are the same, entry by entry, and so are
the steps; features that need all rows at once (token classes over all states, a state graph) are
not available.

A state is numbered when it is first met, the start 0; `byte_state` gives the state of the byte
machine that it stands for. The byte machine may discover its own states too
(`explorer.automata.discovered`); a person is then shown its closed form, if that is small. Two
processes that take the same tokens in the same order give the same numbers, and a machine that is
sent to another process takes its numbers along.

Cost at 131,072 tokens: a row costs as many steps as there are trie nodes that the state can read,
microseconds where few tokens survive and up to a millisecond where nearly all do; the masks of
visited states are kept, 64 MB of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from explorer.arguments import whole_number
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.budget import Budget, Meter
from explorer.errors import BudgetExceeded, NotATable
from explorer.languages.constraint import Constraint
from explorer.memo import Kept
from explorer.tokens.numbered_places import NumberedPlaces
from explorer.tokens.report import Report
from explorer.tokens.walks.finishing import finishing_of
from explorer.tokens.walks.lettered import walked
from explorer.tokens.walks.trie import Trie, after_token, trie_for, written
from explorer.tokens.walks.walk import walk_trie
from explorer.tokens.words import SENTINEL_DISTANCE, UInt32, checked_state, has_bits, set_bits
from explorer.vocabulary import Vocabulary

SHOWN: Final = Budget(states=20_000, arcs=2_000_000, bytes=200_000_000, seconds=2.0)
"""Limits of the closed form that is shown for a machine whose states are discovered."""

TABLE_ONLY: Final = frozenset(
    {
        "table", "token_class", "char_state", "accepting", "distance", "stuck", "num_classes",
        "nbytes", "class_row", "walk", "tokens_of_class", "lost", "to", "save", "load",
        "sets", "of_constraint",
    }
)  # fmt: skip
"""The names of `explorer.TokenDFA` that a machine without a table does not have."""

_SIZES: Final = ("states", "arcs", "bytes", "seconds")


def _set_further(trie: Trie, words: UInt32) -> None:
    """Copy the bit of each word's first id to the other ids with the same bytes."""
    if len(trie.further_id):
        allowed = has_bits(words, trie.first_id[trie.further_word])
        set_bits(words, trie.further_id[allowed])


class LazyMachine(NumberedPlaces[int]):
    """The token machine of a constraint, row by row; thread-safe.

    Made by ``explorer.compile(constraint, vocabulary, lazy=True)``.

    Args:
        constraint: The language.
        vocabulary: The tokens.
        byte_machine: The machine over bytes; its language is not empty.
        report: Times and sizes of the compilation.
        budget: Limits for each search, such as the one for an end of the text.
        byte_states: States of ``byte_machine`` by the numbers given to them, the start first.
        came_by: For each of those but the start, a preceding state and the token from there.

    Example:
        >>> import explorer
        >>> toy = [b"f", b"oo", b"foo", b"for", b"food"]
        >>> vocab = explorer.Vocabulary.from_bytes(toy, eos_ids=[5])
        >>> machine = explorer.compile(explorer.regex("(foo)+d"), vocab, lazy=True)
        >>> [vocab.tokens[i] for i in machine.allowed(machine.start).nonzero()[0]]
        [b'f', b'foo', b'food']
        >>> machine.step(machine.step(machine.start, 4), 5) == explorer.DONE
        True
        >>> machine.num_states  # the start, and after "food"
        2
    """

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        byte_machine: ByteMachine,
        report: Report,
        budget: Budget,
        byte_states: tuple[int, ...] = (),
        came_by: tuple[tuple[int, int], ...] = (),
    ) -> None:
        super().__init__(vocabulary, byte_states or (byte_machine.start,))
        self._constraint = constraint
        self._walked = byte_machine
        self._report = report
        self._budget = budget
        self._trie = trie_for(vocabulary, byte_machine)
        self._letters_stand = constraint.source.letters_stand
        self._finishing = finishing_of(byte_machine, self._trie, self._letters_stand)
        self._over_tokens = byte_machine.over_tokens
        self._beyond_bytes = self._over_tokens or byte_machine.reads_letters
        self._words = walked(self._trie, plain=not self._over_tokens)
        self._came_by = list(came_by)
        self._within: Kept[tuple[int, int], UInt32] = Kept()
        self._distances_after: Kept[int, dict[int, int]] = Kept()
        # The small closed form that a person is shown; see `byte_machine`.
        self._shown: ByteMachine | None = None
        self._shown_states: list[int] = []
        self._shown_finishing = self._finishing

    @property
    def constraint(self) -> Constraint:
        """The language, with its source."""
        return self._constraint

    @property
    def report(self) -> Report:
        """Times and sizes of the compilation; the kind is ``"lazy"``."""
        return self._report

    @property
    def byte_machine(self) -> ByteMachine:
        """The machine over bytes that this one follows, in the form that a person is shown.

        Where the states are discovered, that is the minimal closed form if it is small (`SHOWN`),
        built when it is first asked for; two states may then stand for one state of it.
        """
        if self._shown is None:
            with self._lock:
                self._shown = self._as_shown()
        return self._shown

    def _as_shown(self) -> ByteMachine:
        walked = self._walked
        if walked.closed is not None:
            return walked
        sizes = {name: min(getattr(self._budget, name), getattr(SHOWN, name)) for name in _SIZES}
        try:
            shown = self._constraint.for_tokens(Meter(Budget(**sizes)))
        except BudgetExceeded:
            return walked
        self._shown_states = [shown.start]
        self._shown_finishing = finishing_of(shown, self._trie, self._letters_stand)
        return shown

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine` that a state stands for; `NO_ARC` for a sentinel."""
        state = checked_state(state, len(self._places))
        if state < 0:
            return NO_ARC
        machine = self.byte_machine
        if machine is self._walked:
            return self._places[state]
        with self._lock:
            known = self._shown_states
            for before, token in self._came_by[len(known) - 1 : state]:
                here = known[before]
                for symbol in written(self._vocabulary, machine, token):
                    here = machine.step(here, symbol)
                known.append(here)
            return known[state]

    def can_finish(self, byte_state: int) -> bool:
        """Whether this vocabulary can finish from a state of `byte_machine`.

        Raises:
            ExplorerError: There is no such state.
            BudgetExceeded: The search reached a limit.
        """
        byte_state = whole_number("byte_state", byte_state, 0, self.byte_machine.num_states - 1)
        return self._shown_finishing.can_finish(byte_state, Meter(self._budget))

    def can_write(self) -> bool:
        """Whether this vocabulary can write any word at all.

        Raises:
            BudgetExceeded: The search reached a limit.
        """
        return self._finishing.can_finish(self._walked.start, Meter(self._budget))

    def distance_to_end(self, state: int) -> int | None:
        """The fewest tokens to the end of the text, EOS included, where it is known.

        Computed when it is first asked for, and exact: by saturation for a grammar
        (`explorer.tokens.saturation`), else by a search over rows. ``None`` from `DEAD`, where the
        search would visit more than `explorer.tokens.walks.finishing.MOST_ROWS` rows, and where a
        grammar is too large.

        Raises:
            ExplorerError: There is no such state.
            BudgetExceeded: The search reached a limit.
        """
        state = checked_state(state, len(self._places))
        if state < 0:
            return SENTINEL_DISTANCE[state]
        return self._finishing.distance(self._places[state], Meter(self._budget))

    @property
    def knows_distances(self) -> bool:
        """Whether `distance_to_end` is known in every state, so that a token budget can be planned:
        for a grammar that is not too large."""
        return self._finishing.knows_distances(self._walked.start, Meter(self._budget))

    def mask_within(self, state: int, remaining: int) -> UInt32:
        """The mask of the tokens after which the text can still be ended in time.

        Args:
            state: A state or a sentinel.
            remaining: The number of tokens that may still be written, EOS included.

        Returns:
            As `mask`, read-only; where the budget removes nothing, the same object.

        Raises:
            ExplorerError: There is no such state, or ``remaining`` is not a whole number.
            BudgetExceeded: It took too long.
        """
        state = checked_state(state, len(self._places))
        remaining = whole_number("remaining", remaining, None)
        whole = self.mask(state)
        if state < 0:
            return whole
        with self._lock:
            place, meter = self._places[state], Meter(self._budget)
            needed = self._needed_after(state, place, meter)
            if remaining >= max(needed.values(), default=0) + 1 and remaining > 0:
                return whole
            words = self._within.get((state, remaining))
            if words is None:
                words = np.zeros_like(whole)
                fits = [target for target, most in needed.items() if most < remaining]
                seen = walk_trie(self._walked, self._trie, place)
                set_bits(words, self._trie.first_id[seen.leading_to(np.array(fits, np.int32))])
                _set_further(self._trie, words)
                if remaining > 0 and self._is_end(place):
                    set_bits(words, np.array(self._vocabulary.eos_ids, np.int32))
                words.setflags(write=False)
                self._within.put((state, remaining), words, words.nbytes)
            return words

    def _needed_after(self, state: int, place: int, meter: Meter) -> dict[int, int]:
        """The distance to the end from each byte state that one token reaches from a place."""
        known = self._distances_after.get(state)
        if known is None:
            finishing = self._finishing
            known = {
                target: distance
                for target in finishing.targets(place, meter)
                if (distance := finishing.distance(target, meter)) is not None
            }
            self._distances_after.put(state, known, 100 * len(known) + 100)
        return known

    def _after(self, place: int, token: int) -> int | None:
        if self._beyond_bytes:
            symbols = written(self._vocabulary, self._walked, token)
        else:
            symbols = self._vocabulary.tokens[token] or b""
        here = after_token(self._walked, place, symbols)
        return None if here == NO_ARC else here

    def _can_finish(self, place: int) -> bool:
        finishing = self._finishing
        return finishing.all_finish or finishing.can_finish(place, Meter(self._budget))

    def _is_end(self, place: int) -> bool:
        return self._walked.is_accepting(place)

    def _meet(self, number: int, before: int, token: int) -> None:
        del self._came_by[number - 1 :]  # The start has no entry.
        self._came_by.append((before, token))

    def _set_tokens(self, place: int, words: UInt32) -> None:
        trie, finishing = self._trie, self._finishing
        if finishing.all_finish:
            self._walked.set_words(self._words, place, words)
        else:
            seen, meter = walk_trie(self._walked, trie, place), Meter(self._budget)
            targets: list[int] = seen.distinct().tolist()
            able = [target for target in targets if finishing.can_finish(target, meter)]
            set_bits(words, trie.first_id[seen.leading_to(np.array(able, np.int32))])
        _set_further(trie, words)

    def with_reason(self, reason: str) -> LazyMachine:
        """The same machine at its start, with the reason why it is lazy in its report.

        Args:
            reason: A sentence.

        Example:
            >>> import explorer
            >>> vocab = explorer.Vocabulary.from_bytes([b"a"], eos_ids=[1])
            >>> lazy = explorer.compile(explorer.regex("a+"), vocab, lazy=True)
            >>> lazy.with_reason("A table was over the budget.").report.reason
            'A table was over the budget.'
        """
        report = replace(self._report, reason=reason)
        return LazyMachine(self._constraint, self._vocabulary, self._walked, report, self._budget)

    if not TYPE_CHECKING:  # A type checker knows what is there.

        def __getattr__(self, name: str) -> object:
            if name not in TABLE_ONLY:
                raise AttributeError(f"'LazyMachine' object has no attribute {name!r}")
            reason, larger = self._report.reason, "lazy=False"
            if reason:
                reason, larger = f" It was not made a table: {reason}", "a larger budget"
            raise NotATable(
                f"This machine is lazy: it works its states out as they are visited, so it has no "
                f"{name!r}, which needs all of them.{reason}",
                remedy=f"Compile with {larger} for a table, or ask for one state at a time, such "
                "as distance_to_end(state). explorer.tokens.machine.table_of(machine) tells "
                "whether a machine is a table.",
                evidence={"name": name, "reason": self._report.reason},
            )

    def __reduce__(self) -> tuple[object, ...]:
        return LazyMachine, (
            self._constraint,
            self._vocabulary,
            self._walked,
            self._report,
            self._budget,
            tuple(self._places),
            tuple(self._came_by),
        )

    def __repr__(self) -> str:
        return (
            f"LazyMachine({self._constraint!r}, {self.num_states} states met, "
            f"{len(self._vocabulary):,} tokens)"
        )
