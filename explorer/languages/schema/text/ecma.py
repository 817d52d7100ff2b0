"""Patterns of JSON Schema, which are ECMA-262's, as patterns of Python's ``re``.

The two agree on most syntax that schemas use. Where they differ the pattern is rewritten:
``\\d``, ``\\w`` and ``\\b`` are ASCII, ``\\s`` and the dot have their own sets, ``$`` is only the
end, ``[^]`` and ``[]`` are any character and none, code points are written ``\\u{1F600}``, and some
Unicode properties have other names.
"""

from __future__ import annotations

import re
from typing import Final

from explorer.errors import RegexError
from explorer.languages.regex.characters import read_set

SPACE: Final = r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""ECMA-262's ``\\s`` (section 12.2 and 12.3): white space and line ends."""

_DOT: Final = r"[^\n\r\u2028\u2029]"
_WORD: Final = "0-9A-Za-z_"

_NO_REPEAT: Final = re.compile(r"\{,[0-9]*\}")
"""Letters of a text in ECMA-262, but a repeat with an upper bound in Python."""

_FLAGS: Final = re.compile(r"\(\?[a-zA-Z-]+[:)]")

_PROPERTY: Final = re.compile(r"\{(?:(Script_Extensions|scx)=)?([^}]*)\}")
_PROPERTIES: Final = {
    "digit": "Nd", "punct": "P", "cntrl": "Cc", "Combining_Mark": "M", "Alphabetic": "L",
    "Alpha": "L",
}  # fmt: skip
"""Names of properties that our reader of patterns does not know, and of what they stand for."""


def translated(pattern: str) -> str:
    """An ECMA-262 pattern in Python's syntax.

    Args:
        pattern: The pattern, read with the ``u`` flag as JSON Schema recommends.

    Raises:
        RegexError: A repeat has no lower bound, flags are set, or the pattern ends in the middle
            of an escape.

    Example:
        >>> translated(r"^\\d+$"), translated("(?<year>.)")
        ('^[0-9]+\\\\Z', '(?<year>[^\\\\n\\\\r\\\\u2028\\\\u2029])')
    """
    out: list[str] = []
    position = 0
    in_class = False
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            text, position = _escape(pattern, position, in_class)
            out.append(text)
            continue
        if in_class:
            if char == "]":
                in_class = False
            out.append("\\[" if char == "[" else "\\" + char if char in "&~|" else char)
        elif char == "[":
            if pattern.startswith("[^]", position):
                out.append(r"[\s\S]")
                position += 3
                continue
            if pattern.startswith("[]", position):
                out.append("(?!)")
                position += 2
                continue
            in_class = True
            out.append("[")
            if pattern.startswith("^", position + 1):
                out.append("^")
                position += 1
        elif _FLAGS.match(pattern, position):
            raise RegexError(
                "ECMA-262 has no flags in a pattern", pattern=pattern, start=position,
                remedy="Write both cases of a letter out, as in [Aa].",
            )  # fmt: skip
        elif char == "{" and (repeat := _NO_REPEAT.match(pattern, position)):
            raise RegexError(
                f"{repeat[0]} is not a repeat there", pattern=pattern, start=position,
                end=repeat.end(), remedy=f"Write {{0{repeat[0][1:]} for at most so many.",
            )  # fmt: skip
        elif char == "$":
            out.append(r"\Z")
        elif char == ".":
            out.append(_DOT)
        else:
            out.append(char)
        position += 1
    return "".join(out)


_PIECE: Final = re.compile(r"\\.|\[(?:\\.|[^\\\]])*\]|\((?:\?(?::|<\w+>))?|.", re.S)
"""An escape, a set, the beginning of a group, or another character."""


def inside_of(pattern: str) -> tuple[bool, str, bool] | None:
    """A pattern of Python without the anchors at its ends, and whether it had them.

    ``None`` for a pattern with other assertions, or whose alternatives have anchors of their own.

    Example:
        >>> inside_of(translated("^a|b$")), inside_of(translated("(a|b)$"))
        (None, (False, '(a|b)', True))
    """
    depth = 0
    pieces: list[str] = _PIECE.findall(pattern)
    begins, ends = pieces[:1] == ["^"], pieces[-1:] == [r"\Z"]
    pieces = pieces[begins : len(pieces) - ends]
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=False):
        depth += (piece[0] == "(") - (piece == ")")
        is_other = piece in ("^", r"\Z") or (piece == "(" and following == "?")
        if is_other or (piece == "|" and depth == 0):
            return None
    return begins, "".join(pieces), ends


def searched(python: str) -> str:
    """The pattern of the texts in which a translated pattern is found.

    Example:
        >>> searched(r"^ab\\Z"), searched("^a"), searched(r"a|b\\Z")
        ('(?:ab)', '(?:a)(?s:.*)', '(?s:.*)(?:a|b\\\\Z)(?s:.*)')
    """
    begins, inside, ends = inside_of(python) or (False, python, False)
    return ("" if begins else "(?s:.*)") + f"(?:{inside})" + ("" if ends else "(?s:.*)")


def _escape(pattern: str, position: int, in_class: bool) -> tuple[str, int]:
    """An escape in Python's syntax, and the position after it."""
    letter = pattern[position + 1 : position + 2]
    after = position + 2
    if letter and letter in "dwsDWS":
        inside = {"d": "0-9", "w": _WORD, "s": SPACE}[letter.lower()]
        if letter.islower():
            return (inside if in_class else f"[{inside}]"), after
        if not in_class:
            return f"[^{inside}]", after
        others = read_set(f"[^{inside}]", 0, 0)[0].ranges
        return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in others), after
    if letter in ("b", "B"):
        if in_class:
            return r"\x08", after
        return (r"(?a:\b)" if letter == "b" else r"(?a:\B)"), after
    if letter == "u" and pattern[after : after + 1] == "{":
        end = pattern.find("}", after)
        code = pattern[after + 1 : end]
        return f"\\U{int(code, 16):08x}", end + 1
    if letter == "u":
        code = int(pattern[after : after + 4], 16)
        following = pattern[after + 4 : after + 10]
        if 0xD800 <= code < 0xDC00 and following.startswith("\\u"):
            low = int(following[2:6], 16)
            if 0xDC00 <= low < 0xE000:
                both = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                return f"\\U{both:08x}", after + 10
        return f"\\u{code:04x}", after + 4
    if letter == "c":
        return f"\\x{ord(pattern[after]) % 32:02x}", after + 1
    if letter == "0" and not pattern[after : after + 1].isdigit():
        return r"\x00", after
    if letter in ("p", "P") and (name := _PROPERTY.match(pattern, after)):
        kind = "Script=" if name[1] else ""
        return f"\\{letter}{{{kind}{_PROPERTIES.get(name[2], name[2])}}}", name.end()
    if letter in ("a", "A", "Z", "z", "e"):  # An identity escape in ECMA-262, not in Python.
        return letter, after
    return "\\" + letter, after
