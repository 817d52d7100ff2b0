"""The JSON texts of a set of values: an automaton with nodes in the place of inner values.

White space, escapes and separators enter here and nowhere else.

A name that a schema does not list is spelled as `json.dumps` does as long as it may become a listed
one; after a character by which it differs anything may follow in any spelling.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache, partial
from threading import RLock
from typing import Any, Final, Literal, cast

from explorer.automata.construction.operations import dfa_to_nfa, difference, minimal_dfa
from explorer.automata.machine import Dfa
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Call, Deferred, Node, Outline, Repeat, Texts
from explorer.automata.valid_utf8 import any_text
from explorer.budget import Meter
from explorer.errors import NotRegular, nested_too_deep
from explorer.jit import is_too_deep
from explorer.languages.regex import parse
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import check_well_formed
from explorer.languages.schema.text.sketch import STAGE, Sketch
from explorer.languages.schema.text.strings import (
    among,
    character_in,
    free_string,
    literals,
)
from explorer.languages.schema.values.containers import Arc, Arrays, InContainer, Objects
from explorer.languages.schema.values.places import Depth, Site, Wanted
from explorer.languages.schema.values.sets import ValueSets
from explorer.languages.schema.values.texts import StringPart

MOST_LETTERS: Final = 32
"""The most items and members of a container that are drawn at once, unless they are drawn for an
earlier one too; what follows the others is drawn when a text reaches it."""
MOST_KEPT: Final = 40_000
"""The most states of literals that are cached, since formats repeat."""

_QUOTED: Final = json.JSONEncoder(ensure_ascii=False).encode


class JsonTexts:
    """Draws the texts of sets of values.

    Args:
        sets: The sets of values.
        options: How values are written.
        late: Whether inner values may be drawn when a text reaches them.
        call: Gives the rule of an inner value that is followed on a stack, else ``None``.
    """

    def __init__(
        self,
        sets: ValueSets,
        options: SchemaOptions,
        *,
        late: bool,
        call: Callable[[Wanted, Site], str | None] | None = None,
    ) -> None:
        self._sets = sets
        sets.every_set = not late
        self._options = options
        self._spaces, self._blank = options.spaces, options.blank
        # Names are written in one way, with nothing before their colons.
        self._plain = options.escapes == "free" and not self._spaces and self._blank is None
        self._late = late
        self._call = call
        self._nodes: dict[object, Node] = {}
        self._outlines: dict[object, Outline] = {}
        self._finishes: dict[object, bool] = {}
        self._lock = RLock()  # Those of `_free_texts` serve every machine.

    def whole(self, wanted: Wanted, site: Site, depth: Depth | None) -> Outline:
        """The texts of a whole value, with white space around it."""
        drawing = Sketch(self._sets.meter, 2)
        begin, end = 0, 1
        if self._spaces:
            begin, end = drawing.state(), drawing.state()
            drawing.epsilon(0, begin)
            drawing.epsilon(end, 1)
            drawing.spaces(begin)
            drawing.spaces(end)
        self._draw(drawing, begin, end, wanted, site, depth, 0)
        return drawing.outline()

    def inside(self, wanted: Wanted, site: Site, depth: Depth | None) -> Outline:
        """The texts of a value without white space around it."""
        drawing = Sketch(self._sets.meter, 2)
        self._draw(drawing, 0, 1, wanted, site, depth, 0)
        return drawing.outline()

    def node(self, wanted: Wanted, site: Site, depth: Depth | None, level: int) -> Node | None:
        """The texts of a value inside another one; ``None`` if there are none."""
        level *= self._options.whitespace == "pretty"  # Else nothing depends on it.
        key = wanted.key, site.key, depth, level
        if key in self._nodes:
            return self._nodes[key]
        if self._call is not None:
            name = self._call(wanted, site)
            if name is not None:
                node: Node = Call(0, 0, name)
                if not self._sets.is_possible(wanted, site, depth):
                    return None
                self._nodes[key] = node
                return node
        for sub in wanted.held:
            check_well_formed(cast("dict[str, Any]", sub.schema), sub.pointer, sub.draft)
        if not self._sets.is_possible(wanted, site, depth):
            return None
        late = self._late and self._sets.is_sound(wanted)
        outline = partial(self._of_value, key, wanted, site, depth, level)
        self._nodes[key] = drawn_by(outline, is_late=late, calls=self._call is not None)
        return self._nodes[key]

    def _of_value(
        self, key: object, wanted: Wanted, site: Site, depth: Depth | None, level: int, meter: Meter
    ) -> Outline:
        """The texts of a value inside another one, drawn once."""
        if key in self._outlines:
            return self._outlines[key]
        is_free = not (wanted.held or wanted.excluded or site.key or level)
        if is_free and self._late and self._call is None:
            shared = _free_texts(self._options)
            if shared is not self:
                place = shared._sets.place(())
                return shared._of_value(key, wanted, place, depth, level, meter)
        with self._lock:
            return self._drawn(key, wanted, site, depth, level, meter)

    def _drawn(
        self, key: object, wanted: Wanted, site: Site, depth: Depth | None, level: int, meter: Meter
    ) -> Outline:
        self._sets.watch(meter)
        drawing = Sketch(meter, 2)
        try:
            self._draw(drawing, 0, 1, wanted, site, depth, level)
            outline = drawing.outline()
            if not self._late and self._call is None:  # It is minimized before it is copied.
                whole = drawn_by(lambda _: outline)
                outline = Outline(dfa_to_nfa(whole.make(meter)), ())
        except (RecursionError, SystemError) as error:
            if not self._late or not is_too_deep(error):
                raise
            raise nested_too_deep(STAGE) from error
        self._outlines[key] = outline
        return outline

    def _draw(
        self,
        drawing: Sketch,
        begin: int,
        end: int,
        wanted: Wanted,
        site: Site,
        depth: Depth | None,
        level: int,
    ) -> None:
        sets = self._sets
        for word in sets.words(wanted):
            drawing.text(begin, word.encode(), end)
        for machine in sets.numbers(wanted).machines(sets.meter):
            drawing.machine(begin, machine, end)
        for part in sets.strings(wanted).written:
            self.string(drawing, begin, part, end)
        for machine, below in sets.inside(wanted, site, depth):
            is_closed = not self._late and self._call is None
            if (
                is_closed
                and below
                and below.free is None
                and not any(sub.schema for sub in machine.main.subs)
            ):
                raise endless()
            if isinstance(machine, Arrays):
                self._array(drawing, begin, end, machine, below, level)
            else:
                self._container(drawing, begin, end, machine, below, level)

    # Strings.

    def string(self, drawing: Sketch, begin: int, part: StringPart, end: int) -> None:
        """Draw the literals of some strings."""
        escapes, meter = self._options.escapes, self._sets.meter
        if part.listed is not None:
            quoted = tuple(map(_QUOTED, part.listed))
            if escapes == "any":
                drawing.nfa(begin, literals(among(list(part.listed), meter), escapes), end)
            elif len(quoted) == 1:
                drawing.text(begin, quoted[0].encode(), end)
            else:
                drawing.part(begin, Texts(0, 0, quoted), end)
            return
        most = part.low if part.high is None else part.high
        if part.dfa is not None:
            size = (most + 1) * part.dfa.num_states
            meter.check(STAGE, states=size)
            make = literals if size > MOST_KEPT else _kept_literals
            drawing.nfa(begin, make(part.dfa, escapes, part.low, part.high), end)
            return
        inside = drawing.state()
        drawing.text(begin, b'"', inside)
        if most or part.high is not None:
            after = drawing.state()
            character = _parsed(character_in(escapes)).root
            drawing.part(inside, Repeat(0, 0, character, part.low, most, False), after)
            inside = after
        if part.high is None:
            drawing.nfa(inside, free_string(), end)
        else:
            drawing.text(inside, b'"', end)

    # Containers.

    def _line(self, level: int) -> bytes:
        return b"\n" + b"  " * level if self._options.whitespace == "pretty" else b""

    def _comma(self, level: int) -> bytes:
        return b"," + self._options.after_comma + self._line(level)

    def _spaced(self, drawing: Sketch, state: int) -> int:
        """Draw white space between two tokens; the state after it."""
        if self._spaces:
            drawing.spaces(state)
        if self._blank is None:
            return state
        after = drawing.state()
        drawing.machine(state, self._blank, after)
        return after

    def _array(
        self,
        drawing: Sketch,
        begin: int,
        end: int,
        machine: Arrays,
        depth: Depth | Literal[False] | None,
        level: int,
    ) -> None:
        uniform = machine.uniform
        if uniform is not None and machine.start() is not None:
            wanted, site, low, high = uniform
            node = (
                None if depth is False or high == 0 else self.node(wanted, site, depth, level + 1)
            )
            if low == 0:
                self._empty(drawing, begin, b"[]", end)
            if node is None or not self._is_marked_well(machine, depth):
                return
            first, after, close = drawing.state(), drawing.state(), drawing.state()
            drawing.text(begin, self._opening(machine) + self._line(level + 1), first)
            drawing.part(self._spaced(drawing, first), node, after)
            after = self._spaced(drawing, after)
            drawing.text(close, self._line(level) + b"]", end)
            low, most = max(low - 1, 0), None if high is None else high - 1
            if (low, most) == (0, 0):
                drawing.epsilon(after, close)
            elif (low, most) == (0, None):
                drawing.epsilon(after, close)
                drawing.text(after, self._comma(level + 1), first)
            else:
                further = self._further(node, level + 1)
                drawing.part(after, Repeat(0, 0, further, low, most, False), close)
            return
        self._container(drawing, begin, end, machine, depth, level)

    def _is_marked_well(
        self, machine: Arrays | Objects, depth: Depth | Literal[False] | None
    ) -> bool:
        """Whether a container may be drawn: one with a mark has some array of different items."""
        return not machine.mark or self._sets.can_end(machine, depth)

    def _opening(self, machine: Arrays | Objects) -> bytes:
        """The opening bracket, with the mark of items that are remembered."""
        is_marked = machine.mark and self._sets.once == "marked"
        return machine.opening + (bytes((machine.mark,)) if is_marked else b"")

    def _empty(self, drawing: Sketch, begin: int, both: bytes, end: int) -> None:
        between = drawing.state()
        drawing.text(begin, both[:1], between)
        drawing.text(self._spaced(drawing, between), both[1:], end)

    def _further(self, node: Node, level: int) -> Node:
        """A comma and an item, with white space after both."""

        def outline(meter: Meter) -> Outline:
            drawing = Sketch(meter, 2)
            before, after = drawing.state(), drawing.state()
            drawing.text(0, self._comma(level), before)
            drawing.part(self._spaced(drawing, before), node, after)
            drawing.epsilon(self._spaced(drawing, after), 1)
            return drawing.outline()

        return drawn_by(outline, calls=self._call is not None)

    def _container(
        self,
        drawing: Sketch,
        begin: int,
        end: int,
        machine: Arrays | Objects,
        depth: Depth | Literal[False] | None,
        level: int,
    ) -> None:
        start = machine.start()
        if start is None:
            return
        if machine.ends(start):
            self._empty(drawing, begin, machine.opening + machine.closing, end)
        if depth is False or not self._is_marked_well(machine, depth):
            return
        first = drawing.state()
        drawing.text(begin, self._opening(machine) + self._line(level + 1), first)
        first = self._spaced(drawing, first)
        self._from(drawing, first, start, end, machine, depth, level)

    def _from(
        self,
        drawing: Sketch,
        first: int,
        start: InContainer,
        end: int,
        machine: Any,
        depth: Depth | None,
        level: int,
    ) -> None:
        """Draw the letters from a place on, up to the end of the container."""
        entries: dict[object, int | None] = {}
        entered: dict[InContainer, list[int]] = {}
        after: dict[InContainer, int] = {}
        # The states of a place, the first or a later one, before and after white space.
        before: dict[tuple[bool, InContainer], tuple[int, int]] = {(True, start): (first, first)}
        todo: list[tuple[bool, InContainer]] = [(True, start)]

        def at(is_first: bool, place: InContainer) -> tuple[int, int]:
            key = is_first, place
            if key not in before:
                state = drawing.state()
                before[key] = state, self._spaced(drawing, state)
                todo.append(key)
            return before[key]

        def entry(arc: Arc) -> int | None:
            """The state before a letter; ``None`` if the letter leads to no text."""
            node = self.node(arc.wanted, self._sets.place_of(arc), depth, level + 1)
            target = arc.target
            waits = self._late and (
                machine.waits_at(target)
                or (len(entries) >= MOST_LETTERS and (False, target) not in before)
            )
            if node is None or (waits and not self._can_finish(machine, target, depth)):
                return None
            state = value = drawing.state()
            if isinstance(machine, Objects):
                value = self._name(drawing, state, machine, cast("str | int", arc.label))
            if target not in after:
                after[target] = drawing.state()
                then = self._spaced(drawing, after[target])
                if waits:
                    drawing.part(then, self._rest(machine, target, depth, level), end)
                else:
                    self._closed(drawing, then, machine, target, end, level)
                    drawing.text(then, self._comma(level + 1), at(False, target)[0])
            drawing.part(value, node, after[target])
            return state

        while todo:
            is_first, place = todo.pop()
            self._sets.meter.check(STAGE, states=len(before))
            here = before[is_first, place][1]
            skipped = machine.skipped(place)
            if skipped is not None:
                drawing.epsilon(here, at(is_first, skipped)[1])
            if place not in entered:
                states: list[int | None] = []
                for arc in machine.arcs(place):
                    key = arc.label, arc.wanted.key, arc.target
                    if key not in entries:
                        entries[key] = entry(arc)
                    states.append(entries[key])
                entered[place] = [state for state in states if state is not None]
            for state in entered[place]:
                drawing.epsilon(here, state)

    def _closed(
        self,
        drawing: Sketch,
        state: int,
        machine: Any,
        place: InContainer,
        end: int,
        level: int,
    ) -> None:
        if machine.ends(place):
            drawing.text(state, self._line(level) + machine.closing, end)

    def _rest(self, machine: Any, place: InContainer, depth: Depth | None, level: int) -> Node:
        key = id(machine), place, depth, level
        if key in self._nodes:
            return self._nodes[key]

        def outline(meter: Meter) -> Outline:
            self._sets.watch(meter)
            drawing = Sketch(meter, 2)
            self._closed(drawing, 0, machine, place, 1, level)
            before = drawing.state()
            drawing.text(0, self._comma(level + 1), before)
            before = self._spaced(drawing, before)
            self._from(drawing, before, place, 1, machine, depth, level)
            return drawing.outline()

        self._nodes[key] = drawn_by(outline, is_late=True)
        return self._nodes[key]

    def _can_finish(self, machine: Any, place: InContainer, depth: Depth | None) -> bool:
        key = id(machine), place, depth
        if key not in self._finishes:
            self._finishes[key] = self._sets.can_finish(machine, place, depth)
        return self._finishes[key]

    def _name(self, drawing: Sketch, entry: int, machine: Objects, label: str | int) -> int:
        """Draw a name and the colon; the state after them."""
        colon = b":" + self._options.after_colon
        if isinstance(label, str) and self._plain:
            value = drawing.state()
            drawing.text(entry, _QUOTED(label).encode() + colon, value)
            return value
        named, value = drawing.state(), drawing.state()
        if isinstance(label, str):
            self.string(drawing, entry, StringPart(listed=(label,)), named)
        else:
            names = machine.kinds[label].names
            if names is None and machine.names:
                names = _other_names(machine.names)
            self.string(drawing, entry, StringPart(names), named)
        drawing.text(self._spaced(drawing, named), colon, value)
        return self._spaced(drawing, value)


def drawn_by(
    outline: Callable[[Meter], Outline], *, is_late: bool = False, calls: bool = False
) -> Deferred:
    """A node that a function draws."""
    node = Deferred(
        0, 0, lambda meter: minimal_dfa(lay_out(node, meter), meter), outline=outline,
        is_late=is_late, calls=calls,
    )  # fmt: skip
    return node


def endless() -> NotRegular:
    """The error for a finite machine of values that nest without end."""
    return NotRegular(
        ("any value",),
        "What the schema does not describe nests to any depth",
        "Give free_depth=3, the most arrays and objects inside each other there.",
    )


@lru_cache(maxsize=16)
def _free_texts(options: SchemaOptions) -> JsonTexts:
    """The texts of values that no schema describes, drawn once for all schemas."""
    return JsonTexts(ValueSets(options, Meter()), options, late=True)


_parsed = lru_cache(maxsize=4)(parse)
_kept_literals = lru_cache(maxsize=32)(literals)


@lru_cache(maxsize=256)
def _other_names(names: tuple[str, ...]) -> Dfa:
    """The machine of all texts but some names."""
    return difference(any_text(), among(list(names), Meter()), Meter())
