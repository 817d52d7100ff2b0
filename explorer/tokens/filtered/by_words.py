"""The filter of tokenizers that choose pieces by looking ahead: Unigram and WordPiece.

What was written so far counts by two things: the state of the marked text, of which there is one
since cuts are known by the character alone, and the state of the model within the present word
(`explorer.vocabulary.canonical.word_rules`). The second one differs from token to token, so the
targets of a wide row are not numbered: whether a way to the end suits them is asked of all of them
together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.tokens.filtered.of_tokenizer import TokenizersFilter
from explorer.tokens.filtered.reading import Int64, distinct
from explorer.tokens.filtered.trimmed import NO_TOKEN, Group, WrittenSoFar
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import LOST, Int32
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.piece_trie import BEGUN
from explorer.vocabulary.canonical.word_rules import WordRules


class WordFilter(TokenizersFilter):
    """A filter of the tokens that a tokenizer's rules allow after some others; thread-safe.

    Made by `explorer.tokens.filtered.canonical.filter_of`.

    Args:
        vocabulary: The tokens; those of the tokenizer, or the first of them.

    Raises:
        VocabularyError: The vocabulary is another tokenizer's.
    """

    reach = 256
    """A window stays open for some tokens; ways are seldom as long as this."""

    def __init__(self, rules: WordRules, vocabulary: Vocabulary) -> None:
        super().__init__(rules, vocabulary)
        self._pieces = rules.pieces

    def may_end(self, known: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly this."""
        return bool(self._marked.ends[known.places[0]])

    def after(self, known: WrittenSoFar, token: int) -> WrittenSoFar | None:
        """The state after one more token; ``None`` where the tokenizer would not write it."""
        if not self.usable[token]:
            return None
        place, begins = self._step(known.places[0], token)
        if place == LOST:
            return None
        before = BEGUN if begins else max(known.last, BEGUN)
        state = self._pieces.after(before, token)
        return None if state == LOST else WrittenSoFar(state, (place,))

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The groups that some tokens lead to, but for what counts within the word."""
        joined, begun = self._reached(written, tokens)
        fits = np.zeros(len(tokens), np.bool_)
        for reached, state in ((joined, written.last), (begun, NO_TOKEN)):
            chosen = np.flatnonzero((reached != LOST) & self.usable[tokens])
            before = max(state, BEGUN)
            fits[chosen] = self._pieces.surviving(before, tokens[chosen], (), ())
        group_of = np.full(len(tokens), -1, np.int64)
        places = np.maximum(joined, begun)[fits]
        group_of[fits], firsts = distinct([places])
        return [((int(place),), 0) for place in places[firsts]], group_of

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        after = self.after(written, token)
        return WrittenSoFar(NO_TOKEN, *group) if after is None else after

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """The tokens that could be followed by a way to the end that follows one of them."""
        place, begins = here.places[0], list[bool]()
        for token in way:
            place, begun = self._step(place, token)
            begins.append(begun)
        good = np.zeros(len(tokens), np.bool_)
        joined, begun = self._reached(written, tokens)
        for reached, state in ((joined, written.last), (begun, NO_TOKEN)):
            chosen = np.flatnonzero(reached != LOST)
            before = max(state, BEGUN)
            good[chosen] = self._pieces.surviving(before, tokens[chosen], way, begins)
        return good

    def _step(self, place: int, token: int) -> tuple[int, bool]:
        """The place after a token in the marked text, and whether a word begins with it."""
        within = int(self._read.row(place)[self._read.spelling_of[token]])
        if within != LOST:
            return within, False
        begun = self._read.row(place + self._marked.num_states)
        return int(begun[self._read.spelling_of[token]]), True

    def _reached(self, written: WrittenSoFar, tokens: Int32) -> tuple[Int32, Int32]:
        """The places after tokens in the marked text: within the present word, and anew."""
        place = written.places[0]
        return (
            self._read.lead(place, tokens),
            self._read.lead(place + self._marked.num_states, tokens),
        )
