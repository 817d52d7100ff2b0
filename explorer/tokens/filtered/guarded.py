"""A filter of neighbours beside a guard: the text's normal form, and its added tokens.

An ordinary token stands where the filter allows it and the guard reads it. An added token ends the
words before it and begins anew after it, so it stands where the text might end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.automata.machine import ByteMachine
from explorer.tokens.filtered.canonical import CanonicalFilter
from explorer.tokens.filtered.guard import UNGUARDED, Guard
from explorer.tokens.filtered.token_filter import (
    NO_TOKEN,
    Group,
    Int64,
    WrittenSoFar,
    distinct,
)
from explorer.tokens.kept import Kept
from explorer.tokens.words import UInt32, pack
from explorer.vocabulary.canonical.marked import LOST, Int32
from explorer.vocabulary.canonical.merges import Bool

_ANEW = (0,)
"""The places after an added token: words begin there as at the start of a text."""


class GuardedFilter:
    """What a tokenizer's rules allow after some tokens; thread-safe.

    Args:
        words: The filter within and between words.
        guard: The guard.
    """

    reach = 1
    """The relation is one between neighbours."""

    def __init__(self, words: CanonicalFilter, guard: Guard) -> None:
        self._words = words
        self._guard = guard
        self._added: Bool = np.zeros(len(words.usable), np.bool_)
        self._added[list(guard.place_of)] = True
        self._entry_of: Int32 = np.zeros(len(words.usable), np.int32)
        self._entry_of[list(guard.place_of)] = list(guard.place_of.values())
        self.usable: Bool = words.usable | self._added
        self._beside: Kept[int, tuple[UInt32, Int32]] = Kept()

    @property
    def lengths(self) -> Int64:
        """int64[ids], in bytes."""
        return self._words.lengths

    def may_end(self, written: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly this."""
        return self._words.may_end(written) and self._guard.ends(written.guard)

    def after(self, written: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the tokenizer would not write it."""
        groups, group_of = self.following(written, np.array([token], np.int32))
        return None if group_of[0] < 0 else self.state(written, token, groups[int(group_of[0])])

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The states after each of some tokens, but for the token itself."""
        return self._read(written, tokens, *self._words.following(written, tokens))

    def following_apart(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[Sequence[Group], Int64]:
        """`following`, as if every token were refused within the present word."""
        return self._read(written, tokens, *self._words.following_apart(written, tokens))

    def _read(
        self,
        written: WrittenSoFar,
        tokens: Int32,
        groups: Sequence[Group],
        group_of: Int64,
    ) -> tuple[Sequence[Group], Int64]:
        """What the filter says, as far as the guard reads the tokens; and the added tokens."""
        reached = self._guard.read(written.guard, tokens)
        found: list[Group] = []
        result = np.full(len(tokens), -1, np.int64)
        alive = np.flatnonzero((group_of >= 0) & (reached != LOST))
        if len(alive):
            result[alive], firsts = distinct([group_of[alive], reached[alive]])
            for k in alive[firsts].tolist():
                places, _ = groups[int(group_of[k])]
                found.append((places, int(reached[k])))
        chosen = np.flatnonzero(self._added[tokens])
        if len(chosen) and self._words.may_end(written):
            after = self._guard.after_added(written.guard)[self._entry_of[tokens[chosen]]]
            chosen, after = chosen[after != LOST], after[after != LOST]
            if len(chosen):
                key, firsts = distinct([after])
                result[chosen] = len(found) + key
                found += [(_ANEW, int(after[k])) for k in firsts.tolist()]
        return found, result

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        return WrittenSoFar(NO_TOKEN if self._added[token] else token, *group)

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """Which of some tokens could be followed by a way to the end that follows one of them."""
        if self._added[way[0]]:
            return np.ones(len(tokens), np.bool_)
        # Behind an added token, everything fits that fits anywhere.
        return self._words.suits(written, tokens, here, way) | self._added[tokens]

    def goes_on(self, places: Sequence[int]) -> bool:
        """Whether the present word has to go on: the text is within a character, mostly."""
        return self._words.goes_on(places)

    def continued(self, places: tuple[int, ...], last: Int32, tokens: Int32) -> Bool:
        """Which of some last tokens one of some tokens may follow in the same word."""
        return self._words.continued(places, last, tokens)

    def refused_words(self, last: int) -> UInt32:
        """uint32[words], the tokens that may not follow another one within a word, as bits."""
        return self._words.refused_words(last)

    def beside_guard(self, written: WrittenSoFar) -> tuple[UInt32, Int32] | None:
        """How the row of a state differs from the one at which its guard is at the start."""
        if written.guard == UNGUARDED or self.goes_on(written.places):
            return None
        found = self._beside.get(written.guard)
        if found is None:
            every = np.arange(len(self.usable), dtype=np.int32)
            start, here = (self._guard.read(k, every) for k in (UNGUARDED, written.guard))
            alike = (start == here) & ~self._added
            others = np.flatnonzero((~alike & (here != LOST)) | self._added).astype(np.int32)
            found = pack(alike), others
            self._beside.put(written.guard, found, found[0].nbytes + others.nbytes)
        return found

    def keeps_form(self, written: WrittenSoFar, token: int, texts: ByteMachine, after: int) -> bool:
        """As `Guard.keeps_form` has it."""
        return self._guard.keeps_form(written.guard, token, texts, after)
