"""Functions on any node: its children, its role, its width, and the flattening of nested repeats.

The table `SHAPES` gives the role of every kind of node; a walk of a tree uses the table and matches
on no kind. A kind that is not in the table is a leaf.

The *width* of a piece decides whether a lookbehind is legal: `re` looks behind by stepping back a
fixed number of characters, so it demands that all matches of a lookbehind have one length. The
automata here need no such rule; it is kept because the syntax accepted is Python's.

*Flattened*: ``(x{a,b}){c,d}`` is ``x{ac,bd}`` where the counts leave no gap. So 500 copies of 500
copies are laid out as 250,000 copies of one short body, whose size is compared with the budget
before any of them is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from typing import Literal as OneOf

from msgspec import Struct, structs

from explorer.automata.tree.charset import CharSet, Fragment, character
from explorer.automata.tree.nodes import (
    Assertion,
    Branch,
    Call,
    Class,
    Concat,
    Deferred,
    Dot,
    Empty,
    Group,
    Intersect,
    Literal,
    Machine,
    Negate,
    Node,
    Repeat,
    Rules,
    Subtract,
    Texts,
    TokenLimit,
    TokenPiece,
    Whole,
    Written,
)

Part = OneOf["leaf", "around", "pattern", "sequence", "alternatives", "both", "without", "ready"]
"""The part that a node plays to the nodes below it.

``around``: nothing; it names or bounds the text of the one below. ``pattern``: a pattern that looks
at nothing outside. ``sequence``: one after the other. ``alternatives``: any of them. ``both``: what
both have. ``without``: the first, or any text where there is only one, without the last. ``ready``:
a machine, with no nodes below. ``leaf``: it reads or asserts something by itself.
"""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The role and the children of a kind of node.

    Args:
        fields: The fields of the children: one node each, or one field with a tuple of nodes.
        again: Whether what is below may be read more than once.
    """

    part: Part
    fields: tuple[str, ...] = ()
    again: Callable[[Any], bool] = lambda node: False


SHAPES: Final[Mapping[type, NodeShape]] = {
    Group: NodeShape("around", ("body",)),
    Written: NodeShape("around", ("body",)),
    TokenLimit: NodeShape("around", ("body",)),
    Whole: NodeShape("pattern", ("body",)),
    Concat: NodeShape("sequence", ("items",)),
    Repeat: NodeShape("sequence", ("body",), lambda node: node.maximum != 1),
    Branch: NodeShape("alternatives", ("options",)),
    Intersect: NodeShape("both", ("left", "right")),
    Subtract: NodeShape("without", ("left", "right")),
    Negate: NodeShape("without", ("body",)),
    Machine: NodeShape("ready"),
    Deferred: NodeShape("ready"),
    Rules: NodeShape("ready"),
    Assertion: NodeShape("leaf", ("body",)),
}
_LEAF: Final = NodeShape("leaf")


def shape_of(node: Node) -> NodeShape:
    """The `NodeShape` of a node."""
    return SHAPES.get(type(node), _LEAF)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    below: list[Node] = []
    for name in shape_of(node).fields:
        held: Node | tuple[Node, ...] | None = getattr(node, name)
        if isinstance(held, tuple):
            return held
        if held is not None:
            below.append(held)
    return tuple(below)


def with_children(node: Node, below: tuple[Node, ...]) -> Node:
    """The same node with other children; their number stays the same.

    Args:
        below: The new `children`.

    Example:
        >>> from explorer.automata.tree.nodes import Empty
        >>> with_children(Group(0, 2, Empty(1, 1), 1, None), (Empty(0, 0),)).body
        Empty(start=0, end=0)
    """
    if not below:
        return node
    names = shape_of(node).fields
    if isinstance(getattr(node, names[0]), tuple):
        fields: dict[str, object] = {names[0]: below}
    else:
        fields = dict(zip(names, below, strict=True))
    made: Any = structs.replace(node, **fields) if isinstance(node, Struct) else replace(
        node, **fields  # pyright: ignore[reportArgumentType]
    )  # fmt: skip
    return made


def inside(node: Node) -> Node:
    """The node below groups, `Written` nodes and limits, which do not change the texts."""
    while shape_of(node).part == "around":
        (node,) = children(node)
    return node


