"""Objects as machines: which members came, in which order, and how many."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from explorer.automata.machine import Dfa
from explorer.automata.schema.making import Making
from explorer.automata.schema.sketch import Sketch
from explorer.automata.schema.values import Values, empty
from explorer.errors import UnsupportedSchema

MOST_TRACKED: Final = 10
MOST_COPIED: Final = 200_000
"""The most optional members, and states in the copies of all, for remembering optional members."""

MOST_CONTROLS: Final = 4096
"""The most sets of members that an object in any order tells apart."""


class ObjectSketch:
    """Draws ``{``, members and ``}``: which members came, and how many.

    Args:
        compiler: Makes the texts of values.
        names: The members that have an order, in it.
        named: The values of those that may be there.
        others: The other names by kind, and their values.
        required: Members that must be there.
        minimum, maximum: The fewest and the most members.
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
        ordered = self._compiler.ordered
        first = self._in_order(end) if ordered else self._in_any_order(end)
        sketch.byte(begin, ord("{"), first)
        return sketch.finish(begin, [end])

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
        few = len(self._names) <= MOST_TRACKED
        if self._counted or (few and sizes << len(self._names) <= MOST_COPIED):
            return list(self._names)
        return [name for name in self._names if name in self._required]

    def _in_any_order(self, end: int) -> int:
        sketch = self._sketch
        tracked = self._tracked()
        bit = {name: 1 << k for k, name in enumerate(tracked)}
        kept = len(tracked) + (len(self._others) if self._once else 0)
        if 2**kept > MOST_CONTROLS:
            raise UnsupportedSchema(
                f"An object with {kept} members to keep apart in any order needs "
                f"{2**kept:,} states just to remember which of them came.",
                pointer="", keyword="required",
                remedy='Give property_order="schema".',
            )  # fmt: skip
        needed = sum(bit[name] for name in self._required)
        after: dict[tuple[int, int], int] = {(0, 0): sketch.state()}
        todo = [(0, 0)]
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
        return after[0, 0]
