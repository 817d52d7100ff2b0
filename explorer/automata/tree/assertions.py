"""Removal of redundant assertions from a pattern.

Anchors at an edge of the whole pattern, as in ``^...$``, always hold in a full match. Of several
equal assertions at one place, one is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import is_
from typing import Final

from msgspec.structs import replace

from explorer.automata.tree.nodes import (
    Assertion,
    AssertionKind,
    Branch,
    Class,
    Concat,
    Dot,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
)
from explorer.budget import Meter

JUDGING: Final = "Finding where the assertions of the pattern hold"

_MANY: Final = 1024
"""The number of nodes visited between two looks at the clock."""

_AT_START: Final = frozenset({AssertionKind.TEXT_START, AssertionKind.LINE_START})
_AT_END: Final = frozenset(
    {AssertionKind.TEXT_END, AssertionKind.LINE_END, AssertionKind.FINAL_LINE_END}
)


def looks(meter: Meter | None) -> Callable[[], None]:
    """A function to call at every node, which checks the time at every `_MANY`-th call."""
    visited = 0

    def look() -> None:
        nonlocal visited
        visited += 1
        if meter is not None and visited % _MANY == 0:
            meter.check_time(JUDGING)

    return look


def without_edge_anchors(root: Node, meter: Meter | None = None) -> Node:
    """A pattern without the anchors at its edges, which always hold.

    Example:
        >>> from explorer.languages.regex import parse
        >>> len(without_edge_anchors(parse("^ab$").root).items)
        2
    """
    look = looks(meter)
    return _strip(_strip(root, _AT_START, look, first=True), _AT_END, look, first=False)


def _strip(
    node: Node, kinds: frozenset[AssertionKind], look: Callable[[], None], *, first: bool
) -> Node:
    look()
    match node:
        case Assertion() if node.kind in kinds:
            return Empty(node.start, node.end)
        case Group():
            body = _strip(node.body, kinds, look, first=first)
            return Group(node.start, node.end, body, node.number, node.name)
        case Branch():
            options = tuple(_strip(option, kinds, look, first=first) for option in node.options)
            return Branch(node.start, node.end, options)
        case Concat():
            items = list(node.items)
            order = range(len(items)) if first else range(len(items) - 1, -1, -1)
            for k in order:
                items[k] = item = _strip(items[k], kinds, look, first=first)
                # The next item is at the edge only if nothing is read before it.
                if not isinstance(item, Empty | Assertion):
                    break
            kept = tuple(item for item in items if not isinstance(item, Empty))
            return Concat(node.start, node.end, kept) if kept else Empty(node.start, node.end)
        case _:
            return node


def each_once(node: Node, meter: Meter | None = None) -> Node:
    """A pattern without duplicate assertions at one place.

    Example:
        >>> from explorer.languages.regex import parse
        >>> len(each_once(parse(r"a\\b\\b\\b-").root).items)
        3
    """
    return _each_once(node, looks(meter))


def _each_once(node: Node, look: Callable[[], None]) -> Node:
    look()
    match node:
        case Group():
            body = _each_once(node.body, look)
            if body is node.body:
                return node
            return Group(node.start, node.end, body, node.number, node.name)
        case Branch():
            options = tuple(_each_once(option, look) for option in node.options)
            if all(map(is_, options, node.options)):
                return node
            return Branch(node.start, node.end, options)
        case Repeat():
            body = _each_once(node.body, look)
            return node if body is node.body else replace(node, body=body)
        case Concat():
            items: list[Node] = []
            here: set[Hashable] = set()  # The assertions at the current place.
            for item in node.items:
                item = _each_once(item, look)
                if isinstance(item, Assertion):
                    said = meaning(item)
                    if said in here:
                        continue
                    here.add(said)
                elif here and not isinstance(item, Empty):
                    here = set()
                items.append(item)
            if len(items) == len(node.items) and all(map(is_, items, node.items)):
                return node
            return Concat(node.start, node.end, tuple(items))
        case _:
            return node


def meaning(node: Node) -> Hashable:
    """A key for the meaning of a node: equal for nodes that differ only in their spans."""
    match node:
        case Empty():
            return ()
        case Group():
            return meaning(node.body)
        case Concat():
            return ("then", *map(meaning, node.items))
        case Branch():
            return ("or", *map(meaning, node.options))
        case Repeat():
            return ("repeat", node.minimum, node.maximum, meaning(node.body))
        case Assertion():
            body = None if node.body is None else meaning(node.body)
            return ("assert", node.kind, node.negated, node.word, body)
        case Literal() | Class() | Dot():
            return node.chars
        case _:  # Other nodes do not occur in patterns; no two of them are equal.
            return id(node)
