"""Files and folders of tokenizers."""

from __future__ import annotations

import base64
import json
import pickle
import struct
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from explorer.errors import DamagedFile, ExplorerError, UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.configs import read_beside
from explorer.vocabulary.files import read_path
from explorer.vocabulary.readers.sentencepiece_file import read_sentencepiece
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.folders import spelled, table, write
from tests.vocabulary.models import CORPUS, trained

# Files: which format, which end of text, and what damage is named.


def small(specials: tuple[str, ...] = ("</s>",)) -> dict[str, Any]:
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(CHAR_OF)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(specials))
    return json.loads(tokenizer.to_str())


def write_of_files(folder: Path, **files: Any) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(json.dumps(content), "utf-8")
    return folder


# --- the end of text --------------------------------------------------------------------------


def test_the_argument_wins(tmp_path: Path) -> None:
    write_of_files(
        tmp_path,
        tokenizer__json=small(("</s>", "<x>")),
        generation_config__json={"eos_token_id": 256},
    )
    assert Vocabulary.from_file(tmp_path, eos_ids=[257]).eos_ids == (257,)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"generation_config__json": {"eos_token_id": 257}}, (257,)),
        ({"generation_config__json": {"eos_token_id": [257, 256]}}, (256, 257)),
        ({"tokenizer_config__json": {"eos_token": "<x>"}}, (257,)),
        ({"tokenizer_config__json": {"eos_token": {"content": "<x>"}}}, (257,)),
        ({"special_tokens_map__json": {"eos_token": "<x>"}}, (257,)),
        (
            {
                "tokenizer_config__json": {"eos_token": "<x>"},
                "generation_config__json": {"eos_token_id": 256},
            },
            (256, 257),
        ),
        ({"config__json": {"eos_token_id": 257}}, (257,)),
        (
            {"tokenizer_config__json": {"eos_token": "<x>"}, "config__json": {"eos_token_id": 256}},
            (257,),
        ),
        ({"generation_config__json": {"eos_token_id": None}}, (256,)),
        ({}, (256,)),
    ],
)
def test_where_the_end_of_text_comes_from(
    tmp_path: Path, files: dict[str, Any], expected: tuple[int, ...]
) -> None:
    write_of_files(tmp_path, tokenizer__json=small(("</s>", "<x>")), **files)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.eos_ids == expected
    assert Vocabulary.from_file(tmp_path / "tokenizer.json") == vocab
    guessed = any("taken from the name" in note for note in vocab.notes)
    assert guessed == (files in ({}, {"generation_config__json": {"eos_token_id": None}}))


def test_from_tokenizer_reads_the_generation_config_of_its_folder(tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    write_of_files(tmp_path, tokenizer__json=small(("</s>", "<x>")))
    made = PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"), eos_token="</s>"
    )
    made.save_pretrained(tmp_path)
    write_of_files(tmp_path, generation_config__json={"eos_token_id": [256, 257]})
    loaded = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert Vocabulary.from_tokenizer(loaded).eos_ids == (256, 257)
    assert Vocabulary.from_tokenizer(made).eos_ids == (256,)
    assert Vocabulary.from_file(tmp_path) == Vocabulary.from_tokenizer(loaded)


def test_no_end_of_text_says_how_to_give_it(tmp_path: Path) -> None:
    write_of_files(
        tmp_path, tokenizer__json=small(("<x>",)), tokenizer_config__json={"eos_token": "<missing>"}
    )
    with pytest.raises(VocabularyError, match="<missing>") as caught:
        Vocabulary.from_file(tmp_path)
    assert "eos_ids=" in caught.value.remedy


def test_flags_of_the_configuration(tmp_path: Path) -> None:
    declared = small()
    for token, content in enumerate(("<tool>", "word"), start=257):
        entry = {**declared["added_tokens"][0], "id": token, "content": content, "special": False}
        declared["added_tokens"].append(entry)
    write_of_files(
        tmp_path,
        tokenizer__json=declared,
        tokenizer_config__json={
            "added_tokens_decoder": {
                "257": {"content": "<tool>", "special": True},
                "258": {"content": "word", "special": False},
                "300": {"content": "<later>", "special": True},
            }
        },
    )
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.tokens[257] is None and vocab.special[257] == "<tool>"
    assert vocab.tokens[258] == b"word"
    assert len(vocab) == 301 and vocab.special[300] == "<later>" and vocab.tokens[299] is None
    ids = vocab.encode("<tool>word")
    assert ids is not None and 257 not in ids and 258 in ids


