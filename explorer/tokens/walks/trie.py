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

The mask of one state needs a second form (`walked`): the trie in level order, with the letters of
its words. A letter is a character of ASCII, or one of three kinds of further characters; see
`explorer.automata.discovered.letters`. A character that a word does not complete counts as one of
the first kind with a character that begins so. It takes 13 MB at 131,072 tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from explorer.alphabet import LETTER, NUM_BYTES, NUM_TOKEN_SYMBOLS, TOKEN_END
from explorer.automata.discovered.letters import (
    BEGINNING,
    COMPLETE,
    CONTROL,
    GOING_ON,
    HELD_BY,
    KINDS,
    KNOWN,
    LETTER_OF,
    LONGER,
    LONGEST,
    NEEDS_LETTERS,
    NO_LETTER,
    NOTES,
    OTHER,
    PRESUMES,
    SETS,
    STARTS,
    BroadTrie,
    walk_words,
)
from explorer.automata.machine import (
    NO_ARC,
    Bool,
    ByteMachine,
    Dfa,
    Int32,
    UInt32,
    UInt64,
    WalkArrays,
    WordTrie,
)
from explorer.automata.tree.build import build
from explorer.budget import Meter
from explorer.jit import jit
from explorer.languages.regex import parse
from explorer.memo import Kept, memo
from explorer.tokens.words import num_words, set_bits
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

    def word_at(self, node: int) -> int:
        """The word whose bytes end at a node, or −1; a mark of its end may follow."""
        word = int(self.word[node])
        if word < 0 and node + 1 < int(self.skip[node]) and self.byte[node + 1] == TOKEN_END:
            return int(self.word[node + 1])
        return word


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


def trie_of(vocabulary: Vocabulary, machine: ByteMachine | None) -> Trie:
    """The trie of the symbols that tokens write for a machine; for text alone without a machine.

    Built on first use and kept as long as the vocabulary lives. The numbers of words hold for this
    trie only, so whatever is computed by word is computed from the trie, not from the vocabulary.
    """
    if machine is None or not (machine.over_tokens or machine.reads_letters):
        return _made(vocabulary, None, False)
    # Equal vocabularies may give their control tokens different names.
    return _made(vocabulary, tuple(vocabulary.letters.items()), machine.over_tokens)


@memo
def _made(
    vocabulary: Vocabulary, letters: tuple[tuple[int, bytes], ...] | None, with_ends: bool
) -> Trie:
    tokens: Sequence[bytes | None] = vocabulary.tokens
    if letters is not None:
        chosen = [None if data and LETTER in data else data for data in tokens]
        for token, data in letters:
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


@memo
def word_of(trie: Trie) -> Int32:
    """int32[ids], the word that each id writes; −1 if it writes nothing."""
    words = np.full(trie.num_tokens, -1, np.int32)
    words[trie.first_id] = np.arange(trie.num_words, dtype=np.int32)
    words[trie.further_id] = trie.further_word
    words.flags.writeable = False
    return words


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


KIND_PATTERNS: Final = (
    r"[^\W\x00-\x7f]",
    r"[^\x00-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]",
    r"[^\x00-\x7f]",
)
"""The kinds of characters beyond ASCII, each a superset of those before it."""

MOST_SETS: Final = 4_000_000
"""The bytes of masks that are kept for sets of letters."""


class Letters:
    """The words over each set of letters; thread-safe.

    Args:
        letters: uint64[words, 2], the letters of each word.
        lengths: The number of letters of each word.
    """

    def __init__(self, trie: Trie, letters: UInt64, lengths: Int32) -> None:
        width = num_words(trie.num_tokens)
        self._holding = np.zeros((128, width), np.uint32)
        _hold(letters, trie.first_id, self._holding)
        self._upto = np.zeros((LONGEST + 1, width), np.uint32)
        for most, words in enumerate(self._upto):
            set_bits(words, trie.first_id[lengths <= most])
        self._every = np.zeros(width, np.uint32)
        set_bits(self._every, trie.first_id)
        self._kept: Kept[tuple[int, int], UInt32] = Kept(MOST_SETS)

    def taken(self, low: int, high: int, most: int) -> UInt32:
        """The mask of the words over some letters.

        Args:
            low, high: The letters as bits.
            most: The most letters of a word.
        """
        words = self._kept.get((low, high))
        if words is None:
            words = _without(self._holding, self._every, np.uint64(low), np.uint64(high))
            self._kept.put((low, high), words, words.nbytes)
        return words & self._upto[most] if most <= LONGEST else words


