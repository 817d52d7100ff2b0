"""Folders: ends of text, added tokens, and files that are not what their name says."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import DamagedFile, UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.folders import spelled, table, write
from tests.vocabulary.models import trained

# --- ends of text, added tokens ---------------------------------------------------------------


def pieces(folder: Path) -> int:
    """Write a SentencePiece model; the number of its ids."""
    (folder / "tokenizer.model").write_bytes(trained())
    return len(Vocabulary.from_file(folder))


def test_added_tokens_json_is_read(tmp_path: Path) -> None:
    width = pieces(tmp_path)
    added = {"<|endoftext|>": width + 1, "  tool": width}
    settings = {"eos_token": "<|endoftext|>"}
    write(tmp_path, added_tokens__json=added, tokenizer_config__json=settings)
    vocab = Vocabulary.from_file(tmp_path)
    assert width + 1 in vocab.eos_ids and vocab.tokens[width:] == (b"  tool", None)
    # The text token is found by rules that these files do not hold.
    assert vocab.encode("a") is None
    assert any("1 added tokens" in note for note in vocab.notes)


def test_added_tokens_json_without_a_word_on_what_is_special(tmp_path: Path) -> None:
    width = pieces(tmp_path)
    added = {"<|end_of_text|>": width, "<|pad|>": width + 1, "    ": width + 2}
    write(tmp_path, added_tokens__json=added)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.tokens[width:] == (None, None, b"    ")
    assert any("2 tokens of added_tokens.json are spelled like control" in n for n in vocab.notes)


def test_a_configured_end_that_is_not_a_token_is_not_replaced_by_a_guess(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    made = Tokenizer(models.BPE(table("</s>", *CHAR_OF), []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    write(tmp_path, tokenizer__json=json.loads(made.to_str()))
    write(tmp_path, tokenizer_config__json={"eos_token": "<|endoftext|>"})
    with pytest.raises(VocabularyError, match=r"names '<\|endoftext\|>' as the end") as caught:
        Vocabulary.from_file(tmp_path)
    assert "eos_ids=" in caught.value.remedy
    assert Vocabulary.from_file(tmp_path, eos_ids=[0]).eos_ids == (0,)
    write(tmp_path, config__json={"eos_token_id": 0})
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.eos_ids == (0,) and any("is not a token here" in note for note in vocab.notes)


def test_an_added_token_that_contradicts_the_tokenizer(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    made = Tokenizer(models.BPE(table(*CHAR_OF, "</s>"), []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["</s>"])
    write(tmp_path, tokenizer__json=json.loads(made.to_str()))
    settings: dict[str, Any] = {"added_tokens_decoder": {"5": {"content": "<tool>"}}}
    write(tmp_path, tokenizer_config__json=settings)
    with pytest.raises(VocabularyError, match="give the id 5 to '<tool>'") as caught:
        Vocabulary.from_file(tmp_path)
    assert "added_tokens_decoder" in caught.value.remedy
    settings = {"added_tokens_decoder": {"5": {"content": CHAR_OF[7]}}}
    write(tmp_path, tokenizer_config__json=settings)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.tokens[5] == bytes([5])
    assert any("have another id in the tokenizer's own file" in note for note in vocab.notes)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"<x>": "5"}, "which is not a whole number"),
        ({"<x>": -5}, "which is not a whole number"),
        ({"<x>": 5, "<y>": 5}, "both '<x>' and '<y>'"),
        ([], "no JSON object"),
    ],
)
def test_a_damaged_added_tokens_json(tmp_path: Path, content: Any, said: str) -> None:
    pieces(tmp_path)
    write(tmp_path, added_tokens__json=content)
    with pytest.raises(DamagedFile, match=said):
        Vocabulary.from_file(tmp_path, eos_ids=[0])


# --- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt"])
def test_a_git_lfs_pointer_is_named(tmp_path: Path, name: str) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    (tmp_path / name).write_bytes(pointer)
    with pytest.raises(DamagedFile, match=f"{name} is a Git LFS pointer") as caught:
        Vocabulary.from_file(tmp_path)
    assert "git lfs pull" in caught.value.remedy


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (b"\n<!DOCTYPE html><html>", "web page"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"GGUF\x03", "GGUF"),
        (b"# xet version 0", "Xet pointer"),
    ],
)
def test_what_stands_in_for_a_file_is_named(tmp_path: Path, start: bytes, said: str) -> None:
    (tmp_path / "tokenizer.model").write_bytes(start + b"rest")
    with pytest.raises(DamagedFile, match=said):
        Vocabulary.from_file(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"version": "bpe-1", "merges": [[116, 101]]}, "it has the fields 'version', 'merges'"),
        ({"stoi": {"a": 0}, "itos": {"0": "a"}}, "it has the fields 'stoi', 'itos'"),
        ([1, 2], "neither a tokenizer.json"),
    ],
)
def test_homemade_files_are_named(tmp_path: Path, content: Any, said: str) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(UnsupportedTokenizer, match=said) as caught:
        Vocabulary.from_file(tmp_path)
    assert caught.value.remedy


def test_pickles_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(pickle.dumps({"a": 0}))
    with pytest.raises(DamagedFile, match="is a Python pickle"):
        Vocabulary.from_file(tmp_path)


@pytest.mark.parametrize("decoder", ["none", "BPEDecoder"])
def test_whole_words_cut_into_pieces_without_a_mark(tmp_path: Path, decoder: str) -> None:
    """The first example of the library's quick tour, as it lies in many repositories."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(
        ["the quick brown fox"] * 3, trainers.BpeTrainer(special_tokens=["[UNK]", "[SEP]"])
    )
    given: dict[str, Any] = {}
    if decoder == "none":
        with pytest.raises(UnsupportedTokenizer, match="none is declared") as caught:
            Vocabulary.from_tokenizer(made)
        assert "tokenizers.decoders.Fuse()" in caught.value.remedy
        given = {"decoder": decoders.Fuse()}
    else:
        made.decoder = decoders.BPEDecoder()
    vocab = Vocabulary.from_tokenizer(made, **given)
    ids = vocab.encode("the quick fox")
    assert ids is not None and spelled(vocab, ids) == b"thequickfox"
    if decoder != "none":
        assert made.decode(list(ids)) == "thequickfox"
        assert any("which no piece has" in note for note in vocab.notes)
