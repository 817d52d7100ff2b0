"""Tokenizers that are made by hand, with all that their bytes depend on."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level(*, prefix: bool = False, extra: tuple[str, ...] = ()) -> Tokenizer:
    """All 256 bytes, a few merges, and pieces beyond them."""
    pieces = [*CHAR_OF, "Ġa", "ab", "Ġab", "<|end|>", *extra]
    merges = [("Ġ", "a"), ("a", "b"), ("Ġ", "ab")]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    return tokenizer


def llama_style(**options: Any) -> Tokenizer:
    """SentencePiece BPE as Llama's first tokenizer.json wrote it: all in the normalizer."""
    pieces = ["<unk>", "<s>", "</s>", *BYTES, "▁", "a", "b", "▁a", "ab", "▁ab", " ", "<", "0"]
    merges = [("▁", "a"), ("a", "b"), ("▁", "ab")]
    model = models.BPE(
        {piece: i for i, piece in enumerate(pieces)},
        merges,
        unk_token="<unk>",
        byte_fallback=options.get("byte_fallback", True),
        fuse_unk=True,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = options.get("decoder") or decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


def id_of(tokenizer: Tokenizer, piece: str) -> int:
    token = tokenizer.token_to_id(piece)
    assert token is not None
    return token


def spelled(vocab: Vocabulary, text: str) -> bytes:
    ids = vocab.encode(text)
    assert ids is not None
    parts = [vocab.tokens[token] for token in ids]
    assert None not in parts, (text, ids)
    return b"".join(part for part in parts if part is not None)
