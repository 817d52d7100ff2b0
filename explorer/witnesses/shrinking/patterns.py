"""Smaller patterns by reductions of the syntax tree: a part goes, or gives way to what it holds."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.automata.tree.nodes import Branch, Concat, Group, Node, Repeat
from explorer.automata.tree.walking import walk
from explorer.languages.regex.parser import Tree


def smaller_patterns(tree: Tree) -> Iterator[str]:
    """The patterns that are one reduction smaller.

    Args:
        tree: A parsed pattern, with spans.

    Example:
        >>> from explorer import regex
        >>> sorted(smaller_patterns(regex("ab|c+").source.parsed))
        ['', 'ab', 'ab|', 'ab|+', 'ab|c', 'a|c+', 'b|c+', 'c+', '|c+']
    """
    pattern = tree.pattern
    known: set[str] = {pattern}
    for node in walk(tree.root):
        for text in _instead(node, pattern):
            made = pattern[: node.start] + text + pattern[node.end :]
            if made not in known and len(made) < len(pattern):
                known.add(made)
                yield made


def _instead(node: Node, pattern: str) -> Iterator[str]:
    def text(part: Node) -> str:
        return pattern[part.start : part.end]

    if node.end > node.start:
        yield ""
    if isinstance(node, Branch):
        options = [text(option) for option in node.options]
        yield from options
        if len(options) > 2:
            for k in range(len(options)):
                yield "|".join(options[:k] + options[k + 1 :])
    elif isinstance(node, Concat):
        for item in node.items:
            yield text(item)
    elif isinstance(node, Repeat | Group):
        yield text(node.body)
