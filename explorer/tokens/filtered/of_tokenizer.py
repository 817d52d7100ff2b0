"""The part that filters of all tokenizers share: the tokens that count, and why one is masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.automata.words import shortest_word
from explorer.errors import VocabularyError
from explorer.memo import Recent
from explorer.tokens.filtered.reading import MarkedTokens
from explorer.tokens.filtered.token_filter import MaskedToken
from explorer.tokens.filtered.trimmed import TrimmedFilter, WrittenSoFar
from explorer.tokens.machine import Refusal
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.rules import CanonicalRules, Rules


class TokenizersFilter(TrimmedFilter):
    """A filter that keeps to what a tokenizer itself would write; thread-safe.

    Args:
        vocabulary: The tokens; those of the tokenizer, or the first of them.

    Raises:
        VocabularyError: The vocabulary is another tokenizer's.
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
        """The refusal that says which tokens the tokenizer would write instead."""
        tokens, token = self._vocabulary.tokens, masked.token
        near = () if masked.came_by is None else (masked.came_by,)
        chosen = near if masked.target < 0 else (*near, token)
        text = b"".join(tokens[one] or b"" for one in chosen)
        pieces = self._rules.encode(text)
        if masked.target >= 0 and (pieces is None or pieces[: len(chosen)] == chosen):
            # By itself it would be written so: what follows decides.
            characters = masked.machine.byte_machine
            if characters is not None:
                rest = shortest_word(characters, masked.machine.byte_state(masked.target))
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
    """The filter of a kind for a tokenizer and a vocabulary, one for all machines."""
    # The filter holds the rules, so no other rules have their identity while it is kept.
    key = kind, id(rules), vocabulary.fingerprint
    return _filters.get(key, lambda: kind(rules, vocabulary))


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
