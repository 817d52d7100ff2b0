"""The stage of texts that are their own normal form, as a machine over the characters concerned.

A text is in NFC exactly if three things hold (Unicode Standard Annex 15, and chapter 3.11 of the
standard): no character of it is replaced by itself; the combining marks after a character come in
the order of their classes; and recomposing what the marks and the decomposed character make gives
the same character and leaves the same marks. The last is a race, which a finite machine can follow:
of a composed character, the marks inside it (the acute of ``é``) are still *pending* and must each
be taken back before a mark of a higher class stands in the way; any other mark that could be taken
in would change the text.

So a state is a base character as far as it is recomposed, its pending marks, and the class of the
last mark that was left over. ``unicodedata`` gives the tables and is what the tests compare with.

NFC of most text is the text itself: only characters that the constraint can have count, so for a
pattern without combining marks the machine has a state or two. For NFD, and the compatibility forms
NFKC and NFKD, the same holds with their own tables.

Cost: a second for a Latin alphabet with all combining marks. All of Unicode is over the budget that
an explorer has; restrict the scripts first.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Final, Literal, Self, cast, get_args

from explorer.alphabet import NUM_BYTES
from explorer.arguments import plain, shown
from explorer.automata.construction.operations import empty_dfa
from explorer.automata.machine import NO_ARC, Dfa
from explorer.automata.pipeline.characters import alphabet_of, over_bytes
from explorer.automata.pipeline.stage import TextStage, register_stage
from explorer.automata.tree.build import build
from explorer.automata.tree.charset import CharSet, char_set
from explorer.automata.tree.nodes import Deferred, Intersect, Node, Written
from explorer.budget import Meter
from explorer.errors import ConstraintError

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_NONE_LEFT: Final = -1
"""No mark was left over since the base character."""

_HIGHEST: Final = 255
"""Above every combining class."""

_Place = tuple[str, tuple[str, ...], int]
"""What is recomposed so far, its pending marks, and the class of the last mark left over."""


@register_stage
@dataclass(frozen=True)
class Normalized(TextStage):
    """Texts that are their own normal form.

    Args:
        form: ``"NFC"``, ``"NFD"``, ``"NFKC"`` or ``"NFKD"``.

    Raises:
        ConstraintError: There is no such form.
    """

    kind: ClassVar[str] = "normalized"
    alone: ClassVar[bool] = True

    form: Form = "NFC"

    def __post_init__(self) -> None:
        form = cast("object", plain(self.form))
        if not isinstance(form, str) or form not in get_args(Form):
            raise ConstraintError(
                f"{shown(self.form)} is not a normal form of Unicode.",
                remedy=f"Write one of {', '.join(get_args(Form))}.",
            )

    def around(self, part: Written) -> Node:
        """The texts of the part that are in the form."""

        def make(meter: Meter) -> Dfa:
            machine = build(part, meter)
            if machine.start == NO_ARC:
                return empty_dfa(NUM_BYTES)
            return normal_machine(self.form, alphabet_of(machine), meter)

        return Intersect(0, 0, part, self.named(Deferred(0, 0, make)))

    def picture(self, meter: Meter) -> Dfa:
        """The machine for a small alphabet: a letter with two marks that it composes with."""
        small = char_set([(ord(c), ord(c)) for c in "aeéè\u0301\u0300\u0323"])
        return normal_machine(self.form, small, meter)

    @property
    def title(self) -> str:
        """The name on the pipeline bar."""
        return self.form

    @property
    def about(self) -> str:
        """What the stage does."""
        return (
            f"only texts that are their own {self.form}; drawn for the characters a e é è and "
            "three combining marks"
        )

    def fields(self) -> dict[str, object]:
        """The form."""
        return {"form": self.form}

    @classmethod
    def load(cls, fields: Mapping[str, object]) -> Self:
        """The stage that was saved."""
        form: Form = fields.get("form", "NFC")  # pyright: ignore[reportAssignmentType] - It is checked.
        return cls(form)

    def __str__(self) -> str:
        return f"normalized({self.form!r})"


@cache
def _compositions() -> Mapping[str, Mapping[str, str]]:
    """The pairs of characters that NFC joins, by the first of them, but for Hangul."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for code in range(0x110000):
        whole = chr(code)
        parts = unicodedata.decomposition(whole).split()
        if len(parts) == 2 and parts[0][0] != "<" and unicodedata.is_normalized("NFC", whole):
            found[chr(int(parts[0], 16))][chr(int(parts[1], 16))] = whole
    return found


def _joined(one: str, other: str) -> str | None:
    """The character that two neighbours are joined to; ``None`` if they stay apart."""
    if "\u1100" <= one <= "\ud7a3" and "\u1161" <= other <= "\u11c2":  # Hangul, by a rule.
        both = unicodedata.normalize("NFC", one + other)
        return both if len(both) == 1 else None
    return _compositions().get(one, {}).get(other)


