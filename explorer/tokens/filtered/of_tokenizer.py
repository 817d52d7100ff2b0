"""The base of a tokenizer's filters, and the filter of tokenizers that look ahead.

The base holds the usable tokens and the reason why one is masked. Tokenizers that choose pieces by
looking ahead are Unigram and WordPiece (`WordFilter`). Two parts of the tokens so far matter: the
state of the marked text, a single one because a cut is known by its character alone, and the state
of the model within the present word (`explorer.vocabulary.canonical.word_rules`). The latter
differs from token to token, so the targets of a wide row are not numbered: one call checks a way to
the end for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from explorer.alphabet import LETTER
from explorer.automata.words import shortest_word
from explorer.errors import VocabularyError
from explorer.memo import Recent
from explorer.tokens.filtered.reading import Int64, MarkedTokens, distinct
from explorer.tokens.filtered.token_filter import MaskedToken
from explorer.tokens.filtered.trimmed import NO_TOKEN, Group, TrimmedFilter, WrittenSoFar
from explorer.tokens.machine import Refusal
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import LOST, Int32
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.piece_trie import BEGUN
from explorer.vocabulary.canonical.rules import CanonicalRules, Rules
from explorer.vocabulary.canonical.word_rules import WordRules


class TokenizersFilter(TrimmedFilter):
    """A filter that allows only what a tokenizer itself would write; thread-safe.

    Args:
        vocabulary: The tokenizer's tokens, or a prefix of them.

    Raises:
        VocabularyError: The vocabulary belongs to another tokenizer.
    """

    name = kind = "canonical"

    def __init__(self, rules: Rules, vocabulary: Vocabulary) -> None:
        check_same(rules.vocabulary, vocabulary)
        self._rules, self._vocabulary = rules, vocabulary
        self._marked = rules.marked
        single = rules.single if isinstance(rules, CanonicalRules) else None
        self._read = MarkedTokens(rules.marked, vocabulary, single)
        self.lengths = self._read.lengths
        usable = np.zeros(len(vocabulary), np.bool_)
        usable[: len(rules.usable)] = rules.usable[: len(vocabulary)]
        text = np.array([data is not None for data in vocabulary.tokens])
        self.usable: Bool = usable & text

    def refusal(self, masked: MaskedToken[WrittenSoFar]) -> Refusal:
        """The refusal that names the tokens that the tokenizer would write instead."""
        tokens, token = self._vocabulary.tokens, masked.token
        near = () if masked.came_by is None else (masked.came_by,)
        is_text = masked.target >= 0 and tokens[token] is not None
        chosen = tuple(one for one in (*near, token) if tokens[one] is not None)
        chosen = chosen if is_text else chosen[: len(near)]
        text = b"".join(tokens[one] or b"" for one in chosen)
        pieces = self._rules.encode(text)
        if is_text and (pieces is None or pieces[: len(chosen)] == chosen):
            # By itself the tokenizer would write it so; the text that follows decides.
            characters = masked.machine.byte_machine
            if characters is not None:
                rest = shortest_word(characters, masked.machine.byte_state(masked.target))
                rest = rest.partition(bytes((LETTER,)))[0]
                pieces = self._rules.encode(text + rest)
        if pieces is None or pieces[: len(chosen)] == chosen:
            return Refusal(self.name, ())
        same = next(k for k in range(len(pieces) + 1) if pieces[: k + 1] != chosen[: k + 1])
        owed = sum(len(tokens[one] or b"") for one in chosen[same:])
        different: list[bytes] = []
        for piece in pieces[same:]:
            if owed <= 0:
                break
            different.append(tokens[piece] or b"")
            owed -= len(different[-1])
        return Refusal(self.name, tuple(different))

    @property
    def nothing_left(self) -> tuple[str, str]:
        """The message and the remedy of the error where the tokenizer writes no text."""
        message = "The tokenizer would write no text of the constraint as it stands"
        form = self._rules.form if isinstance(self._rules, CanonicalRules) else ""
        if form:
            return f"{message}; its normalizer {form} rewrites texts.", (
                "Say what the tokens spell with c.preprocessed(tokenizer).canonical(...), or allow "
                "texts that the tokenizer writes."
            )
        remedy = "Leave out canonical(...), or allow texts that the tokenizer writes."
        return f"{message}.", remedy

    def __reduce__(self) -> tuple[object, ...]:
        return kept_filter, (type(self), self._rules, self._vocabulary)


_filters = Recent[
    tuple[Callable[[Any, Vocabulary], TokenizersFilter], int, str], TokenizersFilter
]()


def kept_filter(
    kind: Callable[[Any, Vocabulary], TokenizersFilter], rules: Rules, vocabulary: Vocabulary
) -> TokenizersFilter:
    """The filter of a kind for a tokenizer and a vocabulary, shared by all machines."""
    # A kept filter holds its rules, so their id is not reused.
    key = kind, id(rules), vocabulary.fingerprint
    return _filters.get(key, lambda: kind(rules, vocabulary))


def check_same(tokenizer: Vocabulary, vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary whose ids write other bytes than the tokenizer's.

    Raises:
        VocabularyError: An id differs; the first one is named.
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


class WordFilter(TokenizersFilter):
    """A filter by the rules of a tokenizer that looks ahead for its pieces; thread-safe.

    Made by `explorer.tokens.filtered.canonical.filter_of`.

    Args:
        vocabulary: The tokenizer's tokens, or a prefix of them.

    Raises:
        VocabularyError: The vocabulary belongs to another tokenizer.
    """

    reach = 256
    """The model's window stays open for some tokens; ways are rarely longer than this."""

    def __init__(self, rules: WordRules, vocabulary: Vocabulary) -> None:
        super().__init__(rules, vocabulary)
        self._pieces = rules.pieces

    def may_end(self, known: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly these tokens."""
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
        """The groups that tokens lead to: the states after them without the state of the model."""
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
        """The tokens after which a known way to the end stays valid; see `TrimmedFilter.suits`."""
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
        """The place after a token in the marked text, and whether the token begins a word."""
        within = int(self._read.row(place)[self._read.spelling_of[token]])
        if within != LOST:
            return within, False
        begun = self._read.row(place + self._marked.num_states)
        return int(begun[self._read.spelling_of[token]]), True

    def _reached(self, written: WrittenSoFar, tokens: Int32) -> tuple[Int32, Int32]:
        """The places after tokens in the marked text, within the present word and as a new word."""
        place = written.places[0]
        return (
            self._read.lead(place, tokens),
            self._read.lead(place + self._marked.num_states, tokens),
        )
