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

# --- ends of text, added tokens ---------------------------------------------------------------


def test_added_tokens_json_is_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        vocab__json=table(*CHAR_OF, "ab"),
        merges__txt=b"a b\n",
        added_tokens__json={"<|endoftext|>": 300, "  tool": 299},
        tokenizer_config__json={"eos_token": "<|endoftext|>", "tokenizer_class": "GPT2Tokenizer"},
    )
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.eos_ids == (300,) and vocab.tokens[299:] == (b"  tool", None)
    # The text token is found by rules that these files do not hold.
    assert vocab.encode("a") is None
    assert any("1 added tokens" in note for note in vocab.notes)


def test_added_tokens_json_without_a_word_on_what_is_special(tmp_path: Path) -> None:
    added = {"<|end_of_text|>": 257, "<|pad|>": 258, "    ": 259}
    write(tmp_path, vocab__json=table(*CHAR_OF), merges__txt=b"", added_tokens__json=added)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.tokens[256:] == (None, None, None, b"    ") and vocab.eos_ids == (257,)
    assert any("2 tokens of added_tokens.json are spelled like control" in n for n in vocab.notes)


def test_a_configured_end_that_is_not_a_token_is_not_replaced_by_a_guess(tmp_path: Path) -> None:
    files = {"vocab__json": table("</s>", *CHAR_OF), "merges__txt": b""}
    write(tmp_path, **files, tokenizer_config__json={"eos_token": "<|endoftext|>"})
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
    write(tmp_path, vocab__json=table(*CHAR_OF), merges__txt=b"", added_tokens__json=content)
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


def test_a_plain_table_is_not_told_to_have_merges(tmp_path: Path) -> None:
    write(tmp_path, tokenizer__json=table("a", "b", "config", "vocab"))
    with pytest.raises(UnsupportedTokenizer, match="a plain table of pieces and ids") as caught:
        Vocabulary.from_file(tmp_path)
    assert "merges" not in str(caught.value) and "from_bytes" in caught.value.remedy
    (tmp_path / "tokenizer.json").rename(tmp_path / "vocab.json")
    with pytest.raises(UnsupportedTokenizer, match="alone it does not say") as caught:
        Vocabulary.from_file(tmp_path)
    assert "If it is half of a byte-pair encoding" in caught.value.remedy


KERAS = {"class_name": "Tokenizer", "config": {"num_words": 3, "word_index": "{}"}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (KERAS, "a tokenizer of Keras"),
        (json.dumps(KERAS), "a tokenizer of Keras"),
        ({"version": "bpe-1", "merges": [[116, 101]]}, "it has the fields 'version', 'merges'"),
        ({"0": "a", "1": "b"}, "a piece for each id"),
        ({"stoi": {"a": 0}, "itos": {"0": "a"}}, "it has the fields 'stoi', 'itos'"),
        ([1, 2], "neither a tokenizer.json"),
    ],
)
@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json"])
def test_homemade_files_are_named(tmp_path: Path, name: str, content: Any, said: str) -> None:
    (tmp_path / name).write_text(json.dumps(content), "utf-8")
    with pytest.raises(UnsupportedTokenizer, match=said) as caught:
        Vocabulary.from_file(tmp_path)
    assert caught.value.remedy


def test_pickles_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(pickle.dumps({"a": 0}))
    with pytest.raises(DamagedFile, match="is a Python pickle"):
        Vocabulary.from_file(tmp_path)


