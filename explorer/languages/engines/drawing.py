"""The base of the readings: a part of a schema becomes a pattern, and that a node of the tree.

A pattern is a text in the syntax of Python's `re` with two kinds of letters more, from the planes
that no text uses: a *mark* says of which keyword the text after it comes, and a *held* letter
stands for a node that is drawn already. The nodes get the spans and the JSON Pointers of their
marks, so that an explanation shows the line of the schema.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar, Final, cast

from msgspec import Struct, structs

from explorer.automata.construction.operations import intersection
from explorer.automata.machine import Dfa
from explorer.automata.tree.nodes import (
    Call,
    Empty,
    Literal,
    Machine,
    Node,
    Written,
    children,
    with_children,
)
from explorer.budget import Meter
from explorer.errors import RegexError, UnsupportedSchema
from explorer.languages.engines.patterns import facts, pattern_tree
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.reading.text import pointer_to, read_schema, spans_of
from explorer.languages.schema.text.numbers import compared

Object = dict[str, Any]

MARKS, HELD = 0xF0000, 0x100000
"""The first letters of the two kinds."""

_MARK: Final = re.compile("[\U000f0000-\U000fffff]")
_WHOLE: Final = "the whole schema"


class EngineDrawing(ABC):
    """A schema drawn as the rules of one engine.

    Args:
        text: The schema as JSON.
        blank: A pattern of the white space between the tokens of JSON.

    Attributes:
        engine: The engine, a key of `engines.json`.
        rules: The rules that are called, by name.
        remarks: Where the engine reads a part differently from JSON Schema: the pointer and a
            sentence each.
    """

    engine: ClassVar[str]

    def __init__(self, text: str, blank: str) -> None:
        self.schema: Any = read_schema(text)
        self.blank = blank
        self.rules: dict[str, Node] = {}
        self.remarks: list[tuple[str, str]] = []
        self._spans = spans_of(text)
        self._size = len(text)
        self._places: dict[str, int] = {}
        self._held: list[Node] = []
        if re.search("[\U000f0000-\U0010ffff]", text):
            raise self.refused("", "it holds characters of the planes for private use.")

    @abstractmethod
    def whole(self) -> Node:
        """The whole schema."""

    # --- places

    def span(self, pointer: str) -> tuple[int, int]:
        """The span of a part of the schema, or of the nearest one around it."""
        while pointer not in self._spans and pointer:
            pointer = pointer.rpartition("/")[0]
        return self._spans.get(pointer, (0, self._size))

    def at(self, pointer: str, keyword: str = "type") -> str:
        """The mark of a keyword of a part; of the part where the keyword is not there."""
        named = f"{pointer}/{keyword}"
        place = named if named in self._spans else pointer
        return chr(MARKS + self._places.setdefault(place, len(self._places)))

    def say(self, pointer: str, rule: str, **words: str) -> None:
        """Note that the engine reads a part in its own way.

        Args:
            rule: The name of a rule in `engines.json`.
        """
        said = (pointer, facts(self.engine)["rules"][rule].format(**words))
        if said not in self.remarks:
            self.remarks.append(said)

    def refused(self, pointer: str, reason: str) -> UnsupportedSchema:
        """The error for a part that the engine refuses."""
        return UnsupportedSchema(
            f"{facts(self.engine)['title']} refuses it: {reason}", pointer=pointer, keyword="",
            remedy="Change that part of the schema.",
        )  # fmt: skip

    # --- nodes

    def hold(self, node: Node) -> str:
        """The letter of a node."""
        self._held.append(node)
        return chr(HELD + len(self._held) - 1)

    def machine(self, dfa: Dfa, pointer: str, keyword: str = "type") -> Node:
        """A ready machine."""
        span = self.span(f"{pointer}/{keyword}" if keyword else pointer)
        return self.draw(self.at(pointer, keyword) + self.hold(Machine(*span, dfa)))

    def draw(self, marked: str) -> Node:
        """The node of a pattern with marks and held letters."""
        begins: list[int] = []
        places: list[str] = []
        named = list(self._places)
        for k, mark in enumerate(_MARK.finditer(marked)):
            begins.append(mark.start() - k)
            places.append(named[ord(mark[0]) - MARKS])

        def place_of(offset: int) -> str:
            return places[bisect_right(begins, offset) - 1]

        def placed(node: Node) -> tuple[Node, str]:
            """A node with the span of its place, and the place; empty where it has several."""
            if isinstance(node, Literal) and len(node.chars.ranges) == 1:
                letter = node.chars.ranges[0][0]
                if letter >= HELD:
                    held = self._held[letter - HELD]
                    return held, "" if isinstance(held, Written) else place_of(node.start)
            below = [placed(child) for child in children(node)]
            first = place_of(node.start)
            start, end = self.span(first)
            moved: Any = (
                structs.replace(node, start=start, end=end) if isinstance(node, Struct)
                else replace(cast("Any", node), start=start, end=end)
            )  # fmt: skip
            if {place for _, place in below} <= {first}:
                return with_children(moved, tuple(each for each, _ in below)), first
            parts = tuple(self._named(*each) for each in below)
            return with_children(moved, parts), _SEVERAL

        try:
            tree = pattern_tree(_MARK.sub("", marked), self.engine)
        except RegexError as error:
            raise self.refused(place_of(error.start), error.message) from error
        return self._named(*placed(tree.whole()))

    def _named(self, node: Node, place: str) -> Node:
        if place == _SEVERAL or isinstance(node, Written):
            return node
        return Written(*self.span(place), node, None, place or _WHOLE)

    def rule(self, name: str, draw: Callable[[], Node]) -> Node:
        """A call of a rule, which is drawn once."""
        if name not in self.rules:
            self.rules[name] = Empty(0, 0)  # It may call itself while it is drawn.
            self.rules[name] = draw()
        return Call(0, 0, name)

    def by_ref(self, ref: str, pointer: str) -> tuple[Any, str]:
        """The part that a reference names, and its pointer.

        Raises:
            UnsupportedSchema: There is no such part.
        """
        part: object = self.schema
        way = [] if ref == "#" else ref.removeprefix("#/").split("/")
        for step in way:
            items = cast("list[object]", part) if isinstance(part, list) else []
            members = cast("Object", part) if isinstance(part, dict) else {}
            if step.isdigit() and int(step) < len(items):
                part = items[int(step)]
            elif step in members:
                part = members[step]
            else:
                raise self.refused(f"{pointer}/$ref", f"there is no {ref}.")
        return part, pointer_to(*way)


_SEVERAL: Final = "\0"


@lru_cache(maxsize=256)
def pattern_machine(pattern: str) -> Dfa:
    """The machine of a pattern."""
    return compile_pattern(pattern, Meter())[1]


def both(first: Dfa, second: Dfa) -> Dfa:
    """The texts that two machines both accept."""
    return intersection(first, second, Meter())


def within(machine: Dfa, bounds: Iterable[tuple[object, str]]) -> Dfa:
    """The spellings of a machine whose number is within bounds.

    Args:
        bounds: Each a number and the orders to it that are wanted, such as ``">="``.
    """
    for bound, wanted in bounds:
        machine = both(machine, compared(Decimal(str(bound)), wanted, Meter()))
    return machine


def bounds_of(schema: Mapping[str, Any]) -> list[tuple[object, str]]:
    """The bounds of a number, by the four keywords."""
    orders = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    return [
        (schema[name], order) for name, order in orders.items()
        if name in schema and not isinstance(schema[name], bool)
    ]  # fmt: skip


def plain_number(value: object) -> float | int:
    """A number of a schema as Python has it."""
    return int(value) if isinstance(value, int) else float(str(value))


def spelled(value: Any, number: Callable[[float], str], least: int, most: int) -> str:
    """A value as compact JSON.

    Args:
        number: Writes a fraction, or an integer outside of ``least`` to ``most``.
    """
    if isinstance(value, dict):
        return "{" + ",".join(
            f"{spelled(name, number, least, most)}:{spelled(each, number, least, most)}"
            for name, each in cast("Object", value).items()
        ) + "}"  # fmt: skip
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return f"[{','.join(spelled(each, number, least, most) for each in items)}]"
    if isinstance(value, Decimal | float | int) and not isinstance(value, bool):
        whole = isinstance(value, int) and least <= value <= most
        return str(value) if whole else number(float(str(value)))
    return json.dumps(value, ensure_ascii=False)
