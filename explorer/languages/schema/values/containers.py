"""Arrays and objects as machines over letters.

A letter is an item, or a name with a member's value; the value is a set, `Wanted`. One conjunction
must hold (the *main* leaf), so only letters that satisfy it are read. The other conditions
(excluded or intersected subschemas) may hold or not: a letter is split into the values that satisfy
each of them and those that do not, as far as these sets are not empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from math import comb
from typing import Any, Final, Generic, TypeVar, cast

from msgspec import Struct

from explorer.alphabet import ONCE_ENDLESS, ONCE_FEW, ONCE_MANY, ONCE_SOME
from explorer.automata.machine import Dfa
from explorer.automata.valid_utf8 import any_text
from explorer.automata.words import is_finite, words
from explorer.errors import NotRegular, UnsupportedSchema
from explorer.languages.schema.reading.subschemas import Subschema
from explorer.languages.schema.values.leaves import (
    DEAD,
    MOST_CONTROLS,
    OFF,
    ArrayLeaf,
    Formula,
    Leaf,
    LetterQuestions,
    ObjectLeaf,
    OtherNames,
    State,
    ends,
    left,
    named,
    too_many_sets,
)
from explorer.languages.schema.values.places import Conjunction, Site, Wanted, conjunction, key_of
from explorer.languages.schema.values.texts import Strings

MOST_PARTS: Final = 64
"""The most kinds into which the patterns of ``patternProperties`` may divide names."""
MOST_TRACKED: Final = 12
"""The most other names that are listed one by one where members are counted."""
MOST_UNIQUE: Final = 256
"""The most values of an item under ``uniqueItems`` for which each set of them is drawn."""
MOST_SLOW: Final = 32
"""The most of these values that may be numbers, arrays or objects, unless all states are drawn: a
number may be another's beginning, so many sets are drawn for one mask."""
MOST_AT_ONCE: Final = 6
"""The most members, or unique items, that are drawn at once; the rest is drawn when a text reaches
it."""
MISCOUNTED: Final = 2
"""The fewest further members required by number for which a repeated name would count as two."""


Label = str | int | None
"""The name of a member, or the number of a kind of names; ``None`` for an item."""


class Arc(Struct, frozen=True, gc=False):
    """A letter and its target.

    Args:
        label: The name.
        wanted: The set of values.
        around: The place of the container.
        target: The state after the letter.
    """

    label: Label
    wanted: Wanted
    around: Site
    target: InContainer

    @property
    def site(self) -> Site:
        """The place of the value."""
        if self.label is None:
            return self.around.item
        return self.around.member(self.label if isinstance(self.label, str) else None)


Holds = Callable[[Conjunction], bool]
IsPossible = Callable[[Wanted, Site], bool]


def split_by(
    ask: LetterQuestions, held: Conjunction, terms: list[Conjunction]
) -> Iterator[tuple[Wanted, Holds]]:
    """The values of a conjunction, split by which of some other conjunctions they satisfy."""
    if not terms:
        yield Wanted(held), lambda given: conjunction(given) == ()
        return
    own = key_of(held)
    parts: list[tuple[Wanted, dict[frozenset[object], bool]]] = [(Wanted(held), {})]
    for given in terms:
        term = conjunction(given)
        if not term or key_of(term) <= own or not parts or key_of(term) in parts[0][1]:
            continue
        key = key_of(term)
        following: list[tuple[Wanted, dict[frozenset[object], bool]]] = []
        for wanted, signs in parts:
            for sign, made in ((True, wanted.also(term)), (False, wanted.but(term))):
                if ask.is_possible(made):
                    following.append((made, {**signs, key: sign}))
        parts = following
        ask.meter.check("The letters of a schema", states=len(parts))
    for wanted, signs in parts:

        def holds(given: Conjunction, signs: dict[frozenset[object], bool] = signs) -> bool:
            term = conjunction(given)
            if term is None:
                return False
            return not term or key_of(term) <= own or signs[key_of(term)]

        yield wanted, holds


