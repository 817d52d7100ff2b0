"""Lazy quantifiers in Lark's terminals: a text ends where Python's ``re`` ends it.

Lark cuts a text with ``re``, for which ``/".*?"/`` ends at the next quote and holds none. As a set
of texts it would hold any. So a terminal with a lazy repeat is cut to the words of which no shorter
beginning is a word, but for what may be left out at its end: ``/\\/.*?\\/[a-z]*/`` goes on with all
its flags. Where a greedy repeat stands beside the lazy one the terminal stays what it is as a set.
"""

from __future__ import annotations

from collections.abc import Callable

from explorer.automata.tree.nodes import (
    Assertion,
    Branch,
    Class,
    Concat,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
    inside,
    walk,
)
from explorer.languages.phases.free import ended_early


def end_of_lazy(root: Node) -> int | None:
    """The position in a pattern after which only greedy pieces that may be left out stand.

    Returns:
        ``None`` if nothing in the pattern is lazy, or if what is lazy ends where ``re`` alone
        knows.
    """
    items = [*root.items] if isinstance(root, Concat) else [root]
    end = root.end
    while items and isinstance(last := items[-1], Repeat) and _is_optional(last):
        end = items.pop().start
    repeats = [node for item in items for node in walk(item)
               if isinstance(node, Repeat) and node.minimum != node.maximum]  # fmt: skip
    lazy = [node for node in repeats if node.lazy]
    if not lazy:
        return None
    first = min(node.start for node in lazy)
    greedy = [node for node in repeats if not node.lazy]
    fine = all(node.maximum == 1 and node.end <= first for node in greedy)
    outer = (node for node in repeats for each in walk(node.body) if each in lazy)
    return end if fine and not any(outer) else None


def _is_optional(node: Repeat) -> bool:
    within = [each for each in walk(node) if isinstance(each, Repeat | Assertion)]
    return node.minimum == 0 and not any(
        isinstance(each, Assertion) or each.lazy for each in within
    )


def ended_lazily(body: Node, is_lazy: Callable[[Node], bool]) -> Node:
    """A terminal cut to the words that ``re`` finds.

    Args:
        is_lazy: Whether a piece of it ends with a lazy repeat, or holds one.
    """
    inner = inside(body)
    if isinstance(inner, Branch):
        options = tuple(ended_lazily(each, is_lazy) for each in inner.options)
        return Group(body.start, body.end, Branch(inner.start, inner.end, options), None, None)
    items = inner.items if isinstance(inner, Concat) else (inner,)
    lazy = [k for k, each in enumerate(items) if is_lazy(each)]
    if not lazy:
        return body
    end = len(items)
    while end - 1 > lazy[-1] and _may_be_left_out(items[end - 1]):
        end -= 1
    fixed = (each for k, each in enumerate(items[:end]) if k not in lazy)
    if not all(map(_is_fixed, fixed)):
        return body
    begun = items[:end]
    whole = begun[0] if len(begun) == 1 else Concat(begun[0].start, begun[-1].end, begun)
    cut = (ended_early(whole), *items[end:])
    return cut[0] if len(cut) == 1 else Concat(body.start, body.end, cut)


def _may_be_left_out(node: Node) -> bool:
    inner = inside(node)
    if isinstance(inner, Branch):
        return any(isinstance(each, Empty) for each in inner.options)
    return isinstance(inner, Repeat) and inner.minimum == 0


def _is_fixed(node: Node) -> bool:
    """Whether a piece is letters alone."""
    return all(isinstance(each, Literal | Class | Empty | Group | Concat) for each in walk(node))
