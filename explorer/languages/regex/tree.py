"""A parsed pattern: its tree, its flags and its groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.automata.tree.nodes import Node, Whole


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole pattern.

    Args:
        pattern: The source text.
        flags: The flags of `re` in force at the top, those in the pattern included.
        root: The outermost node.
        group_names: The number of each named group.
        num_groups: How many groups capture.
        has_assertions: Whether any assertion occurs.
        over_tokens: Whether a terminal speaks about tokens.
    """

    pattern: str
    flags: int
    root: Node
    group_names: Mapping[str, int]
    num_groups: int
    has_assertions: bool
    over_tokens: bool = False

    def source(self, node: Node) -> str:
        """The text of a node in the pattern.

        Example:
            >>> from explorer.languages.regex import parse
            >>> from explorer.automata.tree.walking import walk
            >>> tree = parse("(?i)ab+")
            >>> [tree.source(node) for node in walk(tree.root)]
            ['(?i)ab+', 'a', 'b+', 'b']
        """
        return self.pattern[node.start : node.end]

    def whole(self) -> Node:
        """The root, its assertions looking at this pattern alone."""
        root = self.root
        return Whole(root.start, root.end, root) if self.has_assertions else root
