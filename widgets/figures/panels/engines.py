"""The strip of other engines: for the shown tokens, who allows each, and why one differs.

A packet holds some tokens only, those that the page shows, so it is small whatever the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.witnesses.answers import OURS, Testimony, Witness

Packet = dict[str, object]


def engines_packet(witness: Witness, tokens: Sequence[int]) -> Packet:
    """A row for each engine, ours first.

    Args:
        witness: The state in all engines.
        tokens: The ids that the page shows.

    Returns:
        ``rows``, each with ``name``, ``version``, ``allowed`` (how many ids), ``said`` (why there
        is no mask, else what differs in all, empty if nothing does) and ``cells``, one for each
        token: ``on`` and, where the engine differs from us, ``why``.
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
    """What differs in the whole mask, in words."""
    counts: dict[str, int] = {}
    for each in witness.disagreements:
        if each.engine == engine:
            counts[each.kind] = counts.get(each.kind, 0) + len(each.tokens)
    if not counts:
        return ""
    listed = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return f"differs in {sum(counts.values()):,}: {listed}"
