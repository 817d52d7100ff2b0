"""The filter of tokenizers that merge: the tokens that keep the whole sequence canonical.

Two parts of the tokens so far matter: the last token (for the relation between neighbours,
`explorer.vocabulary.canonical.merges`), and the possible beginnings of words (states of
`explorer.vocabulary.canonical.marked` over bytes; several, while the splitter would still read on).
A token is read twice from each of those states: within the present word, if it may follow the last
token there, and as the beginning of a word. The surviving states are the next state.

All tokens are read from some states at once, by their spelling, and the result is kept.

`GuardedFilter` adds a guard for the text's normal form and its added tokens: an ordinary token is
allowed where both the filter and the guard allow it. An added token ends the word before it and
begins anew after it, so it is allowed where the text might end. A normalizer such as NFC leaves
only texts in its own form unchanged, so no canonical sequence spells another text, and added tokens
are cut out before any other rule applies, so ordinary tokens never spell one. Both are machines
over bytes that run beside the text; a guard's state is a pair of their states, numbered as pairs
are met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from explorer.automata.machine import ByteMachine, Dfa
from explorer.jit import jit
from explorer.languages.stages.forms.normal_forms import Form, normal_form_machine
from explorer.memo import Kept, number_of
from explorer.tokens.filtered.of_tokenizer import TokenizersFilter
from explorer.tokens.filtered.reading import FEW, Int64, UInt8, distinct
from explorer.tokens.filtered.token_filter import MaskedToken
from explorer.tokens.filtered.trimmed import NO_TOKEN, Group, NeighbourFilter, WrittenSoFar
from explorer.tokens.machine import Refusal
from explorer.tokens.words import UInt32, has_bits, pack
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.added_search import AddedSearch, AddedText
from explorer.vocabulary.canonical.marked import LOST, Int32
from explorer.vocabulary.canonical.merges import Bool
from explorer.vocabulary.canonical.rules import CanonicalRules

UNGUARDED: Final = 0
"""The state of a guard at the start of a text, and of every text without a guard."""

Pair = tuple[int, int]
"""A state of the normal form's machine, and one of the search for added tokens."""


@jit
def _read_bytes(
    data: UInt8, offset: Int64, tokens: Int32, class_of: Int32, table: Int32, state: int,
    reached: Int32,
) -> None:  # fmt: skip
    """The states after the bytes of some tokens."""
    for k in range(tokens.shape[0]):
        token = tokens[k]
        here = state
        for at in range(offset[token], offset[token + 1]):
            here = table[here, class_of[data[at]]]
            if here < 0:
                here = -1
                break
        reached[k] = here


