"""The kernels that advance a window by a token, for best paths and for longest pieces.

Both write the new window into the given arrays and return the number of its entries, or -1 if the
model would not produce the token.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.jit import jit
from explorer.vocabulary.canonical.merges import entry_of
from explorer.vocabulary.canonical.piece_trie import Float64, Int32, UInt8

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
Int8 = NDArray[np.int8]


@jit
def read_best(
    start: Int32, byte: UInt8, child: Int32, piece: Int32, score: Float64, unknown: float,
    data: UInt8, low: int, high: int, token: int,
    nodes: Int32, values: Float64, count: int, best: Float64, single: bool,
) -> int:  # fmt: skip
    """Advance a window of best paths by a token.

    Args:
        score: float64[ids], the scores of the pieces.
        unknown: The score of a character without a piece of its own.
        data: The bytes of all tokens; those of this one are ``data[low:high]``.
        low, high: See ``data``.
        nodes, values: The window: nodes of the trie, the earliest beginning first, and the score of
            the best path to each beginning. Changed in place.
        best: float64[1], the score of the path so far. Changed in place.
        single: Whether sums are kept in single precision. They are still compared in double
            precision, as in SentencePiece's code.

    Returns:
        The number of entries of the new window; -1 if another path is better, or equal and
        preferred.
    """
    here = best[0]
    own = -1
    winner = -1
    at = low
    while at < high:
        lead = data[at]
        length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        begun = here
        nodes[count] = 0
        values[count] = begun
        latest = count
        if at == low:
            own = count
        count += 1
        for place in range(at, min(at + length, high)):
            kept = 0
            own_after = -1
            latest_after = -1
            for entry in range(count):
                at_child = entry_of(start, byte, nodes[entry], data[place])
                if at_child >= 0:
                    node = child[at_child]
                    if entry == own:
                        own_after = kept
                    if entry == latest:
                        latest_after = kept
                    nodes[kept] = node
                    values[kept] = values[entry]
                    kept += 1
            own, latest, count = own_after, latest_after, kept
        at += length
        # Find the piece ending here with the best path; of equal ones, the one that began first.
        winner = -1
        for entry in range(count):
            taken = piece[nodes[entry]]
            if taken >= 0:
                sum_ = values[entry] + score[taken]
                if winner < 0 or sum_ > here:
                    here = np.float64(np.float32(sum_)) if single else sum_
                    winner = entry
        if latest < 0 or piece[nodes[latest]] < 0:
            sum_ = begun + unknown
            if single:
                sum_ = np.float64(np.float32(sum_))
            if winner < 0 or sum_ > here:
                here = sum_
                winner = count
    if own < 0 or winner != own or piece[nodes[own]] != token:
        return -1
    best[0] = here
    kept = 0
    for entry in range(count):
        if start[nodes[entry] + 1] > start[nodes[entry]]:
            nodes[kept] = nodes[entry]
            values[kept] = values[entry]
            kept += 1
    return kept


@jit
def survive_best(
    start: Int32, byte: UInt8, child: Int32, piece: Int32, score: Float64, unknown: float,
    data: UInt8, offset: Int64, window: Int32, value: Float64,
    tokens: Int32, path: Int32, begins: Bool, room: int, single: bool,
) -> Bool:  # fmt: skip
    """The tokens, of some, by which a window advances if a fixed sequence of tokens comes next.

    Args:
        start, byte, child, piece, score, unknown: As in `read_best`.
        data, offset: The bytes of all tokens, by id.
        window, value: The window; the last value is the score of the path so far.
        tokens: int32[n], ids.
        path, begins: The tokens that follow each of them, and whether each begins a word.
        room: The most entries of a window while a token is read.
        single: As in `read_best`.
    """
    good = np.zeros(tokens.shape[0], np.bool_)
    nodes = np.empty(room, np.int32)
    values = np.empty(room, np.float64)
    best = np.empty(1, np.float64)
    for k in range(tokens.shape[0]):
        count = window.shape[0]
        nodes[:count] = window
        values[:count] = value[:count]
        best[0] = value[count]
        for step in range(-1, path.shape[0]):
            token = tokens[k] if step < 0 else path[step]
            if step >= 0 and begins[step]:
                count = 0
                best[0] = 0.0
            count = read_best(
                start, byte, child, piece, score, unknown, data, int(offset[token]),
                int(offset[token + 1]),
                token, nodes, values, count, best, single,
            )  # fmt: skip
            if count < 0:
                break
        good[k] = count >= 0
    return good


@jit
def read_longest(
    start: Int32, byte: UInt8, child: Int32, piece: Int32, continued: int,
    data: UInt8, low: int, high: int, token: int, first: bool,
    nodes: Int32, count: int,
) -> int:  # fmt: skip
    """Advance a window of longer pieces by a token.

    Args:
        continued: The root of the pieces that continue a word; those that begin one have node 0.
        data: The texts of all pieces; that of this one is ``data[low:high]``.
        low, high: See ``data``.
        first: Whether the token begins a word.
        nodes: The nodes of the trie reached since the beginnings of recent tokens; a piece that
            ends at one of them is longer than its token. Changed in place.

    Returns:
        The number of entries of the new window; -1 if a longer piece would have been taken.
    """
    nodes[count] = 0 if first else continued
    own = count
    count += 1
    for place in range(low, high):
        kept = 0
        own_after = -1
        for entry in range(count):
            at_child = entry_of(start, byte, nodes[entry], data[place])
            if at_child >= 0:
                node = child[at_child]
                if entry == own:
                    own_after = kept
                elif piece[node] >= 0:
                    return -1
                nodes[kept] = node
                kept += 1
        own, count = own_after, kept
    if own < 0 or piece[nodes[own]] != token:
        return -1
    kept = 0
    for entry in range(count):
        if start[nodes[entry] + 1] > start[nodes[entry]]:
            nodes[kept] = nodes[entry]
            kept += 1
    return kept


@jit
def survive_longest(
    start: Int32, byte: UInt8, child: Int32, piece: Int32, continued: int,
    data: UInt8, offset: Int64, lengths: Int32, place: Int8, window: Int32, length: int,
    longest: int, fresh: bool, tokens: Int32, path: Int32, begins: Bool, room: int,
) -> Bool:  # fmt: skip
    """The tokens, of some, by which a window advances if a fixed sequence of tokens comes next.

    Args:
        start, byte, child, piece, continued: As in `read_longest`.
        data, offset: The texts of all pieces, by id.
        lengths: int32[ids], their lengths in characters.
        place: int8[ids], 0 for a piece that begins a word, 1 for one that continues a word, 2 for
            one that does both.
        window, length: The window, and the length of the word so far.
        longest: The most characters of a word that does not become unknown.
        fresh: Whether the first token begins a word.
        tokens, path, begins, room: As in `survive_best`.
    """
    good = np.zeros(tokens.shape[0], np.bool_)
    nodes = np.empty(room, np.int32)
    for k in range(tokens.shape[0]):
        count = window.shape[0]
        nodes[:count] = window
        written = length
        for step in range(-1, path.shape[0]):
            token = tokens[k] if step < 0 else path[step]
            begun = fresh if step < 0 else begins[step]
            if begun:
                count = 0
                written = 0
            written += lengths[token]
            if place[token] == (1 if begun else 0) or written > longest:
                count = -1
                break
            count = read_longest(
                start, byte, child, piece, continued, data, int(offset[token]),
                int(offset[token + 1]),
                token, begun, nodes, count,
            )  # fmt: skip
            if count < 0:
                break
        good[k] = count >= 0
    return good
