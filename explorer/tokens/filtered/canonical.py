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

from explorer.tokens.filtered.reading import MarkedTokens
from explorer.tokens.filtered.token_filter import (
    NO_TOKEN,
    Group,
    Int64,
    WrittenSoFar,
    check_same,
    distinct,
)
from explorer.tokens.kept import Kept
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import LOST, Int32
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.rules import CanonicalRules

_MOST_COMPLETED: Final = 4_000_000


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
        self._refused: Kept[int, Bool] = Kept()
        # Many last tokens leave the same bytes of a character to be completed.
        self._completed: dict[tuple[bytes, tuple[int, ...]], dict[int, Group | None]] = {}
        self._num_completed = 0
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
        places, partial = groups[int(group_of[0])]
        return WrittenSoFar(token, places, partial)

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
        columns: list[Int32] = []
        usable = self.usable[tokens]
        joined = usable & ~self.refused_after(written.last)[tokens]
        for place in written.places:
            columns.append(
                np.where(joined, self._read.from_place(place)[tokens], LOST).astype(np.int32)
            )
            if written.last != NO_TOKEN and self._marked.cuts:
                begun = self._read.from_place(place + self._marked.num_states)[tokens]
                columns.append(np.where(usable, begun, LOST).astype(np.int32))
        columns = [column for column in columns if (column != LOST).any()]
        group_of = np.full(len(tokens), -1, np.int64)
        if not columns:
            return [], group_of
        alive = np.logical_or.reduce([column != LOST for column in columns])
        codes = [column + 1 for column in columns] + [self._tail_of[tokens]]
        key, firsts = distinct([code[alive] for code in codes])
        group_of[alive] = key
        chosen = np.flatnonzero(alive)[firsts].tolist()
        groups = [
            (
                tuple(sorted({int(column[k]) for column in columns} - {LOST})),
                self._tails[self._tail_of[tokens[k]]],
            )
            for k in chosen
        ]
        return groups, group_of

    def _complete(self, written: WrittenSoFar, tokens: Int32) -> tuple[list[Group], Int64]:
        """`following` within a character: token by token, since few can follow there."""
        numbers: dict[Group, int] = {}
        group_of = np.full(len(tokens), -1, np.int64)
        # Few tokens go on with a character, so they are compared one by one.
        usable = np.flatnonzero(self._goes_on[tokens])
        usable = usable[self.rules.merges.fitting_after(written.last, tokens[usable])]
        whole: dict[int, Group | None] = self._completed.setdefault(
            (written.partial, written.places), {}
        )
        for k in usable.tolist():
            token = int(tokens[k])
            if token not in whole:
                whole[token] = self._completed_by(written, token)
            group = whole[token]
            if group is not None:
                group_of[k] = numbers.setdefault(group, len(numbers))
        self._num_completed += len(usable)
        if self._num_completed > _MOST_COMPLETED:
            self._completed, self._num_completed = {}, 0
        return list(numbers), group_of

    def _completed_by(self, written: WrittenSoFar, token: int) -> Group | None:
        """What an unfinished character and a token lead to, but for the last token."""
        data = written.partial + (self._tokens[token] or b"")
        tail = tail_of(data)
        try:
            text = data[: len(data) - len(tail)].decode()
        except UnicodeDecodeError:
            return None
        covered = self.rules.covered
        if covered is not None and any(covered[ord(character)] for character in text):
            return None
        places = {self._read_text(place, text) for place in written.places} - {LOST}
        return (tuple(sorted(places)), tail) if places else None

    def _read_text(self, place: int, text: str) -> int:
        for character in text:
            if place != LOST:
                place = int(self._marked.table[place, self._marked.class_of[ord(character)]])
        return place

    def refused_after(self, last: int) -> Bool:
        """bool[ids], the tokens that may not follow another one within a word."""
        refused = self._refused.get(last)
        if refused is None:
            n = len(self._tokens)
            refused = np.zeros(n, np.bool_)
            if last != NO_TOKEN:
                whole = self.rules.merges.refused_after(last)[:n]
                refused[: len(whole)] = whole
            self._refused.put(last, refused, refused.nbytes)
        return refused

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
        if merges.fits(here.last, following) and continues:
            return merges.fitting(tokens, following)
        return np.ones(len(tokens), np.bool_)


def tail_of(data: bytes) -> bytes:
    """The bytes of the character that some bytes break off in.

    Example:
        >>> tail_of("aé".encode()[:-1]), tail_of(b"abc")
        (b'\\xc3', b'')
    """
    for back in range(1, min(3, len(data)) + 1):
        lead = data[-back]
        if lead < 0x80:
            return b""
        if lead >= 0xC0:
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return data[-back:] if length > back else b""
    return b""
