"""Patterns that every engine reads in the same way.

Engines differ in what ``.``, ``\\d``, ``[^]`` or ``[[:alpha:]]`` mean; they agree on what
``[\\x30-\\x39]`` means. So an assumption about an engine's reading of a pattern can be tested: the
pattern that spells this reading out must give the engine's mask for the pattern as written.

The classes of Rust's regex crate, which outlines-core and llguidance use, are translated to
Python's syntax. There ``\\w`` is Unicode's own (UTS 18, annex C: Alphabetic, marks, decimal digits,
connectors and joiners), while Python uses `str.isalnum`; ``\\s`` is White_Space, to which Python
adds U+001C to U+001F. Inside brackets ``[`` nests, ``&&`` is intersection, ``--`` difference and
``~~`` symmetric difference; ``[:alpha:]`` is a named class.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby
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

_SPACE: Final = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_POSIX: Final = {
    "alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z",
    "space": r"\t-\r ", "blank": r"\t ", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f",
    "word": r"\w",
}  # fmt: skip
_TOKEN: Final = re.compile(r"\\(.)|\[|\]", re.DOTALL)


@cache
def _word_changes() -> tuple[str, str]:
    """The characters that only Rust's ``\\w`` holds, and those that only Python's holds."""
    more: list[int] = []
    less: list[int] = []
    for code in range(0x80, 0x110000):
        letter = chr(code)
        category = unicodedata.category(letter)
        # Alphabetic: letters, letter numbers, nearly all marks, and circled letters.
        rust = (
            category[0] in "LM"
            or category in ("Nd", "Nl", "Pc")
            or code in (0x200C, 0x200D)
            or 0x24B6 <= code <= 0x24E9
            or 0x1F130 <= code <= 0x1F149
            or 0x1F150 <= code <= 0x1F169
            or 0x1F170 <= code <= 0x1F189
        )
        python = letter.isalnum()
        if rust and not python:
            more.append(code)
        elif python and not rust:
            less.append(code)
    return _ranges(more), _ranges(less)


def _ranges(codes: list[int]) -> str:
    ranges: list[str] = []
    for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        part = [code for _, code in group]
        ranges.append(f"\\U{part[0]:08x}-\\U{part[-1]:08x}")
    return "".join(ranges)


def rust_classes(pattern: str) -> str:
    r"""A Python pattern with ``\w`` and ``\s`` replaced by those of Rust's regex crate.

    Inside brackets ``\s`` is replaced, and ``\w`` gains the characters that Python's lacks but
    loses none.

    Args:
        pattern: In the syntax of `re`.

    Example:
        >>> import re
        >>> bool(re.fullmatch(rust_classes(r"\w"), "²")), bool(re.fullmatch(r"\w", "²"))
        (False, True)
    """
    inside = False

    def other(sign: re.Match[str]) -> str:
        nonlocal inside
        if sign[0] in "[]":
            inside = sign[0] == "[" if not inside else sign[0] != "]"
            return sign[0]
        letter = sign[1]
        if letter == "s":
            return _SPACE if inside else f"[{_SPACE}]"
        if letter == "S" and not inside:
            return f"[^{_SPACE}]"
        if letter in "wW":
            more, less = _word_changes()
            if inside:
                return rf"\w{more}" if letter == "w" else sign[0]
            either = rf"(?:(?![{less}])\w|[{more}])"
            return either if letter == "w" else rf"(?:(?!{either})[\s\S])"
        return sign[0]

    return _TOKEN.sub(other, pattern)


def with_spaces(pattern: str, spaces: str) -> str | None:
    r"""A Python pattern with ``\s`` replaced by other characters.

    Args:
        spaces: The characters, as the inside of a bracketed class.

    Returns:
        ``None`` if it holds no ``\s``, or a ``\S`` inside brackets, which cannot be replaced.

    Example:
        >>> with_spaces(r"a\s+[^\s]", " "), with_spaces("a", " ")
        ('a[ ]+[^ ]', None)
    """
    inside, made = False, True

    def other(sign: re.Match[str]) -> str:
        nonlocal inside, made
        if sign[0] in "[]":
            inside = sign[0] == "[" if not inside else sign[0] != "]"
        elif sign[1] == "s":
            return spaces if inside else f"[{spaces}]"
        elif sign[1] == "S":
            made = made and not inside
            return f"[^{spaces}]"
        return sign[0]

    text = _TOKEN.sub(other, pattern)
    return None if text == pattern or not made else text


def as_rust_reads(pattern: str) -> str | None:
    """A Python pattern whose bracketed classes mean what they mean in Rust's regex crate.

    POSIX named classes and one intersection or difference per class are supported.

    Returns:
        ``None`` if none of these occurs.

    Example:
        >>> as_rust_reads("[[:digit:]]x"), as_rust_reads("[a-c&&b]"), as_rust_reads("[ab]")
        ('[0-9]x', '(?=[a-c])[b]', None)
        >>> as_rust_reads("[a~~b]")
        '(?:(?![b])[a]|(?![a])[b])'
    """
    if not re.search(r"\[[^\]]*(?:\[:|&&|--|~~)", pattern):
        return None
    made = re.sub(r"\[:(\w+):\]", lambda found: _POSIX.get(found[1], found[0]), pattern)

    def combined(operation: re.Match[str]) -> str:
        left, sign, right = operation[1], operation[2], operation[3]
        if sign == "&&":
            return f"(?=[{left}])[{right}]"
        if sign == "--":
            return f"(?![{right}])[{left}]"
        return f"(?:(?![{right}])[{left}]|(?![{left}])[{right}])"

    made = re.sub(r"\[([^\[\]^][^\[\]]*?)(&&|--|~~)([^\[\]]+)\]", combined, made)
    return None if made == pattern else made


_SIGNS: Final[dict[tuple[int, int | None], str]] = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_LOOKAROUND: Final = (AssertionKind.AHEAD, AssertionKind.BEHIND)


def spelled_out(node: Node, pattern: str) -> str | None:
    r"""A parsed pattern with every character and class written as ranges of code points.

    Anchors are kept. A lookahead at one character before a class is supported: it is folded into
    the class.

    Returns:
        ``None`` if a part cannot be spelled out, or a class holds no characters.

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
    """The characters of a class after one-character lookaheads; ``None`` for anything else."""
    *conditions, last = node.items
    chars = _single(last)
    for each in conditions:
        if chars is None or not isinstance(each, Assertion) or each.body is None:
            return None
        wanted = _single(each.body)
        if each.kind is not AssertionKind.AHEAD or wanted is None:
            return None
        other = wanted if each.negated else complement(wanted)
        chars = complement(char_set([*complement(chars).ranges, *other.ranges]))
    return chars


def _single(node: Node) -> CharSet | None:
    if isinstance(node, Group):
        return _single(node.body)
    return node.chars if isinstance(node, Literal | Class | Dot) else None


def _is_nothing(node: Node) -> bool:
    """Whether a node is an empty class, such as ``[a&&b]`` in Rust."""
    chars = _looked_at(node) if isinstance(node, Concat) else _single(node)
    return chars is not None and not chars.ranges


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
