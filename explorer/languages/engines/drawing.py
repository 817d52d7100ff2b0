"""The base of the readings: nodes of a tree from parts of a schema.

Each node has the span of the keyword that it comes from, and a label, its JSON Pointer, so that an
explanation shows the line of the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, cast

from explorer.automata.construction.operations import intersection
from explorer.automata.machine import Dfa
from explorer.automata.tree.charset import CharSet, char_set, complement
from explorer.automata.tree.nodes import (
    Branch,
    Call,
    Class,
    Concat,
    Empty,
    Machine,
    Node,
    Repeat,
    Written,
    letters,
)
from explorer.budget import Meter
from explorer.errors import UnsupportedSchema
from explorer.languages.regex import compile_pattern
from explorer.languages.schema.reading.text import pointer_to, read_schema, spans_of
from explorer.languages.schema.text.numbers import compared

Object = dict[str, Any]

CONTROLS: Final = (0, 0x1F)
"""The characters that no string of JSON holds as they are."""


def but(*ranges: tuple[int, int]) -> CharSet:
    """All characters but those of some ranges."""
    return complement(char_set(ranges))


class EngineDrawing:
    """A schema drawn as the rules of one engine.

    Args:
        text: The schema as JSON.
        engine: The name of the engine, for messages.

    Attributes:
        rules: The rules that are called, by name.
        remarks: Where the engine reads a part differently from JSON Schema: the pointer and a
            sentence each.
    """

    def __init__(self, text: str, engine: str) -> None:
        self.schema: Any = read_schema(text)
        self.engine = engine
        self.rules: dict[str, Node] = {}
        self.remarks: list[tuple[str, str]] = []
        self._spans = spans_of(text)
        self._whole = (0, len(text))

    def whole(self) -> Node:
        """The whole schema."""
        raise NotImplementedError

    # --- places --------------------------------------------------------------------------------

    def span(self, pointer: str) -> tuple[int, int]:
        """The span of a part of the schema, or of the nearest one around it."""
        while pointer not in self._spans and pointer:
            pointer = pointer.rpartition("/")[0]
        return self._spans.get(pointer, self._whole)

    def head(self, pointer: str) -> str:
        """The pointer of the type of a part, or of the part where it has none."""
        return f"{pointer}/type" if f"{pointer}/type" in self._spans else pointer

    def named(self, node: Node, pointer: str, keyword: str = "") -> Node:
        """A node with the pointer of its part, or of a keyword of the part that is there."""
        place = (
            f"{pointer}/{keyword}" if keyword and f"{pointer}/{keyword}" in self._spans else pointer
        )
        return Written(*self.span(place), node, None, place or "the whole schema")

    def remark(self, pointer: str, sentence: str) -> None:
        """Note that the engine reads a part in its own way."""
        if (pointer, sentence) not in self.remarks:
            self.remarks.append((pointer, sentence))

    def refused(self, pointer: str, reason: str) -> UnsupportedSchema:
        """The error for a part that the engine refuses."""
        return UnsupportedSchema(
            f"{self.engine} refuses it: {reason}", pointer=pointer, keyword="",
            remedy="Change that part of the schema.",
        )  # fmt: skip

    # --- nodes ---------------------------------------------------------------------------------

    def text(self, written: str, pointer: str) -> Node:
        """A literal text."""
        span = self.span(pointer)
        return letters(written, lambda _: span)

    def one(self, chars: CharSet, pointer: str) -> Node:
        """One character of a set."""
        return Class(*self.span(pointer), chars)

    def seq(self, *nodes: Node) -> Node:
        """Nodes one after the other."""
        kept = [node for node in nodes if not isinstance(node, Empty)]
        if len(kept) < 2:
            return kept[0] if kept else Empty(0, 0)
        return Concat(kept[0].start, kept[-1].end, tuple(kept))

    def either(self, nodes: Sequence[Node]) -> Node:
        """One of some nodes; at least one is given."""
        if len(nodes) == 1:
            return nodes[0]
        return Branch(nodes[0].start, nodes[-1].end, tuple(nodes))

    def repeat(self, node: Node, least: int = 0, most: int | None = None) -> Node:
        """A node again and again."""
        if most == 0:
            return Empty(0, 0)
        if (least, most) == (1, 1):
            return node
        return Repeat(node.start, node.end, node, least, most, False)

    def maybe(self, node: Node) -> Node:
        """A node or nothing."""
        return node if isinstance(node, Empty) else self.repeat(node, 0, 1)

    def machine(self, dfa: Dfa, pointer: str) -> Node:
        """A ready machine."""
        return Machine(*self.span(pointer), dfa)

    def pattern(self, pattern: str, pointer: str) -> Node:
        """A pattern in the syntax of Python's `re`."""
        return self.machine(pattern_machine(pattern), pointer)

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


def compact_json(value: object) -> str:
    """A value as JSON without white space, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)
