"""Tokens as rows with their probabilities: those that a search finds or the page names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from explorer.analysis.session import Session
from explorer.decoding.sampling.measure import measure
from explorer.decoding.trace.trace import Trace
from explorer.tokens.machine import TokenMachine
from explorer.tokens.states import DONE
from explorer.vocabulary import Vocabulary
from widgets.figures.drawing.labels import token_text
from widgets.figures.panels.distribution import reason_at
from widgets.figures.panels.mask import allowed_at

MOST_FOUND: Final = 12
"""How many tokens are listed."""

Packet = dict[str, object]


def search_packet(
    session: Session, trace: Trace, k: int, machine: TokenMachine, query: str
) -> Packet:
    """Tokens by text, bytes or id: first those that match exactly, then the likeliest others.

    Args:
        session: For the model's logits.
        trace: The record.
        k: A position.
        machine: The token machine.
        query: A token's readable text or a part of it, an id, or bytes in hexadecimal
            (``0x66``).

    Returns:
        ``rows`` of the first `MOST_FOUND`, and how many there are as ``count``.
    """
    same, parts = matching(session.vocabulary, query)
    rows = token_rows(session, trace, k, machine, [*same, *parts], first=len(same))
    return {"rows": rows, "count": len(same) + len(parts)}


def token_rows(
    session: Session,
    trace: Trace,
    k: int,
    machine: TokenMachine,
    ids: Sequence[int],
    *,
    first: int = 0,
) -> list[Packet]:
    """The likeliest of some tokens, as the bars show them.

    Args:
        session: For the model's logits.
        trace: The record.
        k: A position.
        machine: The token machine.
        ids: The tokens.
        first: So many of them come before the others, however likely they are.
    """
    vocabulary, position, allowed = session.vocabulary, trace.positions[k], allowed_at(trace, k)
    weights = np.zeros((3, len(vocabulary)))
    if session.lm is not None and position.state != DONE:
        measured = measure(session.logits(k), allowed, trace.sampler, 1)
        for row, logs in enumerate((measured.model, measured.filtered, measured.constrained)):
            known = np.exp(logs[: weights.shape[1]])
            weights[row, : len(known)] = known
    listed = np.asarray(ids, np.int64)
    later = np.arange(len(listed)) >= first
    best: list[int] = listed[np.lexsort((listed, -weights[0, listed], later))][:MOST_FOUND].tolist()
    return [
        {
            "id": token,
            "text": token_text(vocabulary, token),
            "allowed": bool(allowed[token]),
            "reason": None if allowed[token] else reason_at(position, token, machine),
            "model": float(weights[0, token]),
            "filtered": float(weights[1, token]),
            "constrained": float(weights[2, token]),
        }
        for token in best
    ]


def matching(vocabulary: Vocabulary, query: str) -> tuple[list[int], list[int]]:
    """The tokens that a query names, and those whose text or bytes contain it.

    Args:
        vocabulary: The tokens.
        query: As for `search_packet`.

    Example:
        >>> matching(Vocabulary.from_bytes([b"a", b"ab", b"b"], eos_ids=[3]), "a")
        ([0], [1])
    """
    wanted = query.replace(" ", "␣")
    named = int(query) if query.isdecimal() else None
    data = None
    if query.lower().startswith("0x"):
        with suppress(ValueError):
            data = bytes.fromhex(query[2:])
    same: list[int] = []
    parts: list[int] = []
    for token, piece in enumerate(vocabulary.tokens):
        text = token_text(vocabulary, token)
        if token == named or text == wanted or (data is not None and piece == data):
            same.append(token)
        elif wanted in text if data is None else piece is not None and data in piece:
            parts.append(token)
    return same, parts