class InContainer(Struct, frozen=True, gc=False):
    """A state within a container.

    Args:
        main: The state of the main leaf.
        rest: The formula that is still to be decided.
        states: The states of the leaves in that formula.
        seen: The members or items so far, as far as they count.
    """

    main: State
    rest: Formula
    states: tuple[State, ...]
    seen: int


def _placed(
    leaves: Sequence[Leaf], main: State, rest: Formula,
    states: Sequence[State], seen: int,
) -> InContainer | None:  # fmt: skip
    """A place without the parts that no longer matter; ``None`` if it cannot reach an end."""
    rest = left(rest, leaves, states)
    if rest is False or main is DEAD:
        return None
    live = named(rest)
    kept = tuple(state if k in live else OFF for k, state in enumerate(states)) if live else ()
    return InContainer(main, rest, kept, seen)


_Leaf = TypeVar("_Leaf", ArrayLeaf, ObjectLeaf)


class _OfCase(Generic[_Leaf]):
    """The main leaf of a case, the others, and the formula of these that must hold at the end."""

    def __init__(
        self,
        ask: LetterQuestions,
        site: Site,
        main: _Leaf,
        leaves: list[_Leaf],
        rest: Formula,
    ) -> None:
        self._ask, self._site, self.main = ask, site, main
        self._leaves, self._rest = leaves, rest

    def begin(self) -> InContainer | None:
        """The place before the first letter; ``None`` if it cannot reach an end."""
        states = [leaf.begin() for leaf in self._leaves]
        return _placed(self._leaves, self.main.begin(), self._rest, states, 0)

    def ends(self, place: InContainer) -> bool:
        """Whether the array or object may end at a place."""
        return self.main.ends(place.main) and ends(place.rest, self._leaves, place.states)


