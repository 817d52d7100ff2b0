"""Which token may follow, if the tokenizer itself should have written the whole sequence.

What was written so far counts by two things: the last token (for the relation between neighbours,
`explorer.vocabulary.canonical.merges`), and where words may have begun (states of
`explorer.vocabulary.canonical.marked` over bytes; several, while the splitter would still read on).
A token is read twice from each of those states: once within the present word, if it may stand
beside the last token there, once as the beginning of a word. What survives is the next state.

All tokens are read from some states at once, by their spelling, and that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.tokens.filtered.guard import UNGUARDED
from explorer.tokens.filtered.reading import FEW, MarkedTokens
from explorer.tokens.filtered.token_filter import (
    NO_TOKEN,
    Group,
    Int64,
    WrittenSoFar,
    check_same,
    distinct,
)
from explorer.tokens.kept import Kept
from explorer.tokens.words import UInt32, has_bits, pack
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import LOST, Int32
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.rules import CanonicalRules

_FEW: Final = 64
"""Fewer tokens than these are compared with the last one by one."""


@dataclass(frozen=True)
class _Led:
    """Where spellings, or tokens, lead from some places.

    Attributes:
        groups: The states, but for the token itself.
        joined: int64[n], the group of a token that may stand in the present word; -1.
        begun: int64[n], the group of one that may not; -1.
    """

    groups: Sequence[Group]
    joined: Int64
    begun: Int64


class CanonicalFilter:
    """A filter by a tokenizer's rules, made by `filter_of`; thread-safe.

    Args:
        rules: The tokenizer's.
        vocabulary: The tokens; those of the tokenizer, or the first of them.

    Raises:
        VocabularyError: The vocabulary is another tokenizer's.
    """

    reach = 1
    """The relation is one between neighbours."""

    def __init__(self, rules: CanonicalRules, vocabulary: Vocabulary) -> None:
        check_same(rules.vocabulary, vocabulary)
        self.rules = rules
        self._marked = rules.marked
        text = np.array([data is not None for data in vocabulary.tokens])
        usable = np.zeros(len(vocabulary), np.bool_)
        usable[: len(rules.usable)] = rules.usable[: len(vocabulary)]
        self.usable: Bool = usable & text
        self._read = MarkedTokens(rules.marked, vocabulary, rules.single)
        self._led: Kept[tuple[int, ...], _Led] = Kept()
        self._refused: Kept[int, UInt32] = Kept()

    @property
    def lengths(self) -> Int64:
        """int64[ids], in bytes."""
        return self._read.lengths

    def may_end(self, written: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly this."""
        return any(self._marked.ends[k] for k in written.places)

    def after(self, written: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the tokenizer would not write it."""
        groups, group_of = self.following(written, np.array([token], np.int32))
        if group_of[0] < 0:
            return None
        return self.state(written, token, groups[int(group_of[0])])

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The states after each of some tokens, but for the token itself.

        Args:
            written: The tokens so far.
            tokens: int32[n], ids.

        Returns:
            The states, as their places; and int64[n], which of them each token leads to, -1 where
            the tokenizer would not write it.
        """
        led, spelled = self._from(written.places, tokens)
        group_of = led.joined[spelled]
        if written.last != NO_TOKEN:
            refused = self._are_refused(written.last, tokens)
            group_of[refused] = led.begun[spelled[refused]]
        group_of[~self.usable[tokens]] = -1
        return led.groups, group_of

    def following_apart(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[Sequence[Group], Int64]:
        """`following`, as if every token were refused within the present word."""
        led, spelled = self._from(written.places, tokens)
        group_of = led.begun[spelled]
        group_of[~self.usable[tokens]] = -1
        return led.groups, group_of

    def _from(self, places: tuple[int, ...], tokens: Int32) -> tuple[_Led, Int32 | Int64]:
        """Where some tokens lead from some places; and for each of them where that stands."""
        led = self._led.get(places)
        if led is None and len(tokens) < FEW:
            return self._led_by(places, lambda place: self._read.lead(place, tokens)), np.arange(
                len(tokens)
            )
        if led is None:
            led = self._led_by(places, self._read.row)
            self._led.put(places, led, led.joined.nbytes + led.begun.nbytes)
        return led, self._read.spelling_of[tokens]

    def _led_by(self, places: tuple[int, ...], row: Callable[[int], Int32]) -> _Led:
        """Where spellings, or tokens, lead from some places, by where they lead from each."""
        within = [row(place) for place in places]
        anew = [place + self._marked.num_states for place in places]
        begun = [row(place) for place in anew if (self._marked.table[place] != LOST).any()]
        groups: list[Group] = []
        rows: list[Int64] = []
        for columns in ([*within, *begun], begun):
            group_of = np.full(len(within[0]), -1, np.int64)
            rows.append(group_of)
            columns = [column for column in columns if column.max(initial=LOST) != LOST]
            if not columns:
                continue
            alive = np.flatnonzero(np.maximum.reduce(columns) != LOST)
            kept = [column[alive] for column in columns]
            key, firsts = distinct([column + 1 for column in kept])
            group_of[alive] = key + len(groups)
            for k in firsts.tolist():
                reached = {int(column[k]) for column in kept} - {LOST}
                groups.append((tuple(sorted(reached)), UNGUARDED))
        return _Led(groups, rows[0], rows[1])

    def goes_on(self, places: Sequence[int]) -> bool:
        """Whether the present word has to go on: the text is within a character, mostly."""
        return all(self._marked.goes_on[place] for place in places)

    def continued(self, places: tuple[int, ...], last: Int32, tokens: Int32) -> Bool:
        """Which of some last tokens one of some tokens may follow in the same word."""
        led = [self._read.lead(place, tokens) for place in places]
        able = self.usable[tokens] & (np.maximum.reduce(led) != LOST)
        return self.rules.merges.fitting_any(last, tokens[able])

    def refused_words(self, last: int) -> UInt32:
        """uint32[words], the tokens that may not follow another one within a word, as bits."""
        refused = self._refused.get(last)
        if refused is None:
            whole = np.zeros(len(self.usable), np.bool_)
            if last != NO_TOKEN:
                row = self.rules.merges.refused_after(last)[: len(whole)]
                whole[: len(row)] = row
            refused = pack(whole)
            self._refused.put(last, refused, refused.nbytes)
        return refused

    def _are_refused(self, last: int, tokens: Int32) -> Bool:
        """Which of some tokens may not follow another one within a word."""
        if len(tokens) < _FEW:
            return ~self.rules.merges.fitting_after(last, tokens)
        return has_bits(self.refused_words(last), tokens)

    def beside_guard(self, written: WrittenSoFar) -> tuple[UInt32, Int32] | None:
        """There is no guard here."""
        return None

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        return WrittenSoFar(token, *group)

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """Which of some tokens could be followed by a way to the end that follows one of them."""
        following = np.array(way[:1], np.int32)
        merges = self.rules.merges
        continues = any(int(self._read.lead(place, following)[0]) != LOST for place in here.places)
        if continues and (here.last == NO_TOKEN or merges.fits(here.last, way[0])):
            return merges.fitting(tokens, way[0])
        return np.ones(len(tokens), np.bool_)
