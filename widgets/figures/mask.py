"""The mask as bits, and the orders in which a vocabulary is laid out as a bitmap.

Only the row over token classes travels, a bit per class; the class of each token went to the page
once. Five allowed ids among 131,072 are invisible in id order, so past `BY_CLASS` ids the default
order is by class: the tokens of a class stand together, the largest classes first, and the dead
last.
"""

from __future__ import annotations

import base64
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.tokens.states import DEAD_CLASS, EOS_CLASS

Order = Literal["id", "class", "probability"]

BY_CLASS: Final = 16_384
"""Past so many ids the default order is by class."""


def pack_bits(bits: Bool) -> str:
    """Bits as base64, eight to a byte, the first in the highest place.

    Args:
        bits: bool[n].

    Example:
        >>> pack_bits(np.array([True, False, True]))
        'oA=='
    """
    return base64.b64encode(np.packbits(bits).tobytes()).decode("ascii")


def unpack_bits(packed: str, count: int) -> Bool:
    """The inverse of `pack_bits`.

    Example:
        >>> unpack_bits("oA==", 3).tolist()
        [True, False, True]
    """
    data = np.frombuffer(base64.b64decode(packed), np.uint8)
    return np.unpackbits(data, count=count).astype(np.bool_)


def default_order(size: int) -> Order:
    """The order that shows something: by id where every id can be seen, else by class."""
    return "class" if size > BY_CLASS else "id"


def token_order(
    order: Order,
    token_class: Int32 | NDArray[np.integer],
    probabilities: NDArray[np.floating] | None = None,
) -> Int32:
    """Which token stands at each place of the bitmap.

    Args:
        order: ``"id"``; ``"class"``, the EOS class first, then the largest, the dead class last; or
            ``"probability"``, the likeliest first, then by id.
        token_class: int[n], the class of each id.
        probabilities: float[n] or wider, for that order.

    Returns:
        int32[n], a permutation of the ids.

    Example:
        >>> token_order("class", np.array([0, 2, 1, 2])).tolist()
        [2, 1, 3, 0]
    """
    size = len(token_class)
    if order == "probability" and probabilities is not None:
        given = np.zeros(size)
        given[: min(size, len(probabilities))] = probabilities[:size]
        return np.argsort(-given, kind="stable").astype(np.int32)
    if order != "class" or size == 0:
        return np.arange(size, dtype=np.int32)
    counts = np.bincount(token_class)
    rank = np.empty(len(counts), np.int64)
    rank[np.lexsort((np.arange(len(counts)), -counts))] = np.arange(len(counts))
    rank[EOS_CLASS : EOS_CLASS + 1] = -1
    rank[DEAD_CLASS : DEAD_CLASS + 1] = len(counts)
    return np.argsort(rank[token_class], kind="stable").astype(np.int32)


def summary(allowed: int, size: int) -> str:
    """The mask in words, for those who cannot see the bitmap.

    Example:
        >>> summary(5, 131072)
        '5 of 131,072 tokens allowed, 131,067 masked'
    """
    return f"{allowed:,} of {size:,} tokens allowed, {size - allowed:,} masked"
