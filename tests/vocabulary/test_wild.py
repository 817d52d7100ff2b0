"""Tokenizers as they lie about in public repositories, against the libraries that read them.

Each folder is built here, small but in every respect like the real one; the oracle is the library
that the real one is for.
"""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import DamagedFile, UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.byte_alphabet import CHAR_OF
from tests.vocabulary.models import CORPUS, trained


def write(folder: Path, **files: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return folder


def table(*pieces: str) -> dict[str, int]:
    return {piece: token for token, piece in enumerate(dict.fromkeys(pieces))}


def spelled(vocab: Vocabulary, ids: Any) -> bytes:
    return b"".join(vocab.tokens[token] or b"" for token in ids)


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


# --- pieces and merges ------------------------------------------------------------------------

TEXTS = [
    "Hello, world! The quick brown fox",
    "\ttab  two   spaces\n\n  indented\r\n",
    "it's I'll 1234 3.14 e\u0301 é ẞ STRASSE",
    "汉字 \U0001f642 <|endoftext|> </w> @@ ▁",
]


def merged(*words: str, end: str = "") -> tuple[list[str], bytes]:
    """The pieces of words in GPT-2's alphabet, joined from the left, and their merges."""
    pieces: list[str] = []
    merges: list[str] = []
    for word in words:
        parts = [CHAR_OF[byte] for byte in word.encode()]
        parts[-1] += end
        for place in range(1, len(parts)):
            left, right = "".join(parts[:place]), parts[place]
            if left + right not in pieces:
                merges.append(f"{left} {right}")
                pieces.append(left + right)
    return pieces, ("#version: 0.2\n" + "\n".join(merges) + "\n").encode()


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


@pytest.mark.parametrize("saves", ["model", "whole"])
@pytest.mark.parametrize(
    "name",
    [
        "ByteLevelBPETokenizer",
        "CharBPETokenizer",
        "SentencePieceBPETokenizer",
        "SentencePieceUnigramTokenizer",
        "BertWordPieceTokenizer",
    ],
)
def test_the_library_s_own_kinds_of_tokenizers(tmp_path: Path, name: str, saves: str) -> None:
    """What the library writes, as two files and as one, prints as the library prints it."""
    import tokenizers

    made = getattr(tokenizers, name)()
    options: dict[str, Any] = {"vocab_size": 380 if name[0] == "B" else 120}
    if name.endswith("UnigramTokenizer"):
        options = {"vocab_size": 40, "special_tokens": ["<unk>"], "unk_token": "<unk>"}
    made.train_from_iterator(["the quick brown fox", "jumps over the lazy dog"] * 9, **options)
    if saves == "whole":
        made.save(str(tmp_path / "tokenizer.json"))
    elif name.endswith("UnigramTokenizer"):
        pytest.skip("its model alone is unigram.json, which says nothing of the rest")
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


def test_merges_in_another_format(tmp_path: Path) -> None:
    write(tmp_path, vocab__json=table(*CHAR_OF), merges__txt=b'[\n  {"pair": [48, 48]}\n]\n')
    with pytest.raises(DamagedFile, match="line 1 of the merges, '\\['") as caught:
        Vocabulary.from_file(tmp_path)
    assert "one merge a line" in caught.value.remedy


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


def test_characters_without_a_mark_for_spaces_are_refused(tmp_path: Path) -> None:
    write(tmp_path, vocab__json=table("汉", "字", "汉字"), merges__txt="汉 字\n".encode())
    with pytest.raises(UnsupportedTokenizer, match="no mark for spaces") as caught:
        Vocabulary.from_file(tmp_path, eos_ids=[0])
    assert "from_bytes" in caught.value.remedy and "decoder" not in str(caught.value)


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
    assert not any("no merge gives" in note and "text: the" in note for note in vocab.notes)


# --- pieces that the model numbers otherwise --------------------------------------------------


def m2m_folder(folder: Path, name: str, **files: Any) -> tuple[Path, dict[str, int]]:
    import sentencepiece

    model = trained(model_type="bpe")
    oracle = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [oracle.id_to_piece(token) for token in range(3, oracle.vocab_size())]
    ids = table("<s>", "<pad>", "</s>", "<unk>", *sorted(pieces)[:-2], "madeup")
    write(folder, vocab__json=ids, **files)
    for file in {"MarianTokenizer": ("source.spm", "target.spm")}.get(
        name, ("sentencepiece.bpe.model",)
    ):
        (folder / file).write_bytes(model)
    return folder, ids


@pytest.mark.filterwarnings("ignore:Recommended")  # Marian's, for a library that it can do without
@pytest.mark.parametrize("name", ["M2M100Tokenizer", "MarianTokenizer", "Speech2TextTokenizer"])
def test_a_table_numbers_the_pieces(tmp_path: Path, name: str) -> None:
    import transformers

    settings = {"tokenizer_class": name, "eos_token": "</s>"}
    folder, ids = m2m_folder(tmp_path, name, tokenizer_config__json=settings)
    vocab = Vocabulary.from_file(folder)
    oracle = getattr(transformers, name).from_pretrained(folder)
    assert vocab.eos_ids == (2,)
    for text in CORPUS[:4]:
        found = oracle.encode(text, add_special_tokens=False)[: -1 if name[:3] == "Mar" else None]
        found = [token for token in found if token < len(vocab) and vocab.tokens[token]]
        assert spelled(vocab, found).decode().strip() == oracle.decode(found).strip()
    for piece, token in ids.items():
        assert oracle.convert_ids_to_tokens(token) == piece
        if vocab.tokens[token] is not None:
            assert vocab.tokens[token] == piece.replace("▁", " ").encode()
    assert vocab.tokens[:4] == (None,) * 4
    encodes = name == "M2M100Tokenizer"
    assert (vocab.encode("the fox") is not None) == encodes
    if encodes:
        expected = oracle.encode("the quick fox", add_special_tokens=False)
        assert list(vocab.encode("the quick fox") or ()) == [t for t in expected if t < len(vocab)]
        with pytest.raises(VocabularyError, match="from_file"):
            Vocabulary.from_tokenizer(oracle)
    # Each file of the folder is the same trap, and gives the same vocabulary.
    for path in (folder / "vocab.json", *folder.glob("*.model"), *folder.glob("*.spm")):
        assert Vocabulary.from_file(path) == vocab
    (folder / "vocab.json").unlink()
    with pytest.raises(VocabularyError, match=r"vocab\.json is missing"):
        Vocabulary.from_file(folder)


def test_a_table_beside_a_sentencepiece_file_without_configuration(tmp_path: Path) -> None:
    folder, _ = m2m_folder(tmp_path, "M2M100Tokenizer", config__json={"model_type": "m2m_100"})
    known = Vocabulary.from_file(folder)
    (folder / "config.json").unlink()
    vocab = Vocabulary.from_file(folder)
    assert vocab == known and vocab.encode("the") is None


FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")


@pytest.mark.parametrize(
    ("name", "by", "first"),
    [
        ("XLMRobertaTokenizer", 1, FAIRSEQ),
        ("MBartTokenizer", 1, FAIRSEQ),
        ("NllbTokenizer", 1, FAIRSEQ),
        ("XGLMTokenizerFast", 1, FAIRSEQ),
        ("CamembertTokenizer", 4, ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>")),
        ("PegasusTokenizer", 103, ("<pad>", "</s>", "<mask_1>", "<mask_2>", "<unk_2>")),
    ],
)
def test_pieces_that_move_up(tmp_path: Path, name: str, by: int, first: tuple[str, ...]) -> None:
    model = trained()
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model)
    write(tmp_path, tokenizer_config__json={"tokenizer_class": name})
    vocab = Vocabulary.from_file(tmp_path)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "tokenizer.model").write_bytes(model)
    plain = Vocabulary.from_file(tmp_path / "plain")
    assert vocab.tokens[3 + by :] == plain.tokens[3:]
    assert all(data is None for data in vocab.tokens[: 3 + by])
    assert tuple(vocab.special[token] for token in range(len(first))) == first
    assert vocab.special[vocab.eos_ids[0]] == "</s>"
    assert vocab.encode("the fox") == tuple(t + by for t in plain.encode("the fox") or ())
    assert any(f"{by} more than the numbers in the file" in note for note in vocab.notes)


