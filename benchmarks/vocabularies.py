"""Vocabularies of real size, from the tokenizers that `mistral-common` ships as package data."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Final

import mistral_common

from benchmarks.engines import Tokens
from explorer import Vocabulary

DATA: Final = Path(mistral_common.__file__).parent / "data"
SENTENCEPIECE: Final = DATA / "tokenizer.model.v1"
TEKKEN: Final = DATA / "tekken_240911.json"


@cache
def sentencepiece_32k() -> Vocabulary:
    """Mistral's first tokenizer: SentencePiece BPE with byte fallback, 32,000 ids."""
    return Vocabulary.from_file(SENTENCEPIECE)


@cache
def tekken_131k() -> Vocabulary:
    """Mistral's Tekken: byte-level BPE, 131,072 ids."""
    return Vocabulary.from_file(TEKKEN)


@cache
def resized(size: int) -> Vocabulary:
    """Tekken made smaller or larger.

    Smaller: the 256 bytes and a random sample of the other tokens. Larger: further tokens, each two
    of Tekken's shorter ones joined, so that lengths and scripts stay those of real text.

    Args:
        size: How many ids the vocabulary has, EOS included.
    """
    texts = [data for data in tekken_131k().tokens if data is not None]
    single = [data for data in texts if len(data) == 1]
    longer = [data for data in texts if len(data) > 1]
    draw = random.Random(size)
    if size - 1 <= len(texts):
        chosen = single + draw.sample(longer, size - 1 - len(single))
    else:
        known = set(texts)
        short = [data for data in longer if len(data) <= 6]
        chosen = list(texts)
        while len(chosen) < size - 1:
            joined = draw.choice(short) + draw.choice(short)
            if joined not in known:
                known.add(joined)
                chosen.append(joined)
    return Vocabulary.from_bytes([*chosen, None], eos_ids=[size - 1])


def plain(vocabulary: Vocabulary) -> Tokens:
    """A vocabulary as the plain data that every engine is made from."""
    return Tokens(vocabulary.tokens, min(vocabulary.eos_ids))
