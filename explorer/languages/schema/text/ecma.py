"""Patterns of JSON Schema, which are ECMA-262's, as patterns of Python's ``re``.

The two agree on most syntax that schemas use. Where they differ the pattern is rewritten:
``\\d``, ``\\w`` and ``\\b`` are ASCII, ``\\s`` and the dot have their own sets, ``$`` is only the
end, ``[^]`` and ``[]`` are any character and none, code points are written ``\\u{1F600}``, groups
``(?<name>…)``, and ``\\p{…}`` names a Unicode property.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from explorer.errors import RegexError

SPACE: Final = r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""ECMA-262's ``\\s`` (section 12.2 and 12.3): white space and line ends."""

_DOT: Final = r"[^\n\r\u2028\u2029]"
_WORD: Final = "0-9A-Za-z_"

_NO_REPEAT: Final = re.compile(r"\{,[0-9]*\}")
"""Letters of a text in ECMA-262, but a repeat with an upper bound in Python."""

_FLAGS: Final = re.compile(r"\(\?[a-zA-Z-]+[:)]")

_LONG_CATEGORIES: Final = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M",
    "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N",
    "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
    "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z",
    "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Other": "C",
    "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co",
    "Unassigned": "Cn",
}  # fmt: skip

_SCRIPTS: Final = {
    "Latin": "LATIN ", "Greek": "GREEK ", "Cyrillic": "CYRILLIC ", "Hiragana": "HIRAGANA ",
    "Katakana": "KATAKANA ", "Hebrew": "HEBREW ", "Arabic": "ARABIC ", "Thai": "THAI ",
    "Hangul": "HANGUL ", "Han": "CJK UNIFIED IDEOGRAPH",
}  # fmt: skip


def translated(pattern: str) -> str:
    """An ECMA-262 pattern in Python's syntax.

    Args:
        pattern: The pattern, read with the ``u`` flag as JSON Schema recommends.

    Raises:
        RegexError: A property is unknown, a repeat has no lower bound, flags are set, or the
            pattern ends in the middle of an escape.

    Example:
        >>> translated(r"^\\d+$"), translated("(?<year>.)")
        ('^[0-9]+\\\\Z', '(?P<year>[^\\\\n\\\\r\\\\u2028\\\\u2029])')
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
        elif pattern.startswith("(?<", position) and pattern[position + 3 : position + 4] not in (
            "=", "!",
        ):  # fmt: skip
            out.append("(?P<")
            position += 3
            continue
        else:
            out.append(char)
        position += 1
    return "".join(out)


_PIECE: Final = re.compile(r"\\.|\[(?:\\.|[^\\\]])*\]|\((?:\?(?::|P<\w+>))?|.", re.S)
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
    sets = {"d": "0-9", "w": _WORD, "s": SPACE}
    if letter in sets:
        return (sets[letter] if in_class else f"[{sets[letter]}]"), after
    if letter and letter in "DWS":
        return (_complement_in_class(letter) if in_class else f"[^{sets[letter.lower()]}]"), after
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
    if letter in ("p", "P") and pattern[after : after + 1] == "{":
        end = pattern.find("}", after)
        inside = _property(pattern, position, pattern[after + 1 : end], negated=letter == "P")
        return (inside if in_class else f"[{inside}]"), end + 1
    if letter in ("a", "A", "Z", "z", "e"):  # An identity escape in ECMA-262, not in Python.
        return letter, after
    return "\\" + letter, after


def _complement_in_class(letter: str) -> str:
    if letter == "D":
        return r"\x00-/:-\U0010ffff"
    if letter == "W":
        return r"\x00-/:-@\[-\^`{-\U0010ffff"
    return (
        r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e"
        r"\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff"
    )


@lru_cache(maxsize=64)
def _ranges(name: str) -> tuple[tuple[int, int], ...] | None:
    """The code points of a property, as ranges."""
    kind, _, value = name.rpartition("=")
    wanted = _LONG_CATEGORIES.get(value, value)
    if kind in ("Script", "sc", "Script_Extensions", "scx"):
        prefix = _SCRIPTS.get(value)
        if prefix is None:
            return None

        def holds(code: int) -> bool:
            return unicodedata.name(chr(code), "").startswith(prefix)
    elif value == "ASCII":

        def holds(code: int) -> bool:
            return code < 128
    elif value == "Any":
        return ((0, 0x10FFFF),)
    elif value in ("Alphabetic", "Alpha"):

        def holds(code: int) -> bool:
            return unicodedata.category(chr(code))[0] == "L" or chr(code).isalpha()
    elif wanted == "LC":

        def holds(code: int) -> bool:
            return unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt")
    elif len(wanted) <= 2 and wanted[:1] in "LMNPSZC" and kind in ("", "General_Category", "gc"):

        def holds(code: int) -> bool:
            return unicodedata.category(chr(code)).startswith(wanted)
    else:
        return None
    ranges: list[tuple[int, int]] = []
    for code in range(0x110000):
        if holds(code):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = (ranges[-1][0], code)
            else:
                ranges.append((code, code))
    return tuple(ranges)


def _property(pattern: str, position: int, name: str, *, negated: bool) -> str:
    ranges = _ranges(name)
    if ranges is None:
        raise RegexError(
            f"the property {name!r} is not known here",
            pattern=pattern,
            start=position,
            end=min(len(pattern), position + len(name) + 4),
            remedy="Use a general category such as \\p{L}, or write the ranges out.",
        )
    if negated:
        gaps: list[tuple[int, int]] = []
        begin = 0
        for low, high in ranges:
            if low > begin:
                gaps.append((begin, low - 1))
            begin = high + 1
        if begin <= 0x10FFFF:
            gaps.append((begin, 0x10FFFF))
        ranges = tuple(gaps)
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