# --- formats ----------------------------------------------------------------------------------


def ranks(tokens: list[bytes]) -> bytes:
    return b"".join(base64.b64encode(t) + b" %d\n" % i for i, t in enumerate(tokens))


def test_a_rank_file_may_be_called_tokenizer_model(tmp_path: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    write_of_files(tmp_path, tokenizer__model=ranks(tokens))
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[257, 300])
    assert vocab.tokens == (*tokens, *[None] * 45)
    assert any("Not proved" in note for note in vocab.notes)


def tekken(**changes: Any) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "config": {
            "pattern": r"\S+|\s+",
            "default_vocab_size": 256 + 3,
            "default_num_special_tokens": 3,
        },
        "vocab": [
            {"rank": i, "token_bytes": base64.b64encode(t).decode(), "token_str": None}
            for i, t in enumerate([*(bytes([byte]) for byte in range(256)), b"spare"])
        ],
    }
    for path, value in changes.items():
        target: Any = declared
        *route, last = [int(key) if key.isdigit() else key for key in path.split("__")]
        for key in route:
            target = target[key]
        target[last] = value
    return declared


def test_tekken_ids_follow_the_special_ones(tmp_path: Path) -> None:
    write_of_files(tmp_path, tekken__json=tekken())
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.tokens == (None, None, None, *(bytes([byte]) for byte in range(256)))
    assert vocab.eos_ids == (2,)
    assert vocab.encode("a b") == (ord("a") + 3, ord(" ") + 3, ord("b") + 3)
    listed = [{"rank": 0, "token_str": "</s>"}, {"rank": 1, "token_str": "<pad>"}]
    write_of_files(tmp_path, tekken__json=tekken(special_tokens=listed))
    assert dict(Vocabulary.from_file(tmp_path).special) == {0: "</s>", 1: "<pad>"}


# --- SentencePiece, trained and written here --------------------------------------------------


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"byte_fallback": True, "normalization_rule_name": "identity"},
        {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
        {"treat_whitespace_as_suffix": True},
        {"user_defined_symbols": ["<tool>", "▁▁", "qu"], "control_symbols": ["<ctrl>"]},
    ],
    ids=lambda options: "+".join(options) or "plain",
)
def test_trained_sentencepiece(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    model = trained(model_type=kind, **options)
    path = tmp_path / "a.model"
    path.write_bytes(model)
    vocab = Vocabulary.from_file(path)
    oracle = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert vocab.eos_ids == (oracle.eos_id(),)
    for token, data in enumerate(vocab.tokens):
        silent = oracle.is_control(token) or oracle.is_unknown(token)
        assert (data is None) == silent, oracle.id_to_piece(token)
    for text in [*CORPUS[:4], "the  fox <tool> <ctrl> quick", " a ", "<0x20>"]:
        ids = vocab.encode(text)
        assert ids is not None
        if oracle.unk_id() in ids:
            continue
        data = b"".join(vocab.tokens[token] or b"" for token in ids)
        assert data.decode().strip() == oracle.decode(list(ids)).strip()
        assert all(vocab.tokens[token] is not None for token in ids)
    assert ("table" in " ".join(vocab.notes)) == ("normalization_rule_name" not in options)


def message(number: int, payload: bytes) -> bytes:
    size = len(payload)
    head = bytes([number << 3 | 2])
    return head + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + payload


def piece(surface: str | bytes, kind: int | None = None) -> bytes:
    raw = surface.encode() if isinstance(surface, str) else surface
    tail = b"" if kind is None else bytes([0x18, kind])
    return message(1, message(1, raw) + b"\x15" + struct.pack("<f", -1.0) + tail)


HEAD = piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3)


def test_sentencepiece_types(tmp_path: Path) -> None:
    path = tmp_path / "typed.model"
    path.write_bytes(HEAD + piece("a") + piece("▁") + piece("gone", 5) + piece("▁X", 4))
    vocab = Vocabulary.from_file(path)
    assert vocab.tokens == (None, None, None, b"a", b" ", None, b" X")
    assert dict(vocab.special) == {0: "<unk>", 1: "<s>", 2: "</s>", 5: "gone"}
    assert any("unused" in note for note in vocab.notes)


def test_sentencepiece_byte_and_literal() -> None:
    data = HEAD + piece("<0x20>") + piece("<0x20", 1) + piece("<0x41>", 6)
    # SentencePiece's library wants all 256 byte pieces, so the reader is asked without it.
    with patch.dict(sys.modules, {"sentencepiece": None}):
        reading = read_sentencepiece(data, "a file")
    assert reading.tokens[3:] == [b"<0x20>", b"<0x20", b"A"]
    assert any("Not proved" in note for note in reading.notes)


