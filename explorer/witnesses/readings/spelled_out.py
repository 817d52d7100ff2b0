"""A pattern written with plain classes alone, so that every engine reads it in the same way.

Engines differ in what ``.``, ``\\d``, ``[^]`` or ``[[:alpha:]]`` mean; none differs in what
``[\\x30-\\x39]`` means. So a reading of a pattern can be put to an engine: the pattern that spells
the reading out must have the mask that the engine shows for the pattern as it was written.
"""

from __future__ import annotations

from typing import Final

from explorer.automata.tree.charset import CharSet, char_set, complement
from explorer.automata.tree.nodes import (
    Assertion,
    AssertionKind,
    Branch,
    Class,
    Concat,
    Dot,
    Empty,
    Group,
    Literal,
    Node,
    Repeat,
)

_SIGNS: Final[dict[tuple[int, int | None], str]] = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_LOOKAROUND: Final = (AssertionKind.AHEAD, AssertionKind.BEHIND)


def spelled_out(node: Node, pattern: str) -> str | None:
    r"""A parsed pattern with every character and class as ranges of code points.

    Anchors stay as they were written. A lookahead is understood where it looks at one character and
    stands before a class; its class is cut down then.

    Args:
        node: The root of the pattern.
        pattern: Its text.

    Returns:
        ``None`` where it holds what cannot be spelled out, or a class without characters.

    Example:
        >>> from explorer import regex
        >>> tree = regex(r"(?a:\d+)|a").source.parsed
        >>> spelled_out(tree.root, tree.pattern)
        '(?:(?:[\\x30-\\x39]+)|[a])'
    """
    if isinstance(node, Empty):
        return ""
    if isinstance(node, Literal | Class | Dot):
        return _class(node.chars)
    if isinstance(node, Group):
        body = spelled_out(node.body, pattern)
        return None if body is None else f"(?:{body})"
    if isinstance(node, Repeat):
        return _repeat(node, pattern)
    if isinstance(node, Assertion):
        return None if node.kind in _LOOKAROUND else pattern[node.start : node.end]
    if isinstance(node, Branch):
        options = [spelled_out(each, pattern) for each in node.options if not _is_nothing(each)]
        return f"(?:{'|'.join(map(str, options))})" if None not in options else None
    if isinstance(node, Concat):
        chars = _looked_at(node)
        if chars is not None:
            return _class(chars)
        items = [spelled_out(item, pattern) for item in node.items]
        return "".join(map(str, items)) if None not in items else None
    return None


def _repeat(node: Repeat, pattern: str) -> str | None:
    body = spelled_out(node.body, pattern)
    if not body:
        return None
    most = "" if node.maximum is None else node.maximum
    sign = _SIGNS.get((node.minimum, node.maximum))
    piece = body if isinstance(node.body, Literal | Class | Dot | Group) else f"(?:{body})"
    return f"{piece}{sign or f'{{{node.minimum},{most}}}'}{'?' if node.lazy else ''}"


def _looked_at(node: Concat) -> CharSet | None:
    """The characters of a class behind lookaheads at one character; ``None`` for anything else."""
    *conditions, last = node.items
    found = _single(last)
    for each in conditions:
        if found is None or not isinstance(each, Assertion) or each.body is None:
            return None
        wanted = _single(each.body)
        if each.kind is not AssertionKind.AHEAD or wanted is None:
            return None
        other = wanted if each.negated else complement(wanted)
        found = complement(char_set([*complement(found).ranges, *other.ranges]))
    return found


def _single(node: Node) -> CharSet | None:
    if isinstance(node, Group):
        return _single(node.body)
    return node.chars if isinstance(node, Literal | Class | Dot) else None


def _is_nothing(node: Node) -> bool:
    """Whether a node is a class without characters, such as ``[a&&b]`` in Rust."""
    found = _looked_at(node) if isinstance(node, Concat) else _single(node)
    return found is not None and not found.ranges


def _class(chars: CharSet) -> str | None:
    if not chars.ranges:
        return None
    return f"[{''.join(_range(low, high) for low, high in chars.ranges)}]"


def _range(low: int, high: int) -> str:
    return _character(low) if low == high else f"{_character(low)}-{_character(high)}"


def _character(code: int) -> str:
    letter = chr(code)
    plain = code > 0x9F or (letter.isascii() and letter.isalpha())
    return letter if plain else f"\\x{code:02x}"
