"""Nested repeats as one: ``(x{a,b}){c,d}`` is ``x{ac,bd}`` where the counts leave no gap.

It matters where counts are large: 500 copies of 500 copies are laid out as 250,000 copies of one
short body, whose size is compared with the budget before any of them is made.
"""

from __future__ import annotations

from explorer.automata.tree.nodes import Group, Node, Repeat


def flattened(node: Repeat) -> tuple[Node, int, int | None]:
    """Body, fewest and most repetitions, with directly nested repeats multiplied where exact.

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
        # From low to low + 1 repetitions there must be no gap; a single count has none.
        endless_from_first = b is None and low > 0
        touching = low * (b or 0) + 1 >= (low + 1) * a
        if not (low == high or endless_from_first or touching):
            return body, low, high
        endless = b != 0 if high is None else b is None
        body, low, high = inner.body, low * a, None if endless else (high or 0) * (b or 0)
