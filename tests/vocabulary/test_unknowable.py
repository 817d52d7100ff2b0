"""Components whose bytes cannot be known are refused by name; what is known is noted."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import (
    Regex,
    decoders,
    normalizers,
    pre_tokenizers,
)

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary import Vocabulary
from tests.vocabulary.tokenizers_by_hand import byte_level, llama_style

# --- what cannot be known ---------------------------------------------------------------------


class Python:
    """A component written in Python."""

    def decode_chain(self, tokens: list[str]) -> list[str]:
        return tokens

    def pre_tokenize(self, text: Any) -> None: ...

    def normalize(self, text: Any) -> None: ...


@pytest.mark.parametrize(
    ("decoder", "component"),
    [
        (None, "decoder"),
        (decoders.CTC(), "decoder.CTC"),
        (decoders.Replace(Regex("▁+"), " "), "decoder.Replace"),
        (decoders.Sequence([decoders.Fuse(), decoders.Replace("ab", "c")]), "decoder.Replace"),
        (
            decoders.Sequence([decoders.ByteFallback(), decoders.Replace("▁", " ")]),
            "decoder.Replace",
        ),
        (decoders.Strip(" ", 1, 0), "decoder.Strip"),
        (decoders.Sequence([decoders.Fuse(), decoders.ByteFallback()]), "decoder.ByteFallback"),
        (decoders.Sequence([decoders.Fuse(), decoders.ByteLevel()]), "decoder.ByteLevel"),
        (decoders.Sequence([decoders.Fuse(), decoders.Metaspace()]), "decoder.Metaspace"),
        (decoders.Sequence([decoders.WordPiece(), decoders.ByteLevel()]), "decoder.WordPiece"),
        (decoders.Decoder.custom(Python()), "decoder.custom"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_decoders_without_bytes_of_their_own(decoder: Any, component: str) -> None:
    tokenizer = byte_level()
    tokenizer.decoder = decoder
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_tokenizer(tokenizer)
    assert caught.value.component == component
    assert len(caught.value.reason) > 10


def test_components_in_python_declare_nothing() -> None:
    tokenizer = byte_level()
    tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Python())
    with pytest.raises(UnsupportedTokenizer, match=r"pre_tokenizer\.custom"):
        Vocabulary.from_tokenizer(tokenizer)
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Normalizer.custom(Python())
    with pytest.raises(UnsupportedTokenizer, match=r"normalizer\.custom"):
        Vocabulary.from_tokenizer(tokenizer)


def test_bytes_that_the_decoder_does_not_read_back() -> None:
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_tokenizer(llama_style(decoder=decoders.Metaspace()))
    assert caught.value.component == "model.BPE.byte_fallback"


def test_a_decoder_of_another_tokenizer_is_refuted() -> None:
    tokenizer = byte_level()
    tokenizer.decoder = decoders.Fuse()
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_tokenizer(tokenizer)
    assert caught.value.component == "proof"


def test_an_end_of_text_that_was_text_is_noted() -> None:
    tokenizer = byte_level()
    vocab = Vocabulary.from_tokenizer(tokenizer, eos_ids=[ord("\n")])
    assert vocab.tokens[ord("\n")] is None and vocab.special[ord("\n")] == "Ċ"
    assert any(r"b'\n'" in note for note in vocab.notes)
