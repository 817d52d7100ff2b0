"""Limits of how deep sources stand inside each other, and of how many there are.

What is built from a source goes down its parts by recursion, so Python's own limit would end it
somewhere in the middle: whoever puts parts together checks the depth while building.

Constraints are values, so `c & c` holds one source twice. Everything that walks a source meets it
twice, and after thirty such steps a thousand million times. So the size is counted where a
constraint is made, each part once, and what is too large is refused before anything walks it.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError

MOST_NESTED: Final = 100
"""Sources inside each other; a notebook's stack has room for about 160 templates."""


def check_nesting(source: Source) -> Source:
    """Refuse a source whose parts stand inside each other too deep; else return it.

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


MOST_PARTS: Final = 200_000
"""The most sources that a constraint is made of, those that stand in it twice counted twice."""


def check_parts(source: Source) -> None:
    """Refuse a source of too many parts.

    Raises:
        ConstraintError: It has more than `MOST_PARTS`.

    Example:
        >>> from explorer import literal
        >>> a = literal("a")
        >>> ((a & a) | (a & a)).source.parts_written_out
        7
    """
    if (parts := source.parts_written_out) > MOST_PARTS:
        raise ConstraintError(
            f"The constraint has {parts:,} parts written out; at most {MOST_PARTS:,} are followed.",
            remedy="Use choice([...]) for many texts, star() or a pattern with {m,n} for repeats, "
            "and do not combine a constraint with itself.",
            evidence={"limit": MOST_PARTS, "parts": parts},
        )
