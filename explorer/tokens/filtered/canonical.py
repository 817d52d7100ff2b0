"""The canonical machine, which allows only what a tokenizer itself would write.

The parts and the files that hold them:

c.canonical()   a stage of the constraint, `explorer.languages.stages.tokens`
its rules       the tokenizer's behaviour, read from it: `explorer.vocabulary.canonical`
their filter    `neighbours` for a tokenizer that merges (a guard beside a normal form and added
                tokens), `of_tokenizer` for one that looks ahead for its pieces
the machine     `machine`, behind that filter, with the rows of `trimmed`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from explorer.alphabet import LETTER
from explorer.automata.interchange.interegular_bridge import alphabet_of
from explorer.automata.machine import NO_ARC, ByteMachine, Dfa, Int32, whole_table
from explorer.budget import Budget
from explorer.errors import ConstraintError, UnsupportedTokenizer
from explorer.languages.constraint import Constraint
from explorer.tokens.filtered.machine import FilteredMachine
from explorer.tokens.filtered.neighbours import CanonicalFilter, GuardedFilter
from explorer.tokens.filtered.of_tokenizer import TokenizersFilter, WordFilter, kept_filter
from explorer.tokens.filtered.reading import Int64
from explorer.tokens.filtered.trimmed import WrittenSoFar
from explorer.tokens.machine import TokenMachine
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.rules import Rules
from explorer.vocabulary.canonical.word_rules import WordRules
from explorer.vocabulary.tokenizer.encoder import TokenizersEncoder


def canonical_machine(
    machine: TokenMachine, rules: Rules, budget: Budget, constraint: Constraint | None = None
) -> FilteredMachine[WrittenSoFar]:
    """A token machine restricted to the sequences that a tokenizer would write.

    Made by ``explorer.compile(constraint.canonical(tokenizer), vocabulary)``.

    Args:
        budget: Limits for each search, such as the one for an end of the text.
        constraint: The language with all its stages; by default the machine's own.

    Raises:
        UnsupportedTokenizer: The tokenizer treats some text of the constraint by rules that are not
            followed.
        VocabularyError: The machine's vocabulary is not the tokenizer's.
        IncompatibleVocabulary: The tokenizer would write no text of the constraint.
        BudgetExceeded: The search for an end reached a limit.

    Example:
        >>> import explorer
        >>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        >>> pieces = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, ".": 5}
        >>> tokenizer = Tokenizer(models.BPE(pieces, [("a", "b"), ("b", "c")]))
        >>> tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(False, use_regex=False)
        >>> tokenizer.decoder = decoders.ByteLevel()
        >>> vocab = explorer.Vocabulary.from_tokenizer(tokenizer, eos_ids=[5])
        >>> constraint = explorer.literal("abc").canonical(vocab)
        >>> machine = explorer.compile(constraint, vocab)  # ab c, and not a b c or a bc
        >>> machine.allowed(machine.start).tolist()
        [False, False, False, True, False, False]
    """
    _check_texts(rules, machine.byte_machine, machine.vocabulary)
    return FilteredMachine(
        machine, filter_of(rules, machine.vocabulary), budget, constraint=constraint
    )


def filter_of(rules: Rules, vocabulary: Vocabulary) -> TokenizersFilter:
    """The filter of a tokenizer and a vocabulary, shared by all machines.

    Raises:
        VocabularyError: The vocabulary belongs to another tokenizer.
    """
    if isinstance(rules, WordRules):
        return kept_filter(WordFilter, rules, vocabulary)
    guarded = rules.form or rules.added is not None
    return kept_filter(GuardedFilter if guarded else CanonicalFilter, rules, vocabulary)


def _check_texts(rules: Rules, machine: ByteMachine | None, vocabulary: Vocabulary) -> None:
    """Refuse texts that the tokenizer treats by rules that are not supported.

    Raises:
        ConstraintError: The constraint itself says where tokens end.
        UnsupportedTokenizer: The tokenizer's normalizer changes some text of the constraint, a
            text may hold an added token, or a control token takes the spaces beside it.
    """
    if machine is not None and machine.over_tokens:
        raise ConstraintError(
            "This constraint says itself where tokens end, which the canonical filter would have "
            "to agree with; the two are not followed together.",
            remedy="Leave out one of them.",
        )
    normalizer = rules.normalizer if isinstance(rules, WordRules) else ""
    reads_letters = machine is not None and machine.reads_letters
    letters = [*vocabulary.letters.items()] if reads_letters else []
    flagged = {*_with_flags(rules.vocabulary)} if letters else set[int]()
    greedy = [letter for token, letter in letters if token in flagged]
    if not normalizer and not rules.literals and not greedy:
        return
    closed = whole_table(machine)
    if closed is None:
        raise UnsupportedTokenizer(
            f"normalizer.{normalizer}" if normalizer else "added_tokens",
            "whether it changes a text of this constraint is known only of a closed machine, and "
            "this one is too large for that",
            remedy="Make the constraint smaller, or leave out canonical(...).",
        )
    if any(len(_after(closed, np.arange(closed.num_states), each)) for each in greedy):
        raise UnsupportedTokenizer(
            "added_tokens",
            "a control token of this constraint takes the spaces beside it, or stands only between "
            "words, which is not followed here",
            remedy="Leave the token out, or leave out canonical(...).",
        )
    texts = _texts(closed, [letter for _, letter in letters])
    if isinstance(rules, WordRules):
        characters = (chr(k) for text in texts for low, high in alphabet_of(text).ranges
                      for k in range(low, high + 1))  # fmt: skip
        changed = rules.rewritten(characters)
        if changed is not None:
            raise UnsupportedTokenizer(
                f"normalizer.{normalizer}",
                f"it rewrites texts with {changed!r} (U+{ord(changed):04X}), which this constraint "
                f"allows, so the tokenizer would write something else for them",
                remedy="Say what the tokens spell: c.preprocessed(tokenizer).canonical(...); or "
                "restrict the characters first.",
            )
    for literal in rules.literals:
        if any(len(_after(text, _reached(text), literal)) for text in texts):
            raise UnsupportedTokenizer(
                f"added_token {literal.decode(errors='replace')!r}",
                "it cuts a text before anything else does, in a way that is not followed here, and "
                "texts of this constraint may hold it",
                remedy="Take texts that hold it away from the constraint, or leave out "
                "canonical(...).",
            )


def _with_flags(vocabulary: Vocabulary) -> Iterator[int]:
    """The control tokens that a tokenizer finds only with what is beside them."""
    if isinstance(vocabulary.encoder, TokenizersEncoder):
        for token, entry in vocabulary.encoder.tokenizer.get_added_tokens_decoder().items():
            if entry.lstrip or entry.rstrip or entry.single_word:
                yield token


def _after(machine: Dfa, states: Int32 | Int64, word: bytes) -> Int32 | Int64:
    """The states after a word, from those of some states that read it."""
    for byte in word:
        states = machine.table[states, machine.symbol_class[byte]]
        states = states[states >= 0]
    return states


def _texts(machine: Dfa, letters: Iterable[bytes]) -> list[Dfa]:
    """The machines of the texts before, between and after control tokens."""
    every = np.arange(machine.num_states)
    after = {int(state) for each in letters for state in _after(machine, every, each)}
    table = machine.table.copy()
    if after:
        table[:, machine.symbol_class[LETTER]] = NO_ARC
    return [replace(machine, table=table, start=start) for start in {machine.start, *after}]


def _reached(machine: Dfa) -> Int64:
    """The states that some text leads to."""
    reached = np.zeros(machine.num_states, np.bool_)
    front = np.array([machine.start])
    while len(front):
        reached[front] = True
        front = np.unique(machine.table[front])
        front = front[(front >= 0) & ~reached[front]]
    return np.flatnonzero(reached)
