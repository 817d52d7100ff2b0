"""A fixed text as a piece of the tree, each character with its place."""

from __future__ import annotations

from collections.abc import Callable

from explorer.automata.tree.charset import character
from explorer.automata.tree.nodes import Concat, Empty, Literal, Node


def letters(text: str, span: Callable[[int], tuple[int, int]]) -> Node:
    """The characters of a text, one after the other.

    Args:
        text: The text.
        span: From the number of a character to its span in the text of the source.

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
