"""Tokenizers in other files: GGUF, other formats, converted ones, decoders with rules."""

from __future__ import annotations

import base64
import json
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import explorer
from explorer.errors import DamagedFile, ExplorerError, UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from explorer.vocabulary.tokenizer.decoder import piece_reader
from tests.vocabulary.folders import TEXTS, merged, spelled, table, write
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


# GGUF files, written here by the specification: their vocabularies, and files that are refused.


TYPES = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}


def text(value: str, size: str = "Q") -> bytes:
    data = value.encode()
    return struct.pack(f"<{size}", len(data)) + data


def gguf(pairs: dict[str, Any], version: int = 3) -> bytes:
    size = "Q" if version > 1 else "I"
    whole = b"GGUF" + struct.pack(f"<I{size}{size}", version, 0, len(pairs))
    for name, value in pairs.items():
        whole += text(name, size)
        if isinstance(value, str):
            whole += struct.pack("<I", 8) + text(value, size)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            whole += struct.pack(f"<II{size}", 9, 8, len(value))
            whole += b"".join(text(each, size) for each in value)
        elif isinstance(value, list):
            whole += struct.pack(f"<II{size}{len(value)}i", 9, 5, len(value), *value)
        else:
            kind, form = TYPES[type(value)]
            whole += struct.pack(f"<I{form}", kind, value)
    return whole


BPE = {
    "general.architecture": "qwen3", "general.rope": 0.5, "general.some": True,
    "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": ["Ġ a", "a b"],
    "tokenizer.ggml.tokens": ["a", "Ġa", "Ċ", "é", "<|im_end|>", "<tool_call>", "[PAD6]"],
    "tokenizer.ggml.token_type": [1, 1, 1, 4, 3, 4, 5], "tokenizer.ggml.eos_token_id": 4,
    "tokenizer.chat_template": "{{ raise_exception('never run') }}",
}  # fmt: skip
PIECES = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": ["<unk>", "</s>", "<0x0A>", "▁a", "é"],
    "tokenizer.ggml.token_type": [2, 3, 6, 1, 1], "tokenizer.ggml.eos_token_id": 1,
}  # fmt: skip


def read(path: Path, data: bytes, name: str = "model.gguf") -> explorer.Vocabulary:
    (path / name).write_bytes(data)
    return explorer.Vocabulary.from_file(path / name)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_bytes_of_tokens_are_read(tmp_path: Path, version: int) -> None:
    bpe = read(tmp_path, gguf(BPE, version) + b"tensors" * 100)
    assert bpe.tokens == (b"a", b" a", b"\n", "é".encode(), None, b"<tool_call>", None)
    assert bpe.eos_ids == (4,) and bpe.special[4] == "<|im_end|>"
    pieces = read(tmp_path, gguf(PIECES, version), "sha256-blob")
    assert pieces.tokens == (None, None, b"\n", b" a", "é".encode())
    assert any("Not proved" in note for note in pieces.notes)


def test_a_folder_with_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(gguf(BPE))
    assert len(explorer.Vocabulary.from_file(tmp_path)) == 7


def test_the_same_id_is_named_at_every_run() -> None:
    from tokenizers import Tokenizer, models

    # Sixteen pieces share the lowest id: a set would name these two in one run of 240.
    pieces = {f"piece{n:03}": n // 16 for n in range(200)}
    for _ in range(3):
        made = Tokenizer(models.WordLevel(pieces, unk_token="piece000"))
        with pytest.raises(VocabularyError, match=r"id 0 .* two pieces, 'piece000' and 'piece001'"):
            Vocabulary.from_tokenizer(made, eos_ids=[1])


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (gguf(BPE)[:200], "breaks off"),
        (gguf(BPE, 9), "version"),
        (gguf({"tokenizer.ggml.model": "gpt2"}), "no tokens"),
        (gguf({**BPE, "tokenizer.ggml.token_type": [1]}), "types"),
        (gguf({**PIECES, "tokenizer.ggml.token_type": [2, 3, 6, 6, 1]}), "<0xNN>"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40), "size"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60), "size"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 77), "type 77"),
    ],
    ids=["cut", "version", "empty", "types", "byte", "pairs", "text", "kind"],
)
def test_damaged_files_are_refused(tmp_path: Path, data: bytes, named: str) -> None:
    with pytest.raises(DamagedFile, match=named) as caught:
        read(tmp_path, data)
    assert caught.value.remedy


def test_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedTokenizer, match="bert"):
        read(tmp_path, gguf({**BPE, "tokenizer.ggml.model": "bert"}))


def test_every_cut_and_flip_is_ours_or_read(tmp_path: Path) -> None:
    whole = gguf(PIECES)
    for at in range(len(whole)):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :]):
            try:
                read(tmp_path, data)
            except ExplorerError as error:
                assert error.message


# Files that transformers makes a fast tokenizer of: the ids and texts are its own.


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


def test_damaged_files_are_refused_in_converted(tmp_path: Path) -> None:
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


# --- the decoder's rules against the library's decoders ---------------------------------------

PIECES_OF_DECODER_RULES = st.text(
    st.sampled_from("ab Ġ▁é<0x2>.#'nt"), min_size=1, max_size=6
) | st.sampled_from(
    ["<0x20>", "<0xc3>", "<0xA9>", "<0x+A>", "<0x2>", "##a", " n't", "'s", " do not"]
)


@pytest.mark.parametrize(
    "decoder",
    [
        decoders.ByteLevel(),
        decoders.Metaspace(prepend_scheme="always"),
        decoders.Metaspace(prepend_scheme="never"),
        decoders.WordPiece(cleanup=True),
        decoders.WordPiece(prefix="▁", cleanup=False),
        decoders.BPEDecoder("a"),
        decoders.Sequence([decoders.Replace("ab", "é"), decoders.Fuse()]),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    ],
    ids=str,
)
@given(pieces=st.lists(PIECES_OF_DECODER_RULES, max_size=6))
def test_pieces_together_are_what_the_library_decodes(decoder: Any, pieces: list[str]) -> None:
    read = piece_reader(json.loads(decoder.__getstate__())).read
    # A guard on each side keeps the pieces away from what only happens at the ends of a text.
    ours = b"".join(read(piece) for piece in ("|", *pieces, "|"))
    theirs = decoder.decode(["|", *pieces, "|"])
    try:
        text = ours.decode()
    except UnicodeDecodeError:
        # Bytes that are no UTF-8: the library can only print a sign for them.
        assert "\ufffd" in theirs
    else:
        assert text.removeprefix(" ") == theirs
