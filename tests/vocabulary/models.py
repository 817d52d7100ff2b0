"""SentencePiece models for the tests: trained here once, and their parts."""

from __future__ import annotations

import io
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