def test_what_moves_up_against_transformers(tmp_path: Path) -> None:
    from transformers import PLBartTokenizer

    (tmp_path / "sentencepiece.bpe.model").write_bytes(trained())
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "PLBartTokenizer"})
    vocab = Vocabulary.from_file(tmp_path)
    oracle = PLBartTokenizer.from_pretrained(tmp_path)
    for token in range(len(vocab) - 1):
        piece = oracle.convert_ids_to_tokens(token)
        data = vocab.tokens[token]
        assert data is None or data == piece.replace("▁", " ").encode(), token
    for text in CORPUS[:3]:
        ids = oracle.encode(text, add_special_tokens=False)
        assert vocab.encode(text) == tuple(ids)
        assert spelled(vocab, ids).decode() == f" {oracle.decode(ids)}"
    assert vocab.eos_ids == (oracle.eos_token_id,)


def test_a_sentencepiece_file_of_which_nothing_says_how_it_is_numbered(tmp_path: Path) -> None:
    path = tmp_path / "sentencepiece.bpe.model"
    path.write_bytes(trained())
    with pytest.raises(UnsupportedTokenizer, match="names a tokenizer_class") as caught:
        Vocabulary.from_file(tmp_path)
    assert "tokenizer.model" in caught.value.remedy
    # The two remedies work.
    write(tmp_path, config__json={"model_type": "xlm-roberta"})
    assert Vocabulary.from_file(tmp_path).tokens[:4] == (None,) * 4
    (tmp_path / "config.json").unlink()
    path.rename(tmp_path / "tokenizer.model")
    assert Vocabulary.from_file(tmp_path).tokens[3] is not None


