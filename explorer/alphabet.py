"""Bytes, token ids and FST labels: conversions, the bytes of a character, and bytes for display.

OpenFST reserves label 0 for ε. Byte 0 and token id 0 are ordinary symbols, so the label of either
is one higher. Every ``+ 1`` and ``- 1`` between symbols and labels happens here.

`Constraint.from_fst` also reads two other conventions: pynini's byte mode labels a byte with its
own value, so that NUL is ε; its ``utf8`` mode labels a character with its code point.
"""

from __future__ import annotations

import re
from typing import Final

EPSILON: Final = 0
"""OpenFST's label of the empty word."""

NUM_BYTES: Final = 256

_QUOTABLE: Final = re.compile(r"(\\*)([^\\]|$)", re.DOTALL)
"""A run of backslashes and the character after it."""


# A token that is not text (a *control token*, an image) writes no bytes of the text. A machine
# reads a *letter* in its place: a first byte that no text holds, then the token's name and its id.
# A constraint may name the token by either and leave the other open.
LETTER: Final = 0xF8
"""The first byte of a control token's letter; it never occurs in UTF-8."""

LETTER_ID: Final = 0xF9
"""The byte between the name and the id in a letter."""

ID_DIGITS: Final = 4
"""The number of bytes of an id; each holds six bits of it, added to `FIRST_ID_DIGIT`."""

FIRST_ID_DIGIT: Final = 0x80
LAST_ID_DIGIT: Final = 0xBF

MOST_ID: Final = 64**ID_DIGITS - 1
"""The highest id that has a letter."""

_A_LETTER: Final = re.compile(rb"\xf8([^\xf8-\xff]*)\xf9([\x80-\xbf]{4})")


# After the bracket of an array whose items come once, a machine that remembers them reads a mark
# (`explorer.languages.schema.once`): a byte that no text holds.
ONCE_ENDLESS: Final = 0xFA
"""The mark of an array each of whose items has infinitely many values."""

ONCE_MANY: Final = 0xFB
"""The mark of an array each of whose items has many values."""

ONCE_SOME: Final = 0xFC
"""The mark of an array each of whose items has dozens of values."""

ONCE_FEW: Final = 0xFD
"""The mark of any other array whose items come once."""


# Machines over tokens also read the ends of tokens: the detokenizing transducer writes a token's
# bytes, or its letter, followed by an end mark.
TOKEN_END: Final = NUM_BYTES
"""The symbol of the end of a token."""

NUM_TOKEN_SYMBOLS: Final = TOKEN_END + 1
"""The number of symbols with the end of a token."""

TOKEN_BEGIN: Final = NUM_TOKEN_SYMBOLS
"""The symbol of the beginning of a token, used only in the parts that such a machine is built from.
"""

NUM_PART_SYMBOLS: Final = TOKEN_BEGIN + 1
"""The number of symbols with the beginning and the end of a token."""


def id_digits(token: int) -> bytes:
    """The bytes that encode an id at the end of a letter.

    Example:
        >>> id_digits(65).hex(" ")
        '80 80 81 81'
    """
    return bytes(FIRST_ID_DIGIT + (token >> 6 * k & 63) for k in range(ID_DIGITS - 1, -1, -1))


def letter(name: str, token: int) -> bytes:
    """The letter of a control token.

    Args:
        name: The token's name; empty if it has none.

    Example:
        >>> letter("<a>", 7)
        b'\xf8<a>\xf9\x80\x80\x80\x87'
    """
    written = name.encode(errors="replace")
    return bytes([LETTER, *written, LETTER_ID]) + id_digits(token)


def between_letters(data: bytes) -> list[bytes | tuple[str, int]]:
    """Bytes split at their letters: alternately text and a letter as a pair of name and id.

    Text stands at the even indices, so it may be empty between two letters.

    Example:
        >>> between_letters(b"a" + letter("<b>", 1))
        [b'a', ('<b>', 1), b'']
    """
    if LETTER not in data:
        return [data]
    parts: list[bytes | tuple[str, int]] = []
    at = 0
    for match in _A_LETTER.finditer(data):
        token = 0
        for digit in match[2]:
            token = token << 6 | digit - FIRST_ID_DIGIT
        parts += [data[at : match.start()], (match[1].decode(errors="replace"), token)]
        at = match.end()
    return [*parts, data[at:]]


def split_letter(data: bytes) -> tuple[bytes, str]:
    """Bytes without an incomplete letter at their end, and the name of that letter.

    Example:
        >>> split_letter(b"a" + letter("<b>", 1)[:-2]), split_letter(b"ab")
        ((b'a', '<b>'), (b'ab', ''))
    """
    at = data.rfind(LETTER)
    if at < 0 or _A_LETTER.match(data, at):
        return data, ""
    name, ends, _ = data[at + 1 :].partition(bytes([LETTER_ID]))
    shown = name.decode(errors="ignore") + ("" if ends else "…")
    return data[:at], shown if name else "a control token"


def shown_letters(data: bytes, errors: str = "replace") -> str:
    """The text of bytes with letters, each control token shown by its name or id.

    Args:
        errors: The handling of bytes that are not UTF-8, as in `bytes.decode`.

    Example:
        >>> shown_letters(b"a" + letter("<b>", 7) + letter("", 9))
        'a<b>[9]'
    """
    data, begun = split_letter(data)
    parts = between_letters(data)
    shown = [
        (each[0] or f"[{each[1]}]") if isinstance(each, tuple) else each.decode(errors=errors)
        for each in parts
    ]
    return "".join(shown) + begun