class _Race:
    """Which marks may follow which base, for the characters of an alphabet.

    Args:
        form: The normal form.
        alphabet: The characters that a text may have.
    """

    def __init__(self, form: Form, alphabet: CharSet) -> None:
        self.composing = form in ("NFC", "NFKC")
        self.marks: defaultdict[int, set[str]] = defaultdict(set)
        self.bases: set[str] = set()
        for low, high in alphabet.ranges:
            for char in map(chr, range(low, high + 1)):
                if unicodedata.is_normalized(form, char):
                    order = unicodedata.combining(char)
                    (self.marks[order] if order else self.bases).add(char)
        self.classes = sorted(self.marks)
        starters = self.bases | {chars for found in self.marks.values() for chars in found}
        self.special: dict[str, _Place] = {}
        if self.composing:
            hangul = any("\u1161" <= char <= "\u11c2" for char in self.bases)
            for base in self.bases:
                first = self._first(base)
                follows = self._follow(first[0], starters)
                if first[1] or follows or (hangul and "\u1100" <= base <= "\ud7a3"):
                    self.special[base] = first

    def _first(self, base: str) -> _Place:
        """The place after a base alone."""
        parts = unicodedata.normalize("NFD", base)
        done, rest = parts[0], list(parts[1:])
        while rest and not unicodedata.combining(rest[0]):
            done = _joined(done, rest.pop(0)) or done
        return done, tuple(rest), _NONE_LEFT

    def _follow(self, one: str, among: set[str]) -> set[str]:
        return {other for other in _compositions().get(one, ()) if other in among}

    def _recomposed(self, place: _Place, most: int) -> _Place | None:
        """A place once its pending marks up to a class are taken back; ``None`` if one is not."""
        done, pending, last = place
        while pending and unicodedata.combining(pending[0]) <= most:
            # What was left over is of a lower class, or it would have taken this one back.
            whole = _joined(done, pending[0])
            if whole is None:
                return None
            done, pending = whole, pending[1:]
        return done, pending, last

    def steps(self, place: _Place) -> Iterator[tuple[_Place, set[str]]]:
        """The marks that may follow a place, and the place after each."""
        for order in self.classes:
            if order < place[2]:
                continue
            here = self._recomposed(place, order)
            if here is None:
                continue
            done, pending, last = here
            taken = self._follow(done, self.marks[order]) if last < order else set[str]()
            left = self.marks[order] - taken
            later = (c for c in _compositions().get(done, ()) if unicodedata.combining(c) > order)
            if not pending and not any(later):
                done = ""
            if left:
                yield (done, pending, order), left

    def joined_after(self, place: _Place) -> frozenset[str] | None:
        """The bases that may not follow a place; ``None`` if it may not end there."""
        here = self._recomposed(place, _HIGHEST)
        if here is None:
            return None
        done, _, last = here
        if last != _NONE_LEFT or not done:
            return frozenset()
        if "\u1100" <= done <= "\ud7a3":
            return frozenset(
                b for b in self.bases if "\u1161" <= b <= "\u11c2" and _joined(done, b)
            )
        return frozenset(self._follow(done, self.bases))


def normal_machine(form: Form, alphabet: CharSet, meter: Meter) -> Dfa:
    """The minimal machine of the texts of some characters that are in a normal form.

    Args:
        form: The form.
        alphabet: The characters that a text may have.
        meter: Watches every limit.

    Raises:
        BudgetExceeded: A limit was reached.

    Example:
        >>> letters = char_set([(0x61, 0x7A), (0xE0, 0xFF), (0x301, 0x301)])
        >>> machine = normal_machine("NFC", letters, Meter())
        >>> machine.accepts("é".encode()), machine.accepts("e\\u0301".encode())
        (True, False)
    """
    race = _Race(form, alphabet)
    inert: _Place = ("", (), _NONE_LEFT)
    numbers: dict[_Place, int] = {inert: 0}
    waiting: list[_Place] = [inert]
    begins: dict[frozenset[str], int] = {}
    arcs: dict[tuple[int, int], set[str]] = {}
    epsilons: list[tuple[int, int]] = []
    accepting: list[int] = []
    states = 1

    def number(place: _Place) -> int:
        nonlocal states
        if place not in numbers:
            numbers[place] = states
            states += 1
            waiting.append(place)
        return numbers[place]

    for place in race.special.values():
        number(place)
    for place in waiting:
        here = numbers[place]
        for target, chars in race.steps(place):
            arcs.setdefault((here, number(target)), set()).update(chars)
        without = race.joined_after(place)
        if without is not None:
            accepting.append(here)
            if without not in begins:
                begins[without] = states
                states += 1
            epsilons.append((here, begins[without]))
        meter.check("Building the machine of a normal form", states=states, arcs=len(arcs))
    plain_bases = race.bases - set(race.special)
    for without, source in begins.items():
        for target, chars in [
            (0, plain_bases - without),
            *((numbers[place], {base} - without) for base, place in race.special.items()),
        ]:
            if chars:
                arcs.setdefault((source, target), set()).update(chars)
        meter.check("Building the machine of a normal form", states=states, arcs=len(arcs))
    sets = {ends: char_set((ord(c), ord(c)) for c in chars) for ends, chars in arcs.items()}
    return over_bytes(states, sets, accepting, meter, epsilons)
