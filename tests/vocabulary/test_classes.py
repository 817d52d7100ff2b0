"""The classes of transformers: their files, their names, their numbers, against transformers."""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.classes import (
    BYTE_MERGES,
    CLASS_OF_TYPE,
    CONTINUED_MERGES,
    ENDED_MERGES,
    FORMATS_OF_CLASS,
    LINES,
    NAMES_OF_CLASS,
    RANKS,
    SENTENCEPIECE,
    SPACED_MERGES,
    TABLE,
    UNREAD_CLASSES,
)
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.folders import merged, table, write
from tests.vocabulary.models import CORPUS, trained

MERGES = {BYTE_MERGES, ENDED_MERGES, CONTINUED_MERGES, SPACED_MERGES}


@cache
def classes() -> dict[str, type[Any]]:
    """All tokenizer classes of the library that read files."""
    found: dict[str, type[Any]] = {}
    folder = Path(inspect.getfile(transformers)).parent / "models"
    for file in sorted(folder.glob("*/tokenization_*.py")):
        names = re.findall(r"^class (\w+Tokenizer)\(", file.read_text("utf-8"), re.MULTILINE)
        if not names or file.parent.name in ("auto", "pop2piano"):  # needs a library for music
            continue
        module = import_module(f"transformers.models.{file.parent.name}.{file.stem}")
        found |= {name: getattr(module, name) for name in names}
    return {name: kind for name, kind in found.items() if hasattr(kind, "vocab_files_names")}


def test_all_classes_are_known_with_their_files() -> None:
    assert len(classes()) > 90
    for name, kind in classes().items():
        files = {value for key, value in kind.vocab_files_names.items() if "tokenizer" not in key}
        formats = set(FORMATS_OF_CLASS[name])
        if name in UNREAD_CLASSES:
            continue
        if any(file.endswith((".model", ".spm")) for file in files):
            assert formats & {SENTENCEPIECE, TABLE, LINES, BYTE_MERGES}, name
        elif "merges.txt" in files:
            assert formats & MERGES, name
        elif "vocab.txt" in files:
            assert LINES in formats, name
        else:
            # Two classes whose models come with tokenizer.json or a SentencePiece file.
            assert not files and SENTENCEPIECE in formats, name


def test_the_names_that_a_class_reserves() -> None:
    places = [f"{p}_token" for p in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]
    for name, kind in classes().items():
        defaults: dict[str, str] = {}
        for base in reversed(kind.__mro__):
            if "__init__" in base.__dict__:
                parameters = inspect.signature(base.__dict__["__init__"]).parameters
                for place in places:
                    if (
                        place in parameters
                        and parameters[place].default is not inspect.Parameter.empty
                    ):
                        defaults[place] = str(parameters[place].default)
        expected = {place: token for place, token in defaults.items() if token != "None"}
        if name not in UNREAD_CLASSES:
            assert NAMES_OF_CLASS.get(name, {}) == expected, name


def test_the_class_of_a_type_of_model() -> None:
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    compared = 0
    for model_type, name in CLASS_OF_TYPE.items():
        theirs = (TOKENIZER_MAPPING_NAMES.get(model_type) or "").removesuffix("Fast")
        if theirs in FORMATS_OF_CLASS:
            compared += 1
            both = set(FORMATS_OF_CLASS[name]) & set(FORMATS_OF_CLASS[theirs])
            assert both or name == theirs, model_type
    assert compared > 150


# --- files of another class -------------------------------------------------------------------

WORDS = ("the", "quick", "brown", "fox")


def stale(folder: Path, format_: str) -> None:
    """Write the files of some tokenizer in one format."""
    if format_ == SENTENCEPIECE:
        (folder / "tokenizer.model").write_bytes(trained())
    elif format_ == LINES:
        pieces = ("[PAD]", "[UNK]", "<unk>", "<s>", "</s>", "[SEP]", "a", "##a", *WORDS)
        write(folder, vocab__txt="\n".join(pieces).encode())
    elif format_ == BYTE_MERGES:
        pieces, merges = merged(*WORDS, " the")
        ends = ("</s>", "<|endoftext|>", "<unk>", "<s>")
        write(folder, vocab__json=table(*ends, *CHAR_OF, *pieces), merges__txt=merges)
    elif format_ == ENDED_MERGES:
        pieces, merges = merged(*WORDS, end="</w>")
        both = [c + end for c in CHAR_OF for end in ("", "</w>")]
        write(folder, vocab__json=table("</s>", "<unk>", *both, *pieces), merges__txt=merges)


