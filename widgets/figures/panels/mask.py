"""The mask as bits, and other engines beside it.

Only the row over token classes is sent, a bit per class; the class of each token was sent to the
page once. Five allowed ids among 131,072 are invisible in id order, so the page shows a large
vocabulary by class first: the tokens of a class are together, the largest classes first, and the
dead class last.

The engine's record still allows the end of text once more after the end. A page shows the tokens
that can come next, so here nothing is allowed after the end: no bit, and a count of 0.

`engines_packet` is the strip of other engines: for each shown token, the engines that allow it, and
the reasons for differences. It holds only the tokens that the page shows, so it is small for any
vocabulary.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np

from explorer.automata.machine import Bool
from explorer.decoding.trace.trace import Trace
from explorer.witnesses.answers import OURS, Testimony, Witness


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
