"""The assertions of a pattern, one by one: which there are, and the pattern without one of them."""

from __future__ import annotations

from explorer.automata.tree.nodes import Assertion, Empty, Node
from explorer.automata.tree.walking import children, with_children


def outer_assertions(root: Node) -> list[Assertion]:
    """The assertions that are not inside another one, in the order of the pattern."""
    if isinstance(root, Assertion):
        return [root]
    return [found for child in children(root) for found in outer_assertions(child)]


def dropped(node: Node, assertion: Assertion) -> Node:
    """The pattern without one assertion."""
    if node is assertion:
        return Empty(node.start, node.end)
    return with_children(node, tuple(dropped(each, assertion) for each in children(node)))
