"""How deep sources may stand inside each other.

What is built from a source goes down its parts by recursion, so Python's own limit would end it
somewhere in the middle. So whoever puts parts together checks the depth while building.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError

MOST_NESTED: Final = 100
"""Sources inside each other; a notebook's stack has room for about 160 templates."""


def check_nesting(source: Source) -> Source:
    """Refuse a source whose parts stand inside each other too deep; else return it.

    Args:
        source: Any.

    Raises:
        ConstraintError: They do.

    Example:
        >>> from explorer import regex, template
        >>> check_nesting(template("({x})", x=regex("a")).source).kind
        'template'
    """
    level = {id(source): source}
    for _ in range(MOST_NESTED):
        level = {id(child): child for each in level.values() for child in each.children}
        if not level:
            return source
    raise ConstraintError(
        f"The parts of this {source.kind} stand inside each other more than {MOST_NESTED} deep.",
        remedy="Nest fewer: write fixed text around a part into the text of one template, or use "
        "grammar(...) for what nests without end.",
        evidence={"limit": MOST_NESTED},
    )
