"""Pieces and merges in two files, against the classes of the library that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.errors import UnsupportedTokenizer
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.folders import TEXTS, merged, spelled, table, write


def clip_folder(folder: Path, **files: Any) -> Path:
    pieces, merges = merged("hello", "world", "caf", end="</w>")
    single = [*CHAR_OF, *(character + "</w>" for character in CHAR_OF)]
    names = ["<|startoftext|>", "<|endoftext|>"]
    return write(folder, vocab__json=table(*single, *pieces, *names), merges__txt=merges, **files)


def test_clip_writes_a_space_where_a_word_ends(tmp_path: Path) -> None:
    from transformers import CLIPTokenizer

    clip_folder(tmp_path, tokenizer_config__json={"tokenizer_class": "CLIPTokenizer"})
    vocab = Vocabulary.from_file(tmp_path)
    oracle = CLIPTokenizer.from_pretrained(tmp_path)
    assert not any(b"</w>" in (data or b"") for data in vocab.tokens)
    assert vocab.eos_ids == (oracle.eos_token_id,)
    for text in [*TEXTS[:3], "hello world", "Café 12", "汉字 \U0001f642"]:
        ids = oracle.encode(text, add_special_tokens=False)
        assert vocab.encode(text) == tuple(ids)
        assert spelled(vocab, ids).decode().strip() == oracle.decode(ids)
    for token in range(len(vocab)):
        # One token alone, between two others: where nothing is stripped.
        printed = oracle.decode([0, token, 0])
        if "\ufffd" not in printed and vocab.tokens[token] is not None:
            assert spelled(vocab, [0, token, 0]).decode() == printed
    assert any("stands for a space" in note for note in vocab.notes)
    with pytest.raises(UnsupportedTokenizer, match="ByteLevel prints as it stands") as caught:
        Vocabulary.from_tokenizer(oracle)
    assert "vocab.json" in caught.value.remedy
    assert Vocabulary.from_file(tmp_path / "vocab.json") == vocab


def test_clip_without_a_configuration_cannot_encode(tmp_path: Path) -> None:
    clip_folder(tmp_path)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.encode("hello") is None
    assert vocab.ids_of(b"hello ")


def test_gpt_s_word_ends(tmp_path: Path) -> None:
    from transformers import OpenAIGPTTokenizer

    single = ["<unk>", *"helowrd", *(f"{character}</w>" for character in "helowrd,é")]
    joined = ["he", "hel", "hell", "hello</w>", "wo", "wor", "worl", "world</w>"]
    merges = "#version: 0.2\nh e\nhe l\nhel l\nhell o</w>\nw o\nwo r\nwor l\nworl d</w>\n"
    write(
        tmp_path,
        vocab__json=table(*single, *joined),
        merges__txt=merges.encode(),
        tokenizer_config__json={"tokenizer_class": "OpenAIGPTTokenizer"},
    )
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[0])
    oracle = OpenAIGPTTokenizer.from_pretrained(tmp_path)
    for text in ("hello world", "Hello,  world", "hold"):
        ids = oracle.encode(text, add_special_tokens=False)
        assert vocab.encode(text) == tuple(ids)
        assert spelled(vocab, ids).decode().strip() == oracle.decode(ids)
    assert vocab.ids_of("é ".encode()) and vocab.ids_of(b"hello ")


def test_a_word_end_that_is_a_piece_of_its_own(tmp_path: Path) -> None:
    """As the first lesson on byte-pair encoding has it."""
    pieces = ["<unk>", "l", "o", "w", "</w>", "lo", "low", "low</w>"]
    write(tmp_path, vocab__json=table(*pieces), merges__txt=b"l o\nlo w\nlow </w>\n")
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[0])
    assert vocab.tokens[4:] == (b" ", b"lo", b"low", b"low ")
    assert vocab.encode("low") is None and any("Not proved" in note for note in vocab.notes)


@pytest.mark.parametrize(
    ("name", "saves"),
    [
        *(
            (name, saves)
            for name in (
                "ByteLevelBPETokenizer",
                "CharBPETokenizer",
                "SentencePieceBPETokenizer",
                "BertWordPieceTokenizer",
            )
            for saves in ("model", "whole")
        ),
        # Its model alone is unigram.json, which says nothing of the rest.
        ("SentencePieceUnigramTokenizer", "whole"),
    ],
)
def test_the_library_s_own_kinds_of_tokenizers(tmp_path: Path, name: str, saves: str) -> None:
    """Read from the library's files, two or one, the tokens of a text print as in the library."""
    import tokenizers

    made = getattr(tokenizers, name)()
    options: dict[str, Any] = {"vocab_size": 380 if name[0] == "B" else 120}
    if name.endswith("UnigramTokenizer"):
        options = {"vocab_size": 40, "special_tokens": ["<unk>"], "unk_token": "<unk>"}
    made.train_from_iterator(["the quick brown fox", "jumps over the lazy dog"] * 9, **options)
    if saves == "whole":
        made.save(str(tmp_path / "tokenizer.json"))
    else:
        made.save_model(str(tmp_path))
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[0])
    for text in ("the quick fox", "over  the dog", "lazy, dog"):
        ids = [token for token in made.encode(text, add_special_tokens=False).ids if token]
        ours, theirs = spelled(vocab, ids).decode(), made.decode(ids)
        assert ours.strip() == theirs.strip()
    for token in range(1, len(vocab)):
        data = vocab.tokens[token]
        anchor = made.encode("the dog", add_special_tokens=False).ids[0]
        printed = made.decode([anchor, token, anchor])
        if data is not None and "\ufffd" not in printed:
            assert spelled(vocab, [anchor, token, anchor]).decode().strip() == printed.strip()