class Arrays(_OfCase[ArrayLeaf]):
    """The arrays of one case, as a machine over items."""

    opening, closing = b"[", b"]"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._numbers: dict[str, int] = {}
        self._told: dict[Wanted, list[Subschema] | None] = {}

    def waits_at(self, place: InContainer) -> bool:
        """Whether the rest after a place is drawn only when a text reaches it."""
        return self._is_wide

    @cached_property
    def _is_wide(self) -> bool:
        """Whether unique items are split into more than `MOST_AT_ONCE` letters."""
        start = self.start()
        if self.main.unique is None or self.mark or start is None:
            return False
        return sum(1 for _ in self.arcs(start)) > MOST_AT_ONCE

    @property
    def uniform(self) -> tuple[Wanted, Site, int, int | None] | None:
        """The set and place of the items, and their bounds, if items differ in nothing else."""
        if self._rest is not True or not (
            self.main.is_uniform or (self.mark and self.main.is_alike(0))
        ):
            return None
        item = self.main.item(0)
        if item is None:
            return Wanted(), self._site.item, self.main.minimum, 0
        return Wanted(item), self._site.item, self.main.minimum, self.main.maximum

    def start(self) -> InContainer | None:
        """The place before the first item; ``None`` where there are no arrays."""
        main = self.main
        if main.maximum is not None and main.maximum < main.minimum:
            return None
        for leaf in self._leaves:
            if leaf.unique is not None:
                self._ask.refuse(
                    leaf.unique, "uniqueItems", "Here uniqueItems is compared with other schemas.",
                    "Say it once, outside of not, oneOf and if, or give strict=False to ignore it.",
                )  # fmt: skip
        if self.mark and main.unique is not None:
            self._remember(f"{main.unique.pointer}/uniqueItems")
        return self.begin()

    def can_finish(self, place: InContainer, possible: IsPossible) -> bool | None:
        """Whether a place has a way to the end; ``None`` where that has to be searched for."""
        if self.ends(place):
            return True
        index = cast("int", place.main[0])
        if self.mark:
            return None if self.mark != ONCE_FEW or self._are_different(index, possible) else False
        if place.rest is not True:
            return None
        if self.main.contains:
            held = self.main.counting(index)  # Enough of such items end it.
            is_known = held is not None and possible(Wanted(held), self._site.item)
            return True if is_known else None
        if self.main.unique is None:
            return self.main.may_end(index, lambda held: possible(Wanted(held), self._site.item))
        if not self.main.is_alike(index):
            return None
        left = {arc.wanted for arc in self.arcs(place) if possible(arc.wanted, arc.site)}
        return len(left) >= self.main.minimum - index

    def skipped(self, place: InContainer) -> InContainer | None:
        """``None``: an item cannot be left out."""
        return None

    def arcs(self, place: InContainer) -> Iterator[Arc]:
        """The items that may come next."""
        for wanted, after in self._letters(place):
            for each, seen in self._apart(wanted, place.seen):
                target = InContainer(after.main, after.rest, after.states, seen)
                yield Arc(None, each, self._site, target)

    def _letters(self, place: InContainer) -> Iterator[tuple[Wanted, InContainer]]:
        """The sets of items that may come next, each with the place after it."""
        main, index = self.main, cast("int", place.main[0])
        held = main.item(index)
        if held is None or (main.maximum is not None and index >= main.maximum):
            return
        live = sorted(named(place.rest))
        own = {k: self._leaves[k].item(cast("int", place.states[k][0])) for k in live}
        terms = [(sub,) for sub, _, _ in main.contains]
        for k in live:
            terms += [cast("Conjunction", own[k])] if own[k] else []
            terms += [(sub,) for sub, _, _ in self._leaves[k].contains]
        for wanted, holds in split_by(self._ask, held, terms):
            after = main.after(place.main, True, [holds((s,)) for s, _, _ in main.contains])
            states = list(place.states)
            for k in live:
                item, leaf = own[k], self._leaves[k]
                suits = item is not None and holds(item)
                hits = [holds((s,)) for s, _, _ in leaf.contains]
                states[k] = leaf.after(states[k], suits, hits)
            target = _placed(self._leaves, after, place.rest, states, 0)
            if target is not None:
                yield wanted, target

    def _apart(self, wanted: Wanted, seen: int) -> Iterator[tuple[Wanted, int]]:
        """The single values that have not come before, where items are unique."""
        unique = self.main.unique
        if unique is None or self.mark:
            yield wanted, 0
            return
        if wanted not in self._told:
            self._told[wanted] = self._ask.listed(wanted, unique)
        values = self._told[wanted]
        if values is None:  # The keyword was refused and is ignored.
            yield wanted, 0
            return
        if self.main.is_alike(0) and len(values) < self.main.minimum:
            return
        most = len(values) if self.main.maximum is None else self.main.maximum
        if self._ask.every_set and sum(comb(len(values), k) for k in range(most)) > MOST_CONTROLS:
            raise too_many_sets(len(values), "items of an array", most)
        for value in values:
            number = self._numbers.setdefault(repr(value.schema), len(self._numbers))
            if not seen >> number & 1:
                yield wanted.also((value,)), seen | 1 << number

    @cached_property
    def mark(self) -> int:
        """The mark of arrays whose items are remembered (`explorer.languages.schema.once`).

        It is 0 where items may repeat, and where each set of them is drawn.
        """
        unique = self.main.unique
        if unique is None or not self._ask.options.strict:
            return 0
        most = max(MOST_UNIQUE, self.main.minimum)
        counted = [self._ask.counted(each, most + 1) for each in self._every_letter()]
        values = [each for each, _ in counted if each != []]
        if all(each is not None and len(each) <= MOST_UNIQUE for each in values):
            is_sure = all(sure for _, sure in counted)
            return ONCE_SOME if is_sure and self._are_slow(values) else 0
        if all(is_sure for _, is_sure in counted):
            if all(each is None for each in values):
                return ONCE_ENDLESS
            if all(each is None or len(each) > most for each in values):
                return ONCE_MANY
        if self.main.contains or self._rest is not True:
            self._ask.refuse(
                unique, "uniqueItems", "Here uniqueItems stands beside other conditions on the "
                "same array, and some items have few values and others many.",
                "Leave out contains, or give all items an enum.",
            )  # fmt: skip
        return ONCE_FEW

    def _are_slow(self, values: list[list[object] | None]) -> bool:
        """Whether items are remembered, although each set of their values could be drawn.

        Args:
            values: The values of each sort of items.
        """
        if self._ask.once == "refused" or self.main.contains or self._rest is not True:
            return False
        slow = [sum(not isinstance(it, str) for it in each or ()) > MOST_SLOW for each in values]
        return self.main.minimum <= MOST_SLOW and any(slow) and all(slow)

    def _remember(self, pointer: str) -> None:
        """Note that items are remembered.

        Raises:
            NotRegular: A finite machine is made.
        """
        self._ask.remembered[pointer] = None
        if self._ask.once == "refused":
            raise NotRegular(
                (pointer,), "The items of an array come once and are remembered",
                f"Give the items an enum or bounds, with at most {MOST_UNIQUE} values, set "
                "maxItems to 1, or give strict=False to ignore the keyword.",
            )  # fmt: skip

    def _every_letter(self) -> list[Wanted]:
        """The sets of items that may come anywhere in an array."""
        main = self.main
        if not main.contains and self._rest is True:
            return [Wanted(held) for held in main.every_item if held is not None]
        letters: dict[Wanted, None] = {}
        start = self.begin()
        met = dict.fromkeys([] if start is None else [start])
        for place in (waiting := [*met]):  # The list grows while it is read.
            self._ask.meter.check("The letters of a schema", states=len(waiting))
            for wanted, target in self._letters(place):
                letters[wanted] = None
                if target not in met:
                    met[target] = None
                    waiting.append(target)
        return [*letters]

    def _are_different(self, index: int, possible: IsPossible) -> bool:
        """Whether the fewest items from an index on can all be different."""
        fewest = self.main.minimum - index
        few: list[list[str]] = []
        for k in range(index, self.main.minimum):
            held = self.main.item(k)
            if held is None or not possible(Wanted(held), self._site.item):
                return False
            values, _ = self._ask.counted(Wanted(held), max(MOST_UNIQUE, self.main.minimum) + 1)
            if values is not None and len(values) < fewest:
                few.append([repr(value) for value in values])
        holder: dict[str, int] = {}

        def found(k: int, tried: set[str]) -> bool:
            """Whether an item gets a value, if need be one that another item gives up."""
            for value in few[k]:
                if value not in tried:
                    tried.add(value)
                    if value not in holder or found(holder[value], tried):
                        holder[value] = k
                        return True
            return False

        return all(found(k, set()) for k in range(len(few)))


