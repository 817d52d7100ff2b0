"""A token machine behind a filter of tokens: what the tokens before allow, its dead ends trimmed.

A state is a state of the machine without the filter and what counts of the tokens so far
(`explorer.tokens.filtered.token_filter`); states are numbered as they are met. A token is allowed
exactly if the text can still be completed with tokens that the filter allows, so there are no dead
ends. `CanonicalMachine` keeps to the one sequence of tokens that a tokenizer itself would write;
`explorer.tokens.filtered.ruled` has the filters that are small machines.

Cost at 131,072 tokens: a row takes some milliseconds where nearly all tokens are allowed by the
machine without the filter, and a fraction of one where few are; masks are kept, 64 MB of them.
Over a lazy machine a wide row is slower: it is asked token by token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from explorer.automata.machine import NO_ARC, ByteMachine, Int32
from explorer.automata.words import shortest_word
from explorer.budget import Budget, Meter
from explorer.errors import ExplorerError, IncompatibleVocabulary
from explorer.languages.constraint import Constraint
from explorer.tokens.filtered.choose import filter_of
from explorer.tokens.filtered.finding import FilteredEnds, Place
from explorer.tokens.filtered.guard import UNGUARDED
from explorer.tokens.filtered.guarded import GuardedFilter
from explorer.tokens.filtered.limits import check_texts
from explorer.tokens.filtered.token_filter import (
    NO_TOKEN,
    START,
    Group,
    Int64,
    NeighbourFilter,
    TokenFilter,
    WrittenSoFar,
    distinct,
)
from explorer.tokens.kept import Kept
from explorer.tokens.machine import Refusal, Reusable, TokenMachine
from explorer.tokens.numbered_places import NumberedPlaces
from explorer.tokens.report import Report
from explorer.tokens.states import SENTINEL_DISTANCE, checked_state
from explorer.tokens.words import UInt32, num_words, set_bits
from explorer.vocabulary.canonical.rules import CanonicalRules, Rules


class FilteredMachine(NumberedPlaces[Place]):
    """A token machine behind a filter; thread-safe.

    Args:
        machine: The machine without the filter.
        rule: The filter.
        name: Its name, for the times of a report.
        budget: Limits for each question that searches, such as "can this be finished".
        places: The states that were met, by number, the start first.
        constraint: The language with all its stages; default that of the machine.

    Raises:
        IncompatibleVocabulary: The filter leaves no spelling of any text.
        BudgetExceeded: It took too long to find out.
    """

    def __init__(
        self,
        machine: TokenMachine,
        rule: TokenFilter,
        name: str,
        budget: Budget,
        places: Sequence[Place] = (),
        constraint: Constraint | None = None,
    ) -> None:
        began = perf_counter()
        super().__init__(machine.vocabulary, places or ((machine.start, START),))
        self._machine = machine
        self._constraint = machine.constraint if constraint is None else constraint
        self._budget = budget
        self._filter = rule
        self._finding = FilteredEnds(machine, rule)
        self._neighbours = rule if isinstance(rule, NeighbourFilter) else None
        # For a filter of neighbours, the rows of a state of all last tokens.
        self._rows: Kept[Place, tuple[UInt32, UInt32]] = Kept()
        # The state and the token that first led to each state, for messages.
        self._came: dict[int, tuple[int, int]] = {}
        if not self._finding.can_finish(self._places[0], Meter(budget)):
            raise self._nothing_left()
        report = machine.report
        self._report = replace(
            report,
            milliseconds={**report.milliseconds, name: 1e3 * (perf_counter() - began)},
            kind=name,
        )

    @property
    def unfiltered(self) -> TokenMachine:
        """The machine without the filter."""
        return self._machine

    @property
    def constraint(self) -> Constraint | None:
        """The language, with its source and its filter."""
        return self._constraint

    @property
    def report(self) -> Report:
        """Times and sizes; the sizes are those of the machine without the filter."""
        return self._report

    @property
    def byte_machine(self) -> ByteMachine | None:
        """The machine over bytes that this one follows: the filter changes no text."""
        return self._machine.byte_machine

    def byte_state(self, state: int) -> int:
        """The state of `byte_machine` that a state stands for; `NO_ARC` for a sentinel."""
        state = checked_state(state, len(self._places))
        return NO_ARC if state < 0 else self._machine.byte_state(self._places[state][0])

    def text_to(self, state: int) -> bytes | None:
        """The text that first led to a state; ``None`` where the machine was not there to see it.

        A state is about the tokens before it, so a shortest text to its byte state need not be one
        of its texts.

        Args:
            state: A state, not a sentinel.
        """
        state = checked_state(state, len(self._places))
        tokens: list[int] = []
        while state in self._came:
            state, token = self._came[state]
            tokens.append(token)
        if state != self.start:
            return None
        return b"".join(self._vocabulary.tokens[token] or b"" for token in reversed(tokens))

    def distance_to_end(self, state: int) -> int | None:
        """Known of the sentinels alone; ``None`` of every other state."""
        state = checked_state(state, len(self._places))
        return SENTINEL_DISTANCE.get(state)

    def _after(self, place: Place, token: int) -> Place | None:
        before, written = place
        target = self._machine.step(before, token)
        if target is None or target < 0:
            return None
        with self._lock:
            after = self._filter.after(written, token)
        return None if after is None else (target, after)

    def _can_finish(self, place: Place) -> bool:
        return self._finding.can_finish(place, Meter(self._budget))

    def _meet(self, number: int, before: int, token: int) -> None:
        self._came[number] = before, token

    def _is_end(self, place: Place) -> bool:
        return self._finding.is_end(place)

    def _set_tokens(self, place: Place, words: UInt32) -> None:
        before, written = place
        if self._neighbours is None:
            tokens = self._finding.candidates(before)
            self._decide(before, written, tokens, self._filter.following(written, tokens), words)
            return
        joined, apart = self._rows_of(self._neighbours, before, replace(written, last=NO_TOKEN))
        refused = self._neighbours.refused_words(written.last)
        words |= (joined & ~refused) | (apart & refused)

    def _rows_of(
        self, rule: NeighbourFilter, before: int, written: WrittenSoFar
    ) -> tuple[UInt32, UInt32]:
        """The rows of all last tokens: of those that it leaves in the word, and of the others."""
        key = before, written
        known = self._rows.get(key)
        if known is not None:
            return known
        joined, apart = (np.zeros(num_words(len(self._vocabulary)), np.uint32) for _ in range(2))
        tokens = self._finding.candidates(before)
        beside = rule.beside_guard(written)
        if beside is not None:
            like_start, others = beside
            base = self._rows_of(rule, before, replace(written, guard=UNGUARDED))
            joined |= base[0] & like_start
            apart |= base[1] & like_start
            tokens = np.intersect1d(tokens, others, assume_unique=True)
        self._decide(before, written, tokens, rule.following(written, tokens), joined)
        self._decide(before, written, tokens, rule.following_apart(written, tokens), apart)
        self._rows.put(key, (joined, apart), joined.nbytes + apart.nbytes)
        return joined, apart

    def _decide(
        self,
        before: int,
        written: WrittenSoFar,
        tokens: Int32,
        following: tuple[Sequence[Group], Int64],
        words: UInt32,
    ) -> None:
        """Set the bits of the tokens after which the text can be completed."""
        groups, group_of = following
        tokens, group_of = tokens[group_of >= 0], group_of[group_of >= 0]
        if not len(tokens):
            return
        targets = self._finding.targets(before, tokens)
        # Tokens that lead to one state of the machine and one group differ only in themselves.
        key, firsts = distinct([group_of, targets + 1])
        meter = Meter(self._budget)
        order = np.argsort(key, kind="stable")
        ends = np.cumsum(np.bincount(key, minlength=len(firsts)))
        for number, members in enumerate(np.split(order, ends[:-1])):
            first = firsts[number]
            target = int(targets[first])
            if target < 0:
                continue
            last = tokens[members]
            able = self._finding.able(target, groups[int(group_of[first])], written, last, meter)
            set_bits(words, last[able])

    def save(self, path: str | Path) -> None:
        """Write the table without the filter and the constraint with it to one file.

        Args:
            path: The file; `explorer.tokens.filtered.apply.load_filtered` reads it.

        Raises:
            ExplorerError: The machine without the filter is not a table.
        """
        machine = self._machine
        if not isinstance(machine, Reusable):
            raise ExplorerError(
                "Only a machine over a table can be saved; this one works its rows out.",
                remedy="Compile the constraint with a larger budget, or save its source.",
            )
        if self._constraint is not None:
            machine = machine.of_constraint(self._constraint)
        machine.save(path)

    def _nothing_left(self) -> IncompatibleVocabulary:
        """The error of a filter that leaves no text."""
        machine = self._machine.byte_machine
        word = b"" if machine is None else shortest_word(machine)
        return IncompatibleVocabulary(
            f"{self._left} A shortest text is {word.decode(errors='backslashreplace')!r}.",
            witness=word,
            offset=0,
            remedy=self._remedy,
        )

    _left = "The filter leaves no spelling of any text."
    _remedy = "Leave the stage out, or allow texts that can be written without such tokens."


class CanonicalMachine(FilteredMachine):
    """A token machine filtered by what a tokenizer would write; thread-safe.

    Made by ``explorer.compile(constraint.canonical(tokenizer), vocabulary)``.

    Args:
        machine: The machine without the filter.
        rules: The tokenizer's.
        budget: Limits for each question that searches, such as "can this be finished".
        places: The states that were met, by number, the start first.
        constraint: The language with all its stages; default that of the machine.

    Raises:
        UnsupportedTokenizer: The tokenizer treats some text of the constraint by rules that are not
            followed.
        VocabularyError: The machine's vocabulary is not the tokenizer's.
        IncompatibleVocabulary: The tokenizer would write no text of the constraint.
        BudgetExceeded: It took too long to find out.

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

    _left = "The tokenizer would write no text of the constraint as it stands."
    _remedy = "Leave out canonical(...), or allow texts that the tokenizer writes."

    def __init__(
        self,
        machine: TokenMachine,
        rules: Rules,
        budget: Budget,
        places: Sequence[Place] = (),
        constraint: Constraint | None = None,
    ) -> None:
        check_texts(rules, machine.byte_machine, Meter(budget))
        self._rules = rules
        if isinstance(rules, CanonicalRules) and rules.form:
            self._left = (
                f"The tokenizer would write no text of the constraint as it stands; its "
                f"normalizer {rules.form} rewrites texts."
            )
            self._remedy = (
                "Say what the tokens spell with c.preprocessed(tokenizer).canonical(...), or allow "
                "texts that the tokenizer writes."
            )
        rule = filter_of(rules, machine.vocabulary)
        super().__init__(machine, rule, "canonical", budget, places, constraint)

    def refusal(self, state: int, token: int) -> Refusal | None:
        """Why the filter masks a token that the machine without it allows; else ``None``.

        Args:
            state: A state or a sentinel.
            token: A token id.
        """
        if state < 0 or self.step(state, token) is not None:
            return None
        target = self._machine.step(self._places[state][0], token)
        if target is None:
            return None
        rewrites = self._rules.form if isinstance(self._rules, CanonicalRules) else ""
        if rewrites and target >= 0 and self._leaves_form(state, token, target):
            return Refusal("canonical", (), f"the normalizer {rewrites} would rewrite the text")
        tokens = self.vocabulary.tokens
        near = (self._came[state][1],) if state in self._came else ()
        chosen = near if target < 0 else (*near, token)
        text = b"".join(tokens[one] or b"" for one in chosen)
        pieces = self._rules.encode(text)
        if target >= 0 and (pieces is None or pieces[: len(chosen)] == chosen):
            # By itself it would be written so: what follows decides.
            machine = self._machine.byte_machine
            if machine is not None:
                rest = shortest_word(machine, self._machine.byte_state(target))
                pieces = self._rules.encode(text + rest)
        if pieces is None or pieces[: len(chosen)] == chosen:
            return Refusal("canonical", ())
        same = next(k for k in range(len(pieces) + 1) if pieces[: k + 1] != chosen[: k + 1])
        owed = sum(len(tokens[one] or b"") for one in chosen[same:])
        different: list[bytes] = []
        for piece in pieces[same:]:
            if owed <= 0:
                break
            different.append(tokens[piece] or b"")
            owed -= len(different[-1])
        return Refusal("canonical", tuple(different))

    def _leaves_form(self, state: int, token: int, target: int) -> bool:
        """Whether no text that goes on so is in the normal form."""
        rule, texts = self._filter, self._machine.byte_machine
        if not isinstance(rule, GuardedFilter) or texts is None:
            return False
        after = self._machine.byte_state(target)
        return not rule.keeps_form(self._places[state][1], token, texts, after)

    def __reduce__(self) -> tuple[object, ...]:
        parts = (
            self._machine, self._rules, self._budget, tuple(self._places), self._constraint
        )  # fmt: skip
        return CanonicalMachine, parts

    def __repr__(self) -> str:
        return f"CanonicalMachine({self._machine!r}, {self.num_states} states met)"