def test_ctrl_s_pieces_that_go_on(tmp_path: Path) -> None:
    from transformers import CTRLTokenizer

    pieces = ["<unk>", "he@@", "llo", "wor@@", "ld", "a", "h@@", "e@@", "Links"]
    merges = "#version: 0.2\nh e\nl o</w>\nl lo</w>\n"
    write(
        tmp_path,
        vocab__json=table(*pieces),
        merges__txt=merges.encode(),
        tokenizer_config__json={"tokenizer_class": "CTRLTokenizer"},
    )
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[0])
    oracle = CTRLTokenizer.from_pretrained(tmp_path)
    for ids in ([1, 2, 3, 4], [5, 8], [6, 7, 2], [4, 4]):
        assert spelled(vocab, ids).decode().strip() == oracle.decode(ids)
    assert vocab.encode("hello") is None and any("Not proved" in note for note in vocab.notes)


def test_sentencepiece_s_way_of_writing_in_two_files(tmp_path: Path) -> None:
    from tokenizers import SentencePieceBPETokenizer

    made = SentencePieceBPETokenizer()
    made.train_from_iterator(["the quick brown fox", "the lazy dog"] * 5, vocab_size=60)
    made.save_model(str(tmp_path))
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[0])
    for text in ("the quick fox", "a lazy  dog"):
        ids = made.encode(text).ids
        assert spelled(vocab, ids).decode() == f" {made.decode(ids)}"
    assert vocab.encode("the") is None


@pytest.mark.parametrize(
    "name", ["GPT2Tokenizer", "RobertaTokenizer", "Qwen2Tokenizer", "WhisperTokenizer"]
)
def test_the_class_decides_how_text_is_cut(tmp_path: Path, name: str) -> None:
    import transformers

    pieces, merges = merged("Hello", " world", "\ttab", "  ", "\n\n", "12", " The", "'ll")
    write(
        tmp_path,
        vocab__json=table(*CHAR_OF, *pieces, "<|endoftext|>", "<s>", "</s>", "<unk>"),
        merges__txt=merges,
        tokenizer_config__json={"tokenizer_class": name},
    )
    vocab = Vocabulary.from_file(tmp_path)
    oracle = getattr(transformers, name).from_pretrained(tmp_path)
    for text in TEXTS[:3]:
        ids = oracle.encode(text, add_special_tokens=False)
        assert vocab.encode(text) == tuple(ids), text
        assert spelled(vocab, ids).decode() == oracle.decode(ids)
    (tmp_path / "tokenizer_config.json").unlink()
    unknown = Vocabulary.from_file(tmp_path)
    assert unknown.tokens == vocab.tokens and unknown.encode("a") is None
    assert any("no configuration file beside it names its class" in n for n in unknown.notes)


def test_parts_of_merges_are_text(tmp_path: Path) -> None:
    """As in Whisper: its list lacks the merge that makes the piece that others start with."""
    pieces = ["Ġt", "Ġth", "Ġthe"]
    write(
        tmp_path, vocab__json=table(*CHAR_OF, *pieces, "<s>"), merges__txt="Ġt h\nĠth e\n".encode()
    )
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[259])
    assert vocab.tokens[256:] == (b" t", b" th", b" the", None)
    assert not any("No merge gives" in note and "so they are text" in note for note in vocab.notes)