def walk(node: Node) -> Iterator[Node]:
    """A node and all its descendants, in the order of the pattern."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


MAX_REPEAT: Final = 2**32 - 1
"""The count of an unlimited repeat in `re`, one more than the largest count."""

_UNLIMITED: Final = 2**64


def width(node: Node) -> tuple[int, int]:
    """The fewest and the most characters that a node can take, as `re` counts them.

    Returns:
        Two lengths in characters; 2**64 stands for no limit.
    """
    match node:
        case Empty() | Assertion():
            return 0, 0
        case Group() | Whole() | Written() | TokenLimit():
            return width(node.body)
        case Texts():
            lengths = [len(text) for text in node.texts]
            return min(lengths, default=0), max(lengths, default=0)
        case (
            Machine() | Deferred() | Call() | Rules() | TokenPiece() | Intersect() | Subtract()
            | Negate()
        ):  # fmt: skip
            return 0, _UNLIMITED  # Not worked out.
        case Concat():
            widths = [width(item) for item in node.items]
            fewest, most = sum(low for low, _ in widths), sum(high for _, high in widths)
        case Branch():
            widths = [width(option) for option in node.options]
            fewest, most = min(low for low, _ in widths), max(high for _, high in widths)
        case Repeat():
            low, high = width(node.body)
            fewest = low * node.minimum
            if node.maximum is None and high:
                most = _UNLIMITED
            else:
                most = high * (MAX_REPEAT if node.maximum is None else node.maximum)
        case _:
            return 1, 1
    return min(fewest, _UNLIMITED), min(most, _UNLIMITED)


def letters(text: str, span: Callable[[int], tuple[int, int]]) -> Node:
    """The node of a literal text, one `Literal` per character.

    Args:
        span: A function from the index of a character to its span in the source.

    Example:
        >>> letters("ab", lambda k: (k, k + 1)).end
        2
    """
    spans = [span(k) for k in range(len(text))]
    items = tuple(
        Literal(start, end, character(char)) for char, (start, end) in zip(text, spans, strict=True)
    )
    if len(items) < 2:
        return items[0] if items else Empty(0, 0)
    return Concat(spans[0][0], spans[-1][1], items)


def flattened(node: Repeat) -> tuple[Node, int, int | None]:
    """Body, minimum and maximum of a repeat, with nested repeats multiplied where that is exact.

    ``(x{a,b}){c,d}`` reads ``k·a`` to ``k·b`` copies for some ``k`` in ``c .. d``. Those intervals
    leave no gap if the first two touch, because the later ones overlap more.

    Example:
        >>> from explorer.languages.regex import parse
        >>> flattened(parse("(x{1,500}){1,500}").root)[1:]
        (1, 250000)
        >>> flattened(parse("(x{2}){0,3}").root)[1:]  # Only 0, 2, 4 and 6: left as it is.
        (0, 3)
    """
    body, low, high = node.body, node.minimum, node.maximum
    while True:
        inner = body
        while isinstance(inner, Group):
            inner = inner.body
        if not isinstance(inner, Repeat):
            return body, low, high
        a, b = inner.minimum, inner.maximum
        if high == 0:
            return inner.body, 0, 0
        # No gap between low and low + 1 repetitions; a single count has none.
        endless_from_first = b is None and low > 0
        touching = low * (b or 0) + 1 >= (low + 1) * a
        if not (low == high or endless_from_first or touching):
            return body, low, high
        endless = b != 0 if high is None else b is None
        body, low, high = inner.body, low * a, None if endless else (high or 0) * (b or 0)


MANY: Final = 4096
"""The number of pieces of a sequence between two looks at the clock."""


def foreseen(
    node: Concat, write: Callable[[CharSet], Fragment], look: Callable[[], None]
) -> tuple[int, int]:
    """A lower bound for the states and arcs of a sequence: those of its leaves, each once.

    Args:
        look: Called at regular intervals, to check the time.
    """
    states, arcs = len(node.items), 0
    for k, item in enumerate(node.items):
        if k % MANY == 0:
            look()
        leaf = item
        while isinstance(leaf, Group) or (isinstance(leaf, Repeat) and leaf.maximum != 0):
            leaf = leaf.body
        if isinstance(leaf, Literal | Class | Dot):
            fragment = write(leaf.chars)
            states += fragment.num_inner
            arcs += len(fragment.arcs)
    return states, arcs
