"""The literals of all strings, and of all strings but some names.

Literals are read along a trie of the excluded names. In the trie each character has only the
spelling of `json.dumps`; after a character that leaves the trie anything may follow in any
spelling, because the name already differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from explorer.automata.machine import Nfa
from explorer.automata.valid_utf8 import WELL_FORMED
from explorer.budget import Meter
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.spelling import free_escapes
from explorer.languages.schema.text.strings import ESCAPED

_QUOTE, _BACKSLASH = 0x22, 0x5C
_ESCAPED: Final = {chr(byte): data for byte, data in ESCAPED.items()}

Ranges = tuple[tuple[int, int], ...]
"""The intervals of consecutive bytes of a character, one for each byte."""


class _Literals:
    """Draws the literals of all strings that are not in a trie."""

    def __init__(self) -> None:
        self._sketch = Sketch(Meter())
        self.state, self.arc = self._sketch.state, self._sketch.interval
        self.end, self.body = self.state(), self.state()
        self._ways: dict[Ranges, int] = {(): self.body}
        self._leaving: int | None = None
        for low, high in ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7F)):
            self.arc(self.body, low, high, self.body)
        for row in WELL_FORMED[1:]:
            self.arc(self.body, *row[0], self._way(row[1:]))
        self.arc(self.body, _QUOTE, _QUOTE, self.end)
        self._sketch.block(*free_escapes(), self.body)

    def nfa(self, start: int) -> Nfa:
        """The automaton that was drawn, from a state to the end of the literal."""
        return self._sketch.drawn(start, [self.end])

    def _way(self, ranges: Ranges) -> int:
        """The state before the last bytes of a character that leaves the trie."""
        if ranges not in self._ways:
            self._ways[ranges] = state = self.state()
            self.arc(state, *ranges[0], self._way(ranges[1:]))
        return self._ways[ranges]

    def draw(self, source: int, trie: Mapping[str, Any]) -> None:
        """Draw all literals but those of a trie; an empty key marks the end of a name."""
        inside = {character: self.state() for character in trie if character}
        if "" not in trie:
            self.arc(source, _QUOTE, _QUOTE, self.end)
        if any(character in _ESCAPED for character in inside):
            backslash = self.state()
            self._spell(backslash, inside)
        else:
            if self._leaving is None:
                self._leaving = self.state()
                self._spell(self._leaving, {})
            backslash = self._leaving
        self.arc(source, _BACKSLASH, _BACKSLASH, backslash)
        self._ascii(source, inside)
        wide = {c.encode(): state for c, state in inside.items() if ord(c) >= 0x80}
        for row in WELL_FORMED[1:]:
            self._wide(source, b"", row, wide)
        for character, state in inside.items():
            self.draw(state, trie[character])

    def _spell(self, source: int, inside: Mapping[str, int]) -> None:
        """Draw the rest of an escape after the backslash, each character in its one spelling."""
        known: dict[bytes, int] = {b"": source}
        for character, data in _ESCAPED.items():
            letters = data[1:]
            for length in range(1, len(letters)):
                if letters[:length] not in known:
                    known[letters[:length]] = self.state()
                    byte, here = letters[length - 1], known[letters[: length - 1]]
                    self.arc(here, byte, byte, known[letters[:length]])
            last, target = letters[-1], inside.get(character, self.body)
            self.arc(known[letters[:-1]], last, last, target)

    def _ascii(self, source: int, inside: Mapping[str, int]) -> None:
        """Draw the characters of one byte that need no escape."""
        begin = 0x20
        own = {ord(c): s for c, s in inside.items() if ord(c) < 0x80 and c not in _ESCAPED}
        for stop in sorted({*own, _QUOTE, _BACKSLASH, 0x80}):
            if stop > begin:
                self.arc(source, begin, stop - 1, self.body)
            if stop in own:
                self.arc(source, stop, stop, own[stop])
            begin = stop + 1

    def _wide(self, source: int, read: bytes, row: Ranges, wide: Mapping[bytes, int]) -> None:
        """Draw the characters of several bytes, after the bytes that were already read."""
        low, high = row[0]
        count = len(read)
        here = {data[count] for data in wide if data.startswith(read) and len(data) > count}
        for byte in sorted(each for each in here if low <= each <= high):
            if byte > low:
                self.arc(source, low, byte - 1, self._way(row[1:]))
            longer = read + bytes([byte])
            target = wide[longer] if len(row) == 1 else self.state()
            self.arc(source, byte, byte, target)
            if len(row) > 1:
                self._wide(target, longer, row[1:], wide)
            low = byte + 1
        if low <= high:
            self.arc(source, low, high, self._way(row[1:]))


@lru_cache(maxsize=1)
def free_string() -> Nfa:
    """The rest of any string in any spelling, its closing quote included."""
    drawn = _Literals()
    return drawn.nfa(drawn.body)


@lru_cache(maxsize=256)
def other_names(names: tuple[str, ...]) -> Nfa:
    """The literals of all strings but the given ones."""
    trie: dict[str, Any] = {}
    for name in names:
        here = trie
        for character in name:
            here = here.setdefault(character, {})
        here[""] = None
    drawn = _Literals()
    start, first = drawn.state(), drawn.state()
    drawn.arc(start, _QUOTE, _QUOTE, first)
    drawn.draw(first, trie)
    return drawn.nfa(start)
