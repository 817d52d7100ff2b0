"""Ids past a file, empty tokens, decoders that are given, and words."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.folders import spelled, table, write
from tests.vocabulary.models import trained

# --- ids past the end, empty tokens, decoders -------------------------------------------------


def test_ids_past_a_sentencepiece_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained())
    width = len(Vocabulary.from_file(tmp_path))
    write(
        tmp_path,
        added_tokens__json={"<|end|>": width + 1, "▁two words": width + 4},
        special_tokens_map__json={"eos_token": "<|end|>"},
        generation_config__json={"eos_token_id": [width + 1, width + 7]},
    )
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.eos_ids == (2, width + 1, width + 7) and len(vocab) == width + 8
    assert vocab.tokens[width + 4] == b" two words"
    assert Vocabulary.from_file(tmp_path, eos_ids=[width + 20]).eos_ids == (width + 20,)


def test_a_configured_end_past_a_rank_file(tmp_path: Path) -> None:
    # As Qwen has it: the ranks in one file, and the ends of text past it in another.
    ranks = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))
    write(tmp_path, qwen__tiktoken=ranks, generation_config__json={"eos_token_id": 261})
    assert Vocabulary.from_file(tmp_path).eos_ids == (261,)


def test_an_empty_token_of_a_rank_file(tmp_path: Path) -> None:
    from tiktoken.load import load_tiktoken_bpe

    ranks = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))
    path = tmp_path / "multilingual.tiktoken"
    path.write_bytes(ranks + b"= 256\n")
    vocab = Vocabulary.from_file(path, eos_ids=[257])
    assert load_tiktoken_bpe(str(path))[b""] == 256
    assert vocab.empty_ids == {256} and vocab.tokens[255] == b"\xff"


def test_a_tokenizer_without_a_decoder_takes_one(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    made = Tokenizer(models.BPE(table(*CHAR_OF, "</s>"), []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(["</s>"])
    write(tmp_path, tokenizer__json=json.loads(made.to_str()))
    for read in (
        lambda **given: Vocabulary.from_file(tmp_path, **given),
        lambda **given: Vocabulary.from_tokenizer(made, **given),
    ):
        with pytest.raises(UnsupportedTokenizer, match="none is declared") as caught:
            read()
        assert "decoder=tokenizers.decoders.ByteLevel()" in caught.value.remedy
        vocab = read(decoder=decoders.ByteLevel())
        assert vocab.tokens[:256] == tuple(bytes([byte]) for byte in range(256))
        assert spelled(vocab, vocab.encode("é a")) == "é a".encode()
        # A decoder that contradicts the rest is refuted like a declared one.
        with pytest.raises(UnsupportedTokenizer, match="instead of"):
            read(decoder=decoders.Fuse())
        with pytest.raises(VocabularyError, match="decoder is 'ByteLevel'"):
            read(decoder="ByteLevel")
    made.decoder = decoders.ByteLevel()
    with pytest.raises(VocabularyError, match="declares the decoder ByteLevel"):
        Vocabulary.from_tokenizer(made, decoder=decoders.ByteLevel())


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cleanup", [True, False])
@pytest.mark.parametrize("kind", ["WordPiece", "WordLevel"])
def test_added_tokens_between_words_are_words(kind: str, cleanup: bool) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pieces = table("[UNK]", "[SEP]", "a", "b", ".", "!")
    if kind == "WordPiece":
        made = Tokenizer(models.WordPiece({**pieces, "##a": 6}, unk_token="[UNK]"))
        made.decoder = decoders.WordPiece(cleanup=cleanup)
    else:
        made = Tokenizer(models.WordLevel(pieces, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["[UNK]", "[SEP]"])
    made.add_tokens(["09.52", "##zz", "!!", " . x"])
    vocab = Vocabulary.from_tokenizer(made)
    for text in ("a 09.52 a", "a09.52a", "a##zz b", "a !! b.", "b . x a", "09.52 a !"):
        ids = made.encode(text, add_special_tokens=False).ids
        assert vocab.encode(text) == tuple(ids)
        # A first word prints no space; so do ours behind another one.
        printed = made.decode([2, *ids])
        assert spelled(vocab, [2, *ids]).decode() == f" {printed}"


def test_two_files_of_one_word_piece_model_agree(tmp_path: Path) -> None:
    from transformers import BertTokenizer

    lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\n.\n!\n,\n?\n'\ns\n09.52\n"
    write(tmp_path / "text", vocab__txt=lines.encode())
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    write(tmp_path / "text", tokenizer_config__json=settings)
    write(tmp_path / "text", added_tokens__json={"09.53": 15})
    made = BertTokenizer.from_pretrained(tmp_path / "text")
    made.save_pretrained(tmp_path / "saved")
    text, saved = Vocabulary.from_file(tmp_path / "text"), Vocabulary.from_file(tmp_path / "saved")
    assert text.tokens == saved.tokens
    assert text.ids_of(b".") and text.ids_of(b" '") and text.tokens[15] == b" 09.53"


def test_the_same_id_is_named_at_every_run() -> None:
    from tokenizers import Tokenizer, models

    # Sixteen pieces share the lowest id: a set would name these two in one run of 240.
    pieces = {f"piece{n:03}": n // 16 for n in range(200)}
    for _ in range(3):
        made = Tokenizer(models.WordLevel(pieces, unk_token="piece000"))
        with pytest.raises(VocabularyError, match=r"id 0 .* two pieces, 'piece000' and 'piece001'"):
            Vocabulary.from_tokenizer(made, eos_ids=[1])
