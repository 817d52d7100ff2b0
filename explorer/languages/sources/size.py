"""The size of a source written out, counted without writing it out.

Constraints are values, so `c & c` holds one source twice. Everything that walks a source meets it
twice, and after thirty such steps a thousand million times. So the size is counted where a
constraint is made, each part once, and what is too large is refused before anything walks it.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.tree.nodes import Source
from explorer.errors import ConstraintError

MOST_PARTS: Final = 200_000
"""How many sources a constraint may be made of, those that stand in it twice counted twice."""


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
