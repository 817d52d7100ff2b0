"""The nodes below a node: its children, all nodes in order, and the one below its groups."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.automata.tree.nodes import (
    Assertion,
    Branch,
    Concat,
    Group,
    Intersect,
    Negate,
    Node,
    Repeat,
    Subtract,
    TokenLimit,
    Whole,
    Written,
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    match node:
        case Concat():
            return node.items
        case Branch():
            return node.options
        case Repeat() | Group() | Whole() | Written() | TokenLimit() | Negate():
            return (node.body,)
        case Intersect() | Subtract():
            return (node.left, node.right)
        case Assertion():
            return () if node.body is None else (node.body,)
        case _:
            return ()


def inside(node: Node) -> Node:
    """The node below groups, `Written` nodes and limits, which change nothing of the texts."""
    while isinstance(node, Group | Written | TokenLimit):
        node = node.body
    return node


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the pattern."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))