class Guard:
    """The normal form and the search for added tokens, read token by token; thread-safe.

    Args:
        normal: The machine of the normal form; ``None`` where every text is in it.
        added: The search for added tokens; ``None`` where there are none.
    """

    def __init__(
        self, vocabulary: Vocabulary, normal: Dfa | None, added: AddedSearch | None
    ) -> None:
        parts = [data or b"" for data in vocabulary.tokens]
        sizes = np.array([len(part) for part in parts], np.int64)
        self._data = np.frombuffer(b"".join(parts), np.uint8)
        self._offset: Int64 = np.concatenate(([0], np.cumsum(sizes)))
        self._normal, self._added = normal, added
        entries = added.entries if added is not None else ()
        self.place_of = {entry.token: k for k, entry in enumerate(entries)
                         if entry.token < len(parts)}  # fmt: skip
        self._pairs: list[Pair] = [(0 if normal is None else normal.start, 0)]
        self._numbers: dict[Pair, int] = {self._pairs[0]: UNGUARDED}
        self._reached: Kept[int, Int32] = Kept()
        self._taken: Kept[int, Int32] = Kept()

    def ends(self, state: int) -> bool:
        """Whether the text may end."""
        return self._normal is None or bool(self._normal.accepting[self._pairs[state][0]])

    def read(self, state: int, tokens: Int32) -> Int32:
        """The states after tokens read as ordinary text: int32[n], `LOST` where one is refused."""
        reached = self._reached.get(state)
        if reached is not None:
            return reached[tokens]
        if len(tokens) < FEW:
            return self._read_from(state, tokens)
        reached = self._read_from(state, np.arange(len(self._offset) - 1, dtype=np.int32))
        self._reached.put(state, reached, reached.nbytes)
        return reached[tokens]

    def keeps_form(self, state: int, token: int, texts: ByteMachine, after: int) -> bool:
        """Whether some text in the normal form goes on with the bytes of a token.

        Args:
            after: The state of ``texts`` after the token: its next bytes may complete a character.
        """
        form = self._pairs[state][0]
        if self._normal is None:
            return True
        data = self._data[self._offset[token] : self._offset[token + 1]].tobytes()
        for byte in data:
            form = self._normal.step(form, byte)
        ways = {(form, after)}
        for _ in range(tail_of(data)[1]):
            ways = {(self._normal.step(one, byte), texts.step(at, byte))
                    for one, at in ways for byte in texts.expected(at)}  # fmt: skip
        return any(one >= 0 for one, _ in ways)

    def after_added(self, state: int) -> Int32:
        """The states after each added token, or `LOST`: int32[entries]."""
        known = self._taken.get(state)
        if known is not None or self._added is None:
            return np.zeros(0, np.int32) if known is None else known
        form, search = self._pairs[state]
        searches = self._added.took(search)
        forms = [form if searches[k] != LOST else LOST for k in range(len(searches))]
        if self._normal is not None:
            forms = [self._form_after(form, entry) for entry in self._added.entries]
        numbers: dict[Pair, int] = {}
        for pair in set(zip(forms, searches.tolist(), strict=True)):
            numbers[pair] = LOST if LOST in pair else self._number(pair)
        pairs = zip(forms, searches.tolist(), strict=True)
        taken = np.array([numbers[pair] for pair in pairs]).astype(np.int32)
        self._taken.put(state, taken, taken.nbytes)
        return taken

    def _form_after(self, form: int, entry: AddedText) -> int:
        """The state of the normal form after an added token, or `LOST`."""
        if self._normal is None:
            return form
        if entry.early:  # The parts on both sides of it are normalized separately.
            return self._normal.start if self._normal.accepting[form] else LOST
        for byte in entry.content:
            form = self._normal.step(form, byte)
        return form if form >= 0 else LOST

    def _number(self, pair: Pair) -> int:
        return number_of(pair, self._pairs, self._numbers)

    def _read_from(self, state: int, tokens: Int32) -> Int32:
        form, search = self._pairs[state]
        normal, added = self._normal, self._added
        forms = searches = np.zeros(len(tokens), np.int32)
        if normal is not None:
            forms = self._led(tokens, normal.symbol_class, normal.table, form)
        if added is not None:
            searches = self._led(tokens, added.class_of.astype(np.int32), added.table, search)
        reached = np.full(len(tokens), LOST, np.int32)
        alive = np.flatnonzero((forms >= 0) & (searches >= 0))
        joined = forms[alive].astype(np.int64) << 32 | searches[alive]
        values, which = np.unique(joined, return_inverse=True)
        numbers = [self._number((int(value) >> 32, int(value) & 0xFFFFFFFF)) for value in values]
        reached[alive] = np.array(numbers, np.int32)[which.reshape(-1)]
        return reached

    def _led(self, tokens: Int32, class_of: Int32, table: Int32, state: int) -> Int32:
        reached = np.empty(len(tokens), np.int32)
        _read_bytes(self._data, self._offset, tokens, class_of, table, state, reached)
        return reached


def tail_of(data: bytes) -> tuple[bytes, int]:
    """The incomplete character at the end of some bytes, and the number of bytes it lacks.

    Example:
        >>> tail_of("aé".encode()[:-1]), tail_of(b"abc")
        ((b'\\xc3', 1), (b'', 0))
    """
    for back in range(1, min(3, len(data)) + 1):
        lead = data[-back]
        if lead < 0x80:
            break
        if lead >= 0xC0:
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return (data[-back:], length - back) if length > back else (b"", 0)
    return b"", 0


_FEW: Final = 64
"""Below this number of tokens each is compared with the last one by itself."""


@dataclass(frozen=True)
class _Led:
    """The targets of spellings, or of tokens, from some places.

    Attributes:
        groups: The distinct targets, without the last token.
        joined: int64[n], the group of a token that may continue the present word; -1 for none.
        begun: int64[n], the group of a token that may only begin a word; -1 for none.
    """

    groups: Sequence[Group]
    joined: Int64
    begun: Int64


