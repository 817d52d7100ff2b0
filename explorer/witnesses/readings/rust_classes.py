"""The syntax of Rust's regex crate for classes, written in Python's: for outlines-core and
llguidance, which read patterns with it.

``\\w`` there is Unicode's own (UTS 18, annex C: Alphabetic, marks, decimal digits, connectors and
joiners), where Python asks `str.isalnum`; ``\\s`` is White_Space, where Python adds U+001C to
U+001F. Inside brackets ``[`` nests, ``&&`` intersects, ``--`` and ``~~`` subtract; ``[:alpha:]`` is
a named class.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby
from typing import Final

_SPACE: Final = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_POSIX: Final = {
    "alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z",
    "space": r"\t-\r ", "blank": r"\t ", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f",
    "word": r"\w",
}  # fmt: skip
_TOKEN: Final = re.compile(r"\\(.)|\[|\]", re.DOTALL)


@cache
def _word_changes() -> tuple[str, str]:
    """What Python's ``\\w`` lacks, and what it has too much, as ranges of a class."""
    more: list[int] = []
    less: list[int] = []
    for code in range(0x80, 0x110000):
        letter = chr(code)
        category = unicodedata.category(letter)
        # Alphabetic is letters, letter numbers and marks but for a few, and circled letters.
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
    found: list[str] = []
    for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        part = [code for _, code in group]
        found.append(f"\\U{part[0]:08x}-\\U{part[-1]:08x}")
    return "".join(found)


def rust_classes(pattern: str) -> str:
    r"""A pattern of Python whose ``\w`` and ``\s`` are those of Rust's regex crate.

    Inside brackets only ``\s`` is changed, and ``\w`` gets what Python's lacks.

    Args:
        pattern: In the syntax of `re`.

    Example:
        >>> import re
        >>> bool(re.fullmatch(rust_classes(r"\w"), "²")), bool(re.fullmatch(r"\w", "²"))
        (False, True)
    """
    inside = False

    def other(found: re.Match[str]) -> str:
        nonlocal inside
        if found[0] in "[]":
            inside = found[0] == "[" if not inside else found[0] != "]"
            return found[0]
        letter = found[1]
        if letter == "s":
            return _SPACE if inside else f"[{_SPACE}]"
        if letter == "S" and not inside:
            return f"[^{_SPACE}]"
        if letter in "wW":
            more, less = _word_changes()
            if inside:
                return rf"\w{more}" if letter == "w" else found[0]
            either = rf"(?:(?![{less}])\w|[{more}])"
            return either if letter == "w" else rf"(?:(?!{either})[\s\S])"
        return found[0]

    return _TOKEN.sub(other, pattern)


def with_spaces(pattern: str, spaces: str) -> str | None:
    r"""A pattern whose ``\s`` holds other characters.

    Args:
        pattern: In the syntax of `re`.
        spaces: The characters, as the inside of a class.

    Returns:
        ``None`` where no ``\s`` is in it, or a ``\S`` inside brackets, which is not written so.

    Example:
        >>> with_spaces(r"a\s+[^\s]", " "), with_spaces("a", " ")
        ('a[ ]+[^ ]', None)
    """
    inside, made = False, True

    def other(found: re.Match[str]) -> str:
        nonlocal inside, made
        if found[0] in "[]":
            inside = found[0] == "[" if not inside else found[0] != "]"
        elif found[1] == "s":
            return spaces if inside else f"[{spaces}]"
        elif found[1] == "S":
            made = made and not inside
            return f"[^{spaces}]"
        return found[0]

    text = _TOKEN.sub(other, pattern)
    return None if text == pattern or not made else text


def as_rust_reads(pattern: str) -> str | None:
    """A pattern of Python with the classes that the same text has in Rust's regex crate.

    Named classes of POSIX and one intersection or difference in a class are understood.

    Args:
        pattern: The text.

    Returns:
        ``None`` where nothing in it is read differently, or more than that is.

    Example:
        >>> as_rust_reads("[[:digit:]]x"), as_rust_reads("[a-c&&b]"), as_rust_reads("[ab]")
        ('[0-9]x', '(?=[a-c])[b]', None)
        >>> as_rust_reads("[a~~b]")
        '(?:(?![b])[a]|(?![a])[b])'
    """
    if not re.search(r"\[[^\]]*(?:\[:|&&|--|~~)", pattern):
        return None
    made = re.sub(r"\[:(\w+):\]", lambda found: _POSIX.get(found[1], found[0]), pattern)

    def combined(found: re.Match[str]) -> str:
        left, sign, right = found[1], found[2], found[3]
        if sign == "&&":
            return f"(?=[{left}])[{right}]"
        if sign == "--":
            return f"(?![{right}])[{left}]"
        return f"(?:(?![{right}])[{left}]|(?![{left}])[{right}])"

    made = re.sub(r"\[([^\[\]^][^\[\]]*?)(&&|--|~~)([^\[\]]+)\]", combined, made)
    return None if made == pattern else made
