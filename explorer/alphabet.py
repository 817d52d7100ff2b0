"""Bytes and token ids as FST labels, and back; and bytes that are not characters in words.

OpenFST reserves label 0 for ε. Byte 0 and token id 0 are ordinary symbols, so both are
written one higher. Every ``+ 1`` and ``- 1`` between symbols and labels happens here.

Two other conventions exist and are read by `Constraint.from_fst`: pynini's byte mode labels
a byte by itself, so that NUL is ε there; its ``utf8`` mode labels a character by its code point.
"""

from __future__ import annotations

import re
from typing import Final

EPSILON: Final = 0
"""OpenFST's label of the empty word."""

NUM_BYTES: Final = 256

_QUOTABLE: Final = re.compile(r"(\\*)([^\\]|$)", re.DOTALL)
"""Backslashes, and the character after them."""


# Machines over tokens read more than bytes: what the detokenizing transducer writes for a token is
# its bytes and then a mark. A machine with these symbols is one "over token ends".
TOKEN_END: Final = NUM_BYTES
"""The end of a token."""

FIRST_DIGIT: Final = TOKEN_END + 1
"""A token that is not text writes its id instead of bytes, in hexadecimal: digit d is this + d."""

NUM_DIGITS: Final = 8
"""The digits of an id."""

NUM_TOKEN_SYMBOLS: Final = FIRST_DIGIT + 16
"""Bytes, the end of a token, and the digits of ids."""

TOKEN_BEGIN: Final = NUM_TOKEN_SYMBOLS
"""The beginning of a token; only in the parts that such a machine is put together from."""

NUM_PART_SYMBOLS: Final = TOKEN_BEGIN + 1
"""All of them."""


def id_digits(token: int) -> tuple[int, ...]:
    """The symbols that a token which is not text writes: its id.

    Example:
        >>> [symbol - FIRST_DIGIT for symbol in id_digits(31)]
        [0, 0, 0, 0, 0, 0, 1, 15]
    """
    return tuple(FIRST_DIGIT + int(digit, 16) for digit in f"{token:0{NUM_DIGITS}x}")


def show_bytes(data: bytes) -> str:
    """Bytes that are not a character, as everything here writes them: ``<C3>``, one after another.

    It stands in this module because every layer writes bytes, errors included.

    Args:
        data: Any bytes.

    Example:
        >>> show_bytes(b"\\xf0\\x9f")
        '<F0><9F>'
    """
    return "".join(f"<{byte:02X}>" for byte in data)


def in_quotes(text: str) -> str:
    """Text in quotes, as a person reads it.

    A character without ink is written as an escape, and a byte that is not text (a surrogate, as
    ``errors="surrogateescape"`` decodes it) as `show_bytes` does. A backslash is one backslash,
    except before what it would turn into an escape: there all that stand together are doubled.

    Args:
        text: Any text.

    Example:
        >>> print(in_quotes("it's"), in_quotes("a\\nb"), in_quotes("\\\\"), in_quotes("\\\\n"))
        "it's" 'a\\nb' '\\' '\\\\n'
    """
    mark = '"' if "'" in text and '"' not in text else "'"
    parts: list[str] = []
    for backslashes, character in _QUOTABLE.findall(text):
        code = ord(character) if character else 0
        shown = character
        if 0xDC80 <= code <= 0xDCFF:
            shown = show_bytes(bytes([code - 0xDC00]))
        elif character == mark or not character.isprintable():
            shown = "\\" + mark if character == mark else ascii(character)[1:-1]
        doubled = backslashes and shown and shown[0] in "nrtxuU'\"\\"
        parts += [2 * backslashes if doubled else backslashes, shown]
    return f"{mark}{''.join(parts)}{mark}"


_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters other than the tab and the newline, and the marks of direction."""


def without_controls(text: str) -> str:
    """A text whose control characters are written as escapes.

    Args:
        text: Any text. Newlines and tabs stay.

    Example:
        >>> without_controls("a\\x1b]0;b\\x85\\n")
        'a\\\\x1b]0;b\\\\u0085\\n'
    """
    return _CONTROL.sub(_control_escape, text)


def _control_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    # Those from 0x7f on may stand raw in JSON, where \x85 would not be an escape.
    return f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}"


def byte_label(byte: int) -> int:
    """The label of a byte.

    Example:
        >>> byte_label(ord("a"))
        98
    """
    return byte + 1


def label_byte(label: int) -> int:
    """The byte of a label; the inverse of `byte_label`.

    Example:
        >>> chr(label_byte(98))
        'a'
    """
    return label - 1


def token_label(token: int) -> int:
    """The label of a token id.

    Example:
        >>> token_label(0)
        1
    """
    return token + 1


def label_token(label: int) -> int:
    """The token id of a label; the inverse of `token_label`.

    Example:
        >>> label_token(1)
        0
    """
    return label - 1
