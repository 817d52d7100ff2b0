"""The row of one state: words of plain text are taken at once, and nothing else is taken for it."""

from __future__ import annotations

import numpy as np
import pytest

import explorer
from explorer.automata.discovered.broad import KIND, MOST_PAIRS
from explorer.automata.machine import Dfa
from explorer.tokens.lazy import LazyMachine
from explorer.tokens.walks.common_words import LONGEST, broad_trie
from explorer.tokens.walks.trie import trie_of

_TEXT = r"[ !#-\[\]-~]"
_WHITE = "\x80-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"


def kind_of(machine: LazyMachine, state: int) -> int:
    """Which plain text a state was found to read, after its mask has been asked for."""
    machine.mask(state)
    return int(machine._stack[0, KIND])  # pyright: ignore[reportPrivateUsage]


def after(machine: LazyMachine | explorer.TokenDFA, text: bytes) -> int:
    """The state after some bytes, each a token of its own."""
    state = machine.start
    for byte in text:
        following = machine.step(state, machine.vocabulary.tokens.index(bytes([byte])))
        assert following is not None
        state = following
    return state


# A pattern, what is read first, and the kind of text that is read then.
STATES = {
    "a string of JSON": (r'"[^"\\\x00-\x1f]*"', b'"a', 2),
    "the first of two states": (r'" *[^\s"\\]( |[^\s"\\])*"', b'"', 2),
    "ASCII": (r'"[ -!#-\[\]-~]*"', b'"', 1),
    "all ASCII but one": (r'"[ -!#-\[\]-}]*"', b'"', 0),
    "all but one letter": (r'"[^"\\\x00-\x1fĀ]*"', b'"', 1),
    "all but one far away": ('"[^"\\\\\x00-\x1f\U0010ffff]*"', b'"', 1),
    "white space is not asked for": (f'"[^"\\\\\x00-\x1f{_WHITE}]*"', b'"', 2),
    "the most that is asked": (f'"{_TEXT}{{0,{LONGEST}}}"', b'"', 1),
    "one byte less": (f'"{_TEXT}{{0,{LONGEST - 1}}}"', b'"', 0),
    "within a character": (r'"[^"\\\x00-\x1f]*"', b'"\xc4', 0),
    "many states": (f'"{_TEXT}{{0,{MOST_PAIRS}}}"', b'"', 1),
    "too many states": (r'"([^"\\\x00-\x1f]{7})*"', b'"', 2),
    "not text": (r"[0-9]+", b"1", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_plain_text_is_recognised_and_the_masks_stay(
    name: str, tekken_131k: explorer.Vocabulary
) -> None:
    pattern, text, kind = STATES[name]
    constraint = explorer.regex(pattern)
    lazy = explorer.compile(constraint, tekken_131k, lazy=True)
    closed = explorer.compile(constraint, tekken_131k)
    state = after(lazy, text)
    assert kind_of(lazy, state) == kind
    assert np.array_equal(lazy.mask(state), closed.mask(after(closed, text)))


def test_each_kind_and_what_is_left_make_the_vocabulary(tekken_131k: explorer.Vocabulary) -> None:
    trie = trie_of(tekken_131k)
    broad = broad_trie(trie, plain=True)
    written = {token for token, data in enumerate(tekken_131k.tokens) if data is not None}
    ends = [*broad.roots[1:].tolist(), len(broad.nodes)]
    for root, end, mask in zip(broad.roots.tolist(), ends, broad.common, strict=True):
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
        common = set(np.flatnonzero(bits).tolist())
        walked = broad.nodes[root:end, 2]
        left = set(walked[walked >= 0].tolist())
        assert common | left == written  # A common word may stand above one that is left.
        for token in common:
            data = tekken_131k.tokens[token]
            assert data is not None and len(data) <= LONGEST and not set(data) & {0x22, 0x5C, 0x0A}
    assert len(broad.nodes) - ends[1] < 10_000 < 250_000 < ends[0]  # Nodes of the last and first.


def test_ids_with_the_same_bytes_are_set_too() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"ab", b'"', b"x"]
    vocab = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    lazy = explorer.compile(explorer.regex(r'"[^"\\]*"'), vocab, lazy=True)
    state = after(lazy, b'"')
    assert lazy.allowed(state)[[256, 257, 258, 259]].all()
    assert kind_of(lazy, state) == 2


def test_a_machine_of_bytes_that_are_no_characters() -> None:
    """A state that reads the first byte of a character, stays, and does not read the others."""
    read = [byte for byte in range(0x20, 0x100) if byte not in b'"\\' and not 0x80 <= byte < 0xC0]
    table = np.full((1, 2), -1, np.int32)
    table[0, 0] = 0
    classes = np.ones(256, np.int32)
    classes[read] = 0
    tokens = [*(bytes([byte]) for byte in range(256)), "ä".encode(), b"ab", b"\xc3\xc3", b"a\xc3"]
    vocab = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    constraint = explorer.regex("a")
    report = explorer.compile(constraint, vocab, lazy=True).report
    dfa = Dfa(classes, table, np.ones(1, np.bool_), 0)
    lazy = LazyMachine(constraint, vocab, dfa, report, explorer.Budget())
    allowed = lazy.allowed(lazy.start)[: len(tokens)].tolist()
    assert allowed == [set(token) <= set(read) for token in tokens]
