"""The conditions for a tokenizer to write a text at all: its normal form, its added tokens.

A normalizer such as NFC leaves only texts in its own form as they are, so no canonical sequence
spells another text. Added tokens are cut out before anything else is looked at, so ordinary tokens
never spell one. Both are machines over bytes that run beside the text; a guard's state is a state
of each, numbered as pairs are met.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.automata.machine import ByteMachine, Dfa
from explorer.jit import jit
from explorer.memo import Kept
from explorer.numbering import number_of
from explorer.tokens.filtered.reading import Int64, UInt8
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.canonical.added_search import AddedSearch, AddedText
from explorer.vocabulary.canonical.marked import LOST, Int32

UNGUARDED: Final = 0
"""The state of a guard at the start of a text, and of every state without a guard."""

_FEW: Final = 2048
"""So few tokens are read by themselves; more, and all are read and kept."""

Pair = tuple[int, int]
"""A state of the normal form, and one of the search for added tokens."""


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
    """The two conditions, read token by token; thread-safe.

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
        """The states after tokens as ordinary text: int32[n], `LOST` where one may not stand."""
        reached = self._reached.get(state)
        if reached is not None:
            return reached[tokens]
        if len(tokens) < _FEW:
            return self._read_from(state, tokens)
        reached = self._read_from(state, np.arange(len(self._offset) - 1, dtype=np.int32))
        self._reached.put(state, reached, reached.nbytes)
        return reached[tokens]

    def keeps_form(self, state: int, token: int, texts: ByteMachine, after: int) -> bool:
        """Whether a text in the normal form goes on with the bytes of a token.

        Args:
            after: Its state after the token: it says how a half character may be completed.
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
        """The states after each added token that is taken as one; `LOST`: int32[entries]."""
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
        """The state of the normal form after an added token; `LOST`."""
        if self._normal is None:
            return form
        if entry.early:  # Each part beside it is normalized by itself.
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
    """The bytes of the character that some bytes break off in, and how many it lacks.

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
