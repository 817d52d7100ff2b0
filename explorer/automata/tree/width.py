"""How many characters a piece of a pattern can take; it decides whether a lookbehind is legal.

`re` looks behind by stepping back a fixed number of characters, so it demands that all matches
of a lookbehind have one length. The automata here need no such rule; it is kept because the
syntax accepted is Python's.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.tree.nodes import (
    Assertion,
    Branch,
    Call,
    Concat,
    Deferred,
    Empty,
    Group,
    Intersect,
    Machine,
    Negate,
    Node,
    Repeat,
    Rules,
    Subtract,
    Texts,
    TokenLimit,
    TokenPiece,
    Whole,
    Written,
)

MAX_REPEAT: Final = 2**32 - 1
"""`re` has no counts from here on; an unlimited repeat counts as this many."""

_UNLIMITED: Final = 2**64


def width(node: Node) -> tuple[int, int]:
    """The fewest and the most characters that a node can take, as `re` counts them.

    Args:
        node: Any part of a tree.

    Returns:
        Two lengths in characters; 2**64 stands for no limit.
    """
    match node:
        case Empty() | Assertion():
            return 0, 0
        case Group() | Whole() | Written() | TokenLimit():
            return width(node.body)
        case Texts():
            lengths = [len(text) for text in node.texts]
            return min(lengths, default=0), max(lengths, default=0)
        case (
            Machine() | Deferred() | Call() | Rules() | TokenPiece() | Intersect() | Subtract()
            | Negate()
        ):  # fmt: skip
            return 0, _UNLIMITED  # Not worked out.
        case Concat():
            widths = [width(item) for item in node.items]
            fewest, most = sum(low for low, _ in widths), sum(high for _, high in widths)
        case Branch():
            widths = [width(option) for option in node.options]
            fewest, most = min(low for low, _ in widths), max(high for _, high in widths)
        case Repeat():
            low, high = width(node.body)
            fewest = low * node.minimum
            if node.maximum is None and high:
                most = _UNLIMITED
            else:
                most = high * (MAX_REPEAT if node.maximum is None else node.maximum)
        case _:
            return 1, 1
    return min(fewest, _UNLIMITED), min(most, _UNLIMITED)
