"""The pieces of a structural tag: the syntax tree of each, and how it divides a text.

A piece knows two things: its syntax tree (`TagPart.node`), with spans in the text of the structural
tag, and its possible ends in an accepted text (`TagPart.ends`), the likeliest first, with the
*parts* that it read: ``{"text": …}`` for free text, ``{"value": …}`` for a schema, a pattern or a
grammar, ``{"tag": …, "parts": […]}`` for a tag. Fixed text is not a part. Control tokens stand in
such a text by their names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from explorer.automata.discovered.discover import small_or_discovered
from explorer.automata.machine import NO_ARC, ByteMachine
from explorer.automata.tree.nodes import (
    Branch,
    Concat,
    Empty,
    Machine,
    Node,
    Repeat,
    Source,
    Written,
)
from explorer.languages.phases.leftmost import (
    Marked,
    shown_string,
    string_node,
    text_up_to,
    text_without,
)

Parts = tuple[dict[str, object], ...]
Span = tuple[int, int]
End = tuple[int, Parts]


class TagPart(ABC):
    """A piece of a structural tag."""

    @abstractmethod
    def node(self) -> Node:
        """The syntax tree of the piece."""

    @abstractmethod
    def ends(self, text: str, at: int) -> Iterator[End]:
        """The possible ends of the piece from a start on, each with the parts that it read."""


@dataclass(frozen=True)
class FixedPiece(TagPart):
    """One of some strings, each with the spans of its characters."""

    strings: tuple[tuple[Marked, tuple[Span, ...]], ...]
    label: str = ""

    def node(self) -> Node:
        """The string, or the alternatives of several."""
        options = tuple(string_node(string, spans) for string, spans in self.strings)
        body = options[0] if len(options) == 1 else Branch(0, 0, options)
        return Written(0, 0, body, label=self.label) if self.label else body

    def ends(self, text: str, at: int) -> Iterator[End]:
        """The end of each string that the text has here, the longest first."""
        for string in sorted((shown_string(s) for s, _ in self.strings), key=len, reverse=True):
            if text.startswith(string, at):
                yield at + len(string), ()


@dataclass(frozen=True)
class SourcePiece(TagPart):
    """A constraint of its own: a schema, a pattern, a grammar, tokens."""

    source: Source
    child: int
    label: str
    is_text: bool = False

    def node(self) -> Node:
        """The tree of the constraint, as a child of the structural tag."""
        return replace(self.source.late_tree, child=self.child, label=self.label)

    @cached_property
    def _machine(self) -> ByteMachine:
        return small_or_discovered(self.source.tree)

    def ends(self, text: str, at: int) -> Iterator[End]:
        """Every end that the constraint allows, the longest first."""
        state, here, places = self._machine.start, at, list[int]()
        while state != NO_ARC:
            if self._machine.is_accepting(state):
                places.append(here)
            if here == len(text):
                break
            for byte in text[here].encode():
                state = self._machine.step(state, byte) if state != NO_ARC else NO_ARC
            here += 1
        for end in reversed(places):
            value = text[at:end]
            part: dict[str, object] = {"text": value}
            yield end, (part if self.is_text else {"value": self.source.parse(value)},)


@dataclass(frozen=True)
class FreePiece(TagPart):
    """Any text without some strings."""

    excluded: frozenset[Marked]
    span: Span
    every: bool = False

    def node(self) -> Node:
        """One machine of free text."""
        return Machine(*self.span, text_without(self.excluded, self.every))

    def ends(self, text: str, at: int) -> Iterator[End]:
        """Every place before an excluded string is complete, the nearest first."""
        last = _free_until(text, at, self.excluded)
        for end in range(at, last + 1):
            yield end, _text(text[at:end])


@dataclass(frozen=True)
class RowPiece(TagPart):
    """A sequence of pieces."""

    items: tuple[TagPart, ...]

    def node(self) -> Node:
        """The concatenation of the pieces."""
        nodes = tuple(item.node() for item in self.items)
        return nodes[0] if len(nodes) == 1 else Concat(0, 0, nodes) if nodes else Empty(0, 0)

    def ends(self, text: str, at: int) -> Iterator[End]:
        """The ends of the last piece after all pieces before it."""
        yield from _in_turn(self.items, text, at)


@dataclass(frozen=True)
class EitherPiece(TagPart):
    """A choice of one piece."""

    options: tuple[TagPart, ...]

    def node(self) -> Node:
        """The alternatives of the pieces."""
        nodes = tuple(option.node() for option in self.options)
        return nodes[0] if len(nodes) == 1 else Branch(0, 0, nodes)

    def ends(self, text: str, at: int) -> Iterator[End]:
        """The ends of each piece, in order."""
        for option in self.options:
            yield from option.ends(text, at)


@dataclass(frozen=True)
class RepeatedPiece(TagPart):
    """A piece several times; ``most`` is ``None`` for no limit."""

    item: TagPart
    fewest: int
    most: int | None

    def node(self) -> Node:
        """The repetition of the piece."""
        return Repeat(0, 0, self.item.node(), self.fewest, self.most, False)

    def ends(self, text: str, at: int) -> Iterator[End]:
        """The ends after as many repetitions as fit, then after fewer."""
        # Each entry: the count, the place, the parts so far, and the ends not tried yet.
        stack = [(0, at, Parts(), self.item.ends(text, at))]
        while stack:
            count, here, parts, more = stack[-1]
            may_go_on = self.most is None or count < self.most
            after = next((each for each in more if each[0] > here), None) if may_go_on else None
            if after is None:
                stack.pop()
                if count >= self.fewest or self._may_be_empty(text, here):
                    yield here, parts
                continue
            end, read = after
            stack.append((count + 1, end, parts + read, self.item.ends(text, end)))

    def _may_be_empty(self, text: str, at: int) -> bool:
        return any(end == at for end, _ in self.item.ends(text, at))


@dataclass(frozen=True)
class TagPiece(TagPart):
    """A tag: a beginning, a content and an end.

    Args:
        name: The name of the tag: its beginning, unless another name was given.
    """

    begin: TagPart
    content: TagPart
    end: TagPart
    name: str

    def node(self) -> Node:
        """The three pieces in sequence, as a phase."""
        return self.around(RowPiece((self.begin, self.content, self.end)).node())

    def around(self, node: Node) -> Node:
        """A node under the phase of this tag."""
        return Written(0, 0, node, phase=self.name)

    def ends(self, text: str, at: int) -> Iterator[End]:
        """The ends of the closing piece, with the tag as one part."""
        for end, parts in _in_turn((self.begin, self.content, self.end), text, at):
            yield end, ({"tag": self.name, "parts": list(parts)},)


@dataclass(frozen=True)
class DispatchPiece(TagPart):
    """Free text in which certain strings call for a continuation.

    Args:
        rules: Each string with its continuations. The tag of a rule begins with the string.
        excluded: Strings that the free text must not hold.
        loops: Whether free text and further strings may follow the first continuation.
    """

    rules: tuple[tuple[Marked, tuple[DispatchRule, ...]], ...]
    excluded: frozenset[Marked]
    loops: bool
    span: Span
    every: bool = False

    @property
    def strings(self) -> frozenset[Marked]:
        """The strings that call for a continuation."""
        return frozenset(string for string, _ in self.rules)

    def node(self) -> Node:
        """Free text up to a string and its continuation, repeated; then text without a string."""
        turns: list[Node] = []
        for string, rules in self.rules:
            before = text_up_to(string, self.strings, self.excluded, self.every)
            options = tuple(rule.node() for rule in rules)
            behind = options[0] if len(options) == 1 else Branch(0, 0, options)
            turns.append(Concat(0, 0, (Machine(*self.span, before), behind)))
        turn = turns[0] if len(turns) == 1 else Branch(0, 0, tuple(turns))
        last = Machine(*self.span, text_without(self.excluded | self.strings, self.every))
        if not self.loops:
            return Branch(0, 0, (last, turn))
        return Concat(0, 0, (Repeat(0, 0, turn, 0, None, False), last))

    def ends(self, text: str, at: int) -> Iterator[End]:
        """The ends after all strings in the text; free text is as short as possible."""
        for place, string in self._begun(text, at):
            before = _text(text[at:place])
            for rule in dict(self.rules)[string]:
                for end, parts in rule.ends(text, place, string):
                    if not self.loops:
                        yield end, before + parts
                        continue
                    for last, rest in self.ends(text, end):
                        yield last, before + parts + rest
        last = _free_until(text, at, self.excluded | self.strings)
        for end in range(at, last + 1):
            yield end, _text(text[at:end])

    def _begun(self, text: str, at: int) -> list[tuple[int, Marked]]:
        """The strings that may come first, with their starts, the longest first at each start."""
        places = [
            (place, -len(shown), place + len(shown), string)
            for string in self.strings
            if (place := text.find(shown := shown_string(string), at)) >= 0
        ]
        free = _free_until(text, at, self.excluded)
        return [
            (place, string)
            for place, _, end, string in sorted(places, key=lambda each: each[:2])
            if end <= free and not any(b < place and e <= end for b, _, e, _ in places)
        ]


@dataclass(frozen=True)
class DispatchRule:
    """One continuation after a string of a dispatch.

    Args:
        rest: The rest of the tag's beginning; without a tag, all that follows the string.
        tag: The tag that begins with the string; ``None`` if there is none.
    """

    rest: TagPart
    tag: TagPiece | None = None

    def node(self) -> Node:
        """The tree of the rest, followed by the content and the end of the tag."""
        if self.tag is None:
            return self.rest.node()
        return self.tag.around(RowPiece((self.rest, self.tag.content, self.tag.end)).node())

    def ends(self, text: str, at: int, string: Marked) -> Iterator[End]:
        """The ends of the tag that begins at a place, or of the continuation of its string."""
        if self.tag is not None:
            yield from self.tag.ends(text, at)
        else:
            begin = at + len(shown_string(string))
            for end, parts in self.rest.ends(text, begin):
                yield end, ({"tag": shown_string(string), "parts": list(parts)},)


def _in_turn(items: tuple[TagPart, ...], text: str, at: int, parts: Parts = ()) -> Iterator[End]:
    if not items:
        yield at, parts
        return
    for end, read in items[0].ends(text, at):
        yield from _in_turn(items[1:], text, end, parts + read)


def _text(text: str) -> Parts:
    return ({"text": text},) if text else ()


def _free_until(text: str, at: int, strings: frozenset[Marked]) -> int:
    """The last place at which none of some strings is complete yet."""
    ends = [
        place + len(shown) - 1
        for shown in map(shown_string, strings)
        if (place := text.find(shown, at)) >= 0
    ]
    return min(ends, default=len(text))