FORMATS = (SENTENCEPIECE, LINES, BYTE_MERGES, ENDED_MERGES)


@pytest.mark.parametrize("format_", FORMATS)
def test_files_that_a_class_does_not_read_are_refused(tmp_path: Path, format_: str) -> None:
    stale(tmp_path, format_)
    refused = 0
    for name, formats in FORMATS_OF_CLASS.items():
        write(tmp_path, tokenizer_config__json={"tokenizer_class": name})
        if TABLE in formats:
            with pytest.raises(VocabularyError, match=rf"{name} numbers its .* is missing"):
                Vocabulary.from_file(tmp_path, eos_ids=[0])
            continue
        if format_ in formats:
            continue
        with pytest.raises(UnsupportedTokenizer, match=f"^tokenizer_class {name}: it ") as e:
            Vocabulary.from_file(tmp_path, eos_ids=[0])
        if not e.value.reason.startswith("it reads"):  # refused whatever the files are
            assert name in UNREAD_CLASSES or "does not print the pieces" in e.value.reason
            continue
        assert format_ in e.value.reason, name
        assert re.search(
            r"tokenizer\.model|vocab\.txt|vocab\.json with merges\.txt", e.value.reason
        )
        assert "tokenizer.json of the same model" in e.value.remedy
        refused += 1
    assert refused > 50


def test_a_refused_folder_names_class_files_and_what_is_expected(tmp_path: Path) -> None:
    stale(tmp_path, BYTE_MERGES)
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "T5TokenizerFast"})
    with pytest.raises(UnsupportedTokenizer) as caught:
        Vocabulary.from_file(tmp_path)
    assert str(caught.value).startswith(
        "tokenizer_class T5Tokenizer: it reads a SentencePiece model such as spiece.model, "
        "tokenizer.model or sentencepiece.bpe.model, but vocab.json with merges.txt hold "
        "byte-level pieces with their merges"
    )
    # Each file is the same trap, and so is a type of model that no file names the class of.
    for path in (tmp_path / "vocab.json", tmp_path / "merges.txt"):
        with pytest.raises(UnsupportedTokenizer, match="tokenizer_class T5Tokenizer"):
            Vocabulary.from_file(path)
    (tmp_path / "tokenizer_config.json").unlink()
    write(tmp_path, config__json={"model_type": "t5"})
    with pytest.raises(UnsupportedTokenizer, match="tokenizer_class T5Tokenizer"):
        Vocabulary.from_file(tmp_path)
    # The class's own file is read, and those beside it are left alone.
    (tmp_path / "spiece.model").write_bytes(trained())
    assert len(Vocabulary.from_file(tmp_path)) < 256


@pytest.mark.parametrize(
    ("name", "own", "others"),
    [
        ("GPT2Tokenizer", BYTE_MERGES, (SENTENCEPIECE, LINES)),
        ("BertTokenizer", LINES, (SENTENCEPIECE, BYTE_MERGES)),
        ("T5Tokenizer", SENTENCEPIECE, (BYTE_MERGES, LINES)),
        ("SomebodysTokenizer", SENTENCEPIECE, ()),
    ],
)
def test_in_a_mixed_folder_the_class_decides(
    tmp_path: Path, name: str, own: str, others: tuple[str, ...]
) -> None:
    settings = {"tokenizer_class": name}
    alone = write(tmp_path / "alone", tokenizer_config__json=settings)
    mixed = write(tmp_path / "mixed", tokenizer_config__json=settings)
    stale(alone, own)
    for format_ in (own, *others):
        stale(mixed, format_)
    assert Vocabulary.from_file(mixed, [0]) == Vocabulary.from_file(alone, [0])


def test_a_class_that_is_not_known_may_read_anything(tmp_path: Path) -> None:
    stale(tmp_path, BYTE_MERGES)
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "SomebodysTokenizer"})
    assert Vocabulary.from_file(tmp_path).ids_of(b" the")


def test_a_rank_file_beside_a_class_of_words_is_refused(tmp_path: Path) -> None:
    import base64

    lines = [f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256)]
    (tmp_path / "qwen.tiktoken").write_text("".join(lines))
    for name, formats in FORMATS_OF_CLASS.items():
        write(tmp_path, tokenizer_config__json={"tokenizer_class": name})
        if RANKS in formats:
            assert len(Vocabulary.from_file(tmp_path, [256])) == 257
        elif TABLE not in formats:
            with pytest.raises(UnsupportedTokenizer, match=f"tokenizer_class {name}"):
                Vocabulary.from_file(tmp_path, [256])


