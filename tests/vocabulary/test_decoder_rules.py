"""The decoder's rules against the library's own decoders."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import (
    decoders,
)

from explorer.vocabulary.tokenizer.decoder import piece_reader

# --- the decoder's rules against the library's decoders ---------------------------------------

PIECES = st.text(st.sampled_from("ab Ġ▁é<0x2>.#'nt"), min_size=1, max_size=6) | st.sampled_from(
    ["<0x20>", "<0xc3>", "<0xA9>", "<0x+A>", "<0x2>", "##a", " n't", "'s", " do not"]
)


@pytest.mark.parametrize(
    "decoder",
    [
        decoders.ByteLevel(),
        decoders.Metaspace(prepend_scheme="always"),
        decoders.Metaspace(prepend_scheme="never"),
        decoders.WordPiece(cleanup=True),
        decoders.WordPiece(prefix="▁", cleanup=False),
        decoders.BPEDecoder("a"),
        decoders.Sequence([decoders.Replace("ab", "é"), decoders.Fuse()]),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    ],
    ids=str,
)
@given(pieces=st.lists(PIECES, max_size=6))
def test_pieces_together_are_what_the_library_decodes(decoder: Any, pieces: list[str]) -> None:
    read = piece_reader(json.loads(decoder.__getstate__())).read
    # A guard on each side keeps the pieces away from what only happens at the ends of a text.
    ours = b"".join(read(piece) for piece in ("|", *pieces, "|"))
    theirs = decoder.decode(["|", *pieces, "|"])
    try:
        text = ours.decode()
    except UnicodeDecodeError:
        # Bytes that are no UTF-8: the library can only print a sign for them.
        assert "\ufffd" in theirs
    else:
        assert text.removeprefix(" ") == theirs
