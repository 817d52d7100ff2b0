"""The vocabulary as a prefix tree in reading order, so that a dead branch is one jump.

The distinct byte strings of a vocabulary (its *words*; several ids may share one) are sorted
and laid out in preorder. A node knows its byte, its depth and the node after its subtree. A
walk is then one loop over the nodes with a stack indexed by depth; where the machine has no arc,
the loop jumps past the whole subtree. 131,072 tokens with 878 kB of bytes make about 310,000
nodes. Built once per vocabulary, in tens of milliseconds.

Most byte machines read bytes, and a token writes its bytes. For a machine that reads control
tokens (`explorer.automata.control_letters`) their letters are words too, and for one over token
ends (`explorer.automata.tree.build`) each word also ends in a mark; every walk of the trie is then
the same walk. Where letters are words, a token of text that holds the first byte of a letter is
left out: no text has that byte, so the token is never allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import LETTER, NUM_BYTES, NUM_TOKEN_SYMBOLS, TOKEN_END
from explorer.automata.machine import NO_ARC, Bool, ByteMachine, Int32
from explorer.jit import jit
from explorer.memo import memo
from explorer.vocabulary import Vocabulary

UInt8 = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Trie:
    """Preorder arrays over the nodes below the root, and the ids of each word.

    Args:
        byte: uint8[nodes], the byte on the way into each node.
        depth: int32[nodes], 1 for the children of the root.
        skip: int32[nodes], the first node after the node's subtree.
        word: int32[nodes], the word that ends here, or −1.
        first_id: int32[words], the lowest id of each word; words are in byte order.
        further_word, further_id: int32[n], the further ids of words that several ids share.
        max_depth: The longest word, in bytes.
        num_tokens: The width of the vocabulary; this includes ids that are not text.
        tokens: The bytes of each id, or its letter.
    """

    byte: UInt8
    depth: Int32
    skip: Int32
    word: Int32
    first_id: Int32
    further_word: Int32
    further_id: Int32
    max_depth: int
    num_tokens: int
    tokens: Sequence[bytes | None]

    @property
    def num_words(self) -> int:
        """The number of distinct byte strings."""
        return len(self.first_id)


@jit
def trie_arrays(
    data: UInt8, start: NDArray[np.int64]
) -> tuple[UInt8, Int32, Int32, Int32, NDArray[np.int64]]:
    """The nodes of some sorted strings, and the first string of each distinct word."""
    count = start.shape[0] - 1
    room = data.shape[0]
    byte = np.empty(room, data.dtype)  # Symbols beyond bytes need a wider type.
    depth = np.empty(room, np.int32)
    word = np.empty(room, np.int32)
    word_start = np.empty(count + 1, np.int64)
    nodes = 0
    words = 0
    for k in range(count):
        begin, length = start[k], start[k + 1] - start[k]
        common = 0
        if k > 0:
            before, before_length = start[k - 1], start[k] - start[k - 1]
            while (
                common < length
                and common < before_length
                and data[begin + common] == data[before + common]
            ):
                common += 1
            if common == length and common == before_length:
                continue
        for j in range(common, length):
            byte[nodes] = data[begin + j]
            depth[nodes] = j + 1
            word[nodes] = -1
            nodes += 1
        word[nodes - 1] = words
        word_start[words] = k
        words += 1
    word_start[words] = count
    skip = np.full(nodes, nodes, np.int32)
    open_ = np.empty(nodes, np.int32)
    top = 0
    for i in range(nodes):
        # Every open node at this depth or below it ends here.
        while top > 0 and depth[open_[top - 1]] >= depth[i]:
            top -= 1
            skip[open_[top]] = i
        open_[top] = i
        top += 1
    return (
        byte[:nodes].copy(),
        depth[:nodes].copy(),
        skip,
        word[:nodes].copy(),
        word_start[: words + 1].copy(),
    )


@memo
def trie_of(vocabulary: Vocabulary, with_ends: bool = False, with_letters: bool = False) -> Trie:
    """The trie of a vocabulary, built on first use and kept as long as the vocabulary lives.

    Args:
        with_ends: Whether words have the form for a machine over token ends.
        with_letters: Whether the letters of control tokens are words; they always are with ends.
    """
    tokens: Sequence[bytes | None] = vocabulary.tokens
    if with_ends or with_letters:
        chosen = [None if data and LETTER in data else data for data in tokens]
        for token, data in vocabulary.letters.items():
            chosen[token] = data
        tokens = chosen
    ids = [token for token, data in enumerate(tokens) if data is not None]
    # Sorting keeps the order of the ids that share a word.
    ids.sort(key=cast("Callable[[int], bytes]", tokens.__getitem__))
    words = cast("list[bytes]", [tokens[token] for token in ids])
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    data = np.frombuffer(b"".join(words), np.uint8)
    if with_ends:
        # Symbols instead of bytes; the walks work on any width.
        data = cast("UInt8", np.insert(data.astype(np.int16), np.cumsum(lengths), TOKEN_END))
        lengths += 1
    start = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    byte, depth, skip, word, word_start = trie_arrays(data, start)
    id_of = np.array(ids, np.int32)
    further = np.ones(len(id_of), np.bool_)
    further[word_start[:-1]] = False
    word_of = np.repeat(np.arange(len(word_start) - 1, dtype=np.int32), np.diff(word_start))
    return Trie(
        byte,
        depth,
        skip,
        word,
        first_id=id_of[word_start[:-1]],
        further_word=word_of[further],
        further_id=id_of[further],
        max_depth=int(depth.max()) if len(depth) else 0,
        num_tokens=len(vocabulary),
        tokens=tokens,
    )


def trie_for(vocabulary: Vocabulary, machine: ByteMachine) -> Trie:
    """The trie of the symbols that tokens write for a machine."""
    if machine.over_tokens:
        return trie_of(vocabulary, with_ends=True)
    # One call form per trie: the cache compares the arguments in the form of the call.
    return trie_of(vocabulary, with_letters=True) if machine.reads_letters else trie_of(vocabulary)


@memo
def single_bytes(trie: Trie) -> Bool:
    """The bytes that are tokens by themselves: bool[256]."""
    at_hand = np.zeros(NUM_TOKEN_SYMBOLS, np.bool_)
    ends = trie.word >= 0
    # In a trie with the ends of tokens, the word stands below the byte.
    below = np.append(trie.byte[1:], 0) == TOKEN_END
    at_hand[trie.byte[(trie.depth == 1) & (ends | below)]] = True
    return at_hand[:NUM_BYTES]


def written(vocabulary: Vocabulary, machine: ByteMachine, token: int) -> Sequence[int]:
    """The symbols that a non-EOS token writes for a machine; empty if it writes nothing.

    Example:
        >>> from explorer import Vocabulary, regex
        >>> from explorer.budget import Meter
        >>> vocab = Vocabulary.from_bytes([b"ab"], eos_ids=[1])
        >>> written(vocab, regex("(?P<TEXT_TOKEN>)").for_tokens(Meter()), 0)
        [97, 98, 256]
    """
    data = vocabulary.tokens[token]
    if data is None:
        data = vocabulary.letters.get(token, b"")
    elif LETTER in data:
        return b""
    return [*data, TOKEN_END] if data and machine.over_tokens else data


def after_token(machine: ByteMachine, state: int, symbols: Sequence[int]) -> int:
    """The state after the symbols of a token, as `written` gives them; `NO_ARC` where they cannot
    be read, or there are none."""
    if not symbols:
        return NO_ARC
    for symbol in symbols:
        if state == NO_ARC:
            break
        state = machine.step(state, symbol)
    return state


def token_end(machine: ByteMachine, state: int) -> int:
    """The state after the end of a token; the same state unless the machine reads token ends."""
    return machine.step(state, TOKEN_END) if machine.over_tokens else state