class CanonicalFilter(TokenizersFilter, NeighbourFilter):
    """A filter by the rules of a tokenizer that merges, made by `filter_of`; thread-safe.

    Args:
        vocabulary: The tokenizer's tokens, or a prefix of them.

    Raises:
        VocabularyError: The vocabulary belongs to another tokenizer.
    """

    def __init__(self, rules: CanonicalRules, vocabulary: Vocabulary) -> None:
        super().__init__(rules, vocabulary)
        self._merges = rules.merges
        # The tokens that stand for their bytes, which excludes added tokens.
        self._ordinary = self.usable
        self._led: Kept[tuple[int, ...], _Led] = Kept()
        self._refused: Kept[int, UInt32] = Kept()

    def may_end(self, known: WrittenSoFar) -> bool:
        """Whether the tokenizer may have written exactly these tokens."""
        return any(self._marked.ends[k] for k in known.places)

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The groups that tokens lead to: the states after them without the last token."""
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
        """`following`, with every token refused within the present word."""
        led, spelled = self._from(written.places, tokens)
        group_of = led.begun[spelled]
        group_of[~self._ordinary[tokens]] = -1
        return led.groups, group_of

    def _from(self, places: tuple[int, ...], tokens: Int32) -> tuple[_Led, Int32 | Int64]:
        """The targets of tokens from some places; and the index of each token in them."""
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
        """The targets from several places together, given the row of each place."""
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
        """Whether the present word must go on, mostly because the text is within a character."""
        return all(self._marked.goes_on[place] for place in places)

    def continued(self, places: tuple[int, ...], last: Int32, tokens: Int32) -> Bool:
        """A mask of ``last``: those that one of ``tokens`` may follow in the same word: bool[n]."""
        led = [self._read.lead(place, tokens) for place in places]
        able = self._ordinary[tokens] & (np.maximum.reduce(led) != LOST)
        return self._merges.fitting_any(last, tokens[able])

    def refused_words(self, last: int) -> UInt32:
        """uint32[words], the tokens that may not follow ``last`` within a word, as bits."""
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
        """A mask of ``tokens``: those that may not follow ``last`` within a word: bool[n]."""
        if len(tokens) < _FEW:
            return ~self._merges.fitting_after(last, tokens)
        return has_bits(self.refused_words(last), tokens)

    def state(self, written: WrittenSoFar, token: int, group: Group) -> WrittenSoFar:
        """The state after a token that leads to a group."""
        return WrittenSoFar(token, *group)

    def suits(
        self, written: WrittenSoFar, tokens: Int32, here: WrittenSoFar, way: Sequence[int]
    ) -> Bool:
        """The tokens after which a known way to the end stays valid; see `TrimmedFilter.suits`."""
        following = np.array(way[:1], np.int32)
        continues = any(int(self._read.lead(place, following)[0]) != LOST for place in here.places)
        if continues and (here.last == NO_TOKEN or self._merges.fits(here.last, way[0])):
            return self._merges.fitting(tokens, way[0])
        return np.ones(len(tokens), np.bool_)


_ANEW = (0,)
"""The places after an added token: the same as at the start of a text."""


class GuardedFilter(CanonicalFilter):
    """A filter of a tokenizer that has added tokens or a normal form; thread-safe.

    Args:
        vocabulary: The tokenizer's tokens, or a prefix of them.
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
        """Whether the tokenizer may have written exactly these tokens."""
        return super().may_end(known) and self._guard.ends(known.guard)

    def following(self, written: WrittenSoFar, tokens: Int32) -> tuple[Sequence[Group], Int64]:
        """The groups that tokens lead to: the states after them without the last token."""
        return self._guarded(written, tokens, *super().following(written, tokens))

    def following_apart(
        self, written: WrittenSoFar, tokens: Int32
    ) -> tuple[Sequence[Group], Int64]:
        """`following`, with every token refused within the present word."""
        return self._guarded(written, tokens, *super().following_apart(written, tokens))

    def _guarded(
        self,
        written: WrittenSoFar,
        tokens: Int32,
        groups: Sequence[Group],
        group_of: Int64,
    ) -> tuple[Sequence[Group], Int64]:
        """The groups of the filter for tokens that the guard accepts, and those of added tokens."""
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
        """The tokens after which a known way to the end stays valid; see `TrimmedFilter.suits`."""
        if self._added[way[0]]:
            return np.ones(len(tokens), np.bool_)
        # After an added token every way is valid that is valid after any token.
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
        """The refusal that names the normal form, where no continuation of the text is in it."""
        texts = masked.machine.byte_machine
        if self._form and texts is not None and masked.target >= 0:
            after = masked.machine.byte_state(masked.target)
            if not self._guard.keeps_form(masked.known.guard, masked.token, texts, after):
                reason = f"the normalizer {self._form} would rewrite the text"
                return Refusal(self.name, (), reason)
        return super().refusal(masked)
