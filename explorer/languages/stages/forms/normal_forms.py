"""The texts of a normal form of Unicode, as two machines over all characters.

A text is in NFC exactly if three things hold (Unicode Standard Annex 15, and chapter 3.11 of the
standard): none of its characters is replaced when it stands alone; the combining marks after a
character come in the order of their classes; and no character is composed with one before it. The
first two are one machine, the *order*: its state is the class of the last mark. The third is the
*race*: a character is composed with the last one of class 0 unless a mark of its own class or of a
higher one stands between them and blocks it. So its state is the set of the characters that may not
come next: after a character of class 0 those that ``unicodedata`` would compose with it, and after
a mark those of them that the mark does not block.

Together they have 27,000 states over bytes, apart 500 and 17,000, so a constraint is intersected
with one after the other. Characters that behave alike share a class of the tables. NFD and NFKD
have no race; the compatibility forms have their own list of characters that are replaced.
``unicodedata`` gives the tables and is what the tests compare with.

Cost: a second for NFC and NFKC, a third of a second for the others, once in a process.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.automata.construction.operations import intersection
from explorer.automata.machine import NO_ARC, Bool, Dfa, Int32
from explorer.automata.tree.charset import CharSet
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
    suspect = ~characters_of_form(form) | _joining(form)
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


@cache
def _joining(form: Form) -> Bool:
    """bool[0x110000], the characters that may combine with the ones before them."""
    joining = combining_classes() > 0
    if form in ("NFC", "NFKC"):
        joining[[*map(ord, _seconds())]] = True
    apart = decomposed_form(form)
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


def decomposed_form(form: Form) -> Literal["NFD", "NFKD"]:
    """The form in which the characters of a form stand apart."""
    return "NFKD" if "K" in form else "NFD"


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


@cache
def _seconds() -> tuple[str, ...]:
    """The characters that NFC composes with one before them."""
    pairs = _compositions().values()
    return (*{char for of_first in pairs for char in of_first}, *map(chr, (*_VOWELS, *_TAILS)))


def _order(form: Form) -> Dfa:
    """The machine of texts without replaced characters, marks in the order of their classes."""
    classes, stays = combining_classes(), characters_of_form(form)
    orders = sorted(set(classes[stays].tolist()))
    column = np.zeros(256, np.int32)
    column[orders] = np.arange(len(orders))
    class_of = np.where(stays, column[classes], len(orders)).astype(np.int32)
    n = len(orders)
    lost = np.full((n, 1), NO_ARC, np.int32)
    table = np.hstack([_order_table(n), lost])
    return table_over_bytes(table, class_of, np.ones(n, np.bool_), Meter())


def _order_table(n: int) -> Int32:
    """int32[n, n], the table of marks in the order of their classes, of which 0 is that of letters.

    The state is the last class; a character of class 0 may always follow.
    """
    table = np.where(np.arange(n) >= np.arange(n)[:, None], np.arange(n), NO_ARC).astype(np.int32)
    table[:, 0] = 0
    return table


def _race(form: Form) -> Dfa:
    """The machine of texts whose marks are in order, if recomposing does not change them.

    A state is the set of the characters that may not come next.
    """
    stays, orders, pairs = characters_of_form(form), combining_classes(), _compositions()
    seconds = _seconds()
    firsts = [*pairs, *(char for of_first in pairs.values() for char in of_first.values()),
              *map(chr, (*_LEADS, *_HANGUL[::28]))]  # fmt: skip
    composing = {
        first: frozenset(s for s in seconds if not unicodedata.is_normalized(form, first + s))
        for first in firsts if stays[ord(first)] and not orders[ord(first)]
    }  # fmt: skip
    # The class of a character: what it does to the state, and the character if it may be refused.
    none = frozenset[str]()
    columns: dict[tuple[int | frozenset[str], str], int] = {(none, ""): 0}
    class_of = np.zeros(NUM_CHARACTERS, np.int32)
    for code in {*map(ord, (*firsts, *seconds)), *np.flatnonzero(orders).tolist()}:
        char = chr(code)
        effect = int(orders[code]) or composing.get(char, none)
        key = effect, char if char in seconds else ""
        class_of[code] = columns.setdefault(key, len(columns))
    numbers = {none: 0}
    rows: list[list[int]] = []
    states = [none]
    for state in states:  # The list grows while it is read.
        row: list[int] = []
        for effect, char in columns:
            after = effect if isinstance(effect, frozenset) else frozenset(
                each for each in state if orders[ord(each)] > effect
            )  # fmt: skip
            if after not in numbers:
                numbers[after] = len(states)
                states.append(after)
            row.append(NO_ARC if char in state else numbers[after])
        rows.append(row)
    return table_over_bytes(
        np.array(rows, np.int32), class_of, np.ones(len(rows), np.bool_), Meter()
    )
