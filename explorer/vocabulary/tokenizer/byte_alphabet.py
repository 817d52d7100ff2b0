"""GPT-2's alphabet: one printable character for each of the 256 bytes.

Byte-level tokenizers spell their pieces in this alphabet so that a vocabulary file is plain text: a
byte that is printable in Latin-1 stands for itself, and the 68 others (controls, space, NUL, soft
hyphen …) are the characters from U+0100 on, in byte order. So a space is ``Ġ`` (U+0120) and a
newline ``Ċ`` (U+010A). The alphabet is a bijection: pieces give exact bytes, even of incomplete
characters.

Source: Radford et al. 2019 (GPT-2), section 2.2, and the released encoder.
"""

from __future__ import annotations

from typing import Final


def _alphabet() -> dict[str, int]:
    printed = (range(0x21, 0x7F), range(0xA1, 0xAD), range(0xAE, 0x100))
    itself = {byte for run in printed for byte in run}
    moved = (byte for byte in range(256) if byte not in itself)
    table = {chr(byte): byte for byte in sorted(itself)}
    table.update((chr(0x100 + place), byte) for place, byte in enumerate(moved))
    return table


BYTE_OF: Final = _alphabet()
"""The byte of each of the 256 characters of the alphabet."""

CHAR_OF: Final = tuple(sorted(BYTE_OF, key=BYTE_OF.__getitem__))
"""The character of each byte."""

_SPACE: Final = CHAR_OF[0x20]


def piece_bytes(piece: str) -> bytes:
    """The bytes that a piece in this alphabet stands for.

    Returns:
        One byte for each character. A piece with a character outside the alphabet (an added token,
        for example) is not spelled in it and stands for its own UTF-8.

    Example:
        >>> piece_bytes("Ġhello"), piece_bytes("â"), piece_bytes("a b")
        (b' hello', b'\\xe2', b'a b')
    """
    # A fast path: most pieces are ASCII, perhaps with a mark for a space in front.
    spaced = piece.replace(_SPACE, " ")
    if spaced.isascii() and piece.isprintable() and " " not in piece:
        return spaced.encode()
    try:
        return bytes(map(BYTE_OF.__getitem__, piece))
    except KeyError:
        return piece.encode()