# --- numbers and unknown text -----------------------------------------------------------------

TEXTS = [*CORPUS[:4], "Hello, World!", "日本 ß", "the α b", "x", "jumps over"]


def built(name: str, model: bytes) -> Any:
    """The tokenizer that transformers builds from a SentencePiece model, without protobuf."""
    from transformers.convert_slow_tokenizer import SLOW_TO_FAST_CONVERTERS

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [(processor.id_to_piece(n), processor.get_score(n)) for n in range(len(processor))]
    converters: Any = SLOW_TO_FAST_CONVERTERS
    parts = converters[name].convert_from_spm(vocab=pieces)
    return getattr(transformers, name)(**parts)


@pytest.mark.parametrize(
    "name",
    [
        "CamembertTokenizer",
        "MBart50Tokenizer",
        "MBartTokenizer",
        "NllbTokenizer",
        "XLMRobertaTokenizer",
    ],
)
def test_ids_bytes_and_unknown_text_of_classes_that_move_pieces_up(
    tmp_path: Path, name: str
) -> None:
    kind = "bpe" if name == "NllbTokenizer" else "unigram"
    model = trained(model_type=kind, normalization_rule_name="identity")
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model)
    write(tmp_path, tokenizer_config__json={"tokenizer_class": name})
    vocab = Vocabulary.from_file(tmp_path)
    if name == "NllbTokenizer":  # BPE: its merges are in the file alone.
        oracle: Any = transformers.PLBartTokenizer(str(tmp_path / "sentencepiece.bpe.model"))
    else:
        oracle = built(name, model)
    for token, data in enumerate(vocab.tokens):
        piece = oracle.convert_ids_to_tokens(token)
        if data is None:
            assert token in oracle.all_special_ids or piece.startswith("<"), (token, piece)
        else:
            assert data == piece.replace("▁", " ").encode(), (token, piece)
    unknown = oracle.unk_token_id
    assert unknown == 3 and vocab.special[unknown] == "<unk>"
    met = 0
    for text in TEXTS:
        expected = oracle.encode(text, add_special_tokens=False)
        assert vocab.encode(text) == tuple(expected), text
        met += unknown in expected
    assert met >= 2


def test_unknown_text_of_other_numberings(tmp_path: Path) -> None:
    pegasus = trained(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    for name, model, unknown in (
        ("SeamlessM4TTokenizer", trained(), 1),
        ("PegasusTokenizer", pegasus, 105),
    ):
        folder = write(tmp_path / name, tokenizer_config__json={"tokenizer_class": name})
        (folder / "spiece.model").write_bytes(model)
        vocab = Vocabulary.from_file(folder)
        ids = vocab.encode("Q")
        assert ids is not None and ids[-1] == unknown and vocab.special[unknown] == "<unk>"


# --- names that a class reserves --------------------------------------------------------------


def test_the_mask_of_barthez_is_not_text(tmp_path: Path) -> None:
    model = trained(bos_id=0, pad_id=1, eos_id=2, unk_id=3, user_defined_symbols=["<mask>"])
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model)
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "BarthezTokenizer"})
    vocab = Vocabulary.from_file(tmp_path)
    oracle = built("BarthezTokenizer", model)
    mask = oracle.mask_token_id
    assert vocab.tokens[mask] is None and vocab.special[mask] == "<mask>"
    texts = {token for token, data in enumerate(vocab.tokens) if data is not None}
    assert texts.isdisjoint(oracle.all_special_ids)
    # A configuration that gives the place to another token counts.
    settings = {"tokenizer_class": "BarthezTokenizer", "mask_token": "</s>"}
    write(tmp_path, tokenizer_config__json=settings)
    assert Vocabulary.from_file(tmp_path).tokens[mask] == b"<mask>"


@pytest.mark.parametrize("name", ["MPNetTokenizer", "FunnelTokenizer", "BertTokenizer"])
def test_names_that_a_class_of_word_pieces_reserves(tmp_path: Path, name: str) -> None:
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<pad>", "<unk>"]
    pieces = [*marks, "<mask>", "<sep>", "<cls>", "a", "##b", *WORDS]
    write(tmp_path, vocab__txt="\n".join(pieces).encode())
    write(tmp_path, tokenizer_config__json={"tokenizer_class": name})
    vocab = Vocabulary.from_file(tmp_path)
    oracle: Any = classes()[name].from_pretrained(tmp_path)
    for token in oracle.all_special_ids:
        assert token >= len(vocab) or vocab.tokens[token] is None, pieces[token]
    for text in ("the quick fox", "ab zebra"):
        assert vocab.encode(text) == tuple(oracle.encode(text, add_special_tokens=False))


