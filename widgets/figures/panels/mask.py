"""The mask as bits, and the orders in which a vocabulary is laid out as a bitmap.

Only the row over token classes is sent, a bit per class; the class of each token was sent to the
page once. Five allowed ids among 131,072 are invisible in id order, so the page shows a large
vocabulary by class first: the tokens of a class are together, the largest classes first, and the
dead class last.

The engine's record still allows the end of text once more after the end. A page shows the tokens
that can come next, so here nothing is allowed after the end: no bit, and a count of 0.

Two things are sent only on request: the order by the model's probability, which differs at each
position (about 0.4 MB at 131,072 ids), and the rows of a stretch of positions that the page did not
see, each distinct row once.

`engines_packet` is the strip of other engines: for each shown token, the engines that allow it, and
the reasons for differences. It holds only the tokens that the page shows, so it is small for any
vocabulary.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.automata.machine import Bool, Int32
from explorer.decoding.trace.trace import Trace
from explorer.tokens.words import DEAD_CLASS, EOS_CLASS
from explorer.witnesses.answers import OURS, Testimony, Witness

Order = Literal["id", "class", "probability"]

SURPRISAL_STEPS: Final = 256
"""The number of steps per bit in which a surprisal is sent."""


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


def token_order(
    order: Order,
    token_class: Int32 | NDArray[np.integer],
    scores: NDArray[np.floating] | None = None,
) -> Int32:
    """The token at each place of the bitmap.

    Args:
        order: ``"id"``; ``"class"``, the EOS class first, then the largest, the dead class last; or
            ``"probability"``, the likeliest first, then by id.
        token_class: int[n], the class of each id.
        scores: float[n], probabilities or logits, for that order. If it is wider, the first n
            count; if it is narrower, the other ids come last.

    Returns:
        int32[n], a permutation of the ids.

    Example:
        >>> token_order("class", np.array([0, 2, 1, 2])).tolist()
        [2, 1, 3, 0]
    """
    size = len(token_class)
    if order == "probability" and scores is not None:
        return np.argsort(-_fitted(scores, size), kind="stable").astype(np.int32)
    if order != "class" or size == 0:
        return np.arange(size, dtype=np.int32)
    counts = np.bincount(token_class)
    rank = np.empty(len(counts), np.int64)
    rank[np.lexsort((np.arange(len(counts)), -counts))] = np.arange(len(counts))
    rank[EOS_CLASS : EOS_CLASS + 1] = -1
    rank[DEAD_CLASS : DEAD_CLASS + 1] = len(counts)
    return np.argsort(rank[token_class], kind="stable").astype(np.int32)


def _fitted(scores: NDArray[np.floating], size: int) -> NDArray[np.float64]:
    """One score per id; an id without a score of the model can never be written."""
    given = np.full(size, -np.inf)
    given[: min(size, len(scores))] = scores[:size]
    return given


def order_packet(logits: NDArray[np.floating], size: int) -> dict[str, object]:
    """The vocabulary by the model's own probability, for the page.

    Ids in an order that looks random do not compress below 17 bits each at 131,072 ids, so they go
    as planes of bytes, the low bytes of all first: the high planes compress. The surprisals rise
    along the order, so their differences are small and cost little.

    Args:
        logits: float[W], the model's own.

    Returns:
        ``size``; ``planes``, the number of bytes of an id; ``ids`` and ``surprisals``, both base64
        of zlib: of the planes of the ids, and of the two planes of the differences between one
        surprisal and the next, in `SURPRISAL_STEPS` of a bit, 65,535 for ids that are never
        written.

    Example:
        >>> packet = order_packet(np.log(np.array([0.25, 0.5, 0.25])), 3)
        >>> ids, bits = unpack_order(packet)
        >>> ids.tolist(), bits.tolist()
        ([1, 0, 2], [1.0, 2.0, 2.0])
    """
    wide = logits.astype(np.float64)
    top = float(wide.max(initial=-np.inf))
    total = top + float(np.log(np.exp(wide - top).sum())) if np.isfinite(top) else 0.0
    order = token_order("probability", np.zeros(size, np.int32), logits)
    with np.errstate(invalid="ignore"):
        bits = (total - _fitted(logits, size)[order]) / np.log(2.0)
    steps: NDArray[np.int64] = np.rint(bits * SURPRISAL_STEPS).clip(0, 65_535).astype(np.int64)
    planes = 2 if size <= 2**16 else 3 if size <= 2**24 else 4
    return {
        "size": size,
        "planes": planes,
        "ids": _planes(order.astype(np.int64), planes),
        "surprisals": _planes(np.diff(steps, prepend=0), 2),
    }


def unpack_order(packet: dict[str, object]) -> tuple[Int32, NDArray[np.float64]]:
    """The inverse of `order_packet`.

    Args:
        packet: The result of `order_packet`.

    Returns:
        int32[n], the ids, the likeliest first; and float64[n], their surprisals in bits.
    """
    size, planes = int(str(packet["size"])), int(str(packet["planes"]))
    ids = _unpacked(str(packet["ids"]), planes, size)
    steps = np.cumsum(_unpacked(str(packet["surprisals"]), 2, size))
    bits = np.where(steps >= 65_535, np.inf, steps / SURPRISAL_STEPS)
    return ids.astype(np.int32), bits


def _planes(values: NDArray[np.int64], planes: int) -> str:
    raw = b"".join((values >> 8 * i & 255).astype(np.uint8).tobytes() for i in range(planes))
    return base64.b64encode(zlib.compress(raw, 6)).decode("ascii")


def _unpacked(packed: str, planes: int, size: int) -> NDArray[np.int64]:
    raw = np.frombuffer(zlib.decompress(base64.b64decode(packed)), np.uint8)
    weights = np.left_shift(1, 8 * np.arange(planes, dtype=np.int64))
    return weights @ raw.reshape(planes, size).astype(np.int64)


def allowed_at(trace: Trace, k: int) -> Bool:
    """The ids that can come next, as the page shows them: no id after the end.

    Returns:
        bool[n], true for each allowed id.
    """
    allowed = trace.allowed(k)
    return np.zeros_like(allowed) if trace.positions[k].finished else allowed


def count_at(trace: Trace, k: int) -> int:
    """The number of ids that `allowed_at` allows."""
    position = trace.positions[k]
    return 0 if position.finished else position.num_allowed


def class_row(trace: Trace, k: int) -> Bool:
    """`allowed_at` by token class, if the mask is stored by class.

    Returns:
        bool[n], an entry per token class.
    """
    row = trace.row(k)
    return np.zeros_like(row) if trace.positions[k].finished else row


def rows_packet(trace: Trace, start: int, stop: int) -> dict[str, object]:
    """The masks of a stretch of positions, each distinct row once.

    Returns:
        ``rows``, as in `widgets.figures.packets`, and ``index``, for each position its place in
        ``rows``; ``-1`` without a constraint.

    Example:
        >>> from explorer import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> _ = session.run(3)
        >>> rows_packet(session.trace, 0, 4)["index"]
        [0, 0, 0, 1]
    """
    rows: dict[str, int] = {}
    index: list[int] = []
    for k in range(*slice(start, stop).indices(len(trace.positions))):
        if trace.masks is None:
            index.append(-1)
            continue
        row = pack_bits(class_row(trace, k))
        index.append(rows.setdefault(row, len(rows)))
    return {"rows": list(rows), "index": index}


def mask_summary(trace: Trace, k: int) -> str:
    """The mask in words, for people who cannot see the bitmap.

    Example:
        >>> from explorer import Session
        >>> from widgets.toy import ToyModel, toy_constraint
        >>> session = Session(ToyModel(), toy_constraint())
        >>> mask_summary(session.trace, 0)
        '3 of 6 tokens allowed, 3 masked'
    """
    allowed, size = count_at(trace, k), trace.tokens.size
    if trace.positions[k].finished:
        return f"0 of {size:,} tokens allowed: the text has ended"
    return f"{allowed:,} of {size:,} tokens allowed, {size - allowed:,} masked"


Packet = dict[str, object]


def engines_packet(witness: Witness, tokens: Sequence[int]) -> Packet:
    """A row for each engine, ours first.

    Returns:
        ``rows``, each with ``name``, ``version``, ``allowed`` (the number of ids), ``said`` (the
        reason why there is no mask, else a summary of the differences, empty if there are none) and
        ``cells``, one for each token: ``on`` and, if the engine differs from us, ``why``.
    """
    size = len(witness.vocabulary)
    ids = [token for token in tokens if 0 <= token < size]
    return {"tokens": ids, "rows": [_row(witness, each, ids) for each in witness.testimonies]}


def _row(witness: Witness, said: Testimony, tokens: list[int]) -> Packet:
    row: Packet = {"name": said.engine, "version": said.version, "cells": [], "allowed": None}
    if said.mask is None:
        refused = " ".join(said.refused.split())
        left = f"It does not follow the text: it leaves it after {said.followed} tokens."
        return {**row, "said": (refused or left)[:400]}
    cells: list[Packet] = []
    for token in tokens:
        cell: Packet = {"on": bool(said.mask[token])}
        each = None if said.engine == OURS else witness.disagreement(said.engine, token)
        if each is not None:
            evidence = [f"{name}: {value}" for name, value in each.evidence.items()]
            cell["why"] = {
                "class": each.kind,
                "sentence": f"{each.sentence[:1].upper()}{each.sentence[1:]}.",
                "evidence": evidence,
            }
        cells.append(cell)
    return {**row, "cells": cells, "allowed": int(np.count_nonzero(said.mask)),
            "said": _summary(witness, said.engine)}  # fmt: skip


def _summary(witness: Witness, engine: str) -> str:
    """The difference in the whole mask, in words."""
    counts: dict[str, int] = {}
    for each in witness.disagreements:
        if each.engine == engine:
            counts[each.kind] = counts.get(each.kind, 0) + len(each.tokens)
    if not counts:
        return ""
    listed = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return f"differs in {sum(counts.values()):,}: {listed}"
