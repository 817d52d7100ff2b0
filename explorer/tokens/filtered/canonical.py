"""Which token may follow, if the tokenizer itself should have written the whole sequence.

What was written so far counts by three things: the last token (for the relation between
neighbours, `explorer.vocabulary.canonical.merges`), where words may have begun (states of
`explorer.vocabulary.canonical.marked`; several, while the splitter would still read on), and the
bytes of a character that is not complete yet. A token is read twice from each of those states: once
within the present word, if it may stand beside the last token there, once as the beginning of a
word. What survives is the next state.

All tokens are read from a state at once, a millisecond at 131,072 tokens, and that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from explorer.tokens.filtered.guard import UNGUARDED
from explorer.tokens.filtered.reading import (
    MarkedTokens,
    character_length,
    code_point,
    tail_of,
)
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
        self._tokens = vocabulary.tokens
        self._marked = rules.marked
        text = np.array([data is not None for data in vocabulary.tokens])
        usable = np.zeros(len(vocabulary), np.bool_)
        usable[: len(rules.usable)] = rules.usable[: len(vocabulary)]
        self.usable: Bool = usable & text
        parts: list[bytes] = [data or b"" for data in vocabulary.tokens]
        self._read = MarkedTokens(rules.marked, vocabulary)
        self._tails: list[bytes] = [b""]
        self._tail_of = np.zeros(len(parts), np.int32)
        # Only what does not end in ASCII can end within a character.
        numbers = {b"": 0}
        for token in np.flatnonzero([part[-1:] >= b"\x80" for part in parts]).tolist():
            tail = tail_of(parts[int(token)])
            if tail not in numbers:
                numbers[tail] = len(self._tails)
                self._tails.append(tail)
            self._tail_of[token] = numbers[tail]
        # Which places some character goes on from that begins with the bytes of a tail.
        self._open: Bool = np.stack([self._goes_on_from(tail) for tail in self._tails])
        self._opened: dict[bytes, Bool] = dict(zip(self._tails, self._open, strict=True))
        self._refused: Kept[int, UInt32] = Kept()
        within = np.array([b"\x80" <= part[:1] < b"\xc0" for part in parts])
        self._goes_on: Bool = within & self.usable

    @property
    def lengths(self) -> Int64:
        """int64[ids], in bytes."""
        return self._read.lengths

    def may_end(self, written: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly this."""
        return not written.partial and any(self._marked.ends[k] for k in written.places)

    def after(self, written: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the tokenizer would not write it."""
        groups, group_of = self.following(written, np.array([token], np.int32))
        if group_of[0] < 0:
            return None
        return self.state(written, token, groups[int(group_of[0])])

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[list[Group], Int64]:
        """The states after each of some tokens, but for the token itself.

        Args:
            written: The tokens so far.
            tokens: int32[n], ids.

        Returns:
            The states, as their places and partial characters; and int64[n], which of them each
            token leads to, -1 where the tokenizer would not write it.
        """
        if written.partial:
            return self._complete(written, tokens)
        joined = self.usable[tokens]
        if written.last != NO_TOKEN:
            joined = joined & ~self._are_refused(written.last, tokens)
        return self._placed(written, tokens, joined)

    def following_apart(self, written: WrittenSoFar, tokens: Int32) -> tuple[list[Group], Int64]:
        """`following`, as if every token were refused within the present word."""
        if written.partial or not self._marked.cuts:
            return [], np.full(len(tokens), -1, np.int64)
        return self._placed(written, tokens, np.zeros(len(tokens), np.bool_))

    def _placed(
        self, written: WrittenSoFar, tokens: Int32, joined: Bool
    ) -> tuple[list[Group], Int64]:
        """Where tokens lead: some joined to the present word, and all as the begin of one."""
        columns: list[Int32] = []
        usable = self.usable[tokens]
        for place in written.places:
            if joined.any():
                within = self._read.from_place(place)[tokens]
                columns.append(np.where(joined, within, LOST).astype(np.int32))
            if self._marked.cuts:
                begun = self._read.from_place(place + self._marked.num_states)[tokens]
                columns.append(np.where(usable, begun, LOST).astype(np.int32))
        tails = self._tail_of[tokens]
        for column in columns:
            column[~self._open[tails, column]] = LOST
        columns = [column for column in columns if (column != LOST).any()]
        group_of = np.full(len(tokens), -1, np.int64)
        if not columns:
            return [], group_of
        alive = np.logical_or.reduce([column != LOST for column in columns])
        codes = [column + 1 for column in columns] + [tails]
        key, firsts = distinct([code[alive] for code in codes])
        group_of[alive] = key
        chosen = np.flatnonzero(alive)[firsts].tolist()
        groups = [
            (
                tuple(sorted({int(column[k]) for column in columns} - {LOST})),
                self._tails[tails[k]],
                UNGUARDED,
            )
            for k in chosen
        ]
        return groups, group_of

    def _complete(self, written: WrittenSoFar, tokens: Int32) -> tuple[list[Group], Int64]:
        """`following` within a character, which no word begins in the middle of."""
        group_of = np.full(len(tokens), -1, np.int64)
        chosen = np.flatnonzero(self._goes_on[tokens])
        if written.last != NO_TOKEN:
            chosen = chosen[~self._are_refused(written.last, tokens[chosen])]
        reached, complete = self._read.within_character(
            written.partial, written.places, tokens[chosen], self.rules.covered
        )
        alive = (reached != LOST).any(axis=0)
        chosen, reached, complete = chosen[alive], reached[:, alive], complete[alive]
        if not len(chosen):
            return [], group_of
        tails = self._tail_of[tokens[chosen]].astype(np.int64)
        # A character that is still not finished has a tail of its own for each token.
        unfinished = np.flatnonzero(~complete)
        tails[unfinished] = len(self._tails) + np.arange(len(unfinished))
        group_of[chosen], firsts = distinct([*(reached + 1), tails])
        groups: list[Group] = []
        lost: list[int] = []
        for number, k in enumerate(firsts.tolist()):
            data = self._tokens[int(tokens[chosen[k]])] or b""
            tail = self._tails[int(tails[k])] if complete[k] else written.partial + data
            if tail not in self._opened:
                self._opened[tail] = self._goes_on_from(tail)
            places = {int(place) for place in reached[:, k] if place != LOST}
            places = {place for place in places if self._opened[tail][place]}
            groups.append((tuple(sorted(places)), tail, UNGUARDED))
            lost += [] if places else [number]
        if lost:
            group_of[np.isin(group_of, lost)] = -1
        return groups, group_of

    def _goes_on_from(self, tail: bytes) -> Bool:
        """bool[places], those from which some character goes on that begins with some bytes."""
        table = self._marked.table
        if not tail:
            return np.ones(len(table), np.bool_)
        missing = character_length(tail) - len(tail)
        lowest = code_point(tail)
        codes = self._marked.class_of[lowest << 6 * missing : (lowest + 1) << 6 * missing]
        return (table[:, np.unique(codes)] != LOST).any(axis=1)

    def continued(self, last: Int32, tokens: Int32) -> Bool:
        """Which of some last tokens, each within a character, one of some tokens may follow."""
        return self.rules.merges.fitting_any(last, tokens[self._goes_on[tokens]])

    def refused_words(self, last: int) -> UInt32:
        """uint32[words], the tokens that may not follow another one within a word, as bits."""
        refused = self._refused.get(last)
        if refused is None:
            whole = np.zeros(len(self._tokens), np.bool_)
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
        following = way[0]
        merges = self.rules.merges
        continues = bool(here.partial) or any(
            self._read.from_place(place)[following] != LOST for place in here.places
        )
        if continues and (here.last == NO_TOKEN or merges.fits(here.last, following)):
            return merges.fitting(tokens, following)
        return np.ones(len(tokens), np.bool_)
