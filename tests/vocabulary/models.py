"""SentencePiece models for the tests: trained here once, and their parts."""

from __future__ import annotations

import io
import struct
from typing import Any

import sentencepiece

CORPUS = [
    "the quick brown fox jumps over the lazy dog",
    "pack my box with five dozen liquor jugs",
    "how vexingly quick daft zebras jump",
    "ﬁne café naïve <0x20> 12 34 汉字",
] * 20


_MODELS: dict[str, bytes] = {}


def trained(**options: Any) -> bytes:
    """A small model, as bytes; trained once for the same options."""
    if (key := repr(sorted(options.items()))) not in _MODELS:
        _MODELS[key] = _train(**options)
    return _MODELS[key]


def _train(**options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=90 + 256 * bool(options.get("byte_fallback")),
        minloglevel=2,
        hard_vocab_limit=False,
        **options,
    )
    return model.getvalue()


def table_of(model: bytes) -> bytes:
    """The table of characters in a trained model: the field 2 of the field 3."""
    spec = _field(model, 3)
    return _field(spec, 2)


def _field(data: bytes, wanted: int) -> bytes:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            _, at = _varint(data, at)
            continue
        size, at = _varint(data, at) if key & 7 == 2 else (struct.calcsize("<f"), at)
        if key >> 3 == wanted:
            return data[at : at + size]
        at += size
    raise AssertionError(wanted)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at
