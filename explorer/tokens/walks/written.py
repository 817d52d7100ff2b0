"""The output of the detokenizing transducer for a token: its bytes, or its bytes and marks.

Most byte machines read bytes, and a token writes its bytes. A machine over token ends
(`explorer.automata.tree.build`) also reads a mark after each token, and the digits of the id
of a token that is not text. So for such a machine the trie has one more node below each word, the
mark, and the words of ids; every walk of the trie is then the same walk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import cast

import numpy as np

from explorer.alphabet import FIRST_DIGIT, TOKEN_END, id_digits
from explorer.automata.machine import NO_ARC, ByteMachine, Dfa
from explorer.automata.tree.build import is_over_tokens
from explorer.memo import memo
from explorer.tokens.walks.trie import Trie, UInt8, trie_arrays, trie_of
from explorer.vocabulary import Vocabulary


def trie_for(vocabulary: Vocabulary, machine: ByteMachine) -> Trie:
    """The trie of what tokens write for a machine, built on first use and kept.

    Args:
        vocabulary: The tokens.
        machine: The machine that is to read them.
    """
    return _trie_with_ends(vocabulary) if is_over_tokens(machine) else trie_of(vocabulary)


def written(vocabulary: Vocabulary, machine: ByteMachine, token: int) -> Sequence[int]:
    """The symbols that a token writes for a machine; none for one that writes nothing.

    Args:
        vocabulary: The tokens.
        machine: The machine that is to read them.
        token: An id of the vocabulary, not one of its EOS ids.

    Example:
        >>> from explorer import Vocabulary, regex
        >>> from explorer.budget import Meter
        >>> vocab = Vocabulary.from_bytes([b"ab"], eos_ids=[1])
        >>> written(vocab, regex("(?P<TEXT_TOKEN>)").for_tokens(Meter()), 0)
        [97, 98, 256]
    """
    data = vocabulary.tokens[token]
    if not is_over_tokens(machine):
        return data or b""
    if data is not None:
        return [*data, TOKEN_END]
    at = bisect_left(vocabulary.not_text, token)
    known = vocabulary.not_text[at : at + 1] == (token,)
    return [*id_digits(token), TOKEN_END] if known else ()


def after_token(machine: ByteMachine, state: int, symbols: Sequence[int]) -> int:
    """The state after the symbols of a token; `NO_ARC` where it cannot be read, or writes nothing.

    Args:
        machine: The machine over bytes, or bytes and token ends.
        state: The state before the token.
        symbols: From `written`.
    """
    if not symbols:
        return NO_ARC
    for symbol in symbols:
        if state == NO_ARC:
            break
        state = machine.step(state, symbol)
    return state


def token_end(machine: ByteMachine, state: int) -> int:
    """The state when a token ends in a state; the same one, unless the machine reads token ends."""
    return machine.step(state, TOKEN_END) if is_over_tokens(machine) else state


def boundaries(machine: Dfa) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The states of a machine over token ends in which a token can begin: bool[num_states]."""
    found = np.zeros(machine.num_states, np.bool_)
    found[machine.start] = True
    ends = machine.table[:, machine.symbol_class[TOKEN_END]]
    found[ends[ends != NO_ARC]] = True
    return found


@memo
def _trie_with_ends(vocabulary: Vocabulary) -> Trie:
    """The trie of a vocabulary with a mark below each word, and the ids that are not text."""
    plain = trie_of(vocabulary)
    ends = plain.word >= 0
    ahead = np.cumsum(ends)
    place = np.arange(len(plain.byte) + 1, dtype=np.int32)
    place[1:] += ahead.astype(np.int32)
    mark = place[:-1][ends] + 1
    size = int(place[-1])
    byte = np.empty(size, np.int16)
    depth, skip = np.empty(size, np.int32), np.empty(size, np.int32)
    word = np.full(size, -1, np.int32)
    byte[place[:-1]], byte[mark] = plain.byte, TOKEN_END
    depth[place[:-1]], depth[mark] = plain.depth, plain.depth[ends] + 1
    skip[place[:-1]], skip[mark] = place[plain.skip], mark + 1
    word[mark] = plain.word[ends]
    first_id, max_depth = plain.first_id, plain.max_depth + 1
    ids = vocabulary.not_text
    if ids:
        # The digits and the mark as small numbers, so that they can be laid out as bytes are.
        digits = [[*(d - FIRST_DIGIT for d in id_digits(token)), 16] for token in ids]
        data = np.array(digits, np.uint8)
        start = np.arange(len(ids) + 1, dtype=np.int64) * data.shape[1]
        more_byte, more_depth, more_skip, more_word, _ = trie_arrays(data.reshape(-1), start)
        more = more_byte.astype(np.int16) + FIRST_DIGIT
        more[more_byte == 16] = TOKEN_END
        more_word[more_word >= 0] += len(first_id)
        byte, depth = np.concatenate([byte, more]), np.concatenate([depth, more_depth])
        skip = np.concatenate([skip, more_skip + np.int32(size)])
        word = np.concatenate([word, more_word])
        first_id = np.concatenate([first_id, np.array(ids, np.int32)])
        max_depth = max(max_depth, data.shape[1])
    return Trie(
        # Symbols instead of bytes; the walks do not mind how wide they are.
        cast("UInt8", byte), depth, skip, word, first_id, plain.further_word, plain.further_id,
        max_depth, plain.num_tokens,
    )  # fmt: skip
