"""SentencePiece files whose pieces the model numbers otherwise, against transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.errors import UnsupportedTokenizer, VocabularyError
from explorer.vocabulary import Vocabulary
from explorer.vocabulary.tokenizer.byte_alphabet import CHAR_OF
from tests.vocabulary.folders import spelled, table, write
from tests.vocabulary.models import CORPUS, trained


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
