"""Files that transformers makes a fast tokenizer of: the ids and texts are its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from explorer.errors import DamagedFile, UnsupportedTokenizer
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.folders import TEXTS, merged, spelled, table, write
from tests.vocabulary.models import trained

WORDS = ("the", "quick", "brown", "fox")


def merges(folder: Path, *ends: str) -> None:
    """Write byte-level pieces with their merges."""
    pieces, listed = merged(*WORDS, " the")
    write(folder, vocab__json=table(*ends, *CHAR_OF, *pieces), merges__txt=listed)


def lines(folder: Path, *_: str) -> None:
    """Write the pieces of words, one a line."""
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<pad>", "<unk>"]
    pieces = [*marks, "<mask>", "<sep>", "<cls>", "a", "##b", ".", "!", *WORDS]
    write(folder, vocab__txt="\n".join(pieces).encode())


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("GPT2Tokenizer", merges), ("Qwen2Tokenizer", merges), ("RobertaTokenizer", merges),
        ("BertTokenizer", lines), ("MPNetTokenizer", lines), ("FunnelTokenizer", lines),
    ],
)  # fmt: skip
def test_a_folder_is_read_as_its_class_reads_it(tmp_path: Path, name: str, files: Any) -> None:
    files(tmp_path, "</s>", "<|endoftext|>", "<unk>", "<s>", "<pad>", "<mask>")
    write(tmp_path, tokenizer_config__json={"tokenizer_class": name})
    vocab = Vocabulary.from_file(tmp_path, [0])
    oracle: Any = getattr(transformers, name).from_pretrained(tmp_path)
    assert len(vocab) == len(oracle)
    assert all(vocab.tokens[token] is None for token in oracle.all_special_ids)
    for text in (*TEXTS, "the quick fox", "ab zebra"):
        ids = vocab.encode(text)
        assert ids == tuple(
            oracle.encode(text, add_special_tokens=False, split_special_tokens=True)
        )
        if files is merges and name != "Qwen2Tokenizer":  # That one composes accents.
            assert spelled(vocab, ids).strip() == text.encode().strip()


def test_the_class_is_that_of_the_type_of_model(tmp_path: Path) -> None:
    merges(tmp_path, "<|endoftext|>")
    write(tmp_path, config__json={"model_type": "gpt2"})
    assert Vocabulary.from_file(tmp_path).ids_of(b" the")


def test_added_tokens_are_those_of_transformers(tmp_path: Path) -> None:
    merges(tmp_path, "</s>", "<|endoftext|>")
    settings = {
        "tokenizer_class": "GPT2Tokenizer",
        "added_tokens_decoder": {"300": {"content": "  tool", "special": False}},
    }
    write(tmp_path, tokenizer_config__json=settings)
    vocab = Vocabulary.from_file(tmp_path)
    oracle = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    assert len(vocab) == len(oracle)
    assert any("have another id in the tokenizer's own file" in note for note in vocab.notes)
    assert vocab.ids_of(b"  tool") == (oracle.convert_tokens_to_ids("  tool"),)


def test_words_alone_have_bytes_and_no_encoder(tmp_path: Path) -> None:
    lines(tmp_path)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.ids_of(b" quick") and vocab.ids_of(b"b") and vocab.encode("the") is None
    assert any("encode() is not offered" in note for note in vocab.notes)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "no configuration beside it names the class"),
        ({"tokenizer_class": "SomebodysTokenizer"}, "no tokenizer of this name"),
        ({"tokenizer_class": "T5Tokenizer"}, r"spiece\.model is missing"),
        ({"tokenizer_class": "ByT5Tokenizer"}, "it reads no files"),
        ({"tokenizer_class": "CTRLTokenizer"}, "no fast tokenizer of this class"),
        ({"tokenizer_class": "CLIPTokenizer"}, "end_of_word_suffix"),
    ],
)
def test_what_transformers_does_not_convert_is_refused(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    merges(tmp_path, "<|endoftext|>")
    write(tmp_path, tokenizer_config__json=settings)
    with pytest.raises(UnsupportedTokenizer, match=said) as caught:
        Vocabulary.from_file(tmp_path, [0])
    assert "Vocabulary.from_bytes" in caught.value.remedy


def test_without_transformers_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UnsupportedTokenizer, match="without transformers only") as caught:
        Vocabulary.from_file(tmp_path)
    assert "constraint-explorer[models]" in caught.value.remedy


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "GPT2Tokenizer"})
    write(tmp_path, vocab__json=b'{"a": 0', merges__txt=b"a b\n")
    with pytest.raises(UnsupportedTokenizer, match="transformers cannot read its files"):
        Vocabulary.from_file(tmp_path, [0])
    write(tmp_path, vocab__json=b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(DamagedFile, match="Git LFS pointer"):
        Vocabulary.from_file(tmp_path, [0])


def test_a_sentencepiece_model_of_a_class_that_renumbers_is_not_read_as_it_stands(
    tmp_path: Path,
) -> None:
    """Without protobuf transformers does not convert it; the numbers of the file would be wrong."""
    (tmp_path / "sentencepiece.bpe.model").write_bytes(trained())
    with pytest.raises(UnsupportedTokenizer, match="names a tokenizer_class"):
        Vocabulary.from_file(tmp_path)
    for files in ({"tokenizer_config__json": {"tokenizer_class": "XLMRobertaTokenizer"}},
                  {"config__json": {"model_type": "xlm-roberta"}}):  # fmt: skip
        folder = write(tmp_path / str(len(str(files))), **files)
        (folder / "sentencepiece.bpe.model").write_bytes(trained())
        with pytest.raises(UnsupportedTokenizer, match="tokenizer_class XLMRobertaTokenizer"):
            Vocabulary.from_file(folder)
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "LlamaTokenizer"})
    assert len(Vocabulary.from_file(tmp_path)) < 256


def test_a_dictionary_of_fairseq_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained())
    (tmp_path / "dict.txt").write_text("the 1\n")
    with pytest.raises(UnsupportedTokenizer, match="a model of fairseq numbers"):
        Vocabulary.from_file(tmp_path)
    assert Vocabulary.from_file(tmp_path / "tokenizer.model").eos_ids


@pytest.mark.parametrize("asked", [True, False])
def test_clean_up_is_noted_where_transformers_does_it(tmp_path: Path, asked: bool) -> None:
    lines(tmp_path)
    settings = {"tokenizer_class": "BertTokenizer", "clean_up_tokenization_spaces": asked}
    write(tmp_path, tokenizer_config__json=settings)
    notes = Vocabulary.from_file(tmp_path).notes
    assert any("clean_up_tokenization_spaces=False" in note for note in notes) == asked


# --- timestamps -------------------------------------------------------------------------------


def whisper() -> Tokenizer:
    made = Tokenizer(models.BPE(table(*CHAR_OF, "<|endoftext|>"), []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|endoftext|>", "<|notimestamps|>"])
    made.add_tokens([f"<|{n * 0.02:.2f}|>" for n in range(1501)])  # pyright: ignore[reportUnknownMemberType]
    return made


def test_timestamps_of_whisper_are_not_text(tmp_path: Path) -> None:
    made = whisper()
    vocab = Vocabulary.from_tokenizer(made)
    assert vocab.tokens[258:] == (None,) * 1501 and vocab.special[258 + 36] == "<|0.72|>"
    assert any("Whisper's tokenizer drops them" in note for note in vocab.notes)
    # What it reads as text is written as text, and transformers prints nothing for the ids.
    assert vocab.encode("<|0.72|>") == tuple(b"<|0.72|>")
    made.save(str(tmp_path / "tokenizer.json"))
    settings = {"tokenizer_class": "WhisperTokenizer"}
    write(tmp_path, tokenizer_config__json=settings)
    assert Vocabulary.from_file(tmp_path).tokens == vocab.tokens
    oracle = transformers.WhisperTokenizer.from_pretrained(tmp_path)
    assert oracle.decode([258 + 36, *b"a"]) == "a"
    # A tokenizer of another kind may write such texts.
    other = Tokenizer(models.BPE(table(*CHAR_OF, "</s>"), []))
    other.decoder = decoders.ByteLevel()
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    other.add_tokens(["<|0.72|>"])  # pyright: ignore[reportUnknownMemberType]
    assert Vocabulary.from_tokenizer(other, [256]).tokens[257] == b"<|0.72|>"
