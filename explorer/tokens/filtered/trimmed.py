"""Filters that can leave dead ends, and the search for a way to the end behind them.

A filter can leave dead ends that the machine before it does not have: after ``Ber`` of the choice
"Berlin" only ``lin`` is left, and the tokenizer never writes the two in sequence. So a token is
allowed only after a way to the end is found, by a search that tries the nearest states first. Every
state on such a way can finish; where the search is exhausted, none of the states that it met can.
Both results are kept.

A control token writes no text: a tokenizer cuts a text there before it does anything else, and
writes the parts each on its own. So a control token may come where the text might end, and the text
begins anew after it.

The last token is part of a state, so a wide row has as many targets as tokens. They are decided
together: a way from one of them serves all targets whose last token its first token may follow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.memo import Kept
from explorer.tokens.filtered.reading import Int64, distinct
from explorer.tokens.filtered.token_filter import FilteredRows, TokenFilter
from explorer.tokens.machine import TokenMachine, planner_of, table_of
from explorer.tokens.words import UInt32, num_words, set_bits
from explorer.vocabulary.canonical.marked import Int32
from explorer.vocabulary.canonical.merges import Bool

STAGE: Final = "The search for a canonical end"

NO_TOKEN: Final = -1
"""The last token before the first one."""

_END: Final = -1
_UNKNOWN: Final = -2
_FIRST_CHUNK: Final = 16
_MOST_USUAL: Final = 3
_FAR: Final = 1 << 30
_DEEPEST: Final = 200
"""The search in a grammar gives up this many tokens beyond four times the unfiltered distance."""

Group = tuple[tuple[int, ...], int]
"""The part of a target that tokens of a row share: the places, and the state of the guard."""


@dataclass(frozen=True, slots=True)
class WrittenSoFar:
    """The part of the history of tokens that decides which may follow.

    Args:
        last: The part within the present word: the last token, or, where pieces look ahead, the
            number of the model's state; `NO_TOKEN` at the start.
        places: States of the marked text, ascending; for a rule, its one state.
        guard: The state of the text's normal form and of the search for added tokens
            (`explorer.tokens.filtered.neighbours.Guard`); 0 without either.
    """

    last: int
    places: tuple[int, ...]
    guard: int = 0


START: Final = WrittenSoFar(NO_TOKEN, (0,))

Place = tuple[int, WrittenSoFar]
"""A state of the machine before the filter, and the filter's knowledge."""


