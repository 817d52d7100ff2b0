"""The texts that tokens can spell, against trying every way to cut the bytes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.budget import Meter
from explorer.tokens.walks.spelling import fewest_tokens, longest_spelled, tokens_at
from explorer.tokens.walks.trie import trie_of

_letters = st.binary(max_size=7).map(lambda data: bytes(b"ab\xc3"[byte % 3] for byte in data))


def cuts(data: bytes) -> list[tuple[bytes, ...]]:
    """Every way to cut some bytes into pieces that are not empty."""
    found: list[tuple[bytes, ...]] = []
    for bits in range(2 ** max(len(data) - 1, 0)):
        inner = [k for k in range(1, len(data)) if bits >> (k - 1) & 1]
        places = [0, *inner, len(data)] if data else [0]
        found.append(tuple(data[i:j] for i, j in pairwise(places)))
    return found


@given(st.lists(_letters.filter(bool), min_size=1, max_size=7), _letters, st.booleans())
def test_every_way_to_cut_is_tried(tokens: list[bytes], data: bytes, with_ends: bool) -> None:
    vocabulary = explorer.Vocabulary.from_bytes([*tokens, None], eos_ids=[len(tokens)])
    # Marks of the ends of tokens are words of the trie, and no bytes of a text.
    over_ends = explorer.regex("(?P<TEXT_TOKEN>)").for_tokens(Meter())
    trie = trie_of(vocabulary, over_ends if with_ends else None)
    ways = [way for way in cuts(data) if all(piece in tokens for piece in way)]
    # Fewest pieces; of those the longest first piece, then the longest second one, and so on.
    best = min(ways, key=lambda way: (len(way), [-len(piece) for piece in way]), default=None)
    wanted = None if best is None else tuple(tokens.index(piece) for piece in best)
    assert fewest_tokens(trie, data) == wanted
    spelled = [
        end
        for end in range(len(data) + 1)
        if any(all(piece in tokens for piece in way) for way in cuts(data[:end]))
    ]
    assert longest_spelled(trie, data) == max(spelled)
    for begin in range(len(data)):
        here = [
            (end, tokens.index(data[begin:end]))
            for end in range(begin + 1, len(data) + 1)
            if data[begin:end] in tokens
        ]
        assert tokens_at(trie, data, begin) == here
