"""The tokens that may follow, if the tokenizer itself should have written the whole sequence.

What was written so far counts by two things: the last token (for the relation between neighbours,
`explorer.vocabulary.canonical.merges`), and where words may have begun (states of
`explorer.vocabulary.canonical.marked` over bytes; several, while the splitter would still read on).
A token is read twice from each of those states: once within the present word, if it may stand
beside the last token there, once as the beginning of a word. What survives is the next state.

All tokens are read from some states at once, by their spelling, and that is kept.

`GuardedFilter` is the same beside a guard, the text's normal form and its added tokens: an ordinary
token stands where the filter allows it and the guard reads it. An added token ends the words before
it and begins anew after it, so it stands where the text might end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from explorer.languages.stages.forms.normal_forms import Form, normal_form_machine
from explorer.memo import Kept
from explorer.tokens.filtered.guard import UNGUARDED, Guard
from explorer.tokens.filtered.of_tokenizer import TokenizersFilter
from explorer.tokens.filtered.reading import FEW, Int64, distinct
from explorer.tokens.filtered.token_filter import MaskedToken
from explorer.tokens.filtered.trimmed import NO_TOKEN, Group, NeighbourFilter, WrittenSoFar
from explorer.tokens.machine import Refusal
from explorer.tokens.words import UInt32, has_bits, pack
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.marked import LOST, Int32
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.rules import CanonicalRules

_FEW: Final = 64
"""Fewer tokens than these are compared with the last one by one."""


@dataclass(frozen=True)
class _Led:
    """The targets of spellings, or of tokens, from some places.

    Attributes:
        groups: The states, but for the token itself.
        joined: int64[n], the group of a token that may stand in the present word; -1.
        begun: int64[n], the group of one that may not; -1.
    """

    groups: Sequence[Group]
    joined: Int64
    begun: Int64


class CanonicalFilter(TokenizersFilter, NeighbourFilter):
    """A filter by the rules of a tokenizer that merges, made by `filter_of`; thread-safe.

    Args:
        vocabulary: The tokens; those of the tokenizer, or the first of them.

    Raises:
        VocabularyError: The vocabulary is another tokenizer's.
    """

    def __init__(self, rules: CanonicalRules, vocabulary: Vocabulary) -> None:
        super().__init__(rules, vocabulary)
        self._merges = rules.merges
        # The tokens that stand for their bytes; an added token does not.
        self._ordinary = self.usable
        self._led: Kept[tuple[int, ...], _Led] = Kept()
        self._refused: Kept[int, UInt32] = Kept()

    def may_end(self, known: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly this."""
        return any(self._marked.ends[k] for k in known.places)

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The states after each of some tokens, but for the token itself."""
        led, spelled = self._from(written.places, tokens)
        group_of = led.joined[spelled]
        if written.last != NO_TOKEN:
            refused = self._are_refused(written.last, tokens)
            group_of[refused] = led.begun[spelled[refused]]
        group_of[~self._ordinary[tokens]] = -1
        return led.groups, group_of

    def following_apart(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[Sequence[Group], Int64]:
        """`following`, as if every token were refused within the present word."""
        led, spelled = self._from(written.places, tokens)
        group_of = led.begun[spelled]
        group_of[~self._ordinary[tokens]] = -1
        return led.groups, group_of

    def _from(self, places: tuple[int, ...], tokens: Int32) -> tuple[_Led, Int32 | Int64]:
        """The targets of some tokens from some places; and for each of them where that stands."""
        led = self._led.get(places)
        if led is None and len(tokens) < FEW:
            return self._led_by(places, lambda place: self._read.lead(place, tokens)), np.arange(
                len(tokens)
            )
        if led is None:
            led = self._led_by(places, self._read.row)
            self._led.put(places, led, led.joined.nbytes + led.begun.nbytes)
        return led, self._read.spelling_of[tokens]

    def _led_by(self, places: tuple[int, ...], row: Callable[[int], Int32]) -> _Led:
        """The targets of spellings, or tokens, from some places, by those from each."""
        within = [row(place) for place in places]
        anew = [place + self._marked.num_states for place in places]
        begun = [row(place) for place in anew if (self._marked.table[place] != LOST).any()]
        groups: list[Group] = []
        rows: list[Int64] = []
        for columns in ([*within, *begun], begun):
            group_of = np.full(len(within[0]), -1, np.int64)
            rows.append(group_of)
            columns = [column for column in columns if column.max(initial=LOST) != LOST]
            if not columns:
                continue
            alive = np.flatnonzero(np.maximum.reduce(columns) != LOST)
            kept = [column[alive] for column in columns]
            key, firsts = distinct([column + 1 for column in kept])
            group_of[alive] = key + len(groups)
            for k in firsts.tolist():
                reached = {int(column[k]) for column in kept} - {LOST}
                groups.append((tuple(sorted(reached)), UNGUARDED))
        return _Led(groups, rows[0], rows[1])

    def goes_on(self, places: Sequence[int]) -> bool:
        """Whether the present word has to go on: the text is within a character, mostly."""
        return all(self._marked.goes_on[place] for place in places)

    def continued(self, places: tuple[int, ...], last: Int32, tokens: Int32) -> Bool:
        """The last tokens, of some, that one of some tokens may follow in the same word."""
        led = [self._read.lead(place, tokens) for place in places]
        able = self._ordinary[tokens] & (np.maximum.reduce(led) != LOST)
        return self._merges.fitting_any(last, tokens[able])

    def refused_words(self, last: int) -> UInt32:
        """uint32[words], the tokens that may not follow another one within a word, as bits."""
        refused = self._refused.get(last)
        if refused is None:
            whole = np.zeros(len(self._ordinary), np.bool_)
            if last != NO_TOKEN:
                row = self._merges.refused_after(last)[: len(whole)]
                whole[: len(row)] = row
            refused = pack(whole)
            self._refused.put(last, refused, refused.nbytes)
        return refused

    def _are_refused(self, last: int, tokens: Int32) -> Bool:
        """The tokens, of some, that may not follow another one within a word."""
        if len(tokens) < _FEW:
            return ~self._merges.fitting_after(last, tokens)
        return has_bits(self.refused_words(last), tokens)

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        return WrittenSoFar(token, *group)

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """The tokens that could be followed by a way to the end that follows one of them."""
        following = np.array(way[:1], np.int32)
        continues = any(int(self._read.lead(place, following)[0]) != LOST for place in here.places)
        if continues and (here.last == NO_TOKEN or self._merges.fits(here.last, way[0])):
            return self._merges.fitting(tokens, way[0])
        return np.ones(len(tokens), np.bool_)


_ANEW = (0,)
"""The places after an added token: words begin there as at the start of a text."""


class GuardedFilter(CanonicalFilter):
    """A filter of a tokenizer that has added tokens or a normal form; thread-safe.

    Args:
        vocabulary: The tokens; those of the tokenizer, or the first of them.
    """

    def __init__(self, rules: CanonicalRules, vocabulary: Vocabulary) -> None:
        super().__init__(rules, vocabulary)
        self._form = rules.form
        normal = normal_form_machine(cast("Form", rules.form)) if rules.form else None
        self._guard = Guard(vocabulary, normal, rules.added)
        places = self._guard.place_of
        self._added: Bool = np.zeros(len(vocabulary), np.bool_)
        self._added[list(places)] = True
        self._entry_of: Int32 = np.zeros(len(vocabulary), np.int32)
        self._entry_of[list(places)] = list(places.values())
        self.usable: Bool = self._ordinary | self._added
        self._beside: Kept[int, tuple[UInt32, Int32]] = Kept()

    def may_end(self, known: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly this."""
        return super().may_end(known) and self._guard.ends(known.guard)

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The states after each of some tokens, but for the token itself."""
        return self._guarded(written, tokens, *super().following(written, tokens))

    def following_apart(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[Sequence[Group], Int64]:
        """`following`, as if every token were refused within the present word."""
        return self._guarded(written, tokens, *super().following_apart(written, tokens))

    def _guarded(
        self,
        written: WrittenSoFar,
        tokens: Int32,
        groups: Sequence[Group],
        group_of: Int64,
    ) -> tuple[Sequence[Group], Int64]:
        """The answer of the filter, as far as the guard reads the tokens; and the added tokens."""
        reached = self._guard.read(written.guard, tokens)
        guarded: list[Group] = []
        result = np.full(len(tokens), -1, np.int64)
        alive = np.flatnonzero((group_of >= 0) & (reached != LOST))
        if len(alive):
            result[alive], firsts = distinct([group_of[alive], reached[alive]])
            for k in alive[firsts].tolist():
                places, _ = groups[int(group_of[k])]
                guarded.append((places, int(reached[k])))
        chosen = np.flatnonzero(self._added[tokens])
        if len(chosen) and super().may_end(written):
            after = self._guard.after_added(written.guard)[self._entry_of[tokens[chosen]]]
            chosen, after = chosen[after != LOST], after[after != LOST]
            if len(chosen):
                key, firsts = distinct([after])
                result[chosen] = len(guarded) + key
                guarded += [(_ANEW, int(after[k])) for k in firsts.tolist()]
        return guarded, result

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        return WrittenSoFar(NO_TOKEN if self._added[token] else token, *group)

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """The tokens that could be followed by a way to the end that follows one of them."""
        if self._added[way[0]]:
            return np.ones(len(tokens), np.bool_)
        # Behind an added token, everything fits that fits anywhere.
        return super().suits(written, tokens, here, way) | self._added[tokens]

    def beside_guard(self, written: WrittenSoFar) -> tuple[UInt32, Int32] | None:
        """The differences between the row of a state and the one whose guard is at the start."""
        if written.guard == UNGUARDED or self.goes_on(written.places):
            return None
        beside = self._beside.get(written.guard)
        if beside is None:
            every = np.arange(len(self.usable), dtype=np.int32)
            start, here = (self._guard.read(k, every) for k in (UNGUARDED, written.guard))
            alike = (start == here) & ~self._added
            others = np.flatnonzero((~alike & (here != LOST)) | self._added).astype(np.int32)
            beside = pack(alike), others
            self._beside.put(written.guard, beside, beside[0].nbytes + others.nbytes)
        return beside

    def refusal(self, masked: MaskedToken[WrittenSoFar]) -> Refusal:
        """The refusal that names the normal form, where no text that goes on so is in it."""
        texts = masked.machine.byte_machine
        if self._form and texts is not None and masked.target >= 0:
            after = masked.machine.byte_state(masked.target)
            if not self._guard.keeps_form(masked.known.guard, masked.token, texts, after):
                reason = f"the normalizer {self._form} would rewrite the text"
                return Refusal(self.name, (), reason)
        return super().refusal(masked)
