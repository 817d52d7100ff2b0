"""The filter of a tokenizer's rules: one for all machines."""

from __future__ import annotations

from typing import cast

from explorer.languages.stages.forms.normal_forms import Form, normal_form_machine
from explorer.memo import Recent
from explorer.tokens.filtered.by_words import WordFilter
from explorer.tokens.filtered.canonical import CanonicalFilter
from explorer.tokens.filtered.guard import Guard
from explorer.tokens.filtered.guarded import GuardedFilter
from explorer.tokens.filtered.token_filter import TokenFilter
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.rules import Rules
from explorer.vocabulary.canonical.word_rules import WordRules

_filters = Recent[tuple[int, str], TokenFilter]()


def filter_of(rules: Rules, vocabulary: Vocabulary) -> TokenFilter:
    """The filter of a tokenizer and a vocabulary, one for all machines.

    Raises:
        VocabularyError: The vocabulary is another tokenizer's.
    """

    def make() -> TokenFilter:
        if isinstance(rules, WordRules):
            return WordFilter(rules, vocabulary)
        words = CanonicalFilter(rules, vocabulary)
        if not rules.form and rules.added is None:
            return words
        normal = normal_form_machine(cast("Form", rules.form)) if rules.form else None
        return GuardedFilter(words, Guard(vocabulary, normal, rules.added))

    # The filter holds the rules, so no other rules have their identity while it is kept.
    return _filters.get((id(rules), vocabulary.fingerprint), make)