def without_letters(data: bytes) -> bytes:
    """The bytes without their letters."""
    return _A_LETTER.sub(b"", data) if LETTER in data else data


def show_bytes(data: bytes) -> str:
    """The display form of bytes that are not a character: ``<C3>`` for each byte.

    It is in this module because every layer displays bytes, errors included.

    Example:
        >>> show_bytes(b"\\xf0\\x9f")
        '<F0><9F>'
    """
    return "".join(f"<{byte:02X}>" for byte in data)


def in_quotes(text: str) -> str:
    """A text in quotes, for display.

    A non-printable character is written as an escape, and a byte that is not text (a surrogate, as
    decoded by ``errors="surrogateescape"``) as in `show_bytes`. A run of backslashes is doubled
    only if it would otherwise form an escape with the next character.

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


_AFTER_A_BACKSLASH: Final = "nrtxuU␣<\\"
"""Characters that look like an escape, or the beginning of one, after a backslash."""

_LIKE_A_BYTE: Final = re.compile("<[0-9A-F]{2}>")
"""A pattern of text that looks like the output of `show_bytes`."""


def readable(data: bytes) -> str:
    """Token bytes as one line of printable text without spaces; distinct bytes stay distinct.

    A byte that is not text is ``<C3>``; text that looks like one has a backslash before it. A
    backslash is one backslash, except before what it would turn into an escape, such as ``n``:
    there all that stand together are doubled.

    Example:
        >>> readable(b" the"), readable("ä".encode()), readable(b"\\xc3"), readable(b"\\n")
        ('␣the', 'ä', '<C3>', '\\\\n')
        >>> print(readable(b"<C3>"), readable(b"\\\\"), readable(b'\\\\"'), readable(b"\\\\n"))
        \\<C3> \\ \\" \\\\n
    """
    parts: list[str] = []
    backslashes = 0  # The number of backslashes at the end of the text so far.
    text = data.decode(errors="surrogateescape")
    for at, character in enumerate(text):
        code = ord(character)
        shown = character
        if character == " ":
            shown = "␣"
        elif character == "␣" or (character == "<" and _LIKE_A_BYTE.match(text, at)):
            shown = "\\" + character
        elif 0xDC80 <= code <= 0xDCFF:
            shown = show_bytes(bytes([code - 0xDC00]))
        elif not character.isprintable():
            shown = character.encode("unicode_escape").decode()
        if character == "\\":
            backslashes += 1
        else:
            if backslashes and shown[0] in _AFTER_A_BACKSLASH:
                parts.append("\\" * backslashes)
            backslashes = 0
        parts.append(shown)
    return "".join(parts)


_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters other than the tab and the newline, and marks of text direction."""


def without_controls(text: str) -> str:
    """A text with its control characters, except newlines and tabs, written as escapes.

    Example:
        >>> without_controls("a\\x1b]0;b\\x85\\n")
        'a\\\\x1b]0;b\\\\u0085\\n'
    """
    return _CONTROL.sub(_control_escape, text)


def _control_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    # JSON may hold characters from 0x7f on unescaped; \x85 is not an escape of JSON, \u0085 is.
    return f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}"


# First and last lead byte of each length, and the bits of the code point that the lead holds.
LEADS: Final = ((0xC2, 0xDF, 1, 0x1F), (0xE0, 0xEF, 2, 0x0F), (0xF0, 0xF4, 3, 0x07))


def is_continuation(byte: int) -> bool:
    """Whether a byte can only occur inside a character."""
    return byte & 0xC0 == 0x80


def remaining_bytes(lead: int) -> int:
    """The number of bytes that must follow a lead byte; 0 for any other byte."""
    return next((count for low, high, count, _ in LEADS if low <= lead <= high), 0)


def character_start(data: bytes, index: int) -> int:
    """The offset of the first byte of a character, given any byte of it.

    Args:
        data: Bytes that are valid UTF-8 up to ``index``; the byte there may be any.
        index: The offset of the byte; ``len(data)`` stands for the byte that would come next.

    Example:
        >>> character_start("aä".encode(), 2), character_start("aä".encode(), 3)
        (1, 3)
    """
    first = index
    while first > 0 and index - first < 4 and is_continuation(data[first - 1]):
        first -= 1
    if first > 0 and (need := remaining_bytes(data[first - 1])) > index - first:
        # The lead byte before them needs more bytes than there are: this byte is one of them.
        return first - 1 if need else index
    return index


def split_tail(data: bytes) -> tuple[bytes, bytes]:
    """Bytes without the incomplete character at their end, and that part of a character.

    Example:
        >>> split_tail(b"a\\xf0\\x9f")
        (b'a', b'\\xf0\\x9f')
    """
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if is_continuation(byte):
            continue
        return (data[:-back], data[-back:]) if remaining_bytes(byte) >= back else (data, b"")
    return data, b""


def split_head(data: bytes) -> tuple[bytes, bytes]:
    """The bytes at the start that can only finish an earlier character, and the rest."""
    count = 0
    while count < min(3, len(data)) and is_continuation(data[count]):
        count += 1
    return data[:count], data[count:]


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
