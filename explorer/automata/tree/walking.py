"""What a node is to the nodes below it: its children, the part it plays, and the same with others.

One table says it for every kind of node (`SHAPES`); what walks a tree asks the table and matches on
no kind. A kind that is not in it is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from msgspec import Struct, structs

from explorer.automata.tree.nodes import (
    Assertion,
    Branch,
    Concat,
    Deferred,
    Group,
    Intersect,
    Machine,
    Negate,
    Node,
    Repeat,
    Rules,
    Subtract,
    TokenLimit,
    Whole,
    Written,
)

Part = Literal["leaf", "around", "pattern", "sequence", "alternatives", "both", "without", "ready"]
"""What a node makes of the nodes below it.

``around``: nothing; it names or bounds the text of the one below. ``pattern``: a pattern that looks
at nothing outside. ``sequence``: one after the other. ``alternatives``: any of them. ``both``: what
both have. ``without``: the first, or any text where there is only one, without the last. ``ready``:
a machine, with no nodes below. ``leaf``: it reads or asserts something by itself.
"""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What is known of a kind of node.

    Args:
        part: What it makes of the nodes below it.
        fields: The fields that hold them: a node each, or one field with a tuple of nodes.
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
    """What is known of the kind of a node."""
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
    """The same node with others below it, as many as before.

    Args:
        node: A node.
        below: What takes the places of its `children`.

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
    """The node below groups, `Written` nodes and limits, which change nothing of the texts."""
    while shape_of(node).part == "around":
        (node,) = children(node)
    return node


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the pattern."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))