class Objects(_OfCase[ObjectLeaf]):
    """The objects of one case, as a machine over members."""

    opening, closing = b"{", b"}"
    mark = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._every = [self.main, *self._leaves]
        self._known: dict[IsPossible, int] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The members that are named, in order."""
        return tuple(
            name for name in self._named
            if name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name)
        )  # fmt: skip

    @cached_property
    def _named(self) -> tuple[str, ...]:
        known = dict.fromkeys(self._site.names)
        for leaf in self._every:
            for sub in leaf.subs:
                for name in sub.named_at("properties"):
                    known.setdefault(name)
            for name in sorted(leaf.bits):
                known.setdefault(name)
        listed = list(known)
        main = self.main
        if main.minimum >= len(main.bits) + MISCOUNTED:
            # Where other names are counted, a repeated name must not count twice.
            kinds = [
                kind.names for kind in self._kinds_beside(listed)
                if main.applying(None, kind) is not None
            ]  # fmt: skip
            few: list[str] = []
            for machine in kinds:
                if machine is None or not is_finite(machine):
                    return tuple(listed)
                few += [word.decode() for word in islice(words(machine), MOST_TRACKED + 1)]
            if len(few) <= MOST_TRACKED:
                listed += sorted(few)
        return tuple(listed)

    @cached_property
    def kinds(self) -> list[OtherNames]:
        """The kinds of names that the schema does not list, by what applies to their members."""
        return self._kinds_beside(list(self._named))

    def _kinds_beside(self, listed: list[str]) -> list[OtherNames]:
        meter = self._ask.meter
        plain = not any(leaf.names for leaf in self._every)
        patterns: dict[str, Dfa] = {}
        for leaf in self._every:
            for sub in leaf.subs:
                for pattern in sub.named_at("patternProperties"):
                    made = self._ask.pattern(sub, pattern, "patternProperties")
                    if made is not None:
                        patterns[pattern] = made
        if plain and not patterns:
            return [OtherNames(0, None, frozenset(), {})]
        tests: list[tuple[Dfa, Dfa, str | int]] = [(it, it, text) for text, it in patterns.items()]
        for leaf in self._every:
            if leaf.names:
                names_of = leaf.allowed or Strings()
                # A name that only a test tells is neither surely allowed nor surely not.
                surely, maybe = (
                    any_text() if machine is None else machine
                    for machine in (names_of.written.machine(meter), names_of.machine(meter))
                )
                tests.append((surely, maybe, id(leaf)))
        machines = tuple(each for surely, maybe, _ in tests for each in (surely, maybe))
        kinds: list[OtherNames] = []
        for make, reading in self._ask.told_apart(tuple(listed), machines):
            inside = [test for at, (*_, test) in enumerate(tests) if 2 * at in reading]
            if len(inside) < sum(2 * at + 1 in reading for at in range(len(tests))):
                continue
            matched = frozenset(test for test in inside if isinstance(test, str))
            allowed = {test: True for test in inside if isinstance(test, int)}
            kinds.append(OtherNames(len(kinds), make, matched, allowed))
        if len(kinds) > MOST_PARTS:
            raise UnsupportedSchema(
                "The patterns of patternProperties overlap in too many ways.",
                pointer=self.main.subs[0].pointer, keyword="patternProperties",
                remedy="Use fewer patterns, or patterns that exclude each other.",
            )  # fmt: skip
        return kinds

    def start(self) -> InContainer | None:
        """The place before the first member; ``None`` where there are no objects."""
        main = self.main
        if main.maximum is not None and main.maximum < max(main.minimum, len(main.bits)):
            return None
        if not main.bits.keys() <= set(self.names):
            return None
        return self.begin()

    def waits_at(self, place: InContainer) -> bool:
        """Whether the rest after a place is drawn only when a text reaches it."""
        if len(self.names) <= MOST_AT_ONCE:
            return False
        if not self._ask.ordered:
            return True
        if place.rest is not True or self.names[place.seen - 1] not in self.main.bits:
            return False  # The place is also reached where members are left out.
        came = len(self.main.bits) - cast("int", place.main[0]).bit_count()
        return came % (MOST_AT_ONCE + 2) == 1

    @cached_property
    def tracked(self) -> int:
        """The members to remember in any order, as bits: all, or only the required ones."""
        names = self.names
        if not self._ask.every_set or 1 << len(names) <= MOST_CONTROLS:
            return (1 << len(names)) - 1
        bits = sum(1 << k for k, name in enumerate(names) if name in self.main.bits)
        if 1 << bits.bit_count() > MOST_CONTROLS:
            raise too_many_sets(bits.bit_count())
        return bits

    def can_finish(self, place: InContainer, possible: IsPossible) -> bool | None:
        """Whether a place has a way to the end; ``None`` where that has to be searched for."""
        if place.rest is not True:
            return None
        main = self.main
        missing, count = cast("tuple[int, int]", place.main)
        if not self._are_possible(missing, possible):
            return False
        if self._ask.ordered and any(
            missing & self._bit(name) for name in self.names[: place.seen]
        ):
            return False
        if not main.counted:
            return True
        count += missing.bit_count()
        if main.maximum is not None and count > main.maximum:
            return False
        if count >= main.minimum or any(
            self._is_possible(None, kind, possible) for kind in self.kinds
        ):
            return True
        for k, name in enumerate(self.names):
            came = k < place.seen if self._ask.ordered else place.seen >> k & 1
            new = not came and not missing & self._bit(name)
            if new and self._is_possible(name, None, possible):
                count += 1
        return count >= main.minimum

    def _bit(self, name: str) -> int:
        return self.main.bits.get(name, 0)

    def _are_possible(self, missing: int, possible: IsPossible) -> bool:
        """Whether the members that must still come, given as bits, have values."""
        known = self._known.get(possible, 0)  # Only positive answers are final, so only they stay.
        if missing & ~known:
            alike: set[int] = set()
            for name, bit in self.main.bits.items():
                if bit & missing & ~known:
                    only = self.main.only(name)
                    if only not in alike and not self._is_possible(name, None, possible):
                        return False
                    alike |= set() if only is None else {only}
                    known |= bit
            self._known[possible] = known
        return True

    def _is_possible(self, name: str | None, kind: OtherNames | None, possible: IsPossible) -> bool:
        held = self.main.member(name, kind)
        return held is not None and possible(Wanted(held), self._site.member(name))

    def skipped(self, place: InContainer) -> InContainer | None:
        """The place after leaving out the next member; ``None`` if it cannot be left out.

        This is asked only where members have an order, since there `arcs` has one at a time.
        """
        names, seen = self.names, place.seen
        if not self._ask.ordered or seen >= len(names):
            return None
        missing, _ = place.main
        if missing & self._bit(names[seen]):
            return None
        if place.rest is True:
            return InContainer(place.main, True, (), seen + 1)
        states = self._from_here(place.states, sorted(named(place.rest)), seen + 1)
        return _placed(self._leaves, place.main, place.rest, states, seen + 1)

    @cached_property
    def _place_of(self) -> dict[str, int]:
        names = {name: place for place, name in enumerate(self.names)}
        return names | {
            name: len(names) for leaf in self._leaves for name in leaf.bits.keys() - names
        }

    def _from_here(self, states: Sequence[State], live: Iterable[int], seen: int) -> list[State]:
        """The states of the leaves of a formula, given the members that came or were left out."""
        ordered, names = self._ask.ordered, self.names
        come = names[seen:] if ordered else [it for k, it in enumerate(names) if not seen >> k & 1]
        place, known = self._place_of, list(states)
        for k in live:
            leaf = self._leaves[k]
            came = sum(bit for name, bit in leaf.bits.items() if ordered and place[name] < seen)
            known[k] = leaf.from_here(states[k], came, come, self.kinds)
        return known

    def arcs(self, place: InContainer) -> Iterator[Arc]:
        """The members that may come next."""
        names, seen = self.names, place.seen
        if self._ask.ordered:
            if seen < len(names):
                yield from self._of(place, names[seen], None, seen + 1)
            else:
                for kind in self.kinds:
                    yield from self._of(place, None, kind, seen)
            return
        for k, name in enumerate(names):
            if not seen >> k & 1:
                yield from self._of(place, name, None, seen | (1 << k & self.tracked))
        for kind in self.kinds:
            yield from self._of(place, None, kind, seen)

    def _of(
        self, place: InContainer, name: str | None, kind: OtherNames | None, seen: int
    ) -> Iterator[Arc]:
        held = self.main.member(name, kind)
        if held is None:
            return
        after = self.main.after(place.main, name, True)
        if after is DEAD:
            return
        label = name if kind is None else kind.number
        if place.rest is True:
            yield Arc(label, Wanted(held), self._site, InContainer(after, True, (), seen))
            return
        live = sorted(named(place.rest))
        own = {k: self._leaves[k].member(name, kind) for k in live}
        terms = [term for term in own.values() if term]
        for wanted, holds in split_by(self._ask, held, terms):
            states = list(place.states)
            for k in live:
                item = own[k]
                states[k] = self._leaves[k].after(states[k], name, item is not None and holds(item))
            states = self._from_here(states, live, seen)
            target = _placed(self._leaves, after, place.rest, states, seen)
            if target is not None:
                yield Arc(label, wanted, self._site, target)


Container = Arrays | Objects
