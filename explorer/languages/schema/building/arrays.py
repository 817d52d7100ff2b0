"""Arrays as machines: which item comes, how many matched, which were there."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import Any, Final, cast

from explorer.automata.construction.operations import difference, intersection
from explorer.automata.machine import Dfa
from explorer.automata.words import is_finite, words
from explorer.languages.schema.building.making import Depth, Making, Site
from explorer.languages.schema.building.values import Values, empty
from explorer.languages.schema.reading.keywords import (
    bounds,
    contains_bounds,
    evaluates_item,
    has_contains,
    prefix,
    prefix_keyword,
    rest_of_items,
    speaks_of_numbers,
)
from explorer.languages.schema.reading.subschemas import Schema, Subschema
from explorer.languages.schema.text import numbers, strings
from explorer.languages.schema.text.sketch import Sketch

MOST_UNIQUE: Final = 12
"""The most different items that ``uniqueItems`` can tell apart."""


class ArraySketch:
    """Draws ``[``, items and ``]``: which item comes, how many matched, which were there."""

    def __init__(
        self, compiler: Making, subs: tuple[Subschema, ...], place: Site, depth: Depth | None,
        contains: list[tuple[Subschema, int, int | None]], unique: bool, last: int,
        maximum: int | None, minimum: int,
    ) -> None:  # fmt: skip
        self._compiler = compiler
        self._subs = subs
        self._place = place
        self._depth = depth
        self._contains = contains
        self._unique = unique
        self._last = last
        self._maximum = maximum
        self._minimum = minimum
        self._kinds: dict[int, list[tuple[Dfa, tuple[bool, ...], int]]] = {}
        self._numbers: dict[bytes, int] = {}

    def _of_index(self, index: int) -> list[tuple[Dfa, tuple[bool, ...], int]]:
        """The kinds of items at an index: their texts, what of `contains` they match, a number."""
        longest = max((len(prefix(sub)) for sub in self._subs), default=0)
        index = min(index, longest)
        if index in self._kinds:
            return self._kinds[index]
        compiler, meter = self._compiler, self._compiler.meter
        assert self._depth is not None
        compared = self._unique or bool(self._contains)
        numbers = any(speaks_of_numbers(sub.keyword("contains")) for sub, *_ in self._contains)
        depth = self._depth.comparing() if numbers else self._depth
        here = (compiler, self._subs, index, self._place)
        values = item_values(*here, depth, compared=compared)
        split: list[tuple[Values, tuple[bool, ...]]] = [(values, ())]
        for sub, _, _ in self._contains:
            part = (sub.below(cast("Schema", sub.keyword("contains")), "contains"),)
            wanted = item_values(*here, depth, compared=True, also=part)
            most = item_values(*here, depth.flipped(), compared=True, also=part)
            following: list[tuple[Values, tuple[bool, ...]]] = []
            for each, matched in split:
                following.append((each.meet(wanted, meter), (*matched, True)))
                following.append((each.minus(most, meter), (*matched, False)))
            split = [item for item in following if not item[0].is_empty()]
        kinds: list[tuple[Dfa, tuple[bool, ...], int]] = []
        for each, matched in split:
            if each.is_empty():
                continue
            if not self._unique:
                kinds.append((compiler.text(each), matched, -1))
                continue
            kinds += [(text, matched, number) for text, number in self._single(each)]
        self._kinds[index] = kinds
        return kinds

    def _single(self, values: Values) -> list[tuple[Dfa, int]]:
        """Each value apart, with a number: equal values have equal numbers."""
        compiler, meter = self._compiler, self._compiler.meter
        values = values.unmarked(meter)
        spelled = self._numbers_apart(values)
        finite = all(is_finite(part) for part in (values.string, values.array, values.object))
        if spelled is None or not finite:
            return self._not_apart(
                values, "Items can be told apart only where there are finitely many of them.",
                "Give the items an enum (numbers: or the type integer with a minimum and a "
                "maximum), set maxItems to 1, or give strict=False to ignore the keyword.",
            )  # fmt: skip
        apart = [(word.encode(), strings.among([word], meter)) for word in sorted(values.words)]
        apart += spelled
        texts = compiler.text(replace(values, words=frozenset(), number=strings.nothing()))
        for word in islice(words(texts), MOST_UNIQUE + 1):
            apart.append((word, strings.among([word.decode()], meter)))
        if len(apart) > MOST_UNIQUE:
            return self._not_apart(
                values, f"There are more than {MOST_UNIQUE} different items, and the machine would "
                f"need a state for each set of them.",
                "Give fewer values, or strict=False to ignore the keyword.",
            )  # fmt: skip
        return [
            (texts, self._numbers.setdefault(word, len(self._numbers))) for word, texts in apart
        ]

    def _numbers_apart(self, values: Values) -> list[tuple[bytes, Dfa]] | None:
        """All spellings of each number that there is; ``None`` where there are too many numbers."""
        meter = self._compiler.meter
        once = intersection(values.number, numbers.plain_values(), meter)
        if not is_finite(once):
            return None
        apart: list[tuple[bytes, Dfa]] = []
        rest = values.number
        for word in islice(words(once), MOST_UNIQUE + 1):
            same = numbers.compared(Decimal(word.decode()), lambda order: order == "=", meter)
            each = replace(empty(), number=intersection(values.number, same, meter))
            apart.append((word, each.text(meter)))
            rest = difference(rest, same, meter)
        # A float of draft 4 may be there without the integer that it equals.
        return apart if rest.num_states == 0 or len(apart) > MOST_UNIQUE else None

    def _not_apart(self, values: Values, reason: str, remedy: str) -> list[tuple[Dfa, int]]:
        sub = next(sub for sub in self._subs if sub.keyword("uniqueItems") is True)
        self._compiler.refuse(sub, "uniqueItems", reason, remedy)
        self._unique = False
        return [(self._compiler.text(values), -1)]

    def dfa(self) -> Dfa:
        """The texts."""
        meter = self._compiler.meter
        sketch = Sketch(meter)
        begin, first, end = sketch.state(), sketch.state(), sketch.state()
        sketch.byte(begin, ord("["), first)
        caps = tuple(m if x is None else x for _, m, x in self._contains)
        start: tuple[int, tuple[int, ...], int] = (0, tuple(0 for _ in caps), 0)
        after: dict[tuple[int, tuple[int, ...], int], int] = {start: first}
        before: dict[tuple[int, tuple[int, ...], int], int] = {}
        entry: dict[tuple[int, int], int] = {}
        todo: list[tuple[int, tuple[int, ...], int]] = [start]
        while todo:
            key = todo.pop()
            index, counts, seen = key
            here = after[key]
            enough = all(
                count >= low for count, (_, low, _) in zip(counts, self._contains, strict=True)
            )
            if index >= self._minimum and enough:
                sketch.byte(here, ord("]"), end)
            if self._depth is None or (self._maximum is not None and index >= self._maximum):
                continue
            if key == start:
                item = here
            else:
                item = before[key] = sketch.state()
                sketch.byte(here, ord(","), item)
            for text, matched, number in self._of_index(index):
                if number >= 0 and seen >> number & 1:
                    continue
                following: list[int] = []
                for count, cap, hit, (_, _, most) in zip(
                    counts, caps, matched, self._contains, strict=True
                ):
                    following.append(count + hit if most is not None else min(cap, count + hit))
                if any(
                    most is not None and count > most
                    for count, (_, _, most) in zip(following, self._contains, strict=True)
                ):
                    continue
                grown = seen | 1 << number if number >= 0 else 0
                target = (min(index + 1, self._last) if self._maximum is None else index + 1,
                          tuple(following), grown)  # fmt: skip
                if target == start:  # The first item has no comma before it.
                    target = (1, tuple(following), grown)
                if target not in after:
                    after[target] = sketch.state()
                    meter.check("Arrays of a schema", states=len(after))
                    todo.append(target)
                shared = (id(text), after[target])
                if shared not in entry:
                    entry[shared] = sketch.state()
                    sketch.machine(entry[shared], text, after[target])
                sketch.epsilon(item, entry[shared])
        return sketch.finish(begin, [end])


def array_texts(
    making: Making, subs: tuple[Subschema, ...], place: Site, below: Depth | None
) -> Dfa:
    """The compact texts of the arrays that some keyword mappings allow.

    Args:
        below: How much deeper its items may go; ``None`` if no item is allowed.
    """
    minimum, maximum = bounds(subs, "minItems", "maxItems")
    longest = max((len(prefix(sub)) for sub in subs), default=0)
    if below is None:
        maximum = 0
    contains = [(sub, *contains_bounds(sub)) for sub in subs if has_contains(sub)]
    contains = [item for item in contains if item[1] > 0 or item[2] is not None]
    if maximum is not None and maximum < minimum:
        return strings.nothing()
    unique = any(sub.keyword("uniqueItems") is True for sub in subs)
    unique = unique and (maximum is None or maximum > 1)
    last = max(longest, minimum, *(item[1] for item in contains), 0)
    last = last if maximum is None else maximum
    return ArraySketch(making, subs, place, below, contains, unique, last, maximum, minimum).dfa()


def item_values(
    making: Making, subs: tuple[Subschema, ...], index: int, place: Site, depth: Depth,
    *, compared: bool, also: tuple[Subschema, ...] = (),
) -> Values:  # fmt: skip
    """The texts that may stand at an index; whether they are compared, and what else applies."""
    applying = [*also]
    left: dict[int, Subschema] = {}
    for sub in subs:
        leading = prefix(sub)
        rest = rest_of_items(sub)
        if index < len(leading):
            applying.append(sub.below(leading[index], prefix_keyword(sub), index))
        elif rest is not None:
            applying.append(sub.below(*rest))
        if sub.draft >= 2019 and "unevaluatedItems" in cast("dict[str, Any]", sub.schema):
            left[id(sub.schema)] = sub
    make = making.values if compared or left else making.values_inside
    values = make(tuple(applying), place.item, depth)
    for owner, sub in left.items():
        group = [each for each in subs if each is sub or owner in each.owners]
        if any(evaluates_item(each, index, owner) for each in group):
            continue
        unevaluated = sub.below(sub.keyword("unevaluatedItems"), "unevaluatedItems")
        allowed = making.values((*applying, unevaluated), place.item, depth)
        for each in group:
            if each.draft >= 2020 and has_contains(each):
                part = each.below(each.keyword("contains"), "contains")
                matching = making.values((*applying, part), place.item, depth)
                allowed = allowed.join(matching, making.meter)
        values = values.meet(allowed, making.meter)
    return values