# --- added tokens, timestamps, clean-up -------------------------------------------------------


def test_added_tokens_json_does_not_count_beside_added_tokens_decoder(tmp_path: Path) -> None:
    stale(tmp_path, BYTE_MERGES)
    width = len(json.loads((tmp_path / "vocab.json").read_text("utf-8")))
    write(
        tmp_path,
        added_tokens__json={f"<extra {n}>": width + n for n in range(16)},
        special_tokens_map__json={"pad_token": "Ġthe"},
        tokenizer_config__json={
            "tokenizer_class": "GPT2Tokenizer",
            "added_tokens_decoder": {"1": {"content": "<|endoftext|>", "special": True}},
        },
    )
    vocab = Vocabulary.from_file(tmp_path)
    oracle = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    assert len(vocab) == len(oracle) == width
    assert vocab.ids_of(b" the") == (oracle.convert_tokens_to_ids("Ġthe"),)
    assert vocab.encode("the fox") == tuple(oracle.encode("the fox"))
    # An end of text that only the older file names is still an end of text.
    write(tmp_path, special_tokens_map__json={"eos_token": "</s>"})
    assert Vocabulary.from_file(tmp_path).eos_ids == (0,)
    # Without the list, the file counts, in transformers too.
    write(tmp_path, tokenizer_config__json={"tokenizer_class": "GPT2Tokenizer"})
    again = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    vocab = Vocabulary.from_file(tmp_path)
    assert len(vocab) == len(again) == width + 16
    assert vocab.tokens[width] == b"<extra 0>"


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
    # Without tokenizer.json, in the other files of the same tokenizer.
    (tmp_path / "tokenizer.json").unlink()
    write(tmp_path, tokenizer_config__json={**settings, "pad_token": "<|notimestamps|>"})
    made.model.save(str(tmp_path))
    added = made.get_vocab(with_added_tokens=True)
    plain = made.get_vocab(with_added_tokens=False)
    write(tmp_path, added_tokens__json={n: t for n, t in added.items() if n not in plain})
    assert Vocabulary.from_file(tmp_path).tokens == vocab.tokens
    # A tokenizer of another kind may write such texts.
    other = Tokenizer(models.BPE(table(*CHAR_OF, "</s>"), []))
    other.decoder = decoders.ByteLevel()
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    other.add_tokens(["<|0.72|>"])  # pyright: ignore[reportUnknownMemberType]
    assert Vocabulary.from_tokenizer(other, [256]).tokens[257] == b"<|0.72|>"


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("GPT2Tokenizer", BYTE_MERGES),
        ("Qwen2Tokenizer", BYTE_MERGES),
        ("LukeTokenizer", BYTE_MERGES),
        ("CLIPTokenizer", ENDED_MERGES),
        ("BertTokenizer", LINES),
        ("PLBartTokenizer", SENTENCEPIECE),
        ("BertGenerationTokenizer", SENTENCEPIECE),
    ],
)
def test_clean_up_is_noted_where_transformers_does_it(
    tmp_path: Path, name: str, format_: str
) -> None:
    stale(tmp_path, format_)
    settings = {"tokenizer_class": name, "clean_up_tokenization_spaces": True}
    write(tmp_path, tokenizer_config__json=settings)
    path = tmp_path / "tokenizer.model"
    oracle: Any = (
        classes()[name](str(path), clean_up_tokenization_spaces=True)
        if format_ == SENTENCEPIECE
        else classes()[name].from_pretrained(tmp_path)
    )
    vocab = Vocabulary.from_file(tmp_path, eos_ids=[0])
    noted = any("clean_up_tokenization_spaces=False" in note for note in vocab.notes)
    oracle._tokenizer = Spaced(oracle, format_)
    printed = oracle._decode([5])
    assert printed in ("a , b", "a, b")
    assert noted == (printed == "a, b")


class Spaced:
    """Stands before the library's decoder, and gives a text with a space before punctuation."""

    def __init__(self, tokenizer: Any, format_: str) -> None:
        self.model = getattr(getattr(tokenizer, "_tokenizer", None), "model", None)
        if format_ == SENTENCEPIECE:
            tokenizer.convert_tokens_to_string = lambda _: "a , b"

    def decode(self, *_: object, **__: object) -> str:
        return "a , b"
