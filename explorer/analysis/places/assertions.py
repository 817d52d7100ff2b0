"""The assertions of a pattern, one by one: which there are, and the pattern without one of them."""

from __future__ import annotations

from msgspec.structs import replace

from explorer.automata.tree.nodes import Assertion, Branch, Concat, Empty, Group, Node, Repeat
from explorer.automata.tree.walking import children


def outer_assertions(root: Node) -> list[Assertion]:
    """The assertions that are not inside another one, in the order of the pattern."""
    if isinstance(root, Assertion):
        return [root]
    return [found for child in children(root) for found in outer_assertions(child)]


def dropped(node: Node, assertion: Assertion) -> Node:
    """The pattern without one assertion."""
    if node is assertion:
        return Empty(node.start, node.end)
    match node:
        case Concat():
            return replace(node, items=tuple(dropped(item, assertion) for item in node.items))
        case Branch():
            return replace(
                node, options=tuple(dropped(option, assertion) for option in node.options)
            )
        case Repeat() | Group():
            return replace(node, body=dropped(node.body, assertion))
        case _:
            return node
