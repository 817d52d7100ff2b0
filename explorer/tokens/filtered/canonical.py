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
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from explorer.errors import VocabularyError
from explorer.jit import jit
from explorer.memo import Recent
from explorer.tokens.kept import Kept
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import LOST, Int32, UInt16
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.rules import CanonicalRules

Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]

NO_TOKEN: Final = -1
"""The last token before the first one."""

_LARGEST_TABLE: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class WrittenSoFar:
    """What counts of the tokens so far.

    Args:
        last: The last token; `NO_TOKEN` at the start.
        places: States of the marked text, ascending; one from its number of states on where the
            unfinished character begins a word.
        partial: The bytes of the unfinished character.
    """

    last: int
    places: tuple[int, ...]
    partial: bytes = b""


START: Final = WrittenSoFar(NO_TOKEN, (0,))


_filters = Recent[tuple[int, str], "CanonicalFilter"]()


def filter_of(rules: CanonicalRules, vocabulary: Vocabulary) -> CanonicalFilter:
    """The filter of a tokenizer and a vocabulary, one for all machines.

    Raises:
        VocabularyError: The vocabulary is another tokenizer's.
    """
    # The filter holds the rules, so no other rules have their identity while it is kept.
    key = (id(rules), vocabulary.fingerprint)
    return _filters.get(key, lambda: CanonicalFilter(rules, vocabulary))


@jit
def _length(lead: int) -> int:
    """How many bytes a character has, by the first one; 0 for a byte that begins none."""
    if lead < 0x80:
        return 1
    if lead < 0xC0:
        return 0
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@jit
def _character(data: UInt8, at: int, length: int) -> int:
    """The code point of a complete character."""
    if length == 1:
        return data[at]
    found = data[at] & (0x7F >> length)
    for k in range(1, length):
        found = (found << 6) | (data[at + k] & 0x3F)
    return found


@jit
def _read_all(
    data: UInt8, offset: Int64, class_of: UInt16, table: Int32, place: int, reached: Int32
) -> None:
    """Where the complete characters of each token lead, none of them the first of a word but one.

    A token without bytes, or that begins within a character, leads nowhere.
    """
    for token in range(offset.shape[0] - 1):
        at, end = offset[token], offset[token + 1]
        here = place if at < end and _length(int(data[at])) > 0 else -1
        while here >= 0 and at < end:
            length = _length(int(data[at]))
            if length == 0 or at + length > end:
                if length == 0:
                    here = -1
                break
            character = _character(data, at, length)
            here = table[here, class_of[character]] if character < class_of.shape[0] else -1
            at += length
        reached[token] = here


class CanonicalFilter:
    """What a tokenizer's rules allow after some tokens; thread-safe. Made by `filter_of`.

    Args:
        rules: The tokenizer's.
        vocabulary: The tokens; those of the tokenizer, or the first of them.

    Raises:
        VocabularyError: The vocabulary is another tokenizer's.
    """

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
        self.lengths = np.array([len(part) for part in parts])
        self._data = np.frombuffer(b"".join(parts), np.uint8)
        self._offset = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
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
        self._reached: dict[int, Int32] = {}
        self._refused: Kept[int, Bool] = Kept()

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

    def following(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[list[tuple[tuple[int, ...], bytes]], Int64]:
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
            columns.append(np.where(joined, self._from(place)[tokens], LOST).astype(np.int32))
            if written.last != NO_TOKEN and self._marked.cuts:
                begun = self._from(place + self._marked.num_states)[tokens]
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

    def _complete(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[list[tuple[tuple[int, ...], bytes]], Int64]:
        """`following` within a character: token by token, since few can follow there."""
        numbers: dict[tuple[tuple[int, ...], bytes], int] = {}
        group_of = np.full(len(tokens), -1, np.int64)
        usable = np.flatnonzero(self.usable[tokens] & ~self.refused_after(written.last)[tokens])
        for k in usable.tolist():
            data = written.partial + (self._tokens[tokens[k]] or b"")
            tail = tail_of(data)
            whole = data[: len(data) - len(tail)]
            try:
                text = whole.decode()
            except UnicodeDecodeError:
                continue
            covered = self.rules.covered
            if covered is not None and any(covered[ord(character)] for character in text):
                continue
            places = {self._read(place, text) for place in written.places} - {LOST}
            if places:
                key = (tuple(sorted(places)), tail)
                group_of[k] = numbers.setdefault(key, len(numbers))
        return list(numbers), group_of

    def _read(self, place: int, text: str) -> int:
        for character in text:
            if place != LOST:
                place = int(self._marked.table[place, self._marked.class_of[ord(character)]])
        return place

    def _from(self, place: int) -> Int32:
        """Where each token leads from a place: int32[ids], `LOST` where it leads nowhere."""
        reached = self._reached.get(place)
        if reached is None:
            reached = np.empty(len(self._tokens), np.int32)
            marked = self._marked
            _read_all(self._data, self._offset, marked.class_of, marked.table, place, reached)
            self._reached[place] = reached
        return reached

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

    def begins(self, written: WrittenSoFar, token: int) -> bool:
        """Whether a token may begin a word after some tokens."""
        n = self._marked.num_states
        fresh = written.last != NO_TOKEN and not written.partial
        return fresh and any(self._from(place + n)[token] != LOST for place in written.places)

    def continues(self, written: WrittenSoFar, token: int) -> bool:
        """Whether the splitter lets a token go on with the present word."""
        return bool(written.partial) or any(
            self._from(place)[token] != LOST for place in written.places
        )


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


def distinct(columns: Sequence[NDArray[np.integer]]) -> tuple[Int64, Int64]:
    """Number the distinct rows of some columns of small numbers from 0 on.

    Without sorting, as long as the numbers are small: a table of those that occur.

    Args:
        columns: int[n] each, 0 or more.

    Returns:
        int64[n], the number of each row; int64[rows], a place where each stands.

    Example:
        >>> key, firsts = distinct([np.array([1, 0, 1]), np.array([2, 2, 2])])
        >>> key.tolist(), sorted(firsts.tolist())
        ([1, 0, 1], [1, 2])
    """
    key = np.zeros(len(columns[0]), np.int64)
    count = 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        joined = key * width + column
        if count * width > _LARGEST_TABLE:
            values, key = np.unique(joined, return_inverse=True)
            count = len(values)
            continue
        present = np.zeros(count * width, np.bool_)
        present[joined] = True
        key = (np.cumsum(present) - 1)[joined]
        count = int(present.sum())
    firsts = np.zeros(count, np.int64)
    firsts[key] = np.arange(len(key))
    return key, firsts


def check_same(tokenizer: Vocabulary, vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary whose ids write something else than the tokenizer's.

    Raises:
        VocabularyError: The first such id is named.
    """
    if vocabulary is tokenizer or vocabulary.tokens == tokenizer.tokens:
        return
    known = tokenizer.tokens
    for token, data in enumerate(vocabulary.tokens):
        if data is not None and (token >= len(known) or known[token] != data):
            raise VocabularyError(
                f"The canonical filter's tokenizer is not the vocabulary's: the id {token} writes "
                f"{data!r} here and {known[token] if token < len(known) else None!r} there.",
                remedy="Give canonical(...) the tokenizer that the vocabulary was read from, or "
                "that vocabulary itself.",
                evidence={"id": token},
            )
