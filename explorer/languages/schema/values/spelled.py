"""The JSON texts of a set of values: an automaton with nodes in the place of inner values.

White space, escapes and separators enter here and nowhere else.

Names that a schema does not list are read along a trie of those that it lists. In the trie each
character has only the spelling of `json.dumps`; after a character that leaves the trie anything may
follow in any spelling, because the name already differs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Literal, cast

from explorer.automata.construction.operations import dfa_to_nfa, difference, minimal_dfa
from explorer.automata.machine import Dfa, Nfa
from explorer.automata.tree.layout import lay_out
from explorer.automata.tree.nodes import Call, Deferred, Node, Outline, Repeat, Texts
from explorer.automata.valid_utf8 import WELL_FORMED, any_text
from explorer.budget import Meter
from explorer.errors import BudgetExceeded
from explorer.languages.regex import parse
from explorer.languages.schema.options import SchemaOptions
from explorer.languages.schema.reading.subschemas import check_well_formed
from explorer.languages.schema.text.sketch import STAGE, Sketch
from explorer.languages.schema.text.strings import (
    ESCAPED,
    EscapesOf,
    among,
    character_in,
    free_escapes,
    literals,
    literals_of_length,
    respelled,
    spelled_literals,
)
from explorer.languages.schema.values.certain import is_small
from explorer.languages.schema.values.containers import Arc, Arrays, InContainer, Objects
from explorer.languages.schema.values.places import Depth, Site, Wanted
from explorer.languages.schema.values.sets import ValueSets
from explorer.languages.schema.values.texts import StringPart

MOST_LETTERS: Final = 32
"""The most items and members of a container that are drawn at once, unless they are drawn for an
earlier one too; what follows the others is drawn when a text reaches it."""
MOST_KEPT: Final = 2_000
"""The most states of a machine whose literals are cached, since formats repeat."""

_QUOTE, _BACKSLASH = 0x22, 0x5C
_ESCAPED: Final = {chr(byte): data for byte, data in ESCAPED.items()}

Ranges = tuple[tuple[int, int], ...]
"""The intervals of consecutive bytes of a character, one for each byte."""

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
        small = len(wanted.held) == 1 and not wanted.excluded and is_small(wanted.held[0].schema)
        late = self._late and not small and self._sets.is_sound(wanted)
        outline = partial(self._of_value, key, wanted, site, depth, level)
        self._nodes[key] = _drawn_by(outline, is_late=late, calls=self._call is not None)
        return self._nodes[key]

    def _of_value(
        self, key: object, wanted: Wanted, site: Site, depth: Depth | None, level: int, meter: Meter
    ) -> Outline:
        """The texts of a value inside another one, drawn once."""
        if key in self._outlines:
            return self._outlines[key]
        self._sets.watch(meter)
        drawing = Sketch(meter, 2)
        try:
            self._draw(drawing, 0, 1, wanted, site, depth, level)
            outline = drawing.outline()
            if not self._late and self._call is None:  # It is minimized before it is copied.
                whole = _drawn_by(lambda _: outline)
                outline = Outline(dfa_to_nfa(whole.make(meter)), ())
        except RecursionError as error:
            if not self._late:
                raise
            most = sys.getrecursionlimit()
            raise BudgetExceeded("states", limit=most, reached=most + 1, stage=STAGE) from error
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
        for word in sorted(sets.words(wanted)):
            drawing.text(begin, word.encode(), end)
        for machine in sets.numbers(wanted).machines(sets.meter):
            drawing.machine(begin, machine, end)
        for part in sets.strings(wanted).written:
            self.string(drawing, begin, part, end)
        for kind in ("array", "object"):
            for machine, below in sets.inside(wanted, site, cast("Any", kind), depth):
                if isinstance(machine, Arrays):
                    self._array(drawing, begin, end, machine, below, level)
                else:
                    self._container(drawing, begin, end, machine, below, level)

    # Strings.

    def string(self, drawing: Sketch, begin: int, part: StringPart, end: int) -> None:
        """Draw the literals of some strings."""
        escapes, meter = self._options.escapes, self._sets.meter
        if part.listed is not None:
            if escapes == "free":
                texts = tuple(map(_QUOTED, part.listed))
                if len(texts) == 1:
                    drawing.text(begin, texts[0].encode(), end)
                else:
                    drawing.part(begin, Texts(0, 0, texts), end)
                return
            machine = literals(among(list(part.listed), meter), meter)
            drawing.nfa(begin, respelled(machine, meter, escapes), end)
            return
        if part.dfa is None:
            inside = drawing.state()
            drawing.text(begin, b'"', inside)
            if part.low or part.high is not None:
                after = drawing.state()
                most = part.low if part.high is None else part.high
                character = parse(character_in(escapes)).root
                drawing.part(inside, Repeat(0, 0, character, part.low, most, False), after)
                inside = after
                if part.high is not None:
                    drawing.text(inside, b'"', end)
                    return
            drawing.nfa(inside, free_string(), end)
            return
        if part.low or part.high is not None:
            most = part.low if part.high is None else part.high
            meter.check(STAGE, states=(most + 1) * part.dfa.num_states)
            drawing.nfa(begin, _of_length(part.dfa, part.low, part.high, escapes), end)
        elif part.dfa.num_states > MOST_KEPT:
            drawing.nfa(begin, spelled_literals(part.dfa, meter, escapes), end)
        else:
            drawing.nfa(begin, _literals(part.dfa, escapes), end)

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

        return _drawn_by(outline, calls=self._call is not None)

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

        self._nodes[key] = _drawn_by(outline, is_late=True)
        return self._nodes[key]

    def _can_finish(self, machine: Any, place: InContainer, depth: Depth | None) -> bool:
        key = id(machine), place, depth
        if key not in self._finishes:
            self._finishes[key] = self._sets.can_finish(machine, place, depth)
        return self._finishes[key]

    def _name(self, drawing: Sketch, entry: int, machine: Objects, label: str | int) -> int:
        """Draw a name and the colon; the state after them."""
        escapes, meter = self._options.escapes, self._sets.meter
        colon = b":" + self._options.after_colon
        if isinstance(label, str) and self._plain:
            value = drawing.state()
            drawing.text(entry, _QUOTED(label).encode() + colon, value)
            return value
        named, value = drawing.state(), drawing.state()
        if isinstance(label, str):
            self.string(drawing, entry, StringPart(listed=(label,)), named)
        else:
            kind = machine.kinds[label]
            if kind.names is not None:
                self.string(drawing, entry, StringPart(kind.names), named)
            elif not machine.names:
                self.string(drawing, entry, StringPart(), named)
            elif escapes == "free":
                drawing.nfa(entry, other_names(machine.names), named)
            else:
                others = difference(any_text(), among(list(machine.names), meter), meter)
                self.string(drawing, entry, StringPart(others), named)
        drawing.text(self._spaced(drawing, named), colon, value)
        return self._spaced(drawing, value)


def _drawn_by(
    outline: Callable[[Meter], Outline], *, is_late: bool = False, calls: bool = False
) -> Deferred:
    """A node that a function draws."""
    node = Deferred(
        0, 0, lambda meter: minimal_dfa(lay_out(node, meter), meter), outline=outline,
        is_late=is_late, calls=calls,
    )  # fmt: skip
    return node


@lru_cache(maxsize=64)
def _literals(texts: Dfa, escapes: EscapesOf) -> Nfa:
    """The literals of some texts."""
    return spelled_literals(texts, Meter(), escapes)


_of_length = lru_cache(maxsize=8)(literals_of_length)


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