@jit
def _hold(letters: UInt64, first_id: Int32, holding: UInt32) -> None:
    """Record the words that contain each letter."""
    for word in range(letters.shape[0]):
        token = first_id[word]
        bit = np.uint32(1) << np.uint32(token & 31)
        for half in range(2):
            left = letters[word, half]
            letter = 64 * half
            while left:
                if left & np.uint64(1):
                    holding[letter, token >> 5] |= bit
                left >>= np.uint64(1)
                letter += 1


@jit
def _without(holding: UInt32, every: UInt32, low: np.uint64, high: np.uint64) -> UInt32:
    """The words without letters outside of a set."""
    left = every.copy()
    for letter in range(128):
        bits = low if letter < 64 else high
        if not (bits >> np.uint64(letter & 63)) & np.uint64(1):
            for k in range(left.shape[0]):
                left[k] &= ~holding[letter, k]
    return left


@jit
def _lettered(
    byte: UInt8, depth: Int32, word: Int32, deepest: int, letter_of: Int32,
    tables: Int32, starts: Int32, num_words: int,
) -> tuple[UInt64, Int32, UInt64, Int32]:  # fmt: skip
    """The letters of the nodes and words of a trie: for each node the set of letters from its own
    on, and its letter with the most letters from there (as in `LETTER`); for each word both.

    Args:
        byte, depth, word: The trie.
        deepest: The most bytes of a word.
        letter_of: int32[256], the letter of each byte of ASCII, else `NO_LETTER`.
        tables: int32[kinds, states, 256], the machines of the kinds; the last row of each is the
            end of a character.
        starts: int32[kinds], the start state of each machine.
        num_words: The number of words.
    """
    count, kinds, last = byte.shape[0], tables.shape[0], tables.shape[1] - 1
    from_here = np.zeros((count, 2), np.uint64)
    packed = np.zeros(count, np.int32)
    of_words, lengths = np.zeros((num_words, 2), np.uint64), np.zeros(num_words, np.int32)
    # By depth: the state within a character of each kind's machine (−1 for none), whether all were
    # characters, the number of completed ones, and the node.
    inside = np.full((deepest + 1, kinds), -1, np.int32)
    within = np.zeros(deepest + 1, np.bool_)
    proper = np.ones(deepest + 1, np.bool_)
    done = np.zeros(deepest + 1, np.int32)
    path = np.zeros(deepest + 1, np.int32)
    # The letter of the character that a node is within or completes, where it is known.
    own = np.full(deepest + 1, -1, np.int32)
    for node in range(count):
        d = depth[node]
        path[d] = node
        b = byte[node]
        proper[d], within[d], done[d], own[d] = proper[d - 1], False, done[d - 1], NO_LETTER
        if proper[d] and not within[d - 1] and b < 128:
            own[d] = letter_of[b]
        elif proper[d]:
            first, ended = -1, -1
            for kind in range(kinds):
                state = inside[d - 1, kind] if within[d - 1] else starts[kind]
                inside[d, kind] = tables[kind, state, b] if state >= 0 else -1
                if inside[d, kind] == last:
                    inside[d, kind] = -1
                    ended = kind if ended < 0 else ended
                elif inside[d, kind] >= 0 and first < 0:
                    first = kind
            if ended >= 0:
                own[d] = 1 + ended
            elif first >= 0:
                within[d] = True
                own[d] = 1 + first  # Known only for a word that ends here.
            else:
                proper[d] = False
        complete = proper[d] and not within[d]
        if complete:
            done[d] += 1
        packed[node] = own[d] if complete else NO_LETTER
        k = word[node]
        if k < 0:
            continue
        # The word's letters, from the last one back, are added to the nodes of their bytes.
        length = done[d] + (0 if complete else 1)
        lengths[k] = length
        low, high = np.uint64(0), np.uint64(0)
        letter = own[d] if proper[d] else OTHER
        for up in range(d, 0, -1):
            here = path[up]
            if not proper[d]:
                letter = OTHER
            elif up < d and not within[up]:
                letter = own[up]
            if letter < 64:
                low |= np.uint64(1) << np.uint64(letter)
            else:
                high |= np.uint64(1) << np.uint64(letter - 64)
            from_here[here, 0] |= low
            from_here[here, 1] |= high
            tall = length - done[up - 1]
            if packed[here] >> 8 < tall:
                packed[here] = (packed[here] & 0xFF) | (tall << 8)
        of_words[k, 0], of_words[k, 1] = low, high
    return from_here, packed, of_words, lengths


