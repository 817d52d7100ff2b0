"""The texts of a normal form of Unicode, as two machines over all characters.

A text is in NFC exactly if three things hold (Unicode Standard Annex 15, and chapter 3.11 of the
standard): none of its characters is replaced when it stands alone; the combining marks after a
character come in the order of their classes; and decomposing a character and recomposing it with
the marks after it gives the same character and leaves the same marks. The first two are one
machine, the *order*: its state is the class of the last mark. The third is the *race*: the marks
inside a composed character (the acute of ``é``) are *pending* and must each be composed again
before a mark of a higher class blocks them; if any other mark could be composed instead, the text
would change. So a state of the race is a character as far as it is recomposed, its pending marks,
and the classes that are blocked by a mark left over. Only the dozen classes with marks that compose
count.

Together they have 27,000 states over bytes, apart 500 and 17,000, so a constraint is intersected
with one after the other. Characters that behave alike share a class of the tables. NFD and NFKD
have no race; the compatibility forms have their own list of characters that are replaced.
``unicodedata`` gives the tables and is what the tests compare with.

Cost: a second and a half for NFC and NFKC, a third of a second for the others, once in a process.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.operations import intersection
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.tree.charset import CharSet, char_set
from explorer.budget import Meter
from explorer.languages.stages.forms.character_table import table_over_bytes

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

NUM_CHARACTERS: Final = 0x110000

# Beyond these planes no character has a class or is replaced.
_CONCERNED: Final = (range(0xD800), range(0xE000, 0x33480), range(0xE0000, 0xE0200))

_HANGUL: Final = range(0xAC00, 0xD7A4)
_LEADS: Final = range(0x1100, 0x1113)
_VOWELS: Final = range(0x1161, 0x1176)
_TAILS: Final = range(0x11A8, 0x11C3)

_Place = tuple[str, tuple[str, ...], int]
"""The character recomposed so far, its pending marks, and the number of blocked classes."""

_INERT: Final[_Place] = ("", (), 0)
"""The place after which any character may follow."""


@cache
def normal_form_machines(form: Form) -> tuple[Dfa, ...]:
    """Machines over bytes; a text is in the form exactly if all of them accept it.

    Example:
        >>> order, race = normal_form_machines("NFC")
        >>> race.accepts("é".encode()), race.accepts("e\\u0301".encode())
        (True, False)
        >>> order.accepts("e\\u0301\\u0323".encode())  # The dot below comes first.
        False
    """
    return (_order(form), _race(form)) if form in ("NFC", "NFKC") else (_order(form),)


@cache
def normal_form_machine(form: Form) -> Dfa:
    """The machine over bytes of all texts in a form; for NFC it has 27,000 states."""
    first, *others = normal_form_machines(form)
    for machine in others:
        first = intersection(first, machine, Meter())
    return first


def concerns(form: Form, alphabet: CharSet) -> bool:
    """Whether some text of an alphabet is not in a form.

    Example:
        >>> from explorer.automata.tree.charset import char_set
        >>> concerns("NFC", char_set([(0x20, 0x2FF)])), concerns("NFD", char_set([(0xE9, 0xE9)]))
        (False, True)
    """
    if not alphabet.ranges or alphabet.ranges[-1][1] < (0x300 if form == "NFC" else 0x80):
        return False
    seconds = {other for of_first in _compositions().values() for other in of_first}
    suspect = ~characters_of_form(form) | (combining_classes() > 0)
    if form in ("NFC", "NFKC"):
        suspect[[*map(ord, seconds), *_VOWELS, *_TAILS]] = True
    return any(bool(suspect[low : high + 1].any()) for low, high in alphabet.ranges)


def joins(form: Form, alphabet: CharSet) -> bool:
    """Whether some character of an alphabet may change together with the ones before it.

    If none does, a text is brought into the form character by character.

    Example:
        >>> from explorer.automata.tree.charset import char_set
        >>> joins("NFC", char_set([(0x20, 0x2FF)])), joins("NFC", char_set([(0x301, 0x301)]))
        (False, True)
    """
    table = _joining(form)
    return any(bool(table[low : high + 1].any()) for low, high in alphabet.ranges)


def written_in(form: Form, alphabet: CharSet) -> CharSet:
    """The characters of the normal forms of texts over an alphabet.

    Example:
        >>> from explorer.automata.tree.charset import char_set
        >>> found = written_in("NFC", char_set([(0x65, 0x65), (0x301, 0x301)]))
        >>> [chr(low) for low, high in found.ranges]
        ['e', 'é', '\u0301']
    """
    apart: Literal["NFD", "NFKD"] = "NFKD" if "K" in form else "NFD"
    present = np.zeros(NUM_CHARACTERS, np.bool_)
    for low, high in alphabet.ranges:
        present[low : high + 1] = True
    replaced = decomposing_characters(apart)
    for code in replaced[present[replaced]].tolist():
        present[[ord(char) for char in decompositions(apart)[code]]] = True
    present[replaced] = False
    if form != apart:
        composed = decomposing_characters("NFD")
        for code in composed[characters_of_form(form)[composed]].tolist():
            parts = unicodedata.normalize("NFD", chr(code))
            present[code] = all(present[ord(char)] for char in parts)
    edges = np.flatnonzero(np.diff(present, prepend=False, append=False)).tolist()
    return char_set(zip(edges[::2], (edge - 1 for edge in edges[1::2]), strict=True))


@cache
def _joining(form: Form) -> Bool:
    """bool[0x110000], the characters that may combine with the ones before them."""
    joining = combining_classes() > 0
    if form in ("NFC", "NFKC"):
        seconds = {other for pairs in _compositions().values() for other in pairs}
        joining[[*map(ord, seconds), *_VOWELS, *_TAILS]] = True
    apart: Literal["NFD", "NFKD"] = "NFKD" if "K" in form else "NFD"
    first = [ord(text[0]) for text in decompositions(apart).values()]
    joining[decomposing_characters(apart)] = joining[first]
    return joining


@cache
def combining_classes() -> NDArray[np.uint8]:
    """uint8[0x110000], the combining class of each character."""
    classes_of = np.zeros(NUM_CHARACTERS, np.uint8)
    for codes in _CONCERNED:
        classes_of[codes.start : codes.stop] = [unicodedata.combining(chr(code)) for code in codes]
    return classes_of


@cache
def characters_of_form(form: Form) -> Bool:
    """bool[0x110000], whether a character by itself is in a form."""
    in_form = np.ones(NUM_CHARACTERS, np.bool_)
    for codes in _CONCERNED:
        for code in codes:
            char = chr(code)
            if unicodedata.decomposition(char) or code in _HANGUL:
                in_form[code] = unicodedata.is_normalized(form, char)
    return in_form


@cache
def decomposing_characters(form: Literal["NFD", "NFKD"]) -> Int32:
    """int32[n], the characters that are replaced by their decomposition, ascending.

    Args:
        form: ``NFKD`` includes compatibility decompositions.
    """
    return np.flatnonzero(~characters_of_form(form)).astype(np.int32)


@cache
def decompositions(form: Literal["NFD", "NFKD"]) -> Mapping[int, str]:
    """The decomposition of each character of `decomposing_characters`."""
    return {
        code: unicodedata.normalize(form, chr(code))
        for code in decomposing_characters(form).tolist()
    }


@cache
def _compositions() -> Mapping[str, Mapping[str, str]]:
    """The pairs of characters that NFC composes, by the first, without Hangul."""
    compositions: defaultdict[str, dict[str, str]] = defaultdict(dict)
    stays = characters_of_form("NFC")
    for code in (code for codes in _CONCERNED for code in codes):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and parts[0][0] != "<" and stays[code]:
            compositions[chr(int(parts[0], 16))][chr(int(parts[1], 16))] = chr(code)
    return compositions


def _order(form: Form) -> Dfa:
    """The machine of texts without replaced characters, marks in the order of their classes."""
    classes, stays = combining_classes(), characters_of_form(form)
    orders = sorted(set(classes[stays].tolist()))
    column = np.zeros(256, np.int32)
    column[orders] = np.arange(len(orders))
    class_of = np.where(stays, column[classes], len(orders)).astype(np.int32)
    # The state is the last class; a character of class 0 may always follow.
    n = len(orders)
    table = np.where(np.arange(n) >= np.arange(n)[:, None], np.arange(n), NO_ARC).astype(np.int32)
    table[:, 0] = 0
    lost = np.full((n, 1), NO_ARC, np.int32)
    return table_over_bytes(np.hstack([table, lost]), class_of, np.ones(n, np.bool_), Meter())


@dataclass(frozen=True)
class _Mark:
    """A class of marks that the race treats alike.

    Args:
        blocked: The number of composing classes that are not above the marks' class.
        char: The mark, if some character composes with it; else "".
    """

    blocked: int
    char: str


class _Race:
    """The steps of the race: the marks and characters that may follow each place."""

    def __init__(self) -> None:
        self.pairs = _compositions()
        classes = combining_classes()
        seconds = {other for of_first in self.pairs.values() for other in of_first}
        composing = sorted({int(classes[ord(c)]) for c in seconds} - {0})
        blocked = np.searchsorted(composing, np.arange(256), side="right")
        self.all_blocked = len(composing)
        self.order = {c: int(blocked[classes[ord(c)]]) for c in seconds}
        self.seconds = {c for c in seconds if not classes[ord(c)]}
        self.column = np.zeros(NUM_CHARACTERS, np.int32)  # From 1 on; 0 for no mark.
        numbers: dict[_Mark, int] = {}
        for code in np.flatnonzero(classes).tolist():
            char = chr(code) if chr(code) in seconds else ""
            mark = _Mark(int(blocked[classes[code]]), char)
            self.column[code] = 1 + numbers.setdefault(mark, len(numbers))
        self.marks = list(numbers)
        self.by_order: defaultdict[int, list[int]] = defaultdict(list)
        for number, mark in enumerate(self.marks):
            self.by_order[mark.blocked].append(number)

    def first(self, base: str) -> _Place:
        """The place after a character alone."""
        parts = unicodedata.normalize("NFD", base)
        done, rest = parts[0], list(parts[1:])
        while rest and not unicodedata.combining(rest[0]):
            done = self.pairs.get(done, {}).get(rest.pop(0), done)
        return done, tuple(rest), 0

    def steps(self, place: _Place) -> list[_Place | None]:
        """The place after each class of marks; ``None`` where normalizing would change the text."""
        places_after: list[_Place | None] = [None] * len(self.marks)
        for most, numbers in self.by_order.items():
            here = self._recomposed(place, most)
            if here is None:
                continue
            done, pending, blocked = here
            pairs = self.pairs.get(done, {})
            taken = pairs if most > blocked else ()
            # The other machine refuses marks out of order.
            blocked = max(blocked, most)
            later = any(self.order[char] > blocked for char in pairs)
            after = (done, pending, blocked) if pending or later else _INERT
            for number in numbers:
                if self.marks[number].char not in taken:
                    places_after[number] = after
        return places_after

    def _recomposed(self, place: _Place, most: int) -> _Place | None:
        """A place after composing its pending marks up to a class; ``None`` if one cannot be."""
        done, pending, blocked = place
        while pending and self.order[pending[0]] <= most:
            whole = self.pairs.get(done, {}).get(pending[0])
            if whole is None:
                return None
            done, pending = whole, pending[1:]
        return done, pending, blocked

    def end(self, place: _Place) -> frozenset[str] | None:
        """The characters that may not follow a place; ``None`` if the place may not end."""
        done, _, blocked = self._recomposed(place, self.all_blocked) or ("", (), -1)
        if blocked < 0:
            return None
        return frozenset(self.seconds & self.pairs.get(done, {}).keys() if not blocked else ())


def _race(form: Form) -> Dfa:
    """The machine of texts that recomposing does not change."""
    race = _Race()
    stays = characters_of_form(form)
    numbers: dict[_Place, int] = {_INERT: 0}
    concerned = sorted(
        {*race.pairs, *(c for of_first in race.pairs.values() for c in of_first.values())}
    )
    bases = [c for c in concerned if stays[ord(c)] and not combining_classes()[ord(c)]]
    first: dict[str, int] = {}
    for base in bases:
        place = race.first(base)
        if place[1] or place[0] in race.pairs:
            first[base] = numbers.setdefault(place, len(numbers))
    rows: list[list[int]] = []
    ends: list[frozenset[str] | None] = []
    waiting = [*numbers]
    for place in waiting:
        row: list[int] = []
        for after in race.steps(place):
            if after is not None and after not in numbers:
                numbers[after] = len(numbers)
                waiting.append(after)
            row.append(NO_ARC if after is None else numbers[after])
        rows.append(row)
        ends.append(race.end(place))
    marks = np.array(rows, np.int32)
    barred = list(dict.fromkeys(ends))
    kind = np.array([barred.index(one) for one in ends])
    merged = _merged(marks, kind)
    return _joined(race, marks, kind, barred, merged, first)


def _merged(table: Int32, kind: NDArray[np.integer]) -> Int32:
    """int32[places], a number for each place that equivalent places share."""
    part = kind
    while True:
        reached = np.where(table >= 0, part[table], -1)
        _, new = np.unique(np.column_stack([part, reached]), axis=0, return_inverse=True)
        new = new.reshape(-1)
        if new.max() == part.max():
            return new.astype(np.int32)
        part = new


def _joined(
    race: _Race,
    marks: Int32,
    kind: NDArray[np.integer],
    barred: list[frozenset[str] | None],
    merged: Int32,
    first: Mapping[str, int],
) -> Dfa:
    """The machine of the race over all characters, with Hangul's three kinds of letters."""
    num = int(merged.max()) + 1
    one_of = np.zeros(num, np.int32)
    one_of[merged] = np.arange(len(merged))
    start = int(merged[0])
    # Two further states: after a leading consonant, and after a syllable without a tail.
    led, open_ = num, num + 1
    # The class of a character is its target and the sets of barred characters that contain it.
    sets = [one for one in barred if one]
    leads: dict[tuple[int, tuple[bool, ...]], int] = {}
    class_of = np.zeros(NUM_CHARACTERS, np.int32)

    def classed(code: int, to: int, hangul: str = "") -> None:
        member = tuple(chr(code) in one for one in sets)
        key = to, (*member, hangul == "vowel", hangul == "tail")
        class_of[code] = leads.setdefault(key, len(leads))

    classed(0, start)  # The class 0, which is that of all characters but those below.
    for code in map(ord, sorted(race.seconds | first.keys())):
        classed(code, int(merged[first[chr(code)]]) if chr(code) in first else start)
    for code in _LEADS:
        classed(code, led)
    for code in _HANGUL[::28]:
        classed(code, open_)
    for code in _VOWELS:
        classed(code, start, "vowel")
    for code in _TAILS:
        classed(code, start, "tail")
    bases = len(leads)
    class_of = np.where(race.column > 0, bases + race.column - 1, class_of)
    table = np.full((num + 2, bases + len(race.marks)), NO_ARC, np.int32)
    for (to, member), column in leads.items():
        table[:, column] = to
        for state in range(num):
            end = barred[kind[one_of[state]]]
            if end is None or (end and member[sets.index(end)]):
                table[state, column] = NO_ARC
        table[led, column] = NO_ARC if member[-2] else to
        table[open_, column] = NO_ARC if member[-1] else to
    here = marks[one_of]
    table[:num, bases:] = np.where(here >= 0, merged[here], NO_ARC)
    table[num:, bases:] = start
    order = np.array([start, *(k for k in range(num + 2) if k != start)])
    place = np.empty(num + 2, np.int32)
    place[order] = np.arange(num + 2)
    table = np.where(table >= 0, place[table], NO_ARC).astype(np.int32)[order]
    ends = np.array([k >= num or barred[kind[one_of[k]]] is not None for k in order])
    return table_over_bytes(table, class_of, ends, Meter())