def test_barthez_is_numbered_as_its_file(tmp_path: Path) -> None:
    # Its file begins as its model does, so nothing moves; with the class or without.
    model = trained(bos_id=0, pad_id=1, eos_id=2, unk_id=3)
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model)
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.tokens[:4] == (None,) * 4 and vocab.tokens[4] is not None
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "BarthezTokenizer"})
    assert Vocabulary.from_file(tmp_path) == vocab


@pytest.mark.parametrize("name", ["BartphoTokenizer", "CpmTokenizer"])
def test_classes_that_number_by_rules_of_their_own_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained())
    write(tmp_path, tokenizer_config__json={"tokenizer_class": name})
    with pytest.raises(UnsupportedTokenizer, match=f"tokenizer_class {name}"):
        Vocabulary.from_file(tmp_path)


def test_a_class_of_the_model_s_own_is_noted(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained())
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "SomebodysTokenizer"})
    vocab = Vocabulary.from_file(tmp_path)
    assert any("SomebodysTokenizer, which is not known here" in note for note in vocab.notes)
    assert vocab.encode("a") is None
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "LlamaTokenizer"})
    assert Vocabulary.from_file(tmp_path).encode("the") is not None
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "XLNetTokenizerFast"})
    assert Vocabulary.from_file(tmp_path).encode("the") is None


def test_text_that_is_printed_in_capitals_is_refused(tmp_path: Path) -> None:
    settings = {"tokenizer_class": "Speech2TextTokenizer", "do_upper_case": True}
    folder, _ = m2m_folder(tmp_path, "Speech2TextTokenizer", tokenizer_config__json=settings)
    with pytest.raises(UnsupportedTokenizer, match="do_upper_case: all text is printed"):
        Vocabulary.from_file(folder)


def test_words_joined_by_rules_for_punctuation_are_refused(tmp_path: Path) -> None:
    pieces, merges = merged("hello", end="</w>")
    settings = {"tokenizer_class": "BioGptTokenizer"}
    write(tmp_path, vocab__json=table(*pieces), merges__txt=merges, tokenizer_config__json=settings)
    with pytest.raises(UnsupportedTokenizer, match="rules for punctuation"):
        Vocabulary.from_file(tmp_path)


def test_clean_up_after_decoding_is_noted(tmp_path: Path) -> None:
    settings = {"clean_up_tokenization_spaces": True}
    write(tmp_path, vocab__json=table(*CHAR_OF, "</s>"), merges__txt=b"")
    write(tmp_path, tokenizer_config__json=settings)
    notes = Vocabulary.from_file(tmp_path).notes
    assert any("clean_up_tokenization_spaces=False" in note for note in notes)


def test_chatglm_s_white_space_and_images(tmp_path: Path) -> None:
    model = trained(user_defined_symbols=["<n>", "<|tab|>", "<|blank_2|>", "<|blank_80|>"])
    (tmp_path / "ice_text.model").write_bytes(model)
    with pytest.raises(UnsupportedTokenizer, match="num_image_tokens"):
        Vocabulary.from_file(tmp_path)
    settings = {"tokenizer_class": "ChatGLMTokenizer", "num_image_tokens": 0}
    write(tmp_path, tokenizer_config__json=settings, config__json={"eos_token_id": 130005})
    vocab = Vocabulary.from_file(tmp_path)
    assert 130005 in vocab.eos_ids and len(vocab) == 130006
    assert vocab.tokens[3:7] == (b"\n", b"\t", b"  ", b" " * 80)
    write(tmp_path, tokenizer_config__json={**settings, "num_image_tokens": 20})
    assert Vocabulary.from_file(tmp_path).tokens[23:27] == vocab.tokens[3:7]


def test_a_dictionary_of_fairseq_is_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path, encoder__json=table(*CHAR_OF, "<|endoftext|>"), vocab__bpe=b"#version: 0.2\n")
    write(tmp_path, dict__txt=b"262 850314\n13 800000\n")
    with pytest.raises(UnsupportedTokenizer, match=r"dict\.txt: a model of fairseq") as caught:
        Vocabulary.from_file(tmp_path)
    assert "give the path of that file" in caught.value.remedy
    assert Vocabulary.from_file(tmp_path / "encoder.json").eos_ids == (256,)