@jit
def _side_by_side(
    byte: UInt8, depth: Int32, word: Int32, skip: Int32, first_id: Int32, letters: UInt64,
    packed: Int32, deepest: int, nodes: Int32, from_here: UInt64,
) -> None:  # fmt: skip
    """Write the nodes of a trie level by level within each node's children; the root is row 0."""
    count = byte.shape[0]
    children = np.zeros(count + 1, np.int32)
    above = np.zeros(deepest + 1, np.int32)
    before = np.zeros(count + 1, np.int32)
    for k in range(count):  # The root is number 0.
        children[above[depth[k] - 1]] += 1
        above[depth[k]] = k + 1
        before[k + 1] = before[k] + (1 if word[k] >= 0 else 0)
    following = np.zeros(deepest + 1, np.int32)
    following[0] = 1
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = children[0] << 16, 1, -1
    nodes[0, 3], nodes[0, 4], nodes[0, 5] = 0, before[count], NO_LETTER
    end = 1 + children[0]
    for k in range(count):
        place = following[depth[k] - 1]
        following[depth[k] - 1] += 1
        nodes[place, 0] = np.int32(byte[k]) + (children[k + 1] << 16)
        nodes[place, 1] = end
        nodes[place, 2] = first_id[word[k]] if word[k] >= 0 else -1
        nodes[place, 3], nodes[place, 4] = before[k], before[skip[k]]
        nodes[place, 5] = packed[k]
        from_here[place, 0], from_here[place, 1] = letters[k, 0], letters[k, 1]
        following[depth[k]] = end
        end += children[k + 1]