class TrimmedFilter(TokenFilter[WrittenSoFar]):
    """A filter behind which dead ends are trimmed.

    Attributes:
        reach: The number of tokens at the beginning of a known way to the end that must be checked
            again after another last token.
        usable: bool[ids], the tokens that the filter can allow at all.
        lengths: int64[ids], in bytes.
    """

    start = START
    reach: int = 1
    usable: Bool
    lengths: Int64

    def rows(self, machine: TokenMachine) -> FilteredRows[WrittenSoFar]:
        """The rows of a machine, with dead ends trimmed."""
        return TrimmedRows(machine, self)

    @abstractmethod
    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The groups that tokens lead to: the states after them without the last token.

        Args:
            tokens: int32[n], ids.

        Returns:
            The groups; and int64[n], the group of each token, -1 where the filter refuses it.
        """

    @abstractmethod
    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""

    def after(self, known: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the filter refuses it."""
        groups, group_of = self.following(known, np.array([token], np.int32))
        return None if group_of[0] < 0 else self.state(known, token, groups[int(group_of[0])])

    def after_control(self, known: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The start of a text, after a control token where the text before it may end."""
        return self.start if self.may_end(known) else None

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """The tokens after which a known way to the end stays valid.

        Args:
            tokens: int32[n], tokens of one group.
            here: The state after the one that the way follows.
            way: The tokens of the way, at most `reach` of them.

        Returns:
            bool[n]; false also where it is not known. All true where a group is one state.
        """
        return np.ones(len(tokens), np.bool_)


class NeighbourFilter(TrimmedFilter):
    """A filter whose last token matters only by the tokens that it refuses within a word.

    So one row serves all last tokens, in two parts: the tokens that may continue the present word
    or begin one, and those that may begin one.
    """

    @abstractmethod
    def following_apart(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[Sequence[Group], Int64]:
        """`following`, with every token refused within the present word."""

    @abstractmethod
    def goes_on(self, places: Sequence[int]) -> bool:
        """Whether the present word must go on, mostly because the text is within a character."""

    @abstractmethod
    def continued(self, places: tuple[int, ...], last: Int32, tokens: Int32) -> Bool:
        """A mask of ``last``: those that one of ``tokens`` may follow in the same word: bool[n].

        Args:
            places: The places after the last tokens; the word must go on there.
            last: int32[n], ids.
            tokens: int32[m], ids.
        """

    @abstractmethod
    def refused_words(self, last: int) -> UInt32:
        """uint32[words], the tokens that may not follow ``last`` within a word, as bits."""

    def beside_guard(self, written: WrittenSoFar) -> tuple[UInt32, Int32] | None:
        """The difference between the row of a state and that with the guard at its start.

        Returns:
            uint32[words], the tokens with the same target, as bits; and int32[n], those with
            another one. ``None`` where the row must be computed by itself.
        """
        return None


class TrimmedRows(FilteredRows[WrittenSoFar]):
    """The rows of a machine behind a filter, and its places that can finish."""

    def __init__(self, machine: TokenMachine, rule: TrimmedFilter) -> None:
        self._machine = machine
        self._filter = rule
        self._table = table_of(machine)
        self._eos = np.array(machine.vocabulary.eos_ids, np.int64)
        byte_machine = machine.byte_machine
        reads_controls = byte_machine is not None and byte_machine.reads_letters
        self._controls = frozenset(machine.vocabulary.letters if reads_controls else ())
        # The first token of a way to the end from each place; `_END` at an end, None without a way.
        self._ways: dict[Place, int | None] = {}
        self._orders: Kept[int, Int32] = Kept()
        # Where the last token matters by its neighbours alone, ways serve other last tokens too.
        self._neighbours = rule if isinstance(rule, NeighbourFilter) else None
        self._witnesses: dict[tuple[int, Group], list[tuple[WrittenSoFar, list[int]]]] = {}
        # Frequent first tokens of such ways, by state and, between characters, by places.
        self._usual: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        # For a filter of neighbours, the rows that all last tokens of a state share.
        self._rows: Kept[Place, tuple[UInt32, UInt32]] = Kept()

    def set_tokens(self, place: Place, words: UInt32, meter: Meter) -> None:
        """Set the bits of the tokens after which the text can be completed."""
        before, written = place
        for token, after in self._control_tokens(place):
            if self.can_finish(after, meter):
                set_bits(words, np.array([token]))
        if self._neighbours is None:
            tokens = self._candidates(before)
            following = self._filter.following(written, tokens)
            self._decide(before, written, tokens, following, words, meter)
            return
        joined, apart = self._rows_of(
            self._neighbours, before, replace(written, last=NO_TOKEN), meter
        )
        refused = self._neighbours.refused_words(written.last)
        words |= (joined & ~refused) | (apart & refused)

    def _rows_of(
        self, rule: NeighbourFilter, before: int, written: WrittenSoFar, meter: Meter
    ) -> tuple[UInt32, UInt32]:
        """The rows for all last tokens: within the present word, and as a new word."""
        key = before, written
        known = self._rows.get(key)
        if known is not None:
            return known
        size = num_words(len(self._machine.vocabulary))
        joined, apart = (np.zeros(size, np.uint32) for _ in range(2))
        tokens = self._candidates(before)
        beside = rule.beside_guard(written)
        if beside is not None:
            like_start, others = beside
            base = self._rows_of(rule, before, replace(written, guard=START.guard), meter)
            joined |= base[0] & like_start
            apart |= base[1] & like_start
            tokens = np.intersect1d(tokens, others, assume_unique=True)
        self._decide(before, written, tokens, rule.following(written, tokens), joined, meter)
        self._decide(before, written, tokens, rule.following_apart(written, tokens), apart, meter)
        self._rows.put(key, (joined, apart), joined.nbytes + apart.nbytes)
        return joined, apart

    def _decide(
        self,
        before: int,
        written: WrittenSoFar,
        tokens: Int32,
        following: tuple[Sequence[Group], Int64],
        words: UInt32,
        meter: Meter,
    ) -> None:
        """Set the bits of the tokens after which the text can be completed."""
        groups, group_of = following
        tokens, group_of = tokens[group_of >= 0], group_of[group_of >= 0]
        if not len(tokens):
            return
        targets = self._targets(before, tokens)
        # Tokens with one target state and one group differ only as the last token.
        key, firsts = distinct([group_of, targets + 1])
        order = np.argsort(key, kind="stable")
        ends = np.cumsum(np.bincount(key, minlength=len(firsts)))
        for number, members in enumerate(np.split(order, ends[:-1])):
            first = firsts[number]
            target = int(targets[first])
            if target < 0:
                continue
            last = tokens[members]
            able = self._able(target, groups[int(group_of[first])], written, last, meter)
            set_bits(words, last[able])

    def _candidates(self, state: int) -> Int32:
        """The tokens of text that the machine before the filter allows and the filter can use."""
        row = self._machine.allowed(state) & self._filter.usable
        row[self._eos] = False
        return np.flatnonzero(row).astype(np.int32)

    def _control_tokens(self, place: Place) -> list[tuple[int, Place]]:
        """The control tokens that may come next, each with the place after it."""
        state, written = place
        after = self._controls and self._filter.may_end(written)
        targets = (
            [(token, self._machine.step(state, token)) for token in self._controls] if after else []
        )
        return [
            (token, (target, self._filter.start))
            for token, target in targets
            if target is not None and target >= 0
        ]

    def _targets(self, state: int, tokens: Int32) -> Int64:
        """The machine's targets of tokens that it allows."""
        if self._table is not None:
            row = self._table.table[state]
            return row[self._table.token_class[tokens]].astype(np.int64)
        targets = [self._machine.step(state, token) for token in tokens.tolist()]
        return np.array([-1 if target is None else target for target in targets], np.int64)

    def is_end(self, place: Place) -> bool:
        """Whether the text may end at a place."""
        return self._machine.is_final(place[0]) and self._filter.may_end(place[1])

    def can_finish(self, place: Place, meter: Meter) -> bool:
        """Whether some tokens lead from a place to an end.

        Raises:
            BudgetExceeded: The search reached a limit.
        """
        if place not in self._ways:
            self._search(place, meter)
        return self._ways[place] is not None

    def _able(
        self, state: int, group: Group, written: WrittenSoFar, last: Int32, meter: Meter
    ) -> Bool:
        """`can_finish` of places that differ only in their last token: bool[n].

        Args:
            state: Their state of the machine before the filter.
            last: int32[n], the last tokens.
        """
        able = np.zeros(len(last), np.bool_)
        left = np.arange(len(last))
        if self._neighbours is not None and self._neighbours.goes_on(group[0]):
            tokens = self._nearest_first(state)
            left = left[self._neighbours.continued(group[0], last, tokens)]
            if not len(left):
                return able
        witnesses = self._witnesses_of(state, group)
        for here, way in witnesses:
            if way:
                suits = self._filter.suits(written, last[left], here, way)
            else:  # Whether the text ends does not depend on the last token.
                suits = np.ones(len(left), np.bool_)
            able[left[suits]] = True
            left = left[~suits]
            if not len(left):
                return able
        while len(left):
            token = int(last[left[0]])
            here = self._filter.state(written, token, group)
            if not self.can_finish((state, here), meter):
                left = left[1:]
                continue
            way = self._way((state, here))
            if way is None:
                able[left[0]] = True
                left = left[1:]
                continue
            if not way:
                able[left] = True
                break
            suits = self._filter.suits(written, last[left], here, way)
            suits[0] = True
            able[left[suits]] = True
            left = left[~suits]
        return able

    def _witnesses_of(self, state: int, group: Group) -> list[tuple[WrittenSoFar, list[int]]]:
        """Known ways to the end from a state and a group, each with a state that it follows."""
        if self._neighbours is None:
            return []
        key = state, group
        known = self._witnesses.get(key)
        if known is None:
            known = self._witnesses[key] = []
            here = WrittenSoFar(NO_TOKEN, *group)
            if self.is_end((state, here)):
                known.append((here, []))
                return known
            # A token that completes one character often completes another one as well.
            for token in self._usual.get(self._alike(state, group[0]), ()):
                after = self._after(state, here, token)
                if after is not None and self._known(after) not in (None, _UNKNOWN):
                    known.append((here, [token]))
                    break
        return known

    def _alike(self, state: int, places: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """A key for places from which the same token often completes the text."""
        within = self._neighbours is not None and self._neighbours.goes_on(places)
        return (state, () if within else places)

    def _after(self, state: int, written: WrittenSoFar, token: int) -> Place | None:
        target = self._machine.step(state, token)
        after = None if target is None or target < 0 else self._filter.after(written, token)
        return None if target is None or after is None else (target, after)

    def _known(self, place: Place) -> int | None:
        """The first token of a way to the end, `_END`, ``None`` or `_UNKNOWN`."""
        way = self._ways.get(place, _UNKNOWN)
        if way != _UNKNOWN:
            return way
        if self.is_end(place):
            return _END
        state, written = place
        if self._neighbours is not None and written.last != NO_TOKEN:
            group = written.places, written.guard
            last = np.array([written.last], np.int32)
            if self._neighbours.goes_on(written.places):
                tokens = self._nearest_first(state)
                if not self._neighbours.continued(written.places, last, tokens)[0]:
                    self._ways[place] = None
                    return None
            for here, way in self._witnesses.get((state, group), ()):
                if way and self._filter.suits(written, last, here, way)[0]:
                    return way[0]
        return _UNKNOWN

    def _way(self, place: Place) -> list[int] | None:
        """The way to the end from a place, as far as `reach` needs it; ``None`` if too long."""
        way: list[int] = []
        while (token := self._ways.get(place)) is not None and token != _END:
            if token in self._controls:
                break  # As at an end, the tokens within the word do not matter.
            way.append(token)
            if self._filter.reach == 1:
                break
            target = self._machine.step(place[0], token)
            written = self._filter.after(place[1], token)
            if target is None or written is None or len(way) == self._filter.reach:
                return None
            place = (target, written)
        return way

    def _search(self, start: Place, meter: Meter) -> None:
        known = self._known(start)
        if known != _UNKNOWN:
            self._ways[start] = known
            return
        met = {start}
        deepest = 0
        if self._is_of_grammar:
            deepest = _DEEPEST + 4 * (self._machine.distance_to_end(start[0]) or 0)
        # Each place, the token that led to it, and an iterator over those that may follow.
        path = [(start, NO_TOKEN, self._following(start))]
        while path:
            for token, place in path[-1][2]:
                known = self._known(place)
                if known not in (None, _UNKNOWN):
                    self._ways[place] = known
                    self._keep(path, token)
                    return
                if place not in met and known == _UNKNOWN:
                    met.add(place)
                    meter.check(STAGE, states=len(self._ways) + len(met))
                    if deepest and len(path) >= deepest:
                        raise BudgetExceeded(
                            "states", limit=deepest, reached=len(path) + 1, stage=STAGE
                        ).advising(
                            "Give the grammar a depth before the filter: "
                            "c.bounded(depth=20).canonical(tokenizer)."
                        )
                    path.append((place, token, self._following(place)))
                    break
            else:
                path.pop()
        self._ways.update(dict.fromkeys(met))

    def _keep(
        self, path: Sequence[tuple[Place, int, Iterator[tuple[int, Place]]]], token: int
    ) -> None:
        """Record a way to the end for every place of a path."""
        for place, before, _ in reversed(path):
            self._ways[place] = token
            state, written = place
            if self._neighbours is not None and written.last != NO_TOKEN:
                group = written.places, written.guard
                way = [] if token in self._controls else [token]
                self._witnesses.setdefault((state, group), []).append((written, way))
                usual = self._usual.setdefault(self._alike(state, group[0]), [])
                if way and token not in usual:
                    usual.insert(0, token)
                    del usual[_MOST_USUAL:]
            token = before

    def _following(self, place: Place) -> Iterator[tuple[int, Place]]:
        """The tokens that may come next with the places after them, nearest to the end first."""
        state, written = place
        yield from self._control_tokens(place)
        tokens = self._nearest_first(state)
        at, size = 0, _FIRST_CHUNK
        while at < len(tokens):
            chunk = tokens[at : at + size]
            at, size = at + size, 4 * size
            groups, group_of = self._filter.following(written, chunk)
            for k in np.flatnonzero(group_of >= 0).tolist():
                token = int(chunk[k])
                target = self._machine.step(state, token)
                if target is not None and target >= 0:
                    after = self._filter.state(written, token, groups[int(group_of[k])])
                    yield token, (target, after)

    def _nearest_first(self, state: int) -> Int32:
        """The candidates of a state in the order of the search."""
        order = self._orders.get(state)
        if order is None:
            tokens = self._candidates(state)
            far = self._far(state, tokens)
            order = tokens[np.argsort(far, kind="stable")]
            self._orders.put(state, order, order.nbytes)
        return order

    def _far(self, state: int, tokens: Int32) -> Int64:
        """The known distances to the end after some tokens, or their lengths instead: int64[n]."""
        if self._table is not None:
            return self._table.distance[self._targets(state, tokens)].astype(np.int64)
        lengths = self._filter.lengths[tokens]
        machine = self._machine
        if not self._is_of_grammar:
            return lengths
        # A recursive grammar can lead away from the end forever; its distances order the tokens.
        distances = [
            machine.distance_to_end(target) if target >= 0 else None
            for target in self._targets(state, tokens).tolist()
        ]
        far = np.array([_FAR if one is None else one for one in distances], np.int64)
        return far * (int(lengths.max(initial=0)) + 1) + lengths

    @cached_property
    def _is_of_grammar(self) -> bool:
        """Whether the machine is that of a recursive grammar; it knows the distances to its end."""
        return self._table is None and planner_of(self._machine) is not None