# --- ids past the end, empty tokens, RWKV, decoders -------------------------------------------


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


def rwkv_lines() -> list[str]:
    tokens: list[str | bytes] = [bytes([byte]) if byte > 127 else chr(byte) for byte in range(256)]
    tokens += ["ab", "abc", "'", '"', "\\n", "é", b"\xe4\xb8", "中国", " the", "\n\n"]
    unique = dict.fromkeys(t.encode() if isinstance(t, str) else t for t in tokens)
    lines: list[str] = []
    for token, data in enumerate(unique, start=1):
        try:
            shown = repr(data.decode())
        except UnicodeDecodeError:
            shown = repr(data)
        lines.append(f"{token} {shown} {len(data)}")
    return lines


def test_rwkv_s_world_file(tmp_path: Path) -> None:
    path = tmp_path / "rwkv_vocab_v20230424.txt"
    path.write_text("\n".join(rwkv_lines()) + "\n", "utf-8")
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.eos_ids == (0,) and vocab.tokens[0] is None
    assert vocab.tokens[1 + 65] == b"A" and vocab.tokens[1 + 200] == bytes([200])
    assert vocab.ids_of("中国".encode()) and vocab.ids_of(b"\xe4\xb8") and vocab.ids_of(b"\\n")
    for text in [*TEXTS, "abcab 中国中 the\n\n"]:
        ids = vocab.encode(text)
        assert ids is not None and spelled(vocab, ids) == text.encode()
    # Longest first: "abc", not "ab".
    assert vocab.encode("abcab") == (*vocab.ids_of(b"abc"), *vocab.ids_of(b"ab"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("257 'ab' 3", "2 bytes, but its length is 3"),
        ("1 'ab' 2", "the id 1 stands there a second time"),
        ("257 __import__('os') 2", "not an id, a literal and its length"),
        ("257 'a' + 'b' 2", "not an id, a literal and its length"),
        ("257 '\\x4' 1", "is not a literal of Python"),
        ("99999999999999999999 'ab' 2", "vocabulary may have"),
    ],
)
def test_damaged_lines_of_rwkv(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "rwkv_vocab.txt"
    path.write_text("\n".join([*rwkv_lines()[:256], line]), "utf-8")
    with pytest.raises((DamagedFile, VocabularyError), match=said):
        Vocabulary.from_file(path)


def test_rwkv_s_literals_alone(tmp_path: Path) -> None:
    lines = [repr(b"<s>"), *(repr(bytes([byte])) for byte in range(256)), repr("é".encode())]
    (tmp_path / "vocab.txt").write_text("\n".join(lines) + "\n")
    vocab = Vocabulary.from_file(tmp_path)
    assert vocab.special[0] == "<s>" and vocab.tokens[257] == "é".encode()
    assert vocab.encode("é") == (257,)


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
    write(tmp_path / "text", added_tokens__json={"09.53": 20})
    made = BertTokenizer.from_pretrained(tmp_path / "text")
    made.save_pretrained(tmp_path / "saved")
    text, saved = Vocabulary.from_file(tmp_path / "text"), Vocabulary.from_file(tmp_path / "saved")
    assert text.tokens[: len(lines.split())] == saved.tokens[: len(lines.split())]
    assert text.ids_of(b".") and text.ids_of(b" '") and text.tokens[20] == b" 09.53"


def test_lists_that_are_not_word_piece_s_are_named(tmp_path: Path) -> None:
    for content, said in (
        (b"the 1000\na 900\nan 800\n", "dictionary of fairseq"),
        (b"<unk>\t0\nthe\t-3.5\n", "scores"),
        (b"<cls>\n<pad>\nL\nA\n", r"no piece '\[UNK\]'"),
    ):
        write(tmp_path, vocab__txt=content)
        with pytest.raises(UnsupportedTokenizer, match=said):
            Vocabulary.from_file(tmp_path)
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "EsmTokenizer"})
    with pytest.raises(UnsupportedTokenizer, match="tokenizer_class EsmTokenizer"):
        Vocabulary.from_file(tmp_path)


def test_the_same_id_is_named_at_every_run() -> None:
    from tokenizers import Tokenizer, models

    # Sixteen pieces share the lowest id: a set would name these two in one run of 240.
    pieces = {f"piece{n:03}": n // 16 for n in range(200)}
    for _ in range(3):
        made = Tokenizer(models.WordLevel(pieces, unk_token="piece000"))
        with pytest.raises(VocabularyError, match=r"id 0 .* two pieces, 'piece000' and 'piece001'"):
            Vocabulary.from_tokenizer(made, eos_ids=[1])