@memo
def _broad(trie: Trie, plain: bool) -> tuple[BroadTrie, Letters]:
    letter_of, tables, starts = _letters()
    if plain:
        letters, packed, of_words, lengths = _lettered(
            trie.byte, trie.depth, trie.word, trie.max_depth, letter_of, tables, starts,
            trie.num_words,
        )  # fmt: skip
    else:  # Nothing is a character.
        letters = np.full((len(trie.byte), 2), np.uint64(1 << OTHER))
        packed = np.full(len(trie.byte), NO_LETTER, np.int32)
        of_words = np.full((trie.num_words, 2), np.uint64(1 << OTHER))
        lengths = np.zeros(trie.num_words, np.int32)
    count = len(trie.byte)
    nodes, from_here = np.zeros((count + 1, 6), np.int32), np.zeros((count + 1, 2), np.uint64)
    _side_by_side(
        trie.byte, trie.depth, trie.word, trie.skip, trie.first_id, letters, packed,
        trie.max_depth, nodes, from_here,
    )  # fmt: skip
    words = np.stack([trie.first_id, lengths], axis=1).astype(np.int32)
    numbers = np.zeros((4, 128), np.int32)
    numbers[LETTER_OF] = letter_of[:128]
    bits = (of_words[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    numbers[HELD_BY] = bits.sum(axis=0).reshape(-1)
    numbers[LONGER] = [(lengths > most).sum() for most in range(128)]
    numbers[STARTS, :KINDS] = starts
    kind_first, kind_arcs = _arcs(tables, numbers[STARTS])
    if not plain:
        numbers[STARTS] = NO_ARC
    broad = BroadTrie(nodes, from_here, words, numbers, kind_first, kind_arcs, trie.max_depth)
    return broad, Letters(trie, of_words, lengths)


def walked(trie: Trie, plain: bool) -> Walked:
    """A vocabulary for the rows of one machine, as `explorer.automata.discovered.letters` walks it.

    Args:
        plain: Whether its words are plain bytes, so that they have letters.
    """
    broad, letters = _broad(trie, plain)
    return Walked(trie, broad, letters.taken)


@cache
def _kinds() -> tuple[Dfa, ...]:
    """The machines of `KIND_PATTERNS`."""
    return tuple(build(parse(pattern).root, Meter()) for pattern in KIND_PATTERNS)


def _letters() -> tuple[Int32, Int32, Int32]:
    """The letter of each byte; the machines of the kinds as tables of bytes; their starts."""
    letter_of = np.full(256, NO_LETTER, np.int32)
    letter_of[:128] = CONTROL
    apart = [*b"\t\n\r", *range(0x20, 0x7F)]
    letter_of[apart] = apart
    room = max(kind.num_states for kind in _kinds()) + 1
    tables = np.full((KINDS, room, 256), -1, np.int32)
    for table, kind in zip(tables, _kinds(), strict=True):
        rows = kind.table[:, kind.symbol_class]
        ends = kind.accepting[rows] & (rows != NO_ARC)
        table[: kind.num_states] = np.where(ends, room - 1, rows)
    return letter_of, tables, np.array([kind.start for kind in _kinds()], np.int32)


def _arcs(tables: Int32, starts: Int32) -> tuple[Int32, Int32]:
    """The first arc of each state of all kinds, and the arcs; shifts the starts."""
    first: list[int] = [0]
    arcs: list[tuple[int, int, int]] = []
    states = tables.shape[1] - 1
    for kind, table in enumerate(tables):
        for row in table[:-1]:
            edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
            for low, high in pairwise(edges):
                target = int(row[low])
                if target != NO_ARC:
                    ends = target == states
                    arcs.append((low, high - 1, NO_ARC if ends else kind * states + target))
            first.append(len(arcs))
        starts[kind] += kind * states
    return np.array(first, np.int32), np.array(arcs, np.int32)


class Walked:
    """A vocabulary, scratch memory for walking it, and the letters of a machine's states.

    Not thread-safe.

    Args:
        trie: The vocabulary as arrays for the kernels.
        taken: Returns the mask of the words of some letters up to a length.
    """

    def __init__(
        self, plain: WordTrie, trie: BroadTrie, taken: Callable[[int, int, int], UInt32]
    ) -> None:
        self.plain = plain
        self.trie = trie
        self._taken = taken
        self.known = np.zeros((64, KNOWN + 1), np.uint64)
        notes = np.zeros((NOTES, 3), np.int32)
        stack = np.empty((trie.deepest + 3, 7), np.int32)
        self._scratch = stack, notes, np.zeros((SETS, 2), np.uint64)
        self.arrays: WalkArrays = (*trie[:-1], *self._scratch, self.known)

    def anew(self) -> Walked:
        """The same vocabulary, for another machine."""
        return Walked(self.plain, self.trie, self._taken)

    def make_room(self, states: int) -> None:
        """Make room for the letters of a number of states."""
        if states > len(self.known):
            known = np.zeros((2 * states, KNOWN + 1), np.uint64)
            known[: len(self.known)] = self.known
            self.known = known
            self.arrays = (*self.trie[:-1], *self._scratch, known)

    def set_letters(self, state: int, words: UInt32) -> None:
        """Set the bits of all words in the letters that a state is known to read, or presumes."""
        low, high, reach, known = self.known[state].tolist()
        if known >= PRESUMES:
            low, high, reach, _ = self.known[known - PRESUMES].tolist()
        np.bitwise_or(words, self._taken(low, high, reach >> 1), out=words)

    def set_from_rows(self, machine: ByteMachine, state: int, words: UInt32) -> None:
        """Set the bits of the words that a state can read, asking the machine for whole rows."""
        how = BEGINNING
        while True:
            self.make_room(machine.num_states)
            here = machine.table, machine.symbol_class, state
            needed = walk_words(*self.arrays, *here, words, how)
            how = GOING_ON
            if needed == COMPLETE:
                return
            if needed == NEEDS_LETTERS:
                self.set_letters(state, words)
            elif needed >= 0:
                machine.expected(needed)  # Its whole row.
