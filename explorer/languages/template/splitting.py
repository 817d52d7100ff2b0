"""The division of a text into the stretches of its pieces, by one rule.

The text is a word of the concatenated pieces; where more than one division is possible,
**each piece in turn, from the left, takes the longest stretch with which the rest still fits**.
This is what greedy quantifiers do, and it depends on nothing but the text and the pieces.

Each piece is a machine. One pass from the end of the text finds the places at which a piece may
begin so that the rest fits; one pass from the beginning then takes the longest stretches. The worst
case takes length × states of a piece steps in numpy; for a machine that discovers its states, as
that of a grammar does, length² steps in Python.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.automata.machine import NO_ARC, Bool, ByteMachine

Piece = bytes | ByteMachine
"""A fixed text, or the machine of a generated part."""


def beginnings(piece: Piece, data: bytes, ends: Bool) -> Bool:
    """The places where a piece may begin so that it ends at a permitted place.

    Args:
        ends: bool[n + 1], the places where the piece may end.

    Returns:
        bool[n + 1], the places where it may begin.
    """
    begins = np.zeros(len(data) + 1, np.bool_)
    if isinstance(piece, bytes):
        last = len(data) - len(piece)
        for place in range(last + 1):
            begins[place] = ends[place + len(piece)] and data.startswith(piece, place)
        return begins
    if piece.start == NO_ARC:
        return begins
    closed = piece.closed
    if closed is None:  # It discovers its states, so each place is tried.
        for place in range(len(data) + 1):
            end = longest(piece, data, place, ends)
            begins[place] = end > place or (piece.is_accepting(piece.start) and ends[place])
        return begins
    finishing = np.zeros(closed.num_states, np.bool_)
    for place in range(len(data), -1, -1):
        if place < len(data):
            targets = closed.table[:, closed.symbol_class[data[place]]]
            finishing = (targets != NO_ARC) & finishing[targets]
        if ends[place]:
            finishing = finishing | closed.accepting
        begins[place] = finishing[closed.start]
    return begins


def longest(piece: Piece, data: bytes, start: int, ends: Bool) -> int:
    """The furthest permitted place at which a piece that begins at ``start`` ends.

    Args:
        piece, data, ends: As in `beginnings`.
        start: A place from `beginnings`.
    """
    if isinstance(piece, bytes):
        return start + len(piece)
    furthest, state = start, piece.start
    for place in range(start, len(data) + 1):
        if piece.is_accepting(state) and ends[place]:
            furthest = place
        if place == len(data):
            break
        state = piece.step(state, data[place])
        if state == NO_ARC:
            break
    return furthest


def split(pieces: Sequence[Piece], data: bytes) -> list[bytes]:
    """The stretches of a text that belong to each of some pieces.

    Args:
        data: A word of the concatenated pieces.

    Example:
        >>> from explorer import regex
        >>> word = regex("[a-z ]+").dfa
        >>> split([word, b" ", word], b"a b c")
        [b'a b', b' ', b'c']
    """
    at_end = np.zeros(len(data) + 1, np.bool_)
    at_end[len(data)] = True
    ends = [at_end]
    for piece in reversed(pieces[1:]):
        ends.append(beginnings(piece, data, ends[-1]))
    ends.reverse()
    stretches: list[bytes] = []
    start = 0
    for piece, possible in zip(pieces, ends, strict=True):
        end = longest(piece, data, start, possible)
        stretches.append(data[start:end])
        start = end
    return stretches
