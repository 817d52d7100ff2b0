"""Objects as machines: which members came, in which order, and how many."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property, partial
from typing import Final

from explorer.automata.machine import Dfa
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.languages.schema.building.making import Making
from explorer.languages.schema.building.values import Values, empty
from explorer.languages.schema.text.sketch import Sketch
from explorer.languages.schema.text.strings import nothing

MOST_TRACKED: Final = 10
MOST_COPIED: Final = 200_000
"""The most optional members, and states in the copies of all, for remembering optional members."""

MOST_CONTROLS: Final = 4096
"""The most sets of members that an object in any order tells apart."""


MOST_COMPARED: Final = 3
"""Of so many optional members all are remembered in a comparison, where sets are drawn at once."""

FEW: Final = 3
"""Of so many members all sets are drawn at once, where those of more wait."""


class ObjectSketch:
    """Draws ``{``, members and ``}``: which members came, and how many.

    In any order, in a machine that discovers its states, what follows a member is a mark for the
    set of members that came (`explorer.languages.schema.building.waiting`); so a set takes states
    only when a text comes to it.

    Args:
        once: Whether each kind of other names is one name, which may come once.
    """

    def __init__(
        self, compiler: Making, names: tuple[str, ...], named: dict[str, Values],
        others: list[tuple[Dfa, Values]], required: set[str], minimum: int, maximum: int | None,
        *, once: bool = False,
    ) -> None:  # fmt: skip
        self._compiler = compiler
        self._names = [name for name in names if name in named]
        self._named = named
        self._others = others
        self._required = required
        self._maximum = maximum
        self._minimum = minimum
        self._once = once
        self._sketch = Sketch(compiler.meter)
        self._entries: dict[tuple[object, int], int] = {}
        # A lower bound that the required members meet by themselves needs no counting.
        self._counted = maximum is not None or minimum > len(required)
        self._cap = max(minimum, maximum or 0, 1) if self._counted else 1

    def _member(self, key: str | int, values: Values, target: int) -> int:
        """The state before a member that leads to a state: by its name, or by its kind of names."""
        known = self._entries.get((key, target))
        if known is None:
            sketch = self._sketch
            known = self._entries[key, target] = sketch.state()
            value = sketch.state()
            if isinstance(key, str):
                sketch.byte(known, json.dumps(key, ensure_ascii=False).encode() + b":", value)
            else:
                colon = sketch.state()
                name = replace(empty(), string=self._others[key][0])
                sketch.machine(known, self._compiler.text(name), colon)
                sketch.byte(colon, ord(":"), value)
            sketch.machine(value, self._compiler.text(values), target)
        return known

    def _grown(self, count: int) -> int:
        return min(count + 1, self._cap if self._maximum is None else self._cap + 1)

    def _may(self, count: int) -> bool:
        return self._maximum is None or count <= self._maximum

    def dfa(self) -> Dfa:
        """The texts."""
        sketch = self._sketch
        begin, end = sketch.state(), sketch.state()
        if self._compiler.ordered:
            first = self._in_order(end)
        elif self.waits:
            if not self._can_end(0, 0):
                return nothing()
            first = sketch.state()
            self._draw_rest(first, 0, 0, end)
        else:
            first = self._in_any_order(0, 0, end)
        sketch.byte(begin, ord("{"), first)
        return sketch.finish(begin, [end])

    @property
    def waits(self) -> bool:
        """Whether what follows a set of members is a mark."""
        many = not self._compiler.ordered and len(self._names) > FEW and not self._once
        return many and self._compiler.rests is not None

    def at_once(self, meter: Meter) -> Dfa:
        """The texts without marks for sets of members, to be compared with others.

        Of the members only those are remembered that must come, so others may come twice.
        """
        self._begin_again(meter)
        begin, end = self._sketch.state(), self._sketch.state()
        self._sketch.byte(begin, ord("{"), self._in_any_order(0, 0, end))
        return self._sketch.finish(begin, [end])

    # In any order, a set of members at a time: what follows a member is a mark, made later.

    @cached_property
    def _bits(self) -> dict[str, int]:
        return {name: 1 << k for k, name in enumerate(self._names)}

    @cached_property
    def _needed(self) -> int:
        return sum(bit for name, bit in self._bits.items() if name in self._required)

    def _can_end(self, seen: int, count: int) -> bool:
        """Whether the members that are left can complete the object."""
        if self._maximum is not None:
            if count + (self._needed & ~seen).bit_count() > self._maximum:
                return False
            if count > self._maximum:
                return False
        left = len(self._names) - seen.bit_count()
        return self._enough(count) or bool(self._others) or count + left >= self._minimum

    def _draw_rest(self, here: int, seen: int, count: int, end: int) -> None:
        """Draw what may follow the members of a set: the end, or one more and another mark."""
        rests, sketch = self._compiler.rests, self._sketch
        assert rests is not None
        if not self._needed & ~seen and self._enough(count):
            sketch.byte(here, ord("}"), end)
        ahead = here
        if count:
            ahead = sketch.state()
            sketch.byte(here, ord(","), ahead)
        grown = self._grown(count)
        options: list[tuple[str | int, Values, int]] = [
            (name, self._named[name], seen | bit)
            for name, bit in self._bits.items()
            if not seen & bit
        ]
        options += [(k, values, seen) for k, (_, values) in enumerate(self._others)]
        after: dict[int, int] = {}
        for key, values, then in options:
            if not self._can_end(then, grown):
                continue
            if then not in after:
                after[then] = sketch.state()
                mark = rests.rest(
                    (self, then, grown),
                    partial(self._rest, then, grown), partial(self._rest_at_once, then, grown),
                )  # fmt: skip
                sketch.byte(after[then], mark, end)
            sketch.epsilon(ahead, self._member(key, values, after[then]))

    def _rest(self, seen: int, count: int, meter: Meter) -> Dfa:
        """The texts after the members of a set; marks are in them."""
        self._begin_again(meter)
        begin, end = self._sketch.state(), self._sketch.state()
        self._draw_rest(begin, seen, count, end)
        return self._sketch.finish(begin, [end])

    def _rest_at_once(self, seen: int, count: int, meter: Meter) -> Dfa:
        """The same without marks for what follows."""
        self._begin_again(meter)
        end = self._sketch.state()
        return self._sketch.finish(self._in_any_order(seen, count, end), [end])

    def _begin_again(self, meter: Meter) -> None:
        self._sketch = Sketch(meter)
        self._entries = {}

    def _enough(self, count: int) -> bool:
        return not self._counted or count >= self._minimum

    def _in_order(self, end: int) -> int:
        sketch = self._sketch
        total = len(self._names)
        after: dict[tuple[int, int], int] = {}
        before: dict[tuple[int, int], int] = {}
        todo: list[tuple[int, int]] = []
        last_required = max(
            (k for k, name in enumerate(self._names) if name in self._required), default=-1
        )

        def after_state(position: int, count: int) -> int:
            if (position, count) not in after:
                after[position, count] = sketch.state()
                todo.append((position, count))
            return after[position, count]

        def before_state(position: int, count: int) -> int:
            """Before a member at a position or later."""
            if (position, count) in before:
                return before[position, count]
            here = before[position, count] = sketch.state()
            chain = [(position, here)]
            while chain:
                place, state = chain.pop()
                grown = self._grown(count)
                if place >= total:  # What is beyond are the other names that came.
                    for k, (_, values) in enumerate(self._others):
                        came = 1 << k if self._once else 0
                        if self._may(grown) and not place - total & came:
                            target = after_state(place + came, grown)
                            sketch.epsilon(state, self._member(k, values, target))
                    continue
                name = self._names[place]
                if self._may(grown):
                    target = after_state(place + 1, grown)
                    sketch.epsilon(state, self._member(name, self._named[name], target))
                if name not in self._required:
                    following = (place + 1, count)
                    if following not in before:
                        before[following] = sketch.state()
                        chain.append((place + 1, before[following]))
                    sketch.epsilon(state, before[following])
            return here

        first = after_state(0, 0)
        while todo:
            position, count = todo.pop()
            here = after[position, count]
            if position > last_required and self._enough(count):
                sketch.byte(here, ord("}"), end)
            ahead = before_state(position, count)
            if count == 0:
                sketch.epsilon(here, ahead)
            else:
                sketch.byte(here, ord(","), ahead)
        return first

    def _tracked(self) -> list[str]:
        """The members of which the machine remembers whether they came.

        Each set of them is a state with a copy of every member that is left. Where that is too
        much only the required ones are remembered, and others may be written twice: such a text
        is read like one in which only the last of them stands.
        """
        sizes = sum(
            len(name.encode()) + 1 + self._compiler.text(values).num_states
            for name, values in self._named.items()
        )
        if self._compiler.rests is not None:  # How large the values are is not known.
            counted = self._counted or len(self._names) <= MOST_COMPARED
            return [name for name in self._names if counted or name in self._required]
        few = len(self._names) <= MOST_TRACKED
        if self._counted or (few and sizes << len(self._names) <= MOST_COPIED):
            return list(self._names)
        return [name for name in self._names if name in self._required]

    def _in_any_order(self, seen: int, count: int, end: int) -> int:
        """Draw everything after the members of a set, each set that can follow it a state."""
        sketch = self._sketch
        tracked = self._tracked()
        bit = {name: 1 << k for k, name in enumerate(tracked)}
        seen = sum(bit[name] for name in tracked if seen & self._bits[name])
        left = len(tracked) - seen.bit_count() + (len(self._others) if self._once else 0)
        if 2**left > MOST_CONTROLS:
            raise too_many_sets(left)
        needed = sum(bit[name] for name in self._required)
        first = seen, count
        after: dict[tuple[int, int], int] = {first: sketch.state()}
        todo = [first]
        while todo:
            seen, count = todo.pop()
            here = after[seen, count]
            if seen & needed == needed and self._enough(count):
                sketch.byte(here, ord("}"), end)
            grown = self._grown(count)
            if not self._may(grown):
                continue
            ahead = here
            if count:
                ahead = sketch.state()
                sketch.byte(here, ord(","), ahead)
            options: list[tuple[str | int, Values, int]] = []
            for name in self._names:
                mark = bit.get(name, 0)
                if not seen & mark:
                    options.append((name, self._named[name], seen | mark))
            for k, (_, values) in enumerate(self._others):
                came = 1 << len(tracked) + k if self._once else 0
                if not seen & came:
                    options.append((k, values, seen | came))
            for key, values, seen_after in options:
                target = (seen_after, grown)
                if target not in after:
                    after[target] = sketch.state()
                    todo.append(target)
                    self._compiler.meter.check("Objects of a schema", states=len(after))
                sketch.epsilon(ahead, self._member(key, values, after[target]))
        return after[first]


def too_many_sets(members: int) -> BudgetExceeded:
    """The error for an object that would need a state for each set of its members."""
    error = BudgetExceeded(
        "states", limit=MOST_CONTROLS, reached=2 ** min(members, 62),
        stage=f"Remembering which of {members} members of an object came, in any order,",
    )  # fmt: skip
    error.remedy = (
        'Give property_order="schema", or leave out lazy=False: a machine that discovers its '
        "states remembers only the sets that a text comes to."
    )
    error.args = (f"{error.message} {error.remedy}",)
    return error