def test_pieces_without_any_space_are_refused(tmp_path: Path) -> None:
    """As the library saves a model behind Whitespace: the spaces between words are lost."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(
        ["the quick brown fox"] * 3, trainers.BpeTrainer(special_tokens=["[UNK]", "[SEP]"])
    )
    made.model.save(str(tmp_path))
    with pytest.raises(UnsupportedTokenizer, match="writes a space") as caught:
        Vocabulary.from_file(tmp_path)
    assert "tokenizer_class" in caught.value.remedy
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "GPT2Tokenizer"})
    assert Vocabulary.from_file(tmp_path).ids_of(b"quick")


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


def test_pieces_named_config_and_vocab_are_no_tekken_file(tmp_path: Path) -> None:
    merges = b"c o\nco n\ncon f\nconf i\nconfi g\nv o\nvo c\nvoc a\nvoca b\n"
    joined = ["co", "con", "conf", "confi", "config", "vo", "voc", "voca", "vocab"]
    write(tmp_path, vocab__json=table(*CHAR_OF, *joined, "</s>"), merges__txt=merges)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.ids_of(b"config") and vocab.ids_of(b"vocab")


def test_ids_without_text_are_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path, vocab__txt=b"[UNK]\n[SEP]\n[PAD]\n[CLS]\n[MASK]\n")
    with pytest.raises(VocabularyError, match="None of the 5 ids"):
        Vocabulary.from_file(tmp_path)
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\n[SEP]\n[PAD]\n[CLS]\na\n")
    notes = Vocabulary.from_file(tmp_path).notes
    assert "Only 1 of the 5 ids write text." in notes


MERGES = b"#version: 0.2\n[ [\n[ ]\nt h\nth e\n"


@pytest.mark.parametrize("name", ["roberta-merges.txt", "merges.txt"])
def test_merges_under_a_model_s_name_are_merges(tmp_path: Path, name: str) -> None:
    """As the library saves a model under a name: ``name-vocab.json`` and ``name-merges.txt``."""
    table_name = name.replace("merges.txt", "vocab.json")
    (tmp_path / name).write_bytes(MERGES)
    with pytest.raises(VocabularyError, match=f"{name} holds merges only, and {table_name} is"):
        Vocabulary.from_file(tmp_path / name)
    ids = table(*CHAR_OF, "[[", "[]", "th", "the", "Ġ", "<|endoftext|>")
    (tmp_path / table_name).write_text(json.dumps(ids), "utf-8")
    vocab = Vocabulary.from_file(tmp_path / name)
    assert vocab.ids_of(b"the") == (ids["the"],)
    assert Vocabulary.from_file(tmp_path / table_name) == vocab
    assert Vocabulary.from_file(tmp_path) == vocab


@pytest.mark.parametrize("content", [MERGES, b"t h\nth e\n[ [\na b\na b\n"])
def test_merges_under_another_name_are_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bpe.txt").write_bytes(content)
    with pytest.raises(UnsupportedTokenizer, match=r"bpe\.txt: its lines are merges") as caught:
        Vocabulary.from_file(tmp_path / "bpe.txt")
    assert "vocab.json" in caught.value.remedy


@pytest.mark.parametrize("name", ["bpe_simple_vocab_16e6.txt.gz", "bpe_simple_vocab_16e6.txt"])
def test_the_merges_that_clip_was_published_with(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b\x08rest")
    with pytest.raises(UnsupportedTokenizer, match="merges that CLIP was published") as caught:
        Vocabulary.from_file(tmp_path / name)
    assert "gunzip" not in str(caught.value) and "vocab.json with merges.txt" in str(caught.value)


def test_the_list_of_pieces_beside_a_sentencepiece_model(tmp_path: Path) -> None:
    (tmp_path / "spm.vocab").write_text("<unk>\t0\n▁the\t-3.2\n", "utf-8")
    for path in (tmp_path, tmp_path / "spm.vocab"):
        with pytest.raises(UnsupportedTokenizer, match="lists the pieces of a Sent") as caught:
            Vocabulary.from_file(path)
        assert "Give spm.model" in caught.value.remedy


@pytest.mark.parametrize(
    "files",
    [
        {"tokenizer_config__json": {"tokenizer_class": "Wav2Vec2CTCTokenizer"}},
        {"config__json": {"model_type": "wav2vec2"}},
    ],
)
@pytest.mark.parametrize("name", ["vocab.json", ""])
def test_letters_that_a_decoder_merges_are_refused(
    tmp_path: Path, files: dict[str, Any], name: str
) -> None:
    write(tmp_path, vocab__json=table("<pad>", "<s>", "</s>", "<unk>", "|", "e", "t"), **files)
    with pytest.raises(UnsupportedTokenizer, match="letters that are repeated") as caught:
        Vocabulary.from_file(tmp_path / name)
    assert "merges.txt" not in str(caught.value)


def test_a_class_that_reads_no_files_is_named(tmp_path: Path) -> None:
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "ByT5Tokenizer"})
    with pytest.raises(UnsupportedTokenizer, match=r"ByT5Tokenizer: .* reads no files"):
        Vocabulary.from_file(tmp_path)


def test_an_unknown_token_of_another_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("<s>\n</s>\n<unk>\nthe\n##re\n", "utf-8")
    with pytest.raises(UnsupportedTokenizer, match=r"no piece '\[UNK\]'.* a piece '<unk>'") as e:
        Vocabulary.from_file(tmp_path)
    assert "not a WordPiece" not in str(e.value) and '{"unk_token": "<unk>"}' in e.value.remedy
    write(tmp_path, tokenizer_config__json={"unk_token": "<unk>", "eos_token": "</s>"})
    assert Vocabulary.from_file(tmp_path).ids_of(b"re") == (4,)
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "vocab.txt").write_text("<s>\n</s>\nthe\n##re\n", "utf-8")
    with pytest.raises(UnsupportedTokenizer) as e:
        Vocabulary.from_file(tmp_path)
    assert "not a WordPiece" not in str(e.value) and "unk_token" in e.value.remedy