def test_sentencepiece_that_rewrites_when_decoding() -> None:
    with pytest.raises(UnsupportedTokenizer, match="denormalizer"):
        read_sentencepiece(HEAD + message(5, message(2, b"table")), "a file")


# --- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("generation_config.json", b'{"eos_token_id": "2"}'),
        ("generation_config.json", b'{"eos_token_id": [true]}'),
        ("generation_config.json", b'{"eos_token_id": -1}'),
        ("generation_config.json", b'{"eos_token_id": 1000000000}'),
        ("generation_config.json", b'{"eos_token_id": '),
        ("tokenizer_config.json", b"[]"),
        ("tokenizer_config.json", b'{"added_tokens_decoder": []}'),
        ("tokenizer_config.json", b'{"added_tokens_decoder": {"x": {"content": "a"}}}'),
        ("tokenizer_config.json", b'{"added_tokens_decoder": {"5": {}}}'),
        ("tokenizer_config.json", b'{"added_tokens_decoder": {"1000000000": {"content": "a"}}}'),
        ("special_tokens_map.json", b"\xff"),
    ],
)
def test_damage_beside_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    write_of_files(tmp_path, tokenizer__json=small())
    (tmp_path / name).write_bytes(content)
    with pytest.raises((DamagedFile, VocabularyError)):
        Vocabulary.from_file(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="There is no file"):
        Vocabulary.from_file(tmp_path / "missing.json")
    with pytest.raises(VocabularyError, match="holds no tokenizer"):
        Vocabulary.from_file(tmp_path)
    write_of_files(tmp_path, a__tiktoken=b"YQ== 0\n", b__tiktoken=b"YQ== 0\n")
    with pytest.raises(VocabularyError, match="several tokenizers"):
        Vocabulary.from_file(tmp_path)


@given(data=st.binary(max_size=60), cut=st.integers(0, 4000))
def test_any_file_gives_a_reading_or_our_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    whole = json.dumps(small()).encode()
    (folder / "tokenizer.json").write_bytes(whole[:cut] + data + whole[cut + len(data) :])
    try:
        read_path(folder)
    except ExplorerError as error:
        assert str(error)


def test_half_a_surrogate_pair_is_no_text(tmp_path: Path) -> None:
    write_of_files(tmp_path, tokenizer__json=small())
    with pytest.raises(VocabularyError, match="character 1") as caught:
        Vocabulary.from_file(tmp_path).encode("a\ud83d")
    assert caught.value.evidence["offset"] == 1


@pytest.mark.parametrize("kind", ["given", "configured"])
def test_an_end_past_the_files_is_taken_in_every_format(tmp_path: Path, kind: str) -> None:
    """A model may have more ids than its tokenizer's files; only the model's width can tell."""
    formats: dict[str, dict[str, Any]] = {
        "tokenizer.json": {"tokenizer__json": small()},
        "tiktoken": {
            "a__tiktoken": b"".join(
                b"%s %d\n" % (base64.b64encode(bytes([b])), b) for b in range(256)
            )
        },
    }
    for name, files in formats.items():
        (tmp_path / name).mkdir()
        folder = write_of_files(tmp_path / name, **files)
        if kind == "configured":
            (folder / "generation_config.json").write_text('{"eos_token_id": 999}')
        vocab = Vocabulary.from_file(folder, eos_ids=[999] if kind == "given" else None)
        assert vocab.eos_ids == (999,) and len(vocab) == 1000 and vocab.tokens[998] is None
        assert any("lies past the" in note for note in vocab.notes), vocab.notes


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
    # A configuration that names none says that they are text, which this model cannot write.
    write(tmp_path, tokenizer_config__json={"model_max_length": 9})
    with pytest.raises(UnsupportedTokenizer, match="end_of_text"):
        Vocabulary.from_file(tmp_path, [0])


def test_a_timestamp_is_as_special_as_what_is_declared(tmp_path: Path) -> None:
    names = {"7": ("<|notimestamps|>", True), "8": ("<|0.02|>", False), "9": ("word", False)}
    declared = {n: {"content": name, "special": special} for n, (name, special) in names.items()}
    write(tmp_path, tokenizer_config__json={"added_tokens_decoder": declared})
    assert [special for _, special in read_beside(tmp_path).added.values()] == [True, True, False]


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
