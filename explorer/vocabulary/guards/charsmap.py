"""Checks SentencePiece's table of characters (``precompiled_charsmap``) before a library uses it.

The table is a trie in a double array, followed by the texts that it maps to:

=========  ==================================================================================
4 bytes    size of the trie in bytes, little-endian
trie       units of 4 bytes, little-endian
texts      UTF-8, each ended by NUL; a value of the trie is the offset of one
=========  ==================================================================================

A unit holds the byte that leads to it (bits 0 to 7, with bit 31 clear), the distance to its
children (bits 10 to 30, shifted left by 8 if bit 9 is set) and whether it has a value (bit 8). A
value is a unit with bit 31 set. Neither library checks the distances: a forged table makes one
abort the process and the other read outside the array. So every unit that a text can reach is
visited once here, level by level, with numpy.

Source: google/sentencepiece, ``normalizer.cc``; s-yata/darts-clone, ``darts.h``.
Cost: 20 ms for SentencePiece's own tables, of 60,000 units.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

import numpy as np
import numpy.typing as npt

from explorer.errors import UnsupportedTokenizer

Units = npt.NDArray[np.int64]

_MAX_LEVELS: Final = 256
"""The longest accepted key, in bytes; SentencePiece's own have 18 at most."""


def check_charsmap(data: bytes, component: str) -> int:
    """Check that no lookup in a table can leave it.

    Returns:
        The length of the longest text that one key maps to, in bytes.

    Raises:
        UnsupportedTokenizer: The table is truncated, or points outside itself.
    """
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or size % 4 or not 4 <= size <= len(data) - 4:
        raise _broken(component, f"its trie should have {size:,} bytes and the whole {len(data):,}")
    units = np.frombuffer(data, "<u4", count=size // 4, offset=4).astype(np.int64)
    texts = data[4 + size :]
    try:
        texts.decode()
    except UnicodeDecodeError as error:
        raise _broken(component, "the texts that it maps to are not UTF-8") from error
    starts, longest = _values(units, component), 0
    for start in starts:
        end = texts.find(b"\0", start) if start < len(texts) else -1
        # A text starts at the first byte of a character, or at the NUL of the empty text.
        if end < 0 or texts[start] & 0xC0 == 0x80:
            raise _broken(component, f"a key leads to the text at {start:,}, which is not there")
        longest = max(longest, end - start)
    return longest


def check_encoded_charsmap(text: str, component: str) -> int:
    """`check_charsmap` for a table in base64, as ``tokenizer.json`` holds it.

    Raises:
        UnsupportedTokenizer: It is not base64, or as for `check_charsmap`.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _broken(component, "it is not base64") from error
    return check_charsmap(data, component)


def _values(units: Units, component: str) -> list[int]:
    """The values of all keys; each unit of the trie is visited once."""
    places = np.arange(len(units), dtype=np.int64)
    labels = units & 0x800000FF
    # A child's index is its parent's base ^ label, so index and label give the base. The byte 0
    # ends a key, so no text passes through it.
    inner = places[(labels > 0) & (labels < 256)]
    base_of = inner ^ labels[inner]
    order = np.argsort(base_of, kind="stable")
    inner, base_of = inner[order], base_of[order]
    seen = np.zeros(len(units), dtype=bool)
    seen[0] = True
    level = places[:1]
    values: set[int] = set()
    for _ in range(_MAX_LEVELS):
        unit = units[level]
        base = level ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if ((base | 0xFF) >= len(units)).any():
            raise _broken(component, "its trie leads outside of itself")
        has_value = (unit & 0x100) != 0
        values.update((units[base[has_value]] & 0x7FFFFFFF).tolist())
        base = np.unique(base)
        first = np.searchsorted(base_of, base, "left")
        counts = np.searchsorted(base_of, base, "right") - first
        skipped = np.repeat(np.cumsum(counts) - counts, counts)
        reached = inner[np.repeat(first, counts) + np.arange(counts.sum()) - skipped]
        level = reached[~seen[reached]]
        if not len(level):
            return sorted(values)
        seen[level] = True
    raise _broken(component, f"it has keys of more than {_MAX_LEVELS} bytes")


def _broken(component: str, what: str) -> UnsupportedTokenizer:
    return UnsupportedTokenizer(
        component,
        f"its table of characters is damaged: {what}",
        remedy="Fetch the file again.",
    )
